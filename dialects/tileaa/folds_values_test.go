package tileaa

import (
	"math"
	"math/big"
	"testing"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// A valuedOp is an operation of the tables of folds whose elements have values: how it may be typed and set, and what one element is. Expected values
// are those of rationals and of Go's float64, of which only zeros, infinities and NaN count.
type valuedOp struct {
	types [][]ir.Type // of the operands, then of the result
	sets  []func(op *ir.Op)
	want  func(op *ir.Op, x []uint64) (bits uint64, ok bool) // false where the result is undefined; NaN is any NaN
}

func elemTypeOf(v *ir.Value) ir.Type { return AsTile(v).Elem }

func formatOf(t ir.Type) *float.Format {
	if f, ok := t.(*ir.FloatType); ok {
		return f.Format
	}
	return nil
}

// specials are bits at which folds go wrong.
func specials(t ir.Type, few bool) (all []uint64) {
	f := formatOf(t)
	if f == nil {
		w := ir.BitWidth(t)
		seen := map[uint64]bool{}
		for _, x := range []uint64{0, 1, 2, 3, 7, 8, uint64(w) - 1, uint64(w), 1 << (w - 1), 1<<(w-1) - 1, 1<<(w-1) + 1, ^uint64(0), ^uint64(0) - 1, 0x5555555555555555} {
			if x = Truncate(x, w); !seen[x] {
				seen[x] = true
				all = append(all, x)
			}
		}
		return all
	}
	mantissa := uint64(1) << f.MantissaBits()
	one := f.Encode(1, float.NearestEven)
	positive := []uint64{0, 1, mantissa - 1, mantissa, one, one + 1, f.Max(), f.NaN(), f.Encode(3, float.NearestEven)}
	if f.HasInf() {
		positive = append(positive, f.Inf(false))
	}
	if !few {
		positive = append(positive, 2, mantissa+1, one-1, f.Max()-1, f.NaN()|1, f.Encode(0.5, float.NearestEven), f.Encode(1.5, float.NearestEven),
			f.Encode(127.5, float.NearestEven), f.Encode(2147483648, float.NearestEven), f.Encode(1e30, float.NearestEven), f.Encode(1e-20, float.NearestEven))
	}
	for _, x := range positive {
		all = append(all, x)
		if f.Signed() {
			all = append(all, f.Neg(x))
		}
	}
	return all
}

// encodeExact rounds a number other than zero to a format of IEEE 754.
func encodeExact(f *float.Format, x *big.Rat, mode float.Rounding) uint64 {
	neg := x.Sign() < 0
	num, den := new(big.Int).Abs(x.Num()), new(big.Int).Set(x.Denom())
	shifted := func(n int) (a, b *big.Int) { // |x| = a/b * 2^n
		if n >= 0 {
			return num, new(big.Int).Lsh(den, uint(n))
		}
		return new(big.Int).Lsh(num, uint(-n)), den
	}
	e := num.BitLen() - den.BitLen()
	if a, b := shifted(e); a.Cmp(b) < 0 {
		e--
	}
	e = max(e, 1-f.Bias())
	a, b := shifted(e - f.MantissaBits())
	q, rest := new(big.Int).QuoRem(a, b, new(big.Int))
	half := new(big.Int).Lsh(rest, 1).Cmp(b)
	up := false
	switch mode {
	case float.NearestEven:
		up = half > 0 || half == 0 && q.Bit(0) == 1
	case float.NearestAway:
		up = half >= 0
	case float.TowardNegative:
		up = neg && rest.Sign() != 0
	case float.TowardPositive:
		up = !neg && rest.Sign() != 0
	}
	code := uint64(e+f.Bias()-1)<<f.MantissaBits() + q.Uint64() // the leading bit of q is one more in the exponent
	if up {
		code++
	}
	if code > f.Max() || e > f.Bias() {
		code = f.Inf(false)
		if mode == float.TowardZero || mode == float.TowardNegative && !neg || mode == float.TowardPositive && neg {
			code = f.Max()
		}
	}
	if neg {
		return f.Neg(code)
	}
	return code
}

// flushed is a number as an operation with flush_to_zero reads and writes it.
func flushed(f *float.Format, x uint64) uint64 {
	if mag := f.Abs(x); mag < 1<<f.MantissaBits() {
		return x &^ mag
	}
	return x
}

// arithmetic is an operation of floats: what Go's float64 gives decides NaN, infinities and the signs of zeros, exactly the rest. down is approx for
// rounding down, where a sum of nothing is -0.
func arithmetic(approx, down func(x []float64) float64, exactly func(x []*big.Rat) *big.Rat) func(op *ir.Op, x []uint64) (uint64, bool) {
	return func(op *ir.Op, x []uint64) (uint64, bool) {
		f, mode, ftz := formatOf(elemTypeOf(op.Result(0))), float.Rounding(RoundedOp{op}.Rounding()), FlushingOp{op}.FlushToZero()
		values, rats, finite := make([]float64, len(x)), make([]*big.Rat, len(x)), true
		for i, v := range x {
			if ftz {
				v = flushed(f, v)
			}
			values[i], rats[i] = f.Decode(v), new(big.Rat)
			finite = rats[i].SetFloat64(values[i]) != nil && finite
		}
		v := approx(values)
		if mode == float.TowardNegative {
			v = down(values)
		}
		if math.IsNaN(v) {
			return f.NaN(), true
		}
		r := new(big.Rat)
		if !finite || func() bool { r = exactly(rats); return r == nil }() { // nil beside a divisor of 0
			if math.IsInf(v, 0) {
				return f.Inf(v < 0), true
			}
			return f.Zero(math.Signbit(v)), true // by an infinity; sums with one are infinite
		}
		if r.Sign() == 0 {
			return f.Zero(math.Signbit(v)), true
		}
		bits := encodeExact(f, r, mode)
		if ftz {
			bits = flushed(f, bits)
		}
		return bits, true
	}
}

// sqrtRat is the square root of a number that is not negative; where it is not rational, something so near that every format rounds it alike.
func sqrtRat(x *big.Rat) *big.Rat {
	const places = 1400 // beyond half of the least exponent of f64, and 53 bits
	scaled := new(big.Int).Lsh(x.Num(), 2*places)
	q, rest := new(big.Int).QuoRem(scaled, x.Denom(), new(big.Int))
	root := new(big.Int).Sqrt(q)
	twice := new(big.Int).Lsh(root, 1)
	if rest.Sign() != 0 || new(big.Int).Mul(root, root).Cmp(q) != 0 {
		twice.Add(twice, big.NewInt(1))
	}
	return new(big.Rat).SetFrac(twice, new(big.Int).Lsh(big.NewInt(1), places+1))
}

// extreme is maxf, or minf for a sign of -1: -0 is below +0.
func extreme(sign float64) func(op *ir.Op, x []uint64) (uint64, bool) {
	return func(op *ir.Op, x []uint64) (uint64, bool) {
		f, o := formatOf(elemTypeOf(op.Result(0))), NaNOp{op}
		a, b := x[0], x[1]
		if (FlushingOp{op}).FlushToZero() {
			a, b = flushed(f, a), flushed(f, b)
		}
		p, q := f.Decode(a), f.Decode(b)
		switch {
		case math.IsNaN(p) && math.IsNaN(q), (math.IsNaN(p) || math.IsNaN(q)) && o.PropagateNan():
			return f.NaN(), true
		case math.IsNaN(p):
			return b, true
		case math.IsNaN(q):
			return a, true
		}
		if sign*p == math.Max(sign*p, sign*q) && math.Signbit(sign*p) == math.Signbit(math.Max(sign*p, sign*q)) {
			return a, true
		}
		return b, true
	}
}

// integers is an operation of whole numbers; nil is undefined.
func integers(f func(op *ir.Op, w int, x, y *big.Int) *big.Int) func(op *ir.Op, x []uint64) (uint64, bool) {
	return func(op *ir.Op, x []uint64) (uint64, bool) {
		w := ir.BitWidth(elemTypeOf(op.Operand(0)))
		y := x[len(x)-1]
		v := f(op, w, number(op, w, x[0]), number(op, w, y))
		if v == nil {
			return 0, false
		}
		return modulo(v, ir.BitWidth(elemTypeOf(op.Result(0)))), true
	}
}

func modulo(v *big.Int, w int) uint64 {
	return new(big.Int).And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(w)), big.NewInt(1))).Uint64()
}

