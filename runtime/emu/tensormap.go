package emu

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// TensorMap is a tensor map, the 128 opaque bytes that describe a tensor in global memory with the box of a copy (section
// 5.5.8). The ISA names the fields, not their places; Encode puts them at places of the emulator's own, so a map is made by the
// kernel (tensormap.replace) or by this type, never by a driver.
type TensorMap struct {
	Address    uint64    // of element 0, a multiple of 16
	Rank       int       // 1 to 5
	Dims       [5]uint32 // elements, the innermost first
	Strides    [4]uint64 // bytes from index to index of dimensions 1 to 4, multiples of 16
	Box        [5]uint16 // elements, 1 to 256
	Steps      [5]uint8  // element strides, 1 to 8
	Type       uint8     // elemtype of tensormap.replace: an index of mapTypes
	Interleave uint8     // 0: none
	Swizzle    uint8     // 0 none, 1 32 bytes, 2 64 bytes, 3 128 bytes
	Atomicity  uint8     // 0: 16 bytes
	Fill       uint8     // of elements out of bounds: 0 zero, 1 NaN
	Pixels     uint16    // of a map for .im2col: pixels to a column, 1 to 1024, of Box[0] channels each; 0 is a map for boxes
	Lower      [3]int16  // of a map for .im2col: corners of the bounding box in W, H and D, from the first pixel
	Upper      [3]int16  // and from the last
}

// tensormapBytes is the size of a tensor map, mapAlign its alignment.
const (
	tensormapBytes = 128
	mapAlign       = 64
)

