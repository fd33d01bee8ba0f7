package interp

import (
	"math"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/runtime/exact"
)

// roundings maps the rounding modes of the dialect to those of ir/float; approx and full are inexact besides.
var roundings = [...]float.Rounding{
	def.RoundNearestEven:      float.NearestEven,
	def.RoundZero:             float.TowardZero,
	def.RoundNegInf:           float.TowardNegative,
	def.RoundPosInf:           float.TowardPositive,
	def.RoundApprox:           float.NearestEven,
	def.RoundFull:             float.NearestEven,
	def.RoundNearestIntToZero: float.TowardZero,
	def.RoundNearestAway:      float.NearestAway,
}

// arithmetic is what a float rule needs to know of its operation.
type arithmetic struct {
	f      *float.Format
	mode   def.Rounding // the dialect's rounding mode
	r      float.Rounding
	ftz    bool
	approx bool // the operation is not correctly rounded
}

func arithmeticOf(op *ir.Op) arithmetic {
	a := arithmetic{f: formatOf(op.Operand(0))}
	if r, ok := ir.As[cudatile.RoundedOp](op); ok {
		a.mode = r.RoundingMode()
	}
	if f, ok := ir.As[cudatile.FlushingOp](op); ok {
		a.ftz = f.FlushToZero()
	}
	a.r, a.approx = roundings[a.mode], a.mode == def.RoundApprox || a.mode == def.RoundFull
	return a
}

// flushed makes a kernel that replaces subnormal inputs and results by zeros of their sign, if the operation asks for it.
func (a arithmetic) flushed(k kernel) kernel {
	if !a.ftz {
		return k
	}
	flush := a.f.FlushSubnormal
	return func(out *tile, in []*tile) {
		clean := make([]*tile, len(in))
		for i, t := range in {
			clean[i] = newTile(t.typ, len(t.bits))
			for j, v := range t.bits {
				clean[i].bits[j] = flush(v)
			}
		}
		k(out, clean)
		for i, v := range out.bits {
			out.bits[i] = flush(v)
		}
	}
}

// approximate marks the results of a kernel that rounds less than correctly. Infinities and NaN have one right answer.
func (a arithmetic) approximate(k kernel) kernel {
	return func(out *tile, in []*tile) {
		k(out, in)
		if out.ignoreInexact {
			return
		}
		for i := range out.bits {
			finite := true
			for _, t := range in {
				finite = finite && a.f.IsFinite(t.bits[i])
			}
			if finite {
				out.mark(i, inexact)
			}
		}
	}
}

func (a arithmetic) finish(k kernel) kernel {
	if a.approx {
		k = a.approximate(k)
	}
	return a.flushed(k)
}

// floats is an operation whose kernel depends on the format, the rounding mode and flush_to_zero.
func floats(make func(a arithmetic) kernel) func(*ir.Op) (kernel, error) {
	return func(op *ir.Op) (kernel, error) {
		a := arithmeticOf(op)
		return a.finish(make(a)), nil
	}
}

func addf(a arithmetic) kernel {
	return map2(func(x, y uint64) uint64 { return a.f.Add(x, y, a.r) })
}

func subf(a arithmetic) kernel {
	return map2(func(x, y uint64) uint64 { return a.f.Sub(x, y, a.r) })
}

func mulf(a arithmetic) kernel {
	return map2(func(x, y uint64) uint64 { return a.f.Mul(x, y, a.r) })
}

func fma(a arithmetic) kernel {
	return map3(func(x, y, z uint64) uint64 { return a.f.FMA(x, y, z, a.r) })
}

func sqrt(a arithmetic) kernel {
	return map1(func(x uint64) uint64 { return a.f.Sqrt(x, a.r) })
}

func absf(a arithmetic) kernel { return map1(a.f.Abs) }
func negf(a arithmetic) kernel { return map1(a.f.Neg) }

// divf divides. The approximate form multiplies by a reciprocal that is 0 for divisors between 2^126 and 2^128 (PTX ISA,
// div.approx).
func divf(a arithmetic) kernel {
	f := a.f
	return map2(func(x, y uint64) uint64 {
		if a.mode == def.RoundApprox {
			if d := math.Abs(f.Decode(y)); d > 0x1p126 && d < 0x1p128 {
				return f.Mul(x, f.Zero(f.Sign(y)), a.r)
			}
		}
		return f.Div(x, y, a.r)
	})
}

