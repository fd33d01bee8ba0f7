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
	Kind    FaultKind
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

func (p *Program) interpFault(r *interp.Report, k Kernel, l *Launch) *Fault {
	f := &Fault{Kind: interpKinds[r.Kind], Message: r.Message, Kernel: k.Name, Places: placesOf(r.Loc), Block: r.Block, Element: r.Element, Address: r.Address,
		Detail: r.Error(), report: r}
	f.locate(l)
	if r.Kind == interp.AssertFailed && l.Stdout != nil {
		io.WriteString(l.Stdout, f.assertionLine())
	}
	return f
}

// assertionLine is what compiled code prints when an assertion fails.
func (f *Fault) assertionLine() string {
	at := Place{}
	if len(f.Places) > 0 {
		at = f.Places[0]
	}
	list := func(s string) string { return strings.ReplaceAll(s, " ", ", ") }
	return fmt.Sprintf("%s:%d: tile block: %s, position: %s: %s\n", at.File, at.Line, list(fmt.Sprint(f.Block)), list(fmt.Sprint(f.Element)), f.Message)
}

// lastLineWriter passes output on and remembers its last line.
type lastLineWriter struct {
	out  io.Writer
	last string
}

func (w *lastLineWriter) Write(b []byte) (int, error) {
	w.last = strings.TrimSuffix(string(b), "\n")
	if w.out == nil {
		return len(b), nil
	}
	return w.out.Write(b)
}

// assertionMessage is the message of a failed assertion, from what compiled code has printed; otherwise, if it has printed none.
func (w *lastLineWriter) assertionMessage(otherwise string) string {
	if _, after, ok := strings.Cut(w.last, ", position: ["); ok {
		if _, message, ok := strings.Cut(after, "]: "); ok {
			return message
		}
	}
	return otherwise
}

func (p *Program) emuFault(r *emu.Report, k Kernel, l *Launch) *Fault {
	f := &Fault{Kind: emuKinds[r.Kind], Message: r.Msg, Kernel: k.Name, Places: placesIn(r.Source), Block: r.CTA, Address: r.Addr, report: r}
	f.Detail = f.report.Error()
	f.locate(l)
	if o := r.Other; o != nil {
		f.Other = &Other{Write: o.Access != emu.Read, Places: placesIn(o.Source), Block: o.CTA}
		earlier := "an unknown place"
		if len(f.Other.Places) > 0 {
			earlier = f.Other.Places[0].String()
		}
		f.Message = fmt.Sprintf("the %s of byte %d of %s is not ordered after the %s by tile block %d %d %d at %s", r.Access, o.Offset, o.Region, o.Access,
			f.Other.Block[0], f.Other.Block[1], f.Other.Block[2], earlier)
	}
	return f
}

// locate finds the region of the address: the one that contains it, or the nearest.
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
