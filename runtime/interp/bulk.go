package interp

import "encoding/binary"

// The fast path: most accesses are to rows of elements at a uniform stride in one allocation, all of whose bytes are defined and exact. All others
// go through the access of single elements, which reports what is wrong with them.

// span finds n words, step elements apart from one another, of which the first is off elements after base; ok is false for what is left to others.
func (x *access) span(m *machine, n int, base uint64, off, step int64) (a *allocation, at, by int, ok bool) {
	if x.nibble {
		return nil, 0, 0, false
	}
	addr, _ := x.address(base, off)
	by = int(step) * x.bytes
	if addr&uint64(x.bytes-1) != 0 {
		return nil, 0, 0, false
	}
	a, at = m.mem.find(addr, x.bytes)
	if a == nil || a.flags != nil {
		return nil, 0, 0, false
	}
	last := at + (n-1)*by
	return a, at, by, last >= 0 && last <= len(a.data)-x.bytes
}

// readRun reads elements, if it can.
func (x *access) readRun(m *machine, to []uint64, base uint64, off, step int64) bool {
	a, at, by, ok := x.span(m, len(to), base, off, step)
	if !ok {
		return false
	}
	data := a.data
	switch x.bytes {
	case 1:
		for i := range to {
			to[i] = uint64(data[at])
			at += by
		}
	case 2:
		for i := range to {
			to[i] = uint64(binary.LittleEndian.Uint16(data[at:]))
			at += by
		}
	case 4:
		for i := range to {
			to[i] = uint64(binary.LittleEndian.Uint32(data[at:]))
			at += by
		}
	default:
		for i := range to {
			to[i] = binary.LittleEndian.Uint64(data[at:])
			at += by
		}
	}
	switch {
	case x.boolean:
		for i, v := range to {
			to[i] = min(v, 1)
		}
	case x.format != nil && x.format.Bits() != x.format.StorageBits():
		for i, v := range to {
			to[i] = x.format.FromStorage(v)
		}
	}
	return true
}

// writeRun writes elements, if it can; flagged tells that some of them have flags.
func (x *access) writeRun(m *machine, from []uint64, base uint64, off, step int64, flagged bool) bool {
	a, at, by, ok := x.span(m, len(from), base, off, step)
	if !ok || a.readOnly || flagged && !a.ignoreInexact {
		return false
	}
	if x.format != nil && x.format.Bits() != x.format.StorageBits() {
		return false
	}
	data := a.data
	switch x.bytes {
	case 1:
		for _, v := range from {
			data[at] = byte(v)
			at += by
		}
	case 2:
		for _, v := range from {
			binary.LittleEndian.PutUint16(data[at:], uint16(v))
			at += by
		}
	case 4:
		for _, v := range from {
			binary.LittleEndian.PutUint32(data[at:], uint32(v))
			at += by
		}
	default:
		for _, v := range from {
			binary.LittleEndian.PutUint64(data[at:], v)
			at += by
		}
	}
	return true
}
