package metamorphic

import (
	"slices"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

func tileOf(v value) *cudatile.TileType {
	t, _ := v.Type().(*cudatile.TileType)
	return t
}

// isF4 reports whether elements share bytes, so that most operations do not have the type.
func isF4(t *cudatile.TileType) bool { return ir.IsFloat(t.Elem, float.F4E2M1FN) }

func isPointer(t *cudatile.TileType) bool {
	_, is := t.Elem.(*cudatile.PtrType)
	return is
}

func (r *rewriter) tile(elem ir.Type, shape ...int64) *cudatile.TileType {
	return cudatile.MustTile(r.ctx, elem, shape...)
}

func (r *rewriter) i32() ir.Type { return r.ctx.Int(32) }

// scalar is a constant.
func (r *rewriter) scalar(elem ir.Type, n int64) value {
	bits := uint64(n)
	if w := ir.BitWidth(elem); w < 64 {
		bits &= 1<<w - 1
	}
	return cudatile.MakeSplat(r.b, r.tile(elem), bits)
}

// zeros is a value that stands for one that is not used: zeros, pointers to nothing, or a token.
func (r *rewriter) zeros(t ir.Type) value {
	tile, is := t.(*cudatile.TileType)
	switch {
	case !is:
		return cudatile.NewMakeToken(r.b).Result()
	case isPointer(tile):
		return cudatile.NewIntToPtr(r.b, t, cudatile.MakeSplat(r.b, r.tile(r.ctx.Int(64), tile.Shape...), 0)).Result()
	}
	return cudatile.MakeSplat(r.b, tile, 0)
}

func (r *rewriter) zerosLike(vs []value) (list []value) {
	for _, v := range vs {
		list = append(list, r.zeros(v.Type()))
	}
	return list
}

func (r *rewriter) add(x, y value) value {
	return cudatile.NewAddi(r.b, x, y, cudatile.AddiOptions{}).Result()
}

func (r *rewriter) sub(x, y value) value {
	return cudatile.NewSubi(r.b, x, y, cudatile.SubiOptions{}).Result()
}

func (r *rewriter) mul(x, y value) value {
	return cudatile.NewMuli(r.b, x, y, cudatile.MuliOptions{}).Result()
}

func (r *rewriter) and(x, y value) value { return cudatile.NewAndi(r.b, x, y).Result() }

func (r *rewriter) not(v value) value {
	return cudatile.NewXori(r.b, v, cudatile.MakeSplat(r.b, tileOf(v), 1)).Result()
}

func (r *rewriter) compare(x value, p def.Predicate, y value) value {
	return cudatile.NewCmpi(r.b, r.tile(r.ctx.Int(1), tileOf(x).Shape...), x, y, p, def.Signed).Result()
}

// toWidth extends or truncates an integer.
func (r *rewriter) toWidth(v value, n int, s def.Signedness) value {
	t := r.tile(r.ctx.Int(n), tileOf(v).Shape...)
	switch have := ir.BitWidth(tileOf(v).Elem); {
	case have < n:
		return cudatile.NewExti(r.b, t, v, s).Op.Result(0)
	case have > n:
		return cudatile.NewTrunci(r.b, t, v, cudatile.TrunciOptions{}).Op.Result(0)
	}
	return v
}

func (r *rewriter) permute(v value, p []int) value {
	order := make(ir.I32Array, len(p))
	for i, d := range p {
		order[i] = int32(d)
	}
	return cudatile.NewPermute(r.b, r.tile(tileOf(v).Elem, permuted(tileOf(v).Shape, p)...), v, order).Result()
}

func (r *rewriter) reshape(v value, shape ...int64) value {
	return cudatile.NewReshape(r.b, r.tile(tileOf(v).Elem, shape...), v).Result()
}

func (r *rewriter) bitcast(v value, elem ir.Type) value {
	return cudatile.NewBitcast(r.b, r.tile(elem, tileOf(v).Shape...), v).Result()
}

// spread makes a tile of a row that runs along dimension d, or of a scalar.
func (r *rewriter) spread(v value, d int, shape ...int64) value {
	ones := slices.Repeat([]int64{1}, len(shape))
	if tileOf(v).Rank() > 0 {
		ones[d] = tileOf(v).Shape[0]
	}
	v = r.reshape(v, ones...)
	if slices.Equal(ones, shape) {
		return v
	}
	return cudatile.NewBroadcast(r.b, r.tile(tileOf(v).Elem, shape...), v).Result()
}

// half is half 0 or 1 of a tile along d.
func (r *rewriter) half(v value, d int, which int64) value {
	s := slices.Clone(tileOf(v).Shape)
	s[d] /= 2
	index := make([]value, len(s))
	for i := range index {
		index[i] = r.scalar(r.i32(), 0)
	}
	index[d] = r.scalar(r.i32(), which)
	return cudatile.NewExtract(r.b, r.tile(tileOf(v).Elem, s...), v, index).Result()
}

func (r *rewriter) cat(x, y value, d int) value {
	s := slices.Clone(tileOf(x).Shape)
	s[d] *= 2
	return cudatile.NewCat(r.b, r.tile(tileOf(x).Elem, s...), x, y, int64(d)).Result()
}

// product multiplies as an operation does; of transposed factors, exchanged.
func (r *rewriter) product(like *ir.Op, a, b, sum value, exchanged bool) value {
	if m, is := ir.As[cudatile.Mmai](like); is {
		left, right := m.SignednessLhs(), m.SignednessRhs()
		if exchanged {
			left, right = right, left
		}
		return cudatile.NewMmai(r.b, a, b, sum, left, right).Result()
	}
	return cudatile.NewMmaf(r.b, a, b, sum, cudatile.MmafOptions{FastAcc: like.Attr(0) != nil}).Result()
}

// otherElem is another type of as many bits, or nil.
func (r *rewriter) otherElem(elem ir.Type) ir.Type {
	n := ir.BitWidth(elem)
	if n < 8 || ir.IsFloat(elem, float.TF32) {
		return nil
	}
	if ir.IsFloat(elem) {
		return r.ctx.Int(n)
	}
	formats := map[int]*float.Format{8: float.F8E4M3FN, 16: float.BF16, 32: float.F32, 64: float.F64}
	return r.ctx.Float(formats[n])
}

// atEntry makes values at the start of the entry.
func (r *rewriter) atEntry(make func() value) value {
	block, at := r.b.Place()
	defer r.b.SetPlace(block, at)
	r.b.AtStart(r.entry.Body())
	return make()
}

// launched chooses an integer that only the launch knows, and gives its bits: a parameter, or the extent of the grid.
func (r *rewriter) launched() (value, uint64) {
	var at []int
	args := r.entry.Body().Args()
	for i, p := range r.of.Params {
		if t := tileOf(args[i]); p.Type != nil && p.Buffer == "" && p.Bytes == nil && t.Rank() == 0 && ir.IsInt(t.Elem, 8, 16, 32, 64) {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		t := r.tile(r.i32())
		return cudatile.NewGetNumTileBlocks(r.b, t, t, t).Op.Result(0), uint64(r.of.Grid[0])
	}
	i := one(r, at)
	return args[i], r.of.Params[i].Bits
}

// truth is a condition that holds, which only the launch knows.
func (r *rewriter) truth() value {
	return r.atEntry(func() value {
		v, bits := r.launched()
		p := one(r, []def.Predicate{def.PredEqual, def.PredLessEqual, def.PredGreaterEqual})
		return r.compare(v, p, r.scalar(tileOf(v).Elem, int64(bits)))
	})
}

// zero is a scalar 0, which only the launch knows.
func (r *rewriter) zero(elem ir.Type) value {
	return r.atEntry(func() value {
		v, bits := r.launched()
		return r.toWidth(r.sub(v, r.scalar(tileOf(v).Elem, int64(bits))), ir.BitWidth(elem), def.Signed)
	})
}

func permuted[T any](s []T, p []int) []T {
	q := make([]T, len(s))
	for i, d := range p {
		q[i] = s[d]
	}
	return q
}

func inverse(p []int) []int {
	q := make([]int, len(p))
	for i, d := range p {
		q[d] = i
	}
	return q
}
