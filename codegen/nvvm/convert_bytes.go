package nvvm

import (
	"tileiras/ir"
	"tileiras/ir/float"
)

// This file makes floats of packed bytes, exactly, without instructions that convert, which take four to eight times as long as others: a byte is put below
// the exponent of a power of two, whose last bits it fills, and the power is subtracted (Kim, Henry, Fahim and Hassan Awadalla, "Who Says Elephants Can't Run:
// Bringing Large Scale MoE Models into Cloud Scale Production", 2022).

// bytesToFloat makes a tile of f32, f16 or bf16 of one of i8; nil where its bytes are not packed, or the target does not compute with such pairs.
func (f *fn) bytesToFloat(x *tile, elem ir.Type, sign bool) *tile {
	if x.k != kI8 || widthOf(x.elem) != 8 || !x.packed() || x.len()%4 != 0 {
		return nil
	}
	to := elem.(*ir.FloatType).Format
	var convert func(w reg, sign bool) []reg
	switch {
	case to == float.F32:
		convert = f.bytesToF32
	case to == float.F16:
		convert = f.bytesToF16
	case to == float.BF16 && f.has("fma.rn.bf16x2"):
		convert = f.bytesToBF16
	default:
		return nil
	}
	var regs []reg
	for i := range x.words {
		regs = append(regs, convert(f.word(x, i), sign)...)
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
func (f *fn) bytesToF32(w reg, sign bool) (out []reg) {
	const power = 1 << 23
	base := float.F32.Encode(power, float.NearestEven)
	less := float.F32.Encode(-power, float.NearestEven)
	if sign {
		w, less = f.biased(w), float.F32.Encode(-power-128, float.NearestEven)
	}
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
func (f *fn) bytesToF16(w reg, sign bool) (out []reg) {
	less := halves(0xE400) // -1024
	if sign {
		w, less = f.biased(w), halves(0xE480) // -1152
	}
	for _, h := range f.pairsUnder(0x64, w) {
		out = append(out, f.op1("add.rn.f16x2", h, less))
	}
	return out
}

// bytesToBF16: the last bit of 128 is 1, so the first bit of the byte is the exponent's: alone it makes 128 or 256 of the power, and the others are added to 128.
func (f *fn) bytesToBF16(w reg, sign bool) (out []reg) {
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
