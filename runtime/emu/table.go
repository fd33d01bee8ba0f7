package emu

// families is the instruction table: the first part of the opcode, and who decodes it. What is not here
// is "unsupported instruction".
var families = []family{
	// integer and float arithmetic: alu_int.go, alu_float.go, alu_math.go
	{"add", decodeArith}, {"sub", decodeArith}, {"mul", decodeArith}, {"div", decodeArith}, {"rem", decodeArith},
	{"min", decodeArith}, {"max", decodeArith}, {"mad", decodeMad}, {"fma", decodeFma},
	{"mul24", decodeMul24}, {"mad24", decodeMul24}, {"addc", decodeAddc}, {"subc", decodeAddc}, {"madc", decodeMadc},
	{"sad", decodeSad}, {"dp4a", decodeDp}, {"dp2a", decodeDp}, {"abs", decodeAbsNeg}, {"neg", decodeAbsNeg},
	{"rcp", decodeMath}, {"sqrt", decodeMath}, {"rsqrt", decodeMath}, {"sin", decodeMath}, {"cos", decodeMath},
	{"lg2", decodeMath}, {"ex2", decodeMath}, {"tanh", decodeMath}, {"testp", decodeTestp}, {"copysign", decodeCopysign},
	// bits: alu_bits.go
	{"and", decodeLogic}, {"or", decodeLogic}, {"xor", decodeLogic}, {"not", decodeLogic}, {"cnot", decodeLogic},
	{"lop3", decodeLop3}, {"shl", decodeShift}, {"shr", decodeShift}, {"shf", decodeShf}, {"popc", decodeCount},
	{"clz", decodeCount}, {"brev", decodeCount}, {"bfind", decodeCount}, {"bfe", decodeBfe}, {"bfi", decodeBfi},
	{"bmsk", decodeBmsk}, {"szext", decodeSzext}, {"prmt", decodePrmt},
	// comparison, selection, moves, conversion: setp.go, mov.go, cvt.go
	{"setp", decodeSetp}, {"set", decodeSet}, {"selp", decodeSelp}, {"slct", decodeSlct}, {"mov", decodeMov},
	{"cvt", decodeCvt}, {"cvta", decodeCvta}, {"isspacep", decodeIsspacep},
	// memory: access.go, atom.go, async.go, mbarrier.go
	{"ld", decodeLd}, {"ldu", decodeLd}, {"st", decodeSt}, {"atom", decodeAtom}, {"red", decodeAtom},
	{"fence", decodeFence}, {"membar", decodeFence}, {"cp", decodeCp}, {"mbarrier", decodeMbarrier},
	{"prefetch", decodeNothing}, {"prefetchu", decodeNothing}, {"discard", decodeNothing}, {"applypriority", decodeNothing},
	{"createpolicy", decodePolicy},
	// matrices: mma.go, ldmatrix.go
	{"mma", decodeMma}, {"ldmatrix", decodeLdmatrix}, {"stmatrix", decodeLdmatrix}, {"movmatrix", decodeMovmatrix},
	// warps and CTAs: warpsync.go, barrier.go
	{"bar", decodeBar}, {"barrier", decodeBar}, {"shfl", decodeShfl}, {"vote", decodeVote}, {"match", decodeMatch},
	{"redux", decodeRedux}, {"activemask", decodeActivemask}, {"elect", decodeElect},
	// flow: flow.go
	{"bra", decodeBra}, {"brx", decodeBrx}, {"call", decodeCall}, {"ret", decodeRet}, {"exit", decodeExit},
	{"trap", decodeTrap}, {"brkpt", decodeTrap}, {"nanosleep", decodeSleep}, {"setmaxnreg", decodeNothing},
	{"griddepcontrol", decodeNothing}, {"pmevent", decodeNothing},
}

// minArgs is the least number of operands, where it is not one per table row of sources: it keeps decoders
// from looking behind the end.
var minArgs = map[string]int{
	"add": 3, "sub": 3, "mul": 3, "div": 3, "rem": 3, "min": 3, "max": 3, "mad": 4, "fma": 4, "mul24": 3, "mad24": 4,
	"addc": 3, "subc": 3, "madc": 4, "sad": 4, "dp4a": 4, "dp2a": 4, "abs": 2, "neg": 2, "rcp": 2, "sqrt": 2, "rsqrt": 2,
	"sin": 2, "cos": 2, "lg2": 2, "ex2": 2, "tanh": 2, "testp": 2, "copysign": 3, "and": 3, "or": 3, "xor": 3, "not": 2,
	"cnot": 2, "lop3": 5, "shl": 3, "shr": 3, "shf": 4, "popc": 2, "clz": 2, "brev": 2, "bfind": 2, "bfe": 4, "bfi": 5,
	"bmsk": 3, "szext": 3, "prmt": 4, "setp": 3, "set": 3, "selp": 4, "slct": 4, "mov": 2, "cvt": 2, "cvta": 2,
	"isspacep": 2, "ld": 2, "ldu": 2, "st": 2, "atom": 3, "red": 2, "mma": 4, "ldmatrix": 2, "stmatrix": 2, "movmatrix": 2,
	"shfl": 5, "vote": 3, "match": 3, "redux": 3, "activemask": 1, "elect": 2, "bra": 1, "brx": 2, "nanosleep": 1,
	"createpolicy": 1,
}

// familyOf is the table by opcode. It is filled by init: the decoders refer to it indirectly.
var familyOf = map[string]*family{}

func init() {
	for i := range families {
		familyOf[families[i].op] = &families[i]
	}
}

// decodeNothing: hints, which change no value.
func decodeNothing(d *decoder) {
	d.mods = nil
	d.in.kind = kExec
	d.in.exec = func(*warp, *inst, uint32) {}
}

// decodePolicy: createpolicy gives a cache policy, which only loads and stores look at: any number.
func decodePolicy(d *decoder) {
	d.mods = nil
	d.dst(0)
	d.in.src = []opnd{d.c.constant(0)}
	d.in.vec = func(d, a, _, _ *vec) { *d = *a }
}

// decodeSleep: nanosleep gives way to others.
func decodeSleep(d *decoder) {
	d.typ1()
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) { w.yield = true }
}
