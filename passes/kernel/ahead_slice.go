package kernel

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/facts"
)

// AheadSlice is the backward slice of a loop's body that computes values of a later iteration, as the addresses of copies that are begun
// early.
type AheadSlice struct {
	Loop        *ir.Op
	AllowLoads  bool            // loads and tiles may be part of the slice
	Ops         map[*ir.Op]bool // of the body
	CarriedArgs []*ir.Value     // loop-carried block arguments that it depends on
	flow        ir.Flow
}

// NewAheadSlice is an empty slice.
func NewAheadSlice(loop *ir.Op) *AheadSlice {
	a := &AheadSlice{Loop: loop, Ops: map[*ir.Op]bool{}}
	a.flow, _ = ir.LoopOf(loop)
	return a
}

// Computable reports whether a value can be computed iterations ahead from the induction variable and loop-carried values, by pure
// operations and, with AllowLoads, by loads that nothing in the loop orders. It adds what computes it to the slice, and nothing if it cannot be computed.
func (a *AheadSlice) Computable(v *ir.Value) bool {
	var added []*ir.Op
	args := len(a.CarriedArgs)
	if a.add(v, &added) {
		return true
	}
	for _, op := range added {
		delete(a.Ops, op)
	}
	a.CarriedArgs = a.CarriedArgs[:args]
	return false
}

// add is Computable; what it adds, and lists, stays where it says false.
func (a *AheadSlice) add(v *ir.Value, added *[]*ir.Op) bool {
	if v == nil || ir.DefinedOutside(v, a.Loop) {
		return true
	}
	if v.IsArg() {
		i, carried := a.flow.CarriedIndex(v)
		if !carried || slices.Contains(a.CarriedArgs, v) {
			return carried || v == a.flow.InductionVar()
		}
		a.CarriedArgs = append(a.CarriedArgs, v)
		return (a.AllowLoads || !tileaa.IsRanked(v)) && a.add(a.flow.Continues()[0].Operand(i), added)
	}
	op := v.DefiningOp()
	if a.Ops[op] {
		return true
	}
	possible := op.MovesFreely() || a.AllowLoads && v.Index() == 0 && a.unordered(op)
	if op.Block() != a.Loop.Body() || !possible || !a.AllowLoads && tileaa.IsRanked(v) {
		return false
	}
	a.Ops[op] = true
	*added = append(*added, op)
	return !slices.ContainsFunc(op.Operands(), func(o *ir.Value) bool { return !a.add(o, added) })
}

// unordered reports whether an op is a load whose tokens order it with nothing in the loop.
func (a *AheadSlice) unordered(op *ir.Op) bool {
	if !IsPlainLoad(op) || tileaa.IsStrong(op) || op.Result(1).HasUses() {
		return false
	}
	t := tileaa.TokenBefore(op)
	return t == nil || ir.DefinedOutside(t, a.Loop)
}

// IsPlainLoad reports whether an op is a load of a block or through pointers.
func IsPlainLoad(op *ir.Op) bool {
	return op.Code() == tileaa.OpLoad || op.Code() == tileaa.OpTiledLoad
}

// CanCopyAsync reports whether asynchronous copies can do what a load does: it is weak, elements that it does not read may be zero, and its
// pointers, or its array, are in global memory and computable iterations ahead.
func CanCopyAsync(known *facts.Facts, load *ir.Op) bool {
	if tileaa.IsStrong(load) || !tileaa.ZeroFilled(load) {
		return false
	}
	if block, ok := tileaa.BlockOf(load); ok {
		array, made := ir.DefinedBy[tileaa.MakeMemref](block.Memref())
		return made && known.Outside(array.Base())
	}
	l := ir.Cast[tileaa.Load](load)
	return known.Outside(l.Ptr()) && addressKnownAhead(l)
}

// CanPrefetch reports whether a load in a loop can be issued iterations ahead: its address is computable then, and nothing in the loop
// comes before it.
func CanPrefetch(load *ir.Op) bool {
	loop := load.ParentOp()
	if t := tileaa.TokenBefore(load); t != nil && !ir.DefinedOutside(t, loop) {
		return false
	}
	if l, pointers := ir.As[tileaa.Load](load); pointers {
		return addressKnownAhead(l)
	}
	l := ir.Cast[tileaa.TiledLoad](load)
	_, ok := sliceAhead(loop, l.Block(), l.When())
	return ok
}

// addressKnownAhead reports whether the pointers and masks of a load in a loop are computable iterations ahead, in the layout that they
// have.
func addressKnownAhead(load tileaa.Load) bool {
	ops, ok := sliceAhead(load.Op.ParentOp(), load.Ptr(), load.Mask(), load.Left())
	return ok && !containsOp(ops, func(op *ir.Op) bool { return op.Code() == tileaa.OpConvertLayout })
}

// Gathers reports whether a load in a loop goes through pointers that depend on loads of the loop, or that are not computable ahead.
func Gathers(load *ir.Op) bool {
	l, pointers := ir.As[tileaa.Load](load)
	if !pointers {
		return false
	}
	ops, ok := sliceAhead(load.ParentOp(), l.Ptr())
	return !ok || containsOp(ops, IsPlainLoad)
}

// sliceAhead is the slice, loads included, that computes values of a loop iterations ahead, if there is one; empty where loop is no loop.
func sliceAhead(loop *ir.Op, values ...*ir.Value) (ops map[*ir.Op]bool, ok bool) {
	if loop.Code() != tileaa.OpFor {
		return nil, true
	}
	a := NewAheadSlice(loop)
	a.AllowLoads = true
	return a.Ops, len(a.flow.Continues()) == 1 && !slices.ContainsFunc(values, func(v *ir.Value) bool { return !a.Computable(v) })
}

func containsOp(ops map[*ir.Op]bool, is func(*ir.Op) bool) bool {
	for op := range ops { // any of them: the order cannot matter
		if is(op) {
			return true
		}
	}
	return false
}
