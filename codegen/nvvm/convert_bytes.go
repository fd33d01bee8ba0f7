package nvvm

import (
	"tileiras/ir"
	"tileiras/ir/float"
)

// This file makes floats of packed bytes, exactly, without instructions that convert, which take four to eight times as long as others: a byte is put below
// the exponent of a power of two, whose last bits it fills, and the power is subtracted (Kim, Henry, Fahim and Hassan Awadalla, "Who Says Elephants Can't Run:
// Bringing Large Scale MoE Models into Cloud Scale Production", 2022).

// bytesToFloat makes a tile of f32, f16 or bf16 of one of i8; nil where the target does not compute with such pairs, or f32 would first have to be packed. A constant
// that is added to bytes whose first bit is 0 is added to the power instead.
func (f *fn) bytesToFloat(v *ir.Value, elem ir.Type, sign bool) *tile {
	base, by, clear := shiftedBy(v, sign)
	x := f.tileFor(base)
	if x.len() != f.tileFor(v).len() {
		x, by, clear = f.tileFor(v), 0, false
	}
	to := elem.(*ir.FloatType).Format
	if x.k != kI8 || widthOf(x.elem) != 8 || !x.packs() || to == float.F32 && !x.packed() || x.len()%4 != 0 {
		return nil
	}
	var convert func(w reg, sign bool, by int) []reg
	sign = sign && !clear
	switch {
	case to == float.F32:
		convert = f.bytesToF32
	case to == float.F16:
		convert = f.bytesToF16
	case to == float.BF16 && f.has("fma.rn.bf16x2") && clear:
		convert = f.sevenBitsToBF16
	case to == float.BF16 && f.has("fma.rn.bf16x2"):
		convert = f.bytesToBF16
	default:
		return nil
	}
	var regs []reg
	for i := range x.words {
		regs = append(regs, convert(f.word(x, i), sign, by)...)
	}
	if to == float.F32 {
		return f.tileOf(elem, regs...)
	}
	return f.packedTile(elem, regs)
}

// halves is two times 16 bits.
func halves(bits uint64) reg { return con(kI32, bits<<16|bits) }

// biased has the numbers of four signed bytes, 128 more.
func (f *fn) biased(w reg) reg { return f.xor(w, con(kI32, 0x80808080)) }

// bytesToF32: the last bit of 2^23 is 1.
func (f *fn) bytesToF32(w reg, sign bool, by int) (out []reg) {
	const power = 1 << 23
	base := float.F32.Encode(power, float.NearestEven)
	if sign {
		w, by = f.biased(w), by-128
	}
	less := float.F32.Encode(float64(by-power), float.NearestEven)
	for i := range int64(4) {
		// The byte and three bytes of the power (PTX ISA, prmt: bytes 4 to 7 are the second operand's).
		bits := f.op1("prmt.b32", w, con(kI32, base), i32(0x7540|i))
		out = append(out, f.fadd(f.cast(bits, kF32), con(kF32, less)))
	}
	return out
}

// pairsUnder are two pairs of bytes, each the lower half of 16 bits under the same upper one.
func (f *fn) pairsUnder(upper int64, w reg) [2]reg {
	return [2]reg{f.op1("prmt.b32", w, i32(upper), i32(0x4140)), f.op1("prmt.b32", w, i32(upper), i32(0x4342))}
}

// bytesToF16: the last bit of 1024 is 1.
func (f *fn) bytesToF16(w reg, sign bool, by int) (out []reg) {
	if sign {
		w, by = f.biased(w), by-128
	}
	less := halves(float.F16.Encode(float64(by-1024), float.NearestEven))
	for _, h := range f.pairsUnder(0x64, w) {
		out = append(out, f.op1("add.rn.f16x2", h, less))
	}
	return out
}

// bytesToBF16: the last bit of 128 is 1, so the first bit of the byte is the exponent's: alone it makes 128 or 256 of the power, and the others are added to 128.
func (f *fn) bytesToBF16(w reg, sign bool, _ int) (out []reg) {
	one, minusOne, minus256 := halves(0x3F80), halves(0xBF80), halves(0xC380)
	for _, h := range f.pairsUnder(0x43, w) {
		first, rest := f.and(h, halves(0xFF80)), f.and(h, halves(0xFF7F))
		if sign {
			out = append(out, f.op1("fma.rn.bf16x2", first, minusOne, rest))
			continue
		}
		above := f.op1("fma.rn.bf16x2", first, one, minus256) // 0 or -128
		out = append(out, f.op1("fma.rn.bf16x2", rest, one, above))
	}
	return out
}

// sevenBitsToBF16 is bytesToBF16 for bytes whose first bit is 0.
func (f *fn) sevenBitsToBF16(w reg, _ bool, by int) (out []reg) {
	one, less := halves(0x3F80), halves(float.BF16.Encode(float64(by-128), float.NearestEven))
	for _, h := range f.pairsUnder(0x43, w) {
		out = append(out, f.op1("fma.rn.bf16x2", h, one, less))
	}
	return out
}
