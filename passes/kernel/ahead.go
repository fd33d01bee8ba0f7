package kernel

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/facts"
)

// Ahead is what a loop must compute to begin work of a later iteration in this one.
type Ahead struct {
	Loop  *ir.Op
	Loads bool            // also what is loaded for it, and values of many elements
	Ops   map[*ir.Op]bool // of the body
	Carry []*ir.Value     // that the loop carries
	flow  ir.Flow
}

// NewAhead is nothing yet.
func NewAhead(loop *ir.Op) *Ahead {
	a := &Ahead{Loop: loop, Ops: map[*ir.Op]bool{}}
	a.flow, _ = ir.LoopOf(loop)
	return a
}

// Computable reports whether a value can be computed iterations ahead, by pure operations, and loads that come after nothing in the loop, from the
// counter and from what the loop carries, and collects what for.
func (a *Ahead) Computable(v *ir.Value) bool {
	if v == nil || ir.DefinedOutside(v, a.Loop) {
		return true
	}
	if v.IsArg() {
		i, carried := a.flow.CarriedIndex(v)
		if !carried || slices.Contains(a.Carry, v) {
			return carried || v == a.flow.InductionVar()
		}
		a.Carry = append(a.Carry, v)
		return (a.Loads || !tileaa.IsRanked(v)) && a.Computable(a.flow.Continues()[0].Operand(i))
	}
	op := v.DefiningOp()
	if a.Ops[op] {
		return true
	}
	possible := op.Traits().Has(ir.Pure) && op.NumRegions() == 0 || a.Loads && v.Index() == 0 && a.free(op)
	if op.Block() != a.Loop.Body() || !possible || !a.Loads && tileaa.IsRanked(v) {
		return false
	}
	a.Ops[op] = true
	return !slices.ContainsFunc(op.Operands(), func(o *ir.Value) bool { return !a.Computable(o) })
}

// free reports whether an op is a load after which, and before which, nothing in the loop has to come.
func (a *Ahead) free(op *ir.Op) bool {
	if !IsPlainLoad(op) || tileaa.IsStrong(op) || op.Result(1).HasUses() {
		return false
	}
	if block, ok := tileaa.BlockOf(op); ok {
		if _, sparse := block.SparseDim(); sparse {
			return false
		}
	}
	t := tileaa.TokenBefore(op)
	return t == nil || ir.DefinedOutside(t, a.Loop)
}

// IsPlainLoad reports whether an op is a load of a block or through pointers.
func IsPlainLoad(op *ir.Op) bool {
	return op.Code() == tileaa.OpLoad || op.Code() == tileaa.OpTiledLoad
}

// CopiesAhead reports whether asynchronous copies can do what a load does: it is weak, what it does not read may be zero, and pointers are to global memory
// and known iterations ahead.
func CopiesAhead(known *facts.Facts, load *ir.Op) bool {
	if tileaa.IsStrong(load) || !tileaa.ZeroFilled(load) {
		return false
	}
	l, pointers := ir.As[tileaa.Load](load)
	return !pointers || known.Outside(l.Ptr()) && placeAhead(l)
}

// BeginsAhead reports whether a load in a loop can begin iterations ahead: its place is known then, and it comes after nothing in the loop.
func BeginsAhead(load *ir.Op) bool {
	loop := load.ParentOp()
	if t := tileaa.TokenBefore(load); t != nil && !ir.DefinedOutside(t, loop) {
		return false
	}
	if l, pointers := ir.As[tileaa.Load](load); pointers {
		return placeAhead(l)
	}
	_, ok := opsAhead(loop, ir.Cast[tileaa.TiledLoad](load).Block())
	return ok
}

// placeAhead reports whether the place of a load through pointers in a loop can be computed iterations ahead, in the layout that it has.
func placeAhead(load tileaa.Load) bool {
	ops, ok := opsAhead(load.Op.ParentOp(), load.Ptr(), load.Mask(), load.Left())
	return ok && !containsOp(ops, func(op *ir.Op) bool { return op.Code() == tileaa.OpConvertLayout })
}

// Gathers reports whether a load in a loop goes through pointers that follow from what the loop loads, or that nobody knows ahead.
func Gathers(load *ir.Op) bool {
	l, pointers := ir.As[tileaa.Load](load)
	if !pointers {
		return false
	}
	ops, ok := opsAhead(load.ParentOp(), l.Ptr())
	return !ok || containsOp(ops, IsPlainLoad)
}

// opsAhead are the ops of a loop that compute values iterations ahead, loads among them, if they can be; none of what is no loop.
func opsAhead(loop *ir.Op, values ...*ir.Value) (ops map[*ir.Op]bool, ok bool) {
	if loop.Code() != tileaa.OpFor {
		return nil, true
	}
	a := NewAhead(loop)
	a.Loads = true
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
