package kernel

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// AccessKinds is a set of kinds of accesses to global memory. Weak reads can be in any order; strong ones see other tile blocks, and a later
// one must not see less than an earlier one.
type AccessKinds uint8

const (
	WeakRead AccessKinds = 1 << iota
	StrongRead
	Write
	// Ordered comes after everything, as a release.
	Ordered

	// NumAccessKinds counts the kinds before Ordered.
	NumAccessKinds = 3
)

// AccessKindsOf is what an op does to memory outside the kernel's buffers; 0: nothing.
func AccessKindsOf(op *ir.Op) AccessKinds {
	fences := ir.Is[tileaa.FenceAlias](op) || ir.Is[tileaa.GdcWait](op) || ir.Is[tileaa.GdcLaunchDependents](op)
	switch {
	case fences || tileaa.Touches(op, ir.Write, tileaa.GlobalSpace):
		return Write
	case !tileaa.Touches(op, ir.Read, tileaa.GlobalSpace):
		return 0
	case tileaa.IsStrong(op):
		return StrongRead
	}
	return WeakRead
}

// Conflicting reports whether the order of two accesses matters.
func Conflicting(a, b AccessKinds) bool {
	return (a|b)&(Write|Ordered) != 0 || a&b&StrongRead != 0
}

// HasOrder reports whether a memory op has acquire or release semantics.
func HasOrder(op *ir.Op, what def.MemOrder) bool {
	m, ok := ir.As[tileaa.MemoryOp](op)
	if !ok {
		return ir.Is[tileaa.GdcWait](op) && what == def.Acquire
	}
	return m.Order() == what || m.Order() == def.AcqRel
}

// OrdersAll reports whether an op comes after everything before it in the tile block, whatever its token says.
func OrdersAll(op *ir.Op) bool {
	return HasOrder(op, def.Release) || ir.Is[tileaa.FenceAlias](op) || ir.Is[tileaa.GdcLaunchDependents](op)
}

// OrdersAllWithin reports whether an op, or one in its regions, OrdersAll.
func OrdersAllWithin(op *ir.Op) (found bool) {
	ir.Walk(op, ir.PreOrder, func(in *ir.Op) { found = found || OrdersAll(in) })
	return found
}

// AfterReads reports whether a token comes after nothing but reads of which the order does not matter; nil does.
func AfterReads(token *ir.Value) bool { return afterReads(token, map[*ir.Value]bool{nil: true}) }

func afterReads(v *ir.Value, seen map[*ir.Value]bool) bool {
	if seen[v] {
		return true
	}
	seen[v] = true
	if in, ok := ir.Incoming(v); ok {
		return !slices.ContainsFunc(in, func(t *ir.Value) bool { return !afterReads(t, seen) })
	}
	op := v.DefiningOp()
	if op == nil || op.NumRegions() > 0 || AccessKindsOf(op)&^WeakRead != 0 || HasOrder(op, def.Acquire) {
		return false
	}
	return !slices.ContainsFunc(op.Operands(), func(t *ir.Value) bool { return tileaa.IsToken(t) && !afterReads(t, seen) })
}
