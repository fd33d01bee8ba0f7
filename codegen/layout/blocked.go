package layout

// Blocked spreads a tile over warps the way a row-major array is loaded: order lists the dimensions, fastest first; a thread
// holds vec consecutive elements, neighbouring lanes continue the row, the remaining lanes and the warps take the next rows,
// and what is left becomes more registers. A 64x64 tile, vec 8, order {1, 0}, 4 warps (c and r are column and row bits):
//
//	reg0-2 -> c0 c1 c2   one vector access      lane0-2 -> c3 c4 c5   8 lanes cover a row
//	lane3-4 -> r0 r1     warp0-1 -> r2 r3       reg3-4 -> r4 r5       4 accesses in flight
//
// A row longer than a warp's access stays with that warp, in registers, so that a reduction along it needs no other warp; only
// warps that would idle take parts of rows. A tile with fewer elements than threads is replicated: the high lane bits, then warp bits, get zero bases.
func Blocked(shape []int, vec int, order []int, warps int) Layout {
	return BlockedSpan(shape, vec, vec<<laneBits, order, warps)
}

// BlockedSpan is Blocked where one row of lanes covers at most span elements of the fastest dimension before the next lanes take
// the next row: 128 bytes are enough for whole sectors and let a swizzled copy to shared memory be free of conflicts. vec, span
// and warps are powers of two. The rest of the row goes to lanes and warps that would idle otherwise, then to registers.
func BlockedSpan(shape []int, vec, span int, order []int, warps int) Layout {
	var fast, slow []uint64
	for i, d := range order {
		for b := range log2(shape[d]) {
			if i == 0 {
				fast = append(fast, Bit(shape, d, b))
			} else {
				slow = append(slow, Bit(shape, d, b))
			}
		}
	}
	near := min(log2(max(span, vec)), len(fast))
	rest := fast[near:]
	queue := append(append([]uint64{}, fast[:near]...), slow...)
	take := func(n int) []uint64 {
		n = min(n, len(queue))
		out := queue[:n:n]
		queue = queue[n:]
		return out
	}
	reg := take(log2(vec))
	queue = append(queue[:len(queue):len(queue)], rest...)
	lane := take(laneBits)
	warp := take(log2(warps))
	// What is left: the row first, so that a thread's accesses run along memory.
	queue = append(Intersect(queue, rest), Independent(rest, queue)...)
	reg = append(reg, queue...)
	lane = append(lane, make([]uint64, laneBits-len(lane))...)
	warp = append(warp, make([]uint64, log2(warps)-len(warp))...)
	return Must(shape, Bases{Reg: reg, Lane: lane, Warp: warp})
}

// Uniform is the layout of a value that every thread holds whole: one register per element, all lanes and warps replicas.
func Uniform(shape []int, warps int) Layout {
	return Must(shape, Bases{Reg: units(totalBits(shape)), Lane: make([]uint64, laneBits), Warp: make([]uint64, log2(warps))})
}