// mapTypes are the element types by their number in tensormap.replace.
var mapTypes = []string{"u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "", "f64", "bf16", "tf32", "", "", "", ""}

// Places in the 128 bytes. All zeros are a valid beginning; mapMagic tells that something was put there.
const (
	atAddress, atStrides, atDims, atBox, atSteps = 0, 8, 40, 60, 70
	atRank, atType, atInterleave, atSwizzle      = 75, 76, 77, 78
	atAtomicity, atFill, atPixels                = 79, 80, 82
	atLower, atUpper, atMagic                    = 84, 90, 120
	mapMagic                                     = 0x70614d726f736e54
)

// mapField is a field of tensormap.replace (table in section 9.7.9.28): its place, bytes, how many of them an ordinal chooses from,
// and the largest value, 0 for any.
type mapField struct{ at, size, count, most int }

var mapFields = map[string]mapField{
	"global_address": {atAddress, 8, 1, 0}, "rank": {atRank, 1, 1, 4}, "box_dim": {atBox, 2, 5, 256}, "global_dim": {atDims, 4, 5, 0},
	"global_stride": {atStrides, 8, 4, 0}, "element_stride": {atSteps, 1, 5, 8}, "elemtype": {atType, 1, 1, 15},
	"interleave_layout": {atInterleave, 1, 1, 2}, "swizzle_mode": {atSwizzle, 1, 1, 4}, "swizzle_atomicity": {atAtomicity, 1, 1, 3},
	"fill_mode": {atFill, 1, 1, 1},
}

// Encode gives the 128 bytes.
func (m *TensorMap) Encode() []byte {
	b := make([]byte, tensormapBytes)
	binary.LittleEndian.PutUint64(b[atAddress:], m.Address)
	for i, s := range m.Strides {
		binary.LittleEndian.PutUint64(b[atStrides+8*i:], s)
	}
	for i := range m.Dims {
		binary.LittleEndian.PutUint32(b[atDims+4*i:], m.Dims[i])
		binary.LittleEndian.PutUint16(b[atBox+2*i:], m.Box[i])
		b[atSteps+i] = m.Steps[i]
	}
	b[atRank] = byte(m.Rank - 1)
	b[atType], b[atInterleave], b[atSwizzle], b[atAtomicity], b[atFill] = m.Type, m.Interleave, m.Swizzle, m.Atomicity, m.Fill
	binary.LittleEndian.PutUint16(b[atPixels:], m.Pixels)
	for i := range m.Lower {
		binary.LittleEndian.PutUint16(b[atLower+2*i:], uint16(m.Lower[i]))
		binary.LittleEndian.PutUint16(b[atUpper+2*i:], uint16(m.Upper[i]))
	}
	binary.LittleEndian.PutUint64(b[atMagic:], mapMagic)
	return b
}

// decodeMap reads the 128 bytes.
func decodeMap(b []byte) (m TensorMap, err error) {
	if binary.LittleEndian.Uint64(b[atMagic:]) != mapMagic {
		return m, fmt.Errorf("these 128 bytes are no tensor map")
	}
	m.Address = binary.LittleEndian.Uint64(b[atAddress:])
	for i := range m.Strides {
		m.Strides[i] = binary.LittleEndian.Uint64(b[atStrides+8*i:])
	}
	for i := range m.Dims {
		m.Dims[i] = binary.LittleEndian.Uint32(b[atDims+4*i:])
		m.Box[i] = binary.LittleEndian.Uint16(b[atBox+2*i:])
		m.Steps[i] = b[atSteps+i]
	}
	m.Rank = int(b[atRank]) + 1
	m.Type, m.Interleave, m.Swizzle, m.Atomicity, m.Fill = b[atType], b[atInterleave], b[atSwizzle], b[atAtomicity], b[atFill]
	m.Pixels = binary.LittleEndian.Uint16(b[atPixels:])
	for i := range m.Lower {
		m.Lower[i] = int16(binary.LittleEndian.Uint16(b[atLower+2*i:]))
		m.Upper[i] = int16(binary.LittleEndian.Uint16(b[atUpper+2*i:]))
	}
	return m, m.check()
}

// check holds the fields against the limits of the driver's cuTensorMapEncodeTiled.
func (m *TensorMap) check() error {
	if m.Rank > 5 || int(m.Type) >= len(mapTypes) {
		return fmt.Errorf("tensor map: rank %d, element type %d", m.Rank, m.Type)
	}
	if mapTypes[m.Type] == "" {
		return fmt.Errorf("tensor map: element type %d is not supported", m.Type)
	}
	if m.Interleave != 0 || m.Swizzle > 3 || m.Atomicity > 1 || m.Atomicity == 1 && m.Swizzle != 3 {
		return fmt.Errorf("tensor map: interleave %d, swizzle %d, atomicity %d are not supported", m.Interleave, m.Swizzle, m.Atomicity)
	}
	if m.Address%16 != 0 {
		return fmt.Errorf("tensor map: address %#x is no multiple of 16", m.Address)
	}
	if m.Pixels > 1024 || m.Pixels > 0 && m.Rank < 3 {
		return fmt.Errorf("tensor map: columns of %d pixels in a tensor of rank %d", m.Pixels, m.Rank)
	}
	for i := range m.Rank {
		if (m.Pixels == 0 || i == 0) && (m.Box[i] < 1 || m.Box[i] > 256) || m.Dims[i] < 1 || m.Steps[i] < 1 || m.Steps[i] > 8 {
			return fmt.Errorf("tensor map: dimension %d has extent %d, box %d, element stride %d", i, m.Dims[i], m.Box[i], m.Steps[i])
		}
		if i > 0 && (m.Strides[i-1]%16 != 0 || m.Strides[i-1] >= 1<<40) {
			return fmt.Errorf("tensor map: stride %d of dimension %d is no multiple of 16 below 2^40", m.Strides[i-1], i)
		}
	}
	inner := int(m.Box[0]) * m.elem().bytes()
	if inner%16 != 0 || m.span() > 0 && inner > m.span() || m.Steps[0] != 1 {
		return fmt.Errorf("tensor map: an inner box of %d bytes with a swizzle of %d and an element stride of %d", inner, m.span(), m.Steps[0])
	}
	if m.Fill > 1 || m.Fill == 1 && !m.elem().isFloat() {
		return fmt.Errorf("tensor map: fill mode %d of .%s", m.Fill, mapTypes[m.Type])
	}
	return nil
}

func (m *TensorMap) elem() typ { return types[mapTypes[m.Type]] }

// swizzled gives the address in shared memory of a piece of 16 bytes: its swizzle exchanges atoms of 16 bytes, or of 32.
func (m *TensorMap) swizzled(a int) int {
	if m.Atomicity == 1 {
		return swizzleWide(a)
	}
	return swizzle(a, m.span())
}

// span is the span of the swizzle in bytes.
func (m *TensorMap) span() int { return [4]int{0, 32, 64, 128}[m.Swizzle] }

// counts is the number of elements that a copy takes in every dimension.
func (m *TensorMap) counts() (n [5]int) {
	for i := range n {
		if n[i] = 1; i < m.Rank {
			n[i] = (int(m.Box[i]) + int(m.Steps[i]) - 1) / int(m.Steps[i])
		}
	}
	return n
}

// boundingBox are the first and the last place of the bounding box of .im2col in dimension i, of W, H and D.
func (m *TensorMap) boundingBox(i int) (lower, upper int64) {
	return int64(m.Lower[i-1]), int64(m.Dims[i]) - 1 + int64(m.Upper[i-1])
}

// boxBytes is the size of a box in shared memory: what a copy takes from the transaction count, at edges too.
func (m *TensorMap) boxBytes() int {
	n := m.elem().bytes()
	if m.Pixels > 0 {
		return n * int(m.Box[0]) * int(m.Pixels)
	}
	for _, c := range m.counts() {
		n *= c
	}
	return n
}

// fill is the pattern of an element out of bounds.
func (m *TensorMap) fill() uint64 {
	t := m.elem()
	switch {
	case m.Fill == 0:
		return 0
	case t.bits == 64:
		return 0x7fffffffffffffff
	}
	return uint64(t.fmt.nan) << t.fmt.low
}

// decodeTensormap: tensormap.replace and tensormap.cp_fenceproxy (sections 9.7.9.28 and 9.7.13.16).
func decodeTensormap(d *decoder) {
	d.needsProxies()
	d.c.prog.communicates = true
	switch {
	case d.flag("replace"):
		d.tensormapReplace()
	case d.flag("cp_fenceproxy"):
		d.tensormapCopy()
	default:
		d.lacks("unknown operation")
	}
}

func (d *decoder) tensormapReplace() {
	d.flag("tile")
	var f mapField
	for name, x := range mapFields { // one name at most is among the modifiers
		if slices.Contains(d.mods, name) {
			d.flag(name)
			f = x
		}
	}
	op := &memOp{space: d.decodeSpace(), elem: tensormapBytes, n: 1}
	wide := d.flag("b64")
	if f.size == 0 || !d.flag("b1024") || !wide && !d.flag("b32") || wide != (f.size == 8) {
		d.lacks("this form of tensormap.replace")
		return
	}
	args := d.st.args
	at := f.at
	if f.count > 1 {
		if len(args) != 3 || args[1].kind != argInt || args[1].val >= uint64(f.count) {
			d.malformed("an ordinal below %d expected", f.count)
			return
		}
		at += f.size * int(args[1].val)
	}
	d.srcArg(&args[len(args)-1], types["b"+itoa(8*max(f.size, 4))])
	d.address(&args[0], op)
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		w.needDefined(in.src[0], m, "the new value")
		addr := *w.addresses(in, op, m)
		lanes(m, func(i int) {
			v := w.src(in.src[0])[i]
			if f.most > 0 && v&widthMask(32) > uint64(f.most) {
				w.fail(Invalid, 1<<i, addr[i], "the value %d of a tensor map's field is above %d", v, f.most)
			}
			to := w.locateSpan(op.space, addr[i], tensormapBytes, mapAlign, i, use{"tensor map", Write})
			w.recordMap(to, i, true)
			to.r.write(to.at+at, f.size, v, 0)
			to.r.write(to.at+atMagic, 8, mapMagic, 0)
		})
	}
}

