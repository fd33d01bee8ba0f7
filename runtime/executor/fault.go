package executor

import (
	"fmt"
	"io"
	"strings"

	"tileiras/runtime/emu"
	"tileiras/runtime/interp"
)

// Fault is what a kernel did wrong.
type Fault struct {
	Kind    string // "out of bounds", "race", "undefined", "misaligned", "assertion", ...
	Message string
	Kernel  string
	Places  []Place // of the source: the innermost first and after it who called it; none when the program does not say
	Block   [3]int  // tile block
	Element []int64 // place in the tile at hand; nil for a scalar, or when the engine does not know
	Address uint64  // that was accessed; 0 when the fault is not about memory
	Region  string  // the region there, or ""
	Offset  int64   // of the address in the region, in bytes
	Other   *Other  // the access that the one here is not ordered after
	Detail  string  // all that the engine says

	report error // of the engine
}

// Unwrap leads to the report of the engine: an *interp.Report or an *emu.Report.
func (f *Fault) Unwrap() error { return f.report }

// Other is the earlier access of a race.
type Other struct {
	Write  bool
	Places []Place
	Block  [3]int // tile block
}

// Error says what is wrong, where, and in which tile block.
func (f *Fault) Error() string {
	var b strings.Builder
	if len(f.Places) > 0 {
		fmt.Fprintf(&b, "%v: ", f.Places[0])
	}
	fmt.Fprintf(&b, "%s: %s [kernel %s, tile block %d %d %d", f.Kind, f.Message, f.Kernel, f.Block[0], f.Block[1], f.Block[2])
	if f.Element != nil {
		b.WriteString(", element")
		for _, e := range f.Element {
			fmt.Fprintf(&b, " %d", e)
		}
	}
	b.WriteString("]")
	return b.String()
}

// interpKinds and emuKinds name what the engines find by one word for both; other kinds have the engine's.
var (
	interpKinds = map[interp.Kind]string{interp.UndefUse: "undefined", interp.Undefined: "undefined behaviour", interp.AssertFailed: "assertion"}
	emuKinds    = map[emu.Kind]string{emu.Undefined: "undefined", emu.SameValueRace: "race", emu.Trap: "assertion"}
)

func (p *Program) interpFault(r *interp.Report, k Kernel, l *Launch) *Fault {
	f := &Fault{Kind: r.Kind.String(), Message: r.Message, Kernel: k.Name, Places: placesOf(r.Loc), Block: r.Block, Element: r.Element, Address: r.Address,
		Detail: r.Error(), report: r}
	if kind, ok := interpKinds[r.Kind]; ok {
		f.Kind = kind
	}
	f.locate(l)
	if r.Kind == interp.AssertFailed && l.Stdout != nil {
		io.WriteString(l.Stdout, f.printed())
	}
	return f
}

// printed is what compiled code prints of an assertion that fails.
func (f *Fault) printed() string {
	at := Place{}
	if len(f.Places) > 0 {
		at = f.Places[0]
	}
	list := func(s string) string { return strings.ReplaceAll(s, " ", ", ") }
	return fmt.Sprintf("%s:%d: tile block: %s, position: %s: %s\n", at.File, at.Line, list(fmt.Sprint(f.Block)), list(fmt.Sprint(f.Element)), f.Message)
}

// lastLine hands on what is printed and remembers the last line.
type lastLine struct {
	to   io.Writer
	last string
}

func (w *lastLine) Write(b []byte) (int, error) {
	w.last = strings.TrimSuffix(string(b), "\n")
	if w.to == nil {
		return len(b), nil
	}
	return w.to.Write(b)
}

// asserted is the message of an assertion that has failed, from what compiled code has printed; otherwise where it has printed none.
func (w *lastLine) asserted(otherwise string) string {
	if _, after, ok := strings.Cut(w.last, ", position: ["); ok {
		if _, message, ok := strings.Cut(after, "]: "); ok {
			return message
		}
	}
	return otherwise
}

func (p *Program) emuFault(r *emu.Report, k Kernel, l *Launch) *Fault {
	f := &Fault{Kind: r.Kind.String(), Message: r.Msg, Kernel: k.Name, Places: p.at(r.Line), Block: p.tileBlock(k, r.CTA), Address: r.Addr, report: p.placed(r)}
	f.Detail = f.report.Error()
	if kind, ok := emuKinds[r.Kind]; ok {
		f.Kind = kind
	}
	f.locate(l)
	if o := r.Other; o != nil {
		f.Other = &Other{Write: o.Write, Places: p.at(o.Line), Block: p.tileBlock(k, o.CTA)}
		this, that, where := "read", "read", "byte "+fmt.Sprint(o.Offset)+" of "+o.Region
		if strings.HasPrefix(r.Msg, "write") {
			this = "write"
		}
		if o.Write {
			that = "write"
		}
		earlier := "an unknown place"
		if len(f.Other.Places) > 0 {
			earlier = f.Other.Places[0].String()
		}
		f.Message = fmt.Sprintf("the %s of %s is not ordered after the %s by tile block %d %d %d at %s", this, where, that,
			f.Other.Block[0], f.Other.Block[1], f.Other.Block[2], earlier)
	}
	return f
}

// placed is what the emulator says, which names lines of the PTX, with the places of the source where they are known.
func (p *Program) placed(r *emu.Report) error {
	var err error = r
	if at := p.at(r.Line); at != nil {
		err = fmt.Errorf("%v: %w", at[0], r)
	}
	if r.Other != nil {
		if at := p.at(r.Other.Line); at != nil {
			err = fmt.Errorf("%w\n  the earlier access is that of %v", err, at[0])
		}
	}
	return err
}

// tileBlock is the tile block that a CTA belongs to.
func (p *Program) tileBlock(k Kernel, cta [3]int) [3]int {
	per := p.launch[k.Name].blocks
	for i := range cta {
		cta[i] /= max(per[i], 1)
	}
	return cta
}

// locate finds the region of the address: the one that holds it, or the nearest.
func (f *Fault) locate(l *Launch) {
	if f.Address == 0 {
		return
	}
	best := ^uint64(0)
	for _, r := range l.Memory {
		off := f.Address - r.Address
		dist := uint64(0)
		if f.Address < r.Address {
			dist = r.Address - f.Address
		} else if off >= uint64(len(r.Data)) {
			dist = off - uint64(len(r.Data)) + 1
		}
		if dist < best {
			best, f.Region, f.Offset = dist, r.Name, int64(off)
		}
	}
}
