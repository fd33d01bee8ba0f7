package bytecode

import "encoding/binary"

// frame reads the frame that all table sections share: a count, padding up to the size of an offset, one offset for each
// entry relative to the end of the offsets, and the bytes of the entries.
func (c *cursor) frame(plural, singular string, offsetSize int) (n int, offsets, blob []byte) {
	count := c.varint("number of " + plural)
	if !c.ok() || count == 0 {
		return 0, nil, nil
	}
	if limit := c.rest() / offsetSize; c.ok() && count > uint64(limit) && offsetSize == 4 {
		c.fail("number of %s (%d) exceeds the maximum of %d that can fit in the remaining payload of %d bytes.",
			plural, count, limit, c.rest())
	}
	c.pad(offsetSize)
	if c.ok() && count > uint64(c.rest()/offsetSize) {
		c.fail("insufficient data for %s indices", singular)
	}
	offsets = c.bytes(int(count)*offsetSize, "offsets of "+plural)
	if !c.ok() {
		return 0, nil, nil
	}
	blob = c.data[c.pos:]
	c.pos = len(c.data)
	return int(count), offsets, blob
}

// stringTable reads the table of strings. Its offsets are not checked, as in the official reader: a string begins and ends
// where the data does if its offsets lie elsewhere. wild says that the strings are longer than the data, because they overlap.
func (c *cursor) stringTable() (list []string, wild bool) {
	n, offsets, blob := c.frame("strings", "string", 4)
	all, total := string(blob), 0
	list = make([]string, n)
	for i := range list {
		start, end := min(offset(offsets, 4, i), uint64(len(blob))), uint64(len(blob))
		if i+1 < n {
			end = min(offset(offsets, 4, i+1), end)
		}
		if end < start { // the difference of the offsets wraps around in the official reader
			end = uint64(len(blob))
		}
		list[i] = all[start:end]
		total += len(list[i])
	}
	return list, total > len(all)
}

// table reads the other tables, whose offsets must be in order. The last entry takes what is left.
func (c *cursor) table(plural, singular string, offsetSize int) [][]byte {
	n, offsets, blob := c.frame(plural, singular, offsetSize)
	if n == 0 {
		return nil
	}
	place := c.pos
	c.pos -= len(blob) // for messages
	entries := make([][]byte, n)
	start := offset(offsets, offsetSize, 0)
	first := start
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
	if first != 0 {
		c.fail("invalid %s start indices: the first is %d", singular, first)
	}
	c.pos = place
	return entries
}

func offset(offsets []byte, size, i int) uint64 {
	if size == 4 {
		return uint64(binary.LittleEndian.Uint32(offsets[4*i:]))
	}
	return binary.LittleEndian.Uint64(offsets[8*i:])
}
