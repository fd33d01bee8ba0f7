package layout

import "slices"

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
	return BlockedSpan(shape, vec, vec<<LaneBits, order, warps)
}

// BlockedSpan is Blocked where the lanes cover at most span elements of a row before the next ones take the next row: 128 bytes are
// enough for whole sectors and let a swizzled copy to shared memory be free of bank conflicts. The rest of a row goes to lanes and
// warps that would idle otherwise, then to registers. vec, span and warps are powers of two.
func BlockedSpan(shape []int, vec, span int, order []int, warps int) Layout {
	fast, slow := DimBits(shape, order[0]), []uint64(nil)
	for _, d := range order[1:] {
		slow = append(slow, DimBits(shape, d)...)
	}
	near := min(Log2(max(span, vec)), len(fast))
	rest := fast[near:]
	queue := slices.Concat(fast[:near], slow)
	reg := take(&queue, Log2(vec))
	queue = slices.Concat(queue, rest)
	lane := take(&queue, LaneBits)
	warp := take(&queue, Log2(warps))
	// What is left: the row first, so that a thread's accesses run along memory.
	queue = append(Intersect(queue, rest), independent(queue, rest)...)
	return Replicated(shape, slices.Concat(reg, queue), lane, warp, warps)
}

// Across describes a transposing copy: a tile is loaded in vectors of Vec elements along dimension Fast, of which lanes first complete runs of Near elements, and stored
// in vectors of Wide elements, WidestAccess bytes, along the bits Rows.
type Across struct {
	Fast, Vec, Near int
	Rows            []uint64
	Wide            int
}

// BlockedAcross distributes a tile for a transposing copy to swizzled rows of shared memory: a thread has rectangles of a load vector by a store vector, squares where it
// can. Lanes first complete Near elements, then the vectors of a row, so that the lanes of a phase of the store meet different banks, then longer runs of global memory.
// Where a thread has less than a store vector, the lanes of a phase complete it, since the swizzle permutes whole vectors only.
func BlockedAcross(shape []int, a Across, warps int) Layout {
	along, slow := DimBits(shape, a.Fast), a.Rows
	var rest []uint64
	for b := range totalBits(shape) {
		if bit := uint64(1) << b; !slices.Contains(along, bit) && !slices.Contains(slow, bit) {
			rest = append(rest, bit)
		}
	}
	vec := min(a.Vec, shape[a.Fast])
	alone := totalBits(shape) - LaneBits - Log2(warps) - Log2(vec) // further bits of a thread
	reg := take(&along, Log2(vec))
	stored := take(&slow, min(Log2(a.Wide), alone))
	reg = append(reg, stored...)
	sector := take(&along, Log2(a.Near)-Log2(vec))
	var lane []uint64
	if part := Log2(a.Wide) - len(stored); part > 0 {
		lane = append(take(&slow, min(phaseBits(WidestAccess>>part), LaneBits-len(sector))), sector...)
	} else {
		lane = append(sector, take(&slow, phaseBits(WidestAccess)-len(sector))...)
	}
	queue := slices.Concat(along, slow, rest)
	lane = append(lane, take(&queue, LaneBits-len(lane))...)
	warp := take(&queue, Log2(warps))
	return Replicated(shape, slices.Concat(reg, queue), lane, warp, warps)
}

// DimBits are the elements selected by the bits of a dimension, low bit first.
func DimBits(shape []int, dim int) (list []uint64) {
	for b := range Log2(shape[dim]) {
		list = append(list, Bit(shape, dim, b))
	}
	return list
}

// take takes the first n of a list, or as many as there are; none if n is negative.
func take(from *[]uint64, n int) (out []uint64) {
	n = max(0, min(n, len(*from)))
	out, *from = (*from)[:n:n], (*from)[n:]
	return out
}

// Replicated is the layout with these bases, in which the other lanes and warps are replicas.
func Replicated(shape []int, reg, lane, warp []uint64, warps int) Layout {
	lane = append(lane, make([]uint64, LaneBits-len(lane))...)
	warp = append(warp, make([]uint64, Log2(warps)-len(warp))...)
	return Must(shape, Bases{Reg: reg, Lane: lane, Warp: warp})
}

// Uniform is the layout of a value that every thread holds whole: one register per element, all lanes and warps replicas.
func Uniform(shape []int, warps int) Layout {
	return Must(shape, Bases{Reg: units(totalBits(shape)), Lane: make([]uint64, LaneBits), Warp: make([]uint64, Log2(warps))})
}
