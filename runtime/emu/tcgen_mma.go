package emu

import (
	"fmt"
	"math"
	"strings"
)

// tcgenOp is a decoded tcgen05.mma (section 9.7.16.10.9): D = A*B + D, D in tensor memory, A in tensor or shared
// memory, B in shared memory, of the sizes and types that the instruction descriptor gives.
type tcgenOp struct {
	kind         *tcgenKind
	ws           bool
	group        int
	blocks       int // scales to a row
	d            memOp
	aTmem        bool
	a            memOp // in tensor memory
	aDesc, bDesc int   // indexes into src
	idesc        int
	scales       [2]memOp // addresses of the scales of A and B
	disable      int      // index of the first word of the lane mask, -1: none
	scaleD       int      // old D times 2^-scaleD
}

func decodeTcgenMma(d *decoder) {
	op := &tcgenOp{disable: -1}
	if d.flag("sp") {
		d.lacks("sparse products")
		return
	}
	op.ws = d.flag("ws")
	op.group = d.ctaGroup()
	for i := range tcgenKinds {
		if d.flag(tcgenKinds[i].name) {
			op.kind = &tcgenKinds[i]
			break
		}
	}
	if op.kind == nil || op.ws && op.group == 2 {
		d.lacks("this form of tcgen05.mma")
		return
	}
	d.tcgenScaleVec(op)
	rest := d.mods[:0:0]
	for _, m := range d.mods { // which operand stays in the collector buffer changes no value
		if !strings.HasPrefix(m, "collector::") {
			rest = append(rest, m)
		}
	}
	d.mods = rest
	d.tcgenOperands(op)
	d.needs(agentTcgen05)
	d.needsProxies()
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) { w.tcgenMma(in, op, m) }
}

// tcgenScaleVec takes .block_scale and the number of scales to a row.
func (d *decoder) tcgenScaleVec(op *tcgenOp) {
	if d.flag("block_scale") != (op.kind.blocks != nil) {
		d.lacks("%s and .block_scale", op.kind.name)
		return
	}
	if op.kind.blocks == nil {
		return
	}
	vec := d.oneOf("scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32")
	switch {
	case vec == "block16":
		op.blocks = op.kind.depth / 16
	case vec == "block32":
		op.blocks = op.kind.depth / 32
	case vec != "":
		op.blocks = blocksOf[vec]
	case len(op.kind.blocks) == 1:
		op.blocks = op.kind.blocks[0]
	}
	for _, n := range op.kind.blocks {
		if n == op.blocks {
			return
		}
	}
	d.lacks("%s with .%s", op.kind.name, vec)
}

// tcgenOperands: [d], a | [a], b, idesc, then [scales of A], [scales of B], enable, or {disabled lanes,} enable{, scale}.
func (d *decoder) tcgenOperands(op *tcgenOp) {
	args := d.st.args
	if len(args) < 5 {
		d.malformed("wrong number of operands")
		return
	}
	desc := func(a *arg, t string) int {
		d.srcArg(a, types[t])
		return len(d.in.src) - 1
	}
	op.d = d.tmemAddress(&args[0])
	if op.aTmem = args[1].kind == argAddr; op.aTmem {
		op.a = d.tmemAddress(&args[1])
	} else {
		op.aDesc = desc(&args[1], "b64")
	}
	op.bDesc = desc(&args[2], "b64")
	op.idesc = desc(&args[3], "b32")
	args = args[4:]
	switch {
	case op.kind.blocks != nil:
		if len(args) != 3 {
			d.malformed("wrong number of operands")
			return
		}
		op.scales = [2]memOp{d.tmemAddress(&args[0]), d.tmemAddress(&args[1])}
		args = args[2:]
	case args[0].kind == argVec && !op.ws:
		if len(args[0].list) != 4*op.group || len(args) < 2 {
			d.malformed("%d words of disabled lanes expected", 4*op.group)
			return
		}
		for i := range args[0].list {
			at := desc(&args[0].list[i], "b32")
			if i == 0 {
				op.disable = at
			}
		}
		args = args[1:]
	}
	d.predSrc(&args[0])
	switch {
	case len(args) == 1:
	case len(args) == 2 && op.kind.scaleD && !op.ws && args[1].kind == argInt && args[1].val < 16:
		op.scaleD = int(args[1].val)
	default:
		d.lacks("this form of tcgen05.mma")
	}
}

