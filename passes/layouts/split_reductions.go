package layouts

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// SplitReductions leaves only reductions inside a warp: where warps hold different parts of the reduced axis, each warp reduces
// its own part, the parts meet in registers of every thread, and are reduced there.
//
//	reduce %x dim=1 : 64x256                        %a = reshape %x : 64x256 -> 64x4x64     (warps along the 4)
//	                                        =>      %b = reduce %a dim=2 : 64x4
//	                                                %c = convert_layout %b                  (the 4 in registers)
//	                                                     reduce %c dim=1 : 64
func SplitReductions(s *pass.State) error {
	for _, entry := range s.Entries() {
		markCommutative(s, entry)
		var reductions []*ir.Op
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if op.Code() == tileaa.OpReduce && crossesWarps(op) {
				reductions = append(reductions, op)
			}
		})
		for _, op := range reductions {
			splitReduction(s, op)
		}
	}
	return nil
}

// crossesWarps reports whether warps hold different parts of the axis of a reduce.
func crossesWarps(op *ir.Op) bool {
	l := tileaa.LayoutOf(op.Operand(0))
	for b := range axisBits(op) {
		if l != nil && movedBy(*l, layout.Warp, layout.Bit(l.Shape(), tileaa.DimOf(op), b)) {
			return true
		}
	}
	return false
}

func axisBits(op *ir.Op) int {
	return layout.Log2(int(tileaa.AsTile(op.Operand(0)).Shape[tileaa.DimOf(op)]))
}

// movedBy reports whether an input bit of dimension d changes the given bit of the element number.
func movedBy(l layout.Layout, d layout.Dim, bit uint64) bool {
	return slices.ContainsFunc(l.Column(d), func(c uint64) bool { return c&bit != 0 })
}

func splitReduction(s *pass.State, op *ir.Op) {
	b := ir.NewBuilder(s.Ctx).Before(op)
	b.Loc = op.Loc()
	dim := tileaa.DimOf(op)
	// Each thread reduces its registers, then each warp its lanes: the shuffles move one value instead of one per register.
	values, runs := cutAxis(s, b, op)
	values, runs = reduceRuns(s, b, op, values, runs, layout.Reg)
	values, runs = reduceRuns(s, b, op, values, runs, layout.Lane)
	// The parts meet, of all values in the same threads: every thread gets those of all warps in registers, but where there are too many, of some lines only.
	widest := 0
	for _, v := range values {
		widest = max(widest, tileaa.ElemBits(tileaa.AsTile(v).Elem))
	}
	met := inRegisters(*tileaa.LayoutOf(values[0]), dim, len(runs))
	if cost.Registers(met.Regs(), widest) > maxMergedRegisters {
		met = shareLines(met, dim, len(runs))
	}
	for i, v := range values {
		t := tileaa.AsTile(v)
		values[i] = tileaa.NewConvertLayout(b, tileaa.Tile(s.Ctx, t.Elem, t.Shape...).WithLayout(s.Ctx, met), v).Result()
	}
	for i := len(runs) - 1; i >= 0; i-- {
		values = reducePartials(s, b, op, values, dim+i)
	}
	for i, r := range op.Results() {
		v := values[i]
		if r.Type() != v.Type() {
			v = tileaa.NewConvertLayout(b, r.Type(), v).Result()
		}
		r.ReplaceAllUsesWith(v)
	}
	op.Erase()
}

// cutAxis are the operands of a reduce with its axis cut into runs, a dimension for each.
func cutAxis(s *pass.State, b *ir.Builder, op *ir.Op) ([]*ir.Value, []run) {
	values, dim := op.Operands(), tileaa.DimOf(op)
	l := *tileaa.LayoutOf(values[0])
	runs := axisRuns(op, l)
	shape := tileaa.AsTile(values[0]).Shape
	cut := slices.Clone(shape[:dim])
	for _, r := range runs {
		cut = append(cut, r.size)
	}
	cut = append(cut, shape[dim+1:]...)
	for i, v := range values {
		values[i] = tileaa.NewReshape(b, tileaa.Tile(s.Ctx, tileaa.AsTile(v).Elem, cut...).WithLayout(s.Ctx, l.Reshape(layout.Dims(cut))), v).Result()
	}
	return values, runs
}

// reduceRuns reduces along the runs of an axis that one dimension of the hardware moves, and returns what is left. Last dimension first, so that the numbers of the
// others stay.
func reduceRuns(s *pass.State, b *ir.Builder, op *ir.Op, values []*ir.Value, runs []run, mover layout.Dim) ([]*ir.Value, []run) {
	for i := len(runs) - 1; i >= 0; i-- {
		if runs[i].dim == mover {
			values = reducePartials(s, b, op, values, tileaa.DimOf(op)+i)
			runs = slices.Delete(runs, i, i+1)
		}
	}
	return values, runs
}

