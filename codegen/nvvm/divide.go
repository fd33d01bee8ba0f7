package nvvm

import (
	"github.com/llir/llvm/ir/enum"

	"tileiras/ir"
)

// Division of many elements of a thread by one number, each quotient correctly rounded: the reciprocal is computed once, in two parts, so that
// the product is next to the quotient at worst (Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point division when the
// divisor is known in advance", 2004), and the product is corrected by its remainder, which fma gives exactly (Markstein, "Computation of
// elementary functions on the IBM RISC System/6000 processor", 1990: that is right if the reciprocal is correctly rounded).
//
//	y = 1/d; h = y rounded down; l = (1 - h*d)*h; q = x*h + x*l; q = q - (q*d - x)*y
//
// With l not negative and the remainder that way round a zero keeps its sign. That holds where nothing leaves the range of normal numbers. A
// thread in which it may not, because of the divisor or of any dividend but 0, divides by the instruction.

// Where quotients are computed by the reciprocal.
const (
	minDivisor  = 0x32800000 // 2^-26
	maxDivisor  = 0x4C800000 // 2^26
	minDividend = 0x12800000 // 2^-90
	maxDividend = 0x71800000 // 2^100
)

// minQuotients is how many elements make a reciprocal worthwhile.
const minQuotients = 4

// divided is the quotients of two f32 tiles, rounded to nearest.
func (f *fn) divided(elem ir.Type, x, y *tile) *tile {
	out := f.newTile(elem, x.len())
	var order []reg
	by := map[reg][]int{}
	for i := range out.regs {
		d := f.reg(y, i)
		if by[d] == nil {
			order = append(order, d)
		}
		by[d] = append(by[d], i)
	}
	for _, d := range order {
		var dividends []reg
		place := map[reg]int{} // of dividends
		for _, i := range by[d] {
			r := f.reg(x, i)
			if _, known := place[r]; !known {
				place[r] = len(dividends)
				dividends = append(dividends, r)
			}
		}
		quotients := f.quotients(dividends, d)
		for _, i := range by[d] {
			out.regs[i] = quotients[place[f.reg(x, i)]]
		}
	}
	out.home = f.cur
	return out
}

// quotients divides several numbers by one.
func (f *fn) quotients(x []reg, d reg) []reg {
	exact := func() []reg {
		q := make([]reg, len(x))
		for i := range x {
			q[i] = f.fdiv(x[i], d)
		}
		return q
	}
	if len(x) < minQuotients || d.isConst() {
		return exact()
	}
	fma := func(x, y, z reg) reg { return f.op1("fma.rn.f32", x, y, z) }
	one := f32(0x3F800000)
	y := f.fdiv(one, d)
	above := f.ashr(f.cast(fma(f.fneg(d), y, one), kI32), 31) // -1 if y was rounded up
	high := f.cast(f.add(f.cast(y, kI32), above), kF32)
	low := f.fmul(fma(f.fneg(d), high, one), high)
	less := f.fneg(y)
	// What is far is known before the first quotient, which takes the register of its dividend: known behind the last one, it would hold all of both.
	return f.ifElse(f.outOfRange(x, d), exact, func() []reg {
		q := make([]reg, len(x))
		for i := range x {
			v := fma(x[i], high, f.fmul(x[i], low))
			q[i] = fma(fma(v, d, f.fneg(x[i])), less, v)
		}
		return q
	})
}

// outOfRange reports whether a divisor or one of its dividends is outside the range for which the reciprocal is exact enough.
func (f *fn) outOfRange(x []reg, d reg) reg {
	largest, smallest := f32(0), con(kI32, 0xFFFFFFFF)
	for i := range x {
		largest = f.op1("max.f32", largest, f.fabs(x[i])) // a NaN does not count: it is its own quotient
		bits := f.cast(x[i], kI32)
		smallest = f.minmax(smallest, f.sub(f.add(bits, bits), i32(1)), false, false) // without the sign; 0 becomes the largest number
	}
	far := f.icmp(ugt, f.sub(f.cast(d, kI32), i32(minDivisor)), i32(maxDivisor-minDivisor))
	far = f.or(far, f.fcmp(enum.FPredOGT, largest, f32(maxDividend)))
	return f.or(far, f.icmp(ult, smallest, i32(2*minDividend-1)))
}

func (f *fn) fdiv(x, y reg) reg { return f.bin(opFDiv, x, y) }
