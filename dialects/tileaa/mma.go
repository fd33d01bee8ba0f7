package tileaa

import (
	"fmt"

	"tileiras/codegen/atom"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// MMAAttr is what is decided for a product, #tileaa.mma<"mma.m16n8k16.row.col.f32.f16.f16.f32", warps = [1, 4, 2, 1]>: the
// instruction, and how the warps share the result: over batches, rows, columns, and copies that compute the same. Swapped products
// compute the transposed result, B^T A^T.
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

// TypesOf names the element types of a product as atoms do, its own; bytes of a factor with scales are pairs.
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

// AddsApart reports whether an atom sums for a while only, and a product adds what comes out to its accumulators: it is longer along K, or adds to something.
func AddsApart(product *ir.Op, a *atom.MMA) bool {
	d, ok := ir.As[Dot](product)
	if a.Depth == 0 || !ok || d.FastAcc() {
		return false
	}
	shape := FactorShape(d.Lhs())
	return !AddsToNothing(d) || shape[len(shape)-1] > int64(a.Depth)
}

// NextInSum is the product of its block that adds to what another one gives where that is: nobody else takes it, and one unit computes both, in order.
func NextInSum(d Dot) (next Dot, ok bool) {
	use := d.Result().FirstUse()
	if !d.Result().HasOneUse() || use.Index() != accumulator {
		return next, false
	}
	next, ok = ir.As[Dot](use.Owner())
	return next, ok && next.Op.Block() == d.Op.Block() && next.When() == d.When() && sumAlike(d, next)
}

// accumulator is the number of the operand to which a product adds.
const accumulator = 2

// PrevInSum is the product of which one is the NextInSum.
func PrevInSum(d Dot) (prev Dot, ok bool) {
	if prev, ok = ir.DefinedBy[Dot](d.Acc()); !ok {
		return prev, false
	}
	_, ok = NextInSum(prev)
	return prev, ok
}

// sumAlike reports whether two products whose results have one type sum in words, in the same places.
func sumAlike(d, e Dot) bool {
	a, b := d.Atom(), e.Atom()
	if a == nil || b == nil {
		return a == b
	}
	return a.Atom.Group > 0 && b.Atom.Group > 0 && (a.Atom.Tensor == nil) == (b.Atom.Tensor == nil) && a.Atom.Shape.M == b.Atom.Shape.M && a.Atom.C == b.Atom.C &&
		a.Split == b.Split && a.Swap == b.Swap && ElemBits(AsTile(d.Result()).Elem) == 32 && !AddsApart(d.Op, a.Atom) && !AddsApart(e.Op, b.Atom)
}

// SumOf are the products of a block that add to the same sums one after another, in order: one and those that are NextInSum of another. Where they are more than
// may be in flight, each counts as alone.
func SumOf(d Dot) []Dot {
	first := d
	for range mostInSum {
		prev, ok := PrevInSum(first)
		if !ok {
			break
		}
		first = prev
	}
	list := []Dot{first}
	for next, ok := NextInSum(first); ok; next, ok = NextInSum(next) {
		if len(list) == mostInSum {
			return []Dot{d}
		}
		list = append(list, next)
	}
	return list
}

// CountsAs is how many products a sums_store counts as: those that an iteration adds to what it stores.
func CountsAs(s SumsStore) int {
	d, ok := InTensorMemory(s.Result())
	if !ok {
		return 1
	}
	return len(SumOf(d))
}

// LastOfSum is the last one of those, which gives the sums.
func LastOfSum(d Dot) Dot {
	list := SumOf(d)
	return list[len(list)-1]
}

// mostInSum is the most products of a sum: those of two iterations of a loop have an mbarrier each.
const mostInSum = ProductMbarriers / 2

// OnlyAdds finds the value of its loop, by its number among those that it carries, to which a product adds, or the sum that it is of; nobody but the next iteration
// takes what comes out.
func OnlyAdds(product *ir.Op) (carried int, ok bool) {
	list := SumOf(ir.Cast[Dot](product))
	acc, sum := list[0].Acc(), list[len(list)-1].Result()
	flow, loop := ir.LoopOf(product.ParentOp())
	if !loop || product.Block() != product.ParentOp().Body() || !acc.HasOneUse() || !sum.HasOneUse() {
		return 0, false
	}
	carried, ok = flow.CarriedIndex(acc)
	end := sum.FirstUse()
	return carried, ok && end.Owner() == product.Block().Terminator() && end.Owner().Code() == OpContinue && end.Index() == carried
}

// AddsToNothing reports whether what a product adds to is zeros.
func AddsToNothing(d Dot) bool { return IsZero(d.Acc()) }

// ScaledSum is a product of a loop, the last of a sum, that adds to what the loop scales: nobody else takes that, nor the sum, but the next iteration.
type ScaledSum struct {
	Dot     Dot
	Scaled  Mulf
	Factor  *ir.Value
	Carried int // number of the sum among what the loop carries
}

// ScaledSumOf finds what a product of 32-bit sums is one of.
func ScaledSumOf(d Dot) (x ScaledSum, ok bool) {
	m, ok := ir.DefinedBy[Mulf](SumOf(d)[0].Acc())
	flow, loop := ir.LoopOf(d.Op.ParentOp())
	if !ok || !loop || ElemBits(AsTile(d.Result()).Elem) != 32 || m.Rounding() != def.RoundNearestEven || m.FlushToZero() || m.Op.Block() != d.Op.Block() ||
		!m.Result().HasOneUse() || !d.Result().HasOneUse() {
		return x, false
	}
	for i, v := range []*ir.Value{m.Lhs(), m.Rhs()} {
		number, carried := flow.CarriedIndex(v)
		end := d.Result().FirstUse()
		if carried && v.HasOneUse() && end.Owner().Code() == OpContinue && end.Owner() == flow.Op.Body().Terminator() && end.Index() == number {
			return ScaledSum{d, m, m.Op.Operand(1 - i), number}, true
		}
	}
	return x, false
}

// TensorColumnsOf is the columns of tensor memory in which a product of the tensor unit sums.
func TensorColumnsOf(d Dot) int64 {
	return int64(d.Atom().Atom.Tensor.ColumnsOf(int(AsTile(d.Result()).NumElements())))
}

// SumsBelow is the product in whose columns a factor is stored; ok is false if it has columns of its own.
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

// FactorGroupColumns is the columns of tensor memory from as many rows of a factor as there are lanes to the next ones: to where the sums of the same rows are, if
// they lie below with room enough, for the warps that have read these store there.
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

// FactorColumnsOf is the columns from the first of a factor to its last.
func FactorColumnsOf(s FactorStore) int64 {
	t := AsTile(s.Value())
	return (t.Shape[0]/atom.TensorLanes-1)*FactorGroupColumns(s) + groupColumns(t)
}

// groupColumns is the columns of as many rows of a factor as there are lanes.
func groupColumns(factor *TileType) int64 {
	return int64(atom.FactorColumns(atom.TensorLanes, int(factor.Shape[1]), ElemBits(factor.Elem)))
}

// ScaleColumnsOf is the columns of tensor memory for scales of which a product of the tensor unit takes those in a buffer: for all slots of a ring, as what it has read
// of one is over when that is filled again.
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
