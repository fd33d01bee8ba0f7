package tileaa

import (
	"fmt"

	"tileiras/codegen/atom"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// MMAAttr is the decision for a product, #tileaa.mma<"mma.m16n8k16.row.col.f32.f16.f16.f32", warps = [1, 4, 2, 1]>: the
// instruction, and how the result is divided among warps: along batches, rows and columns, and into copies of the same work. Swapped
// products compute the transposed result, B^T A^T.
type MMAAttr struct {
	Atom  *atom.MMA
	Split atom.Split
	Swap  bool
}

// TilingOf is how warps share a product, as its atom says; ok is false where it does not fit.
func TilingOf(d Dot) (t atom.Tiling, ok bool) {
	m := d.Atom()
	return atom.Tile(m.Atom, ExtentOf(d), m.Split, m.Swap)
}

// ExtentOf is the extent of a product.
func ExtentOf(d Dot) atom.Extent {
	l, r := FactorShape(d.Lhs()), FactorShape(d.Rhs())
	n := len(l)
	e := atom.Extent{M: int(l[n-2]), K: int(l[n-1]), N: int(r[n-1])}
	if n == 3 {
		e.Batch = int(l[0])
	}
	return e
}

// TypesOf is the element types of a product as package atom names them. A byte of a block-scaled factor is a pair of 4-bit floats.
func TypesOf(d Dot) atom.Types {
	elem := func(v *ir.Value, signedness def.Signedness) atom.Elem {
		t := factorElem(v)
		if d.LhsScale() != nil && ir.IsInt(t, 8) {
			return atom.F4x2
		}
		return elemOf(t, signedness)
	}
	types := atom.Types{A: elem(d.Lhs(), d.SignednessLhs()), B: elem(d.Rhs(), d.SignednessRhs()), C: elemOf(AsTile(d.Acc()).Elem, def.Signed)}
	if s := d.LhsScale(); s != nil {
		blocks := FactorShape(s)[len(FactorShape(s))-1]
		types.Scale = atom.Scale{Elem: elemOf(factorElem(s), def.Signed), Block: ExtentOf(d).K / int(blocks)}
	}
	return types
}

func factorElem(v *ir.Value) ir.Type {
	if t, ok := v.Type().(*BufferType); ok {
		return t.Elem
	}
	return AsTile(v).Elem
}

// elemOf is an element type as package atom names it.
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

// AddsApart reports whether a product needs accumulators apart from those of the instruction, which lose bits: partial sums of atom.MMA.Depth along K are added to
// them in f32. That is so where the product is longer along K, or adds to something that is not zero.
func AddsApart(product *ir.Op, a *atom.MMA) bool {
	d, ok := ir.As[Dot](product)
	if a.Depth == 0 || !ok || d.FastAcc() {
		return false
	}
	shape := FactorShape(d.Lhs())
	return !AddsToNothing(d) || shape[len(shape)-1] > int64(a.Depth)
}

// NextInSum is the product that accumulates in place on the result of d: it is in the same block, the only user of the result, and the same unit computes both, in
// order.
func NextInSum(d Dot) (next Dot, ok bool) {
	use := d.Result().FirstUse()
	if !d.Result().HasOneUse() || use.Index() != accumulator {
		return next, false
	}
	next, ok = ir.As[Dot](use.Owner())
	return next, ok && next.Op.Block() == d.Op.Block() && next.When() == d.When() && sameAccumulators(d, next)
}

// accumulator is the index of the accumulator among the operands of a product.
const accumulator = 2

// PrevInSum is the inverse of NextInSum.
func PrevInSum(d Dot) (prev Dot, ok bool) {
	if prev, ok = ir.DefinedBy[Dot](d.Acc()); !ok {
		return prev, false
	}
	_, ok = NextInSum(prev)
	return prev, ok
}

// sameAccumulators reports whether two products with results of one type have the same 32-bit accumulators, in the same registers or columns.
func sameAccumulators(d, e Dot) bool {
	a, b := d.Atom(), e.Atom()
	if a == nil || b == nil {
		return a == b
	}
	return a.Atom.Group > 0 && b.Atom.Group > 0 && (a.Atom.Tensor == nil) == (b.Atom.Tensor == nil) && a.Atom.Shape.M == b.Atom.Shape.M && a.Atom.C == b.Atom.C &&
		a.Split == b.Split && a.Swap == b.Swap && ElemBits(AsTile(d.Result()).Elem) == 32 && !AddsApart(d.Op, a.Atom) && !AddsApart(e.Op, b.Atom)
}

// SumOf is the accumulation chain of a product: the products that accumulate in place one after another (NextInSum), in order. Where the chain is longer than what may
// be in flight, each product is a chain of its own. Once some products of a chain are in flight and others are not, as when a value has lost the use
// that had ended a chain, those in flight and the one that is waited for are the chain.
func SumOf(d Dot) []Dot {
	list := chain(d, func(Dot) bool { return true })
	flying := 0
	for _, x := range list[:len(list)-1] {
		if x.InFlight() {
			flying++
		}
	}
	if len(list) > maxInSum || flying > 0 && flying < len(list)-1 {
		list = chain(d, Dot.InFlight)
	}
	if len(list) > maxInSum {
		return []Dot{d}
	}
	return list
}

// chain lists the products before and after d that accumulate in place one after another, as long as each but the last goes on: up to maxInSum before d, and
// no more than one too many in all.
func chain(d Dot, goesOn func(Dot) bool) []Dot {
	first := d
	for range maxInSum {
		prev, ok := PrevInSum(first)
		if !ok || !goesOn(prev) {
			break
		}
		first = prev
	}
	list := []Dot{first}
	for last := first; len(list) <= maxInSum && goesOn(last); {
		next, ok := NextInSum(last)
		if !ok {
			break
		}
		list, last = append(list, next), next
	}
	return list
}

// CountsAs is how many products a sums_store counts as: the length of the chain that an iteration accumulates on what it stores.
func CountsAs(s SumsStore) int {
	d, ok := InTensorMemory(s.Result())
	if !ok {
		return 1
	}
	return len(SumOf(d))
}

// LastOfSum is the last product of the chain of d, whose result is the sum.
func LastOfSum(d Dot) Dot {
	list := SumOf(d)
	return list[len(list)-1]
}

// maxInSum is the longest accumulation chain: each product of two iterations of a loop has an mbarrier of its own.
const maxInSum = ProductMbarriers / 2

// OnlyAdds reports whether the chain of a product accumulates on a carried value of its loop, and finds the index of that value: the chain is the only user of the
// value, the next iteration is the only user of the result, and nothing else is carried on.
func OnlyAdds(product *ir.Op) (carried int, ok bool) {
	list := SumOf(ir.Cast[Dot](product))
	acc, sum := list[0].Acc(), list[len(list)-1].Result()
	flow, loop := ir.LoopOf(product.ParentOp())
	if !loop || !acc.HasOneUse() {
		return 0, false
	}
	carried, ok = flow.CarriedIndex(acc)
	return carried, ok && isNext(sum, flow, carried)
}

// isNext reports whether a value is what each iteration of a loop gives the next one as carried value i, and nothing else.
func isNext(v *ir.Value, loop ir.Flow, i int) bool {
	end := loop.Op.Body().Terminator()
	return v.HasOneUse() && end.Code() == OpContinue && v.FirstUse() == end.OperandUse(i) && len(loop.Continues()) == 1
}

// AddsToNothing reports whether the accumulator of a product is zero.
func AddsToNothing(d Dot) bool { return IsZero(d.Acc()) }

// ScaledSum is an accumulation chain of a loop whose accumulator is a carried value times a factor, as the rescaled output of online softmax: the chain is the only user
// of the scaled value, and the next iteration the only user of the result.
type ScaledSum struct {
	Dot     Dot // the last product of the chain
	Scaled  Mulf
	Factor  *ir.Value
	Carried int // index of the sum among the carried values
}

// ScaledSumOf finds the scaled sum of which a product with 32-bit accumulators is the last one.
func ScaledSumOf(d Dot) (x ScaledSum, ok bool) {
	m, ok := ir.DefinedBy[Mulf](SumOf(d)[0].Acc())
	flow, loop := ir.LoopOf(d.Op.ParentOp())
	if !ok || !loop || ElemBits(AsTile(d.Result()).Elem) != 32 || m.Rounding() != def.RoundNearestEven || m.FlushToZero() || m.Op.Block() != d.Op.Block() ||
		!m.Result().HasOneUse() {
		return x, false
	}
	for i, v := range []*ir.Value{m.Lhs(), m.Rhs()} {
		if number, carried := flow.CarriedIndex(v); carried && v.HasOneUse() && isNext(d.Result(), flow, number) {
			return ScaledSum{d, m, m.Op.Operand(1 - i), number}, true
		}
	}
	return x, false
}

// TensorColumnsOf is the columns of tensor memory of the accumulators of a product of the tensor unit.
func TensorColumnsOf(d Dot) int64 {
	return int64(d.Atom().Atom.Tensor.ColumnsOf(int(AsTile(d.Result()).NumElements())))
}

// SumsBelow is the product whose accumulator columns a factor overlays, since they are dead there; ok is false if the factor has columns of its own.
func SumsBelow(s FactorStore) (d Dot, ok bool) {
	v := s.Over()
	if v == nil {
		return Dot{}, false
	}
	if land, landed := ir.DefinedBy[DotLand](v); landed {
		return InTensorMemory(land.Source())
	}
	return ir.DefinedBy[Dot](v)
}

// FactorGroupColumns is the stride, in columns of tensor memory, between groups of as many rows of a factor as there are lanes. Where the factor overlays accumulators
// of the same rows, a group begins where those of its rows do, as the warps that have read them store there.
func FactorGroupColumns(s FactorStore) int64 {
	t := AsTile(s.Value())
	n := groupColumns(t)
	if d, below := SumsBelow(s); below && !d.Atom().Swap {
		if sums := AsTile(d.Result()).Shape; len(sums) == 2 && sums[0] == t.Shape[0] {
			n = max(n, sums[1])
		}
	}
	return n
}

// FactorColumnsOf is the number of columns from the first of a factor to its last.
func FactorColumnsOf(s FactorStore) int64 {
	t := AsTile(s.Value())
	return (t.Shape[0]/atom.TensorLanes-1)*FactorGroupColumns(s) + groupColumns(t)
}

// groupColumns is the columns of a group of as many rows of a factor as there are lanes.
func groupColumns(factor *TileType) int64 {
	return int64(atom.FactorColumns(atom.TensorLanes, int(factor.Shape[1]), ElemBits(factor.Elem)))
}

// ScaleColumnsOf is the columns of tensor memory for the scales in a buffer. Each slot of a ring has columns of its own, so that a slot and its columns are reused at
// the same time.
func ScaleColumnsOf(scales *ir.Value) int64 {
	if ring, ok := MemoryOf(scales).Type().(*RingType); ok {
		return ring.Slots * int64(atom.ScaleColumns(ring.SlotBytes()))
	}
	return int64(atom.ScaleColumns(scales.Type().(*BufferType).Bytes()))
}

// AttrDialect is the dialect of the attribute.
func (*MMAAttr) AttrDialect() string { return "tileaa" }

// EqualAttr compares by value.
func (a *MMAAttr) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*MMAAttr)
	return ok && *a == *x
}

