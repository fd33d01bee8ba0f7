package ptxop

import (
	"slices"
	"strconv"
	"strings"
	"sync"

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
	Scaled
}

// Scaled says that an instruction multiplies every block along K of a row of A and of a column of B by a scale (PTX ISA, "Block Scaling for
// mma.sync"); the zero Scaled is that of instructions without scales.
type Scaled struct {
	Kind   string
	Scale  string // type of the scales
	Blocks int    // along K
}

// Element types that the same instructions take.
var (
	f16, bf16, tf32, f64 = []string{"f16"}, []string{"bf16"}, []string{"tf32"}, []string{"f64"}
	s8, u8               = []string{"s8"}, []string{"u8"}

	bytes  = []string{"s8", "u8"}
	float8 = []string{"e4m3", "e5m2"}
	float4 = []string{"e2m1"}
)

// What products of 8-bit floats need, and those with scales; small ones of the first, sums in f16 and powers of two for blocks of 16 came later.
var (
	float8Need      = target.Need{SM: 89, PTX: target.V(8, 4)}
	float8Later     = target.Need{SM: 89, PTX: target.V(8, 7)}
	none            = Scaled{}
	blockScaled     = target.Need{Arch: target.BlockScale, PTX: target.V(8, 7)}
	blockScaledFine = target.Need{Arch: target.BlockScale, PTX: target.V(9, 1)}
)

// Products is the table; where costs are equal, an earlier row is preferred. Rates of products with scales are those that microbenchmarks find on
// an RTX 5090: two and four times that of f16. Sums of float8 in f32 without scales have only that of f16 there, so the row with scales stands first.
var Products = []Product{
	{16, 8, 16, "f32", f16, f16, 256, 0, sm80, none},
	{16, 8, 8, "f32", f16, f16, 256, 0, sm75, none},
	{16, 8, 16, "f16", f16, f16, 256, 0, sm80, none},
	{16, 8, 8, "f16", f16, f16, 256, 0, sm75, none},
	{16, 8, 16, "f32", bf16, bf16, 256, 0, sm80, none},
	{16, 8, 8, "f32", bf16, bf16, 256, 0, sm80, none},
	{16, 8, 8, "f32", tf32, tf32, 128, 0, sm80, none},
	{16, 8, 4, "f32", tf32, tf32, 128, 0, sm80, none},
	{16, 8, 32, "s32", bytes, bytes, 512, 0, sm80, none},
	{16, 8, 16, "s32", bytes, bytes, 512, 0, sm80, none},
	{8, 8, 16, "s32", bytes, bytes, 512, 0, sm75, none},
	{16, 8, 32, "f32", float8, float8, 512, 0, blockScaled, Scaled{"mxf8f6f4", "ue8m0", 1}},
	{16, 8, 32, "f32", float8, float8, 512, target.Float8, float8Need, none},
	{16, 8, 16, "f32", float8, float8, 512, target.Float8, float8Later, none},
	{16, 8, 32, "f16", float8, float8, 512, target.Float8, float8Later, none},
	{16, 8, 16, "f16", float8, float8, 512, target.Float8, float8Later, none},
	{16, 8, 16, "f64", f64, f64, 16, 0, sm90, none},
	{16, 8, 8, "f64", f64, f64, 16, 0, sm90, none},
	{16, 8, 4, "f64", f64, f64, 16, 0, sm90, none},
	{8, 8, 4, "f64", f64, f64, 16, 0, sm80, none},
	{16, 8, 64, "f32", float4, float4, 1024, 0, blockScaled, Scaled{"mxf4", "ue8m0", 2}},
	{16, 8, 64, "f32", float4, float4, 1024, 0, blockScaled, Scaled{"mxf4nvf4", "ue4m3", 4}},
	{16, 8, 64, "f32", float4, float4, 1024, 0, blockScaledFine, Scaled{"mxf4nvf4", "ue8m0", 4}},
}