// number is what bits of an operand mean; operations without a sign take them as not signed, which is the same modulo 2^w.
func number(op *ir.Op, w int, x uint64) *big.Int {
	v := new(big.Int).SetUint64(x)
	if s, ok := ir.As[SignedOp](op); ok && s.Signedness() == def.Signed && x>>(w-1)&1 == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(w)))
	}
	return v
}

// divided is the quotient with the rounding of divi; undefined where the divisor is 0, or the quotient does not fit.
func divided(op *ir.Op, w int, x, y *big.Int) *big.Int {
	if y.Sign() == 0 {
		return nil
	}
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	if d, ok := ir.As[Divi](op); ok && r.Sign() != 0 {
		positive := x.Sign() == y.Sign()
		switch {
		case d.Rounding() == def.RoundNegInf && !positive:
			q.Sub(q, big.NewInt(1))
		case d.Rounding() == def.RoundPosInf && positive:
			q.Add(q, big.NewInt(1))
		}
	}
	if number(op, w, modulo(q, w)).Cmp(q) != 0 {
		return nil
	}
	return q
}

func predicateHolds(p def.Predicate, order int) bool {
	return [...]bool{def.PredEqual: order == 0, def.PredNotEqual: order != 0, def.PredLess: order < 0, def.PredLessEqual: order <= 0,
		def.PredGreater: order > 0, def.PredGreaterEqual: order >= 0}[p]
}

