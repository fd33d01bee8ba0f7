package nvvm

import (
	"math/bits"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// warpBits is the number of bits of the warp number.
func (f *fn) warpBits() int { return bits.Len(uint(f.warps)) - 1 }

// thread is the number of this thread in its role: lane in bits 0 to 4, warp above.
func (f *fn) thread() reg {
	if f.tid.absent() {
		f.in(f.top, func() {
			f.tid = f.op1("mov.u32.%tid.x")
			if f.firstWarp > 0 {
				f.tid = f.add(f.tid, i32(int64(-layout.WarpSize*f.firstWarp)))
			}
		})
	}
	return f.tid
}

func (f *fn) lane() reg {
	var r reg
	f.in(f.top, func() { r = f.and(f.thread(), i32(31)) })
	return r
}

// linear is the image of the thread number under a linear map: the XOR of cols[i] over the set bits i. It is computed once, at the
// top of the role. Bits that move by the same distance move together:
//
//	(tid & mask0) << d0  ^  (tid & mask1) >> d1  ^ ...
//
// width is the number of thread bits in use: lanes, then warps.
func (f *fn) linear(cols []uint64) reg {
	var id threadMap
	copy(id[:len(cols)], cols)
	if r, ok := f.linears[id]; ok {
		return r
	}
	const zero = 64
	masks := [2 * zero]uint64{} // by distance
	for i, c := range cols {
		for c := c; c != 0; c &= c - 1 {
			masks[zero+bits.TrailingZeros64(c)-i] |= 1 << i
		}
	}
	out := i32(0)
	f.in(f.top, func() {
		for d := len(masks) - 1; d >= 0; d-- {
			if masks[d] == 0 {
				continue
			}
			part := f.thread()
			if masks[d] != uint64(layout.WarpSize*f.warps-1) {
				part = f.and(part, i32(int64(masks[d])))
			}
			if d >= zero {
				part = f.shl(part, d-zero)
			} else {
				part = f.lshr(part, zero-d)
			}
			out = f.xor(out, part)
		}
	})
	ones := uint64(0)
	for _, c := range cols {
		ones |= c
	}
	f.bound(out, ones)
	f.linears[id] = out
	return out
}

// columns is the thread part of a layout: the bases of the lane bits, then of the warp bits.
func (f *fn) columns(l layout.Layout) []uint64 {
	cols := make([]uint64, layout.LaneBits+f.warpBits())
	copy(cols, l.Column(layout.Lane))
	copy(cols[layout.LaneBits:], l.Column(layout.Warp))
	return cols
}

// coordinate says where along one dimension of a tile the elements of this thread lie: Thread plus or, where bits meet, XOR the
// part of the register.
type coordinate struct {
	thread  reg // i32
	bits    uint64
	regPart func(r int) uint64
}

// coordinateOf is the coordinates of a layout along a dimension.
func (f *fn) coordinateOf(l layout.Layout, dim int) coordinate {
	low := 0
	for _, s := range l.Shape()[dim+1:] {
		low += bits.TrailingZeros(uint(s))
	}
	size := uint64(l.Shape()[dim])
	cols := f.columns(l)
	c := coordinate{}
	for i := range cols {
		cols[i] = cols[i] >> low & (size - 1)
		c.bits |= cols[i]
	}
	c.thread = f.linear(cols)
	c.regPart = func(r int) uint64 { return l.Apply(r, 0, 0, 0) >> low & (size - 1) }
	return c
}

// at is the coordinate of register r as an i32.
func (f *fn) at(c coordinate, r int) reg {
	p := c.regPart(r)
	if p&c.bits == 0 {
		return f.add(c.thread, i32(int64(p)))
	}
	return f.xor(c.thread, i32(int64(p)))
}

// flat is the row-major number of the element in register r.
func (f *fn) flat(l layout.Layout, r int) reg {
	return f.xor(f.linear(f.columns(l)), i32(int64(l.Apply(r, 0, 0, 0))))
}

// owners is the predicate of the threads that own their elements of a layout; constant true when all do. Registers that replicate
// others are not owners either: ownRegs lists those that are.
func (f *fn) owners(l layout.Layout) reg {
	free := l.FreeMask(layout.Lane) | l.FreeMask(layout.Warp)<<layout.LaneBits
	for i := l.InBits(layout.Lane); i < layout.LaneBits; i++ {
		free |= 1 << i
	}
	for i := l.InBits(layout.Warp); i < f.warpBits(); i++ {
		free |= 1 << (layout.LaneBits + i)
	}
	if free == 0 {
		return boolean(true)
	}
	var r reg
	f.in(f.top, func() {
		r = f.icmp(eq, f.and(f.thread(), i32(int64(free))), i32(0))
	})
	return r
}

func ownRegs(l layout.Layout) []int {
	var out []int
	free := l.FreeMask(layout.Reg)
	for r := range l.Regs() {
		if uint64(r)&free == 0 {
			out = append(out, r)
		}
	}
	return out
}

// tileLayout is the layout of a tile value; rank 0 is one register that every thread has.
func (f *fn) tileLayout(v *ir.Value) layout.Layout { return layoutOf(tileaa.AsTile(v), f.warps) }
