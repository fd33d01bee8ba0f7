package emu

import (
	"math/bits"
	"sort"
)

// allocate is the register allocator: it renames the virtual registers of a program to few slots, so that the registers of
// a warp stay in the cache. It is a linear scan over live intervals from liveness by blocks:
//
//	interval of r = from its first to its last pc, extended over every block at whose end r is live
//
// A register that is read before it is written is live from the entry on, so it keeps a slot of its own and
// is still seen as undefined. Diverged lanes do not disturb each other: a slot is a vector of lanes, and every lane
// executes the same code.
func allocate(p *program) {
	if len(p.code) == 0 || p.regs == 0 {
		return
	}
	blocks := splitBlocks(p)
	liveOut, liveIn := liveness(p, blocks)
	first, last := make([]int32, p.regs), make([]int32, p.regs)
	for i := range first {
		first[i], last[i] = noLimit, -1
	}
	touch := func(r int, at int32) {
		first[r], last[r] = min(first[r], at), max(last[r], at)
	}
	for b, bl := range blocks {
		liveIn[b].each(func(r int) { touch(r, int32(bl.from)) })
		liveOut[b].each(func(r int) { touch(r, int32(bl.to)) })
		for at := bl.from; at < bl.to; at++ {
			in := &p.code[at]
			operands(in, func(r opnd, def bool) {
				touch(int(r), int32(at))
				if def && in.asyncDst { // the write may come after the last use: no other register may share the slot
					first[r], last[r] = 0, noLimit
				}
			})
		}
	}
	keepAddressChains(p, first, last)
	pinned := pin(p, first, last)
	rename := scan(first, last)
	n := int32(0)
	for _, s := range rename {
		n = max(n, s+1)
	}
	for i := range p.code {
		in := &p.code[i]
		for k, o := range in.dst {
			if o >= 0 {
				in.dst[k] = opnd(rename[o])
			}
		}
		for k, o := range in.src {
			if o >= 0 {
				in.src[k] = opnd(rename[o])
			}
		}
	}
	p.regs = int(n)
	if pinned != nil {
		p.pinnedNames = make([]string, n)
		for r, name := range pinned {
			p.pinnedNames[rename[r]] = name
		}
		for i := range p.code {
			in := &p.code[i]
			operands(in, func(r opnd, _ bool) {
				in.touchesPinned = in.touchesPinned || in.firstPinned == 0 && p.pinnedNames[r] != ""
			})
		}
	}
}

// pin gives every register that a wgmma in flight uses a slot of its own, and returns their names for reports.
func pin(p *program, first, last []int32) map[opnd]string {
	var pinned map[opnd]string
	for i := range p.code {
		in := &p.code[i]
		if in.firstPinned == 0 {
			continue
		}
		if pinned == nil {
			pinned = map[opnd]string{}
		}
		for _, o := range in.src[in.firstPinned-1:] {
			if o >= 0 {
				first[o], last[o] = 0, int32(len(p.code))
				pinned[o] = p.names[o]
			}
		}
	}
	return pinned
}

// scan gives every interval a slot; an interval may take the slot of one that ends before it begins.
func scan(first, last []int32) []int32 {
	var order []int
	for r := range first {
		if last[r] >= 0 {
			order = append(order, r)
		}
	}
	sort.Slice(order, func(i, j int) bool {
		a, b := order[i], order[j]
		return first[a] < first[b] || first[a] == first[b] && a < b
	})
	slot := make([]int32, len(first))
	var free []int32
	ends := map[int32][]int32{} // slots by the pc where they become free
	var due []int32             // keys of ends, a heap would be faster, sorted insertion is enough
	next := int32(0)
	for _, r := range order {
		for len(due) > 0 && due[0] < first[r] {
			free = append(free, ends[due[0]]...)
			delete(ends, due[0])
			due = due[1:]
		}
		var s int32
		if n := len(free); n > 0 {
			s, free = free[n-1], free[:n-1]
		} else {
			s = next
			next++
		}
		slot[r] = s
		if _, ok := ends[last[r]]; !ok {
			i := sort.Search(len(due), func(i int) bool { return due[i] >= last[r] })
			due = append(due, 0)
			copy(due[i+1:], due[i:])
			due[i] = last[r]
		}
		ends[last[r]] = append(ends[last[r]], s)
	}
	return slot
}

