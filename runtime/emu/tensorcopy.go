package emu

import "strconv"

// copyMode says which elements a tensor copy takes (sections 5.5.3 and 5.5.4).
type copyMode int

const (
	tiled    copyMode = iota // a box
	fourRows                 // .tile::gather4, .tile::scatter4: four rows of a matrix, wherever they lie
	im2col                   // pixels of images, as a convolution asks for them
)

var copyModes = map[string]copyMode{"tile::gather4": fourRows, "tile::scatter4": fourRows, "im2col": im2col, "im2col_no_offs": im2col}

// tensorOperands: [dst], [map, {c0, c1, ..}], [mbar]{, {offsets}}{, ctaMask}; [map, {..}], [src] (section 9.7.9.27.1).
func (d *decoder) tensorOperands(op *bulkOp) {
	for i := 1; i <= 5; i++ {
		if d.flag(strconv.Itoa(i) + "d") {
			op.rank = i
		}
	}
	mode := d.oneOf("tile", "tile::gather4", "tile::scatter4", "im2col", "im2col_no_offs")
	op.mode = copyModes[mode]
	list, offsets := d.coordinates(op)
	switch {
	case d.refused():
		return
	case op.mode == fourRows && (op.rank != 2 || (mode == "tile::gather4") != op.onMbar):
		d.lacks("gather4 loads and scatter4 stores rows of 2 dimensions")
	case op.mode == im2col && (op.rank < 3 || (mode == "im2col") != op.onMbar || len(offsets) != op.rank-2 && op.onMbar):
		d.lacks("im2col loads with offsets, and im2col_no_offs stores, tensors of 3 to 5 dimensions")
	case len(list) != op.rank && op.mode != fourRows, len(list) != 5 && op.mode == fourRows:
		d.malformed("wrong number of coordinates")
	}
	if d.refused() {
		return
	}
	first := len(d.in.src)
	for i := range list {
		d.srcArg(&list[i], types["s32"])
	}
	for i := range offsets {
		d.srcArg(&offsets[i], types["u16"])
	}
	combine := mapReductions(op)
	d.in.exec = func(w *warp, in *inst, m uint32) {
		lanes(m, func(i int) {
			c := tensorCopy{in: in, op: op, first: first, coords: len(list), combine: combine}
			c.run(w, i)
		})
	}
}

// coordinates takes the addresses of a tensor copy and gives the operands between: its coordinates, and its offsets for .im2col.
func (d *decoder) coordinates(op *bulkOp) (list, offsets []arg) {
	args := d.st.args
	want := 2
	for _, more := range []bool{op.onMbar, op.onMbar && op.mode == im2col, op.mask >= 0} {
		if more {
			want++
		}
	}
	if op.rank == 0 || len(args) != want {
		d.malformed("wrong operands of a tensor copy")
		return nil, nil
	}
	at, shared, here, global := 1, &op.dst, &args[0], &op.src
	if !op.onMbar {
		at, shared, here, global = 0, &op.src, &args[1], &op.dst
	}
	d.address(here, shared)
	a := args[at]
	list = a.list
	if len(list) == 1 && list[0].kind == argVec {
		list = list[0].list
	}
	if a.kind != argAddr {
		d.malformed("a tensor map with coordinates expected")
		return nil, nil
	}
	a.list = nil
	global.space = spGeneric
	d.address(&a, global)
	if !op.onMbar {
		return list, nil
	}
	op.mbar = memOp{space: op.dst.space, elem: 8, n: 1}
	d.address(&args[2], &op.mbar)
	args = args[3:]
	if op.mode == im2col {
		offsets, args = vector(&args[0]), args[1:]
	}
	d.lastMask(op, args)
	return list, offsets
}

// mapReductions gives the operation of a reduction by the element type of the map.
func mapReductions(op *bulkOp) (out [16]func(old, v uint64) uint64) {
	if op.reduce == nil {
		return out
	}
	for i, name := range mapTypes {
		if t, ok := types[name]; ok && name != "tf32" {
			d := &decoder{}
			if f := d.bulkReduction(op.elem.named, t); !d.refused() {
				out[i] = f
			}
		}
	}
	return out
}

// tensorCopy is one tensor copy of a lane while it is executed.
type tensorCopy struct {
	*transfer
	in      *inst
	op      *bulkOp
	first   int // index in src of the coordinates
	coords  int // how many there are
	combine [16]func(old, v uint64) uint64
	m       TensorMap
	at      [5]int64 // the coordinates
	offsets [3]int64 // of .im2col: in W, H and D
}

// accesses are what the copy does to shared and to global memory.
func (op *bulkOp) accesses() (shared, global Access) {
	switch {
	case op.onMbar:
		return Write, Read
	case op.reduce != nil:
		return Read, Atomic
	}
	return Read, Write
}

