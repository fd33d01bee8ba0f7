package layout

import "slices"

// MatrixPlan is an access by ldmatrix or stmatrix (PTX ISA, "ldmatrix"): Num matrices of 8 rows of 16 bytes. Lane i supplies the
// address of row i&7 of matrix i>>3 and ends up with word i of row i>>2 of each matrix; with Trans with column elements instead.
//
// The offset of the row that a thread supplies is XOR of Lane and Warp over its set bits, XOR Offset of the access, in elements
// before padding.
type MatrixPlan struct {
	Trans    bool
	Pairs    int // the register bit of neighbours in memory, where elements of 8 bits are transposed as pairs; else 0
	Num      int // matrices per access: 1, 2 or 4
	Lane     []uint64
	Warp     []uint64
	Accesses []MatrixAccess
}

// MatrixAccess is one instruction: Regs[i] is the first element register of the word of matrix i; the word packs the registers
// Regs[i], Regs[i]+1, ... or, of pairs, registers r = Regs[i], r|1<<Pairs, r+2, r+2|1<<Pairs.
type MatrixAccess struct {
	Regs   []int
	Offset uint64
}

const (
	matrixRows     = 8
	matrixRowBytes = 16
	matrixLaneBits = 2 // lane bits along a row
	wordBits       = 32
)

// LdMatrix tests whether registers of layout l can be loaded from m (or stored to m: stmatrix is the same map) by matrix accesses.
// elemBits is 8, 16 or 32. trans asks for the transposing form, for elements of 16 bits, and for those of 8 bits of which a thread has both of a
// pair of neighbours.
//
// Plain: the register bits of a word and lane bits 0, 1 are the byte bits of a 16-byte row, lane bits 2-4 choose the row.
// Trans: lane bits 2-4 are the 16-bit elements of a row; register bit 0 and lane bits 0, 1 choose the row. All else is free:
// register bits above the word choose matrices and accesses. Of pairs register bit 1 chooses the row, and bit 0 matrices first: the two words that it
// tells apart are the bytes of two words of the tile, one of each neighbour.
func LdMatrix(m MemLayout, l Layout, elemBits int, trans bool) (MatrixPlan, bool) {
	if elemBits != 8 && elemBits != 16 && elemBits != 32 || trans && elemBits == 32 ||
		len(l.bases[Lane]) != LaneBits || len(l.bases[Block]) != 0 || !slices.Equal(l.shape, m.shape) {
		return MatrixPlan{}, false
	}
	inWord := Log2(wordBits / elemBits)
	rowElems := matrixRowBytes * 8 / elemBits
	if len(l.bases[Reg]) < inWord || m.every%rowElems != 0 || m.pad%rowElems != 0 {
		return MatrixPlan{}, false
	}
	reg, lane, warp := m.linear(l.bases[Reg]), m.linear(l.bases[Lane]), m.linear(l.bases[Warp])
	p, free := MatrixPlan{Trans: trans, Warp: warp}, l.FreeMask(Reg)
	inRow, rowBits := slices.Concat(reg[:inWord], lane[:matrixLaneBits]), lane[matrixLaneBits:]
	taken := uint64(1)<<inWord - 1 // register bits that lie in a word or choose its row
	switch {
	case trans && elemBits == 8:
		p.Pairs = slices.Index(reg, 1)
		if p.Pairs < inWord || free&0b11 != 0 {
			return MatrixPlan{}, false
		}
		inRow, rowBits = slices.Insert(slices.Clone(rowBits), 0, 1), slices.Insert(slices.Clone(lane[:matrixLaneBits]), 0, reg[1])
		taken = 1<<1 | 1<<p.Pairs
	case trans:
		inRow, rowBits = rowBits, inRow
	}
	for i, o := range inRow {
		if o != 1<<i {
			return MatrixPlan{}, false
		}
	}
	p.Lane = slices.Clone(rowBits)
	rows := slices.Clone(rowBits) // offsets of bits that select a row
	var choose []int              // register bits that select matrices and accesses
	for i, o := range reg {
		if taken>>i&1 == 0 {
			rows = append(rows, o)
			if free>>i&1 == 0 {
				choose = append(choose, i)
			}
		}
	}
	for _, o := range append(rows, warp...) {
		if o&uint64(rowElems-1) != 0 {
			return MatrixPlan{}, false
		}
	}
	return matrixPlan(p, reg, choose), true
}

// matrixPlan completes a plan whose lanes have the rows of one matrix: of the register bits that choose, the first tell matrices apart, as many as
// one instruction takes, and the others the accesses. reg is the offsets of register bits.
func matrixPlan(p MatrixPlan, reg []uint64, choose []int) MatrixPlan {
	matrices := min(2, len(choose))
	p.Num = 1 << matrices
	for _, i := range choose[:matrices] {
		p.Lane = append(p.Lane, reg[i])
	}
	p.Lane = widen(p.Lane, LaneBits)
	accesses := 1 << (len(choose) - matrices)
	p.Accesses = make([]MatrixAccess, accesses)
	regs := make([]int, accesses*p.Num)
	for a := range p.Accesses {
		acc := &p.Accesses[a]
		first := 0
		for i, bit := range choose[matrices:] {
			first |= a >> i & 1 << bit
		}
		acc.Offset = Matrix{Cols: reg}.apply(uint64(first))
		acc.Regs, regs = regs[:p.Num:p.Num], regs[p.Num:]
		for x := range acc.Regs {
			r := first
			for i, bit := range choose[:matrices] {
				r |= x >> i & 1 << bit
			}
			acc.Regs[x] = r
		}
	}
	return p
}

// Conflict is the bank conflict of the worst matrix of the plan, the number of its wavefronts, by enumeration; 1 is ideal. elemBits as in LdMatrix.
func (p MatrixPlan) Conflict(m MemLayout, elemBits int) int {
	matrix := func(warp, number int, offset uint64) int {
		var rows [matrixRows]int
		for i := range rows {
			rows[i] = m.padded(p.rowOffset(number*matrixRows+i, warp)^offset) * elemBits / 8
		}
		return waveCount(rows[:], matrixRowBytes)
	}
	if m.every == 0 { // offsets are linear: two matrices differ by one exclusive or, which renames banks
		return matrix(0, 0, 0)
	}
	worst := 1 // of any matrix
	for warp := range 1 << len(p.Warp) {
		for _, a := range p.Accesses {
			for x := range p.Num {
				worst = max(worst, matrix(warp, x, a.Offset))
			}
		}
	}
	return worst
}

// rowOffset is the thread's part of the offset of the row that a lane supplies, in elements.
func (p MatrixPlan) rowOffset(lane, warp int) uint64 {
	return Matrix{Cols: p.Lane}.apply(uint64(lane)) ^ Matrix{Cols: p.Warp}.apply(uint64(warp))
}
