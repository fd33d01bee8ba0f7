package emu

// Type lists of the table. Every name ends in a space, so they can be put together.
const (
	ints     = "u16 s16 u32 s32 u64 s64 "
	wide     = "u32 s32 u64 s64 "
	packed16 = "u16x2 s16x2 "
	bitTypes = "b16 b32 b64 "
	floats   = "f16 f16x2 bf16 bf16x2 f32 f32x2 f64 "
	small    = "tf32 e4m3x2 e5m2x2 e2m1x2 e2m3x2 e3m2x2 ue8m0x2 "
	fours    = "e4m3x4 e5m2x4 e2m1x4 e2m3x4 e3m2x4 "
	anyType  = "*"
)

// family is one row of the instruction table: all opcodes that begin with op, how many operands they have,
// the types that may stand in the opcode, in all forms of the ISA, what registers must be, and who decodes those that are implemented.
type family struct {
	op       string
	min, max int
	types    string
	regs     string // the type of destinations, and orWider
	sm       int    // the first .target that has the opcode; 0: all that there are
	decode   func(d *decoder)
}

// Registers of a row. A source has the width and the class that its decoder asks for.
const (
	ofType  = "t" // destinations have the first type in the opcode
	ofWide  = "w" // with .wide of twice the width
	orWider = "+" // registers may be wider than their type: loads, stores and conversions (section 9.4.1)
)