// operands visits the registers of an instruction, sources first.
func operands(in *inst, f func(r opnd, def bool)) {
	for _, o := range in.src {
		if o >= 0 {
			f(o, false)
		}
	}
	for _, o := range in.dst {
		if o >= 0 {
			f(o, true)
		}
	}
}

// block is a run of instructions [from, to) with its successors.
type block struct {
	from, to int
	next     []int
}

// splitBlocks cuts the program at branches and their targets. A return from a function may go after any
// call, so the control flow graph is context-insensitive: ret leads to the instruction after every call.
func splitBlocks(p *program) []block {
	n := len(p.code)
	cut := make([]bool, n+1)
	cut[0], cut[n] = true, true
	var afterCalls []int
	for i := range p.code {
		in := &p.code[i]
		if in.kind != kBranch {
			continue
		}
		cut[i+1] = true
		if in.branchKind != toCaller && in.targets == nil {
			cut[in.target] = true
		}
		for _, t := range in.targets {
			cut[t] = true
		}
		if in.branchKind == toCallee {
			afterCalls = append(afterCalls, i+1)
		}
	}
	var blocks []block
	at := make([]int, n+1)
	for i := 0; i < n; {
		j := i + 1
		for !cut[j] {
			j++
		}
		for k := i; k < j; k++ {
			at[k] = len(blocks)
		}
		blocks = append(blocks, block{from: i, to: j})
		i = j
	}
	connect(p, blocks, at, afterCalls)
	return blocks
}

// connect sets the successors of blocks; at is the block of each instruction. A return leads to what follows any call.
func connect(p *program, blocks []block, at, afterCalls []int) {
	for b := range blocks {
		bl := &blocks[b]
		in := &p.code[bl.to-1]
		add := func(place int) {
			if place < len(p.code) {
				bl.next = append(bl.next, at[place])
			}
		}
		if in.kind != kBranch || in.guard >= 0 {
			add(bl.to)
		}
		switch {
		case in.kind != kBranch:
		case in.branchKind == toCaller:
			for _, c := range afterCalls {
				add(c)
			}
		case in.targets != nil:
			for _, t := range in.targets {
				add(int(t))
			}
		default:
			add(int(in.target))
		}
	}
}

// bitset is a set of registers.
type bitset []uint64

func (s bitset) each(f func(i int)) {
	for k, w := range s {
		for ; w != 0; w &= w - 1 {
			f(k*64 + bits.TrailingZeros64(w))
		}
	}
}

// liveness solves in = use + (out - def) backwards until nothing changes.
func liveness(p *program, blocks []block) (out, in []bitset) {
	words := (p.regs + 63) / 64
	make1 := func() []bitset {
		all := make([]uint64, words*len(blocks))
		s := make([]bitset, len(blocks))
		for i := range s {
			s[i] = all[i*words : (i+1)*words]
		}
		return s
	}
	use, def := make1(), make1()
	out, in = make1(), make1()
	for b, bl := range blocks {
		for i := bl.from; i < bl.to; i++ {
			c := &p.code[i]
			operands(c, func(r opnd, isDef bool) {
				k, bit := r/64, uint64(1)<<(r%64)
				switch {
				case !isDef && def[b][k]&bit == 0:
					use[b][k] |= bit
				case isDef && c.guard < 0 && use[b][k]&bit == 0:
					def[b][k] |= bit
				}
			})
		}
	}
	for changed := true; changed; {
		changed = false
		for b := len(blocks) - 1; b >= 0; b-- {
			for _, s := range blocks[b].next {
				for k, v := range in[s] {
					out[b][k] |= v
				}
			}
			for k := range in[b] {
				v := use[b][k] | out[b][k]&^def[b][k]
				if v != in[b][k] {
					in[b][k] = v
					changed = true
				}
			}
		}
	}
	return out, in
}
