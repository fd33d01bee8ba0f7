package cleanup

import (
	"tileiras/dialects/cudatile"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// LICM is loop-invariant code motion: it moves ops out of for and loop that are invariant and speculatable, since the loop
// may have no iteration. Inner loops come first, so that an op can leave several.
//
//	for ... {                      %b = broadcast %a
//	  %b = broadcast %a      =>    for ... {
//	  ...                            ...
func LICM(s *pass.State) error {
	s.WalkRoots(ir.PostOrder, func(op *ir.Op) {
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

// speculatable reports whether an op, with all that is inside it, may run where the program would not have run it. A
// division may where its divisor is a constant other than 0 and -1.
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

// splatInt is the signed value of an integer splat constant of either dialect.
func splatInt(v *ir.Value) (int64, bool) {
	if n, ok := tileaa.SplatInt(v); ok {
		return n, true
	}
	return cudatile.SplatIntOf(v)
}

// invariant reports whether an op and all that is inside it use only values defined outside the loop, or inside the op.
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