func (c *tensorCopy) run(w *warp, lane int) {
	w.launch.lastProgress = w.launch.stats.warpInstrs
	shared, global := &c.op.dst, &c.op.src
	if !c.op.onMbar {
		shared, global = global, shared
	}
	desc := w.locateSpan(spGeneric, w.laneAddress(c.in, global, lane), tensormapBytes, mapAlign, lane, use{"tensor map", Read})
	c.readMap(w, desc, lane)
	for i := range c.coords {
		o := c.in.src[c.first+i]
		w.needDefined(o, 1<<lane, "a coordinate")
		c.at[i] = int64(int32(uint32(w.src(o)[lane])))
	}
	for i := 0; c.op.mode == im2col && c.op.onMbar && i < c.op.rank-2; i++ {
		o := c.in.src[c.first+c.coords+i]
		w.needDefined(o, 1<<lane, "an offset")
		c.offsets[i] = int64(uint16(w.src(o)[lane]))
	}
	c.transfer = w.transfer(c.in, c.op, lane)
	addr := w.laneAddress(c.in, shared, lane)
	if addr%128 != 0 && addr%16 == 0 {
		w.faultOrNote(Misaligned, lane, addr, "the box of a tensor copy lies at %#x of shared memory, which is no multiple of 128", addr)
	}
	n := c.m.boxBytes()
	if c.op.mode == fourRows {
		n *= 4
	}
	boxAccess, _ := c.op.accesses()
	for _, x := range c.targets {
		box := w.locateSpan(shared.space, x.peer(addr), n, 16, lane, use{"the box of a tensor copy", boxAccess})
		c.issue(x, n)
		c.recordMapRead(desc)
		c.rows(box)
	}
}

// readMap decodes the map.
func (c *tensorCopy) readMap(w *warp, desc span, lane int) {
	addr := desc.r.genericAddr(desc.at)
	if desc.r.space == spShared {
		w.fail(Invalid, 1<<lane, addr, "a tensor map in shared memory")
	}
	for k := 0; k < tensormapBytes; k += 8 {
		if u := desc.r.readUndef(desc.at+k, 8); u != 0 {
			w.fail(Undefined, 1<<lane, addr, "byte %d of the tensor map has never been written", k)
		}
	}
	var err error
	if c.m, err = decodeMap(desc.r.data[desc.at : desc.at+tensormapBytes]); err != nil {
		w.fail(Invalid, 1<<lane, addr, "%v", err)
	}
	if c.m.Rank != c.op.rank {
		w.fail(Invalid, 1<<lane, addr, "a tensor map of rank %d in a copy of %d dimensions", c.m.Rank, c.op.rank)
	}
	if c.op.mode == im2col != (c.m.Pixels > 0) {
		w.fail(Invalid, 1<<lane, addr, "one of the tensor map and the copy is for .im2col, the other is not")
	}
	if c.op.mode == fourRows && c.m.Box[1] != 1 {
		w.fail(Invalid, 1<<lane, addr, "a box of %d rows in a copy of four single ones", c.m.Box[1])
	}
	if c.op.reduce != nil && c.combine[c.m.Type] == nil {
		w.fail(Invalid, 1<<lane, addr, "a reduction .%s of .%s", c.op.elem.named, mapTypes[c.m.Type])
	}
}

// recordMapRead is the access to the map itself, through the proxy of tensor maps.
func (c *tensorCopy) recordMapRead(desc span) {
	a := *c.reads
	a.proxy = tensormapAcquired
	a.read(desc.r, desc.at, tensormapBytes)
}

// rows copies the rows of the box, runs of elements that are neighbours in global memory, one after the other.
func (c *tensorCopy) rows(box span) {
	inner := int(c.m.Box[0]) * c.m.elem().bytes()
	row := make([]byte, 2*inner)
	at := 0
	next := func(x [5]int64) {
		c.row(box, at, x, row[:inner], row[inner:])
		at += inner
	}
	switch c.op.mode {
	case tiled:
		c.boxRows(next)
	case fourRows:
		for _, y := range c.at[1:] {
			next([5]int64{c.at[0], y})
		}
	case im2col:
		c.pixelRows(next)
	}
}

// boxRows gives the coordinates of the rows of a box.
func (c *tensorCopy) boxRows(f func(x [5]int64)) {
	n := c.m.counts()
	var j [5]int
	for j[4] = 0; j[4] < n[4]; j[4]++ {
		for j[3] = 0; j[3] < n[3]; j[3]++ {
			for j[2] = 0; j[2] < n[2]; j[2]++ {
				for j[1] = 0; j[1] < n[1]; j[1]++ {
					x := c.at
					for i := 1; i < c.m.Rank; i++ {
						x[i] += int64(j[i] * int(c.m.Steps[i]))
					}
					f(x)
				}
			}
		}
	}
}

