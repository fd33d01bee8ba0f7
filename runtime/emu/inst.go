package emu

import "math/bits"

// vec is a register: one value per lane, zero-extended to 64 bits.
type vec [32]uint64

// vecFn computes all lanes of d from the lanes of its sources. d may be one of them, so lane i is read
// before it is written. Inactive lanes hold any value, which the function must accept.
type vecFn func(d, a, b, c *vec)

// opnd names a source or destination: a register slot when not negative, else constant ^opnd.
type opnd int32

// noReg is the sink "_".
const noReg = opnd(-1 << 31)

// pref is a predicate operand, possibly negated.
type pref struct {
	slot int32
	neg  bool
}

// kind is how the main loop treats an instruction.
type kind uint8

const (
	kVec    kind = iota // dst[0] = vec(src...)
	kExec               // anything else that does not branch or block
	kBranch             // bra, brx, call, ret, exit
	kSync               // needs other lanes or warps: may block
)

// inst is a decoded instruction.
type inst struct {
	kind          kind
	vec           vecFn
	exec          func(w *warp, in *inst, m uint32)
	flow          func(w *warp, in *inst, m uint32)      // kBranch: sets the lanes' next places
	sync          func(w *warp, in *inst, m uint32) bool // kSync: false means the lanes wait at this instruction
	guard         int32                                  // predicate slot, -1: none
	guardNeg      bool
	dst, src      []opnd
	pdst          []int32
	psrc          []pref
	pure          bool // a destination depends on the sources of its lane alone
	fetches       bool // a weak ld: all it does is give its destinations what memory holds
	asyncDst      bool // writes its destinations asynchronously (tcgen05.ld)
	rule          undefRule
	dmask         uint64 // bits of dst[0]
	widened       int    // how many of the first sources are numbers of 32 bits that are widened to 64 bits without a sign
	address       int    // 1 + index of the source that is an address of global memory; 0: none
	addressAdd    int64  // immediate offset from it
	firstPinned   int    // 1 + index of the first source whose register a wgmma in flight uses; 0: none
	touchesPinned bool   // accesses such a register
	target        int32
	targets       []int32 // brx.idx
	branchKind    branchKind
	op            int32 // index into program.ops, for statistics
	line, col     int32
	loc           int32 // index into Module.locs
	text          string
}

// branchKind is where a kBranch goes.
type branchKind uint8

const (
	toTarget branchKind = iota // target or targets
	toCallee                   // target, which returns after the instruction
	toCaller                   // after a call, or nowhere
)

// program is a decoded entry with the functions that it calls.
type program struct {
	code          []inst
	start         int32 // place of the first instruction of the entry
	regs          int   // register slots
	preds         int   // predicate slots
	consts        []vec
	relocs        []reloc
	ops           []string          // opcode names for statistics
	local         int               // bytes of local memory per thread
	shared        int               // bytes of static shared memory
	frames        int               // return-address slots
	dynBase       int               // where dynamic shared memory begins
	dynamic       bool              // uses .extern .shared
	agents        agentKind         // kinds of agents, the threads among them
	names         map[opnd]string   // of the registers, before they are renamed
	pinnedNames   []string          // by slot, the name of a register that a wgmma in flight may use, or ""
	addressChains map[int32][]int32 // by the place of an access: where its address is made (widening.go)
	visibilities  visibility        // 1, or more if the program has instructions of other proxies
	communicates  bool              // its CTAs may communicate or depend on time: atomic and strong accesses of global memory, clock registers
}

// reloc is a constant that is only known when memory is laid out.
type reloc struct {
	index int
	v     *variable
	add   int64
}

const fullMask = ^uint32(0)

// lanes calls f for every lane in m.
func lanes(m uint32, f func(i int)) {
	for ; m != 0; m &= m - 1 {
		f(bits.TrailingZeros32(m))
	}
}

// lift1, lift2, lift3 make a vector function of a lane function.
func lift1(f func(a uint64) uint64) vecFn {
	return func(d, a, _, _ *vec) {
		for i := range d {
			d[i] = f(a[i])
		}
	}
}

func lift2(f func(a, b uint64) uint64) vecFn {
	return func(d, a, b, _ *vec) {
		for i := range d {
			d[i] = f(a[i], b[i])
		}
	}
}

func lift3(f func(a, b, c uint64) uint64) vecFn {
	return func(d, a, b, c *vec) {
		for i := range d {
			d[i] = f(a[i], b[i], c[i])
		}
	}
}
