package tilerun

import (
	"testing"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	"tileiras/runtime/executor"
)

// TestOneCompile: the machines of a kernel run what the first of them compiled.
func TestOneCompile(t *testing.T) {
	l := &cases.Launch{Bytecode: []byte("cuda_tile.module @m { entry @k() { return } }"), Kernel: "k", Grid: [3]int{1, 1, 1}}
	for _, m := range emulators(driver.Options{GPU: "sm_80"}, emu.Schedules, executor.Checks{}) {
		if _, err := m.Launch(t.Context(), l); err != nil {
			t.Errorf("%v: %v", m, err)
		}
		l.Bytecode = []byte("no module")
	}
}
