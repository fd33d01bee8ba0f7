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
func (c *cursor) done() bool { return c.pos >= len(c.data) || !c.ok() }

// fail records an error at the current offset.
func (c *cursor) fail(format string, args ...any) {
	if c.ok() {
		c.silent()
		c.context(c.pos, format, args...)
	}
}

// inside adds a line around a failure that happened, at the current offset.
func (c *cursor) inside(format string, args ...any) { c.context(c.pos, format, args...) }

// unread says that something could not be read; no name is a silent failure.
func (c *cursor) unread(what string) {
	if what == "" {
		c.silent()
	} else {
		c.fail("failed to read %s", what)
	}
}

// after is the rest as a piece of its own, whose offsets count from here.
func (c *cursor) after() *cursor { return &cursor{failure: c.failure, data: c.data[c.pos:]} }

// byte reads one byte; what names it in the message.
func (c *cursor) byte(what string) byte {
	if !c.ok() {
		return 0
	}
	if c.pos >= len(c.data) {
		c.unread(what)
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
		c.unread(what)
	}
	return v
}

func (c *cursor) tryVarint() (uint64, bool) {
	if !c.ok() {
		return 0, true
	}
	var v uint64
	for i := 0; i < 10 && c.pos < len(c.data); i++ {
		b := c.data[c.pos]
		c.pos++
		v |= uint64(b&0x7F) << (7 * i)
		if b < 0x80 {
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

// count reads how many things follow. Nothing is allocated for more of them than the rest of the piece can hold: see room.
func (c *cursor) count(what string) int { return c.counted(c.varint(what)) }

// countOf is count of what has a name that is made when it is asked for.
func (c *cursor) countOf(what func() string) int {
	n, ok := c.tryVarint()
	if !ok {
		c.unread(what())
	}
	return c.counted(n)
}

func (c *cursor) counted(n uint64) int {
	if c.ok() && n > maxCount {
		c.fail("varint value exceeds maximum supported capacity. (expected value less than %d, got %d).", uint64(maxCount), n)
		return 0
	}
	return int(n)
}

// room is how many of n things of at least a byte each to make room for.
func (c *cursor) room(n int) int { return min(n, c.rest()) }

// bytes reads a run of n bytes, which share the memory of the file.
func (c *cursor) bytes(n int, what string) []byte {
	if !c.ok() {
		return nil
	}
	if n > c.rest() {
		c.unread(what)
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
	for c.ok() && c.pos%alignment != 0 {
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
	for c.ok() && c.pos < len(c.data) {
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
	if c.ok() && c.pos < len(c.data) {
		c.fail("%d unused bytes after %s", c.rest(), what)
	}
}

// i32s and i64s read counted arrays of little-endian numbers.
func (c *cursor) i32s(what string) []int32 {
	b := c.elements(4, what)
	vs := make([]int32, len(b)/4)
	for i := range vs {
		vs[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return vs
}

func (c *cursor) i64s(what string) []int64 {
	b := c.elements(8, what)
	vs := make([]int64, len(b)/8)
	for i := range vs {
		vs[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return vs
}

// elements reads a count and as many elements of some bytes. What is missing is missed after the last whole element.
func (c *cursor) elements(size int, what string) []byte {
	n := c.count(what)
	if whole := c.rest() / size; c.ok() && n > whole {
		c.pos += whole * size
		c.unread(what)
	}
	return c.bytes(n*size, what)
}
