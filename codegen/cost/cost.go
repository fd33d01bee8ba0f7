// Package cost is the one cost model: what layouts, conversions, accesses, splits and kernels cost, in small pure functions. Plans
// and layouts are ranked by it, never by a formula of their own.
//
// The package imports codegen/layout, codegen/atom and codegen/target. It must not import an IR, a dialect or a pass.
package cost

import (
	"fmt"
	"math/bits"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
)

// Cost is what a piece of code asks of a multiprocessor, over all warps of a thread block.
type Cost struct {
	Instrs   int // warp instructions issued
	Waves    int // cycles of the shared memory pipe: 128-byte waves, and shuffles
	Sectors  int // of global memory
	Barriers int // block barriers
}

// SectorBytes is the unit in which the second-level cache moves global memory.
const SectorBytes = 32

// Weights of Cycles. A multiprocessor issues 4 warp instructions a cycle and moves 128 bytes of shared memory or one shuffle
// (CUDA programming guide, "Arithmetic Instructions": 32 shuffles a cycle); from the second-level cache come up to 64 bytes a cycle, less where
// all multiprocessors read at once (bytesPerCycle). Waiting at a barrier takes about 30 cycles when warps arrive together.
const (
	instrsPerCycle  = 4
	sectorsPerCycle = 2
	barrierCycles   = 30
)

// Quarters is the estimate in quarter cycles of a multiprocessor, nothing overlapping: Instrs + 4 Waves + 2 Sectors + 120 Barriers.
func (c Cost) Quarters() int {
	return c.Instrs + instrsPerCycle*(c.Waves+c.Sectors/sectorsPerCycle+barrierCycles*c.Barriers)
}

// Plus is both, one after the other.
func (c Cost) Plus(d Cost) Cost {
	return Cost{c.Instrs + d.Instrs, c.Waves + d.Waves, c.Sectors + d.Sectors, c.Barriers + d.Barriers}
}

// Times is n times the cost.
func (c Cost) Times(n int) Cost {
	return Cost{c.Instrs * n, c.Waves * n, c.Sectors * n, c.Barriers * n}
}

func (c Cost) String() string {
	return fmt.Sprintf("%d instructions, %d waves, %d sectors, %d barriers", c.Instrs, c.Waves, c.Sectors, c.Barriers)
}

// Bytes is the size of an element in memory; elements of less than a byte take one.
func Bytes(elemBits int) int { return max(1, elemBits/8) }

// log2PerWord is log2 of the elements that share a 32-bit register.
func log2PerWord(elemBits int) int {
	n := 0
	for max(elemBits, 8)<<n < 32 {
		n++
	}
	return n
}

// Conversion is the cheapest plan that brings a tile from one layout to another, and its cost:
//
//	identity  nothing
//	rename    nothing, when words stay words; else one prmt per word of the result
//	shuffle   per word: the rounds that move data, each an instruction and a wave; per swap one select. Elements narrower than a
//	          word that change their place in it are moved one by one, and unpacked and packed besides
//	shared    accesses on both sides, their waves, and a barrier (none inside a warp, where a warp barrier is an instruction)
//
// A shuffle is only taken when it is cheaper than shared memory.
func Conversion(src, dst layout.Layout, elemBits int) (layout.Plan, Cost) {
	p := layout.Convert(src, dst)
	warps := dst.Warps() * dst.Blocks()
	out := Registers(dst.Regs(), elemBits)
	switch p.Kind {
	case layout.Identity:
		return p, Cost{}
	case layout.RegRename:
		if _, ok := p.Words(log2PerWord(elemBits)); ok {
			return p, Cost{}
		}
		return p, Cost{Instrs: out * warps}
	case layout.Shuffle:
		c := shuffleCost(p, src, dst, elemBits).Times(warps)
		through := layout.ConvertShared(src, dst)
		if s := sharedCost(through, src, dst, elemBits); s.Quarters() < c.Quarters() {
			return through, s
		}
		return p, c
	}
	return p, sharedCost(p, src, dst, elemBits)
}