// families is the instruction table. What is not here is not supported.
var families = []family{
	// integer and float arithmetic: alu_int.go, alu_float.go, alu_math.go
	{"add", 3, 3, ints + packed16 + floats, ofType, 0, addOp.decode},
	{"sub", 3, 3, ints + packed16 + floats, ofType, 0, subOp.decode},
	{"mul", 3, 3, ints + floats, ofWide, 0, decodeMul},
	{"div", 3, 3, ints + floats, ofType, 0, divOp.decode},
	{"rem", 3, 3, ints, ofType, 0, remOp.decode},
	{"min", 3, 4, ints + packed16 + floats, ofType, 0, minOp.decode},
	{"max", 3, 4, ints + packed16 + floats, ofType, 0, maxOp.decode},
	{"mad", 4, 4, ints + "f32 f64 ", ofWide, 0, decodeMad},
	{"fma", 4, 4, floats, ofType, 0, decodeFma},
	{"mul24", 3, 3, "u32 s32", ofType, 0, decodeMul24},
	{"mad24", 4, 4, "u32 s32", ofType, 0, decodeMul24},
	{"addc", 3, 3, wide, ofType, 0, decodeAddc},
	{"subc", 3, 3, wide, ofType, 0, decodeSubc},
	{"madc", 4, 4, wide, ofType, 0, decodeMadc},
	{"sad", 4, 4, ints, ofType, 0, decodeSad},
	{"dp4a", 4, 4, "u32 s32", "b32", 0, decodeDp4a},
	{"dp2a", 4, 4, "u32 s32", "b32", 0, decodeDp2a},
	{"abs", 2, 2, "s16 s32 s64 " + floats, ofType, 0, decodeAbs},
	{"neg", 2, 2, "s16 s32 s64 " + floats, ofType, 0, decodeNeg},
	{"rcp", 2, 2, "f32 f64", ofType, 0, rcpFn.decode},
	{"sqrt", 2, 2, "f32 f64", ofType, 0, sqrtFn.decode},
	{"rsqrt", 2, 2, "f32 f64", ofType, 0, rsqrtFn.decode},
	{"sin", 2, 2, "f32", ofType, 0, sinFn.decode},
	{"cos", 2, 2, "f32", ofType, 0, cosFn.decode},
	{"lg2", 2, 2, "f32", ofType, 0, lg2Fn.decode},
	{"ex2", 2, 2, "f32 f16 f16x2 bf16 bf16x2", ofType, 0, ex2Fn.decode},
	{"tanh", 2, 2, "f32 f16 f16x2 bf16 bf16x2", ofType, 75, tanhFn.decode},
	{"testp", 2, 2, "f32 f64", "", 0, decodeTestp},
	{"copysign", 3, 3, "f32 f64", ofType, 0, decodeCopysign},
	// bits: alu_bits.go
	{"and", 3, 3, bitTypes + "pred ", ofType, 0, pure(andOp.decode)},
	{"or", 3, 3, bitTypes + "pred ", ofType, 0, pure(orOp.decode)},
	{"xor", 3, 3, bitTypes + "pred ", ofType, 0, pure(xorOp.decode)},
	{"not", 2, 2, bitTypes + "pred ", ofType, 0, pure(decodeNot)},
	{"cnot", 2, 2, bitTypes, ofType, 0, decodeCnot},
	{"lop3", 5, 6, "b32", "b32", 0, decodeLop3},
	{"shl", 3, 3, bitTypes, ofType, 0, decodeShl},
	{"shr", 3, 3, bitTypes + ints, ofType, 0, decodeShr},
	{"shf", 4, 4, "b32", "b32", 0, decodeShf},
	{"popc", 2, 2, "b32 b64", "b32", 0, decodePopc},
	{"clz", 2, 2, "b32 b64", "b32", 0, decodeClz},
	{"brev", 2, 2, "b32 b64", ofType, 0, decodeBrev},
	{"bfind", 2, 2, wide, "b32", 0, decodeBfind},
	{"bfe", 4, 4, wide, ofType, 0, decodeBfe},
	{"bfi", 5, 5, "b32 b64", ofType, 0, decodeBfi},
	{"bmsk", 3, 3, "b32", "b32", 0, decodeBmsk},
	{"szext", 3, 3, "u32 s32", "b32", 0, decodeSzext},
	{"prmt", 4, 4, "b32", "b32", 0, decodePrmt},
	// comparison, selection, moves, conversion: setp.go, mov.go, cvt.go
	{"setp", 3, 4, bitTypes + ints + floats, "", 0, pure(decodeSetp)},
	{"set", 3, 4, bitTypes + ints + floats, ofType, 0, decodeSet},
	{"selp", 4, 4, bitTypes + ints + floats, ofType, 0, pure(decodeSelp)},
	{"slct", 4, 4, bitTypes + ints + "f32 f64 ", ofType, 0, decodeSlct},
	{"mov", 2, 2, bitTypes + ints + floats + "b128 pred ", "", 0, pure(decodeMov)},
	{"cvt", 2, 4, ints + "u8 s8 b32 " + floats + small + fours, ofType + orWider, 0, decodeCvt},
	{"cvta", 2, 2, "u32 u64", ofType, 0, decodeCvta},
	{"isspacep", 2, 2, "", "", 0, decodeIsspacep},
	// memory: access.go, atom.go, multimem.go, async.go, mbarrier.go
	{"ld", 2, 3, bitTypes + ints + floats + "b8 u8 s8 b128 ", ofType + orWider, 0, decodeLd},
	{"ldu", 2, 2, bitTypes + ints + floats + "b8 u8 s8 b128 ", ofType + orWider, 0, decodeLd},
	{"st", 2, 3, bitTypes + ints + floats + "b8 u8 s8 b128 ", orWider, 0, decodeSt},
	{"atom", 3, 5, bitTypes + wide + floats + "b128 ", ofType, 0, decodeAtom},
	{"red", 2, 3, bitTypes + wide + floats + "b128 ", "", 0, decodeAtom},
	{"multimem", 2, 4, bitTypes + wide + floats + "e4m3 e5m2 " + small + fours, "", 90, decodeMultimem},
	{"fence", 0, 4, "", "", 0, decodeFence},
	{"membar", 0, 0, "", "", 0, decodeFence},
	{"cp", 0, 7, anyType, "", 80, decodeCp},
	{"tensormap", 2, 3, "b32 b64", "", 90, decodeTensormap},
	{"mapa", 3, 3, "u32 u64", ofType, 90, decodeMapa},
	{"getctarank", 2, 2, "u32 u64", "b32", 90, decodeGetctarank},
	{"mbarrier", 1, 4, "b64", "", 80, decodeMbarrier},
	{"prefetch", 1, 2, "", "", 0, decodeHint},
	{"prefetchu", 1, 1, "", "", 0, decodeHint},
	{"discard", 2, 2, "", "", 80, decodeHint},
	{"applypriority", 2, 2, "", "", 80, decodeHint},
	{"createpolicy", 1, 5, "b64 f32", "b64", 80, decodePolicy},
	// matrices: mma.go, mma_scale.go, ldmatrix.go, tcgen.go
	{"mma", 4, 10, anyType, "", 70, decodeMma},
	{"wgmma", 0, 10, anyType, "", 90, decodeWgmma},
	{"ldmatrix", 2, 2, "b16 b8", "", 75, decodeLdmatrix},
	{"stmatrix", 2, 2, "b16 b8", "", 90, decodeLdmatrix},
	{"movmatrix", 2, 2, "b16", "", 75, decodeMovmatrix},
	{"tcgen05", 0, 9, "b32 b64 u32 s32 f32", "", 100, decodeTcgen05},
	// warps and CTAs: warpsync.go, barrier.go
	{"bar", 1, 4, "u32 pred", "", 0, decodeBar},
	{"barrier", 0, 4, "u32 pred", "", 0, decodeBar},
	{"shfl", 5, 5, "b32", "b32", 0, decodeShfl},
	{"vote", 3, 3, "pred b32", "b32", 0, decodeVote},
	{"match", 3, 3, "b32 b64", "b32", 0, decodeMatch},
	{"redux", 3, 3, "u32 s32 b32 f32", ofType, 80, decodeRedux},
	{"activemask", 1, 1, "b32", "b32", 0, decodeActivemask},
	{"elect", 2, 2, "", "b32", 90, decodeElect},
	// flow: flow.go
	{"bra", 1, 1, "", "", 0, decodeBra},
	{"brx", 2, 2, "", "", 0, decodeBrx},
	{"call", 1, 5, "", "", 0, decodeCall},
	{"ret", 0, 0, "", "", 0, decodeRet},
	{"exit", 0, 0, "", "", 0, decodeExit},
	{"trap", 0, 0, "", "", 0, decodeTrap},
	{"brkpt", 0, 0, "", "", 0, decodeTrap},
	{"nanosleep", 1, 1, "u32", "", 0, decodeSleep},
	{"setmaxnreg", 1, 1, "u32", "", 90, decodeSetmaxnreg},
	{"griddepcontrol", 0, 0, "", "", 90, decodeHint},
	{"pmevent", 1, 1, "", "", 0, decodeHint},
}

