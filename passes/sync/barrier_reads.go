package sync

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// readStoredFirst moves reads of what threads have just stored for each other in front of reads of many registers: threads meet in between, and what was
// read by then would wait for them. Behind the barrier, each step of a product reads its own.
//
//	buffer_store %p, %b                                   buffer_store %p, %b
//	%y = buffer_load %v    (128 registers)          =>    %x = buffer_load %b     (a barrier comes in front of it)
//	%x = buffer_load %b                                   %y = buffer_load %v
//	dot %x, %y                                            dot %x, %y
func readStoredFirst(s *pass.State, entry *ir.Op) {
	type move struct{ read, store *ir.Op }
	var list []move
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if load, ok := ir.As[tileaa.BufferLoad](op); ok && load.When() == nil {
			if store := storedBefore(load); store != nil {
				list = append(list, move{op, store})
			}
		}
	})
	for _, m := range list {
		m.read.MoveBefore(m.store.Next())
	}
}

// storedBefore is the store to the buffer of a read, if nothing but reads, some of many registers, and pure operations stand between.
func storedBefore(load tileaa.BufferLoad) *ir.Op {
	many := false
	op := load.Op.Prev()
	for range maxBetween {
		switch {
		case op == nil:
			return nil
		case op.Code() == tileaa.OpBufferLoad:
			many = many || kernel.RegistersOf(op.Result(0)) > maxWaiting && !isStored(ir.Cast[tileaa.BufferLoad](op).Buffer())
		case op.Code() == tileaa.OpBufferStore && many && ir.Cast[tileaa.BufferStore](op).Buffer() == load.Buffer():
			return op
		case !op.Traits().Has(ir.Pure):
			return nil
		}
		op = op.Prev()
	}
	return nil
}

// isStored reports whether threads store to a buffer, so that a read of it may want the same barrier.
func isStored(buffer *ir.Value) bool {
	return slices.ContainsFunc(tileaa.BufferUsers(buffer), func(op *ir.Op) bool { return op.Code() == tileaa.OpBufferStore })
}

const (
	maxWaiting = 64 // registers of a thread that may wait for others: a quarter of those that there are
	maxBetween = 16 // operations that are looked at between a store and a read
)
