package interp

import (
	"fmt"
	"strings"

	"tileiras/ir"
)

// Kind classifies what a Report is about.
type Kind uint8

const (
	// UndefUse: an undefined element reached a store, an address, a mask, a branch, a bound or an assertion.
	UndefUse Kind = iota
	// OutOfBounds: an access outside every allocation.
	OutOfBounds
	// Misaligned: an address that is no multiple of the size of its element.
	Misaligned
	// Undefined: the program did what the specification calls undefined (a false promise, a step that is not positive).
	Undefined
	// InexactUse: an inexact element reached something else than float arithmetic and stores (Options.Strict).
	InexactUse
	// AssertFailed: an assertion of the program does not hold.
	AssertFailed
	// StepLimit: a tile block ran for too long.
	StepLimit
	// ReadOnly: a write to memory that may only be read.
	ReadOnly
	// Internal: the interpreter itself is wrong, or ran a module that does not verify.
	Internal
)

var kindNames = [...]string{"undefined value", "out of bounds", "misaligned", "undefined behaviour", "inexact value",
	"assertion failed", "step limit", "read-only", "BUG"}

func (k Kind) String() string { return kindNames[k] }

// Report says what went wrong in a run, and where.
type Report struct {
	Kind    Kind
	Op      string      // full name of the operation
	Loc     ir.Location // of the operation
	Block   [3]int      // the tile block
	Element []int64     // place in the tile at hand; nil when that is a scalar or the whole tile is meant
	Address uint64      // of a bad access; 0 when the report is not about one
	Message string
}

// Error is the report on one line: "file:line:col: 'cuda_tile.op' [tile block 0 0 0, element 3 1]: kind: message".
func (r *Report) Error() string {
	var b strings.Builder
	if s := ir.LocString(r.Loc); s != "" {
		b.WriteString(s + ": ")
	}
	fmt.Fprintf(&b, "'%s' [tile block %d %d %d", r.Op, r.Block[0], r.Block[1], r.Block[2])
	if r.Element != nil {
		b.WriteString(", element")
		for _, e := range r.Element {
			fmt.Fprintf(&b, " %d", e)
		}
	}
	fmt.Fprintf(&b, "]: %s: %s", r.Kind, r.Message)
	return b.String()
}

// fail makes a report about the current operation.
func (m *machine) fail(k Kind, format string, args ...any) error {
	return &Report{Kind: k, Op: m.op.Name(), Loc: m.op.Loc(), Block: m.block, Message: fmt.Sprintf(format, args...)}
}

// failAt makes a report about element i of a tile of the given shape.
func (m *machine) failAt(k Kind, shape []int64, i int, format string, args ...any) error {
	r := m.fail(k, format, args...).(*Report)
	if len(shape) > 0 {
		r.Element = coordinates(shape, i)
	}
	return r
}

// coordinates splits a row-major position.
func coordinates(shape []int64, i int) []int64 {
	at := make([]int64, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = int64(i) % shape[d]
		i /= int(shape[d])
	}
	return at
}
