package random

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
	"tileiras/runtime/emu"
	"tileiras/tests/ptxas"
)

// thirds are the GPUs whose NVIDIA PTX the emulator runs, with what modules for them do without: what NVIDIA's compiler refuses, and shifts
// by the width or more, of which the specification says nothing; to NVIDIA's compiler they have no value, and it drops what uses them.
var thirds = []struct {
	gpu     string
	without []Feature
}{
	{"sm_80", []Feature{F8, F4, Overshift}},
	{"sm_89", []Feature{F4, Overshift}},
}

// TestThreeOpinionsOnRandomModules holds the interpreter, our PTX and NVIDIA's PTX of random modules against each other.
// TILEIRAS_THREE=N makes N modules for each GPU, TILEIRAS_THREE_FROM the first seed.
func TestThreeOpinionsOnRandomModules(t *testing.T) {
	tools, ok := ptxas.Find(t.TempDir())
	if !ok {
		t.Skipf("%s is not set: it names the folder with NVIDIA's tools", ptxas.Variable)
	}
	n, from := number(t, "TILEIRAS_THREE", 50), number(t, "TILEIRAS_THREE_FROM", 0)
	for _, on := range thirds {
		t.Run(on.gpu, func(t *testing.T) {
			th := &Theirs{tools, on.gpu}
			s := survey{counts: map[string]int{}}
			start := time.Now()
			for seed := uint64(from); seed < uint64(from+n); seed++ {
				s.add(t, th, fmt.Sprintf("seed %d", seed), moduleOf(seed, on.without...), entry, grid, seed)
			}
			t.Logf("%d modules in %v\n%s", n, time.Since(start).Round(time.Second), s.String())
		})
	}
}

// theirFaults are differences in which NVIDIA's compiler is wrong. Each has a module in testdata/theirs that shows it, and the proof: what
// of their PTX cannot be right.
var theirFaults = []struct {
	file  string
	is    func(text string, v Verdict) bool
	proof string
}{
	{"alloca_pointer_overwritten", func(text string, v Verdict) bool {
		return strings.Contains(text, "alloca ") && v.Ours == nil && strings.Contains(fmt.Sprint(v.Theirs), "emulator: race") &&
			strings.Contains(fmt.Sprint(v.Theirs), "[global_smem_")
	}, "every warp reads the address of the alloca from the shared word in which one thread then puts the result of an atomic operation, and no barrier " +
		"stands between the read and the write"},
}

// theirFault is the number of the fault of NVIDIA's compiler that a verdict shows, or -1.
func theirFault(text string, v Verdict) int {
	for i, f := range theirFaults {
		if f.is(text, v) {
			return i
		}
	}
	return -1
}

// TestThreeTheirFaultsStand shows each fault of the table again, so that none stays in it that a newer compiler does not have.
func TestThreeTheirFaultsStand(t *testing.T) {
	tools, ok := ptxas.Find(t.TempDir())
	if !ok {
		t.Skipf("%s is not set: it names the folder with NVIDIA's tools", ptxas.Variable)
	}
	for i, f := range theirFaults {
		text, err := os.ReadFile("testdata/theirs/" + f.file + ".tileir")
		if err != nil {
			t.Fatal(err)
		}
		th := &Theirs{tools, "sm_80"}
		v := th.Three(t.Context(), string(text), entry, grid, emu.RoundRobin)
		if theirFault(string(text), v) != i {
			t.Errorf("%s: NVIDIA's compiler does not show it any more: %v", f.file, v)
		}
	}
}

// survey counts verdicts and shows those that are faults.
type survey struct {
	counts map[string]int
	failed int
}

func (s *survey) String() string {
	text := ""
	for _, k := range sortedKeys(s.counts) {
		text += fmt.Sprintf("%6d %s\n", s.counts[k], k)
	}
	return text
}

func (s *survey) add(t *testing.T, th *Theirs, name, text, entry string, blocks int, seed uint64) {
	schedule := scheduleOf(seed)
	v := th.Three(t.Context(), text, entry, blocks, schedule)
	kind := v.Kind()
	switch {
	case theirFault(text, v) >= 0:
		s.counts["NVIDIA's fault: "+theirFaults[theirFault(text, v)].file]++
		return
	case kind != "":
		s.counts["differ: "+kind]++
	case errors.Is(v.Theirs, ErrTheirs):
		s.counts[v.Theirs.Error()]++
	case errors.Is(v.Ours, ErrUnsupported):
		s.counts["theirs as the interpreter; ours refuses"]++
	default:
		s.counts["all three agree"]++
	}
	if kind == "" {
		return
	}
	if s.failed++; s.failed > number(t, "TILEIRAS_THREE_REDUCED", 3) {
		t.Errorf("%s: %v", name, v)
		return
	}
	small := Reduce(text, func(text string) bool { return th.Three(t.Context(), text, entry, blocks, schedule).Kind() == kind })
	t.Errorf("%s: %v\nreduced:\n%s", name, v, small)
}

// TestThreeOpinionsOnLitKernels asks all three about every entry of the texts of tests/lit that the interpreter can run as a random
// module is run, but by one tile block: buffers for pointers, numbers for scalars.
func TestThreeOpinionsOnLitKernels(t *testing.T) {
	tools, ok := ptxas.Find(t.TempDir())
	if !ok {
		t.Skipf("%s is not set: it names the folder with NVIDIA's tools", ptxas.Variable)
	}
	kernels := litKernels(t)
	for _, on := range thirds {
		t.Run(on.gpu, func(t *testing.T) {
			th := &Theirs{tools, on.gpu}
			s := survey{counts: map[string]int{}}
			for i, k := range kernels {
				_, err := interpretText(t.Context(), k.text, k.entry, 1)
				if err != nil {
					s.counts["cannot be run with any numbers"]++
					t.Logf("%s @%s: %v", k.file, k.entry, err)
					continue
				}
				s.add(t, th, k.file+" @"+k.entry, k.text, k.entry, 1, uint64(i))
			}
			t.Logf("%d kernels\n%s", len(kernels), s.String())
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
