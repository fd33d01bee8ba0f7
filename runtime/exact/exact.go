// Package exact evaluates elementary functions in arbitrary precision and rounds them correctly, to nearest, ties to even, to any float
// format: the reference of the interpreter and of the accuracy tables. It computes with more and more bits until every number within the
// error rounds alike (Ziv, "Fast evaluation of elementary mathematical functions with correctly rounded last bit", ACM TOMS 17, 1991).
package exact

import (
	"math"
	"math/big"
	"sync"

	"tileiras/ir/float"
)

// Func is a function of one or two real numbers.
type Func struct {
	Name string
	// special gives results that are exact, infinite, zero or NaN; ok is false where eval must compute.
	special func(x, y float64) (v float64, ok bool)
	// eval is the value with about p correct bits. No argument is a special one.
	eval func(x, y float64, p uint) *big.Float
	// quick is the value in f64, within a relative error of 2^-42 where ok; nil: always compute.
	quick func(x, y float64) (v float64, ok bool)

	mu   sync.Mutex
	memo map[call]uint64 // what was computed with many bits
}

type call struct {
	to   *float.Format
	x, y uint64
}

// memoSize bounds the memo, which starts anew when it is full.
const memoSize = 1 << 16

// The precisions that are tried. What is undecided with the last is a number of few bits or halfway between two of the format: pow has
// such values, and no other function that special does not know.
const (
	firstBits = 128
	lastBits  = 4096
	slack     = 16 // bits by which eval may miss its precision
)

// Round is f(x, y) in a format, whose NaN it returns where the function has no value.
func (f *Func) Round(to *float.Format, x, y float64) uint64 {
	if v, ok := f.special(x, y); ok {
		return to.Encode(v, float.NearestEven)
	}
	if f.quick != nil && to != float.F64 {
		if v, ok := f.quick(x, y); ok {
			low, high := to.Encode(v*(1-0x1p-42), float.NearestEven), to.Encode(v*(1+0x1p-42), float.NearestEven)
			if low == high && math.Abs(v) >= 0x1p-1000 {
				return low
			}
		}
	}
	k := call{to, math.Float64bits(x), math.Float64bits(y)}
	f.mu.Lock()
	v, ok := f.memo[k]
	f.mu.Unlock()
	if ok {
		return v
	}
	v = f.compute(to, x, y)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.memo == nil || len(f.memo) >= memoSize {
		f.memo = make(map[call]uint64)
	}
	f.memo[k] = v
	return v
}

// compute rounds f(x, y) with as many bits as that takes.
func (f *Func) compute(to *float.Format, x, y float64) uint64 {
	for p := uint(firstBits); ; p *= 2 {
		v := f.eval(x, y, p)
		if p > lastBits {
			return round(to, v.SetPrec(p-2*slack))
		}
		off := new(big.Float).SetMantExp(v, slack-int(p))
		low := round(to, new(big.Float).SetPrec(2*p).Sub(v, off))
		if low == round(to, new(big.Float).SetPrec(2*p).Add(v, off)) {
			return low
		}
	}
}

// Value is f(x, y) with at least p correct bits; ok is false where the value is special: exact, infinite, zero or NaN, as v says.
func (f *Func) Value(x, y float64, p uint) (exact *big.Float, v float64, ok bool) {
	if v, special := f.special(x, y); special {
		return nil, v, false
	}
	return f.eval(x, y, p+slack), 0, true
}

// round rounds once. Formats narrower than f64 go through f64 rounded to odd, which keeps the side on which v lies of every midpoint.
func round(to *float.Format, v *big.Float) uint64 {
	if to == float.F64 {
		d, _ := v.Float64()
		return math.Float64bits(d)
	}
	t := new(big.Float).SetPrec(53).SetMode(big.ToZero).Set(v)
	d, acc := t.Float64()
	if (t.Acc() != big.Exact || acc != big.Exact) && d != 0 && !math.IsInf(d, 0) {
		d = math.Float64frombits(math.Float64bits(d) | 1)
	}
	return to.Encode(d, float.NearestEven)
}
