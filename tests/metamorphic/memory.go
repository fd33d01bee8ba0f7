package metamorphic

import (
	"math"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// tokenOperand is the number of the operand by which an operation waits for others, or -1.
func tokenOperand(op *ir.Op) int {
	n := 0
	for _, a := range op.Def.Args {
		if a.Name == "token" && a.Mode == ir.Optional {
			return n
		}
		if a.Constraint != "" {
			n++
		}
	}
	return -1
}

// givesToken is the token of an operation, or nil.
func givesToken(op *ir.Op) value {
	if op.NumResults() == 0 {
		return nil
	}
	v := op.Result(op.NumResults() - 1)
	if _, is := v.Type().(*cudatile.TokenType); !is {
		return nil
	}
	return v
}

// addToken has an operation wait for one token more.
func (r *rewriter) addToken(op *ir.Op, token value) {
	at := tokenOperand(op)
	if have := op.OperandOf(at); have != nil {
		r.b.Before(op)
		token = cudatile.NewJoinTokens(r.b, []value{token, have}).Result()
	}
	op.SetOperandOf(at, token)
}

func waitForNothing(r *rewriter) bool {
	op := r.pick(func(op *ir.Op) bool { return tokenOperand(op) >= 0 })
	if op == nil {
		return false
	}
	r.b.Before(op)
	r.addToken(op, cudatile.NewMakeToken(r.b).Result())
	return true
}

func waitForEarlier(r *rewriter) bool {
	op := r.pick(func(op *ir.Op) bool { return tokenOperand(op) >= 0 })
	if op == nil {
		return false
	}
	var earlier []value
	for o := op.Prev(); o != nil; o = o.Prev() {
		if t := givesToken(o); t != nil {
			earlier = append(earlier, t)
		}
	}
	if earlier == nil {
		return false
	}
	r.addToken(op, one(r, earlier))
	return true
}

func isWeakLoad(op *ir.Op) bool {
	if l, is := ir.As[cudatile.LoadViewTko](op); is {
		return l.MemoryOrderingSemantics() == def.Weak
	}
	l, is := ir.As[cudatile.LoadPtrTko](op)
	return is && l.MemoryOrderingSemantics() == def.Weak
}

func loadTwice(r *rewriter) bool {
	op := r.pick(func(op *ir.Op) bool {
		return isWeakLoad(op) && op.Result(0).HasUses()
	})
	if op == nil {
		return false
	}
	uses, waiting := op.Result(0).Uses(), op.Result(1).Uses()
	r.b.After(op)
	again := r.b.Clone(op, ir.Mapping{})
	for _, u := range uses {
		if r.heads() {
			u.Owner().SetOperand(u.Index(), again.Result(0))
		}
	}
	if len(waiting) > 0 {
		both := cudatile.NewJoinTokens(r.b, []value{op.Result(1), again.Result(1)}).Result()
		for _, u := range waiting {
			u.Owner().SetOperand(u.Index(), both)
		}
	}
	return true
}

// access is a load or store of a tile of an array that the kernel makes of a pointer, extents and strides.
type access struct {
	op     *ir.Op
	index  []value
	view   cudatile.ViewFacts
	make   *ir.Op // the view
	array  cudatile.MakeTensorView
	t      *cudatile.TensorViewType
	extent []value // nil where the type says it
	stride []value
}

func accessOf(op *ir.Op) (a access, ok bool) {
	var view value
	if l, is := ir.As[cudatile.LoadViewTko](op); is {
		view, a.index = l.View(), l.Index()
	} else if s, is := ir.As[cudatile.StoreViewTko](op); is {
		view, a.index = s.View(), s.Index()
	} else {
		return a, false
	}
	a.op, a.make = op, view.DefiningOp()
	if a.make == nil || a.make.NumOperands() != 1 {
		return a, false
	}
	if a.array, ok = ir.DefinedBy[cudatile.MakeTensorView](a.make.Operand(0)); !ok {
		return a, false
	}
	a.view, a.t = view.Type().(cudatile.TileView).View(), a.array.Op.Result(0).Type().(*cudatile.TensorViewType)
	a.extent = known(a.t.Shape, a.array.DynamicShape())
	a.stride = known(a.t.Strides, a.array.DynamicStrides())
	return a, a.view.SparseDim < 0 && !isF4(a.view.Tile) && a.t.PtrAttr == cudatile.Absent
}

// known gives each dimension that the type does not know its value.
func known(static []int64, dynamic []value) []value {
	vs := make([]value, len(static))
	for i, n := range static {
		if n == cudatile.Dynamic {
			vs[i], dynamic = dynamic[0], dynamic[1:]
		}
	}
	return vs
}

// pickAccess chooses one.
func (r *rewriter) pickAccess(ok func(access) bool) (a access, found bool) {
	op := r.pick(func(op *ir.Op) bool {
		a, is := accessOf(op)
		return is && ok(a)
	})
	if op == nil {
		return a, false
	}
	return accessOf(op)
}

// through has an access go through another view: of an array at base whose dimension i is dimension dims[i] of the array, with tiles of which dimension i
// is dimension tile[i] of the tile.
func (r *rewriter) through(a access, base value, dims, tile []int) value {
	elem := tileOf(base).Elem.(*cudatile.PtrType).Elem
	r.b.Before(a.make)
	t, err := cudatile.TensorView(r.ctx, elem, permuted(a.t.Shape, dims), permuted(a.t.Strides, dims), a.t.PtrAttr)
	if err != nil {
		return nil
	}
	array := cudatile.NewMakeTensorView(r.b, t, base, present(permuted(a.extent, dims)), present(permuted(a.stride, dims))).Result()
	where := inverse(dims)
	var dimMap []int
	for _, d := range permuted(a.view.DimMap, tile) {
		dimMap = append(dimMap, where[d])
	}
	shape, step := permuted(a.view.Tile.Shape, tile), permuted(a.view.Step, tile)
	if a.make.Code() == cudatile.OpMakePartitionView {
		if vt, err := cudatile.PartitionView(r.ctx, shape, t, dimMap, a.view.Padding); err == nil {
			return cudatile.NewMakePartitionView(r.b, vt, array).Result()
		}
		return nil
	}
	if vt, err := cudatile.StridedView(r.ctx, shape, step, t, dimMap, a.view.Padding); err == nil {
		return cudatile.NewMakeStridedView(r.b, vt, array).Result()
	}
	return nil
}

func present(vs []value) (list []value) {
	for _, v := range vs {
		if v != nil {
			list = append(list, v)
		}
	}
	return list
}

// use has an access take tiles of another view: to makes such a tile of what is stored, from the tile of what is loaded.
func (r *rewriter) use(a access, view value, tile []int, to, from func(value) value) bool {
	if view == nil {
		return false
	}
	r.b.Before(a.op)
	if s, is := ir.As[cudatile.StoreViewTko](a.op); is {
		stored := to(s.Tile())
		s.SetTile(stored)
		s.SetView(view)
		s.SetIndex(permuted(a.index, tile))
		if in := s.Inbounds(); in != nil {
			s.SetInbounds(permuted(in, tile))
		}
		return true
	}
	l := ir.Cast[cudatile.LoadViewTko](r.b.Clone(a.op, ir.Mapping{}))
	l.Op.Result(0).SetType(view.Type().(cudatile.TileView).View().Tile)
	l.SetView(view)
	l.SetIndex(permuted(a.index, tile))
	if in := l.Inbounds(); in != nil {
		l.SetInbounds(permuted(in, tile))
	}
	a.op.Result(1).ReplaceAllUsesWith(l.Op.Result(1))
	return replace(a.op, from(l.Op.Result(0)))
}

func straight(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

func itself(v value) value { return v }

func renameDims(r *rewriter) bool {
	a, found := r.pickAccess(func(a access) bool { return len(a.t.Shape) > 1 })
	if !found {
		return false
	}
	as := straight(len(a.index))
	return r.use(a, r.through(a, a.array.Base(), r.Perm(len(a.t.Shape)), as), as, itself, itself)
}

func turnTile(r *rewriter) bool {
	a, found := r.pickAccess(func(a access) bool { return len(a.index) > 1 })
	if !found {
		return false
	}
	p := r.Perm(len(a.index))
	view := r.through(a, a.array.Base(), straight(len(a.t.Shape)), p)
	return r.use(a, view, p, func(v value) value { return r.permute(v, p) }, func(v value) value { return r.permute(v, inverse(p)) })
}

func accessBits(r *rewriter) bool {
	a, found := r.pickAccess(func(a access) bool {
		_, pads := a.view.Padding.Get()
		return r.otherElem(a.t.Elem) != nil && (!pads || a.view.Padding.Is(def.PadZero)) && !isMarked(a.array.Base())
	})
	if !found {
		return false
	}
	bits := r.otherElem(a.t.Elem)
	pointer, err := cudatile.Ptr(r.ctx, bits, cudatile.Absent)
	if err != nil {
		return false
	}
	r.b.Before(a.make)
	base := cudatile.NewPtrToPtr(r.b, r.tile(pointer), a.array.Base()).Result()
	as := straight(len(a.index))
	view := r.through(a, base, straight(len(a.t.Shape)), as)
	return r.use(a, view, as, func(v value) value { return r.bitcast(v, bits) }, func(v value) value { return r.bitcast(v, a.t.Elem) })
}

// isMarked reports whether a pointer is of a kind that its type names.
func isMarked(base value) bool { return tileOf(base).Elem.(*cudatile.PtrType).Attr != cudatile.Absent }

func viewAsPointers(r *rewriter) bool {
	a, found := r.pickAccess(func(a access) bool {
		for _, v := range append(present(append(a.extent, a.stride...)), a.index...) {
			if ir.BitWidth(tileOf(v).Elem) < 32 {
				return false
			}
		}
		return ir.BitWidth(a.t.Elem) >= 8
	})
	if !found {
		return false
	}
	r.b.Before(a.op)
	pointers, mask := r.pointers(a)
	var scope *def.Scope
	if bits, has := a.op.EnumAttr(1); has {
		s := def.Scope(bits)
		scope = &s
	}
	if l, is := ir.As[cudatile.LoadViewTko](a.op); is {
		o := cudatile.LoadPtrTkoOptions{MemoryScope: scope, Mask: mask, PaddingValue: cudatile.MakeSplat(r.b, a.view.Tile, padding(a.view)), Token: l.Token()}
		n := cudatile.NewLoadPtrTko(r.b, a.view.Tile, pointers, l.MemoryOrderingSemantics(), o)
		l.ResultToken().ReplaceAllUsesWith(n.ResultToken())
		return replace(a.op, n.Result())
	}
	s := ir.Cast[cudatile.StoreViewTko](a.op)
	o := cudatile.StorePtrTkoOptions{MemoryScope: scope, Mask: mask, Token: s.Token()}
	return replace(a.op, cudatile.NewStorePtrTko(r.b, pointers, s.Tile(), s.MemoryOrderingSemantics(), o).ResultToken())
}

// pointers are the addresses of the elements that an access takes, and which of them the array has.
func (r *rewriter) pointers(a access) (pointers, mask value) {
	i64, shape := r.ctx.Int(64), a.view.Tile.Shape
	number := func(v value, static int64) value {
		if v == nil {
			return r.scalar(i64, static)
		}
		return r.toWidth(v, 64, def.Unsigned)
	}
	var offset value
	for t, index := range a.index {
		d, n := a.view.DimMap[t], shape[t]
		begin := r.mul(r.toWidth(index, 64, def.Signed), r.scalar(i64, a.view.Step[t]))
		at := r.add(r.spread(begin, 0, n), cudatile.NewIota(r.b, r.tile(i64, n)).Result())
		below := r.compare(at, def.PredLess, r.spread(number(a.extent[d], a.t.Shape[d]), 0, n))
		inside := r.and(below, r.compare(at, def.PredGreaterEqual, cudatile.MakeSplat(r.b, r.tile(i64, n), 0)))
		moved := r.spread(r.mul(at, r.spread(number(a.stride[d], a.t.Strides[d]), 0, n)), t, shape...)
		inside = r.spread(inside, t, shape...)
		if offset == nil {
			offset, mask = moved, inside
		} else {
			offset, mask = r.add(offset, moved), r.and(mask, inside)
		}
	}
	return cudatile.NewOffset(r.b, r.spread(a.array.Base(), 0, shape...), offset).Result(), mask
}

// padding is what a view gives for elements that the array does not have.
func padding(f cudatile.ViewFacts) uint64 {
	p, pads := f.Padding.Get()
	numbers := map[def.Padding]float64{def.PadNegZero: math.Copysign(0, -1), def.PadNaN: math.NaN(), def.PadPosInf: math.Inf(1), def.PadNegInf: math.Inf(-1)}
	n, is := numbers[p]
	if !pads || !is {
		return 0
	}
	return f.Tile.Elem.(*ir.FloatType).Format.Encode(n, float.NearestEven)
}

func offsetTwice(r *rewriter) bool {
	op := r.pick(func(op *ir.Op) bool {
		return op.Code() == cudatile.OpOffset && ir.IsInt(tileOf(op.Operand(1)).Elem, 32, 64)
	})
	if op == nil {
		return false
	}
	r.b.Before(op)
	part := cudatile.MakeSplat(r.b, tileOf(op.Operand(1)), uint64(r.IntN(1<<10)))
	middle := cudatile.NewOffset(r.b, op.Operand(0), part).Result()
	rest := r.sub(op.Operand(1), part)
	return replace(op, cudatile.NewOffset(r.b, middle, rest).Result())
}
