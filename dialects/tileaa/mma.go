package tileaa

import (
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

// AddsApart reports whether an atom sums for a while only, and a product adds what comes out to its accumulators: it is longer along K, or adds to something.
func AddsApart(product *ir.Op, a *atom.MMA) bool {
	d, ok := ir.As[Dot](product)
	if a.Depth == 0 || !ok || d.FastAcc() {
		return false
	}
	shape := FactorShape(d.Lhs())
	return !AddsToNothing(d) || shape[len(shape)-1] > int64(a.Depth)
}

// OnlyAdds finds the value of its loop, by its number among those that it carries, to which a product adds; nobody but the next iteration takes the sum.
func OnlyAdds(product *ir.Op) (carried int, ok bool) {
	acc, sum := product.Operand(2), product.Result(0)
	flow, loop := ir.LoopOf(product.ParentOp())
	if !loop || product.Block() != product.ParentOp().Body() || !acc.HasOneUse() || !sum.HasOneUse() {
		return 0, false
	}
	carried, ok = flow.CarriedIndex(acc)
	end := sum.FirstUse()
	return carried, ok && end.Owner() == product.Block().Terminator() && end.Owner().Code() == OpContinue && end.Index() == carried
}

// AddsToNothing reports whether what a product adds to is zeros.
func AddsToNothing(d Dot) bool {
	bits, splat := SplatValue(d.Acc())
	return splat && bits == 0
}

// ScaledSum is a product of a loop that adds to what the loop scales: nobody else takes that, nor the sum, but the next iteration.
type ScaledSum struct {
	Dot     Dot
	Scaled  Mulf
	Factor  *ir.Value
	Carried int // number of the sum among what the loop carries
}

// ScaledSumOf finds what a product of 32-bit sums is one of.
func ScaledSumOf(d Dot) (x ScaledSum, ok bool) {
	m, ok := ir.DefinedBy[Mulf](d.Acc())
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
	if slot, ok := ir.DefinedBy[RingSlot](ViewedBuffer(scales)); ok {
		ring := slot.Ring().Type().(*RingType)
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
