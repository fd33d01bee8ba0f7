package main

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// sample is one run of a process.
type sample struct {
	wall   time.Duration
	cpu    time.Duration // user and system
	memory int64         // bytes: peak resident size
	stderr string
}

func start(name string, args ...string) (sample, error) {
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(began), stderr: stderr.String()}
	if err != nil {
		return s, fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, strings.TrimSpace(s.stderr))
	}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		s.memory = u.Maxrss * 1024 // getrusage(2): kilobytes
	}
	return s, nil
}

// series are times of one thing, in the order of the runs.
type series struct {
	name  string
	times []time.Duration
}

// at is the time that the given part of the runs do not exceed.
func (s *series) at(part float64) time.Duration {
	sorted := slices.Clone(s.times)
	slices.Sort(sorted)
	return sorted[int(part*float64(len(sorted)-1)+0.5)]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (s *series) String() string {
	return fmt.Sprintf("%-44s %9.2f %9.2f", s.name, ms(s.at(0.5)), ms(s.at(0.1)))
}

// times runs the compiler on every kernel, an empty Go program in turn with it, and prints medians and 10th percentiles.
func times(w io.Writer, tileiras, empty string, kernels []string, gpu string, runs int, scratch string) error {
	fmt.Fprintf(w, "milliseconds of %d runs, %s%27s %9s\n", runs, gpu, "median", "10 %")
	slowest, largest := series{name: "none"}, int64(0)
	over := [2]series{{name: "over an empty program, by the clock"}, {name: "over an empty program, of the processors"}} // medians of the kernels
	for _, k := range kernels {
		whole, idle := series{name: k}, series{name: "  an empty Go program"}
		passes := []series{}
		var more [2]series
		memory := int64(0)
		var failed error
		for range runs {
			e, err := start(empty)
			if err != nil {
				return err
			}
			idle.times = append(idle.times, e.wall)
			s, err := start(tileiras, input(k), "--gpu-name", gpu, "--pass-timing", "-o", filepath.Join(scratch, "out.ptx"))
			if err != nil {
				failed = err
				break
			}
			whole.times = append(whole.times, s.wall)
			more[0].times, more[1].times = append(more[0].times, s.wall-e.wall), append(more[1].times, s.cpu-e.cpu)
			memory = max(memory, s.memory)
			passes = addPasses(passes, s.stderr)
		}
		if failed != nil {
			fmt.Fprintf(w, "%-44s %v\n", k, firstLine(failed))
			continue
		}
		fmt.Fprintf(w, "%v   %d MB\n%v\n", &whole, memory>>20, &idle)
		for i := range passes {
			fmt.Fprintln(w, &passes[i])
		}
		for i := range over {
			over[i].times = append(over[i].times, more[i].at(0.5))
		}
		largest = max(largest, memory)
		if slowest.times == nil || whole.at(0.5) > slowest.at(0.5) {
			slowest = whole
		}
	}
	if slowest.times != nil {
		fmt.Fprintf(w, "slowest: %v; most memory: %d MB\n", &slowest, largest>>20)
		for i := range over {
			fmt.Fprintf(w, "%s, milliseconds: median of %d kernels %.2f, most %.2f\n", over[i].name, len(over[i].times), ms(over[i].at(0.5)), ms(over[i].at(1)))
		}
	}
	return nil
}

func firstLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	return lines[min(1, len(lines)-1)]
}

// addPasses adds the lines of --pass-timing, "    0.123 ms  cse", to the series of the passes. A pass that runs twice in a
// compile has two series: the n-th line belongs to the n-th series.
func addPasses(passes []series, log string) []series {
	n := 0
	for _, line := range strings.Split(log, "\n") {
		var ms float64
		var name string
		if c, _ := fmt.Sscanf(strings.TrimSpace(line), "%f ms %s", &ms, &name); c != 2 {
			continue
		}
		if n == len(passes) {
			passes = append(passes, series{name: "  " + name})
		}
		passes[n].times = append(passes[n].times, time.Duration(ms*float64(time.Millisecond)))
		n++
	}
	return passes
}
