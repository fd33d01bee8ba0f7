// Command speed predicts, without a GPU, how fast our code is compared with NVIDIA's compiler and Triton, from the machine code (SASS) of each:
//
//	go run ./tests/speed -bin bin -nvidia DIR [-triton DIR] [-sm 80,86,89,90,100,120] [-only RE] [-cache DIR] [-max-ratio R] [-max-geomean G] [-docs FILE]
//
// -nvidia is the folder of NVIDIA's tools, -triton one that holds NAME.smNN with launch.json and
// kernel.cubin or kernel.ptx, as make triton leaves in .tools/triton-kernels (its kernels on rows are for short ones). For each kernel of the performance corpus four
// codes are timed: ours (PTX through ptxas), NVIDIA's cubin of the same bytecode, NVIDIA's with the hint of 8 worker warps (products only: without it
// big tiles spill), and the fastest of Triton's kernels of the same work. The ratio is the time of ours by that of the best other: above 1 ours is
// slower. The limit is the share of the physical limit: of the tensor peak of the types, or of 90 % of the bandwidth of DRAM. Triton's products in tf32
// leave rounding to the tensor cores, which cut bits off; where the folder has its kernels that round as the bytecode says, those stand beside ours, too.
//
// # How a code is timed
//
// The hot loop (the cheapest of the innermost loops with most flops of matrix instructions) is simulated for every warp of every block that fits on a
// multiprocessor, with the control codes that ptxas wrote: stall counts and scoreboards. There are four schedulers with one issue slot a cycle, pipes at
// their rates (chip.go), one shared memory of 128 bytes a cycle, one queue of global memory. Warps use shared memory in the order of arrival, and share it with
// the products that read their factors there and with the copies by TMA that arrive; of the eligible warps of one scheduler, that with the lowest number issues. Groups of asynchronous copies complete when their last copy has arrived.
// Kernels with matrix instructions count TF/s of the loop; blocks of it that not every iteration runs are left out unless they load, wait, multiply, or
// store what a later iteration reads from shared memory. Of causal attention, one step of a row of tiles has the mask. Kernels without matrix
// instructions count GB/s of the bytes that the launch must move: of passes over a row, all but the first from the caches, from L1 where what the blocks
// of a multiprocessor read fits there. Passes are replayed both one by one, all blocks in the same pass, and together, each block in one after the other
// with what stands between them; both are too long, for other reasons (passes.go), and the shorter counts. Blocks behind a test of operands that call a
// slow path of ptxas run for unusual operands only and count nowhere, as the slow paths themselves, which are functions.
//
// # What it does not know
//
//   - It compares two codes of one kernel; it predicts no microseconds, and differences under 10 % mean nothing. docs/gpu.md holds it against an H200: there the
//     fence of asynchronous copies and wgmma, which costs nothing here, costs up to a tenth, and cp.async more than it does here.
//   - Bank conflicts and uncoalesced accesses cost nothing: tests/perfsmall compares both with the ideal on the emulator.
//   - Misses of the instruction cache and the TLB, throttling, prologue, epilogue and the tail wave are left out; rates are capped at an
//     estimated share of the tensor peak.
//   - Bytes that TMA or other warps copy are not in the loop: they follow from the tile in the name of a kernel. Such copies begin when their slot is free; those of
//     a loop that copies itself, into shared memory without room for two iterations, where the code begins them. Kernels bound by memory that load by TMA
//     count as running at the limit of DRAM, or as long as one run of the code of the role that has most to do takes ("assumed").
//   - wgmma with roles comes out at the tensor peak, other attention loops with wgmma up to 40 % too fast. tcgen05, tensor memory and the rate of L2 on
//     sm_100 are coarse. The rate of mma.sync on sm_90 and sm_100 is an estimate.
//   - Which of the eligible warps of a scheduler issues is not documented. By age instead of by number, loops of attention come out up to a
//     quarter faster or a seventh slower.
//   - Loops that only move memory count the bytes that each warp asks for. Where all warps of a block load the same row, as loops over tokens do, code that repeats
//     more looks faster.
//   - All products count as work, also those that several warps compute alike, or whose rows are not there: code that multiplies too much looks fast.
//   - Every access to global memory in a loop with products pays the rate of L2, whatever its locality. Passes after the first find a row in L2, however little
//     that holds: with most blocks, code that loads rows again looks best.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

