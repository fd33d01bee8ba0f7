// Command bench measures how long the compiler takes for the performance kernels of the corpus: the whole process beside an empty Go program as the
// baseline, every pass, and peak memory. Run it from the root of the repository:
//
//	go run ./tests/bench -bin bin
//
// With -table it prints a row a kernel, with NVIDIA's times beside ours if -nvidia names the folder of its tools.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"tileiras/runtime/cases"
)

const perf = "tests/corpus/perf"

func main() {
	bin := flag.String("bin", "bin", "folder with the commands")
	only := flag.String("only", "", "regular expression: kernels to take")
	gpu := flag.String("gpu-name", "sm_80", "architecture that compile times are measured for")
	runs := flag.Int("runs", 21, "runs of every kernel")
	rows := flag.Bool("table", false, "print a row a kernel instead of the passes")
	nvidia := flag.String("nvidia", "", "folder of NVIDIA's tools: the table has its times too")
	flag.Parse()
	if err := run(*bin, *only, *gpu, *runs, *rows, *nvidia); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(bin, only, gpu string, runs int, rows bool, nvidia string) error {
	filter, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	names, err := cases.List(perf)
	if err != nil {
		return err
	}
	var kernels []string
	for _, n := range names {
		if filter.MatchString(n) {
			kernels = append(kernels, n)
		}
	}
	scratch, err := os.MkdirTemp("", "bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	tileiras, baseline := filepath.Join(scratch, "tileiras"), filepath.Join(scratch, "empty")
	if err := copyProgram(filepath.Join(bin, "tileiras"), tileiras); err != nil {
		return fmt.Errorf("%w; run `make build` first", err)
	}
	if err := buildBaseline(scratch, baseline); err != nil {
		return err
	}
	if rows {
		return table(os.Stdout, tileiras, baseline, nvidia, kernels, gpu, runs, scratch)
	}
	return passTimes(os.Stdout, tileiras, baseline, kernels, gpu, runs, scratch)
}

// buildBaseline builds the empty program.
func buildBaseline(scratch, baseline string) error {
	linked := filepath.Join(scratch, "linked")
	if _, err := measure("go", "build", "-trimpath", "-o", linked, "./tests/bench/empty"); err != nil {
		return err
	}
	return copyProgram(linked, baseline)
}

// copyProgram writes a program anew. How large the pieces are in which the system keeps a file, which follows from how and when it was written and read,
// is a fifth of what a small compile takes: programs that are compared are written alike.
func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, make([]byte, 1<<20)) // not by copy_file_range(2)
	return errors.Join(err, out.Close())
}

// input is the bytecode of a kernel.
func input(kernel string) string { return filepath.Join(perf, kernel, "kernel.tileirbc") }
