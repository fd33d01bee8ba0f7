package nvvm

import (
	"math"
	"slices"

	"tileiras/codegen/ptxop"
	"tileiras/ir"
	"tileiras/ir/float"
)

// Formats of 8 bits and fewer. sm_89 converts pairs of e4m3 and e5m2 by hardware; all else is integer arithmetic on the bits, one
// recipe for every format, from the numbers of its row.

// pairName is the PTX name of a pair of a format that cvt knows.
var pairName = map[*float.Format]string{float.F8E4M3FN: "e4m3x2", float.F8E5M2: "e5m2x2"}

// narrowToF16 names the instruction that makes two f16 of two numbers of a format, "" where the compiler knows none.
func narrowToF16(format *float.Format) string {
	if format == float.F4E2M1FN {
		return fourBitsToF16
	}
	if pairName[format] == "" {
		return ""
	}
	return "cvt.rn.f16x2." + pairName[format]
}

// NarrowRow is the instruction that converts from a format of 8 bits and fewer, and beside which there is one that converts to it; nil where the compiler
// knows none and computes with the bits.
func NarrowRow(format *float.Format) *ptxop.Row { return ptxop.Lookup(narrowToF16(format)) }

const f32Bias = 127

// decodeNarrow is element i of a tile of an 8-bit or smaller format as f32.
func (f *fn) decodeNarrow(t *tile, i int, format *float.Format) reg {
	if format == float.F4E2M1FN && f.has(fourBitsToF16) {
		b, at := f.byteOfHalves(f.reg(t, i))
		return f.op1("cvt.f32.f16", f.op("mov.unpack.b32", f.op1(fourBitsToF16, f.zext(b, kI16)))[at])
	}
	if row := narrowToF16(format); f.has(row) {
		if t.packs() {
			halves := f.op("mov.unpack.b32", f.word(t, i/4))
			return f.op1("cvt.f32.f16", f.op("mov.unpack.b32", f.op1(row, halves[i/2%2]))[i%2])
		}
		return f.op1("cvt.f32.f16", f.op("mov.unpack.b32", f.op1(row, f.reg(t, i)))[0])
	}
	if pairName[format] != "" && t.packs() {
		return f.op1("cvt.f32.f16", f.op("mov.unpack.b32", f.pairToF16(f.pairOf(t, i/2), format))[i%2])
	}
	x := f.zext(f.reg(t, i), kI32)
	width, man := format.Bits(), format.MantissaBits()
	mag := x
	if format.Signed() {
		mag = f.and(x, i32(1<<(width-1)-1))
	}
	var v reg
	if !format.HasZero() {
		// An exponent alone; its code 0 is the subnormal 2^-127.
		v = f.sel(f.icmp(eq, mag, i32(0)), i32(0x00400000), f.shl(mag, 23))
	} else {
		// The bits in the places of an f32 are the value times 2^(bias - 127), subnormals too.
		scale := f32(uint32(2*f32Bias-format.Bias()) << 23)
		v = f.cast(f.fmul(f.cast(f.shl(mag, 23-man), kF32), scale), kI32)
	}
	if format.HasInf() {
		special := f.or(f.and(f.shl(mag, 23-man), i32(0x007FFFFF)), i32(0x7F800000))
		v = f.sel(f.icmp(ult, mag, con(kI32, format.Inf(false))), v, special)
	} else if format.HasNaN() {
		v = f.sel(f.icmp(eq, mag, con(kI32, format.NaN())), i32(0x7FC00000), v)
	}
	if format.Signed() {
		v = f.or(v, f.shl(f.and(x, i32(1<<(width-1))), 32-width))
	}
	return f.cast(v, kF32)
}

// nanIsLargest reports whether NaN becomes the format's largest value (Tile IR, table of conversions). The hardware keeps it NaN, but
// a minimum with that value, which saturation makes harmless, prefers the number.
func nanIsLargest(format *float.Format) bool { return format == float.F8E4M3FN }

// fourBitsToF16 makes two f16 of a byte of two numbers.
const fourBitsToF16 = "cvt.rn.f16x2.e2m1x2"

