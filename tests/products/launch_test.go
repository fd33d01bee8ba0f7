package products_test

import (
	"testing"

	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// emulator runs what was compiled under a schedule.
func emulator(res *driver.Result, s emu.Schedule) cases.Machine {
	return &tilerun.Emulator{Schedule: s, Compiled: res}
}

// everywhere are the interpreter, and emulators of what was compiled under every schedule.
func everywhere(res *driver.Result) []cases.Machine {
	machines := []cases.Machine{&tilerun.Interpreter{}}
	for _, s := range emu.Schedules {
		machines = append(machines, emulator(res, s))
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
