package bytecode

import (
	"encoding/binary"
	"math"
)

// padByte fills the gaps that alignment leaves.
const padByte = 0xCB

// maxCount is the largest count that the format allows for arrays, dictionaries, regions and results.
const maxCount = math.MaxUint32 - 1

// cursor reads one piece of the file from its start. After a failure every method gives zero.
type cursor struct {
	*failure
	data []byte
	pos  int
	wide []byte // the tenth bytes of the varints read so far: above 01, bits fall off the top
}

func (c *cursor) rest() int  { return len(c.data) - c.pos }
func (c *cursor) done() bool { return c.pos >= len(c.data) || c.err != nil }

// fail records an error at the current offset.
func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.plain(format, args...)
		c.err.Lines[0] = at(c.pos) + c.err.Lines[0]
	}
}

// inside adds a line around an error that happened, at the current offset.
func (c *cursor) inside(format string, args ...any) { c.context(c.pos, format, args...) }

// byte reads one byte; what names it in the message.
func (c *cursor) byte(what string) byte {
	if c.err != nil {
		return 0
	}
	if c.pos >= len(c.data) {
		c.fail("failed to read %s", what)
		return 0
	}
	b := c.data[c.pos]
	c.pos++
	return b
}

// varint reads an unsigned LEB128 number of at most ten bytes. Bits beyond 64 fall off, as in the official reader, and are
// remembered.
func (c *cursor) varint(what string) uint64 {
	v, ok := c.tryVarint()
	if !ok {
		c.fail("failed to read %s", what)
	}
	return v
}

func (c *cursor) tryVarint() (uint64, bool) {
	if c.err != nil {
		return 0, true
	}
	var v uint64
	for i, start := 0, c.pos; i < 10 && start+i < len(c.data); i++ {
		b := c.data[start+i]
		v |= uint64(b&0x7F) << (7 * i)
		if b < 0x80 {
			c.pos = start + i + 1
			if i == 9 {
				c.wide = append(c.wide, b)
			}
			return v, true
		}
	}
	return 0, false
}

// svarint reads a zigzag number: 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
func (c *cursor) svarint(what string) int64 {
	u := c.varint(what)
	return int64(u>>1) ^ -int64(u&1)
}

// count reads how many things follow, each of at least size bytes; more than the rest of the piece can hold is an error,
// so that a count never makes the reader allocate more than the file is long.
func (c *cursor) count(what string, size int) int {
	n := c.varint(what)
	switch {
	case c.err != nil:
	case n > maxCount:
		c.fail("varint value exceeds maximum supported capacity. (expected value less than %d, got %d).", uint64(maxCount), n)
	case n > uint64(c.rest()/size):
		c.fail("failed to read %s: %d do not fit in the remaining %d bytes", what, n, c.rest())
	default:
		return int(n)
	}
	return 0
}

// bytes reads a run of n bytes, which share the memory of the file.
func (c *cursor) bytes(n int, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n > c.rest() {
		c.fail("failed to read %s", what)
		return nil
	}
	b := c.data[c.pos : c.pos+n : c.pos+n]
	c.pos += n
	return b
}

func (c *cursor) u16(what string) uint16 {
	if b := c.bytes(2, what); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// pad skips padding up to a multiple of the alignment, counted from the start of the piece.
func (c *cursor) pad(alignment int) {
	for c.err == nil && c.pos%alignment != 0 {
		if c.pos >= len(c.data) {
			c.fail("failed to skip padding")
			return
		}
		if b := c.data[c.pos]; b != padByte {
			c.fail("invalid padding byte: expected 0x%02X, got 0x%02X", padByte, b)
			return
		}
		c.pos++
	}
}

// tail checks that nothing but padding follows and says how much.
func (c *cursor) tail() int {
	n := c.rest()
	for c.err == nil && c.pos < len(c.data) {
		if b := c.data[c.pos]; b != padByte {
			c.fail("unexpected data: %d bytes follow", c.rest())
			break
		}
		c.pos++
	}
	return n
}

// end checks that nothing follows.
func (c *cursor) end(what string) {
	if c.err == nil && c.pos < len(c.data) {
		c.fail("%d unused bytes after %s", c.rest(), what)
	}
}

// i32s and i64s read counted arrays of little-endian numbers.
func (c *cursor) i32s(what string) []int32 {
	n := c.count(what, 4)
	b := c.bytes(4*n, what)
	if c.err != nil {
		return nil
	}
	vs := make([]int32, n)
	for i := range vs {
		vs[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return vs
}

func (c *cursor) i64s(what string) []int64 {
	n := c.count(what, 8)
	b := c.bytes(8*n, what)
	if c.err != nil {
		return nil
	}
	vs := make([]int64, n)
	for i := range vs {
		vs[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return vs
}
