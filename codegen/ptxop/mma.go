package ptxop

import (
	"strconv"
	"strings"

	"tileiras/codegen/target"
)

// Product is a row of the table of warp-level matrix products D = A*B + C, A MxK, B KxN, C and D MxN (PTX ISA, "mma"). The instruction, its
// name, its registers and the atom that tiles are made of (codegen/atom) follow from it.
type Product struct {
	M, N, K int
	D       string   // type of the elements of C and D
	A, B    []string // of A and of B: every pair is an instruction
	// Rate is the products per cycle of a quarter of a multiprocessor, sm_80 class (CUDA programming guide, "Arithmetic Instructions"; A100
	// white paper).
	Rate int
	Unit target.Family // of GPUs whose matrix unit takes these types; others with the instruction widen its operands to 16 bits first. 0 = all
	Need target.Need
}

var (
	bytes  = []string{"s8", "u8"}
	float8 = []string{"e4m3", "e5m2"}
)

func types(names ...string) []string { return names }

// Products is the table; where costs are equal, an earlier row is preferred.
var Products = []Product{
	{16, 8, 16, "f32", types("f16"), types("f16"), 256, 0, sm80},
	{16, 8, 8, "f32", types("f16"), types("f16"), 256, 0, sm75},
	{16, 8, 16, "f16", types("f16"), types("f16"), 256, 0, sm80},
	{16, 8, 8, "f16", types("f16"), types("f16"), 256, 0, sm75},
	{16, 8, 16, "f32", types("bf16"), types("bf16"), 256, 0, sm80},
	{16, 8, 8, "f32", types("bf16"), types("bf16"), 256, 0, sm80},
	{16, 8, 8, "f32", types("tf32"), types("tf32"), 128, 0, sm80},
	{16, 8, 4, "f32", types("tf32"), types("tf32"), 128, 0, sm80},
	{16, 8, 32, "s32", bytes, bytes, 512, 0, sm80},
	{16, 8, 16, "s32", bytes, bytes, 512, 0, sm80},
	{8, 8, 16, "s32", bytes, bytes, 512, 0, sm75},
	{16, 8, 32, "f32", float8, float8, 512, target.Float8, sm(89, 8, 4)},
	{16, 8, 16, "f32", float8, float8, 512, target.Float8, sm(89, 8, 7)},
	{16, 8, 32, "f16", float8, float8, 512, target.Float8, sm(89, 8, 7)},
	{16, 8, 16, "f16", float8, float8, 512, target.Float8, sm(89, 8, 7)},
	{16, 8, 16, "f64", types("f64"), types("f64"), 16, 0, sm90},
	{16, 8, 8, "f64", types("f64"), types("f64"), 16, 0, sm90},
	{16, 8, 4, "f64", types("f64"), types("f64"), 16, 0, sm90},
	{8, 8, 4, "f64", types("f64"), types("f64"), 16, 0, sm80},
}

// elemBits are the sizes of elements of matrices.
var elemBits = map[string]int{"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "s32": 32, "e4m3": 8, "e5m2": 8}

// Name is the name of the row for elements of A and B: mma.SHAPE.row.col.D.A.B.C.
func (p *Product) Name(a, b string) string {
	return "mma.m" + strconv.Itoa(p.M) + "n" + strconv.Itoa(p.N) + "k" + strconv.Itoa(p.K) + ".row.col." + p.D + "." + a + "." + b + "." + p.D
}

// registers is the operand of a fragment of so many elements: the registers of a lane, 64-bit ones for f64, else 32-bit.
func registers(elements int, t string) string {
	bits, letter := elemBits[t], byte('r')
	switch t {
	case "f32":
		letter = 'f'
	case "f64":
		letter = 'd'
	}
	return string(letter) + "*" + strconv.Itoa(elements*bits/(32*max(32, bits)))
}

// Arguments are the registers of A, B and C in this order; results are those of D.
func init() {
	define("mma", func(b *builder) {
		for i := range Products {
			p := &Products[i]
			c := registers(p.M*p.N, p.D)
			for _, ta := range p.A {
				for _, tb := range p.B {
					mnemonic := "mma.sync.aligned." + strings.TrimPrefix(p.Name(ta, tb), "mma.")
					b.op(mnemonic, "{="+c+"} {"+registers(p.M*p.K, ta)+"} {"+registers(p.K*p.N, tb)+"} {"+c+"}", Convergent, p.Need)
				}
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
			b.op("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32."+a+"."+bt+".f32", plain, Convergent, unscaled)
			b.op("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32."+a+"."+bt+".f32.ue8m0", scaled, Convergent, need)
		}
	}
	b.op("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", scaled, Convergent, need)
	b.op("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", scaled, Convergent, need)
}
