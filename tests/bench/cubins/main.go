// Command cubins pairs the time from bytecode to cubin, as whole processes with ptxas included, with that of NVIDIA's tileiras: kernel by kernel, the two
// in turn, so that a change of the machine's speed meets both.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "folder of our tileiras")
	runs := flag.Int("runs", 5, "pairs of a kernel, after one that is not counted")
	gpus := flag.String("gpus", "sm_80,sm_90,sm_100", "GPUs to compile for")
	files := flag.String("kernels", "tests/corpus/perf/*/kernel.tileirbc", "the bytecode files")
	flag.Parse()
	nvidia := os.Getenv("TILEIRAS_NVIDIA_BIN")
	kernels, err := filepath.Glob(*files)
	if err != nil || nvidia == "" || len(kernels) == 0 {
		fmt.Fprintln(os.Stderr, "no kernels, or TILEIRAS_NVIDIA_BIN does not name the folder of NVIDIA's tools:", err)
		os.Exit(2)
	}
	os.Setenv("TILEIRAS_PTXAS", filepath.Join(nvidia, "ptxas"))
	scratch, err := os.MkdirTemp("", "cubins-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	defer os.RemoveAll(scratch)
	fmt.Println("| Kernel | GPU | Ours ms | NVIDIA's ms | Ratio |\n|---|---|---|---|---|")
	var ratios []float64
	refused := 0
	for _, k := range kernels {
		for _, gpu := range strings.Split(*gpus, ",") {
			name := filepath.Base(filepath.Dir(k))
			ours, theirs, err := pair(filepath.Join(*bin, "tileiras"), filepath.Join(nvidia, "tileiras"), k, gpu, scratch, *runs)
			if err != nil {
				refused++
				fmt.Printf("| %s | %s | %v | | |\n", name, gpu, err)
				continue
			}
			var rs []float64
			for i := range ours {
				rs = append(rs, float64(theirs[i])/float64(ours[i]))
			}
			ratios = append(ratios, median(rs))
			fmt.Printf("| %s | %s | %.0f | %.0f | %.1f |\n", name, gpu, ms(median(ours)), ms(median(theirs)), median(rs))
		}
	}
	if len(ratios) == 0 {
		os.Exit(1)
	}
	fmt.Printf("\n%d kernels and GPUs, %d refused by one of the two: NVIDIA's time over ours, median %.1f, smallest %.1f, largest %.1f; slower than NVIDIA's: %d\n",
		len(ratios), refused, median(ratios), slices.Min(ratios), slices.Max(ratios), count(ratios))
}

// pair times two programs in turn.
func pair(a, b, kernel, gpu, scratch string, runs int) (as, bs []time.Duration, err error) {
	for i := range runs + 1 {
		for j, program := range []string{a, b} {
			out := filepath.Join(scratch, "k.cubin")
			began := time.Now()
			said, err := exec.Command(program, kernel, "--gpu-name", gpu, "-o", out).CombinedOutput()
			took := time.Since(began)
			if err != nil {
				first, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
				return nil, nil, fmt.Errorf("%s: %s", program, first)
			}
			switch {
			case i == 0: // warm-up
			case j == 0:
				as = append(as, took)
			default:
				bs = append(bs, took)
			}
		}
	}
	return as, bs, nil
}

func median[T int | float64 | time.Duration](list []T) T {
	s := slices.Clone(list)
	slices.Sort(s)
	return s[len(s)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func count(ratios []float64) int {
	n := 0
	for _, r := range ratios {
		if r < 1 {
			n++
		}
	}
	return n
}