// pixelRows gives the coordinates of the pixels of .im2col: from the place that the coordinates name through the bounding box, W first,
// then H and D, then image after image; the offsets are added at the end (section 5.5.4).
func (c *tensorCopy) pixelRows(f func(x [5]int64)) {
	last := c.m.Rank - 1 // dimension N
	base := c.at
	for i := 1; i < last; i++ {
		if lower, upper := c.m.boundingBox(i); base[i] < lower || base[i] > upper {
			c.w.faultOrNote(Invalid, c.lane, 0, "coordinate %d of dimension %d lies outside of the bounding box, %d to %d", base[i], i, lower, upper)
		}
	}
	for range c.m.Pixels {
		x := base
		for i, o := range c.offsets[:last-1] {
			x[1+i] += o
		}
		f(x)
		i := 1
		for ; i < last; i++ {
			lower, upper := c.m.boundingBox(i)
			if base[i] += int64(c.m.Steps[i]); base[i] <= upper {
				break
			}
			base[i] = lower
		}
		if i == last {
			base[last]++
		}
	}
}

// row copies the row at x; data and undef are room for its bytes.
func (c *tensorCopy) row(box span, at int, x [5]int64, data, undef []byte) {
	size := c.m.elem().bytes()
	addr, inside := c.m.Address, true
	for i := 1; i < c.m.Rank; i++ {
		inside = inside && x[i] >= 0 && x[i] < int64(c.m.Dims[i])
		addr += uint64(x[i]) * c.m.Strides[i-1]
	}
	lo := min(max(0, -c.at[0]), int64(len(data)/size))
	hi := min(int64(len(data)/size), int64(c.m.Dims[0])-c.at[0])
	if !inside || hi < lo {
		lo, hi = 0, 0
	}
	var global span
	if hi > lo {
		_, access := c.op.accesses()
		global = c.w.locateSpan(spGlobal, addr+uint64(c.at[0]+lo)*uint64(size), int(hi-lo)*size, 1, c.lane, use{c.op.what, access})
	}
	from, to := int(lo)*size, int(hi)*size
	if c.op.onMbar {
		c.load(box, at, global, data, undef, from, to)
	} else {
		c.store(box, at, global, data, undef, from, to)
	}
}

// pieces visits the 16-byte pieces of a row in shared memory.
func (c *tensorCopy) pieces(box span, at, n int, f func(k, at int)) {
	for k := 0; k < n; k += 16 {
		f(k, c.m.swizzled(box.at+at+k))
	}
}

// tf32OnTheWay is what a copy makes of an f32 that a map says is tf32: it rounds to nearest even, and leaves infinities and NaN alone. The ISA does not say how it
// rounds; Triton's test of its descriptors shows it on hardware (triton-lang/triton, pull request 11751).
func tf32OnTheWay(bits uint32) uint32 {
	if x := float64(f32(uint64(bits))); x-x == 0 {
		return uint32(fmtTF32.round(x, rn, false))
	}
	return bits
}

func (c *tensorCopy) load(box span, at int, global span, data, undef []byte, from, to int) {
	size := c.m.elem().bytes()
	clear(undef)
	fill := c.m.fill()
	for k := 0; k < len(data); k += size {
		writeBytes(data, k, size, fill)
	}
	if to > from {
		c.reads.read(global.r, global.at, global.n)
		copy(data[from:to], global.r.data[global.at:])
		if global.r.undef != nil {
			copy(undef[from:to], global.r.undef[global.at:])
		}
		if c.m.elem().fmt == fmtTF32 { // f32 in global memory
			for k := from; k < to; k += size {
				writeBytes(data, k, size, uint64(tf32OnTheWay(uint32(readBytes(data, k, size)))))
			}
		}
	}
	c.pieces(box, at, len(data), func(k, at int) {
		c.writes.write(box.r, at, 16)
		copy(box.r.data[at:at+16], data[k:])
		copy(box.r.undef[at:at+16], undef[k:])
	})
}

func (c *tensorCopy) store(box span, at int, global span, data, undef []byte, from, to int) {
	c.pieces(box, at, len(data), func(k, at int) {
		c.reads.read(box.r, at, 16)
		copy(data[k:], box.r.data[at:at+16])
		copy(undef[k:], box.r.undef[at:at+16])
	})
	if to <= from {
		return
	}
	row := &region{name: "box", space: spShared, data: data[from:to], undef: undef[from:to]}
	if f := c.combine[c.m.Type]; f != nil {
		c.combineRow(global, span{row, 0, to - from}, f)
		return
	}
	c.copyBytes(global, span{row, 0, to - from}, 1<<16-1)
}

func (c *tensorCopy) combineRow(to, from span, f func(old, v uint64) uint64) {
	op := *c.op
	op.elem, op.reduce = c.m.elem(), f
	c.transfer.combine(to, from, &op)
}