// dLayout is how the rows of D that a CTA has lie in its tensor memory (section 9.7.16.10.5): element (m, n) in lane
// lanes(m) + spread*(n/part) of column n%part.
type dLayout struct {
	rows   int // of a CTA
	lanes  func(m int) int
	part   int // columns
	spread int // lanes between parts
	rects  []tmemRect
}

// layoutD gives the layout of D at lane, col, or with the columns of one instruction as n that of A.
func layoutD(m, n, lane, col, group int, ws bool) dLayout {
	l := dLayout{rows: m / group, lanes: func(i int) int { return lane + i }, part: n}
	switch {
	case (ws || group == 2) && l.rows < tmemLanes:
		l.part, l.spread = n*l.rows/tmemLanes, l.rows
		l.rects = []tmemRect{{lane, tmemLanes, col, l.part}}
	case m == 64:
		l.lanes = func(i int) int { return lane + i>>4<<5 + i&15 }
		for q := range 4 {
			l.rects = append(l.rects, tmemRect{lane + 32*q, 16, col, n})
		}
	default:
		l.rects = []tmemRect{{lane, l.rows, col, n}}
	}
	return l
}

// tcgenRun is one tcgen05.mma while it is executed.
type tcgenRun struct {
	w       *warp
	in      *inst
	op      *tcgenOp
	ctas    []*cta // of the group
	x       instrDesc
	m       uint32
	lane    int
	stamp   accessStamp
	d       dLayout
	col     int // of D
	a, b    operandTile
	c       []float64
	undefC  []bool // elements of the old D
	scratch *tcgenScratch
}

// tcgenScratch is memory that the products of a launch use again.
type tcgenScratch struct{ a, b, c []float64 }

func (w *warp) tcgenMma(in *inst, op *tcgenOp, m uint32) {
	w.launch.stats.mma++
	w.launch.lastProgress = w.launch.stats.warpInstrs
	r := &tcgenRun{w: w, in: in, op: op, m: m, lane: w.oneThread(m, "tcgen05.mma"), scratch: &w.launch.tcgen}
	w.tmemGroup(op.group)
	r.ctas = w.pair(op.group, r.lane)
	w.needDefined(in.src[op.idesc], m, "the instruction descriptor")
	x, err := op.kind.decodeInstr(uint32(w.src(in.src[op.idesc])[r.lane]))
	if err == nil {
		err = op.kind.shape(&x, op.group, op.ws)
	}
	if err != nil {
		w.fail(Invalid, m, 0, "instruction descriptor %#x: %v", uint32(w.src(in.src[op.idesc])[r.lane]), err)
	}
	r.x = x
	w.needPred(in.psrc[0].slot, m, "enable-input-d")
	enable := w.pred(in.psrc[0])&m != 0
	dl, dc := w.tmemAddr(in, op.d, m)
	if dl != 0 && !(x.m == 64 && !op.ws && dl == 16) {
		w.fail(TensorMemory, m, tmemBits(dl, dc), "D with M %d at lane %d of tensor memory", x.m, dl)
	}
	r.col, r.d = dc, layoutD(x.m, x.n, dl, dc, op.group, op.ws)
	for _, c := range r.ctas {
		for _, rect := range r.d.rects {
			w.checkTmemAllocated(c, rect, "D of tcgen05.mma", r.lane)
		}
	}
	r.stamp = w.issue(agentTcgen05, m) | accessStamp(r.lane)<<4
	r.readA(dl)
	r.readB()
	if op.blocks > 0 {
		if x.m == 128 && op.group == 2 {
			w.fail(Invalid, m, 0, "block scales of a pair with M 128 are not modelled")
		}
		for i, c := range r.ctas {
			r.scale(c, 0, &r.a, i*r.d.rows, r.d.rows, i)
			r.scale(c, 1, &r.b, 0, x.n, i)
		}
	}
	for i, t := range []*operandTile{&r.a, &r.b} {
		if x.negate[i] {
			for k := range t.v {
				t.v[k] = -t.v[k]
			}
		}
	}
	r.readD(enable)
	product(r.c, &r.a, &r.b, x.m, x.n)
	r.writeD(tmemBits(dl, dc))
}

