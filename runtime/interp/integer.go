package interp

import (
	"fmt"
	"math/bits"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// Integers are zero-extended from their width w; an i1 is 0 or 1, and signed 0 or -1.

// isSigned reports whether an operation reads its operands as signed numbers; one that does not say does not.
func isSigned(op *ir.Op) bool {
	s, ok := ir.As[cudatile.SignedOp](op)
	return ok && s.Signedness() == def.Signed
}

// integers is an operation whose kernel depends on the width and, as written, the signedness.
func integers(do func(w int, signed bool) func(a, b uint64) uint64) func(*ir.Op) (kernel, error) {
	return func(op *ir.Op) (kernel, error) {
		f := do(widthOf(op.Operand(0)), isSigned(op))
		if op.NumOperands() == 1 {
			return map1(func(a uint64) uint64 { return f(a, 0) }), nil
		}
		return map2(f), nil
	}
}

// What elements do that become undefined, for messages.
const (
	wraps         = "wraps, which it promises not to do"
	dividesByZero = "divides by 0"
)

// wrapping is an operation that may promise not to wrap. do gives the result modulo 2^w and whether it wrapped as a
// signed and as an unsigned operation.
func wrapping(do func(w int, a, b uint64) (v uint64, signed, unsigned bool)) func(*ir.Op) (kernel, error) {
	return func(op *ir.Op) (kernel, error) {
		w, flags := widthOf(op.Operand(0)), ir.Cast[cudatile.OverflowOp](op).Overflow()
		if flags == def.NoOverflowFlag && op.NumOperands() == 2 {
			return map2(func(a, b uint64) uint64 {
				v, _, _ := do(w, a, b)
				return v
			}), nil
		}
		noSigned := flags == def.NoSignedWrap || flags == def.NoWrap
		noUnsigned := flags == def.NoUnsignedWrap || flags == def.NoWrap
		return partial(func(a, b uint64) (uint64, string) {
			v, signed, unsigned := do(w, a, b)
			if noSigned && signed || noUnsigned && unsigned {
				return v, wraps
			}
			return v, ""
		}), nil
	}
}

func addi(w int, a, b uint64) (v uint64, signed, unsigned bool) {
	v = (a + b) & mask(w)
	return v, ((a^v)&(b^v))>>(w-1)&1 != 0, v < a
}

func subi(w int, a, b uint64) (v uint64, signed, unsigned bool) {
	v = (a - b) & mask(w)
	return v, ((a^b)&(a^v))>>(w-1)&1 != 0, a < b
}

func muli(w int, a, b uint64) (v uint64, signed, unsigned bool) {
	hi, lo := bits.Mul64(a, b)
	v = lo & mask(w)
	sa, sb, sv := signExtend(a, w), signExtend(b, w), signExtend(v, w)
	shi, slo := bits.Mul64(uint64(sa), uint64(sb))
	if sa < 0 {
		shi -= uint64(sb)
	}
	if sb < 0 {
		shi -= uint64(sa)
	}
	return v, slo != uint64(sv) || shi != uint64(sv>>63), hi != 0 || lo != v
}

// shli fills with zeros; an amount of w or more shifts everything out.
func shli(w int, a, b uint64) (v uint64, signed, unsigned bool) {
	if b >= uint64(w) {
		return 0, a != 0, a != 0
	}
	v = a << b & mask(w)
	return v, signExtend(v, w)>>b != signExtend(a, w), v>>b != a
}

// negi knows the signed view only.
func negi(w int, a, _ uint64) (v uint64, signed, unsigned bool) {
	v = -a & mask(w)
	return v, a != 0 && v == a, false
}

func absi(w int, _ bool) func(a, b uint64) uint64 {
	return func(a, _ uint64) uint64 {
		if signExtend(a, w) < 0 {
			return -a & mask(w)
		}
		return a
	}
}

// mulhii is the high half of the unsigned product.
func mulhii(w int, _ bool) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		hi, lo := bits.Mul64(a, b)
		if w == 64 {
			return hi
		}
		return (hi<<(64-w) | lo>>w) & mask(w)
	}
}