func bit(b bool) *big.Int {
	if b {
		return big.NewInt(1)
	}
	return new(big.Int)
}

func valuedOps(c *ir.Context) map[ir.Code]valuedOp {
	ints := []ir.Type{c.Int(1), c.Int(4), c.Int(8), c.Int(16), c.Int(32), c.Int(64)}
	floats := []ir.Type{c.Float(float.F16), c.Float(float.BF16), c.Float(float.F32), c.Float(float.F64)}
	list := func(elems []ir.Type, n int, result ir.Type) (out [][]ir.Type) {
		for _, e := range elems {
			row := []ir.Type{}
			for range n {
				row = append(row, e)
			}
			if result == nil {
				row = append(row, e)
			} else {
				row = append(row, result)
			}
			out = append(out, row)
		}
		return out
	}
	pairs := func(from, to []ir.Type, fits func(a, b ir.Type) bool) (out [][]ir.Type) {
		for _, a := range from {
			for _, b := range to {
				if a != b && fits(a, b) {
					out = append(out, []ir.Type{a, b})
				}
			}
		}
		return out
	}
	any := func(a, b ir.Type) bool { return true }
	wide := func(a, b ir.Type) bool { return ir.BitWidth(a) < ir.BitWidth(b) }
	narrow := func(a, b ir.Type) bool { return ir.BitWidth(a) > ir.BitWidth(b) }
	same := func(a, b ir.Type) bool { return ir.BitWidth(a) == ir.BitWidth(b) }
	var signs, divisions, comparisons, floatComparisons, roundings, extremes, conversions, toInts []func(op *ir.Op)
	for _, sign := range []def.Signedness{def.Unsigned, def.Signed} {
		set := func(op *ir.Op) { SignedOp{op}.SetSignedness(sign) }
		signs = append(signs, set)
		for _, r := range []def.Rounding{def.RoundZero, def.RoundNegInf, def.RoundPosInf} {
			divisions = append(divisions, func(op *ir.Op) { set(op); Divi{op}.SetRounding(r) })
		}
		for p := def.PredEqual; p <= def.PredGreaterEqual; p++ {
			comparisons = append(comparisons, func(op *ir.Op) { set(op); Cmpi{op}.SetPredicate(p) })
		}
		for _, saturating := range []bool{false, true} {
			toInts = append(toInts, func(op *ir.Op) { set(op); Ftoi{op}.SetSaturating(saturating) })
		}
	}
	for p := def.PredEqual; p <= def.PredGreaterEqual; p++ {
		for _, o := range []def.Ordering{def.Unordered, def.Ordered} {
			floatComparisons = append(floatComparisons, func(op *ir.Op) { Cmpf{op}.SetPredicate(p); Cmpf{op}.SetOrdering(o) })
		}
	}
	for _, ftz := range []bool{false, true} {
		for r := def.RoundNearestEven; r <= def.RoundPosInf; r++ {
			roundings = append(roundings, func(op *ir.Op) { RoundedOp{op}.SetRounding(r); FlushingOp{op}.SetFlushToZero(ftz) })
		}
		for _, nan := range []bool{false, true} {
			extremes = append(extremes, func(op *ir.Op) { NaNOp{op}.SetPropagateNan(nan); FlushingOp{op}.SetFlushToZero(ftz) })
		}
	}
	for r := def.RoundNearestEven; r <= def.RoundPosInf; r++ {
		conversions = append(conversions, func(op *ir.Op) { RoundedOp{op}.SetRounding(r) })
	}
	binary := func(f func(z, x, y *big.Int) *big.Int) valuedOp {
		return valuedOp{list(ints, 2, nil), nil, integers(func(_ *ir.Op, _ int, x, y *big.Int) *big.Int { return f(new(big.Int), x, y) })}
	}
	signedOp := func(sets []func(op *ir.Op), result ir.Type, f func(op *ir.Op, w int, x, y *big.Int) *big.Int) valuedOp {
		return valuedOp{list(ints, 2, result), sets, integers(f)}
	}
	sum := func(sign float64) func(x []float64) float64 {
		return func(x []float64) float64 { return x[0] + sign*x[1] }
	}
	sumDown := func(sign float64) func(x []float64) float64 {
		return func(x []float64) float64 { return -(-x[0] - sign*x[1]) }
	}
	product := func(x []float64) float64 { return x[0] * x[1] }
	quotient := func(x []float64) float64 { return x[0] / x[1] }
	root := func(x []float64) float64 { return math.Sqrt(x[0]) }
	rat := func(f func(z, x, y *big.Rat) *big.Rat) func(x []*big.Rat) *big.Rat {
		return func(x []*big.Rat) *big.Rat { return f(new(big.Rat), x[0], x[1]) }
	}
	formats := append(append([]ir.Type{}, floats...), c.Float(float.TF32), c.Float(float.F8E4M3FN), c.Float(float.F8E5M2))
	return map[ir.Code]valuedOp{
		OpAddi:   binary((*big.Int).Add),
		OpSubi:   binary((*big.Int).Sub),
		OpMuli:   binary((*big.Int).Mul),
		OpAndi:   binary((*big.Int).And),
		OpOri:    binary((*big.Int).Or),
		OpXori:   binary((*big.Int).Xor),
		OpShli:   binary(func(z, x, y *big.Int) *big.Int { return z.Lsh(x, uint(min(y.Uint64(), 64))) }),
		OpMulhii: signedOp(nil, nil, func(_ *ir.Op, w int, x, y *big.Int) *big.Int { return x.Rsh(x.Mul(x, y), uint(w)) }),
		OpDivi:   signedOp(divisions, nil, divided),
		OpRemi: signedOp(signs, nil, func(op *ir.Op, w int, x, y *big.Int) *big.Int {
			if divided(op, w, x, y) == nil {
				return nil
			}
			return new(big.Int).Rem(x, y)
		}),
		OpMaxi: signedOp(signs, nil, func(_ *ir.Op, _ int, x, y *big.Int) *big.Int {
			if x.Cmp(y) > 0 {
				return x
			}
			return y
		}),
		OpMini: signedOp(signs, nil, func(_ *ir.Op, _ int, x, y *big.Int) *big.Int {
			if x.Cmp(y) < 0 {
				return x
			}
			return y
		}),
		OpShri: signedOp(signs, nil, func(op *ir.Op, w int, x, y *big.Int) *big.Int { // the count has no sign
			return new(big.Int).Rsh(x, uint(min(modulo(y, w), 64)))
		}),
		OpCmpi: signedOp(comparisons, c.Int(1), func(op *ir.Op, _ int, x, y *big.Int) *big.Int {
			return bit(predicateHolds(Cmpi{op}.Predicate(), x.Cmp(y)))
		}),
		OpAbsi: {list(ints, 1, nil), nil, integers(func(_ *ir.Op, w int, x, _ *big.Int) *big.Int {
			if x.Bit(w-1) == 1 {
				x.Sub(new(big.Int).Lsh(big.NewInt(1), uint(w)), x)
			}
			return x
		})},
		OpNegi:   {list(ints, 1, nil), nil, integers(func(_ *ir.Op, _ int, x, _ *big.Int) *big.Int { return x.Neg(x) })},
		OpExti:   {pairs(ints, ints, wide), signs, integers(func(_ *ir.Op, _ int, x, _ *big.Int) *big.Int { return x })},
		OpTrunci: {pairs(ints, ints, narrow), nil, integers(func(_ *ir.Op, _ int, x, _ *big.Int) *big.Int { return x })},
		OpBitcast: {pairs(append(append([]ir.Type{}, ints...), floats...), append(append([]ir.Type{}, ints...), floats...), same), nil,
			func(_ *ir.Op, x []uint64) (uint64, bool) { return x[0], true }},
		OpSelect: {func() (out [][]ir.Type) {
			for _, row := range list(append(append([]ir.Type{}, ints...), floats...), 3, nil) {
				row[0] = c.Int(1)
				out = append(out, row)
			}
			return out
		}(), nil, func(_ *ir.Op, x []uint64) (uint64, bool) { return x[2-x[0]], true }},

		OpNegf: {list(floats, 1, nil), nil, func(op *ir.Op, x []uint64) (uint64, bool) {
			return x[0] ^ 1<<(ir.BitWidth(elemTypeOf(op.Result(0)))-1), true
		}},
		OpAbsf: {list(floats, 1, nil), nil, func(op *ir.Op, x []uint64) (uint64, bool) {
			return x[0] &^ (1 << (ir.BitWidth(elemTypeOf(op.Result(0))) - 1)), true
		}},
		OpAddf: {list(floats, 2, nil), roundings, arithmetic(sum(1), sumDown(1), rat((*big.Rat).Add))},
		OpSubf: {list(floats, 2, nil), roundings, arithmetic(sum(-1), sumDown(-1), rat((*big.Rat).Sub))},
		OpMulf: {list(floats, 2, nil), roundings, arithmetic(product, product, rat((*big.Rat).Mul))},
		OpDivf: {list(floats, 2, nil), roundings, arithmetic(quotient, quotient, func(x []*big.Rat) *big.Rat {
			if x[1].Sign() == 0 {
				return nil
			}
			return new(big.Rat).Quo(x[0], x[1])
		})},
		OpFma: {list(floats, 3, nil), roundings, arithmetic(func(x []float64) float64 { return math.FMA(x[0], x[1], x[2]) },
			func(x []float64) float64 { return -math.FMA(-x[0], x[1], -x[2]) },
			func(x []*big.Rat) *big.Rat { p := new(big.Rat).Mul(x[0], x[1]); return p.Add(p, x[2]) })},
		OpSqrt: {list(floats, 1, nil), roundings, arithmetic(root, root, func(x []*big.Rat) *big.Rat { return sqrtRat(x[0]) })},
		OpMaxf: {list(floats, 2, nil), extremes, extreme(1)},
		OpMinf: {list(floats, 2, nil), extremes, extreme(-1)},
		OpCmpf: {list(floats, 2, c.Int(1)), floatComparisons, func(op *ir.Op, x []uint64) (uint64, bool) {
			f, o := formatOf(elemTypeOf(op.Operand(0))), Cmpf{op}
			a, b := f.Decode(x[0]), f.Decode(x[1])
			switch {
			case math.IsNaN(a) || math.IsNaN(b):
				return b2u(o.Ordering() == def.Unordered), true
			case a < b:
				return b2u(predicateHolds(o.Predicate(), -1)), true
			case a > b:
				return b2u(predicateHolds(o.Predicate(), 1)), true
			}
			return b2u(predicateHolds(o.Predicate(), 0)), true
		}},
		OpFtof: {pairs(formats, formats, any), conversions, func(op *ir.Op, x []uint64) (uint64, bool) {
			from, to := formatOf(elemTypeOf(op.Operand(0))), formatOf(elemTypeOf(op.Result(0)))
			return float.Convert(from, to, x[0], float.Rounding(Ftof{op}.Rounding())), true // held against rationals in its package
		}},
		OpFtoi: {pairs(floats, ints, any), toInts, func(op *ir.Op, x []uint64) (uint64, bool) {
			v, w := formatOf(elemTypeOf(op.Operand(0))).Decode(x[0]), ir.BitWidth(elemTypeOf(op.Result(0)))
			if w == 1 {
				return b2u(v != 0), true
			}
			o := Ftoi{op}
			low, high := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(w))
			if o.Signedness() == def.Signed {
				high.Rsh(high, 1)
				low.Neg(high)
			}
			high.Sub(high, big.NewInt(1))
			n := new(big.Int)
			switch {
			case math.IsNaN(v):
				return 0, o.Saturating()
			case math.IsInf(v, 1):
				n.Add(high, big.NewInt(1))
			case math.IsInf(v, -1):
				n.Sub(low, big.NewInt(1))
			default:
				new(big.Float).SetFloat64(v).Int(n)
			}
			switch {
			case n.Cmp(low) < 0:
				return modulo(low, w), o.Saturating()
			case n.Cmp(high) > 0:
				return modulo(high, w), o.Saturating()
			}
			return modulo(n, w), true
		}},
		OpItof: {pairs(ints, floats, any), signs, func(op *ir.Op, x []uint64) (uint64, bool) {
			f, n := formatOf(elemTypeOf(op.Result(0))), number(op, ir.BitWidth(elemTypeOf(op.Operand(0))), x[0])
			if n.Sign() == 0 {
				return 0, true
			}
			return encodeExact(f, new(big.Rat).SetInt(n), float.NearestEven), true
		}},
	}
}

