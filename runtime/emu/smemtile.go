package emu

// smemTile is an operand of a matrix instruction in shared memory, as its matrix descriptor gives it (wgmma: section
// 9.7.15.5.1; tcgen05: sections 9.7.16.3 and 9.7.16.4.1): rows of M or N, columns of K. It is read in pieces of 16 bytes, which
// swizzles keep contiguous. r or k, whichever is contiguous, counts bytes:
//
//	         K-major                                                  MN-major
//	none     start + r%8*16 + r/8*stride + k/16*leading + k%16        start + r%16 + r/16*stride + k%8*16 + k/8*leading
//	swizzled start + r%8*span + r/8*stride + k                        start + r%span + r/span*leading + k%8*span + k/8*stride
//	wide                                                              start + r%128 + r/128*leading + k%4*128 + k/4*stride
//
// The swizzle then permutes pieces by the bits of that address.
type smemTile struct {
	start, leading, stride int
	span                   int  // of the swizzle: 128, 64, 32 or 0
	atoms32                bool // it exchanges atoms of 32 bytes; span is 128
	mnMajor                bool // MN-major: elements of a column are neighbours
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

// swizzleWide moves it within 4 atoms of 32 bytes.
func swizzleWide(addr int) int { return addr ^ addr>>7&3<<5 }

// at gives the address of a piece: of row outer at byte b of K, or with MN-major of row outer of K at byte b.
func (t *smemTile) at(outer, b int) int {
	switch {
	case t.atoms32:
		return swizzleWide(t.start + b>>7*t.leading + outer>>2*t.stride + (outer&3)<<7 + b&127)
	case t.mnMajor && t.span > 0:
		return swizzle(t.start+b/t.span*t.leading+outer>>3*t.stride+(outer&7)*t.span+b%t.span, t.span)
	case t.mnMajor:
		return t.start + b>>4*t.stride + outer>>3*t.leading + (outer&7)<<4 + b&15
	case t.span > 0:
		return swizzle(t.start+outer>>3*t.stride+(outer&7)*t.span+b, t.span)
	}
	return t.start + outer>>3*t.stride + (outer&7)<<4 + b>>4*t.leading + b&15
}

// reserved are the bits of a wgmma descriptor that must be zero.
const reserved = 3<<14 | 3<<30 | 7<<46 | 0x3ff<<52

// wgmmaTile decodes the descriptor of wgmma: bits 0-13 start, 16-29 leading and 32-45 stride offset, all over 16, 49-51 base
// offset, 62-63 swizzle (section 9.7.15.5.1.2).
func wgmmaTile(desc uint64, across bool, size int) (t smemTile, wrong string) {
	field := func(at int) int { return int(desc>>at&0x3fff) << 4 }
	t = smemTile{start: field(0), leading: field(16), stride: field(32), span: [4]int{0, 128, 64, 32}[desc>>62], mnMajor: across, size: size}
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
	if t.mnMajor {
		for k := range depth {
			for r := 0; r < rows; r += n {
				f(r, k, t.at(k, r*t.size))
			}
		}
		return
	}
	for r := range rows {
		for k := 0; k < depth; k += n {
			f(r, k, t.at(r, k*t.size))
		}
	}
}
