package cost

import (
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
)

// Recurrence is an iteration of a loop that carries a tile and reduces it inside its warps, as the state of linear attention, token after token. Threads compute
// with the tile, which the warps share. What an iteration brings for it is narrow, a row or a column, and each warp does all that this takes: addresses, accesses,
// its way through shared memory. So the fewest warps that can hold the tile are best.
type Recurrence struct {
	Issue     int // warp instructions that compute with the tile, of all warps
	Narrow    int // loads, stores and reductions of narrow tiles, which each warp does
	Registers int // of all threads, for tiles that live at a time
}

// narrowInstrs is the instructions of a warp for each narrow access. A token of the gated delta rule takes 87 beside those that compute with the state, for five
// loads and a store, with 4, 8 and 16 warps.
const narrowInstrs = 15

// Cost is that of the iteration for so many warps. What a thread cannot hold it stores and loads again.
func (r Recurrence) Cost(t *target.Target, warps int) Cost {
	threads := layout.WarpSize * warps
	spilled := max(0, r.Registers/threads+OverheadRegisters-ThreadRegisters(t, warps))
	return Cost{Instrs: r.Issue + warps*(r.Narrow*narrowInstrs+2*spilled)}
}