// A foldTrial is an operation of which some operands are constants and the others are any values.
type foldTrial struct {
	t       *testing.T
	op      *ir.Op
	row     valuedOp
	x       []uint64 // of the operands; those of any value are set in turn
	choices [][]uint64
	free    map[*ir.Value][]int // the operands that are one free value
}

// check holds what an operation folds to against each value that its free operands may have.
func (f *foldTrial) check() bool {
	results := fold(f.op)
	if len(results) == 0 {
		return false
	}
	var order []*ir.Value
	for i := range f.op.NumOperands() {
		if v := f.op.Operand(i); len(f.free[v]) > 0 && f.free[v][0] == i {
			order = append(order, v)
		}
	}
	f.each(results[0], order)
	return true
}

func (f *foldTrial) each(result ir.FoldResult, order []*ir.Value) {
	if len(order) > 0 {
		at := f.free[order[0]]
		for _, x := range f.choices[at[0]] {
			for _, i := range at {
				f.x[i] = x
			}
			f.each(result, order[1:])
		}
		return
	}
	want, ok := f.row.want(f.op, f.x)
	var got uint64
	switch d := ConstantOf(result.Value); {
	case result.Value == nil:
		got = ElementBits(result.Attr.(*ir.DenseAttr), 0)
	case d != nil:
		got = ElementBits(d, 0)
	default:
		got = f.x[f.free[result.Value][0]]
	}
	ft := formatOf(elemTypeOf(f.op.Result(0)))
	if one := ir.BitWidth(elemTypeOf(f.op.Operand(0))) == 1; !ok && len(f.free) == 0 && !one { // of one bit, a divisor of 1 is one of -1, too
		f.t.Errorf("%s of %#x is undefined and folds to %#x", f.op.Name(), f.x, got)
	}
	exact := f.op.Code() == OpNegf || f.op.Code() == OpAbsf || f.op.Code() == OpSelect || f.op.Code() == OpBitcast
	if ok && got != want && (exact || ft == nil || !ft.IsNaN(got) || !ft.IsNaN(want)) {
		f.t.Errorf("%s of %#x, of %s, folds to %#x, want %#x", f.op.Name(), f.x, elemTypeOf(f.op.Operand(0)), got, want)
	}
}

