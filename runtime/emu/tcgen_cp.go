package emu

import "strings"

// copyShape is a shape of tcgen05.cp (section 9.7.16.9.2): rows of bytes in shared memory, and the lanes that take
// each of them.
type copyShape struct {
	name  string // with the multicast
	rows  int
	bytes int
	lanes func(row int) []int
	use   tmemClass
}

var copyShapes = []copyShape{
	{"128x256b", 128, 32, func(i int) []int { return []int{i} }, useCp},
	{"128x128b", 128, 16, func(i int) []int { return []int{i} }, useCp},
	{"4x256b", 4, 32, func(i int) []int { return []int{32 * i} }, useCp4},
	{"64x128b.warpx2::02_13", 64, 16, func(i int) []int { return []int{i, i + 64} }, useCp},
	{"64x128b.warpx2::01_23", 64, 16, func(i int) []int { return []int{i>>5<<6 + i&31, i>>5<<6 + i&31 + 32} }, useCp},
	{"32x128b.warpx4", 32, 16, func(i int) []int { return []int{i, i + 32, i + 64, i + 96} }, useCp},
}

// copyFormats expand elements of 4 and 6 bits, 16 of them padded to 16 bytes, to a byte each.
var copyFormats = map[string]int{"b8x16.b4x16_p64": 4, "b8x16.b6x16_p32": 6}

// decodeTmemCp: tcgen05.cp.cta_group.shape{.multicast}{.dst_fmt.src_fmt} [taddr], s-desc.
func decodeTmemCp(d *decoder) {
	if d.ctaGroup() == 2 {
		d.lacks("tcgen05.cp.cta_group::2")
	}
	bits := 0
	if text := strings.Join(d.mods, "."); strings.Contains(text, "b8x16") {
		for _, f := range []string{"b8x16.b4x16_p64", "b8x16.b6x16_p32"} {
			if strings.HasSuffix(text, "."+f) {
				bits = copyFormats[f]
				d.mods = splitDots(strings.TrimSuffix(text, "."+f))
			}
		}
	}
	var shape *copyShape
	for i := range copyShapes {
		if copyShapes[i].name == strings.Join(d.mods, ".") {
			shape = &copyShapes[i]
		}
	}
	if shape == nil || !d.nargs(2, 2) {
		d.lacks("this form of tcgen05.cp")
		return
	}
	d.mods = nil
	addr := d.tmemAddress(&d.st.args[0])
	desc := len(d.in.src)
	d.src(1, types["b64"])
	d.needs(agentTcgen05)
	d.needsProxies()
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) { w.tmemCp(in, shape, addr, desc, bits, m) }
}

func (w *warp) tmemCp(in *inst, shape *copyShape, addr memOp, desc, bits int, m uint32) {
	w.launch.lastProgress = w.launch.stats.warpInstrs
	lane := w.oneThread(m, "tcgen05.cp")
	l0, col := w.tmemAddr(in, addr, m)
	w.needDefined(in.src[desc], m, "the descriptor")
	v := w.src(in.src[desc])[lane]
	s, err := decodeShared(v, false)
	if err != nil {
		w.fail(Invalid, m, 0, "descriptor %#x of tcgen05.cp: %v", v, err)
	}
	if l0 != 0 && (shape.use != useCp4 || l0 >= 32) {
		w.fail(TensorMemory, m, tmemBits(l0, col), "tcgen05.cp to lane %d of tensor memory", l0)
	}
	rect := tmemRect{0, tmemLanes, col, shape.bytes / 4}
	w.tmemGroup(1)
	t := w.checkTmemAllocated(w.cta, rect, "tcgen05.cp", lane)
	stamp := w.issue(agentTcgen05, m) | accessStamp(lane)<<4
	w.tmemWrite(t, rect, tmemAccess{stamp, w.curPC, tmemUse{class: shape.use}}, lane)
	access := w.access(stamp, lane, asyncProxy)
	mem := w.cta.shared
	for row := range shape.rows {
		for chunk := 0; chunk < shape.bytes; chunk += 16 {
			at := s.at(row, chunk)
			if at+16 > len(mem.data) {
				w.fail(OutOfBounds, m, mem.genericAddr(at), "tcgen05.cp from %#x of shared memory (%d bytes)", at, len(mem.data))
			}
			access.read(mem, at, 16)
			data, undef := expand(mem.data[at:at+16], bits), expand(mem.undef[at:at+16], bits)
			for _, l := range shape.lanes(row) {
				for k := range 4 {
					cell := (l0+l)*tmemColumns + col + chunk/4 + k
					t.data[cell], t.undef[cell] = uint32(readBytes(data, 4*k, 4)), uint32(readBytes(undef, 4*k, 4))
				}
			}
		}
	}
}

// expand gives 16 elements of 4 or 6 bits a byte each: where a container of section 9.7.14.5.8 has them.
func expand(b []byte, bits int) []byte {
	if bits == 0 {
		return b
	}
	out := make([]byte, 16)
	for i := range out {
		at := i * bits
		x := uint(b[at>>3]) >> (at & 7)
		if at&7+bits > 8 {
			x |= uint(b[at>>3+1]) << (8 - at&7)
		}
		out[i] = byte(x & (1<<bits - 1))
		if bits == 4 {
			out[i] <<= 2
		}
	}
	return out
}
