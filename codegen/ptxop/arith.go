package ptxop

import (
	"fmt"
	"strings"

	"tileiras/codegen/target"
)

// Arithmetic: PTX ISA, "Integer Arithmetic", "Floating Point", "Half Precision
// Floating Point" and "Mixed Precision" instructions. Every floating-point
// instruction names its rounding: ptxas fuses a plain mul and add.

var (
	roundings  = []string{".rn", ".rz", ".rm", ".rp"}
	flushes    = []string{"", ".ftz"}
	signedness = []string{"s16", "u16", "s32", "u32", "s64", "u64"}
)

func letterOf(typ string) string {
	switch typ {
	case "f32":
		return "f"
	case "f64":
		return "d"
	case "f16x2", "bf16x2", "s16x2", "u16x2":
		return "R"
	case "f16", "bf16":
		return "H"
	case "pred":
		return "b"
	}
	switch typ[1:] {
	case "8", "16":
		return "h"
	case "32":
		return "r"
	case "64":
		return "l"
	}
	panic("ptxop: no register for type " + typ)
}

// args returns the signature of an n-ary operation on one type, of three arguments at most.
func args(typ string, n int) string {
	const all = "=b b b b=h h h h=r r r r=l l l l=f f f f=d d d d=H H H H=R R R R"
	from := strings.Index(all, letterOf(typ)) - 1
	return all[from : from+2+2*n]
}

func init() {
	for _, name := range []string{"add", "sub"} {
		define(name, integers(name), rounded(name)...)
	}
	define("mul", func(b *builder) {
		for _, t := range signedness {
			b.op("mul.lo."+t, args(t, 2), 0, anySM)
			b.op("mul.hi."+t, args(t, 2), 0, anySM)
		}
		for _, t := range []string{"s16 =r h h", "u16 =r h h", "s32 =l r r", "u32 =l r r"} {
			b.op("mul.wide."+t[:3], t[4:], 0, anySM)
		}
	}, rounded("mul")...)
	define("mad", func(b *builder) {
		for _, t := range signedness {
			b.op("mad.lo."+t, args(t, 3), 0, anySM)
		}
		for _, t := range signedness[2:] {
			b.op("mad.hi."+t, args(t, 3), 0, anySM)
		}
		for _, t := range []string{"s16 =r h h r", "u16 =r h h r", "s32 =l r r l", "u32 =l r r l"} {
			b.op("mad.wide."+t[:3], t[4:], 0, anySM)
		}
	})
	// Four products of bytes and their sum: a and b are words of them, signed or not.
	define("dp4a", func(b *builder) {
		for _, x := range []string{"s32", "u32"} {
			for _, y := range []string{"s32", "u32"} {
				b.op("dp4a."+x+"."+y, "=r r r r", 0, anySM)
			}
		}
	})
	define("fma", func(b *builder) { floats(b, "fma", 3) }, func(b *builder) { pairs(b, "fma", 3) }, func(b *builder) {
		b.op("fma.rn.sat.f32", args("f32", 3), 0, anySM)
		halves(b, "fma.rn", 3, anySM, sm80, flushes)
		halves(b, "fma.rn", 3, sm80, sm80, []string{".relu"})
	})
	define("div", integers("div"), func(b *builder) {
		floats(b, "div", 2)
		for _, how := range []string{"approx", "full"} {
			for _, ftz := range flushes {
				b.op("div."+how+ftz+".f32", args("f32", 2), 0, anySM)
			}
		}
	})
	define("rem", integers("rem"))
	for _, name := range []string{"sqrt", "rcp"} {
		define(name, func(b *builder) {
			floats(b, name, 1)
			for _, ftz := range flushes {
				b.op(name+".approx"+ftz+".f32", args("f32", 1), 0, anySM)
			}
			if name == "rcp" {
				b.op("rcp.approx.ftz.f64", args("f64", 1), 0, anySM)
			}
		})
	}
	define("rsqrt", func(b *builder) {
		for _, t := range []string{".approx.f32", ".approx.ftz.f32", ".approx.f64", ".approx.ftz.f64"} {
			b.op("rsqrt"+t, args(t[len(t)-3:], 1), 0, anySM)
		}
	})
	for _, name := range []string{"sin", "cos", "lg2"} {
		define(name, func(b *builder) {
			for _, ftz := range flushes {
				b.op(name+".approx"+ftz+".f32", args("f32", 1), 0, anySM)
			}
		})
	}
	define("ex2", func(b *builder) {
		for _, ftz := range flushes {
			b.op("ex2.approx"+ftz+".f32", args("f32", 1), 0, anySM)
		}
		approxHalves(b, "ex2.approx", ".ftz")
	})
	define("tanh", func(b *builder) {
		b.op("tanh.approx.f32", args("f32", 1), 0, sm(75, 7, 0))
		approxHalves(b, "tanh.approx", "")
	})
	for _, name := range []string{"min", "max"} {
		define(name, integers(name), func(b *builder) {
			for _, ftz := range flushes {
				b.op(name+ftz+".f32", args("f32", 2), 0, anySM)
				b.op(name+ftz+".NaN.f32", args("f32", 2), 0, sm80)
			}
			b.op(name+".f64", args("f64", 2), 0, anySM)
			for _, nan := range []string{"", ".NaN"} {
				for _, t := range []string{"f16", "f16x2"} {
					for _, ftz := range flushes {
						b.op(name+ftz+nan+"."+t, args(t, 2), 0, sm80)
					}
				}
				for _, t := range []string{"bf16", "bf16x2"} {
					b.op(name+nan+"."+t, args(t, 2), 0, sm80)
				}
			}
			for _, t := range []string{"s16x2", "u16x2"} {
				b.op(name+"."+t, args(t, 2), 0, sm(90, 8, 0))
			}
		})
	}
	for _, name := range []string{"neg", "abs"} {
		define(name, func(b *builder) {
			for _, ftz := range flushes {
				b.op(name+ftz+".f32", args("f32", 1), 0, anySM)
			}
			b.op(name+".f64", args("f64", 1), 0, anySM)
			for _, t := range []string{"f16", "f16x2"} {
				need := anySM
				if name == "abs" {
					need = ptx(6, 5)
				}
				b.op(name+"."+t, args(t, 1), 0, need)
			}
			for _, t := range []string{"bf16", "bf16x2"} {
				b.op(name+"."+t, args(t, 1), 0, sm80)
			}
			for _, t := range []string{"s16", "s32", "s64"} {
				b.op(name+"."+t, args(t, 1), 0, anySM)
			}
		})
	}
	define("copysign", func(b *builder) {
		for _, t := range []string{"f32", "f64"} {
			b.op("copysign."+t, args(t, 2), 0, anySM)
		}
	})
	define("testp", func(b *builder) {
		for _, class := range []string{"finite", "infinite", "number", "notanumber", "normal", "subnormal"} {
			for _, t := range []string{"f32", "f64"} {
				b.op("testp."+class+"."+t, "=b "+letterOf(t), 0, anySM)
			}
		}
	})
}

