package tileaa

import (
	"math/bits"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/ir"
)

// This file verifies that the layouts of an op's tiles correspond: a thread finds the operands of what it computes in its own registers.

// layoutRules check the layouts of ops whose tiles may have different ones; all tiles of other ops have one layout.
var layoutRules = ir.Table[verifier]{
	OpBroadcast & ir.Place: renamed, OpReshape & ir.Place: renamed, OpPermute & ir.Place: renamed,
	OpCat & ir.Place:    of(catLayouts),
	OpPack & ir.Place:   func(op *ir.Op) string { return cutLayouts(op.Operand(0), op.Result(0)) },
	OpUnpack & ir.Place: func(op *ir.Op) string { return cutLayouts(op.Result(0), op.Operand(0)) },
	OpExtract & ir.Place: func(op *ir.Op) string {
		return pieceLayouts(op, op.Operand(0), op.Result(0), true)
	},
	OpInsert & ir.Place: func(op *ir.Op) string {
		if wrong := sameLayouts(op.Operand(1), op.Result(0)); wrong != "" {
			return wrong
		}
		return pieceLayouts(op, op.Result(0), op.Operand(0), false)
	},
	OpDotLand & ir.Place: func(op *ir.Op) string {
		if len(DotLand{op}.Indices()) == 0 {
			return sameLayouts(op.Operand(0), op.Result(0))
		}
		return pieceLayouts(op, op.Operand(0), op.Result(0), false)
	},
	OpReduce & ir.Place: of(reduceLayouts), OpScan & ir.Place: of(scanLayouts),
	OpPointerBlock & ir.Place: func(op *ir.Op) string { return sameLayouts(op.Operands()...) },
	OpDot & ir.Place:          of(dotLayouts),
	OpFactorStore & ir.Place:  of(factorLayout),
}

// correspond checks the layouts of the tiles of an op.
func correspond(op *ir.Op) string {
	if check := layoutRules.Of(op.Code()); check != nil {
		return check(op)
	}
	if op.Traits().Has(ir.Elementwise) || ir.Is[PtrAccess](op) {
		return sameLayouts(append(op.Operands(), op.Results()...)...)
	}
	if a, ok := ir.As[BlockOp](op); ok {
		return listedLayout(a)
	}
	return ""
}

// sameLayouts checks that all tiles have one layout.
func sameLayouts(values ...*ir.Value) string {
	var first *layout.Layout
	for _, v := range values {
		l := LayoutOf(v)
		switch {
		case l == nil:
		case first == nil:
			first = l
		case !first.Equal(*l):
			return "mixes layouts"
		}
	}
	return ""
}

// Renamed is the renaming of registers that a broadcast, reshape or permute amounts to: register r of the result is register regs[r] of the source, in every thread. ok is
// false where some thread does not hold what it needs, or the register depends on the thread.
func Renamed(op *ir.Op) (regs []int, ok bool) {
	from, to := LayoutOf(op.Operand(0)), LayoutOf(op.Result(0))
	switch {
	case to == nil:
		return []int{0}, true // all threads hold the only element
	case from == nil:
		return make([]int, to.Regs()), true
	}
	needed := *to
	switch op.Code() {
	case OpBroadcast:
		needed = to.BroadcastSource(from.Shape())
	case OpReshape:
		needed = to.Reshape(from.Shape())
	case OpPermute:
		needed = to.Permute(layout.Inverse(PermutationOf(op)))
	}
	return layout.Renaming(*from, needed)
}

func renamed(op *ir.Op) string {
	if _, ok := Renamed(op); !ok {
		return "has a layout in which threads need other elements than those that they hold of the source"
	}
	return ""
}

func catLayouts(c Cat) string {
	if wrong := sameLayouts(c.Lhs(), c.Rhs()); wrong != "" {
		return wrong
	}
	from, to := LayoutOf(c.Lhs()), LayoutOf(c.Result())
	if from == nil || to == nil || from.Cat(int(c.Dim())).Equal(*to) {
		return ""
	}
	if inLanes, _, ok := from.CatInLanes(int(c.Dim())); ok && inLanes.Equal(*to) {
		return ""
	}
	return "needs a layout with a last register bit, or the first bit of the lane that told nothing, that tells what is of lhs from what is of rhs"
}

// cutLayouts checks the layouts of a bitcast between elements of different widths.
func cutLayouts(source, result *ir.Value) string {
	wide, narrow := LayoutOf(source), LayoutOf(result)
	if wide == nil || narrow == nil {
		return ""
	}
	if wide.OutBits() > narrow.OutBits() {
		wide, narrow = narrow, wide
	}
	if !wide.Cut(narrow.OutBits() - wide.OutBits()).Equal(*narrow) {
		return "needs layouts in which the first register bits of the narrow elements tell those of a wide one apart, and threads hold them together"
	}
	return ""
}

// pieceLayouts checks the extraction of a piece of a tile with constant slice numbers; with lanes, other lanes may supply it by shuffles.
func pieceLayouts(op *ir.Op, whole, piece *ir.Value, lanes bool) string {
	from, to := LayoutOf(whole), LayoutOf(piece)
	if from == nil || to == nil {
		return ""
	}
	for _, v := range (IndexedOp{op}).Indices() {
		if _, known := SplatValue(v); !known {
			return "needs constant slice numbers, as a piece is registers"
		}
	}
	p, ok := from.Pieces(to.Shape())
	if !ok || !lanes && p.LaneMask != 0 || !p.Layout.Equal(*to) {
		return "needs the layout of a piece that is registers of each thread of the tile, in their order"
	}
	return ""
}