// Every fold of an operation that computes is what exact arithmetic gives, for constants and where operands are any values.
func TestFoldsAreExact(t *testing.T) {
	c, b := bench()
	shapes := map[int][]string{1: {"c"}, 2: {"cc", "ac", "ca", "aa"}, 3: {"ccc", "acc", "caa", "cab", "abb", "aab"}}
	rows := valuedOps(c)
	for i := range len(opRows) {
		code := opRows[i].Code
		row, ok := rows[code]
		if !ok {
			if evaluators.Of(code) != nil {
				t.Errorf("%s folds and has no row here", opRows[i].Name)
			}
			continue
		}
		t.Run(opRows[i].Name, func(t *testing.T) {
			sets := row.sets
			if sets == nil {
				sets = []func(op *ir.Op){func(*ir.Op) {}}
			}
			folded := 0
			for _, types := range row.types {
				n := len(types) - 1
				for _, set := range sets {
					for _, shape := range shapes[n] {
						folded += tryFolds(t, c, b, code, row, types, set, shape)
					}
				}
				if t.Failed() {
					return
				}
			}
			if folded == 0 {
				t.Error("nothing folds")
			}
		})
	}
}

// freeValue is a value of which nothing is known.
func freeValue(b *ir.Builder, t ir.Type) *ir.Value {
	block, _ := b.Place()
	return block.AddArg(t)
}

