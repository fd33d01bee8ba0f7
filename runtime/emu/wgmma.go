package emu

import (
	"strconv"
	"strings"
)

// wgmmaOp is a decoded wgmma.mma_async (section 9.7.15): D = A*B + D for 64 rows, by the four warps of a warpgroup together.
//
// Element i of D of a lane of warp w lies in row 16w + lane/4 + 8*(i/2%2), column 8*(i/4) + 2*(lane%4) + i%2; register i of a
// 32-bit D holds it, a register of f16 two. A in registers is that of mma.sync, 16 rows a warp.
type wgmmaOp struct {
	n, k       int
	a, b, d    typ
	inRegs     bool // A
	descA      int  // index in src
	descB      int
	firstA     int // index in src of the registers of A
	firstD     int // index in src of D
	scaleD     int // index in psrc: D is added
	negA, negB bool
	mnMajorA   bool
	mnMajorB   bool
	sat        bool
}

// wgmmaShapes lists K by the types of A and B and the types of D (table in section 9.7.15.2).
var wgmmaShapes = map[string]struct {
	k int
	d string
}{
	"f16": {16, "f16 f32"}, "bf16": {16, "f32"}, "tf32": {8, "f32"}, "e4m3": {32, "f16 f32"}, "e5m2": {32, "f16 f32"},
	"s8": {32, "s32"}, "u8": {32, "s32"}, "b1": {256, "s32"},
}

// decodeWgmma: wgmma.fence, .commit_group, .wait_group, .mma_async.
func decodeWgmma(d *decoder) {
	d.needs(agentWgmma)
	d.needsProxies()
	verb := d.oneOf("fence", "commit_group", "wait_group", "mma_async")
	if !d.flag("sync") || !d.flag("aligned") {
		d.malformed("wgmma without .sync.aligned")
		return
	}
	switch verb {
	case "fence":
		d.nargs(0, 0)
		d.warpWide(func(w *warp, in *inst, m uint32) { w.wgmmas.fences++ })
	case "commit_group":
		d.nargs(0, 0)
		d.warpWide(func(w *warp, in *inst, m uint32) { w.wgmmas.groupEnds = append(w.wgmmas.groupEnds, w.wgmmas.newest) })
	case "wait_group":
		if n, ok := d.number(); ok {
			d.warpWide(func(w *warp, in *inst, m uint32) { w.wgmmaWait(n) })
		}
	case "mma_async":
		d.wgmma()
	default:
		d.lacks("unknown operation")
	}
}

func (d *decoder) wgmma() {
	op := &wgmmaOp{sat: d.flag("satfinite")}
	if d.flag("and") && !d.flag("popc") {
		d.lacks("only .and.popc")
	}
	if len(d.mods) != 4 {
		d.lacks("this form of wgmma")
		return
	}
	shape, _ := strings.CutPrefix(d.mods[0], "m64n")
	n, k, _ := strings.Cut(shape, "k")
	op.n, _ = strconv.Atoi(n)
	op.k, _ = strconv.Atoi(k)
	for i, t := range []*typ{&op.d, &op.a, &op.b} {
		var ok bool
		if *t, ok = types[d.mods[1+i]]; !ok {
			*t, ok = typ{clsBits, 1, 1, nil, "b1"}, d.mods[1+i] == "b1"
		}
		if !ok {
			d.lacks("type .%s", d.mods[1+i])
			return
		}
	}
	if !op.valid() {
		d.lacks("shape %s of .%s and .%s to .%s", d.mods[0], op.a.named, op.b.named, op.d.named)
		return
	}
	d.mods = nil
	d.wgmmaOperands(op)
}

// valid checks shape and types against the table.
func (op *wgmmaOp) valid() bool {
	s, ok := wgmmaShapes[op.a.named]
	same := op.a.named == op.b.named || op.a.bits == 8 && op.b.bits == 8 && op.a.isFloat() == op.b.isFloat()
	step := 8
	if !op.a.isFloat() && op.n > 32 {
		step = 16
	}
	return ok && same && op.k == s.k && op.n >= 8 && op.n <= 256 && op.n%step == 0 && strings.Contains(" "+s.d+" ", " "+op.d.named+" ")
}

// perD is the number of elements of D in a register.
func (op *wgmmaOp) perD() int { return 32 / op.d.bits }

func (d *decoder) wgmmaOperands(op *wgmmaOp) {
	args := d.st.args
	if len(args) < 4 {
		d.malformed("wrong number of operands")
		return
	}
	regs := vector(&args[0])
	if len(regs) != op.n/2/op.perD() {
		d.malformed("D has %d registers, %d expected", len(regs), op.n/2/op.perD())
		return
	}
	op.inRegs = args[1].kind == argVec
	if !op.inRegs {
		op.descA = len(d.in.src)
		d.srcArg(&args[1], types["b64"])
	}
	op.descB = len(d.in.src)
	d.srcArg(&args[2], types["b64"])
	d.in.firstPinned = len(d.in.src) + 1
	op.firstA = len(d.in.src)
	if op.inRegs {
		a := vector(&args[1])
		if len(a) != 4 {
			d.malformed("A has %d registers, 4 expected", len(a))
			return
		}
		for i := range a {
			d.srcArg(&a[i], types["b32"])
		}
	}
	op.firstD = len(d.in.src)
	for i := range regs {
		d.dstArg(&regs[i])
		d.srcArg(&regs[i], types["b32"])
	}
	op.scaleD = len(d.in.psrc)
	d.predSrc(&args[3])
	d.wgmmaFlags(op, args[4:])
	d.in.rule = ruleNone
	d.in.kind = kSync
	d.in.sync = func(w *warp, in *inst, m uint32) bool { return w.wgmmaRendezvous(in, op, m) }
}