// newer are modifiers that came after the opcodes that take them: the first .target that has them.
var newer = map[string]int{
	"bulk": 90, "shared::cluster": 90, "cluster": 90, "multicast::cluster": 90, "expect_tx": 90, "complete_tx": 90, "try_wait": 90, "v8": 100,
	"bf16": 80, "bf16x2": 80, "tf32": 80, "e4m3x2": 89, "e5m2x2": 89, "u16x2": 90, "s16x2": 90,
	"f32x2": 100, "e2m1x2": 100, "e2m3x2": 100, "e3m2x2": 100, "ue8m0x2": 100, "e4m3x4": 100, "e5m2x4": 100, "e2m1x4": 100, "e2m3x4": 100, "e3m2x4": 100,
}

// familyOf is the table by opcode. It is filled by init: the decoders refer to it indirectly.
var familyOf = map[string]*family{}

func init() {
	for i := range families {
		familyOf[families[i].op] = &families[i]
	}
}

// pure decodes an instruction of which every destination depends on the sources of its lane alone; special registers are no sources.
func pure(decode func(d *decoder)) func(d *decoder) {
	return func(d *decoder) {
		decode(d)
		d.in.pure = len(d.in.src)+len(d.in.psrc) > 0
	}
}

// decodeHint takes hints, which change no value.
func decodeHint(d *decoder) {
	d.mods = nil
	d.in.kind = kExec
	d.in.exec = func(*warp, *inst, uint32) {}
}

// decodePolicy: createpolicy gives a cache policy, which only loads and stores look at: any number.
func decodePolicy(d *decoder) {
	d.mods = nil
	d.dst()
	d.in.src = []opnd{d.c.constant(0)}
	d.in.vec = func(d, a, _, _ *vec) { *d = *a }
}

// decodeSleep: nanosleep gives way to others.
func decodeSleep(d *decoder) {
	d.typ1()
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) { w.yield = true }
}
