package emu

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is what a report is about.
type Kind int

const (
	OutOfBounds   Kind = iota // access outside every allocation
	Misaligned                // address not a multiple of the access size
	Undefined                 // undefined bits in an address, a guard, a barrier or a store to global memory
	Race                      // two accesses, one a write, neither of which happens before the other
	SameValueRace             // unordered stores of the value that is already there
	AsyncPending              // bytes or registers of an asynchronous operation that is still in flight
	ProxyFence                // a missing fence: a write may be invisible to the async proxy, or a register to a wgmma
	Exited                    // shared memory of a CTA that has exited, or that exits with copies in flight
	TensorMemory              // tensor memory that is not allocated, or that the warp may not access
	Deadlock                  // no warp can make progress
	Divergence                // lanes that must be converged are not
	Trap                      // trap, or a failed assertion
	Unsupported               // an instruction that the emulator does not implement
	Invalid                   // a misuse: bad launch, bad barrier count
	StepLimit                 // MaxSteps
	ReadOnly                  // a write to memory that may only be read
	Endless                   // a loop that no branch will leave
	Kinds                     // how many there are
)

var kindNames = [...]string{"out of bounds", "misaligned", "undefined", "race", "same-value race",
	"in flight", "missing fence", "exited", "tensor memory", "deadlock", "divergence", "trap", "not supported", "invalid", "step limit", "read-only", "endless loop"}

func (k Kind) String() string { return kindNames[k] }

// Access is what an instruction does to memory.
type Access uint8

const (
	NoAccess Access = iota
	Read
	Write
	Atomic // reads and writes
)

func (a Access) String() string { return [...]string{"", "read", "write", "atomic"}[a] }

// use is an access by its name in messages.
type use struct {
	name   string
	access Access
}

func (u use) String() string { return u.name }

// Report is a fault found while running: the error type of every check.
type Report struct {
	Kind   Kind
	Access Access // that is at fault, where one is
	Msg    string
	Entry  string
	Source Source
	Line   int    // of the PTX text
	Instr  string // as written
	CTA    [3]int
	Warp   int // in the CTA
	Lane   int
	Addr   uint64 // generic address, where memory is concerned
	Count  int    // notes: how often this place reported
	Other  *Other // the earlier access, of a race
	Places []string
}

// Other is the access that a report says another is not ordered after.
type Other struct {
	Access Access
	Source Source
	Line   int // of the PTX text
	CTA    [3]int
	Region string // where both are: "'name'" of global memory, "shared memory"
	Offset int    // in the region, in bytes
}

func (r *Report) Error() string {
	var b strings.Builder
	if r.Source.File != "" {
		fmt.Fprintf(&b, "%v: ", r.Source)
	}
	fmt.Fprintf(&b, "%s: %s", r.Kind, r.Msg)
	if r.Line > 0 {
		fmt.Fprintf(&b, "\n  at line %d of the PTX: %s", r.Line, oneLine(r.Instr))
	}
	if r.Kind != Deadlock && r.Entry != "" {
		fmt.Fprintf(&b, "\n  in %s, CTA (%d,%d,%d), warp %d, lane %d", r.Entry, r.CTA[0], r.CTA[1], r.CTA[2], r.Warp, r.Lane)
	}
	for _, p := range r.Places {
		fmt.Fprintf(&b, "\n  %s", p)
	}
	if r.Other != nil && r.Other.Source.File != "" {
		fmt.Fprintf(&b, "\n  the earlier access is that of %v", r.Other.Source)
	}
	return b.String()
}

// Unwrap makes a report of what the emulator lacks an errors.ErrUnsupported.
func (r *Report) Unwrap() error {
	if r.Kind == Unsupported {
		return errors.ErrUnsupported
	}
	return nil
}

// Summary is a note in one line: kind, place, message, how often.
func (r *Report) Summary() string {
	source := ""
	if r.Source.File != "" {
		source = r.Source.String() + ": "
	}
	return source + fmt.Sprintf("%s at line %d, %d times: %s", r.Kind, r.Line, r.Count, r.Msg)
}

// fault carries a report up to Run. It never leaves the package.
type fault struct{ r *Report }

// report makes a report about a lane at the instruction being executed.
func (w *warp) report(k Kind, lane int, addr uint64, format string, args ...any) *Report {
	in := &w.prog.code[w.curPC]
	return &Report{Kind: k, Msg: fmt.Sprintf(format, args...), Entry: w.launch.entry.Name, Source: w.launch.source(in), Line: int(in.line),
		Instr: oneLine(in.text), CTA: w.cta.id, Warp: w.idx, Lane: lane, Addr: addr, Count: 1}
}

// fail stops the launch with a report about the first lane of m.
func (w *warp) fail(k Kind, m uint32, addr uint64, format string, args ...any) {
	panic(fault{w.report(k, firstLane(m), addr, format, args...)})
}

// failAccess stops the launch with a report about an access of a lane.
func (w *warp) failAccess(k Kind, u use, lane int, addr uint64, format string, args ...any) {
	r := w.report(k, lane, addr, format, args...)
	r.Access = u.access
	panic(fault{r})
}

// countRepeat counts a note again if this line has made it before.
func (l *launch) countRepeat(line int32, k Kind) bool {
	i, ok := l.noted[noteKey{int(line), k}]
	if ok {
		l.notes[i].Count++
	}
	return ok
}

// note keeps a report that does not stop the launch, once per line and kind.
func (l *launch) note(r *Report) {
	l.noted[noteKey{r.Line, r.Kind}] = len(l.notes)
	l.notes = append(l.notes, *r)
}

type noteKey struct {
	line int
	kind Kind
}
