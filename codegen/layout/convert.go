package layout

import (
	"fmt"
	"math/bits"
	"slices"
)

// Kind says by which means a conversion moves values, cheapest first.
type Kind uint8

const (
	Identity  Kind = iota // nothing moves
	RegRename             // every value is in its thread already, under another register number
	Shuffle               // values move between the lanes of a warp
	Shared                // values go through shared memory
	Cluster               // values must reach another CTA
)

func (k Kind) String() string {
	return [...]string{"identity", "rename", "shuffle", "shared", "cluster"}[k]
}

// maxCrossing is how many register bits shuffles may exchange with lane bits; for more, shared memory is cheaper.
const maxCrossing = 2

// Plan moves the values of a tile from a source layout to a destination layout. Thread numbers are lane + 32*warp. Registers
// below are one element each; Words makes the plan for packed registers.
//
// RegRename: destination register r is source register Regs[r].
//
// Shuffle, for source registers x, in every thread t:
//
//	x'[i] = x[i ^ Pre(t)]                            selects: Pre(t) = XOR of Reg over the swaps whose Mask has odd parity with t
//	y[k]  = x'[Rounds[k].Src] of lane Lane(t) ^ Rounds[k].Xor
//	y'[i] = y[i ^ Post(t)]
//	dst[r] = y'[Regs[r]]
//
// Lane(t) is the XOR of Lanes over the set bits of t. When LaneIdentity, a round is a shfl.bfly with mask Xor, or nothing at all
// when Xor is 0; else it is a shfl.idx.
//
// Shared: WarpLocal says that no value leaves its warp, so that a warp barrier is enough.
type Plan struct {
	Kind         Kind
	Regs         []int
	Pre, Post    []Swap
	Rounds       []Round
	Lanes        []int
	LaneIdentity bool
	WarpLocal    bool
}

// Swap exchanges register i with i^Reg in the threads whose number has odd parity under Mask.
type Swap struct {
	Mask uint64
	Reg  int
}

// Round is one shuffle: the register that each lane supplies, and the constant part of the lane that each lane reads.
type Round struct{ Src, Xor int }

// Convert plans the conversion from layout src to layout dst, by the cheapest means. Of replicas in the source the cheapest is read;
// replicas in the destination are all written. The shapes must be equal, and src must hold every element that dst does.
func Convert(src, dst Layout) Plan {
	if !slices.Equal(src.shape, dst.shape) {
		panic(fmt.Sprintf("layout: conversion of %s to another shape %s", src, dst))
	}
	if src.Equal(dst) {
		return Plan{Kind: Identity}
	}
	c := newConversion(src, dst)
	if regs, ok := c.rename(); ok {
		return Plan{Kind: RegRename, Regs: regs}
	}
	if !c.inBlock() {
		return Plan{Kind: Cluster}
	}
	if !c.inWarp() {
		return Plan{Kind: Shared}
	}
	if p, ok := c.shuffle(); ok && len(p.Pre) <= maxCrossing && len(p.Post) <= maxCrossing {
		return p
	}
	return Plan{Kind: Shared, WarpLocal: true}
}

// Renaming is the conversion that only renames registers: register r of dst is register regs[r] of src, in every thread. ok is false where some thread does not hold
// what it needs, or the register depends on the thread. The shapes may differ as long as the element numbers are the same.
func Renaming(src, dst Layout) (regs []int, ok bool) {
	for d := range src.bases {
		if !slices.Equal(src.bases[d], dst.bases[d]) {
			return newConversion(src, dst).rename()
		}
	}
	regs = make([]int, src.Regs()) // equal layouts, the common case
	for r := range regs {
		regs[r] = r
	}
	return regs, true
}

// ConvertShared plans the conversion through shared memory even where registers or shuffles would do.
func ConvertShared(src, dst Layout) Plan {
	c := newConversion(src, dst)
	if !c.inBlock() {
		return Plan{Kind: Cluster}
	}
	return Plan{Kind: Shared, WarpLocal: c.inWarp()}
}

// Words is the plan for registers that pack 2^log elements each, the low log register bits being the place in the word. ok is
// false when elements change their place in a word: then words must be repacked.
func (p Plan) Words(log int) (Plan, bool) {
	size := 1 << log
	w := p
	w.Regs, w.Rounds, w.Pre, w.Post = nil, nil, nil, nil
	for word := range slices.Chunk(p.Regs, size) {
		for i, r := range word {
			if len(word) < size || r != word[0]+i {
				return Plan{}, false
			}
		}
		w.Regs = append(w.Regs, word[0]/size)
	}
	for word := range slices.Chunk(p.Rounds, size) { // no fewer than fill one, for the registers do
		first := word[0]
		for i, round := range word {
			if round.Src != first.Src+i || round.Xor != first.Xor {
				return Plan{}, false
			}
		}
		w.Rounds = append(w.Rounds, Round{first.Src / size, first.Xor})
	}
	for _, side := range []struct{ from, to *[]Swap }{{&p.Pre, &w.Pre}, {&p.Post, &w.Post}} {
		for _, s := range *side.from {
			if s.Reg%size != 0 {
				return Plan{}, false
			}
			*side.to = append(*side.to, Swap{s.Mask, s.Reg / size})
		}
	}
	return w, true
}

