// Package triton_test runs kernels of another compiler, Triton, in the emulator: asynchronous PTX that
// nobody here wrote. scripts/triton-kernels.py makes them; `make triton` does both.
package triton_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// agreeing is how many kernels must give what numpy gives.
const agreeing = 94

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
	t.Logf("%d of %d kernels agree under %d schedules, with %d notes", agree, len(records), len(emu.Schedules), len(notes))
	if agree < agreeing {
		t.Errorf("%d kernels agree, at least %d must", agree, agreeing)
	}
}
