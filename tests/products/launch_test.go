package products_test

import (
	"context"
	"testing"

	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// emulator runs PTX for a GPU under a schedule.
func emulator(gpu, ptx string, s emu.Schedule) cases.Machine {
	return &tilerun.Emulator{GPU: gpu, Schedule: s, PTX: func(context.Context, *cases.Launch) (string, error) { return ptx, nil }}
}

// everywhere are the interpreter, and emulators of PTX for a GPU under every schedule.
func everywhere(gpu, ptx string) []cases.Machine {
	machines := []cases.Machine{&tilerun.Interpreter{}}
	for _, s := range emu.Schedules {
		machines = append(machines, emulator(gpu, ptx, s))
	}
	return machines
}

// outcome launches a case on a machine and says what is wrong with one of its buffers after that.
func outcome(t *testing.T, m cases.Machine, c *cases.Case, buffer int, want []byte, tolerance float64) error {
	in, err := c.NewLaunch()
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Launch(t.Context(), in)
	if err != nil {
		return err
	}
	return cases.Compare(c.Buffers[buffer], got.Buffers[buffer], want, tolerance, tolerance)
}
