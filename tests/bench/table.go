package main

import (
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// program is one that is timed beside an empty Go program.
type program struct {
	path, output string
	runs         int
}

// excess is by how much the runs of a program took longer than those of an empty Go program beside them: on the clock, and of the processors.
type excess struct{ clock, cpu series }

// over runs a program on a kernel, an empty Go program in turn with it.
func (p *program) over(empty, kernel, gpu string) (e excess, memory int64, err error) {
	for range p.runs {
		idle, err := start(empty)
		if err != nil {
			return e, 0, err
		}
		s, err := start(p.path, input(kernel), "--gpu-name", gpu, "-o", p.output)
		if err != nil {
			return e, 0, err
		}
		e.clock.times, e.cpu.times = append(e.clock.times, s.wall-idle.wall), append(e.cpu.times, s.cpu-idle.cpu)
		memory = max(memory, s.memory)
	}
	return e, memory, nil
}

// cell adds a time to a column and gives its text.
func (s *series) cell(d time.Duration) string {
	s.times = append(s.times, d)
	return fmt.Sprintf(" %.2f |", ms(d))
}

// table prints a row a kernel: how much longer than an empty Go program the compiler takes to PTX and, if the folder of NVIDIA's tools is
// given, its tileiras to a cubin, which is all that it makes. Other work on the machine changes the least time of the processors least.
func table(w io.Writer, tileiras, empty, nvidia string, kernels []string, gpu string, runs int, scratch string) error {
	ours := program{tileiras, filepath.Join(scratch, "out.ptx"), runs}
	theirs := program{filepath.Join(nvidia, "tileiras"), filepath.Join(scratch, "out.cubin"), max(1, runs/10)}
	fmt.Fprintf(w, "milliseconds over an empty Go program, %d runs for %s, %d of NVIDIA's\n\n", runs, gpu, theirs.runs)
	fmt.Fprintln(w, "| kernel | clock | processors | least | MB | NVIDIA's clock | processors |\n|---|---|---|---|---|---|---|")
	var columns [5]series
	for _, k := range kernels {
		e, memory, err := ours.over(empty, k, gpu)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s |%s%s%s %d |", k, columns[0].cell(e.clock.at(0.5)), columns[1].cell(e.cpu.at(0.5)), columns[2].cell(e.cpu.at(0)), memory>>20)
		if nvidia != "" {
			if e, _, err := theirs.over(empty, k, gpu); err != nil {
				fmt.Fprintf(w, " %v | |", firstLine(err))
			} else {
				fmt.Fprintf(w, "%s%s", columns[3].cell(e.clock.at(0.5)), columns[4].cell(e.cpu.at(0.5)))
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	for i, name := range []string{"clock", "processors", "least of the processors", "NVIDIA's clock", "NVIDIA's processors"} {
		if m := &columns[i]; len(m.times) > 0 {
			fmt.Fprintf(w, "%-24s median of %d kernels %8.2f, most %8.2f\n", name, len(m.times), ms(m.at(0.5)), ms(m.at(1)))
		}
	}
	return nil
}
