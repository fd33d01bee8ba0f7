package target

import (
	"fmt"
	"testing"

	"tileiras/runtime/emu"
)

// The emulator has a table of its own, which this asks for every GPU: a thread block gets what the compiler may take, and no more than there is.
func TestTheEmulatorKnowsTheSharedMemory(t *testing.T) {
	run := func(gpu *Target, bytes int) error {
		m, err := emu.Parse("shared.ptx", fmt.Sprintf(".version 9.4\n.target %s\n.address_size 64\n.visible .entry k() {\n"+
			".shared .align 16 .b8 all[%d]; .reg .b32 %%r; mov.b32 %%r, all;\nret;\n}\n", gpu.Name, bytes))
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Run(t.Context(), "k", emu.NewMemory(), nil, emu.Options{Block: [3]int{1, 1, 1}})
		return err
	}
	for _, gpu := range All {
		if err := run(gpu, gpu.SharedOptIn); err != nil {
			t.Errorf("%s: %v", gpu, err)
		}
		if run(gpu, gpu.SharedPerSM+1) == nil {
			t.Errorf("%s: a thread block gets more than the multiprocessor has", gpu)
		}
	}
}
