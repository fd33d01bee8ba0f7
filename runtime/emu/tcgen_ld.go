package emu

import (
	"strconv"
	"strings"
)

// moveShape is a shape of tcgen05.ld and st (section 9.7.16.2.3): which cell of tensor memory register r of thread t
// holds, relative to the address; imm is the offset of the second half.
//
//	regs, lanes, columns   of x1
type moveShape struct {
	name              string
	regs, lanes, cols int
	most              int // the largest number after x
	split             bool
	at                func(t, r, imm int) (lane, col int)
}

var moveShapes = []moveShape{
	{"32x32b", 1, 32, 1, 128, false, func(t, r, _ int) (int, int) { return t, r }},
	{"16x64b", 1, 16, 2, 128, false, func(t, r, _ int) (int, int) { return t/4 + 8*(t&1), 2*r + t>>1&1 }},
	{"16x128b", 2, 16, 4, 64, false, func(t, r, _ int) (int, int) { return t/4 + 8*(r&1), 4*(r>>1) + t%4 }},
	{"16x256b", 4, 16, 8, 32, false, func(t, r, _ int) (int, int) { return t/4 + 8*(r>>1&1), 8*(r>>2) + 2*(t%4) + r&1 }},
	{"16x32bx2", 1, 16, 1, 128, true, func(t, r, imm int) (int, int) {
		if t >= 16 {
			return t % 16, r + imm
		}
		return t, r
	}},
}

// moveOp is a decoded tcgen05.ld or st.
type moveOp struct {
	shape *moveShape
	n     int // registers
	cols  int // columns of one piece
	imm   int
	pack  bool // two columns of 16 bits to a register
	addr  memOp
	first int // st: index of the first register in src
}

// decodeMove takes the modifiers and the address: tcgen05.ld.sync.aligned.shape.num{.pack::16b}.b32 r, [taddr]{, imm}
// and tcgen05.st....{.unpack::16b}.b32 [taddr]{, imm}, r (section 9.7.16.8).
func (d *decoder) decodeMove(pack string) (*moveOp, *arg) {
	op := &moveOp{}
	d.syncAligned()
	for i := range moveShapes {
		if d.flag(moveShapes[i].name) {
			op.shape = &moveShapes[i]
			break
		}
	}
	op.pack = d.flag(pack)
	num := 0
	if len(d.mods) > 0 && strings.HasPrefix(d.mods[0], "x") {
		num, _ = strconv.Atoi(d.mods[0][1:])
		d.mods = d.mods[1:]
	}
	if op.shape == nil || num < 1 || num > op.shape.most || num&(num-1) != 0 || !d.flag("b32") {
		d.lacks("this form of tcgen05.%s", splitDots(d.st.op)[1])
		return nil, nil
	}
	op.n, op.cols = op.shape.regs*num, op.shape.cols*num
	if op.pack {
		op.cols *= 2
	}
	args := d.st.args
	want := 2
	if op.shape.split {
		want = 3
	}
	if !d.nargs(want, want) {
		return nil, nil
	}
	regs, addr, imm := &args[0], &args[1], &args[want-1]
	if d.st.args[0].kind == argAddr {
		regs, addr, imm = &args[want-1], &args[0], &args[1]
	}
	if op.shape.split {
		if imm.kind != argInt {
			d.malformed("the offset of the second half must be a number")
		}
		if op.imm = int(int32(imm.val)); op.imm < 0 || op.imm >= tmemColumns {
			d.malformed("offset %d of the second half", op.imm)
		}
	}
	if len(vector(regs)) != op.n {
		d.malformed("vector of %d registers expected", op.n)
		return nil, nil
	}
	op.addr = d.tmemAddress(addr)
	return op, regs
}

// pieces gives the pieces of tensor memory that a warp accesses. A warp reaches the quarter of the lanes that its
// number names (section 9.7.16.8.1).
func (op *moveOp) pieces(w *warp, in *inst, what string) (rects []tmemRect, lane, col int) {
	lane, col = w.tmemAddr(in, op.addr, fullMask)
	quarter := w.idx % 4 * 32
	if lane%op.shape.lanes != 0 || lane < quarter || lane+op.shape.lanes > quarter+32 {
		// NVIDIA's compiler leaves the quarter out where all warps store the same rows: the machine takes that of the warp.
		w.faultOrNote(TensorMemory, 0, tmemBits(lane, col), "%s of lanes %d to %d of tensor memory by warp %d, which may access lanes %d to %d only",
			what, lane, lane+op.shape.lanes-1, w.idx, quarter, quarter+31)
		lane = quarter + lane%32/op.shape.lanes*op.shape.lanes
	}
	rects = append(rects, tmemRect{lane, op.shape.lanes, col, op.cols})
	if op.shape.split {
		rects = append(rects, tmemRect{lane, op.shape.lanes, col + op.imm, op.cols})
	}
	for _, r := range rects {
		w.checkTmemAllocated(w.cta, r, what, 0)
	}
	return rects, lane, col
}

// cells calls f for every thread and register with the place of its cell; with packing of the first of two.
func (op *moveOp) cells(lane, col int, f func(t, r, at int)) {
	for t := range 32 {
		for r := range op.n {
			l, c := op.shape.at(t, r, op.imm)
			if op.pack {
				c = 2*(c-op.half(t)) + op.half(t)
			}
			f(t, r, (lane+l)*tmemColumns+col+c)
		}
	}
}

// half is the offset of the half of the piece that a thread accesses.
func (op *moveOp) half(t int) int {
	if op.shape.split && t >= 16 {
		return op.imm
	}
	return 0
}

