// Package triton_test runs kernels of another compiler, Triton, in the emulator: asynchronous PTX that
// nobody here wrote. scripts/triton-kernels.py makes them; `make triton` does both.
package triton_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// agreeing is how many kernels must give what numpy gives.
const agreeing = 150 // two more, for sm_120, take more shared memory than a block has there

// explained are the notes that Triton's PTX gets, by kind: what each of them says, and why it is no fault of the kernel. Any other note
// is an error.
var explained = map[string]struct{ says, why string }{
	"same-value race": {"write of shared memory", "threads that hold copies of an element all store it, by st.shared and stmatrix: equal values commute"},
	"in flight": {"tcgen05.wait::ld is missing", "LLVM packs the registers of a tcgen05.ld by mov.b64 before the tcgen05.wait::ld, on which they do not " +
		"depend for it; the machine holds the instruction back until the register is there"},
}

// TestEmulatorRunsTritonPTX runs every kernel below TILEIRAS_TRITON under all schedules, with all checks on.
func TestEmulatorRunsTritonPTX(t *testing.T) {
	dir := os.Getenv("TILEIRAS_TRITON")
	if dir == "" {
		t.Skip("TILEIRAS_TRITON is not set: it names the folder with the kernels that scripts/triton-kernels.py writes (make triton)")
	}
	records, err := filepath.Glob(filepath.Join(dir, "*", "launch.json"))
	if err != nil || len(records) == 0 {
		t.Fatalf("%s holds no launch records (%v)", dir, err)
	}
	var mu sync.Mutex
	agree, notes := 0, map[string]bool{}
	t.Run("kernels", func(t *testing.T) {
		for _, record := range records {
			t.Run(filepath.Base(filepath.Dir(record)), func(t *testing.T) {
				t.Parallel()
				c, err := cases.Load(record)
				if err != nil {
					t.Fatal(err)
				}
				for _, schedule := range emu.Schedules {
					v := cases.Run(t.Context(), &tilerun.Emulator{Schedule: schedule}, c)
					if v.Status != cases.Pass {
						t.Logf("%v schedule: %s", schedule, v)
						return
					}
					mu.Lock()
					for _, n := range v.Outcome.Notes {
						notes[c.Name+": "+n] = true
					}
					mu.Unlock()
				}
				mu.Lock()
				defer mu.Unlock()
				agree++
			})
		}
	})
	kinds := map[string][]string{}
	for n := range notes {
		kind, _, _ := strings.Cut(n, " at line ") // behind the kernel and the place in its source
		kind = kind[strings.LastIndex(kind, ": ")+2:]
		kinds[kind] = append(kinds[kind], n)
	}
	t.Logf("%d of %d kernels agree under %d schedules, with %d notes", agree, len(records), len(emu.Schedules), len(notes))
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		slices.Sort(kinds[kind])
		t.Logf("%d notes of kind %q (%s), the first: %s", len(kinds[kind]), kind, explained[kind].why, kinds[kind][0])
		for _, n := range kinds[kind] {
			if says := explained[kind].says; says == "" || !strings.Contains(n, says) {
				t.Errorf("no explanation: %s", n)
			}
		}
	}
	if agree < agreeing {
		t.Errorf("%d kernels agree, at least %d must", agree, agreeing)
	}
}
