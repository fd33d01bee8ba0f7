// Command replay compares the PTX of two builds of tileiras over the whole corpus, byte for byte: what a change of the compiler that
// shall change no code has to show.
//
//	go run ./tests/replay -base OLD/tileiras -head NEW/tileiras [-sm 75,80,...] [-abi cuda,tile] [-only REGEXP] [-keep DIR]
//
// It prints each kernel whose PTX differs with the first line that does, and exits with 1 when there is one. -keep writes both texts.
// `make replay BASE=COMMIT` builds the two and calls it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

var (
	base = flag.String("base", "", "the older tileiras")
	head = flag.String("head", "", "the newer tileiras")
	sms  = flag.String("sm", "75,80,89,90,100,120", "GPUs")
	abis = flag.String("abi", "cuda,tile", "conventions")
	only = flag.String("only", "", "kernels whose path matches")
	keep = flag.String("keep", "", "folder for the texts that differ")
)

// job is one compile by both builds.
type job struct{ file, sm, abi string }

func (j job) String() string {
	return fmt.Sprintf("%s sm_%s %s", filepath.Base(filepath.Dir(j.file)), j.sm, j.abi)
}

func main() {
	flag.Parse()
	jobs, err := list()
	if err == nil {
		err = replay(jobs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

func list() ([]job, error) {
	want, err := regexp.Compile(*only)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, dir := range []string{"perf", "cases"} {
		found, err := filepath.Glob(filepath.Join("tests", "corpus", dir, "*", "kernel.tileirbc"))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, errors.New("there is no tests/corpus here: run it in the root of the repository")
	}
	var jobs []job
	for _, file := range files {
		for _, sm := range strings.Split(*sms, ",") {
			for _, abi := range strings.Split(*abis, ",") {
				if want.MatchString(file) {
					jobs = append(jobs, job{file, sm, abi})
				}
			}
		}
	}
	return jobs, nil
}

func replay(jobs []job) error {
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var mu sync.Mutex
	var differ []string
	compiled := 0
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(runtime.NumCPU())
	for i, j := range jobs {
		g.Go(func() error {
			a, err := compile(ctx, *base, j, filepath.Join(dir, fmt.Sprint(i, "a.ptx")))
			if err != nil {
				return err
			}
			b, err := compile(ctx, *head, j, filepath.Join(dir, fmt.Sprint(i, "b.ptx")))
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if bytes.HasPrefix(a, []byte("//")) {
				compiled++
			}
			if !bytes.Equal(a, b) {
				differ = append(differ, fmt.Sprintf("%v: %s", j, firstDifference(a, b)))
				return store(j, a, b)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	slices.Sort(differ)
	for _, d := range differ {
		fmt.Println(d)
	}
	fmt.Printf("%d compiles of %d kernels, %d gave PTX at the base, %d differ\n", len(jobs), kernels(jobs), compiled, len(differ))
	if len(differ) > 0 {
		return fmt.Errorf("%d outputs differ", len(differ))
	}
	return nil
}

// compile is the PTX, or what the build says instead of it.
func compile(ctx context.Context, tool string, j job, out string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, tool, "--gpu-name", "sm_"+j.sm, "--abi", j.abi, "-o", out, j.file)
	says, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return fmt.Appendf(nil, "exit %d\n%s", exit.ExitCode(), says), nil
	case err != nil:
		return nil, err
	}
	text, err := os.ReadFile(out)
	os.Remove(out)
	return text, err
}

func firstDifference(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d: %q, was %q", i+1, y[i], x[i])
		}
	}
	return fmt.Sprintf("%d lines, were %d", len(y), len(x))
}

func store(j job, a, b []byte) error {
	if *keep == "" {
		return nil
	}
	name := filepath.Join(*keep, strings.ReplaceAll(j.String(), " ", "."))
	return errors.Join(os.MkdirAll(*keep, 0o755), os.WriteFile(name+".base.ptx", a, 0o644), os.WriteFile(name+".head.ptx", b, 0o644))
}

func kernels(jobs []job) int {
	var files []string
	for _, j := range jobs {
		files = append(files, j.file)
	}
	slices.Sort(files)
	return len(slices.Compact(files))
}
