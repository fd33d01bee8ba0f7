package main

import (
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// compiler is a program whose overhead over the baseline, an empty Go program, is measured.
type compiler struct {
	path, output string
	runs         int
}

// overhead is wall and processor time beyond those of the baseline.
type overhead struct{ wall, cpu series }

// overhead runs a compiler on a kernel, the baseline interleaved with it.
func (c *compiler) overhead(baseline, kernel, gpu string) (o overhead, memory int64, err error) {
	for range c.runs {
		base, err := measure(baseline)
		if err != nil {
			return o, 0, err
		}
		s, err := measure(c.path, input(kernel), "--gpu-name", gpu, "-o", c.output)
		if err != nil {
			return o, 0, err
		}
		o.wall.samples, o.cpu.samples = append(o.wall.samples, s.wall-base.wall), append(o.cpu.samples, s.cpu-base.cpu)
		memory = max(memory, s.memory)
	}
	return o, memory, nil
}

// cell adds a time to a column and gives its text.
func (s *series) cell(d time.Duration) string {
	s.samples = append(s.samples, d)
	return fmt.Sprintf(" %.2f |", ms(d))
}

// table prints a row a kernel: the overhead of the compiler to PTX over an empty Go program and, if the folder of NVIDIA's tools is
// given, that of its tileiras to a cubin, which is all that it makes. Other load on the machine changes the least processor time least.
func table(w io.Writer, tileiras, baseline, nvidia string, kernels []string, gpu string, runs int, scratch string) error {
	ours := compiler{tileiras, filepath.Join(scratch, "out.ptx"), runs}
	theirs := compiler{filepath.Join(nvidia, "tileiras"), filepath.Join(scratch, "out.cubin"), max(1, runs/10)}
	fmt.Fprintf(w, "milliseconds over an empty Go program, %d runs for %s, %d of NVIDIA's\n\n", runs, gpu, theirs.runs)
	fmt.Fprintln(w, "| kernel | wall | processors | least | MB | NVIDIA's wall | processors |\n|---|---|---|---|---|---|---|")
	var columns [5]series
	for _, k := range kernels {
		o, memory, err := ours.overhead(baseline, k, gpu)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s |%s%s%s %d |", k, columns[0].cell(o.wall.quantile(0.5)), columns[1].cell(o.cpu.quantile(0.5)), columns[2].cell(o.cpu.quantile(0)), memory>>20)
		if nvidia != "" {
			if o, _, err := theirs.overhead(baseline, k, gpu); err != nil {
				fmt.Fprintf(w, " %v | |", firstLine(err))
			} else {
				fmt.Fprintf(w, "%s%s", columns[3].cell(o.wall.quantile(0.5)), columns[4].cell(o.cpu.quantile(0.5)))
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	for i, name := range []string{"wall", "processors", "least of the processors", "NVIDIA's wall", "NVIDIA's processors"} {
		if m := &columns[i]; len(m.samples) > 0 {
			fmt.Fprintf(w, "%-24s median of %d kernels %8.2f, most %8.2f\n", name, len(m.samples), ms(m.quantile(0.5)), ms(m.quantile(1)))
		}
	}
	return nil
}
