package kernel

import (
	"fmt"

	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// ChooseAtom is the cheapest way to compute a product, or a part of it, with so many warps; ok is false without any.
func ChooseAtom(s *pass.State, op *ir.Op, e atom.Extent, warps int) (k atom.Candidate, ok bool) {
	ea, eb, ec := OperandElems(op)
	list, _ := cost.Products(s.Target, ea, eb, ec, e)
	for _, k := range list {
		if !k.Padded(e) && len(atom.Splits(k.Atom, e, warps, k.Swap)) > 0 {
			return k, true
		}
	}
	return atom.Candidate{Extent: e, A: ea, B: eb}, false
}

// OperandElems names the element types of a product as atoms do; scaled operands are bf16 by then.
func OperandElems(op *ir.Op) (a, b, c atom.Elem) {
	acc := elemOf(tileaa.AsTile(op.Operand(2)).Elem, def.Signed)
	d, ok := ir.As[tileaa.Dot](op)
	if !ok {
		return atom.BF16, atom.BF16, acc
	}
	return elemOf(tileaa.AsTile(d.Lhs()).Elem, d.SignednessLhs()), elemOf(tileaa.AsTile(d.Rhs()).Elem, d.SignednessRhs()), acc
}

// ExtentOf is the extent of a product.
func ExtentOf(op *ir.Op) atom.Extent {
	l, r := tileaa.FactorShape(op.Operand(0)), tileaa.FactorShape(op.Operand(1))
	n := len(l)
	e := atom.Extent{M: int(l[n-2]), K: int(l[n-1]), N: int(r[n-1])}
	if n == 3 {
		e.Batch = int(l[0])
	}
	return e
}

// elemOf names an element type as atoms do.
func elemOf(t ir.Type, signedness def.Signedness) atom.Elem {
	switch t := t.(type) {
	case *ir.IntegerType:
		sign := "s"
		if signedness == def.Unsigned {
			sign = "u"
		}
		return atom.Elem(fmt.Sprintf("%s%d", sign, t.Width))
	case *ir.FloatType:
		return atom.Elem(t.Format.Name())
	}
	return ""
}
