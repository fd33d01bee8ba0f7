package facts

import (
	"math"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file proves that the elements of an access do not overlap: that the map from the elements of a tile to addresses is injective.
// What cannot be proven may overlap: pointers from memory, strides that are not known, a stride of 0.

// affine says that an integer or pointer tile (pointers in elements) is an affine function of the element's coordinates: element k is
// u + sum of coef[d]*k[d], modulo 2^bits, where u is the same for all elements and need not be known.
type affine struct {
	coef []int64
	bits int
}

// maxCoef bounds coefficients so that sums of products with extents cannot wrap here.
const maxCoef = 1 << 36

// uniform reports whether all elements are equal.
func (a affine) uniform() bool {
	return !slices.ContainsFunc(a.coef, func(c int64) bool { return c != 0 })
}

// distinctPointers reports whether no two elements of a tile of pointers point to a common byte.
func (f *Facts) distinctPointers(ptr *ir.Value) bool {
	t, ok := ptr.Type().(*tileaa.TileType)
	if !ok {
		return false
	}
	a, ok := f.affine(ptr)
	if !ok {
		return false
	}
	steps := make([]step, len(t.Shape))
	for d, n := range t.Shape {
		steps[d] = constantStep(n, a.coef[d])
	}
	return distinct(steps, a.bits)
}

// DistinctAlong reports whether elements of a tile of integers that only differ in their coordinate along dimension d are all different.
func (f *Facts) DistinctAlong(v *ir.Value, d int) bool {
	t := tileaa.AsTile(v)
	a, ok := f.affine(v)
	return ok && ir.IsInt(t.Elem) && distinct([]step{constantStep(t.Shape[d], a.coef[d])}, a.bits)
}

// distinctBlock reports whether no two elements of a block lie at a common byte. Elements outside the array are never touched.
func (f *Facts) distinctBlock(block tileaa.BlockTile) bool {
	t := block.Result().Type().(*tileaa.BlockType)
	memref := memrefOf(block)
	steps := make([]step, len(t.Shape))
	bits := 64
	for d, n := range t.Shape {
		b := f.dim(block, d)
		scale := int64(1)
		if b.sparse {
			a, ok := f.affine(block.Indices()[d])
			if !ok || len(a.coef) != 1 {
				return false
			}
			scale, bits = a.coef[0], min(bits, a.bits, b.index.Width)
		}
		stride := f.Stride(memref, b.a)
		if c, ok := stride.Constant(); ok && c < maxCoef {
			steps[d] = constantStep(n, scale*int64(c))
		} else if stride.Width > 0 && stride.SMin > 0 && scale == 1 {
			steps[d] = step{n, stride.SMin, stride.SMax}
		} else {
			steps[d] = step{n, 0, math.MaxInt64}
		}
	}
	return distinct(steps, bits)
}

// DistinctArray reports whether no two elements of an array lie at a common byte.
func (f *Facts) DistinctArray(memref tileaa.MakeMemref) bool {
	t := memref.Result().Type().(*tileaa.MemrefType)
	steps := make([]step, len(t.Shape))
	for a := range t.Shape {
		extent, stride := f.Extent(memref, a), f.Stride(memref, a)
		n := int64(math.MaxInt64)
		if extent.Width > 0 && extent.UMax < math.MaxInt64 {
			n = int64(extent.UMax)
		}
		steps[a] = step{n, 0, math.MaxInt64}
		if c, ok := stride.Constant(); ok && c < maxCoef {
			steps[a] = constantStep(n, int64(c))
		}
	}
	return distinct(steps, 64)
}

// IsPartition reports whether a block is a tile of a partition of its array: blocks of different indices are disjoint.
func (f *Facts) IsPartition(block tileaa.BlockTile) bool {
	if _, sparse := block.SparseDim(); sparse || slices.Contains(block.Anywhere(), true) {
		return false
	}
	for d := range block.Result().Type().(*tileaa.BlockType).Shape {
		if b := f.dim(block, d); b.traversal != b.tile {
			return false
		}
	}
	return true
}

// step is one dimension of n elements whose neighbours lie lo to hi elements of memory apart.
type step struct{ n, lo, hi int64 }

func constantStep(n, c int64) step { return step{n, magnitude(c), magnitude(c)} }

func magnitude(c int64) int64 { return max(c, -c) }

// distinct reports whether the strided map is injective modulo 2^bits: each step is longer than what all shorter ones span together.
//
//	4 elements 1 apart, 8 elements 4 apart    0 1 2 3 | 4 5 6 7 | 8 ..
//	4 elements 1 apart, 8 elements 3 apart    0 1 2 3 | 3 4 5 6 | ..      3 twice
func distinct(steps []step, bits int) bool {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return s.n <= 1 })
	slices.SortFunc(steps, func(a, b step) int { return int(min(max(a.lo-b.lo, -1), 1)) })
	var span int64 // from the first to the last element of the dimensions so far
	for i, s := range steps {
		if s.lo <= span {
			return false
		}
		if i == len(steps)-1 && bits == 64 {
			return true // memory is never as long as to meet itself
		}
		if s.hi >= maxCoef || s.n >= maxCoef {
			return false
		}
		if span += s.hi * min(s.n-1, 1<<26); s.n-1 > 1<<26 || span >= maxCoef {
			return false
		}
	}
	return bits == 64 || span < 1<<(bits-1)
}