// room gives n numbers of a buffer, which grows as needed.
func room(b *[]float64, n int) []float64 {
	if cap(*b) < n {
		*b = make([]float64, n)
	}
	return (*b)[:n]
}

// shared reads an operand that a descriptor gives; every CTA of the group has its share of the n rows or columns.
func (r *tcgenRun) shared(t *operandTile, name string, src int, mnMajor bool, n int) {
	w := r.w
	w.needDefined(r.in.src[src], r.m, "the descriptor of "+name)
	v := w.src(r.in.src[src])[r.lane]
	s, err := decodeShared(v, mnMajor)
	e := r.elements(map[string]string{"A": r.x.a, "B": r.x.b}[name])
	if err == nil && mnMajor && (e.bits == 32 && !s.atoms32 || e.bits < 32 && s.atoms32) {
		err = fmt.Errorf("MN-major %s with this swizzle", e.name)
	}
	if err != nil {
		w.fail(Invalid, r.m, 0, "descriptor %#x of %s: %v", v, name, err)
	}
	access := w.access(r.stamp, r.lane, asyncProxy)
	n /= len(r.ctas)
	for i, c := range r.ctas {
		mem := c.shared
		t.readShared(&s, e, i*n, n, func(at int) (data, undef []byte) {
			if at+16 > len(mem.data) {
				w.fail(OutOfBounds, r.m, mem.genericAddr(at), "%s of tcgen05.mma at %#x of shared memory (%d bytes)", name, at, len(mem.data))
			}
			access.read(mem, at, 16)
			return mem.data[at : at+16], mem.undef[at : at+16]
		})
	}
}

func (r *tcgenRun) elements(name string) *elemKind {
	if r.op.kind.packed {
		name += " packed"
	}
	return elemKinds[name]
}

func (r *tcgenRun) readB() {
	k := r.op.kind.depth
	r.b = operandTile{v: room(&r.scratch.b, r.x.n*k), depth: k, panel: true}
	r.shared(&r.b, "B", r.op.bDesc, r.x.mnMajor[1], r.x.n)
}

// readA reads A from shared memory, or from tensor memory, where a row lies in the lane of the row of D, its
// elements packed into 8 columns (section 9.7.16.10.4): floats of 4 and 6 bits have a byte each.
func (r *tcgenRun) readA(dLane int) {
	op, w, k := r.op, r.w, r.op.kind.depth
	r.a = operandTile{v: room(&r.scratch.a, r.x.m*k), depth: k}
	if !op.aTmem {
		r.shared(&r.a, "A", op.aDesc, r.x.mnMajor[0], r.x.m)
		return
	}
	lane, col := w.tmemAddr(r.in, op.a, r.m)
	switch {
	case r.x.mnMajor[0]:
		w.fail(Invalid, r.m, 0, "A in tensor memory is K-major")
	case op.ws && r.x.m < tmemLanes:
		w.fail(Invalid, r.m, 0, "A in tensor memory of weight-stationary products with M %d is not modelled", r.x.m)
	case lane != dLane:
		w.fail(TensorMemory, r.m, tmemBits(lane, col), "A at lane %d of tensor memory, D at lane %d", lane, dLane)
	}
	e := r.elements(r.x.a)
	if c := containers[r.x.a]; c != nil && !op.kind.packed {
		e = byteElements(c)
	}
	var v [32]float64
	var b [16]byte
	l := layoutD(r.x.m, 8, lane, col, 1, false)
	if op.group == 2 {
		l = layoutD(tmemLanes, 8, lane, col, 1, false)
	}
	for n, c := range r.ctas {
		for _, rect := range l.rects {
			t := w.checkTmemAllocated(c, rect, "A of tcgen05.mma", r.lane)
			w.tmemRead(t, rect, tmemAccess{r.stamp, w.curPC, tmemUse{class: useMma}}, r.lane)
		}
		for i := range r.d.rows {
			row := n*r.d.rows + i
			at := l.lanes(i)*tmemColumns + col
			r.sameCopy(c.tmem, i, at)
			for half := range 2 {
				for j := range 4 {
					writeBytes(b[:], 4*j, 4, uint64(c.tmem.data[at+4*half+j]))
					if c.tmem.undef[at+4*half+j] != 0 {
						r.a.taint(row)
					}
				}
				e.decode(b[:], &v)
				copy(r.a.v[row*k+half*e.per:], v[:e.per])
			}
		}
	}
}