// tryFolds makes an operation of every combination of special constants, in the places of a shape that have a c; a letter is a free value.
func tryFolds(t *testing.T, c *ir.Context, b *ir.Builder, code ir.Code, row valuedOp, types []ir.Type, set func(op *ir.Op), shape string) (folded int) {
	n := len(types) - 1
	f := foldTrial{t: t, row: row, x: make([]uint64, n), choices: make([][]uint64, n), free: map[*ir.Value][]int{}}
	operands, tiles := make([]*ir.Value, n), make([]*TileType, n)
	letters := map[byte]*ir.Value{}
	for i := range n {
		tiles[i] = Tile(c, types[i], 2)
		f.choices[i] = specials(types[i], n == 3)
		if shape[i] == 'c' {
			continue
		}
		v := letters[shape[i]]
		if v == nil {
			v = freeValue(b, tiles[i])
			letters[shape[i]] = v
		}
		if v.Type() != ir.Type(tiles[i]) {
			return 0 // one value does not have two types
		}
		operands[i] = v
		f.free[v] = append(f.free[v], i)
	}
	var next func(i int)
	next = func(i int) {
		if i < n {
			if shape[i] != 'c' {
				next(i + 1)
				return
			}
			for _, x := range f.choices[i] {
				f.x[i] = x
				operands[i] = NewConstant(b, tiles[i], SplatOf(tiles[i], x)).Result()
				next(i + 1)
				operands[i].DefiningOp().Erase()
			}
			return
		}
		f.op = b.Create(ir.State{Def: opRows[code.Index()-1], Operands: operands, Types: []ir.Type{Tile(c, types[n], 2)}})
		set(f.op)
		if f.check() {
			folded++
		}
		f.op.Erase()
	}
	next(0)
	return folded
}

