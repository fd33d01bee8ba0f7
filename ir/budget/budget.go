// Package budget bounds what one compile may take. A compile that is asked to end, or that holds more memory than it may, ends by a
// panic with a *Stop: stages are deep recursions over modules of any size, and a panic leaves all of them by one path. Whoever starts
// a stage turns it back into an error with Catch.
package budget

import (
	"context"
	"errors"
	"fmt"
)

// ErrMemory is in the chain of the error of a compile that would hold more memory than its limit.
var ErrMemory = errors.New("memory limit exceeded")

// Bytes that parts of a compile take, about; TestMemoryIsCountedAboutRight of the library holds them against the heap.
const (
	opBytes          = 900 // an operation with its attributes, and a few operands and results
	fewValues        = 4
	ValueBytes       = 64  // each further operand or result, each argument
	InstructionBytes = 700 // an instruction of LLVM IR and the machine instructions that it becomes
)

// OpBytes is what an operation takes.
func OpBytes(operands, results int) int64 {
	return opBytes + ValueBytes*int64(max(0, operands+results-fewValues))
}

// interval is how many steps pass between two looks at the context. A step is some microseconds of work at the most.
const interval = 64

// Budget is what one compile may still take. It belongs to one goroutine. A nil Budget has no bounds.
type Budget struct {
	ctx   context.Context
	left  int   // steps to the next look
	limit int64 // bytes, 0 = none
	held  int64 // bytes, about
	kept  int64 // of those, what stays to the end
}

// New is the budget of a compile that ends with ctx and holds at most limit bytes; a limit of 0 is none.
func New(ctx context.Context, limit int64) *Budget {
	return &Budget{ctx: ctx, left: interval, limit: limit}
}

// Stop is the panic that ends a stage.
type Stop struct{ Err error }

// Step is called once for every piece of work of bounded size: an operation, an instruction.
func (b *Budget) Step() {
	if b == nil {
		return
	}
	if b.left--; b.left <= 0 {
		b.Look()
	}
}

// Look asks the context at once.
func (b *Budget) Look() {
	if b == nil {
		return
	}
	b.left = interval
	if err := b.ctx.Err(); err != nil {
		panic(&Stop{ended(b.ctx)})
	}
}

// ended is the error of a context that has ended, context.Canceled or context.DeadlineExceeded, with its cause, if somebody gave one.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); cause != err {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// Hold counts bytes that the compile keeps; negative ones it has given back.
func (b *Budget) Hold(bytes int64) {
	if b == nil || b.limit == 0 {
		return
	}
	if b.held += bytes; b.held > b.limit {
		panic(&Stop{fmt.Errorf("%w: the compile would hold more than %s", ErrMemory, size(b.limit))})
	}
}

// Keep counts bytes that stay until the compile ends: what was read, text that is written.
func (b *Budget) Keep(bytes int64) {
	if b == nil {
		return
	}
	b.kept += bytes
	b.Hold(bytes)
}

// size is a number of bytes in the unit that says it in whole numbers.
func size(bytes int64) string {
	for i, unit := range []string{"GB", "MB", "kB"} {
		if n := int64(1) << (30 - 10*i); bytes%n == 0 {
			return fmt.Sprintf("%d %s", bytes/n, unit)
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// Limited reports whether memory is counted.
func (b *Budget) Limited() bool { return b != nil && b.limit > 0 }

// Settle replaces what has been counted, but for what is kept, by what a look at everything found: in between, only growth is seen.
func (b *Budget) Settle(bytes int64) {
	if b != nil {
		b.held = b.kept
		b.Hold(bytes)
	}
}

// Catch is deferred where a stage begins: a Stop becomes the error, every other panic goes on.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Stop:
		*err = r.Err
	default:
		panic(r)
	}
}