// shuffleCost is of one warp.
func shuffleCost(p layout.Plan, src, dst layout.Layout, elemBits int) Cost {
	perElem := max(1, elemBits/32) // 64-bit values move in two halves
	repack := 0
	if w, ok := p.Words(log2PerWord(elemBits)); ok {
		p = w
	} else {
		repack = src.Regs() + Registers(dst.Regs(), elemBits)
	}
	moves := 0
	for _, r := range p.Rounds {
		if !p.LaneIdentity || r.Xor != 0 {
			moves++
		}
	}
	selects := (len(p.Pre) + len(p.Post)) * len(p.Rounds)
	return Cost{Instrs: (moves+selects)*perElem + repack, Waves: moves * perElem}
}

func sharedCost(p layout.Plan, src, dst layout.Layout, elemBits int) Cost {
	bytes := Bytes(elemBits)
	s := layout.SharedLayout(src, dst, bytes)
	side := func(l layout.Layout, vec int) Cost {
		accesses := max(1, l.Regs()>>bits.OnesCount64(l.FreeMask(layout.Reg))/vec) * l.Warps() * l.Blocks()
		return Cost{Instrs: accesses, Waves: accesses * wavesOf(bytes*vec)}
	}
	c := side(src, s.StoreVec).Plus(side(dst, s.LoadVec))
	if p.WarpLocal {
		return c.Plus(Cost{Instrs: dst.Warps()})
	}
	return c.Plus(Cost{Barriers: 1})
}

// wavesOf is the number of 128-byte waves of a warp's access of so many bytes a lane.
func wavesOf(vecBytes int) int { return max(1, vecBytes*layout.WarpSize/waveBytes) }

// waveBytes is what shared memory moves in a cycle.
const waveBytes = 128

// SharedAccess is the cost of loading or storing a tile at a memory layout, vec elements at a time.
func SharedAccess(m layout.MemLayout, l layout.Layout, elemBits, vec int) (Cost, error) {
	waves, _, _, err := layout.Wavefronts(m, l, Bytes(elemBits), vec)
	if err != nil {
		return Cost{}, err
	}
	v, _ := m.Vectors(l, vec)
	return Cost{Instrs: len(v.Groups) * l.Warps(), Waves: waves}, nil
}

// MatrixAccess is the cost of an access by ldmatrix or stmatrix: a wave per matrix and conflict.
func MatrixAccess(p layout.MatrixPlan, m layout.MemLayout, elemBits int) Cost {
	accesses := len(p.Accesses) << len(p.Warp)
	return Cost{Instrs: accesses, Waves: accesses * p.Num * p.Conflict(m, elemBits)}
}

// Registers is the number of 32-bit registers a thread needs for so many elements of a tile; packed elements count once, a bit as a byte.
func Registers(elements, elemBits int) int { return (elements*max(elemBits, 8) + 31) / 32 }

// SharedBytes is the shared memory of a buffer.
func SharedBytes(m layout.MemLayout, elemBits int) int { return m.Size() * Bytes(elemBits) }

// Product is the cost of a tiling's instructions and of bringing its operands from shared memory once. Warps that share rows of A or columns of B each
// load them, 16 bytes a lane, as ldmatrix does: that is what a split decides. Instructions of groups read there themselves. Tensor is the cycles of the
// matrix unit, a quarter of a multiprocessor to each warp.
func Product(t atom.Tiling) (c Cost, tensor int) {
	a, warps := t.Atom, t.Split.Warps()
	steps := t.Repeat.Batch * t.Repeat.M * t.Repeat.N * t.Repeat.K
	products := a.Shape.M * a.Shape.N * a.Shape.K / a.Warps()
	if a.Scalar() {
		products *= layout.WarpSize // every lane has its own
	}
	tensor = steps * max(1, products/a.Rate) * max(1, (warps+3)/4)
	if a.Group > 0 {
		bytes := a.Shape.N * a.Shape.K * Bytes(a.B.Bits())
		if a.SharedA {
			bytes += a.Shape.M * a.Shape.K * Bytes(a.A.Bits())
		}
		instrs := steps * warps
		if a.Tensor != nil {
			instrs /= a.Group // one thread begins it
		}
		return Cost{Instrs: instrs, Waves: steps * warps / a.Group * bytes / waveBytes}, tensor
	}
	held := t.Held()
	perThread := held.A*Bytes(a.A.Bits()) + held.B*Bytes(a.B.Bits())
	loads := (perThread + 15) / 16 * warps
	return Cost{Instrs: steps*warps + loads, Waves: loads * wavesOf(16)}, tensor
}
