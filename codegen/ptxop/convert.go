package ptxop

import (
	"strings"

	"tileiras/codegen/target"
)

// Conversions: PTX ISA, "cvt". Of a packed result the first source becomes the
// upper half.

// byteScratch opens the text of instructions that write an 8-bit register, which
// LLVM's inline assembly cannot name: a scratch register, widened after it.
const byteScratch = "{ .reg .b8 b; "

func init() {
	rest := []func(*builder){integerWidths, scalarFloats}
	for _, r := range roundings {
		rest = append(rest, func(b *builder) { fromIntegers(b, r) })
	}
	for _, r := range []string{".rni", ".rzi", ".rmi", ".rpi"} {
		rest = append(rest, func(b *builder) { toIntegers(b, r) })
	}
	define("cvt", packed, rest...)
}

func scalarFloats(b *builder) {
	for _, r := range roundings {
		for _, ftz := range flushes {
			b.op("cvt"+r+ftz+".f32.f64", "=f d", 0, anySM)
			b.op("cvt"+r+ftz+".f16.f32", "=h f", 0, anySM)
		}
		b.op("cvt"+r+".f16.f64", "=h d", 0, anySM)
	}
	for _, r := range []string{".rn", ".rz"} {
		b.op("cvt"+r+".bf16.f32", "=h f", 0, sm80)
	}
	for _, ftz := range flushes {
		b.op("cvt"+ftz+".f32.f16", "=f H", 0, anySM)
		b.op("cvt"+ftz+".f64.f32", "=d f", 0, anySM)
	}
	b.op("cvt.f64.f16", "=d H", 0, anySM)
	b.op("cvt.f32.bf16", "=f H", 0, sm(80, 7, 1))

	b.op("cvt.rna.tf32.f32", "=r f", 0, sm80)
	b.op("cvt.rn.tf32.f32", "=r f", 0, sm90)
	b.op("cvt.rz.tf32.f32", "=r f", 0, sm90)
}

// fromIntegers: integer to float.
func fromIntegers(b *builder, rounding string) {
	for _, i := range signedness {
		for _, f := range []string{"f16", "f32", "f64"} {
			b.op("cvt"+rounding+"."+f+"."+i, "="+letterOf(f)+" "+letterOf(i), 0, anySM)
		}
	}
}

// toIntegers: float to integral float, float to integer.
func toIntegers(b *builder, rounding string) {
	for _, ftz := range flushes {
		b.op("cvt"+rounding+ftz+".f32.f32", "=f f", 0, anySM)
	}
	b.op("cvt"+rounding+".f64.f64", "=d d", 0, anySM)
	b.op("cvt"+rounding+".f16.f16", "=h H", 0, anySM)
	for _, i := range signedness {
		b.op("cvt"+rounding+"."+i+".f16", "="+letterOf(i)+" H", 0, anySM)
		for _, ftz := range flushes {
			b.op("cvt"+rounding+ftz+"."+i+".f32", "="+letterOf(i)+" f", 0, anySM)
		}
		b.op("cvt"+rounding+"."+i+".f64", "="+letterOf(i)+" d", 0, anySM)
	}
}

// integerWidths: extensions and truncations between register sizes, and from 8
// bits inside a 16-bit register.
func integerWidths(b *builder) {
	for _, t := range []string{"s16.s8", "u16.u8", "s32.s8", "u32.u8", "s64.s8", "u64.u8", "s32.s16", "u32.u16", "s64.s16", "u64.u16", "s64.s32", "u64.u32", "u16.u32", "u16.u64", "u32.u64"} {
		to, from, _ := strings.Cut(t, ".")
		b.op("cvt."+t, "="+letterOf(to)+" "+letterOf(from), 0, anySM)
	}
}

func packed(b *builder) {
	for _, t := range []string{"f16x2", "bf16x2"} {
		for _, r := range []string{".rn", ".rz"} {
			for _, relu := range []string{"", ".relu"} {
				b.op("cvt"+r+relu+"."+t+".f32", "=r f f", 0, sm80)
			}
		}
	}
	for _, t := range []string{"e4m3x2", "e5m2x2"} {
		b.op("cvt.rn.satfinite."+t+".f32", "=h f f", 0, sm89)
		b.op("cvt.rn.satfinite."+t+".f16x2", "=h R", 0, sm89)
		b.op("cvt.rn.f16x2."+t, "=r H", 0, sm89)
	}
	need := target.Need{Arch: target.FP4, PTX: target.V(8, 6)}
	for _, r := range []string{".rz", ".rp"} {
		b.op("cvt"+r+".satfinite.ue8m0x2.f32", "=h f f", 0, need)
		b.op("cvt"+r+".satfinite.ue8m0x2.bf16x2", "=h R", 0, need)
	}
	b.op("cvt.rn.bf16x2.ue8m0x2", "=r H", 0, need)

	scratch := func(name, text, signature string) {
		b.text(name, byteScratch+text+" }", signature, 0, need)
	}
	scratch("cvt.rn.satfinite.e2m1x2.f32", "cvt.rn.satfinite.e2m1x2.f32 b, $1, $2; cvt.u16.u8 $0, b;", "=h f f")
	scratch("cvt.rn.f16x2.e2m1x2", "cvt.u8.u16 b, $1; cvt.rn.f16x2.e2m1x2 $0, b;", "=r h")
}
