package layouts

import (
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// interleaving is how many neighbours along rows and columns of the result of a product a thread has from atoms of its own, as powers of two.
//
// Fragments of 32 and 64 bits lie across memory where it runs along rows or columns: lanes of an atom have neighbours, and a thread reads an element at
// a time, for ldmatrix transposes 16 bits only. Which columns are an atom's is for the compiler to say:
//
//	columns of atom      0         1         2         3              0              1              2              3
//	                0..7      8..15     16..23    24..31    =>    0,4,8,..28     1,5,9,..29     2,6,10,..30    3,7,11,..31
//
// Then a thread, whose column of every atom is the same, has four neighbours, which it reads at once. Elements of 8 bits are transposed as pairs of
// neighbours, of which one is a column of the next atom. Results are as wide: of the columns of
// an atom that differ in lanes come first, so that lanes together have a row without gaps.
type interleaving struct {
	rows, columns int
	pairs         bool // of 8 bits: ldmatrix wants the bits of an atom in their order
}

// order is that of the bits of rows or columns, dimension dim of the result, of which an atom has the lowest own and a thread takes more of the next.
func (in interleaving) order(result layout.Layout, dim, own, more int) (order []int) {
	for i := range more {
		order = append(order, own+i)
	}
	if in.pairs {
		for i := range own {
			order = append(order, i)
		}
		return order
	}
	lanes := layout.NewSpan(result.Column(layout.Lane)...)
	for _, inLanes := range []bool{true, false} {
		for i := range own {
			if lanes.Contains(layout.Bit(result.Shape(), dim, i)) == inLanes {
				order = append(order, i)
			}
		}
	}
	return order
}

// interleavings finds those of the products of an entry. Products whose results have one type agree: one may add to what another has made.
func interleavings(s *pass.State, entry *ir.Op) map[ir.Type]interleaving {
	all := map[ir.Type]interleaving{}
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if !tileaa.IsProduct(op) {
			return
		}
		in, t := interleavingOf(op), op.Result(0).Type()
		if other, ok := all[t]; ok {
			in = interleaving{min(in.rows, other.rows), min(in.columns, other.columns), in.pairs || other.pairs}
		}
		all[t] = in
	})
	return all
}

// interleavingOf is what one product gains from: 16 bytes of a row of memory in a thread, or pairs of bytes.
func interleavingOf(op *ir.Op) interleaving {
	t := tilingOf(op)
	if t.Atom.Scalar() || t.Atom.Group > 0 {
		return interleaving{}
	}
	return interleaving{
		rows:    min(acrossRows(op, 0), layout.Log2(t.Repeat.M)),
		columns: min(acrossRows(op, 1), layout.Log2(t.Repeat.N)),
		pairs:   tileaa.ElemBytes(tileaa.AsTile(op.Operand(0)).Elem) == 1,
	}
}

// acrossRows is how many elements of factor i, as a power of two, make an access of the memory that it comes from, which runs along the rows or the columns of
// the result, or a pair of 8 bits each, which ldmatrix transposes; 0 where it does not, and for elements of 16 bits, which it transposes as they are.
func acrossRows(op *ir.Op, i int) int {
	load, between, ok := tileaa.LoadBehind(op.Operand(i))
	if !ok {
		return 0
	}
	t := tileaa.AsTile(load.Result(0))
	fast, known := ir.Cast[tileaa.AccessOp](load).Fast()
	bytes := tileaa.ElemBytes(t.Elem)
	var n int
	switch {
	case !known:
		return 0
	case bytes >= 4:
		n = layout.Log2(layout.WidestAccess / bytes)
	case bytes == 1 && tileaa.ElemBits(t.Elem) == 8:
		n = 1
	}
	shape := layout.Dims(t.Shape)
	var bits []uint64
	for b := range n {
		if 1<<b >= shape[fast] {
			return 0
		}
		bits = append(bits, layout.Bit(shape, int(fast), b))
	}
	l := layoutAfter(between, layout.Must(shape, layout.Bases{Reg: bits}))
	side := l.Rank() - 2 + i
	for b := range n {
		if l.Basis(layout.Reg, b) != layout.Bit(l.Shape(), side, b) {
			return 0
		}
	}
	return n
}