// sameCopy checks that a pair with M 128 has every row of A twice, 64 lanes apart.
func (r *tcgenRun) sameCopy(t *tmem, i, at int) {
	if r.op.group == 1 || r.d.rows == tmemLanes {
		return
	}
	other := at + 64*tmemColumns
	for j := range 8 {
		if t.data[at+j] != t.data[other+j] || t.undef[at+j] != t.undef[other+j] {
			r.w.fail(Invalid, r.m, tmemBits(i+64, at%tmemColumns+j), "row %d of A differs between lanes %d and %d of tensor memory", i, i, i+64)
		}
	}
}

// byteElements are elements with a byte each.
func byteElements(table *[256]float64) *elemKind {
	return &elemKind{per: 16, bits: 8, decode: func(b []byte, v *[32]float64) {
		for i := range 16 {
			v[i] = table[b[i]]
		}
	}}
}

// scale multiplies n rows of A from row on, or all columns of B, by the scales that a CTA has. That of block b of row i
// is byte first+b of the word in lane i%32 of column i/32, and the word stands in all four quarters (section
// 9.7.16.10.7). Of a pair both have the scales of B: the second only checks them.
func (r *tcgenRun) scale(cta *cta, which int, t *operandTile, row, n, again int) {
	w, op := r.w, r.op
	first := r.x.scaleFirst[which]
	values := scaleValues["ue8m0"]
	if !r.x.ue8m0 {
		values = scaleValues["ue4m3"]
		if op.blocks != 4 {
			w.fail(Invalid, r.m, 0, "scales of ue4m3 need four to a row")
		}
	}
	if first%op.blocks != 0 {
		w.fail(Invalid, r.m, 0, "scales from byte %d with %d to a row", first, op.blocks)
	}
	lane, col := w.tmemAddr(r.in, op.scales[which], r.m)
	if lane &= 0x3fff; lane != 0 { // CUTLASS keeps the id in the upper bits
		w.fail(TensorMemory, r.m, tmemBits(lane, col), "scales at lane %d of tensor memory", lane)
	}
	rect := tmemRect{0, tmemLanes, col, (n + 31) / 32}
	what := [2]string{"scales of A of tcgen05.mma", "scales of B of tcgen05.mma"}[which]
	mem := w.checkTmemAllocated(cta, rect, what, r.lane)
	w.tmemRead(mem, rect, tmemAccess{r.stamp, w.curPC, tmemUse{class: useMma}}, r.lane)
	mask := uint32(widthMask(8*op.blocks)) << (8 * first)
	per := t.depth / op.blocks
	for i := range n {
		at := i%32*tmemColumns + col + i/32
		word := mem.data[at]
		for q := range 4 {
			copyAt := at + 32*q*tmemColumns
			if mem.undef[copyAt]&mask != 0 {
				t.taint(row + i)
			} else if (mem.data[copyAt]^word)&mask != 0 {
				w.fail(Invalid, r.m, tmemBits(i%32+32*q, col+i/32), "%s: row %d has %#x in lane %d, but %#x in lane %d", what, i, word, i%32, mem.data[copyAt], i%32+32*q)
			}
		}
		if which == 1 && again > 0 {
			if other := r.ctas[0].tmem.data[at]; (other^word)&mask != 0 {
				w.fail(Invalid, r.m, tmemBits(i%32, col+i/32), "%s: row %d has %#x in one CTA of the pair, but %#x in the other", what, i, other, word)
			}
			continue
		}
		for k := range t.depth {
			t.v[t.index(row+i, k)] *= values[word>>(8*(first+k/per))&0xff]
		}
	}
}