func less(w int, signed bool, a, b uint64) bool {
	if signed {
		return signExtend(a, w) < signExtend(b, w)
	}
	return a < b
}

func maxi(w int, signed bool) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		if less(w, signed, a, b) {
			return b
		}
		return a
	}
}

func mini(w int, signed bool) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		if less(w, signed, b, a) {
			return b
		}
		return a
	}
}

func xori(int, bool) func(a, b uint64) uint64 { return func(a, b uint64) uint64 { return a ^ b } }

// shri fills with zeros or the sign; an amount of w or more leaves nothing else.
func shri(w int, signed bool) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		b = min(b, 64)
		if signed {
			return uint64(signExtend(a, w)>>b) & mask(w)
		}
		return a >> b
	}
}

func cmpi(op *ir.Op) (kernel, error) {
	holds := comparisons[ir.Cast[cudatile.Cmpi](op).ComparisonPredicate()]
	w, signed := widthOf(op.Operand(0)), isSigned(op)
	below, same, above := bit(holds(-1)), bit(holds(0)), bit(holds(1))
	return map2(func(a, b uint64) uint64 {
		switch {
		case a == b:
			return same
		case less(w, signed, a, b):
			return below
		}
		return above
	}), nil
}

// bitwise is andi or ori. A defined operand that alone decides every bit of the result (0 for and, all ones for or) makes
// it defined whatever the other is: masks may cover what was never loaded.
func bitwise(or bool) func(*ir.Op) (kernel, error) {
	return func(op *ir.Op) (kernel, error) {
		decides := uint64(0)
		if or {
			decides = mask(widthOf(op.Operand(0)))
		}
		return func(out *tile, in []*tile) {
			x, y := in[0], in[1]
			for i, a := range x.bits {
				if b := y.bits[i]; or {
					out.bits[i] = a | b
				} else {
					out.bits[i] = a & b
				}
			}
			if out.flags == nil {
				return
			}
			for i := range out.bits {
				if x.flag(i) == 0 && x.bits[i] == decides || y.flag(i) == 0 && y.bits[i] == decides {
					out.bits[i], out.flags[i] = decides, 0
				}
			}
		}, nil
	}
}

// divi is undefined for a divisor of 0 and for the signed minimum over -1.
func divi(op *ir.Op) (kernel, error) {
	w, signed, mode := widthOf(op.Operand(0)), isSigned(op), ir.Cast[cudatile.Divi](op).Rounding()
	if mode != def.RoundZero && mode != def.RoundPosInf && (mode != def.RoundNegInf || !signed) {
		return nil, fmt.Errorf("cannot round an integer division by mode %d", mode)
	}
	if !signed {
		return partial(func(a, b uint64) (uint64, string) {
			if b == 0 {
				return 0, dividesByZero
			}
			q := a / b
			if mode == def.RoundPosInf && a%b != 0 {
				q++
			}
			return q, ""
		}), nil
	}
	return partial(func(a, b uint64) (uint64, string) {
		x, y := signExtend(a, w), signExtend(b, w)
		if y == 0 {
			return 0, dividesByZero
		}
		if y == -1 && a == 1<<(w-1) {
			return 0, "divides the smallest number by -1"
		}
		q, r := x/y, x%y
		switch up := (r < 0) == (y < 0); {
		case r == 0:
		case mode == def.RoundNegInf && !up:
			q--
		case mode == def.RoundPosInf && up:
			q++
		}
		return uint64(q) & mask(w), ""
	}), nil
}

// remi has the sign of the dividend; a divisor of 0 is undefined.
func remi(op *ir.Op) (kernel, error) {
	w, signed := widthOf(op.Operand(0)), isSigned(op)
	return partial(func(a, b uint64) (uint64, string) {
		x, y := signExtend(a, w), signExtend(b, w)
		switch {
		case b == 0:
			return 0, dividesByZero
		case !signed:
			return a % b, ""
		case y == -1:
			return 0, ""
		}
		return uint64(x%y) & mask(w), ""
	}), nil
}
