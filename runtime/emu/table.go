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
	{"add", 3, 3, ints + packed16 + floats, ofType, addOp.decode},
	{"sub", 3, 3, ints + packed16 + floats, ofType, subOp.decode},
	{"mul", 3, 3, ints + floats, ofWide, decodeMul},
	{"div", 3, 3, ints + floats, ofType, divOp.decode},
	{"rem", 3, 3, ints, ofType, remOp.decode},
	{"min", 3, 4, ints + packed16 + floats, ofType, minOp.decode},
	{"max", 3, 4, ints + packed16 + floats, ofType, maxOp.decode},
	{"mad", 4, 4, ints + "f32 f64 ", ofWide, decodeMad},
	{"fma", 4, 4, floats, ofType, decodeFma},
	{"mul24", 3, 3, "u32 s32", ofType, decodeMul24},
	{"mad24", 4, 4, "u32 s32", ofType, decodeMul24},
	{"addc", 3, 3, wide, ofType, decodeAddc},
	{"subc", 3, 3, wide, ofType, decodeSubc},
	{"madc", 4, 4, wide, ofType, decodeMadc},
	{"sad", 4, 4, ints, ofType, decodeSad},
	{"dp4a", 4, 4, "u32 s32", "b32", decodeDp4a},
	{"dp2a", 4, 4, "u32 s32", "b32", decodeDp2a},
	{"abs", 2, 2, "s16 s32 s64 " + floats, ofType, decodeAbs},
	{"neg", 2, 2, "s16 s32 s64 " + floats, ofType, decodeNeg},
	{"rcp", 2, 2, "f32 f64", ofType, rcpFn.decode},
	{"sqrt", 2, 2, "f32 f64", ofType, sqrtFn.decode},
	{"rsqrt", 2, 2, "f32 f64", ofType, rsqrtFn.decode},
	{"sin", 2, 2, "f32", ofType, sinFn.decode},
	{"cos", 2, 2, "f32", ofType, cosFn.decode},
	{"lg2", 2, 2, "f32", ofType, lg2Fn.decode},
	{"ex2", 2, 2, "f32 f16 f16x2 bf16 bf16x2", ofType, ex2Fn.decode},
	{"tanh", 2, 2, "f32 f16 f16x2 bf16 bf16x2", ofType, tanhFn.decode},
	{"testp", 2, 2, "f32 f64", "", decodeTestp},
	{"copysign", 3, 3, "f32 f64", ofType, decodeCopysign},
	// bits: alu_bits.go
	{"and", 3, 3, bitTypes + "pred ", ofType, pure(andOp.decode)},
	{"or", 3, 3, bitTypes + "pred ", ofType, pure(orOp.decode)},
	{"xor", 3, 3, bitTypes + "pred ", ofType, pure(xorOp.decode)},
	{"not", 2, 2, bitTypes + "pred ", ofType, pure(decodeNot)},
	{"cnot", 2, 2, bitTypes, ofType, decodeCnot},
	{"lop3", 5, 6, "b32", "b32", decodeLop3},
	{"shl", 3, 3, bitTypes, ofType, decodeShl},
	{"shr", 3, 3, bitTypes + ints, ofType, decodeShr},
	{"shf", 4, 4, "b32", "b32", decodeShf},
	{"popc", 2, 2, "b32 b64", "b32", decodePopc},
	{"clz", 2, 2, "b32 b64", "b32", decodeClz},
	{"brev", 2, 2, "b32 b64", ofType, decodeBrev},
	{"bfind", 2, 2, wide, "b32", decodeBfind},
	{"bfe", 4, 4, wide, ofType, decodeBfe},
	{"bfi", 5, 5, "b32 b64", ofType, decodeBfi},
	{"bmsk", 3, 3, "b32", "b32", decodeBmsk},
	{"szext", 3, 3, "u32 s32", "b32", decodeSzext},
	{"prmt", 4, 4, "b32", "b32", decodePrmt},
	// comparison, selection, moves, conversion: setp.go, mov.go, cvt.go
	{"setp", 3, 4, bitTypes + ints + floats, "", pure(decodeSetp)},
	{"set", 3, 4, bitTypes + ints + floats, ofType, decodeSet},
	{"selp", 4, 4, bitTypes + ints + floats, ofType, pure(decodeSelp)},
	{"slct", 4, 4, bitTypes + ints + "f32 f64 ", ofType, decodeSlct},
	{"mov", 2, 2, bitTypes + ints + floats + "b128 pred ", "", pure(decodeMov)},
	{"cvt", 2, 4, ints + "u8 s8 b32 " + floats + small + fours, ofType + orWider, decodeCvt},
	{"cvta", 2, 2, "u32 u64", ofType, decodeCvta},
	{"isspacep", 2, 2, "", "", decodeIsspacep},
	// memory: access.go, atom.go, multimem.go, async.go, mbarrier.go
	{"ld", 2, 3, bitTypes + ints + floats + "b8 u8 s8 b128 ", ofType + orWider, decodeLd},
	{"ldu", 2, 2, bitTypes + ints + floats + "b8 u8 s8 b128 ", ofType + orWider, decodeLd},
	{"st", 2, 3, bitTypes + ints + floats + "b8 u8 s8 b128 ", orWider, decodeSt},
	{"atom", 3, 5, bitTypes + wide + floats + "b128 ", ofType, decodeAtom},
	{"red", 2, 3, bitTypes + wide + floats + "b128 ", "", decodeAtom},
	{"multimem", 2, 4, bitTypes + wide + floats + "e4m3 e5m2 " + small + fours, "", decodeMultimem},
	{"fence", 0, 4, "", "", decodeFence},
	{"membar", 0, 0, "", "", decodeFence},
	{"cp", 0, 7, anyType, "", decodeCp},
	{"tensormap", 2, 3, "b32 b64", "", decodeTensormap},
	{"mapa", 3, 3, "u32 u64", ofType, decodeMapa},
	{"getctarank", 2, 2, "u32 u64", "b32", decodeGetctarank},
	{"mbarrier", 1, 4, "b64", "", decodeMbarrier},
	{"prefetch", 1, 2, "", "", decodeHint},
	{"prefetchu", 1, 1, "", "", decodeHint},
	{"discard", 2, 2, "", "", decodeHint},
	{"applypriority", 2, 2, "", "", decodeHint},
	{"createpolicy", 1, 5, "b64 f32", "b64", decodePolicy},
	// matrices: mma.go, mma_scale.go, ldmatrix.go, tcgen.go
	{"mma", 4, 10, anyType, "", decodeMma},
	{"wgmma", 0, 10, anyType, "", decodeWgmma},
	{"ldmatrix", 2, 2, "b16 b8", "", decodeLdmatrix},
	{"stmatrix", 2, 2, "b16 b8", "", decodeLdmatrix},
	{"movmatrix", 2, 2, "b16", "", decodeMovmatrix},
	{"tcgen05", 0, 9, "b32 b64 u32 s32 f32", "", decodeTcgen05},
	// warps and CTAs: warpsync.go, barrier.go
	{"bar", 1, 4, "u32 pred", "", decodeBar},
	{"barrier", 0, 4, "u32 pred", "", decodeBar},
	{"shfl", 5, 5, "b32", "b32", decodeShfl},
	{"vote", 3, 3, "pred b32", "b32", decodeVote},
	{"match", 3, 3, "b32 b64", "b32", decodeMatch},
	{"redux", 3, 3, "u32 s32 b32 f32", ofType, decodeRedux},
	{"activemask", 1, 1, "b32", "b32", decodeActivemask},
	{"elect", 2, 2, "", "b32", decodeElect},
	// flow: flow.go
	{"bra", 1, 1, "", "", decodeBra},
	{"brx", 2, 2, "", "", decodeBrx},
	{"call", 1, 5, "", "", decodeCall},
	{"ret", 0, 0, "", "", decodeRet},
	{"exit", 0, 0, "", "", decodeExit},
	{"trap", 0, 0, "", "", decodeTrap},
	{"brkpt", 0, 0, "", "", decodeTrap},
	{"nanosleep", 1, 1, "u32", "", decodeSleep},
	{"setmaxnreg", 1, 1, "u32", "", decodeSetmaxnreg},
	{"griddepcontrol", 0, 0, "", "", decodeHint},
	{"pmevent", 1, 1, "", "", decodeHint},
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
