// Command cubins pairs the time from bytecode to cubin, as whole processes with ptxas included, with that of NVIDIA's tileiras: kernel by kernel, the two
// in turn, so that a change of the machine's speed meets both. Beside the time on the clock it has that of the processors, user and system, of the process
// and its children, which other work on the machine changes less.
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
	runs := flag.Int("runs", 5, "pairs of a kernel")
	warm := flag.Int("warm", 1, "pairs of a kernel before them, that are not counted")
	gpus := flag.String("gpus", "sm_80,sm_90,sm_100", "GPUs to compile for")
	rotate := flag.Bool("rotate", false, "compile each kernel for one of the GPUs, in turn, not for all")
	files := flag.String("kernels", "tests/corpus/perf/*/kernel.tileirbc", "the bytecode files, patterns between commas")
	flag.Parse()
	nvidia := os.Getenv("TILEIRAS_NVIDIA_BIN")
	var kernels []string
	for _, pattern := range strings.Split(*files, ",") {
		list, err := filepath.Glob(pattern)
		if err != nil {
			stop(err)
		}
		kernels = append(kernels, list...)
	}
	if nvidia == "" || len(kernels) == 0 {
		stop("no kernels, or TILEIRAS_NVIDIA_BIN does not name the folder of NVIDIA's tools")
	}
	os.Setenv("TILEIRAS_PTXAS", filepath.Join(nvidia, "ptxas"))
	scratch, err := os.MkdirTemp("", "cubins-")
	if err != nil {
		stop(err)
	}
	defer os.RemoveAll(scratch)
	fmt.Println("| Kernel | GPU | Ours ms | NVIDIA's ms | Ratio | Ours CPU ms | NVIDIA's CPU ms | Ratio |\n|---|---|---|---|---|---|---|---|")
	var ratios [2][]float64
	refused := 0
	for i, k := range kernels {
		list := strings.Split(*gpus, ",")
		if *rotate {
			list = list[i%len(list):][:1]
		}
		for _, gpu := range list {
			name := filepath.Base(filepath.Dir(k))
			ours, theirs, err := pair(filepath.Join(*bin, "tileiras"), filepath.Join(nvidia, "tileiras"), k, gpu, scratch, *warm, *runs)
			if err != nil {
				refused++
				fmt.Printf("| %s | %s | %v | | | | | |\n", name, gpu, err)
				continue
			}
			fmt.Printf("| %s | %s ", name, gpu)
			for way := range ratios {
				ratios[way] = append(ratios[way], row(ours, theirs, way))
			}
			fmt.Println("|")
		}
	}
	if len(ratios[0]) == 0 {
		os.Exit(1)
	}
	fmt.Printf("\n%d kernels and GPUs, %d refused by one of the two: NVIDIA's time over ours\n", len(ratios[0]), refused)
	for way, what := range []string{"on the clock", "of the processors"} {
		rs := ratios[way]
		fmt.Printf("%-18s median %.1f, smallest %.1f, largest %.1f; slower than NVIDIA's: %d\n", what, median(rs), slices.Min(rs), slices.Max(rs), count(rs))
	}
}

// row prints the cells of one way to take the time, and returns the median of theirs over ours.
func row(ours, theirs []took, way int) float64 {
	var a, b []time.Duration
	var ratios []float64
	for i := range ours {
		a, b = append(a, ours[i][way]), append(b, theirs[i][way])
		ratios = append(ratios, float64(theirs[i][way])/float64(ours[i][way]))
	}
	fmt.Printf("| %.0f | %.0f | %.1f ", ms(median(a)), ms(median(b)), median(ratios))
	return median(ratios)
}

func stop(why any) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(2)
}

// took is the time of one process on the clock, and of the processors.
type took [2]time.Duration

// pair times two programs in turn.
func pair(a, b, kernel, gpu, scratch string, warm, runs int) (as, bs []took, err error) {
	for i := range warm + runs {
		for j, program := range []string{a, b} {
			c := exec.Command(program, kernel, "--gpu-name", gpu, "-o", filepath.Join(scratch, "k.cubin"))
			began := time.Now()
			said, err := c.CombinedOutput()
			wall := time.Since(began)
			if err != nil {
				first, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
				return nil, nil, fmt.Errorf("%s: %s", program, first)
			}
			t := took{wall, c.ProcessState.UserTime() + c.ProcessState.SystemTime()}
			switch {
			case i < warm:
			case j == 0:
				as = append(as, t)
			default:
				bs = append(bs, t)
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
