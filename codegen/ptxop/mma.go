package ptxop

import (
	"fmt"

	"tileiras/codegen/target"
)

// Warp-level matrix products: PTX ISA, "mma". Arguments are the registers of A,
// B and C in this order; results are those of D. Names are
// mma.SHAPE.row.col.D.A.B.C.

func init() {
	define("mma", func(b *builder) {
		// One row per shape and element type: registers of A, B and C/D.
		mma := func(shape, d, a, bt string, ra, rb, rc int, need target.Need) {
			c := map[string]byte{"f32": 'f', "f64": 'd', "f16": 'r', "s32": 'r'}[d]
			in := byte('r')
			if a == "f64" {
				in = 'd'
			}
			m := fmt.Sprintf("mma.sync.aligned.%s.row.col.%s.%s.%s.%s", shape, d, a, bt, d)
			b.op(m, fmt.Sprintf("{=%c*%d} {%c*%d} {%c*%d} {%c*%d}", c, rc, in, ra, in, rb, c, rc), Convergent, need)
		}
		mma("m16n8k8", "f32", "f16", "f16", 2, 1, 4, sm75)
		mma("m16n8k8", "f16", "f16", "f16", 2, 1, 2, sm75)
		mma("m16n8k16", "f32", "f16", "f16", 4, 2, 4, sm80)
		mma("m16n8k16", "f16", "f16", "f16", 4, 2, 2, sm80)
		mma("m16n8k8", "f32", "bf16", "bf16", 2, 1, 4, sm80)
		mma("m16n8k16", "f32", "bf16", "bf16", 4, 2, 4, sm80)
		mma("m16n8k4", "f32", "tf32", "tf32", 2, 1, 4, sm80)
		mma("m16n8k8", "f32", "tf32", "tf32", 4, 2, 4, sm80)
		for _, a := range []string{"s8", "u8"} {
			for _, bt := range []string{"s8", "u8"} {
				mma("m8n8k16", "s32", a, bt, 1, 1, 2, sm75)
				mma("m16n8k16", "s32", a, bt, 2, 1, 4, sm80)
				mma("m16n8k32", "s32", a, bt, 4, 2, 4, sm80)
			}
		}
		mma("m8n8k4", "f64", "f64", "f64", 1, 1, 2, sm80)
		mma("m16n8k4", "f64", "f64", "f64", 2, 1, 4, sm90)
		mma("m16n8k8", "f64", "f64", "f64", 4, 2, 4, sm90)
		mma("m16n8k16", "f64", "f64", "f64", 8, 4, 4, sm90)
		for _, a := range []string{"e4m3", "e5m2"} {
			for _, bt := range []string{"e4m3", "e5m2"} {
				mma("m16n8k32", "f32", a, bt, 4, 2, 4, sm(89, 8, 4))
				mma("m16n8k32", "f16", a, bt, 4, 2, 2, sm(89, 8, 7))
				mma("m16n8k16", "f32", a, bt, 2, 1, 4, sm(89, 8, 7))
				mma("m16n8k16", "f16", a, bt, 2, 1, 2, sm(89, 8, 7))
			}
		}
		blockScaled(b)
	})
}

// blockScaled adds the narrow products of the sm_120 family. The scales of A and
// B come as one 32-bit register each, read from byte 0 of the threads that
// selector 0 names (PTX ISA, "mma with block scaling").
func blockScaled(b *builder) {
	need := target.Need{Arch: target.BlockScale, PTX: target.V(8, 7)}
	const plain, scaled = "{=f*4} {r*4} {r*2} {f*4}", "{=f*4} {r*4} {r*2} {f*4} {r} '{0,0} {r} '{0,0}"
	narrow := []string{"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}
	for i, a := range narrow {
		for j, bt := range narrow {
			unscaled := need
			if i < 2 && j < 2 { // 8-bit types
				unscaled.Arch |= target.Tcgen05
				unscaled.PTX = target.V(8, 6)
			}
			b.op(fmt.Sprintf("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.%s.%s.f32", a, bt), plain, Convergent, unscaled)
			b.op(fmt.Sprintf("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.%s.%s.f32.ue8m0", a, bt), scaled, Convergent, need)
		}
	}
	b.op("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", scaled, Convergent, need)
	b.op("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", scaled, Convergent, need)
}
