package cudatile

import (
	"tileiras/dialects/cudatile"
	"tileiras/ir"
	"tileiras/passes/cleanup"
	"tileiras/passes/pass"
)

// FuseFMA computes a product and the sum that takes it with one rounding. Results change in the last bit, so it runs only when
// asked for.
//
//	%m = mulf %a, %b           %r = fma %a, %b, %c
//	%r = addf %m, %c     =>
//
//	%m = mulf %a, %b           %n = negf %c
//	%r = subf %m, %c     =>    %r = fma %a, %b, %n
//
// The product must have no other use, and both must round and flush alike. What canonicalize does besides patterns happens
// too: dead operations go and constants come together.
func FuseFMA(s *pass.State) error {
	cleanup.NewCanonicalizer(s, func(b *ir.Builder, op *ir.Op) bool {
		switch op.Code() {
		case cudatile.OpAddf:
			return cudatile.ProductLeft(b, op) || fuse(b, op)
		case cudatile.OpSubf:
			return fuse(b, op)
		}
		return false
	}).ToFixpoint(s.Module)
	return nil
}

// fuse replaces a sum or difference whose left operand is a product.
func fuse(b *ir.Builder, op *ir.Op) bool {
	product, ok := ir.DefinedBy[cudatile.Mulf](op.Operand(0))
	if !ok || !product.Result().HasOneUse() {
		return false
	}
	for i := range op.Attrs() { // rounding_mode and flush_to_zero, in this order in both rows and in fma's
		if !ir.AttrEqual(op.AttrOf(i), product.Op.AttrOf(i)) {
			return false
		}
	}
	c := op.Operand(1)
	if op.Code() == cudatile.OpSubf {
		c = cudatile.NewNegf(b, c).Result()
	}
	fused := cudatile.NewFma(b, product.Lhs(), product.Rhs(), c, cudatile.FmaOptions{})
	for i, a := range op.Attrs() {
		fused.Op.SetAttr(i, a)
	}
	op.Result(0).ReplaceAllUsesWith(fused.Result())
	return true
}