// An operation of one operand after another of such, which folds to what the first one reads, gives all of its values back.
func TestFoldsOfCastsGiveTheValueBack(t *testing.T) {
	c, b := bench()
	rows := valuedOps(c)
	casts := map[ir.Code]ir.Code{OpTrunci: OpExti}
	for i := range len(opRows) {
		second := opRows[i].Code
		row, ok := rows[second]
		if !ok || len(row.types[0]) != 2 {
			continue
		}
		first := second
		if other, ok := casts[second]; ok {
			first = other
		}
		folded := 0
		for _, out := range row.types {
			for _, in := range rows[first].types {
				if in[0] != out[1] || in[1] != out[0] {
					continue
				}
				tile := Tile(c, in[0], 2)
				x := freeValue(b, tile)
				inner := b.Create(ir.State{Def: opRows[first.Index()-1], Operands: []*ir.Value{x}, Types: []ir.Type{Tile(c, in[1], 2)}})
				outer := b.Create(ir.State{Def: opRows[second.Index()-1], Operands: []*ir.Value{inner.Result(0)}, Types: []ir.Type{tile}})
				if got := fold(outer); len(got) == 1 && got[0].Value == x {
					folded++
					checkBack(t, inner, outer, rows[first], row)
				} else if len(got) == 1 && (second != OpAbsf || got[0].Value != inner.Result(0)) {
					t.Errorf("%s of %s folds to something else", outer.Name(), inner.Name())
				}
			}
		}
		if identities.Of(second) != nil && folded == 0 && second != OpAbsf {
			t.Errorf("%s folds of no %s", opRows[i].Name, opRows[first.Index()-1].Name)
		}
	}
}

func checkBack(t *testing.T, inner, outer *ir.Op, first, second valuedOp) {
	elem := elemTypeOf(inner.Operand(0))
	all := specials(elem, false)
	if w := ir.BitWidth(elem); w <= 16 {
		all = nil
		for x := range uint64(1) << w {
			all = append(all, x)
		}
	}
	f := formatOf(elem)
	for _, x := range all {
		mid, _ := first.want(inner, []uint64{x})
		back, _ := second.want(outer, []uint64{mid})
		if back != x && (f == nil || !f.IsNaN(back) || !f.IsNaN(x)) {
			t.Fatalf("%s of %s of %s and back is %#x of %#x, and folds away", outer.Name(), inner.Name(), elem, back, x)
		}
	}
}