// accumUse says that D is used as the accumulator of a shape.
func (r *tcgenRun) accumUse(addr uint64) tmemUse {
	return tmemUse{class: useMmaAccum, acc: uint32(addr), shape: uint32(r.x.m)<<16 | uint32(r.x.n)<<1 | uint32(bitOf(r.op.ws))}
}

func bitOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// row gives the tensor memory that has row m of D, the lane of its part p and the first cell there.
func (r *tcgenRun) row(m, p int) (t *tmem, lane, at int) {
	lane = r.d.lanes(m%r.d.rows) + p*r.d.spread
	return r.ctas[m/r.d.rows].tmem, lane, lane*tmemColumns + r.col
}

// readD fills the sums with the old D, or zeros.
func (r *tcgenRun) readD(enable bool) {
	x := &r.x
	r.c = room(&r.scratch.c, x.m*x.n)
	if !enable {
		clear(r.c)
		return
	}
	factor := math.Ldexp(1, -r.op.scaleD)
	for m := range x.m {
		for p := range x.n / r.d.part {
			t, _, at := r.row(m, p)
			from := m*x.n + p*r.d.part
			out := r.c[from:][:r.d.part]
			for i, v := range t.data[at : at+r.d.part] {
				switch x.d {
				case "f32":
					out[i] = float64(math.Float32frombits(v)) * factor
				case "f16":
					out[i] = float64(f16values[v&0xffff]) * factor
				default:
					out[i] = float64(int32(v))
				}
			}
			for i, u := range t.undef[at : at+r.d.part] {
				if u == 0 || x.d == "f16" && u&0xffff == 0 {
					continue
				}
				if r.undefC == nil {
					r.undefC = make([]bool, x.m*x.n)
				}
				r.undefC[from+i] = true
			}
		}
	}
}

// writeD rounds the sums. An f16 takes the lower half of a column and leaves the upper half open.
func (r *tcgenRun) writeD(addr uint64) {
	x, w := &r.x, r.w
	use := tmemAccess{r.stamp, w.curPC, r.accumUse(addr)}
	for _, c := range r.ctas {
		for _, rect := range r.d.rects {
			w.tmemWrite(c.tmem, rect, use, r.lane)
		}
	}
	disabled := r.disabled()
	for m := range x.m {
		for p := range x.n / r.d.part {
			t, lane, at := r.row(m, p)
			if disabled[m/r.d.rows*4+lane>>5]>>(lane&31)&1 != 0 {
				continue
			}
			from := m*x.n + p*r.d.part
			undef := t.undef[at : at+r.d.part]
			r.round(t.data[at:at+r.d.part], r.c[from:from+r.d.part])
			if x.d == "f16" {
				for i := range undef {
					undef[i] = 0xffff0000
				}
			} else {
				clear(undef)
			}
			r.undefRow(m, p, undef)
		}
	}
}

// round writes sums as elements of D.
func (r *tcgenRun) round(out []uint32, sums []float64) {
	if r.x.d == "f32" {
		for i, v := range sums {
			out[i] = roundF32(v)
		}
		return
	}
	for i, v := range sums {
		switch {
		case r.x.d == "f16":
			out[i] = fmtF16.round(v, rn, false)
		case r.x.saturate:
			out[i] = uint32(int32(min(max(v, -1<<31), 1<<31-1)))
		default:
			out[i] = uint32(int64(v))
		}
	}
}

// undefRow marks what depends on undefined bits of A, B or the old D.
func (r *tcgenRun) undefRow(m, p int, undef []uint32) {
	whole := r.a.undef != nil && r.a.undef[m]
	if !whole && r.b.undef == nil && r.undefC == nil {
		return
	}
	for i := range undef {
		n := p*r.d.part + i
		if whole || r.b.undef != nil && r.b.undef[n] || r.undefC != nil && r.undefC[m*r.x.n+n] {
			undef[i] = ^uint32(0)
		}
	}
}

// disabled gives the lanes whose results are not written, as four words of each CTA.
func (r *tcgenRun) disabled() (words [8]uint32) {
	if r.op.disable < 0 {
		return
	}
	for i := range 4 * r.op.group {
		o := r.in.src[r.op.disable+i]
		r.w.needDefined(o, r.m, "the mask of disabled lanes")
		words[i] = uint32(r.w.src(o)[r.lane])
	}
	return
}
