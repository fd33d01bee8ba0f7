package nvvm

import (
	"math/bits"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

const fullMask = 0xFFFFFFFF // every lane takes part

// convertLayout realises what lower-conversions left: a renaming of registers or shuffles inside a warp.
func convertLayout(f *fn, op *ir.Op) {
	x := f.source(op)
	from, to := tileaa.AsTile(op.Operand(0)), tileaa.AsTile(op.Result(0))
	plan := layout.Convert(layoutOf(from, f.warps), layoutOf(to, f.warps))
	switch plan.Kind {
	case layout.Identity:
		f.set(op, x)
	case layout.RegRename:
		f.set(op, f.pick(x, plan.Regs))
	case layout.Shuffle:
		f.set(op, f.shuffled(x, plan, numRegs(to)))
	default:
		f.bug("a conversion through %s memory was left: %s to %s", plan.Kind, ir.ShortType(from), ir.ShortType(to))
	}
}

// shuffled carries out a shuffle plan, on words when elements keep their places in them.
func (f *fn) shuffled(x *tile, plan layout.Plan, n int) *tile {
	if x.packs() && n >= x.per {
		if words, ok := plan.Words(bits.Len(uint(x.per)) - 1); ok {
			return f.carried(x.elem, n, f.exchange(f.allWords(x), words))
		}
	}
	out := f.newTile(x.elem, n)
	out.regs = f.exchange(f.all(x), plan)
	return out
}

// exchange is the selects and shuffles of layout.Plan.
func (f *fn) exchange(x []reg, plan layout.Plan) []reg {
	x = f.swap(x, plan.Pre)
	var from reg
	if !plan.LaneIdentity {
		cols := make([]uint64, layout.LaneBits+f.warpBits())
		for i, l := range plan.Lanes {
			cols[i] = uint64(l)
		}
		from = f.linear(cols)
	}
	y := make([]reg, len(plan.Rounds))
	for k, round := range plan.Rounds {
		switch {
		case !plan.LaneIdentity:
			y[k] = f.shfl("idx", x[round.Src], f.xor(from, i32(int64(round.Xor))))
		case round.Xor == 0:
			y[k] = x[round.Src]
		default:
			y[k] = f.shfl("bfly", x[round.Src], i32(int64(round.Xor)))
		}
	}
	y = f.swap(y, plan.Post)
	out := make([]reg, len(plan.Regs))
	for r, s := range plan.Regs {
		out[r] = y[s]
	}
	return out
}

// swap exchanges register i with i^Reg in threads whose number has odd parity under Mask.
func (f *fn) swap(x []reg, swaps []layout.Swap) []reg {
	for _, s := range swaps {
		cols := make([]uint64, layout.LaneBits+f.warpBits())
		for i := range cols {
			cols[i] = s.Mask >> i & 1
		}
		odd := f.icmp(ne, f.linear(cols), i32(0))
		y := make([]reg, len(x))
		for i := range x {
			y[i] = f.sel(odd, x[i^s.Reg], x[i])
		}
		x = y
	}
	return x
}

// shfl moves a register of any kind between lanes: mode "bfly" with a mask, "idx" with a lane, "up" and "down" with a distance.
// Out of range lanes of up and down keep their own value.
func (f *fn) shfl(mode string, x, by reg) reg {
	clamp := i32(31)
	if mode == "up" {
		clamp = i32(0)
	}
	move := func(w reg) reg {
		return f.op1("shfl.sync."+mode+".b32", w, by, clamp, con(kI32, fullMask))
	}
	switch x.k {
	case kI32:
		return move(x)
	case kF32:
		return f.cast(move(f.cast(x, kI32)), kF32)
	case kI64, kF64:
		w := f.op("mov.unpack.b64", f.cast(x, kI64))
		return f.cast(f.op1("mov.pack.b64", move(w[0]), move(w[1])), x.k)
	case kI1:
		return f.icmp(ne, move(f.zext(x, kI32)), i32(0))
	}
	return f.trunc(move(f.zext(x, kI32)), x.k)
}
