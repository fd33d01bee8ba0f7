package bytecode

import "encoding/binary"

// encoder appends encoded values to a buffer.
type encoder struct {
	buf  []byte
	wide []byte // tenth bytes that the next varints of ten bytes get instead of 01, see Origin
}

func (e *encoder) byte(b byte) { e.buf = append(e.buf, b) }

func (e *encoder) varint(v uint64) {
	before := len(e.buf)
	e.buf = binary.AppendUvarint(e.buf, v)
	if len(e.wide) > 0 && len(e.buf)-before == 10 {
		e.buf[len(e.buf)-1] = e.wide[0]
		e.wide = e.wide[1:]
	}
}

// svarint writes the zigzag form, in 64 bits.
func (e *encoder) svarint(v int64) { e.varint(uint64(v)<<1 ^ uint64(v>>63)) }

func (e *encoder) bool(b bool) {
	if b {
		e.byte(1)
	} else {
		e.byte(0)
	}
}

// pad fills up to a multiple of the alignment.
func (e *encoder) pad(alignment int) {
	for len(e.buf)%alignment != 0 {
		e.byte(padByte)
	}
}

func (e *encoder) fill(n int) {
	for ; n > 0; n-- {
		e.byte(padByte)
	}
}

func (e *encoder) i32s(vs []int32) {
	e.varint(uint64(len(vs)))
	for _, v := range vs {
		e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(v))
	}
}

func (e *encoder) i64s(vs []int64) {
	e.varint(uint64(len(vs)))
	for _, v := range vs {
		e.buf = binary.LittleEndian.AppendUint64(e.buf, uint64(v))
	}
}

// narrow converts dimensions of views, which their types keep within 32 bits.
func narrow(vs []int64) []int32 {
	ws := make([]int32, len(vs))
	for i, v := range vs {
		ws[i] = int32(v)
	}
	return ws
}

// entries is a table under construction: each entry has a number, equal entries the same one.
type entries struct {
	list  [][]byte
	index map[string]uint64
}

// newEntries starts with entries of a file; of equal ones the first is used.
func newEntries(origin [][]byte) *entries {
	t := &entries{index: make(map[string]uint64, len(origin))}
	for _, e := range origin {
		if _, ok := t.index[string(e)]; !ok {
			t.index[string(e)] = uint64(len(t.list))
		}
		t.list = append(t.list, e)
	}
	return t
}

func (t *entries) add(e []byte) uint64 {
	if i, ok := t.index[string(e)]; ok {
		return i
	}
	i := uint64(len(t.list))
	t.index[string(e)] = i
	t.list = append(t.list, e)
	return i
}

// table writes the frame of a table section; see cursor.table. The padding after an empty count is the caller's.
func (e *encoder) table(list [][]byte, offsetSize int) {
	e.varint(uint64(len(list)))
	if len(list) == 0 {
		return
	}
	e.pad(offsetSize)
	var at uint64
	for _, entry := range list {
		if offsetSize == 4 {
			e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(at))
		} else {
			e.buf = binary.LittleEndian.AppendUint64(e.buf, at)
		}
		at += uint64(len(entry))
	}
	for _, entry := range list {
		e.buf = append(e.buf, entry...)
	}
}
