package layouts

import (
	"slices"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// CarryPartials has a loop that adds up a reduction carry what each thread has of it, so that lanes and warps tell each other their parts once, behind the loop, and
// not in every iteration. Only where the order decides nothing: of integers, and of what is the least or the most.
//
//	for iter(%m = %init) {                          for iter(%p = %init in all parts) {
//	  %r = reduce max %x dim=1 : 64x128               %y = reshape %x : 64x128 -> 64x32x4   (the 4 in registers)
//	  %n = max %m, %r : 64                    =>      %r = reduce max %y dim=2 : 64x32
//	  yield %n                                        %n = max %p, %r : 64x32
//	}                                                 yield %n
//	                                                }
//	                                                reduce max %p dim=1 : 64
func CarryPartials(s *pass.State) error {
	for _, entry := range s.Entries() {
		var loops []*ir.Op
		s.Walk(entry, ir.PostOrder, func(op *ir.Op) {
			if op.Code() == tileaa.OpFor {
				loops = append(loops, op)
			}
		})
		for _, loop := range loops { // the inner ones first, whose totals may be parts of outer ones
			f, _ := ir.LoopOf(loop)
			for i := range f.Carried() {
				if t, ok := totalOf(s, f, i); ok {
					t.carryPartials(s)
				}
			}
		}
		s.EraseDead(entry)
	}
	return nil
}

// A total is carried value i of a loop, to which each iteration adds a reduction.
type total struct {
	loop   ir.Flow
	i      int
	add    *ir.Op // takes the carried value and the reduction
	other  int    // the operand of add that is the reduction, maybe converted
	reduce *ir.Op
}

// totalOf looks for a total whose threads have parts of lines.
func totalOf(s *pass.State, f ir.Flow, i int) (t total, ok bool) {
	v, ends := f.Carried()[i], f.Continues()
	if len(ends) != 1 || !v.HasOneUse() {
		return t, false
	}
	t = total{loop: f, i: i, add: v.FirstUse().Owner(), other: 1 - v.FirstUse().Index()}
	if !orderless(t.add) || t.add.ParentOp() != f.Op || !t.add.Result(0).HasOneUse() || ends[0].Operand(i) != t.add.Result(0) {
		return t, false
	}
	r := t.add.Operand(t.other)
	for op := r.DefiningOp(); op != nil && op.Code() == tileaa.OpConvertLayout && r.HasOneUse(); op = r.DefiningOp() {
		s.Step()
		r = op.Operand(0)
	}
	t.reduce = r.DefiningOp()
	if t.reduce == nil || t.reduce.Code() != tileaa.OpReduce || t.reduce.NumResults() != 1 || t.reduce.ParentOp() != f.Op || !r.HasOneUse() {
		return t, false
	}
	parted := slices.ContainsFunc(axisRuns(t.reduce, *tileaa.LayoutOf(t.reduce.Operand(0))), func(r run) bool { return r.dim != layout.Reg })
	return t, parted && combinesBy(t.reduce, t.add)
}

// combinesBy reports whether a reduction combines two elements as an operation does two tiles.
func combinesBy(reduce, op *ir.Op) bool {
	combine := ir.Cast[tileaa.Reduce](reduce).Combine()
	args, first := combine.Args(), combine.First()
	if first.Def != op.Def || first.Next() != combine.Terminator() || first.Next().Operand(0) != first.Result(0) || !slices.Contains(first.Operands(), args[0]) || !slices.Contains(first.Operands(), args[1]) {
		return false
	}
	for k := range op.Attrs() {
		if !ir.AttrEqual(first.AttrOf(k), op.AttrOf(k)) {
			return false
		}
	}
	return true
}

// orderless reports whether many operands of an operation may meet in any order.
func orderless(op *ir.Op) bool {
	switch op.Code() {
	case tileaa.OpXori:
		return true
	case tileaa.OpAddi: // a sum that does not wrap may have parts that do
		return ir.Cast[tileaa.Addi](op).Overflow() == 0
	case tileaa.OpMuli:
		return ir.Cast[tileaa.Muli](op).Overflow() == 0
	case tileaa.OpMaxf: // the flushed one changes an initial value that meets nothing
		return !ir.Cast[tileaa.Maxf](op).FlushToZero()
	case tileaa.OpMinf:
		return !ir.Cast[tileaa.Minf](op).FlushToZero()
	}
	return idempotent(op)
}

// idempotent reports whether an operation makes of two operands that are the same that one.
func idempotent(op *ir.Op) bool {
	switch op.Code() {
	case tileaa.OpAndi, tileaa.OpOri, tileaa.OpMaxi, tileaa.OpMini, tileaa.OpMaxf, tileaa.OpMinf:
		return true
	}
	return false
}

// carryPartials has the loop of a total carry what threads have of it.
func (t total) carryPartials(s *pass.State) {
	init, result := t.loop.Init(t.i), t.loop.Op.Result(t.i)
	uses := result.Uses()

	b := ir.NewBuilder(s.Ctx).Before(t.add)
	b.Loc = t.add.Loc()
	values, runs := cutAxis(s, b, t.reduce)
	values, runs = reduceRuns(s, b, t.reduce, values, runs, layout.Reg)
	part := tileaa.AsTile(values[0])
	sum := b.Clone(t.add, ir.Mapping{})
	sum.SetOperand(t.other, values[0])
	for _, v := range []*ir.Value{t.loop.Carried()[t.i], sum.Result(0), result} {
		v.SetType(part)
	}
	t.add.Result(0).ReplaceAllUsesWith(sum.Result(0))

	b.Before(t.loop.Op)
	t.loop.InitUse(t.i).Owner().SetOperand(t.loop.InitUse(t.i).Index(), t.start(s, b, init, part, len(runs)))

	b.After(t.loop.Op)
	whole := slices.Concat(part.Shape[:t.dim()], []int64{1}, part.Shape[t.dim()+len(runs):])
	for _, r := range runs {
		whole[t.dim()] *= r.size
	}
	v := tileaa.NewReshape(b, tileaa.Tile(s.Ctx, part.Elem, whole...).WithLayout(s.Ctx, part.Layout.Reshape(layout.Dims(whole))), result).Result()
	v = reducePartials(s, b, t.reduce, []*ir.Value{v}, t.dim())[0]
	if v.Type() != init.Type() {
		v = tileaa.NewConvertLayout(b, init.Type(), v).Result()
	}
	if !idempotent(t.add) {
		last := b.Clone(t.add, ir.Mapping{})
		last.SetOperand(t.other, v)
		last.SetOperand(1-t.other, init)
		v = last.Result(0)
	}
	for _, u := range uses {
		u.Owner().SetOperand(u.Index(), v)
	}
}

func (t total) dim() int { return tileaa.DimOf(t.reduce) }

// start is what parts of type part begin with, which has so many dimensions for the axis: the initial value of the total where each of them may have it, else
// what adds nothing.
func (t total) start(s *pass.State, b *ir.Builder, init *ir.Value, part *tileaa.TileType, parts int) *ir.Value {
	if !idempotent(t.add) {
		var nothing uint64
		if t.add.Code() == tileaa.OpMuli {
			nothing = 1
		}
		return tileaa.NewConstant(b, part, tileaa.SplatOf(part, nothing)).Result()
	}
	if bits, ok := tileaa.SplatValue(init); ok {
		return tileaa.NewConstant(b, part, tileaa.SplatOf(part, bits)).Result()
	}
	if !tileaa.IsRanked(init) {
		return tileaa.NewSplat(b, part, init).Result()
	}
	line := slices.Concat(part.Shape[:t.dim()], slices.Repeat([]int64{1}, parts), part.Shape[t.dim()+parts:])
	from := tileaa.Tile(s.Ctx, part.Elem, line...).WithLayout(s.Ctx, part.Layout.BroadcastSource(layout.Dims(line)))
	own := tileaa.Tile(s.Ctx, part.Elem, tileaa.ShapeOf(init)...).WithLayout(s.Ctx, from.Layout.Reshape(layout.Dims(tileaa.ShapeOf(init))))
	if own != init.Type() {
		init = tileaa.NewConvertLayout(b, own, init).Result()
	}
	return tileaa.NewBroadcast(b, part, tileaa.NewReshape(b, from, init).Result()).Result()
}
