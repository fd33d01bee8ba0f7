package nvvm

import "tileiras/ir"

// Division of many elements of a thread by one number, each quotient correctly rounded: the reciprocal is computed once, and a quotient
// corrected twice by its remainder, which fma gives exactly (Markstein, "Computation of elementary functions on the IBM RISC System/6000
// processor", 1990: the second one is right if the reciprocal is).
//
//	y = 1/d; q = x*y; q = q + (x - q*d)*y; q = q + (x - q*d)*y
//
// That holds where nothing leaves the range of normal numbers. A thread in which it may not, because of the divisor or of any dividend
// but 0, divides by the instruction.

// Where quotients are computed by the reciprocal.
const (
	leastDivisor  = 0x32800000 // 2^-26
	mostDivisor   = 0x4C800000 // 2^26
	leastDividend = 0x0D800000 // 2^-100
	mostDividend  = 0x71800000 // 2^100
)

// fewestQuotients is how many elements make a reciprocal worthwhile.
const fewestQuotients = 4

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
		same := by[d]
		dividends := make([]reg, len(same))
		for k, i := range same {
			dividends[k] = f.reg(x, i)
		}
		for k, q := range f.quotients(dividends, d) {
			out.regs[same[k]] = q
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
	if len(x) < fewestQuotients || d.isConst() {
		return exact()
	}
	y := f.fdiv(f32(0x3F800000), d)
	less := f.cast(f.xor(f.cast(d, kI32), con(kI32, 0x80000000)), kF32)
	q := make([]reg, len(x))
	largest, smallest := i32(0), con(kI32, 0xFFFFFFFF)
	for i := range x {
		bits := f.cast(x[i], kI32)
		magnitude := f.and(bits, i32(0x7FFFFFFF))
		largest = f.minmax(largest, magnitude, false, true)
		smallest = f.minmax(smallest, f.sub(magnitude, i32(1)), false, false) // 0 becomes the largest number
		v := f.fmul(x[i], y)
		for range 2 {
			v = f.op1("fma.rn.f32", f.op1("fma.rn.f32", v, less, x[i]), y, v)
		}
		q[i] = f.cast(f.or(f.cast(v, kI32), f.and(bits, con(kI32, 0x80000000))), kF32) // the sign of -0
	}
	far := f.icmp(ugt, f.sub(f.cast(d, kI32), i32(leastDivisor)), i32(mostDivisor-leastDivisor))
	far = f.or(far, f.icmp(ugt, largest, i32(mostDividend)))
	far = f.or(far, f.icmp(ult, smallest, i32(leastDividend-1)))
	return f.branch(far, q, exact)
}

func (f *fn) fdiv(x, y reg) reg { return f.bin(opFDiv, x, y) }