func main() {
	var w toolchain
	var o options
	flag.StringVar(&w.bin, "bin", "bin", "folder with our commands")
	flag.StringVar(&w.corpus, "corpus", "tests/corpus/perf", "folder of performance kernels")
	flag.StringVar(&w.nvidia, "nvidia", "", "folder of NVIDIA's tools")
	flag.StringVar(&w.triton, "triton", "", "folder of Triton's kernels; without it there is no such column")
	flag.StringVar(&w.cache, "cache", "", "folder that keeps results between runs, by content")
	flag.StringVar(&o.sm, "sm", "80,120", "targets")
	flag.StringVar(&o.only, "only", "", "regular expression: kernels to take")
	flag.StringVar(&o.docs, "docs", "", "replace the tables of this file, docs/benchmarks.md")
	flag.IntVar(&o.jobs, "jobs", 2, "kernels at a time")
	flag.Float64Var(&o.maxRatio, "max-ratio", 0, "fail if a kernel's ratio is above")
	flag.Float64Var(&o.maxGeomean, "max-geomean", 0, "fail if the geometric mean of a family is above")
	flag.Parse()
	bad, err := run(&w, &o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
	if o.maxRatio > 0 || o.maxGeomean > 0 {
		if len(bad) > 0 {
			fmt.Printf("\nexceeded:\n%s\n", strings.Join(bad, "\n"))
			os.Exit(1)
		}
		fmt.Println("\nwithin the limits")
	}
}

type options struct {
	sm, only, docs       string
	jobs                 int
	maxRatio, maxGeomean float64
}

// run prints the table and says what is beyond the limits.
func run(w *toolchain, o *options) (bad []string, err error) {
	if w.nvidia == "" {
		return nil, fmt.Errorf("-nvidia names the folder of NVIDIA's tools; make speed installs them")
	}
	pick, err := regexp.Compile(o.only)
	if err != nil {
		return nil, err
	}
	if w.cache == "" {
		if w.cache, err = os.MkdirTemp("", "speed-*"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(w.cache)
	} else if err := os.MkdirAll(w.cache, 0o755); err != nil {
		return nil, err
	}
	w.model = ownHash()
	var jobs []job
	for _, gpu := range strings.Split(o.sm, ",") {
		sm, err := arch(gpu)
		if err != nil {
			return nil, err
		}
		folders, err := filepath.Glob(filepath.Join(w.corpus, "*", "bench.json"))
		if err != nil {
			return nil, err
		}
		for _, f := range folders { // sorted
			if pick.MatchString(filepath.Base(filepath.Dir(f))) {
				jobs = append(jobs, job{folder: filepath.Dir(f), sm: sm})
			}
		}
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("no kernel in %s is called %s", w.corpus, o.only)
	}
	rows, err := all(w, jobs, o.jobs)
	if err != nil {
		return nil, err
	}
	means := geomeans(rows)
	printMeans(os.Stdout, means)
	if o.docs != "" {
		old, err := os.ReadFile(o.docs)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(o.docs, []byte(page(string(old), rows, means, w.triton != "")), 0o644); err != nil {
			return nil, err
		}
	}
	return exceeded(rows, means, o), nil
}

// ownHash tells this program's model from another's: the files it is built from.
func ownHash() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	data, err := os.ReadFile(path)
	if info, ok := debug.ReadBuildInfo(); err != nil && ok {
		return info.String()
	}
	return digest(string(data))
}

type job struct {
	folder string
	sm     int
}

// all times the kernels, some at a time, and prints each row when those before it are printed.
func all(w *toolchain, jobs []job, parallel int) ([]*row, error) {
	rows := make([]*row, len(jobs))
	printHead(os.Stdout)
	var mu sync.Mutex
	printed := 0
	g, _ := errgroup.WithContext(context.Background())
	g.SetLimit(parallel)
	for n, j := range jobs {
		g.Go(func() error {
			r, err := w.row(j)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			for rows[n] = r; printed < len(rows) && rows[printed] != nil; printed++ {
				rows[printed].print(os.Stdout)
			}
			return nil
		})
	}
	return rows, g.Wait()
}