func reduceLayouts(r Reduce) string {
	if wrong := sameLayouts(r.Operands()...); wrong != "" {
		return wrong
	}
	l := LayoutOf(r.Operands()[0])
	if l == nil {
		return ""
	}
	axis, ok := l.Reduce(int(r.Dim()))
	if !ok {
		return "needs a layout in which what steps along the dimension steps along no other"
	}
	if len(axis.Warp) > 0 && !separable(*l, int(r.Dim())) {
		return "needs a layout in which what steps along a dimension that warps share does so by a power of two"
	}
	for _, v := range r.Results() {
		if to := LayoutOf(v); to != nil {
			if _, ok := layout.Renaming(l.RemoveDim(int(r.Dim())), *to); !ok {
				return "has a result in a layout that is not that of the operands without the dimension"
			}
		}
	}
	return ""
}

// separable reports whether every basis that steps along a dimension is one bit, so that split-reductions can split the dimension into parts along registers, lanes and
// warps.
func separable(l layout.Layout, dim int) bool {
	for _, c := range l.Matrix().Cols {
		if at := l.Coords(c)[dim]; at&(at-1) != 0 {
			return false
		}
	}
	return true
}

func scanLayouts(s Scan) string {
	if wrong := sameLayouts(append(s.Operands(), s.Results()...)...); wrong != "" {
		return wrong
	}
	if l := LayoutOf(s.Operands()[0]); l != nil {
		if axis, ok := l.Scan(int(s.Dim())); !ok || len(axis.Warp)+len(axis.Block) > 0 {
			return "needs a layout in which registers, then lanes, step along the dimension, each on its own"
		}
	}
	return ""
}

// listedLayout checks how an access finds the coordinates of a gather, and a copy its pointers.
func listedLayout(a BlockOp) string {
	var l *layout.Layout
	if c, ok := ir.As[AsyncCopy](a.Op); ok {
		l = &c.Layout().Layout
	} else if t := AccessedTile(a.Op); t != nil {
		l = t.Layout
	}
	if l == nil {
		return ""
	}
	if p, ok := ir.DefinedBy[PointerBlock](a.Block()); ok {
		if from := LayoutOf(p.Ptr()); from != nil && !from.Equal(*l) {
			return "needs pointers in the layout of the copy"
		}
		return ""
	}
	b, ok := ir.DefinedBy[BlockTile](a.Block())
	if !ok {
		return ""
	}
	sparse, ok := b.SparseDim()
	if !ok {
		return ""
	}
	along := *l
	for d := along.Rank() - 1; d >= 0; d-- {
		if d != int(sparse) {
			along = along.RemoveDim(d)
		}
	}
	if list := LayoutOf(b.Indices()[sparse]); list != nil {
		if _, ok := layout.Renaming(*list, along); !ok {
			return "needs coordinates in a layout in which threads hold those of their elements"
		}
	}
	return ""
}

// dotLayouts checks that the layouts of a product are the fragments of its instruction.
func dotLayouts(d Dot) string {
	if wrong := sameLayouts(d.Acc(), d.Result()); wrong != "" {
		return wrong
	}
	m, acc := d.Atom(), LayoutOf(d.Acc())
	if m == nil || acc == nil {
		return ""
	}
	t, ok := TilingOf(d)
	if !ok {
		return "" // as splitFits says
	}
	for i, v := range []*ir.Value{d.Lhs(), d.Rhs()} {
		_, inMemory := v.Type().(*BufferType)
		_, inTensor := ir.DefinedBy[FactorStore](v)
		switch shared := m.Atom.ReadsShared(i, m.Swap); {
		case shared && !inMemory && !inTensor:
			return m.Atom.Name + " reads in shared memory a factor that is in registers"
		case !shared && inMemory && !m.Atom.Scalar(), !shared && inTensor:
			return m.Atom.Name + " takes from registers a factor that is in memory"
		case m.Atom.Scalar() && !inMemory:
			dim := acc.Rank() - 1 - i
			depth := FactorShape(v)[dim]
			needed := acc.RemoveDim(dim).ExpandDim(dim).Repeat(layout.Reg, dim, bits.TrailingZeros64(uint64(depth)))
			if _, ok := layout.Renaming(*LayoutOf(v), needed); !ok {
				return "needs factors of which threads hold all of K for the rows and columns of their results"
			}
		}
	}
	if m.Atom.Scalar() {
		return ""
	}
	have := atom.Layouts{A: held(d.Lhs()), B: held(d.Rhs()), C: *acc}
	if d.LhsScale() != nil {
		have.SA, have.SB = held(d.LhsScale()), held(d.RhsScale())
	}
	if !t.Has(have) {
		return "needs the layouts of " + m.Atom.Name
	}
	return ""
}

// held is the layout of a factor in registers; the zero layout of one in memory.
func held(factor *ir.Value) (l layout.Layout) {
	if _, inTensor := ir.DefinedBy[FactorStore](factor); !inTensor && LayoutOf(factor) != nil {
		l = *LayoutOf(factor)
	}
	return l
}

// factorLayout checks that a factor can be stored to tensor memory without a conversion.
func factorLayout(s FactorStore) string {
	l := LayoutOf(s.Value())
	if !s.Result().HasUses() {
		return "is for no product"
	}
	for _, u := range s.Result().Uses() {
		d, ok := ir.As[Dot](u.Owner())
		if !ok || d.Atom() == nil || d.Atom().Atom.Tensor == nil || u.Index() != 0 || d.Atom().Swap {
			return "is for left factors of products of the tensor unit"
		}
		if l != nil && !d.Atom().Atom.Tensor.HoldsRows(*l, ElemBits(AsTile(s.Value()).Elem)) {
			return "needs a layout in which a thread has the elements of a row, words of neighbours, and lanes and warps are rows"
		}
	}
	return ""
}