// integers describes an operation on two integers of one type.
func integers(name string) func(*builder) {
	return func(b *builder) {
		for _, t := range signedness {
			b.op(name+"."+t, args(t, 2), 0, anySM)
		}
	}
}

// rounded describes add, sub or mul of floats with a rounding, of pairs of them and of halves.
func rounded(name string) []func(*builder) {
	return []func(*builder){
		func(b *builder) { floats(b, name, 2) },
		func(b *builder) { pairs(b, name, 2) },
		func(b *builder) { halves(b, name+".rn", 2, anySM, sm90, flushes) },
	}
}

// floats adds NAME.rounding[.ftz].f32 and NAME.rounding.f64 of arity n.
func floats(b *builder, name string, n int) {
	for _, r := range roundings {
		for _, ftz := range flushes {
			b.op(name+r+ftz+".f32", args("f32", n), 0, anySM)
		}
		b.op(name+r+".f64", args("f64", n), 0, anySM)
	}
}

// pairs adds NAME.rounding[.ftz].f32x2, whose 64-bit registers hold two f32; there are no constants of them.
func pairs(b *builder, name string, n int) {
	for _, r := range roundings {
		for _, ftz := range flushes {
			b.op(name+r+ftz+".f32x2", strings.ReplaceAll(args("b64", n), " l", " L"), 0, sm(100, 8, 6))
		}
	}
}

// halves adds the f16, f16x2 forms with each of the given modifiers and the
// bf16, bf16x2 forms, which do not flush subnormals.
func halves(b *builder, name string, n int, f16, bf16 target.Need, modifiers []string) {
	for _, mod := range modifiers {
		for _, t := range []string{"f16", "f16x2"} {
			b.op(fmt.Sprintf("%s%s.%s", name, mod, t), args(t, n), 0, f16)
		}
		if mod == ".ftz" {
			continue
		}
		for _, t := range []string{"bf16", "bf16x2"} {
			b.op(fmt.Sprintf("%s%s.%s", name, mod, t), args(t, n), 0, bf16)
		}
	}
}

func approxHalves(b *builder, name, bf16Mod string) {
	for _, t := range []string{"f16", "f16x2"} {
		b.op(name+"."+t, args(t, 1), 0, sm(75, 7, 0))
	}
	for _, t := range []string{"bf16", "bf16x2"} {
		b.op(name+bf16Mod+"."+t, args(t, 1), 0, sm90)
	}
}