// byteOfHalves is the byte of which four bits are a half, and which: those that stand alone are the lower half of theirs.
func (f *fn) byteOfHalves(x reg) (b reg, at int) {
	if s, ok := f.wholes[x.id]; ok && s.word.k == kI8 {
		return s.word, slices.Index(s.parts, x)
	}
	return x, 0
}

// encodeNarrow rounds f32 registers into the tile out.
func (f *fn) encodeNarrow(out *tile, x []reg, format *float.Format, rounding string) {
	if row := "cvt.rn.satfinite.e2m1x2.f32"; format == float.F4E2M1FN && f.has(row) {
		for i := 0; i < len(x); i += 2 {
			second := min(i+1, len(x)-1)
			out.regs[i], out.regs[second] = f.nibbles(f.trunc(f.op1(row, x[second], x[i]), kI8))
		}
		return
	}
	if row := "cvt.rn.satfinite." + pairName[format] + ".f32"; pairName[format] != "" && f.has(row) {
		if nanIsLargest(format) {
			largest := f32(math.Float32bits(float32(format.Decode(format.Max()))))
			x = slices.Clone(x)
			for i := range x {
				x[i] = f.op1("min.f32", x[i], largest)
			}
		}
		pair := func(i int) reg { return f.op1(row, x[i+1], x[i]) }
		if out.packs() {
			for i := range out.words {
				out.words[i] = f.pack([]reg{pair(4 * i), pair(4*i + 2)})
			}
			return
		}
		for i := range x {
			if len(x) == 1 {
				out.regs[i] = f.trunc(f.op1(row, x[i], x[i]), kI8)
			} else if i%2 == 0 {
				both := pair(i)
				out.regs[i], out.regs[i+1] = f.trunc(both, kI8), f.trunc(f.lshr(both, 8), kI8)
			}
		}
		return
	}
	for i := range x {
		if format.HasZero() {
			out.regs[i] = f.encodeOne(x[i], format)
		} else {
			out.regs[i] = f.encodeExponent(x[i], format, rounding)
		}
	}
}

// nibbles takes an i8 apart into its halves.
func (f *fn) nibbles(b reg) (lo, hi reg) {
	return f.halvesOf(b, f.and(b, con(kI8, 15)), f.lshr(b, 4))
}

// encodeOne rounds to nearest even and saturates.
//
//	normal     round the bits at the format's last place, rebias the exponent: |x| bits rounded >> (23-man) minus the bias difference
//	subnormal  |x| * 2^(bias-1+man) rounded to an integer is the code: adding 2^23 rounds
func (f *fn) encodeOne(x reg, format *float.Format) reg {
	man, bias := format.MantissaBits(), format.Bias()
	bits := f.cast(x, kI32)
	mag := f.and(bits, i32(0x7FFFFFFF))
	drop := 23 - man
	up := f.add(mag, f.add(f.and(f.lshr(mag, drop), i32(1)), i32(1<<(drop-1)-1)))
	normal := f.sub(f.lshr(up, drop), i32(int64(f32Bias-bias)<<man))
	const magic = 0x4B000000 // 2^23
	scaled := f.fmul(f.cast(mag, kF32), f32(uint32(f32Bias+bias-1+man)<<23))
	subnormal := f.and(f.cast(f.fadd(scaled, f32(magic)), kI32), i32(0x007FFFFF))
	code := f.sel(f.icmp(ult, mag, i32(int64(f32Bias+1-bias)<<23)), subnormal, normal)
	// Beyond the largest value, infinity included, the code is the largest; so is NaN's where the conversion table says so.
	code = f.minmax(code, con(kI32, format.Max()), true, false)
	if nan := format.NaN(); format == float.F8E5M2 || format == float.F8E5M3FNU {
		code = f.sel(f.icmp(ugt, mag, i32(0x7F800000)), con(kI32, nan), code)
	}
	if format.Signed() {
		sign := f.lshr(f.and(bits, con(kI32, 0x80000000)), 32-format.Bits())
		if format.Max() == format.NaN() || format == float.F8E4M3FN {
			sign = f.sel(f.icmp(ugt, mag, i32(0x7F800000)), i32(0), sign)
		}
		code = f.or(code, sign)
	}
	return f.trunc(code, kI8)
}

