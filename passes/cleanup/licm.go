package cleanup

import (
	"tileiras/dialects/cudatile"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// LICM moves ops out of for and loop when they compute the same in every iteration and may run although no iteration
// does. Inner loops come first, so that what leaves one can leave the next.
//
//	for ... {                      %b = broadcast %a
//	  %b = broadcast %a      =>    for ... {
//	  ...                            ...
func LICM(s *pass.State) error {
	s.Walk(s.Module, ir.PostOrder, func(op *ir.Op) {
		if !op.Def.Flow.Kind.IsLoop() {
			return
		}
		for _, o := range op.Body().Ops() {
			if speculatable(o) && invariant(o, op) {
				o.MoveBefore(op)
			}
		}
	})
	return nil
}

// speculatable reports whether an op, with all that is inside it, may run where the program would not have run it.
// Division is when its divisor is a constant other than 0 and -1.
func speculatable(op *ir.Op) bool {
	t := op.Traits()
	if op.NumRegions() > 0 {
		if !t.Has(ir.Pure) {
			return false
		}
		for b := range op.Blocks() {
			for o := b.First(); o != nil; o = o.Next() {
				if !o.Traits().Has(ir.Terminator) && !speculatable(o) {
					return false
				}
			}
		}
		return true
	}
	if t.Has(ir.Pure | ir.Speculatable) {
		return true
	}
	switch op.Code() {
	case tileaa.OpDivi, tileaa.OpRemi, cudatile.OpDivi, cudatile.OpRemi:
		d, ok := splatInt(op.Operand(1))
		return ok && d != 0 && d != -1
	}
	return false
}

// splatInt is the signed number that every element of an integer constant of either dialect is.
func splatInt(v *ir.Value) (int64, bool) {
	if n, ok := tileaa.SplatInt(v); ok {
		return n, true
	}
	return cudatile.SplatIntOf(v)
}

// invariant reports whether an op and all that is inside it use only values from outside of the loop, or their own.
func invariant(op, loop *ir.Op) bool {
	for i := 0; i < op.NumOperands(); i++ {
		if !ir.DefinedOutside(op.Operand(i), loop) {
			return false
		}
	}
	ok := true
	for b := range op.Blocks() {
		for o := b.First(); o != nil; o = o.Next() {
			ir.Walk(o, ir.PreOrder, func(in *ir.Op) {
				for i := 0; i < in.NumOperands(); i++ {
					v := in.Operand(i)
					ok = ok && (ir.DefinedOutside(v, loop) || !ir.DefinedOutside(v, op))
				}
			})
		}
	}
	return ok
}