// conversion is a source and a destination with the same number of lane, warp and block bits (missing ones are replicas).
type conversion struct {
	src, dst   [NumDims][]uint64
	sameThread bool // both spread over the same number of warps and blocks
}

func newConversion(src, dst Layout) conversion {
	c := conversion{src: src.bases, dst: dst.bases}
	c.sameThread = len(src.bases[Warp]) == len(dst.bases[Warp]) && len(src.bases[Block]) == len(dst.bases[Block])
	for d := Lane; d < NumDims; d++ {
		n := max(len(c.src[d]), len(c.dst[d]))
		c.src[d], c.dst[d] = widen(c.src[d], n), widen(c.dst[d], n)
	}
	return c
}

func widen(cols []uint64, n int) []uint64 {
	return append(slices.Clone(cols), make([]uint64, n-len(cols))...)
}

// rename finds the source register of every destination register; ok is false where it depends on the thread or is in another one.
func (c conversion) rename() (regs []int, ok bool) {
	for d := Lane; d < NumDims; d++ {
		if !slices.Equal(c.src[d], c.dst[d]) {
			return nil, false
		}
	}
	m := Matrix{Cols: make([]uint64, len(c.dst[Reg]))}
	s := NewSpan(c.src[Reg]...)
	for i, b := range c.dst[Reg] {
		if m.Cols[i], ok = s.Solve(b); !ok {
			return nil, false
		}
	}
	return table(m), c.sameThread
}

// table lists a map on register numbers.
func table(m Matrix) []int {
	images := m.table()
	out := make([]int, len(images))
	for i, x := range images {
		out[i] = int(x)
	}
	return out
}

// within reports whether every place of the destination finds its element in a source place that differs only in input dimensions below d.
func (c conversion) within(d Dim) bool {
	var below []uint64
	for e := Reg; e < d; e++ {
		below = append(below, c.src[e]...)
	}
	s := NewSpan(below...)
	for e, cols := range c.dst {
		for i, b := range cols {
			if Dim(e) >= d {
				b ^= c.src[e][i]
			}
			if !s.Contains(b) {
				return false
			}
		}
	}
	return true
}

func (c conversion) inWarp() bool { return c.within(Warp) && c.sameThread }

func (c conversion) inBlock() bool { return c.within(Block) }

// sourceMap is the linear map from a place in the destination to the place in the source warp that holds its element, a place being
// reg | lane<<32. reg has a column only for destination registers that are not replicas; fill maps all registers to those.
type sourceMap struct {
	reg, lane, warp []uint64
	fill            Matrix
}

const regPart = 1<<32 - 1

func place(from uint64, regs int) uint64 { return from&(1<<regs-1) | from>>regs<<32 }

// source picks a source for every destination bit: the own lane where that has the value.
func (c conversion) source() sourceMap {
	own := NewSpan(c.src[Reg]...)
	all := NewSpan(slices.Concat(c.src[Reg], c.src[Lane])...)
	nr := len(c.src[Reg])
	find := func(b uint64) uint64 {
		from, _ := all.Solve(b) // inWarp holds
		return place(from, nr)
	}
	var m sourceMap
	kept := &Span{}
	for _, b := range c.dst[Reg] {
		if !kept.Contains(b) {
			kept.Add(b)
			m.reg = append(m.reg, find(b))
		}
	}
	for _, b := range c.dst[Reg] {
		from, _ := kept.Solve(b)
		m.fill.Cols = append(m.fill.Cols, from)
	}
	for i, b := range c.dst[Lane] {
		if from, ok := own.Solve(b ^ c.src[Lane][i]); ok {
			m.lane = append(m.lane, from|1<<(32+i))
		} else {
			m.lane = append(m.lane, find(b))
		}
	}
	for i, b := range c.dst[Warp] {
		m.warp = append(m.warp, find(b^c.src[Warp][i]))
	}
	return m
}

