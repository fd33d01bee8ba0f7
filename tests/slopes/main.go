// Command slopes measures how compile time and memory grow with the size of a program, for families of generated programs that have
// many of one thing: operations, tokens, entries, loops in loops, elements of a tile.
//
//	go run ./tests/slopes -bin bin
//
// For each family it compiles sizes from 100 on, up to 100,000, a megabyte of text or a compile that is too slow, and prints the last
// time and memory and the slopes of straight lines through log time and log memory: 1 is linear, 2 quadratic. Small sizes, which
// measure the start of the process, are left out of the slopes. It exits with 1 if a file takes more than the limits.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tileiras/internal/driver"
)

// What a text of less than a megabyte may take.
const (
	maxText   = 1_000_000
	maxTime   = 2 * time.Second
	maxMemory = 512 << 20
	timeout   = 100 * time.Second
)

// minTime is the time below which a compile measures process start-up.
const minTime = 40 * time.Millisecond

var sizes = []int{100, 300, 1000, 3000, 10_000, 30_000, 100_000}

// measurement is one compile.
type measurement struct {
	n, text int
	time    time.Duration
	memory  int64 // peak, in bytes
	refused string
}

func main() {
	bin := flag.String("bin", "bin", "folder with the commands")
	show := flag.Int("show", 0, "print the text of this size of the family that -only names, and do no more")
	only := flag.String("only", "", "part of the names of the families to take")
	gpu := flag.String("gpu-name", "sm_80", "architecture")
	flag.Parse()
	if *show > 0 {
		for _, f := range families {
			if f.name == *only {
				fmt.Print(f.text(*show))
			}
		}
		return
	}
	ok, err := run(filepath.Join(*bin, "tileiras"), *gpu, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "slopes:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(tileiras, gpu, only string) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "slopes-*")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	ok = true
	fmt.Printf("%-28s %8s %9s %9s %8s %6s %6s\n", "family", "size", "text", "time", "memory", "time", "memory")
	for _, f := range families {
		if !strings.Contains(f.name, only) {
			continue
		}
		var points []measurement
		for _, n := range sizes {
			text := f.text(n)
			if most := maxSizes[f.name]; len(text) > maxText || most > 0 && n > most {
				break
			}
			p, err := compile(dir, tileiras, gpu, f.roles(), n, text)
			if err != nil {
				return false, fmt.Errorf("%s, size %d: %w", f.name, n, err)
			}
			points = append(points, p)
			if p.refused != "" || p.time > 5*maxTime {
				break
			}
		}
		last := points[len(points)-1]
		verdict := ""
		if last.time > maxTime || last.memory > maxMemory {
			verdict, ok = "  TOO MUCH", false
		}
		if last.refused != "" {
			verdict += "  refused: " + last.refused
		}
		fmt.Printf("%-28s %8d %6d kB %6d ms %5d MB %6s %6s%s\n", f.name, last.n, last.text/1000, last.time.Milliseconds(), last.memory>>20,
			slope(points, func(p measurement) float64 { return p.time.Seconds() }), slope(points, func(p measurement) float64 { return float64(p.memory) }), verdict)
	}
	return ok, nil
}

// compile runs the compiler once.
func compile(dir, tileiras, gpu string, roles driver.Roles, n int, text string) (measurement, error) {
	in, out := filepath.Join(dir, "k.tileir"), filepath.Join(dir, "k.ptx")
	if err := os.WriteFile(in, []byte(text), 0o644); err != nil {
		return measurement{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, tileiras, "--gpu-name", gpu, "--roles", string(roles), in, "-o", out)
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	p := measurement{n: n, text: len(text)}
	if cmd.ProcessState != nil {
		// Time of processors, not of the clock: the machine may have other things to do.
		p.time = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		p.memory = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		p.refused = "no end in " + timeout.String()
	case errors.As(err, &exit):
		p.refused = firstLine(said.String())
	case err != nil:
		return measurement{}, err
	}
	return p, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if len(line) > 160 {
		line = line[:160] + ".."
	}
	return line
}

// slope is that of the regression line through the logarithms (least squares).
func slope(points []measurement, of func(measurement) float64) string {
	var n, sx, sy, sxx, sxy float64
	for _, p := range points {
		if p.time < minTime {
			continue
		}
		x, y := math.Log(float64(p.n)), math.Log(of(p))
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if n < 2 {
		return "-"
	}
	return fmt.Sprintf("%.2f", (n*sxy-sx*sy)/(n*sxx-sx*sx))
}
