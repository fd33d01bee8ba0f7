package facts

import (
	"math/bits"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// transfers are the transfer functions, one per op: the fact of result 0 from those of the operands. r comes as top, with
// the width and rank of the result, and is refined afterwards. Results of ops that are not here are unknown.
var transfers ir.Table[func(f *Facts, op *ir.Op, r *Fact)]

func signed(op *ir.Op) bool { return ir.Cast[tileaa.SignedOp](op).Signedness() == def.Signed }

// binary is the transfer function of an element-wise op of two integers: its interval, then its axes.
func binary(interval func(op *ir.Op, r *Fact, x, y Fact), axes func(op *ir.Op, r *Fact, x, y Fact)) func(*Facts, *ir.Op, *Fact) {
	return func(f *Facts, op *ir.Op, r *Fact) {
		x, y := f.Of(op.Operand(0)), f.Of(op.Operand(1))
		if x.Width == 0 || y.Width == 0 {
			return
		}
		interval(op, r, x, y)
		r.elementwiseAxes(x, y)
		if axes != nil {
			axes(op, r, x, y)
		}
	}
}

// unary is the transfer function of an element-wise op of one integer or pointer.
func unary(apply func(op *ir.Op, r *Fact, x Fact)) func(*Facts, *ir.Op, *Fact) {
	return func(f *Facts, op *ir.Op, r *Fact) {
		x := f.Of(op.Operand(0))
		if x.Width == 0 {
			return
		}
		r.elementwiseAxes(x)
		apply(op, r, x)
	}
}

func overflow(op *ir.Op) def.Overflow { return ir.Cast[tileaa.OverflowOp](op).Overflow() }

// disjoint reports whether no bit can be set in both, so that or and xor are sums.
func disjoint(x, y Fact) bool {
	return bits.Len64(x.UMax) <= y.ZeroBits || bits.Len64(y.UMax) <= x.ZeroBits
}

func init() {
	transfers = ir.Table[func(*Facts, *ir.Op, *Fact)]{
		tileaa.OpAddi & ir.Place: binary(func(op *ir.Op, r *Fact, x, y Fact) { add(r, x, y, overflow(op)) },
			func(_ *ir.Op, r *Fact, x, y Fact) { r.addAxes(x, y, 0) }),
		tileaa.OpSubi & ir.Place: binary(func(op *ir.Op, r *Fact, x, y Fact) { sub(r, x, y, overflow(op)) },
			func(_ *ir.Op, r *Fact, x, y Fact) { r.subAxes(x, y) }),
		tileaa.OpMuli & ir.Place:   binary(func(op *ir.Op, r *Fact, x, y Fact) { mul(r, x, y, overflow(op)) }, mulAxes),
		tileaa.OpMulhii & ir.Place: binary(func(_ *ir.Op, r *Fact, x, y Fact) { mulHigh(r, x, y) }, nil),
		tileaa.OpDivi & ir.Place: binary(func(op *ir.Op, r *Fact, x, y Fact) { divide(r, x, y, signed(op), ir.Cast[tileaa.Divi](op).Rounding()) },
			func(op *ir.Op, r *Fact, x, y Fact) { r.divAxes(x, y, signed(op), ir.Cast[tileaa.Divi](op).Rounding()) }),
		tileaa.OpRemi & ir.Place: binary(func(op *ir.Op, r *Fact, x, y Fact) { remainder(r, x, y, signed(op)) },
			func(op *ir.Op, r *Fact, x, y Fact) { r.remAxes(x, y, signed(op)) }),
		tileaa.OpMaxi & ir.Place: binary(func(op *ir.Op, r *Fact, x, y Fact) { maximum(r, x, y, signed(op)) },
			func(op *ir.Op, r *Fact, x, y Fact) { extremumAxes(r, y, x, x, y, signed(op)) }),
		tileaa.OpMini & ir.Place: binary(func(op *ir.Op, r *Fact, x, y Fact) { minimum(r, x, y, signed(op)) },
			func(op *ir.Op, r *Fact, x, y Fact) { extremumAxes(r, x, y, x, y, signed(op)) }),
		tileaa.OpAndi & ir.Place: binary(func(_ *ir.Op, r *Fact, x, y Fact) { and(r, x, y) },
			func(_ *ir.Op, r *Fact, x, y Fact) {
				if mask, ok := y.Constant(); ok {
					r.maskAxes(x, mask)
				}
			}),
		tileaa.OpOri & ir.Place:  binary(func(_ *ir.Op, r *Fact, x, y Fact) { or(r, x, y) }, sumAxes),
		tileaa.OpXori & ir.Place: binary(func(_ *ir.Op, r *Fact, x, y Fact) { xor(r, x, y) }, sumAxes),
		tileaa.OpShli & ir.Place: binary(func(op *ir.Op, r *Fact, x, y Fact) { shiftLeft(r, x, y, overflow(op)) }, nil),
		tileaa.OpShri & ir.Place: binary(func(op *ir.Op, r *Fact, x, y Fact) { shiftRight(r, x, y, signed(op)) },
			func(op *ir.Op, r *Fact, x, y Fact) { r.shiftAxes(x, y, signed(op)) }),
		tileaa.OpAbsi & ir.Place: unary(func(_ *ir.Op, r *Fact, x Fact) { absolute(r, x) }),
		tileaa.OpNegi & ir.Place: unary(func(op *ir.Op, r *Fact, x Fact) { negate(r, x, overflow(op)) }),
		tileaa.OpCmpi & ir.Place: binary(func(op *ir.Op, r *Fact, x, y Fact) {
			if outcome, ok := compareRanges(x, y, ir.Cast[tileaa.Cmpi](op).Predicate(), signed(op)); ok {
				r.UMin, r.UMax = 0, 0
				if outcome {
					r.UMin, r.UMax = 1, 1
				}
			}
		}, func(op *ir.Op, r *Fact, x, y Fact) {
			r.compareAxes(x, y, ir.Cast[tileaa.Cmpi](op).Predicate(), signed(op))
		}),
		tileaa.OpSelect & ir.Place: selectFact,

		tileaa.OpExti & ir.Place: unary(func(op *ir.Op, r *Fact, x Fact) {
			extend(r, x, signed(op))
			r.widenAxes(x, signed(op))
		}),
		tileaa.OpTrunci & ir.Place: unary(func(op *ir.Op, r *Fact, x Fact) {
			truncateRange(r, x, overflow(op))
			r.copyContig(x)
		}),
		tileaa.OpBitcast & ir.Place:  unary(same),
		tileaa.OpIntToPtr & ir.Place: castPointer,
		tileaa.OpPtrToInt & ir.Place: castPointer,
		tileaa.OpPtrCast & ir.Place:  castPointer,
		tileaa.OpOffset & ir.Place:   offsetFact,

		tileaa.OpConstant & ir.Place:      constantFact,
		tileaa.OpIota & ir.Place:          iotaFact,
		tileaa.OpSplat & ir.Place:         splatFact,
		tileaa.OpBroadcast & ir.Place:     broadcastFact,
		tileaa.OpReshape & ir.Place:       reshapeFact,
		tileaa.OpPermute & ir.Place:       permuteFact,
		tileaa.OpCat & ir.Place:           catFact,
		tileaa.OpExtract & ir.Place:       extractFact,
		tileaa.OpInsert & ir.Place:        insertFact,
		tileaa.OpConvertLayout & ir.Place: unary(same),
		tileaa.OpAssume & ir.Place:        assumeFact,

		// Grids have at most 2^24 - 1 blocks in a dimension (Tile IR, get_num_tile_blocks).
		tileaa.OpProgramId & ir.Place:   func(_ *Facts, _ *ir.Op, r *Fact) { r.UMax = 1<<24 - 2 },
		tileaa.OpNumPrograms & ir.Place: func(_ *Facts, _ *ir.Op, r *Fact) { r.UMin, r.UMax = 1, 1<<24-1 },

		tileaa.OpGetGlobal & ir.Place: func(_ *Facts, op *ir.Op, r *Fact) { r.Space, r.ZeroBits = Global, r.unit },
		tileaa.OpAlloca & ir.Place: func(_ *Facts, op *ir.Op, r *Fact) {
			r.Space = Local
			if a := ir.Cast[tileaa.Alloca](op).Alignment(); a > 0 {
				r.ZeroBits = log2(a)
			}
		},
	}
}

// same is an op that changes no bit.
func same(_ *ir.Op, r *Fact, x Fact) {
	if r.Width == x.Width && r.unit == x.unit {
		space := r.Space
		*r = x
		if space == NotPointer {
			r.Space = NotPointer
		}
	}
}

// mulAxes: a multiplication by one keeps the contiguity of the other operand.
func mulAxes(_ *ir.Op, r *Fact, x, y Fact) {
	if v, ok := y.Constant(); ok && v == 1 {
		r.copyContig(x)
	}
}

// sumAxes is for or and xor of numbers without a common bit, which are sums.
func sumAxes(_ *ir.Op, r *Fact, x, y Fact) {
	if disjoint(x, y) {
		r.addAxes(x, y, 0)
	}
}

// extremumAxes copies the axes of the operand that always is the result: below where x <= y, above where y <= x.
func extremumAxes(r *Fact, below, above, x, y Fact, signed bool) {
	switch {
	case signed && x.SMax <= y.SMin || !signed && x.UMax <= y.UMin:
		r.copyAxes(below)
	case signed && y.SMax <= x.SMin || !signed && y.UMax <= x.UMin:
		r.copyAxes(above)
	}
}

// copyAxes copies contiguity, divisibility and constancy of x.
func (r *Fact) copyAxes(x Fact) {
	r.copyContig(x)
	r.Const = slices.Clone(x.Const)
}

func selectFact(f *Facts, op *ir.Op, r *Fact) {
	c, x, y := f.Of(op.Operand(0)), f.Of(op.Operand(1)), f.Of(op.Operand(2))
	if x.Width == 0 || y.Width == 0 {
		return
	}
	if v, ok := c.Constant(); ok {
		*r = y
		if v != 0 {
			*r = x
		}
		return
	}
	*r = join(x, y)
	j := *r
	r.Contig, r.Div = ones(len(r.Contig)), make([]int, len(r.Div))
	for d := range r.Const {
		r.Const[d] = min(r.Const[d], c.Const[d])
		g := min(j.Contig[d], c.Const[d])
		r.setContig(d, g, j.zerosAt(d, g))
	}
}

// castPointer keeps the address; the result is contiguous only if its unit is the same.
func castPointer(f *Facts, op *ir.Op, r *Fact) {
	x := f.Of(op.Operand(0))
	if x.Width == 0 {
		return
	}
	r.elementwiseAxes(x)
	r.SMin, r.SMax, r.UMin, r.UMax, r.ZeroBits = x.SMin, x.SMax, x.UMin, x.UMax, x.ZeroBits
	if r.unit == x.unit {
		r.copyContig(x)
	}
	switch {
	case r.Space == NotPointer:
	case x.Space != NotPointer:
		r.Space = x.Space
	case !f.hasAlloca:
		r.Space = Global
	}
}

// offsetFact is ptr + offset * bytes; the sum is taken not to wrap (a wrap is undefined).
func offsetFact(f *Facts, op *ir.Op, r *Fact) {
	p, o := f.Of(op.Operand(0)), f.Of(op.Operand(1))
	if p.Width == 0 || o.Width == 0 {
		return
	}
	r.Space = p.Space
	wide := unknown(tileOfI64(op))
	extend(&wide, o, true)
	wide.elementwiseAxes(o)
	wide.widenAxes(o, true)
	wide = wide.refine()
	r.ZeroBits = min(p.ZeroBits, min(wide.ZeroBits+r.unit, 64))
	r.elementwiseAxes(p, wide)
	r.addAxes(p, wide, r.unit)
}

// tileOfI64 is the type of 64-bit integers in the shape of result 0.
func tileOfI64(op *ir.Op) ir.Type {
	t := op.Result(0).Type().(*tileaa.TileType)
	return &tileaa.TileType{Shape: t.Shape, Elem: &ir.IntegerType{Width: 64}}
}

func constantFact(_ *Facts, op *ir.Op, r *Fact) {
	t := op.Result(0).Type().(*tileaa.TileType)
	d := tileaa.ConstantOf(op.Result(0))
	if x, ok := tileaa.SplatBits(d); ok {
		*r = constant(t, x)
		return
	}
	if d == nil || t.NumElements() > tileaa.MaxFold {
		return
	}
	elems := make([]uint64, t.NumElements())
	for i := range elems {
		elems[i] = tileaa.ElementBits(d, i)
	}
	r.observe(t.Shape, elems)
}

// observe computes the best fact of a constant from its elements.
func (r *Fact) observe(shape []int64, elems []uint64) {
	r.SMin, r.SMax, r.UMin, r.UMax, r.ZeroBits = maxS(r.Width), minS(r.Width), maxU(r.Width), 0, r.Width
	for _, e := range elems {
		r.SMin, r.SMax = min(r.SMin, tileaa.SignExtend(e, r.Width)), max(r.SMax, tileaa.SignExtend(e, r.Width))
		r.UMin, r.UMax = min(r.UMin, e), max(r.UMax, e)
		r.ZeroBits = min(r.ZeroBits, bits.TrailingZeros64(e))
	}
	stride := int64(1)
	for d := len(shape) - 1; d >= 0; d-- {
		n := shape[d]
		// along says whether neighbours inside groups of c differ by step, and how many zeros the first elements have.
		along := func(c int64, step uint64) (ok bool, zeros int) {
			zeros = r.Width
			for i, e := range elems {
				at := int64(i) / stride % n
				if at%c == 0 {
					zeros = min(zeros, bits.TrailingZeros64(e))
				} else if tileaa.Truncate(elems[int64(i)-stride]+step, r.Width) != e {
					return false, 0
				}
			}
			return true, zeros
		}
		for c := n; c > 1; c /= 2 {
			if ok, z := along(c, 1); ok {
				r.Contig[d], r.Div[d] = c, z
				break
			}
		}
		for c := n; c > 1; c /= 2 {
			if ok, _ := along(c, 0); ok {
				r.Const[d] = c
				break
			}
		}
		stride *= n
	}
}

func iotaFact(_ *Facts, op *ir.Op, r *Fact) {
	n := shapeOf(op.Result(0).Type())[0]
	r.UMax = min(r.UMax, uint64(n-1))
	r.setContig(0, n, r.Width)
}

// scalarPart copies what holds of every element.
func (r *Fact) scalarPart(x Fact) {
	r.SMin, r.SMax, r.UMin, r.UMax, r.ZeroBits, r.Space = x.SMin, x.SMax, x.UMin, x.UMax, x.ZeroBits, x.Space
}

func splatFact(f *Facts, op *ir.Op, r *Fact) {
	if x := f.Of(op.Operand(0)); x.Width > 0 {
		r.scalarPart(x)
		r.Const = slices.Clone(shapeOf(op.Result(0).Type()))
	}
}

func broadcastFact(f *Facts, op *ir.Op, r *Fact) {
	x := f.Of(op.Operand(0))
	if x.Width == 0 {
		return
	}
	r.scalarPart(x)
	from, to := shapeOf(op.Operand(0).Type()), shapeOf(op.Result(0).Type())
	for d := range to {
		if from[d] != to[d] {
			r.Const[d] = to[d]
		} else {
			r.Const[d] = x.Const[d]
			r.setContig(d, x.Contig[d], x.Div[d])
		}
	}
}

// reshapeFact follows the elements in row-major order. What is known along a dimension of the result comes from the source
// dimension that contains its row-major stride:
//
//	[64] -> [4,16]   the new dimension 1 walks over 16 neighbours of the old one,
//	                 the new dimension 0 over every 16th
func reshapeFact(f *Facts, op *ir.Op, r *Fact) {
	x := f.Of(op.Operand(0))
	if x.Width == 0 {
		return
	}
	r.scalarPart(x)
	from, to := shapeOf(op.Operand(0).Type()), shapeOf(op.Result(0).Type())
	at := tileaa.RowMajorStrides(from)
	for d, s := range tileaa.RowMajorStrides(to) {
		// the source dimension that contains stride s
		for k, base := range at {
			if from[k] == 1 || s < base || s >= base*from[k] || to[d] == 1 {
				continue
			}
			every := s / base // elements of dimension k per step of d
			if every == 1 {
				c := min(x.Contig[k], to[d])
				r.setContig(d, c, x.zerosAt(k, c))
				r.Const[d] = min(x.Const[k], to[d])
				if to[d] > from[k] && r.Const[d] == from[k] {
					r.Const[d] = constBeyond(x, from, k, to[d])
				}
			} else if x.Const[k] > every {
				r.Const[d] = min(x.Const[k]/every, to[d])
			}
			break
		}
	}
}

// constBeyond is how many elements in row-major order are equal when dimension k is constant all along: outer dimensions
// may extend the run.
func constBeyond(x Fact, shape []int64, k int, limit int64) int64 {
	n := shape[k]
	for k--; k >= 0 && n < limit; k-- {
		n *= x.Const[k]
		if x.Const[k] < shape[k] {
			break
		}
	}
	return min(n, limit)
}

func permuteFact(f *Facts, op *ir.Op, r *Fact) {
	x := f.Of(op.Operand(0))
	if x.Width == 0 {
		return
	}
	r.scalarPart(x)
	for d, p := range ir.Cast[tileaa.Permute](op).Permutation() {
		r.Const[d] = x.Const[p]
		r.setContig(d, x.Contig[p], x.Div[p])
	}
}

func catFact(f *Facts, op *ir.Op, r *Fact) {
	if x, y := f.Of(op.Operand(0)), f.Of(op.Operand(1)); x.Width > 0 && y.Width > 0 {
		*r = join(x, y)
	}
}

// extractFact: slices begin at multiples of the result's dimensions.
func extractFact(f *Facts, op *ir.Op, r *Fact) {
	x := f.Of(op.Operand(0))
	if x.Width == 0 {
		return
	}
	r.scalarPart(x)
	for d, n := range shapeOf(op.Result(0).Type()) {
		c := min(x.Contig[d], n)
		r.setContig(d, c, x.zerosAt(d, c))
		r.Const[d] = min(x.Const[d], n)
	}
}

func insertFact(f *Facts, op *ir.Op, r *Fact) {
	i := ir.Cast[tileaa.Insert](op)
	if x, y := f.Of(i.Source()), f.Of(i.Dest()); x.Width > 0 && y.Width > 0 {
		*r = join(x, y)
	}
}

// assumeFact meets the fact of the operand with the assumption.
func assumeFact(f *Facts, op *ir.Op, r *Fact) {
	x := f.Of(op.Operand(0))
	if x.Width == 0 {
		return
	}
	*r = x
	r.Contig, r.Const, r.Div = slices.Clone(x.Contig), slices.Clone(x.Const), slices.Clone(x.Div)
	switch p := ir.Cast[tileaa.Assume](op).Predicate().(type) {
	case *tileaa.BoundedAttr:
		if p.Lower != nil {
			r.SMin = max(r.SMin, *p.Lower)
		}
		if p.Upper != nil {
			r.SMax = min(r.SMax, *p.Upper)
		}
	case *tileaa.SameElementsAttr:
		for d, n := range p.Groups {
			r.Const[d] = max(r.Const[d], lowBit(n))
		}
	case *tileaa.DivByAttr:
		z := min(bits.TrailingZeros64(p.Divisor), r.Width)
		if !p.Grouped {
			r.ZeroBits = max(r.ZeroBits, z)
			break
		}
		// groups of `every` count up from multiples of the divisor; so do their aligned halves, from multiples of less
		if c := lowBit(p.Every); c > r.Contig[p.Along] {
			if c < p.Every {
				z = min(z, log2(c)+r.unit)
			}
			r.Contig[p.Along] = c
			r.Div[p.Along] = max(r.zerosAt(int(p.Along), c), z)
		} else if c == r.Contig[p.Along] && c == p.Every {
			r.Div[p.Along] = max(r.Div[p.Along], z)
		}
	}
}

// lowBit is the largest power of two that divides a positive number, else 1.
func lowBit(n int64) int64 {
	if n <= 0 {
		return 1
	}
	return n & -n
}
