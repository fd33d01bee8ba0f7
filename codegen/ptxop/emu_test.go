package ptxop

import (
	"fmt"
	"strings"
	"testing"

	"tileiras/runtime/emu"
)

// The emulator has a table of its own, which this asks for every instruction of ours on matrices: what the compiler may choose must run.
func TestTheEmulatorKnowsEveryMatrixInstruction(t *testing.T) {
	known := func(r *Row, text string) error {
		low := lowest(r)
		name := low.Name
		if r.Need.Arch != 0 {
			name = low.ArchName()
		}
		src := fmt.Sprintf(".version %s\n.target %s\n.address_size 64\n.visible .entry k() {\n"+
			".reg .b32 %%r<320>; .reg .b32 %%f<320>; .reg .b64 %%fd<64>; .reg .b64 %%rd<64>; .reg .b16 %%rs<64>;\n%s\nret;\n}\n", r.Need.Version(low), name, text)
		m, err := emu.Parse(r.Name, src)
		if err == nil && len(m.Entry("k").Unsupported) > 0 {
			err = fmt.Errorf("%v", m.Entry("k").Unsupported)
		}
		return err
	}
	n := 0
	for _, r := range Rows() {
		if word, _, _ := strings.Cut(r.Name, "."); word != "mma" && word != "ldmatrix" && word != "stmatrix" && word != "dp4a" && word != "wgmma" {
			continue
		}
		n++
		if err := known(r, text(r, false)); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	if n < len(Products) {
		t.Errorf("asked for %d instructions only", n)
	}
	r := Must(Products[0].Name("f16", "f16"))
	if err := known(r, strings.Replace(text(r, false), "m16n8k16", "m16n8k32", 1)); err == nil {
		t.Error("a shape that no GPU has is accepted")
	}
}