// shuffle finds a plan of one shuffle per destination register. Write the source of (reg r, lane l) as
//
//	src reg = P r + Q l,  src lane = T r + U l.
//
// In round k every lane l receives its register r = k + F l, for a linear F of our choice: over all k each register of each lane is
// received once. The lane it reads is T k + N l with N = U + T F, and that lane must offer a register it can name by itself:
// P k + (P F + Q) l must be a function of the lane read, so N l = 0 must imply (P F + Q) l = 0. The selects before (Pre) realise
// that function S with S N = P F + Q, the selects after (Post) realise F. Exchanging one register bit with one lane bit is the
// special case N = 1, and then half of the rounds have T k = 0 and cost nothing.
func (c conversion) shuffle() (Plan, bool) {
	m := c.source()
	f, ok := m.offsets()
	if !ok {
		return Plan{}, false
	}
	lanes := len(m.lane)
	img := make([]uint64, lanes) // N l | (P F + Q) l, as places
	for i := range img {
		img[i] = m.lane[i] ^ Matrix{Cols: m.reg}.apply(f[i])
	}
	s := &Span{}
	for _, v := range img {
		s.Add(v >> 32)
	}
	selector := Matrix{Cols: make([]uint64, lanes)}
	for i := range selector.Cols {
		_, from := s.reduce(1 << i) // lanes that nobody reads may select anything
		selector.Cols[i] = Matrix{Cols: img}.apply(from) & regPart
	}
	p := Plan{Kind: Shuffle, Regs: table(m.fill), LaneIdentity: true}
	pre := slices.Clone(selector.Cols)
	for i, v := range img {
		p.Lanes = append(p.Lanes, int(v>>32))
		p.LaneIdentity = p.LaneIdentity && v>>32 == 1<<i
	}
	for _, v := range m.warp {
		p.Lanes = append(p.Lanes, int(v>>32))
		p.LaneIdentity = p.LaneIdentity && v>>32 == 0
		pre = append(pre, v&regPart^selector.apply(v>>32))
	}
	p.Pre, p.Post = swaps(pre), swaps(f)
	for k := range 1 << len(m.reg) {
		v := Matrix{Cols: m.reg}.apply(uint64(k))
		p.Rounds = append(p.Rounds, Round{Src: int(v&regPart ^ selector.apply(v>>32)), Xor: int(v >> 32)})
	}
	return p, true
}

// offsets finds the map F of shuffle, given by its columns.
func (m sourceMap) offsets() (f []uint64, ok bool) {
	all := NewSpan(m.reg...)
	var lanes []int // lane bits whose values are no replicas of other registers or lanes of the destination
	for i, v := range m.lane {
		if all.Add(v) {
			lanes = append(lanes, i)
		}
	}
	readers, ok := m.readers(lanes)
	if !ok {
		return nil, false
	}
	// The sources of replicas are sums of those of the others, and F is linear: with it these lane bits change neither the lane that is read nor the register.
	for _, v := range m.lane {
		_, from := all.reduce(v)
		here := place(from, len(m.reg))
		f = append(f, here&regPart^readers.apply(here>>32))
	}
	return f, true
}

// readers chooses the columns of F for some lane bits, given by their numbers, such that lanes that differ in them read different lanes; the other columns are 0.
func (m sourceMap) readers(lanes []int) (f Matrix, ok bool) {
	f.Cols = make([]uint64, len(m.lane))
	// Lane bits that already do.
	read := &Span{}
	var names Matrix // the lane bits that read the generators
	var clash []int
	for _, i := range lanes {
		names.Cols = append(names.Cols, 1<<i)
		if !read.Add(m.lane[i] >> 32) {
			clash = append(clash, i)
		}
	}
	// Each of the others reads the same lane as a sum of them. A register offset makes it read another one, best the lane of its own number.
	regLanes := &Span{}
	for _, v := range m.reg {
		regLanes.Add(v >> 32)
	}
	for _, i := range clash {
		from, _ := read.Solve(m.lane[i] >> 32)
		name := 1<<i ^ names.apply(from)
		r, direct := regLanes.Solve(name)
		if !direct || read.Contains(name) {
			k := slices.IndexFunc(m.reg, func(v uint64) bool { return !read.Contains(v >> 32) })
			if k < 0 {
				return Matrix{}, false
			}
			r = 1 << k
		}
		f.Cols[i] = r
		read.Add(Matrix{Cols: m.reg}.apply(r) >> 32)
	}
	return f, true
}

// swaps factors a linear map from thread bits to register numbers into the fewest swaps: as many as its rank.
func swaps(cols []uint64) []Swap {
	regs := independent(cols)
	s := NewSpan(regs...)
	out := make([]Swap, len(regs))
	for i, r := range regs {
		out[i].Reg = int(r)
	}
	for t, c := range cols {
		from, _ := s.Solve(c)
		for ; from != 0; from &= from - 1 {
			out[bits.TrailingZeros64(from)].Mask |= 1 << t
		}
	}
	return out
}