// remf is exact: the remainder of two numbers of a format is one of its numbers.
func remf(a arithmetic) kernel {
	return map2(func(x, y uint64) uint64 { return a.f.Encode(math.Mod(a.f.Decode(x), a.f.Decode(y)), a.r) })
}

// extremum is the rule of maxf and minf: -0 < +0, and NaN counts as no value unless it is to propagate.
func extremum(largest bool) func(*ir.Op) (kernel, error) {
	return func(op *ir.Op) (kernel, error) {
		a := arithmeticOf(op)
		f, propagate := a.f, ir.Cast[cudatile.NaNOp](op).PropagateNan()
		return a.flushed(map2(func(x, y uint64) uint64 {
			u, v := f.Decode(x), f.Decode(y)
			switch nx, ny := u != u, v != v; {
			case nx && ny || propagate && (nx || ny):
				return f.NaN()
			case nx:
				return y
			case ny:
				return x
			}
			if (u > v || u == v && f.Sign(y)) == largest {
				return x
			}
			return y
		})), nil
	}
}

// comparisons are the predicates on the outcome of an ordered comparison: -1, 0 or 1.
var comparisons = [...]func(int) bool{
	def.PredEqual:        func(c int) bool { return c == 0 },
	def.PredNotEqual:     func(c int) bool { return c != 0 },
	def.PredLess:         func(c int) bool { return c < 0 },
	def.PredLessEqual:    func(c int) bool { return c <= 0 },
	def.PredGreater:      func(c int) bool { return c > 0 },
	def.PredGreaterEqual: func(c int) bool { return c >= 0 },
}

// cmpf compares; with a NaN an ordered comparison is false and an unordered one true.
func cmpf(op *ir.Op) (kernel, error) {
	f := formatOf(op.Operand(0))
	cmp := ir.Cast[cudatile.Cmpf](op)
	holds := comparisons[cmp.ComparisonPredicate()]
	less, equal, greater := bit(holds(-1)), bit(holds(0)), bit(holds(1))
	withNaN := bit(cmp.ComparisonOrdering() == def.Unordered)
	return map2(func(x, y uint64) uint64 {
		u, v := f.Decode(x), f.Decode(y)
		switch {
		case u < v:
			return less
		case u > v:
			return greater
		case u == v:
			return equal
		}
		return withNaN
	}), nil
}

// exactly applies a function that is exact in f64: ceil and floor.
func exactly(do func(float64) float64) func(*ir.Op) (kernel, error) {
	return floats(func(a arithmetic) kernel {
		return map1(func(x uint64) uint64 { return a.f.Encode(do(a.f.Decode(x)), a.r) })
	})
}

// function applies a transcendental function, correctly rounded. The result is never exact all the same, because no implementation owes
// more than a bound on its error.
func function(do *exact.Func) func(*ir.Op) (kernel, error) {
	return func(op *ir.Op) (kernel, error) {
		a := arithmeticOf(op)
		a.approx = true
		return a.finish(map1(func(x uint64) uint64 { return do.Round(a.f, a.f.Decode(x), 0) })), nil
	}
}

// function2 is function with two operands.
func function2(do *exact.Func) func(*ir.Op) (kernel, error) {
	return func(op *ir.Op) (kernel, error) {
		a := arithmeticOf(op)
		a.approx = true
		return a.finish(map2(func(x, y uint64) uint64 { return do.Round(a.f, a.f.Decode(x), a.f.Decode(y)) })), nil
	}
}

// fpowi raises to the power of a signed integer.
func fpowi(op *ir.Op) (kernel, error) {
	f, width := formatOf(op.Operand(0)), widthOf(op.Operand(1))
	return func(out *tile, in []*tile) {
		for i, b := range in[0].bits {
			x, n := f.Decode(b), signExtend(in[1].bits[i], width)
			out.bits[i] = exact.Powi(f, x, n)
			if !out.ignoreInexact && f.IsFinite(b) {
				out.mark(i, inexact)
			}
		}
	}, nil
}
