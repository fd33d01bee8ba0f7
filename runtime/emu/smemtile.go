package emu

// smemTile is a matrix in shared memory as a matrix descriptor says it (section 9.7.15.5.1): rows of M or N, columns of K.
// All sizes are bytes.
//
//	         K-major                                                  MN-major
//	none     start + r%8*16 + r/8*stride + k/16*leading + k%16        start + r%16 + r/16*stride + k%8*16 + k/8*leading
//	swizzled start + r%8*span + r/8*stride + k                        start + r%span + r/span*leading + k%8*span + k/8*stride
//
// where k of K-major and r of MN-major are in bytes. A swizzle then exchanges pieces of 16 bytes (swizzle).
type smemTile struct {
	start, leading, stride int
	span                   int  // of the swizzle: 128, 64, 32 or 0
	across                 bool // MN-major: elements of a column are neighbours
	size                   int  // of an element, bytes
}

// swizzle moves a byte address in shared memory: within 8 pieces of 16 bytes of 128 bytes by the number of the 128 bytes,
// within 4 or 2 for the spans of 64 and 32 (section 5.5.6). Span 0 leaves it.
func swizzle(addr, span int) int {
	if span == 0 {
		return addr
	}
	return addr ^ addr>>7&(span>>4-1)<<4
}

// reserved are the bits of a wgmma descriptor that must be zero.
const reserved = 3<<14 | 3<<30 | 7<<46 | 0x3ff<<52

// wgmmaTile decodes the descriptor of wgmma: bits 0-13 start, 16-29 leading and 32-45 stride offset, all over 16, 49-51 base
// offset, 62-63 swizzle (section 9.7.15.5.1.2).
func wgmmaTile(desc uint64, across bool, size int) (t smemTile, wrong string) {
	field := func(at int) int { return int(desc>>at&0x3fff) << 4 }
	t = smemTile{start: field(0), leading: field(16), stride: field(32), span: [4]int{0, 128, 64, 32}[desc>>62], across: across, size: size}
	switch {
	case desc&reserved != 0:
		wrong = "reserved bits are set"
	case desc>>49&7 != 0:
		wrong = "the base offset is not 0, which is not supported"
	}
	return t, wrong
}

// pieces visits the tile in pieces of 16 bytes: rows elements of M or N by depth elements of K. f gets the row and the k of the
// first element of the piece, and its address.
func (t *smemTile) pieces(rows, depth int, f func(r, k, addr int)) {
	n := 16 / t.size
	if t.across {
		for k := range depth {
			for r := 0; r < rows; r += n {
				b, at := r*t.size, 0
				if t.span == 0 {
					at = t.start + b/16*t.stride + k%8*16 + k/8*t.leading
				} else {
					at = t.start + b%t.span + b/t.span*t.leading + k%8*t.span + k/8*t.stride
				}
				f(r, k, swizzle(at, t.span))
			}
		}
		return
	}
	for r := range rows {
		for k := 0; k < depth; k += n {
			b, at := k*t.size, 0
			if t.span == 0 {
				at = t.start + r%8*16 + r/8*t.stride + b/16*t.leading
			} else {
				at = t.start + r%8*t.span + r/8*t.stride + b
			}
			f(r, k, swizzle(at, t.span))
		}
	}
}