// WriteAttr writes the text after "#tileaa.".
func (a *MMAAttr) WriteAttr(p *ir.Printer) {
	p.Str("mma<")
	p.Quoted(a.Atom.Name)
	p.Printf(", warps = [%d, %d, %d, %d]", a.Split.Batch, a.Split.M, a.Split.N, a.Split.Copies)
	if a.Swap {
		p.Str(", swapped")
	}
	p.Str(">")
}

// readMMA is the inverse of WriteAttr.
func readMMA(p *ir.Parser) (ir.Attribute, error) {
	p.Expect("<")
	at, name := p.Pos(), p.String()
	a := &MMAAttr{Atom: atom.MMAByName(name)}
	if a.Atom == nil {
		p.Errorf(at, "there is no matrix instruction '%s'", name)
	}
	p.Expect(",")
	p.Expect("warps")
	p.Expect("=")
	at = p.Pos()
	if n := p.Integers("[", "]"); len(n) == 4 {
		a.Split = atom.Split{Batch: int(n[0]), M: int(n[1]), N: int(n[2]), Copies: int(n[3])}
	} else {
		p.Errorf(at, "a product is shared over batches, rows, columns and copies: four numbers")
	}
	if p.Eat(",") {
		p.Expect("swapped")
		a.Swap = true
	}
	p.Expect(">")
	return a, p.Err()
}

func init() { attrReaders["mma"] = readMMA }
