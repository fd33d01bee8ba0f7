package ptxop

import (
	"tileiras/codegen/target"
)

// Moves, bits, comparisons, special registers: PTX ISA, "Logic and Shift",
// "Comparison and Select", "Data Movement", "Special Registers".

// A special register: its name, type and need. `changing` ones may differ from
// one read to the next.
var (
	dims     = []string{"x", "y", "z"}
	vectors3 = []string{"tid", "ntid", "ctaid", "nctaid"}
	cluster3 = []string{"clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"}
)

func init() {
	define("mov", func(b *builder) {
		for _, t := range []string{"pred b", "b16 h", "b32 r", "b64 l", "f32 f", "f64 d"} {
			m, l := t[:len(t)-2], t[len(t)-1:]
			b.op("mov."+m, "="+l+" "+l, 0, anySM)
		}
		// Addresses of variables, which have no bit-size form.
		b.op("mov.u32", "=r r", 0, anySM)
		b.op("mov.u64", "=l l", 0, anySM)
		// Same bits under another LLVM type.
		for _, c := range []struct{ to, mnemonic, signature string }{
			{"f32", "mov.b32", "=f r"}, {"b32", "mov.b32", "=r f"}, {"f64", "mov.b64", "=d l"}, {"b64", "mov.b64", "=l d"},
		} {
			b.named("mov.bitcast."+c.to, c.mnemonic, c.signature, 0, anySM)
		}
		// Pack: the first argument becomes the lowest part. Unpack: the other way.
		for _, p := range []struct{ name, mnemonic, vector, whole string }{
			{"b32", "mov.b32", "h*2", "r"},
			{"b64", "mov.b64", "r*2", "l"},
			{"b64.b16", "mov.b64", "h*4", "l"},
			{"f64", "mov.b64", "r*2", "d"},
			{"f32x2", "mov.b64", "f*2", "l"},
		} {
			b.named("mov.pack."+p.name, p.mnemonic, "="+p.whole+" {"+p.vector+"}", 0, anySM)
			b.named("mov.unpack."+p.name, p.mnemonic, "{="+p.vector+"} "+p.whole, 0, anySM)
		}
	}, usualRegisters, specialRegisters)
	define("and", bitwise("and"))
	define("or", bitwise("or"))
	define("xor", bitwise("xor"))
	define("not", func(b *builder) {
		for _, t := range []string{"pred", "b16", "b32", "b64"} {
			b.op("not."+t, args(t, 1), 0, anySM)
		}
	})
	// Shifts take the distance as a 32-bit register and clamp it.
	define("shl", func(b *builder) {
		for _, t := range []string{"b16", "b32", "b64"} {
			b.op("shl."+t, args(t, 1)+" r", 0, anySM)
		}
	})
	define("shr", func(b *builder) {
		for _, t := range signedness {
			b.op("shr."+t, args(t, 1)+" r", 0, anySM)
		}
	})
	define("shf", func(b *builder) {
		for _, m := range []string{"l.wrap", "l.clamp", "r.wrap", "r.clamp"} {
			b.op("shf."+m+".b32", "=r r r r", 0, anySM)
		}
	})
	define("lop3", func(b *builder) { b.op("lop3.b32", "=r r r r n", 0, anySM) })
	define("prmt", func(b *builder) { b.op("prmt.b32", "=r r r r", 0, anySM) })
	for _, name := range []string{"popc", "clz"} {
		define(name, func(b *builder) {
			b.op(name+".b32", "=r r", 0, anySM)
			b.op(name+".b64", "=r l", 0, anySM)
		})
	}
	define("brev", func(b *builder) {
		b.op("brev.b32", "=r r", 0, anySM)
		b.op("brev.b64", "=l l", 0, anySM)
	})
	define("bfind", func(b *builder) {
		for _, t := range []string{"u32 =r r", "s32 =r r", "u64 =r l", "s64 =r l"} {
			b.op("bfind."+t[:3], t[4:], 0, anySM)
		}
	})
	define("bfe", func(b *builder) {
		for _, t := range []string{"u32", "s32"} {
			b.op("bfe."+t, "=r r r r", 0, anySM)
		}
	})
	define("bfi", func(b *builder) { b.op("bfi.b32", "=r r r r r", 0, anySM) })

	define("selp", func(b *builder) {
		for _, t := range []string{"b16", "b32", "b64", "f32", "f64"} {
			b.op("selp."+t, args(t, 2)+" b", 0, anySM)
		}
	})
	define("setp", func(b *builder) {
		for _, t := range []string{"s16", "s32", "s64", "u16", "u32", "u64"} {
			tests := []string{"lt", "le", "gt", "ge"}
			if t[0] == 's' {
				tests = append(tests, "eq", "ne")
			}
			signature := "=b " + letterOf(t) + " " + letterOf(t)
			for _, c := range tests {
				b.op("setp."+c+"."+t, signature, 0, anySM)
			}
		}
	}, func(b *builder) {
		for _, c := range []string{"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"} {
			for _, t := range []string{"f32", "f64", "ftz.f32", "f16"} {
				l := letterOf(t[max(0, len(t)-3):])
				b.op("setp."+c+"."+t, "=b "+l+" "+l, 0, anySM)
			}
		}
	})
	define("cvta", func(b *builder) {
		for _, s := range []string{"global", "shared", "local", "const"} {
			b.op("cvta."+s+".u64", "=l l", 0, anySM)
			b.op("cvta.to."+s+".u64", "=l l", 0, anySM)
		}
	})
}

func bitwise(name string) func(*builder) {
	return func(b *builder) {
		for _, t := range []string{"pred", "b16", "b32", "b64"} {
			b.op(name+"."+t, args(t, 2), 0, anySM)
		}
	}
}

// usualRegisters adds the special registers that most kernels read.
func usualRegisters(b *builder) {
	for _, v := range vectors3 {
		for _, d := range dims {
			specialRegister(b, "u32", v+"."+d, 0, anySM)
		}
	}
}

// specialRegister adds the row of a special register, named "mov.u32.%tid.x".
func specialRegister(b *builder, typ, register string, fx Effects, need target.Need) {
	b.named("mov."+typ+".%"+register, "mov."+typ, "="+letterOf(typ)+" '%"+register, fx, need)
}

// specialRegisters adds the others.
func specialRegisters(b *builder) {
	add := func(typ, register string, fx Effects, need target.Need) { specialRegister(b, typ, register, fx, need) }
	for _, v := range cluster3 {
		for _, d := range dims {
			add("u32", v+"."+d, 0, sm90)
		}
	}
	add("u32", "cluster_ctarank", 0, sm90)
	add("u32", "cluster_nctarank", 0, sm90)
	for _, r := range []string{"laneid", "nwarpid", "nsmid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "dynamic_smem_size", "total_smem_size"} {
		add("u32", r, 0, anySM)
	}
	for _, r := range []string{"warpid", "smid", "clock"} {
		add("u32", r, Clock, anySM)
	}
	add("u64", "clock64", Clock, anySM)
	add("u64", "globaltimer", Clock, anySM)
}
