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

// sample is a measurement of one process.
type sample struct {
	wall   time.Duration
	cpu    time.Duration // user and system
	memory int64         // bytes: peak resident size
	stderr string
}

// measure runs a program.
func measure(name string, args ...string) (sample, error) {
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

// series are samples of one quantity, in the order of the runs.
type series struct {
	name    string
	samples []time.Duration
}

// quantile is the time that the given part of the samples do not exceed.
func (s *series) quantile(p float64) time.Duration {
	sorted := slices.Clone(s.samples)
	slices.Sort(sorted)
	return sorted[int(p*float64(len(sorted)-1)+0.5)]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (s *series) String() string {
	return fmt.Sprintf("%-44s %9.2f %9.2f", s.name, ms(s.quantile(0.5)), ms(s.quantile(0.1)))
}

// passTimes runs the compiler on every kernel, the baseline interleaved with it, and prints medians and 10th percentiles.
func passTimes(w io.Writer, tileiras, baseline string, kernels []string, gpu string, runs int, scratch string) error {
	fmt.Fprintf(w, "milliseconds of %d runs, %s%27s %9s\n", runs, gpu, "median", "10 %")
	slowest, largest := series{name: "none"}, int64(0)
	overhead := [2]series{{name: "wall time over an empty program"}, {name: "processor time over an empty program"}} // medians of the kernels
	for _, k := range kernels {
		total, base := series{name: k}, series{name: "  an empty Go program"}
		passes := []series{}
		var over [2]series
		memory := int64(0)
		var failed error
		for range runs {
			e, err := measure(baseline)
			if err != nil {
				return err
			}
			base.samples = append(base.samples, e.wall)
			s, err := measure(tileiras, input(k), "--gpu-name", gpu, "--pass-timing", "-o", filepath.Join(scratch, "out.ptx"))
			if err != nil {
				failed = err
				break
			}
			total.samples = append(total.samples, s.wall)
			over[0].samples, over[1].samples = append(over[0].samples, s.wall-e.wall), append(over[1].samples, s.cpu-e.cpu)
			memory = max(memory, s.memory)
			passes = addPasses(passes, s.stderr)
		}
		if failed != nil {
			fmt.Fprintf(w, "%-44s %v\n", k, firstLine(failed))
			continue
		}
		fmt.Fprintf(w, "%v   %d MB\n%v\n", &total, memory>>20, &base)
		for i := range passes {
			fmt.Fprintln(w, &passes[i])
		}
		for i := range overhead {
			overhead[i].samples = append(overhead[i].samples, over[i].quantile(0.5))
		}
		largest = max(largest, memory)
		if slowest.samples == nil || total.quantile(0.5) > slowest.quantile(0.5) {
			slowest = total
		}
	}
	if slowest.samples != nil {
		fmt.Fprintf(w, "slowest: %v; most memory: %d MB\n", &slowest, largest>>20)
		for i := range overhead {
			fmt.Fprintf(w, "%s, milliseconds: median of %d kernels %.2f, most %.2f\n", overhead[i].name, len(overhead[i].samples), ms(overhead[i].quantile(0.5)), ms(overhead[i].quantile(1)))
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
		passes[n].samples = append(passes[n].samples, time.Duration(ms*float64(time.Millisecond)))
		n++
	}
	return passes
}
