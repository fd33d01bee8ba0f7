package bytecode

import "encoding/binary"

// table reads the frame that all table sections share: a count, padding up to the size of an offset, one offset for each
// entry relative to the end of the offsets, and the entries. The last entry takes what is left.
func (c *cursor) table(plural, singular string, offsetSize int) [][]byte {
	n := c.varint("number of " + plural)
	if !c.ok() || n == 0 {
		return nil
	}
	if limit := c.rest() / offsetSize; c.ok() && n > uint64(limit) && offsetSize == 4 {
		c.fail("number of %s (%d) exceeds the maximum of %d that can fit in the remaining payload of %d bytes.",
			plural, n, limit, c.rest())
	}
	c.pad(offsetSize)
	if c.ok() && n > uint64(c.rest()/offsetSize) {
		c.fail("insufficient data for %s indices", singular)
	}
	offsets := c.bytes(int(n)*offsetSize, "offsets of "+plural)
	if !c.ok() {
		return nil
	}
	blob := c.data[c.pos:]
	entries := make([][]byte, n)
	start := offset(offsets, offsetSize, 0)
	if start != 0 {
		c.fail("invalid %s start indices: the first is %d", singular, start)
		return nil
	}
	for i := range entries {
		end := uint64(len(blob))
		if i+1 < len(entries) {
			end = offset(offsets, offsetSize, i+1)
		}
		if end < start {
			c.fail("invalid %s start indices: end (%d) is less than start (%d) for %s %d", singular, end, start, singular, i)
			return nil
		}
		if end > uint64(len(blob)) {
			c.fail("%s %d extends beyond available data: size=%d, start=%d, total data size=%d",
				singular, i, end-start, start, len(blob))
			return nil
		}
		entries[i] = blob[start:end:end]
		start = end
	}
	c.pos = len(c.data)
	return entries
}

func offset(offsets []byte, size, i int) uint64 {
	if size == 4 {
		return uint64(binary.LittleEndian.Uint32(offsets[4*i:]))
	}
	return binary.LittleEndian.Uint64(offsets[8*i:])
}