func decodeTmemLd(d *decoder) {
	if d.flag("red") {
		d.lacks("tcgen05.ld.red")
		return
	}
	op, regs := d.decodeMove("pack::16b")
	if op == nil {
		return
	}
	for _, r := range vector(regs) {
		d.dstArg(&r)
	}
	d.in.asyncDst = true
	d.needs(agentTcgenLd)
	d.warpWideBlocking(func(w *warp, in *inst) bool {
		w.tmemLd(in, op)
		return true
	})
}

// tmemLd takes the cells when the instruction is issued. Until wait::ld its registers count as undefined, so that every
// use of them comes to checkLoadComplete.
func (w *warp) tmemLd(in *inst, op *moveOp) {
	rects, lane, col := op.pieces(w, in, "tcgen05.ld")
	stamp := w.issue(agentTcgenLd, 1)
	for _, r := range rects {
		w.tmemRead(w.cta.tmem, r, tmemAccess{stamp, w.curPC, tmemUse{class: useLd}}, 0)
	}
	x := &w.tmemLoads
	if x.pending == nil {
		x.pending = make([]int32, len(w.regs))
	}
	load := tmemLoad{pc: w.curPC, dst: in.dst, undef: make([]*vec, op.n)}
	for _, d := range in.dst {
		if d < 0 {
			continue
		}
		if k := x.pending[d]; k != 0 {
			w.faultOrNote(AsyncPending, 0, 0, "tcgen05.ld to a register that the tcgen05.ld at line %d still writes", w.prog.code[x.loads[k-1].pc].line)
		}
		x.pending[d] = int32(len(x.loads) + 1)
		w.undef[d], w.ubits[d] = fullMask, nil
	}
	t := w.cta.tmem
	op.cells(lane, col, func(th, r, at int) {
		v, u := t.data[at], t.undef[at]
		if op.pack {
			v, u = v&0xffff|t.data[at+1]<<16, u&0xffff|t.undef[at+1]<<16
		}
		w.dst(in.dst[r])[th] = uint64(v)
		if u != 0 {
			if load.undef[r] == nil {
				load.undef[r] = new(vec)
			}
			load.undef[r][th] = uint64(u)
		}
	})
	x.loads = append(x.loads, load)
}

// checkLoadComplete objects to the use of a register that a tcgen05.ld still writes. Where that is a note, the load counts as
// complete from here on: the machine holds the instruction back until the register is there.
func (w *warp) checkLoadComplete(o opnd, lane int) {
	k := w.tmemLoads.pending[o]
	load := &w.tmemLoads.loads[k-1]
	w.faultOrNote(AsyncPending, lane, 0, "use of a register that the tcgen05.ld at line %d still writes: tcgen05.wait::ld is missing", w.prog.code[load.pc].line)
	w.landLoad(load, k)
}

// landLoad gives the registers of a load what is really undefined of them.
func (w *warp) landLoad(l *tmemLoad, number int32) {
	for r, d := range l.dst {
		if d < 0 || w.tmemLoads.pending[d] != number {
			continue
		}
		w.tmemLoads.pending[d] = 0
		if w.undef[d]&w.live != w.live {
			w.faultOrNote(AsyncPending, firstLane(^w.undef[d]), 0, "a register was written while the tcgen05.ld at line %d was in flight to it", w.prog.code[l.pc].line)
		}
		w.undef[d] = 0
		if u := l.undef[r]; u != nil {
			for i := range u {
				w.setUB(d, i, u[i])
			}
		}
	}
}

// decodeTmemWait: tcgen05.wait::ld and wait::st (section 9.7.16.8.5): the earlier ones of the thread are complete.
func decodeTmemWait(d *decoder) {
	ld := splitDots(d.st.op)[1] == "wait::ld"
	d.syncAligned()
	if !d.nargs(0, 0) {
		return
	}
	d.needs(agentTcgenSt)
	d.warpWideBlocking(func(w *warp, in *inst) bool {
		if !ld {
			w.markCompleted(agentTcgenSt, 0, w.agents[agentTcgenSt].newest)
			return true
		}
		for i := range w.tmemLoads.loads {
			w.landLoad(&w.tmemLoads.loads[i], int32(i+1))
		}
		w.tmemLoads.loads = w.tmemLoads.loads[:0]
		w.markCompleted(agentTcgenLd, 0, w.agents[agentTcgenLd].newest)
		return true
	})
}

func decodeTmemSt(d *decoder) {
	op, regs := d.decodeMove("unpack::16b")
	if op == nil {
		return
	}
	op.first = len(d.in.src)
	for _, r := range vector(regs) {
		d.srcArg(&r, types["b32"])
	}
	d.needs(agentTcgenSt)
	d.warpWideBlocking(func(w *warp, in *inst) bool {
		w.tmemSt(in, op)
		return true
	})
}

func (w *warp) tmemSt(in *inst, op *moveOp) {
	rects, lane, col := op.pieces(w, in, "tcgen05.st")
	stamp := w.issue(agentTcgenSt, 1)
	for _, r := range rects {
		w.tmemWrite(w.cta.tmem, r, tmemAccess{stamp, w.curPC, tmemUse{class: useSt}}, 0)
	}
	t := w.cta.tmem
	w.launch.lastProgress = w.launch.stats.warpInstrs
	src := make([]*vec, op.n)
	for r := range src {
		src[r] = w.src(in.src[op.first+r])
	}
	op.cells(lane, col, func(th, r, at int) {
		v, u := uint32(src[r][th]), uint32(w.ub(in.src[op.first+r], th))
		if !op.pack {
			t.data[at], t.undef[at] = v, u
			return
		}
		// Unpacking leaves open what the upper halves of the columns hold.
		t.data[at], t.undef[at] = v&0xffff, u&0xffff|0xffff0000
		t.data[at+1], t.undef[at+1] = v>>16, u>>16|0xffff0000
	})
}