// maxMergedRegisters is the registers of a thread for the partial results of all warps, for all lines that the thread holds.
const maxMergedRegisters = 128

// mergesTooMany reports whether a reduction crosses warps, and nothing else, for so many lines that a thread with the lines of one warp
// would hold too many partial results when they are merged.
func mergesTooMany(op *ir.Op, l layout.Layout) bool {
	runs := axisRuns(op, l)
	if len(runs) != 1 || runs[0].dim != layout.Warp {
		return false
	}
	lines := compact(l.RemoveDim(tileaa.DimOf(op))).Regs()
	return cost.Registers(int(runs[0].size)*lines, tileaa.ElemBits(tileaa.AsTile(op.Operand(0)).Elem)) > maxMergedRegisters
}

// shareLines distributes lines over warps, and then lanes, that would hold copies of them, as far as register bits choose lines and not the
// parts in dimensions dim .. dim+n-1.
func shareLines(l layout.Layout, dim, n int) layout.Layout {
	b, parts := l.Bases(), bitsOf(l.Shape(), dim, n)
	b.Lane, b.Warp = slices.Clone(b.Lane), slices.Clone(b.Warp)
	for _, same := range [][]uint64{b.Warp, b.Lane} {
		for i, c := range same {
			k := slices.IndexFunc(b.Reg, func(reg uint64) bool { return reg&parts == 0 })
			if c == 0 && k >= 0 {
				same[i], b.Reg = b.Reg[k], slices.Delete(slices.Clone(b.Reg), k, k+1)
			}
		}
	}
	return layout.Must(l.Shape(), b)
}

// bitsOf are the bits of dimensions dim .. dim+n-1 in the number of an element.
func bitsOf(shape []int, dim, n int) (mask uint64) {
	for d := dim; d < dim+n; d++ {
		for k := 0; 1<<k < shape[d]; k++ {
			mask |= layout.Bit(shape, d, k)
		}
	}
	return mask
}

// A run is neighbouring bits of an axis that the same dimension of the hardware moves: 2^bits elements.
type run struct {
	size int64
	dim  layout.Dim
}

// axisRuns cuts the axis of a reduce, high bits first, into runs of bits that only registers move, that lanes move, and that warps move.
func axisRuns(op *ir.Op, l layout.Layout) []run {
	var runs []run
	for bit := axisBits(op) - 1; bit >= 0; bit-- {
		mover := layout.Reg
		for _, d := range []layout.Dim{layout.Lane, layout.Warp} {
			if movedBy(l, d, layout.Bit(l.Shape(), tileaa.DimOf(op), bit)) {
				mover = d
			}
		}
		if n := len(runs); n > 0 && runs[n-1].dim == mover {
			runs[n-1].size *= 2
		} else {
			runs = append(runs, run{2, mover})
		}
	}
	return runs
}

// inRegisters is layout l with dimensions dim .. dim+n-1 in register bits of every thread, the rest where it was.
func inRegisters(l layout.Layout, dim, n int) layout.Layout {
	b, mask := l.Bases(), bitsOf(l.Shape(), dim, n)
	clear := func(cols []uint64) []uint64 {
		out := slices.Clone(cols)
		for i := range out {
			out[i] &^= mask
		}
		return out
	}
	nb := layout.Bases{Reg: clear(b.Reg), Lane: clear(b.Lane), Warp: clear(b.Warp), Block: clear(b.Block)}
	for bit := uint64(1); bit <= mask; bit <<= 1 {
		if mask&bit != 0 {
			nb.Reg = append(nb.Reg, bit)
		}
	}
	return compact(layout.Must(l.Shape(), nb))
}

// reducePartials is the reduction op, with its combine region, of other values along another dimension.
func reducePartials(s *pass.State, b *ir.Builder, op *ir.Op, values []*ir.Value, dim int) []*ir.Value {
	types := make([]ir.Type, len(values))
	for i, v := range values {
		t := tileaa.AsTile(v)
		l := compact(t.Layout.RemoveDim(dim))
		types[i] = tileaa.Tile(s.Ctx, t.Elem, slices.Delete(slices.Clone(t.Shape), dim, dim+1)...).WithLayout(s.Ctx, l)
	}
	return tileaa.CombineAlong(b, op, values, types, dim)
}