// recordMap is the access of a thread to all bytes of a map, as the generic proxy.
func (w *warp) recordMap(s span, lane int, write bool) {
	for k := 0; k < s.n; k += 16 {
		w.recordRead(s.r, s.at+k, 16, lane, weak)
		if write {
			w.recordWrite(s.r, s.at+k, 16, lane, weak, false)
		}
	}
}

// tensormapCopy: cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src], 128 copies a map, once
// for the warp, and releases it to the proxy of tensor maps.
func (d *decoder) tensormapCopy() {
	for _, m := range []string{"global", "shared::cta", "tensormap::generic", "release", "sync", "aligned"} {
		if !d.flag(m) {
			d.lacks("cp_fenceproxy without .%s", m)
			return
		}
	}
	scope := d.tensormapScope()
	args := d.st.args
	if len(args) != 3 || args[2].kind != argInt || args[2].val != tensormapBytes {
		d.malformed("a size of 128 expected")
		return
	}
	dst, src := &memOp{space: spGlobal, elem: tensormapBytes, n: 1}, &memOp{space: spShared, elem: tensormapBytes, n: 1}
	d.address(&args[0], dst)
	d.address(&args[1], src)
	d.warpWide(func(w *warp, in *inst, m uint32) {
		w.launch.lastProgress = w.launch.stats.warpInstrs
		w.uniform(in.src[dst.addr], m, "address")
		w.uniform(in.src[src.addr], m, "address")
		from := w.locateSpan(spShared, w.laneAddress(in, src, 0), tensormapBytes, mapAlign, 0, use{"tensor map", Read})
		to := w.locateSpan(spGlobal, w.laneAddress(in, dst, 0), tensormapBytes, mapAlign, 0, use{"tensor map", Write})
		w.syncWarp()
		w.recordMap(from, 0, false)
		for k := 0; k < tensormapBytes; k += 16 {
			w.recordWrite(to.r, to.at+k, 16, 0, weak, bytesEqual(to.r, to.at+k, from.r.data[from.at+k:][:16]))
		}
		for k := 0; k < tensormapBytes; k += 8 {
			to.r.write(to.at+k, 8, from.r.read(from.at+k, 8), from.r.readUndef(from.at+k, 8))
		}
		w.releaseMaps(w.live, scope)
	})
}