// elemBits are the sizes of elements of matrices.
var elemBits = map[string]int{"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "s32": 32, "e4m3": 8, "e5m2": 8, "e2m1": 4}

// Name is the name of the row for elements of A and B: mma.SHAPE.row.col.D.A.B.C, with kind, blocks and type of the scales where it has some.
func (p *Product) Name(a, b string) string {
	scaled, scale := "", ""
	if p.Blocks > 0 {
		scaled, scale = ".kind::"+p.Kind+".block_scale.scale_vec::"+strconv.Itoa(p.Blocks)+"X", "."+p.Scale
	}
	return "mma.m" + strconv.Itoa(p.M) + "n" + strconv.Itoa(p.N) + "k" + strconv.Itoa(p.K) + ".row.col" + scaled + "." + p.D + "." + a + "." + b + "." + p.D + scale
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

// scaleArguments are a register with scales and what selects among those of the warp, byte and thread, of A and then of B.
const scaleArguments = " {r} {n,n} {r} {n,n}"

func init() {
	usual := slices.IndexFunc(Products, func(p Product) bool { return elemBits[p.A[0]] < 16 }) // of 16-bit floats and tf32
	define("mma", products(Products[:usual]), products(Products[usual:]))
}

// products describes the instructions of rows. Arguments are the registers of A, B and C in this order, and scaleArguments; results are those of D.
func products(rows []Product) func(*builder) {
	return func(b *builder) {
		for i := range rows {
			p := &rows[i]
			c, scales := registers(p.M*p.N, p.D), ""
			if p.Blocks > 0 {
				scales = scaleArguments
			}
			for _, ta := range p.A {
				x := registers(p.M*p.K, ta)
				for _, tb := range p.B {
					mnemonic := "mma.sync.aligned." + strings.TrimPrefix(p.Name(ta, tb), "mma.")
					b.op(mnemonic, "{="+c+"} {"+x+"} {"+registers(p.K*p.N, tb)+"} {"+c+"}"+scales, Convergent, p.Need)
				}
			}
		}
	}
}

// miscompiled reports whether ptxas may miscompile the product if it finds a factor to be constant. It takes the register of the factor for one float of 32
// or 64 bits, and where that is negative it loads -x and negates the operand. Loading -x flips only the sign bit of the register, which is that of the upper
// half, or of the uppermost byte; the matrix unit negates all floats in the register, so all but the uppermost are wrong:
//
//	mov.b32 b, 0xbc00bc00;  mma.m16n8k8.f16 d, a, {b}, c   ->   MOV R0, 0x3c00bc00;  HMMA.1688.F16 R6, R4, -R0, R6
//
// So do ptxas 11.8 to 13.5 and the compiler in the driver 580 (an H200 has shown the values), wherever B is one register of 16-bit floats, and with
// 8-bit floats on sm_89 and its kin. TestFactorsThatPtxasKnows asks ptxas about every row.
func (p *Product) miscompiled() bool {
	switch elemBits[p.B[0]] {
	case 16:
		return p.K == 8
	case 8:
		return p.D == "f32" && p.B[0] != "s8" && p.Blocks == 0
	}
	return false
}

// miscompiledNames are the names of the rows of such products.
var miscompiledNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for i := range Products {
		if p := &Products[i]; p.miscompiled() {
			for _, a := range p.A {
				for _, b := range p.B {
					names[p.Name(a, b)] = true
				}
			}
		}
	}
	return names
})

// HiddenFactors is how many of the first arguments, the registers of A and B of a matrix product, must not be constants that ptxas can find: it miscompiles them.
func (r *Row) HiddenFactors() int {
	if r.Effects&Convergent == 0 || !strings.HasPrefix(r.Name, "mma.") || !miscompiledNames()[r.Name] {
		return 0
	}
	n, _ := r.Accumulators()
	return n
}

// Accumulators is the range of the arguments of a matrix product that are its accumulators.
func (r *Row) Accumulators() (from, to int) {
	args := r.Args()
	for to = len(args); args[to-1].Type != r.Operands[0].Type; to-- {
	}
	return to - r.Results, to
}