// wgmmaFlags takes scale-a, scale-b of floats and trans-a, trans-b of 16-bit ones.
func (d *decoder) wgmmaFlags(op *wgmmaOp, args []arg) {
	var to []*bool
	if op.a.isFloat() {
		to = append(to, &op.negA, &op.negB)
	}
	if op.a.isFloat() && op.a.bits == 16 {
		if !op.inRegs {
			to = append(to, &op.mnMajorA)
		}
		to = append(to, &op.mnMajorB)
	}
	if len(args) != len(to) {
		d.malformed("wrong number of operands")
		return
	}
	for i, p := range to {
		v := int64(args[i].val)
		scale := p == &op.negA || p == &op.negB
		if args[i].kind != argInt || scale && v != 1 && v != -1 || !scale && v != 0 && v != 1 {
			d.malformed("operand %d is not 1 or -1, or 0 or 1", 4+i)
		}
		*p = scale && v == -1 || !scale && v == 1
	}
}

// wgmmaState is the wgmma that a warp has issued with its warpgroup.
type wgmmaState struct {
	newest    uint32     // sequence number of the newest
	completed uint32     // all up to this one have been waited for
	groupEnds []uint32   // newest at each commit_group that has not been waited for
	fences    int32      // executed wgmma.fence
	regs      []wgmmaReg // by register slot
}

// wgmmaReg is a register that some wgmma of the program uses.
type wgmmaReg struct {
	number       uint32 // of the newest wgmma that uses it
	pc           int32  // of that
	touchedFence int32  // 1 + fences when another instruction touched it last
	touchedPC    int32
}

// warpgroup is the rendezvous of its four warps.
type warpgroup struct {
	waiting []*warp
}

// wgmmaWait is wgmma.wait_group: all groups but the n newest are complete.
func (w *warp) wgmmaWait(n int) {
	x := &w.wgmmas
	if len(x.groupEnds) > n {
		x.completed = x.groupEnds[len(x.groupEnds)-n-1]
		x.groupEnds = append(x.groupEnds[:0], x.groupEnds[len(x.groupEnds)-n:]...)
	}
	at := int(agentWgmma)*w.launch.warpsPerCTA + w.idx&^3
	w.dense[at] = max(w.dense[at], x.completed)
}

// wgmmaRendezvous waits for the other warps of the warpgroup; the last one computes for all.
func (w *warp) wgmmaRendezvous(in *inst, op *wgmmaOp, m uint32) bool {
	if m != fullMask {
		if w.othersBehind() {
			return false
		}
		w.fail(Divergence, ^m, 0, "wgmma is executed by lanes %#08x only", m)
	}
	first := w.idx &^ 3
	if first+4 > len(w.cta.warps) {
		w.fail(Invalid, m, 0, "wgmma needs a warpgroup of 4 warps")
	}
	g := &w.cta.warpgroups[w.idx/4]
	for _, x := range g.waiting {
		if x.pc[0] != w.curPC {
			w.fail(Divergence, m, 0, "a warpgroup executes different wgmma: warp %d stands at line %d: %s",
				x.idx, w.prog.code[x.pc[0]].line, oneLine(w.prog.code[x.pc[0]].text))
		}
	}
	if g.waiting = append(g.waiting, w); len(g.waiting) < 4 {
		w.ready &^= m
		return false
	}
	w.launch.lastProgress = w.launch.stats.warpInstrs
	for _, x := range g.waiting {
		x.curPC = w.curPC
	}
	w.wgmma(in, op, w.cta.warps[first:first+4])
	for _, x := range g.waiting {
		if x != w {
			x.ready |= fullMask
			lanes(fullMask, func(i int) { x.pc[i]++ })
		}
	}
	g.waiting = g.waiting[:0]
	return true
}

// claimWgmmaRegs checks the registers of a wgmma and marks them as in use by it.
func (w *warp) claimWgmmaRegs(in *inst, number uint32) {
	x := &w.wgmmas
	if x.fences == 0 {
		w.faultOrNote(ProxyFence, 0, 0, "wgmma without a wgmma.fence before the first one")
	}
	for _, o := range in.src[in.firstPinned-1:] {
		if o < 0 {
			continue
		}
		r := &x.regs[o]
		if r.touchedFence == x.fences+1 {
			w.faultOrNote(ProxyFence, 0, 0, "register %s of a wgmma was accessed at line %d (%s), and no wgmma.fence stands between",
				w.prog.pinnedNames[o], w.prog.code[r.touchedPC].line, oneLine(w.prog.code[r.touchedPC].text))
			r.touchedFence = 0
		}
		r.number, r.pc = number, w.curPC
	}
	x.newest = number
}

// touchPinned checks an instruction that accesses registers of some wgmma.
func (w *warp) touchPinned(in *inst) {
	x := &w.wgmmas
	for _, list := range [2][]opnd{in.src, in.dst} {
		for _, o := range list {
			if o < 0 || w.prog.pinnedNames[o] == "" {
				continue
			}
			r := &x.regs[o]
			if r.number > x.completed {
				w.fail(AsyncPending, fullMask, 0, "register %s is in use by the wgmma of line %d, which has not been waited for: %s",
					w.prog.pinnedNames[o], w.prog.code[r.pc].line, oneLine(w.prog.code[r.pc].text))
			}
			r.touchedFence, r.touchedPC = x.fences+1, w.curPC
		}
	}
}