// affine is the affine form of a value, cached; ok is false where it has none.
func (f *Facts) affine(v *ir.Value) (affine, bool) {
	if known, ok := f.affines[v]; ok {
		return known, known.coef != nil
	}
	if f.recursion >= maxRecursion {
		return affine{}, false
	}
	f.recursion++
	a, ok := f.findAffine(v)
	f.recursion--
	if !ok {
		a = affine{}
	}
	f.affines[v] = a
	return a, ok
}

func (f *Facts) findAffine(v *ir.Value) (affine, bool) {
	t, ok := v.Type().(*tileaa.TileType)
	if !ok {
		return affine{}, false
	}
	equal := affine{make([]int64, len(t.Shape)), 64}
	op := v.DefiningOp()
	switch {
	case len(t.Shape) == 0:
		return equal, true
	case op == nil || op.Def.Dialect != tileaa.Dialect.Name:
		return affine{}, false
	}
	if transfer := affineOf.Of(op.Code()); transfer != nil {
		if a, ok := transfer(f, op, t); ok {
			return a, true
		}
	}
	if _, ok := f.Of(v).Constant(); ok {
		return equal, true
	}
	if !op.MovesFreely() || op.NumOperands() == 0 || !elementwise(op) {
		return affine{}, false
	}
	for _, o := range op.Operands() {
		if a, ok := f.affine(o); !ok || !a.uniform() {
			return affine{}, false
		}
	}
	return equal, true
}

// elementwise reports whether every operand has the shape of the result, or rank 0.
func elementwise(op *ir.Op) bool {
	shape := shapeOf(op.Result(0).Type())
	for _, o := range op.Operands() {
		t, ok := o.Type().(*tileaa.TileType)
		if !ok || len(t.Shape) > 0 && !slices.Equal(t.Shape, shape) {
			return false
		}
	}
	return transfers.Of(op.Code()) != nil
}

// affineOf are the transfer functions: the affine form of a result from those of the operands.
var affineOf ir.Table[func(f *Facts, op *ir.Op, t *tileaa.TileType) (affine, bool)]