// encodeExponent rounds |x| to a power of two, toward zero or up.
func (f *fn) encodeExponent(x reg, format *float.Format, rounding string) reg {
	mag := f.and(f.cast(x, kI32), i32(0x7FFFFFFF))
	code := f.lshr(mag, 23)
	if rounding == ".rp" {
		code = f.lshr(f.add(mag, i32(0x007FFFFF)), 23)
		code = f.sel(f.icmp(ugt, mag, i32(0x00400000)), code, i32(0)) // 2^-127 and less
	}
	code = f.minmax(code, con(kI32, format.Max()), false, false)
	code = f.sel(f.icmp(ugt, mag, i32(0x7F800000)), con(kI32, format.NaN()), code)
	return f.trunc(code, kI8)
}

// convertPacked converts pairs of a narrow format without the way through f32, where the hardware has it; nil otherwise.
func (f *fn) convertPacked(x *tile, from, to *float.Format, elem ir.Type, rounding string) *tile {
	switch {
	case to == float.F16 && from == float.F4E2M1FN && f.has(fourBitsToF16) && x.len() > 1:
		out := f.newTile(elem, x.len())
		for i := range out.words {
			b, at := f.byteOfHalves(f.reg(x, 2*i))
			if other, next := f.byteOfHalves(f.reg(x, 2*i+1)); other != b || at != 0 || next != 1 {
				return nil
			}
			out.words[i] = f.op1(fourBitsToF16, f.zext(b, kI16))
		}
		return out
	case to == float.F16 && pairName[from] != "" && x.packs() && f.has(narrowToF16(from)):
		out := f.newTile(elem, x.len())
		for i := range out.words {
			half := f.op("mov.unpack.b32", f.word(x, i/2))[i%2]
			out.words[i] = f.op1(narrowToF16(from), half)
		}
		return out
	case to == float.F16 && pairName[from] != "" && x.packs():
		out := f.newTile(elem, x.len())
		for i := range out.words {
			out.words[i] = f.pairToF16(f.pairOf(x, i), from)
		}
		return out
	case from == float.F16 && rounding == ".rn" && pairName[to] != "" && x.len() >= 4 && f.has("cvt.rn.satfinite."+pairName[to]+".f16x2"):
		out := f.newTile(elem, x.len())
		row := "cvt.rn.satfinite." + pairName[to] + ".f16x2"
		half := func(i int) reg {
			w := f.word(x, i)
			if nanIsLargest(to) {
				largest := float.F16.Encode(to.Decode(to.Max()), float.NearestEven)
				w = f.op1("min.f16x2", w, con(kI32, largest<<16|largest))
			}
			return f.op1(row, w)
		}
		for i := range out.words {
			out.words[i] = f.pack([]reg{half(2 * i), half(2*i + 1)})
		}
		return out
	}
	return nil
}

// pairOf is bytes 2*i and 2*i+1 of a packed tile, each as the upper half of 16 bits (PTX ISA, prmt: bytes 4 to 7 are the second operand's).
func (f *fn) pairOf(t *tile, i int) reg {
	return f.op1("prmt.b32", f.word(t, i/2), i32(0), i32([2]int64{0x1404, 0x3424}[i%2]))
}

// pairToF16 is two f16 from two bytes of e4m3 or e5m2, each in the upper half of its 16 bits.
//
//	e5m2   is the upper half of an f16
//	e4m3   one bit lower, its bits are an f16 that is 2^8 times too small, subnormals too. Its NaN comes out as 480, the only one that is
//	       infinite when it is multiplied by 35840 instead of 256, and 0 times infinity is NaN
func (f *fn) pairToF16(w reg, format *float.Format) reg {
	if format == float.F8E5M2 {
		return w
	}
	v := f.or(f.and(f.lshr(w, 1), halves(0x3F80)), f.and(w, halves(0x8000)))
	value := f.op1("mul.rn.f16x2", v, halves(0x5C00)) // 256
	large := f.op1("mul.rn.f16x2", v, halves(0x7860)) // 35840
	return f.op1("fma.rn.f16x2", large, i32(0), value)
}
