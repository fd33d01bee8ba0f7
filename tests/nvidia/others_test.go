package nvidia_test

import (
	"strings"
	"testing"

	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	"tileiras/tests/regress"
)

// Kernels in testdata/others of which the emulator has something to say when it runs NVIDIA's PTX, and why it is right to.
//
//   - attention_backward: mbarrier.inval where no mbarrier has been initialised. A slot of NVIDIA's ring begins with an mbarrier.inval by
//     every thread, then one thread initialises it: nothing was there in the first round, and from the second lane on nothing is there any
//     more. Harmless, but mbarrier.inval asks for an initialised object (9.7.13.15): a note.
//   - masked_f64: a guard that depends on undefined bits. Tile IR leaves the value of a masked load undefined; NVIDIA's PTX makes no value
//     of it (the register is not written) and lets it choose the branches of log and sin. Nothing of it is stored: a note.
//   - labels: silent while a token orders the load before the atomic minima of other threads: NVIDIA's PTX has a barrier there. Without
//     that token there is none, and a weak ld.global conflicts with the atom of another warp: a race of the program (8.7.1, morally
//     strong needs both to be strong), which a relaxed load does not have.
var others = []struct {
	name     string
	old, new string   // a change of the text
	note     string   // every launch has this note
	race     []string // every launch is stopped by a report that says this
}{
	{name: "attention_backward", note: "invalid: mbarrier.inval at "},
	{name: "masked_f64", note: "undefined: the guard depends on undefined bits"},
	{name: "labels"},
	{name: "labels", old: "min, %x token=%t1", new: "min, %x", race: []string{"race: ", "atom.global.acq_rel.min.s32", "ld.global.b32"}},
	{name: "labels", old: "load_ptr_tko weak", new: "load_ptr_tko relaxed device"},
}

func TestWhatIsSaidOfNvidiaPTX(t *testing.T) {
	tool(t, "tileiras")
	for _, o := range others {
		test, err := regress.Load("testdata/others/" + o.name + ".tileir")
		if err != nil {
			t.Fatal(err)
		}
		if text := string(test.Bytecode); o.old != "" {
			if test.Bytecode = []byte(strings.ReplaceAll(text, o.old, o.new)); string(test.Bytecode) == text {
				t.Fatalf("%s does not contain %q", o.name, o.old)
			}
		}
		for _, target := range []string{"sm_80", "sm_90"} {
			cubin, err := nvidiaCubinOfText(t, test, target)
			if err != nil {
				t.Fatal(err)
			}
			ptx, err := embeddedPTX(cubin)
			if err != nil {
				t.Fatal(err)
			}
			mod, err := emu.Parse(o.name+".ptx", ptx)
			if err != nil {
				t.Fatal(err)
			}
			for _, schedule := range emu.Schedules {
				m := &emulator{mod: mod, cubin: cubin, schedule: schedule}
				v := cases.Run(t.Context(), m, test.Case)
				notes := ""
				for _, n := range m.result.Notes {
					notes += n.Error() + "\n"
				}
				switch {
				case o.race != nil:
					for _, text := range o.race {
						if v.Status == cases.Pass || !strings.Contains(v.String(), text) {
							t.Errorf("%s with %q, %s, %v: want %q in: %s", o.name, o.new, target, schedule, text, v)
						}
					}
				case v.Status != cases.Pass || !strings.Contains(notes, o.note) || o.note == "" && notes != "":
					t.Errorf("%s, %s, %v: want the note %q, got %s with\n%s", o.name, target, schedule, o.note, v, notes)
				}
			}
		}
	}
}