func init() {
	affineOf = ir.Table[func(*Facts, *ir.Op, *tileaa.TileType) (affine, bool)]{
		tileaa.OpIota & ir.Place: func(_ *Facts, _ *ir.Op, t *tileaa.TileType) (affine, bool) {
			w := ir.BitWidth(t.Elem)
			if t.Shape[0] <= 1<<(w-1) {
				w = 64 // no number of it is negative
			}
			return affine{[]int64{1}, w}, true
		},
		tileaa.OpSplat & ir.Place: func(_ *Facts, _ *ir.Op, t *tileaa.TileType) (affine, bool) {
			return affine{make([]int64, len(t.Shape)), 64}, true
		},
		tileaa.OpBroadcast & ir.Place: func(f *Facts, op *ir.Op, t *tileaa.TileType) (affine, bool) {
			return f.moved(op, t, func(from []int64, c []int64) []int64 {
				out := slices.Clone(c)
				for d := range out {
					if from[d] == 1 {
						out[d] = 0
					}
				}
				return out
			})
		},
		tileaa.OpReshape & ir.Place: func(f *Facts, op *ir.Op, t *tileaa.TileType) (affine, bool) {
			return f.moved(op, t, func(from []int64, c []int64) []int64 { return reshaped(from, c, t.Shape) })
		},
		tileaa.OpPermute & ir.Place: func(f *Facts, op *ir.Op, t *tileaa.TileType) (affine, bool) {
			p := ir.Cast[tileaa.Permute](op).Permutation()
			return f.moved(op, t, func(_ []int64, c []int64) []int64 {
				out := make([]int64, len(c))
				for d := range out {
					out[d] = c[p[d]]
				}
				return out
			})
		},
		tileaa.OpAssume & ir.Place:        sameAsOperand,
		tileaa.OpConvertLayout & ir.Place: sameAsOperand,
		tileaa.OpExti & ir.Place: func(f *Facts, op *ir.Op, _ *tileaa.TileType) (affine, bool) {
			a, ok := f.affine(op.Operand(0))
			if !signed(op) {
				a.bits = min(a.bits, f.Of(op.Operand(0)).Width)
			}
			return a, ok
		},
		tileaa.OpTrunci & ir.Place: func(f *Facts, op *ir.Op, t *tileaa.TileType) (affine, bool) {
			a, ok := f.affine(op.Operand(0))
			a.bits = min(a.bits, ir.BitWidth(t.Elem))
			return a, ok
		},
		tileaa.OpAddi & ir.Place: func(f *Facts, op *ir.Op, t *tileaa.TileType) (affine, bool) { return f.sum(op, ir.BitWidth(t.Elem), 1) },
		tileaa.OpSubi & ir.Place: func(f *Facts, op *ir.Op, t *tileaa.TileType) (affine, bool) {
			return f.sum(op, ir.BitWidth(t.Elem), -1)
		},
		tileaa.OpOffset & ir.Place: func(f *Facts, op *ir.Op, _ *tileaa.TileType) (affine, bool) { return f.sum(op, 64, 1) },
		tileaa.OpMuli & ir.Place: func(f *Facts, op *ir.Op, t *tileaa.TileType) (affine, bool) {
			for i := range 2 {
				if c, ok := f.Of(op.Operand(1 - i)).Constant(); ok {
					return f.scaled(op.Operand(i), tileaa.SignExtend(c, ir.BitWidth(t.Elem)), ir.BitWidth(t.Elem))
				}
			}
			return affine{}, false
		},
		tileaa.OpShli & ir.Place: func(f *Facts, op *ir.Op, t *tileaa.TileType) (affine, bool) {
			c, ok := f.Of(op.Operand(1)).Constant()
			if !ok || c >= 32 {
				return affine{}, false
			}
			return f.scaled(op.Operand(0), 1<<c, ir.BitWidth(t.Elem))
		},
	}
}

func sameAsOperand(f *Facts, op *ir.Op, _ *tileaa.TileType) (affine, bool) {
	return f.affine(op.Operand(0))
}

// moved is the affine form of a tile whose elements are those of operand 0 at other coordinates; coef maps the coefficients, nil where
// there is no form.
func (f *Facts) moved(op *ir.Op, t *tileaa.TileType, coef func(shape, coef []int64) []int64) (affine, bool) {
	a, ok := f.affine(op.Operand(0))
	if !ok {
		return a, false
	}
	c := coef(shapeOf(op.Operand(0).Type()), a.coef)
	return affine{c, a.bits}, len(c) == len(t.Shape)
}

// reshaped moves coefficients where only dimensions of size 1 come and go.
func reshaped(from, coef, to []int64) []int64 {
	out := make([]int64, len(to))
	s := 0
	for d, n := range to {
		if n == 1 {
			continue
		}
		for s < len(from) && from[s] == 1 {
			s++
		}
		if s == len(from) || from[s] != n {
			return nil
		}
		out[d] = coef[s]
		s++
	}
	return out
}

// sum is the affine form of operand 0 plus sign times operand 1, computed in w bits.
func (f *Facts) sum(op *ir.Op, w int, sign int64) (affine, bool) {
	x, ok := f.affine(op.Operand(0))
	y, ok2 := f.affine(op.Operand(1))
	if !ok || !ok2 || len(x.coef) != len(y.coef) {
		return affine{}, false
	}
	out := affine{slices.Clone(x.coef), min(x.bits, y.bits, w)}
	for d := range out.coef {
		if out.coef[d] += sign * y.coef[d]; magnitude(out.coef[d]) >= maxCoef {
			return affine{}, false
		}
	}
	return out, true
}

// scaled is the affine form of a value times a constant, computed in w bits.
func (f *Facts) scaled(v *ir.Value, c int64, w int) (affine, bool) {
	x, ok := f.affine(v)
	if !ok || magnitude(c) >= 1<<32 {
		return affine{}, false
	}
	out := affine{make([]int64, len(x.coef)), min(x.bits, w)}
	for d, k := range x.coef {
		if magnitude(k) >= 1<<30 || magnitude(k*c) >= maxCoef {
			return affine{}, false
		}
		out.coef[d] = k * c
	}
	return out, true
}
