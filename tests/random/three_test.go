package random

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
	"tileiras/tests/ptxas"
)

// thirds are the GPUs whose NVIDIA PTX the emulator runs, with what modules for them do without: what NVIDIA's compiler refuses, and shifts
// by the width or more, of which the specification says nothing; to NVIDIA's compiler they have no value, and it drops what uses them.
var thirds = []struct {
	gpu     string
	without []Feature
}{
	{"sm_80", []Feature{F8, F4, Overshift, HalfAtomics}},
	{"sm_89", []Feature{F4, Overshift, HalfAtomics}},
	{"sm_90", []Feature{F4, Overshift, HalfAtomics}},
	{"sm_100", []Feature{F4, Overshift, HalfAtomics}},
}

// TestThreeOpinionsOnRandomModules holds the interpreter, our PTX and NVIDIA's PTX of random modules against each other.
// TILEIRAS_THREE=N makes N modules for each GPU, TILEIRAS_THREE_FROM the first seed, TILEIRAS_THREE_KIND their kind.
func TestThreeOpinionsOnRandomModules(t *testing.T) {
	n, from, kind := number(t, "TILEIRAS_THREE", 50), number(t, "TILEIRAS_THREE_FROM", 0), kindIn(t, "TILEIRAS_THREE_KIND")
	for _, on := range thirds {
		t.Run(on.gpu, func(t *testing.T) {
			surveyOf(t, on.gpu, n, func(s *survey, th *NvidiaOracle, i int) {
				seed := uint64(from + i)
				text, _ := moduleOfKind(kind, seed, on.without...)
				s.add(t, th, fmt.Sprintf("seed %d", seed), text, entry, grid, seed)
			})
		})
	}
}

// survey counts verdicts and shows those that are faults.
type survey struct {
	mu     sync.Mutex
	counts map[string]int
	failed int
}

// surveyOf asks about so many modules, several at a time, and prints what was said.
func surveyOf(t *testing.T, gpu string, modules int, ask func(s *survey, th *NvidiaOracle, i int)) {
	if os.Getenv(ptxas.Variable) == "" {
		t.Skipf("%s is not set: it names the folder with NVIDIA's tools", ptxas.Variable)
	}
	s, start := &survey{counts: map[string]int{}}, time.Now()
	var g errgroup.Group
	next := atomic.Int64{}
	for range runtime.NumCPU() {
		tools, _ := ptxas.Find(t.TempDir())
		th := &NvidiaOracle{Tools: tools, GPU: gpu}
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < modules; i = int(next.Add(1)) - 1 {
				ask(s, th, i)
			}
			return nil
		})
	}
	g.Wait()
	t.Logf("%d modules in %v\n%s", modules, time.Since(start).Round(time.Second), s)
}

func (s *survey) String() string {
	text := ""
	for _, k := range sortedKeys(s.counts) {
		text += fmt.Sprintf("%6d %s\n", s.counts[k], k)
	}
	return text
}

func (s *survey) count(what string) {
	s.mu.Lock()
	s.counts[what]++
	s.mu.Unlock()
}

func (s *survey) add(t *testing.T, th *NvidiaOracle, name, text, entry string, blocks int, seed uint64) {
	schedule := scheduleOf(seed)
	v := th.Judge(t.Context(), text, entry, blocks, schedule)
	kind := v.Kind()
	switch {
	case th.EqualStores && isRace(v.Ours) && isRace(v.Nvidia):
		s.count("races with these numbers, in both")
		t.Logf("%s: the program races with these numbers: %v", name, v.Ours)
		return
	case kind != "":
	case errors.Is(v.Nvidia, ErrNoThirdOpinion):
		s.count(v.Nvidia.Error())
		return
	case errors.Is(v.Ours, ErrUnsupported):
		s.count("theirs as the interpreter; ours refuses")
		return
	default:
		s.count("all three agree")
		return
	}
	if f := theirFault(t.Context(), th, text, entry, blocks, schedule, v); f >= 0 {
		s.count("NVIDIA's fault: " + theirFaults[f].file)
		t.Logf("%s: NVIDIA's fault: %s: %v", name, theirFaults[f].file, v.Nvidia)
		return
	}
	s.count("differ: " + kind)
	s.mu.Lock()
	s.failed++
	small := s.failed <= number(t, "TILEIRAS_THREE_REDUCED", 3)
	s.mu.Unlock()
	if !small {
		t.Errorf("%s: %v", name, v)
		return
	}
	text = Reduce(text, func(text string) bool { return th.Judge(t.Context(), text, entry, blocks, schedule).Kind() == kind })
	t.Errorf("%s: %v\nreduced:\n%s", name, v, text)
}

// isRace reports whether the emulator found two accesses that nothing puts in order. The numbers of a text of tests/lit were not chosen for it, so
// if the code of both compilers races, the program does.
func isRace(err error) bool {
	var f *Failure
	return errors.As(err, &f) && strings.Contains(f.Kind, "race")
}

// TestThreeOpinionsOnLitKernels asks all three about every entry of the texts of tests/lit that the interpreter can run as a random
// module is run, but by one tile block: buffers for pointers, numbers for scalars.
func TestThreeOpinionsOnLitKernels(t *testing.T) {
	kernels := litKernels(t)
	for _, on := range thirds {
		t.Run(on.gpu, func(t *testing.T) {
			surveyOf(t, on.gpu, len(kernels), func(s *survey, th *NvidiaOracle, i int) {
				k := kernels[i]
				th.EqualStores = true
				if _, err := interpretText(t.Context(), k.text, k.entry, 1); err != nil {
					s.count("cannot be run with any numbers")
					t.Logf("%s @%s: %v", k.file, k.entry, err)
					return
				}
				s.add(t, th, k.file+" @"+k.entry, k.text, k.entry, 1, uint64(i))
			})
		})
	}
}

type litKernel struct{ file, text, entry string }

// litKernels finds the entries of cuda_tile in the text tests, also of files with several modules between lines of dashes.
func litKernels(t *testing.T) []litKernel {
	files, err := filepath.Glob("../lit/*/*.tileir")
	more, _ := filepath.Glob("../regress/testdata/*.tileir")
	if files = append(files, more...); err != nil || len(files) == 0 {
		t.Fatalf("no texts: %v", err)
	}
	var list []litKernel
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range strings.Split(string(data), "// -----") {
			in, err := read(text)
			if err != nil {
				continue // a text of another stage, or one that a test wants refused
			}
			for _, entry := range ir.OpsOf[cudatile.Entry](in.Module.Body()) {
				list = append(list, litKernel{filepath.Base(file), text, entry.SymName()})
			}
		}
	}
	return list
}
