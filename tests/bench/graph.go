package main

import (
	"maps"
	"regexp"
	"slices"
)

// graph is machine code cut into blocks: block b is code[first[b]:first[b+1]].
type graph struct {
	code         []instruction
	first        []int
	succs, preds [][]int
}

func newGraph(code []instruction, labels map[string]int) *graph {
	g := &graph{code: code}
	starts := map[int]bool{0: true}
	for i, in := range code {
		if at, ok := labels[in.target]; ok {
			starts[at] = true
		}
		if ends(in) {
			starts[i+1] = true
		}
	}
	for i := range code {
		if starts[i] {
			g.first = append(g.first, i)
		}
	}
	n := len(g.first)
	g.first = append(g.first, len(code))
	g.succs, g.preds = make([][]int, n), make([][]int, n)
	for b := range n {
		last := code[g.first[b+1]-1]
		if at, ok := labels[last.target]; ok {
			g.edge(b, g.blockAt(at))
		}
		if b+1 < n && (!ends(last) || last.conditional) {
			g.edge(b, b+1)
		}
	}
	return g
}

// ends reports whether control may not go on to the next instruction.
func ends(in instruction) bool {
	return in.op == "BRA" || in.op == "EXIT" || in.op == "RET" || in.op == "BRX" || in.op == "JMP"
}

func (g *graph) blockAt(instruction int) int {
	b, _ := slices.BinarySearch(g.first, instruction)
	return b
}

func (g *graph) edge(from, to int) {
	if to < len(g.succs) && !slices.Contains(g.succs[from], to) {
		g.succs[from] = append(g.succs[from], to)
		g.preds[to] = append(g.preds[to], from)
	}
}

// dominators gives for each block the blocks that every way to it passes, itself too; nil for blocks that no way leads to.
func (g *graph) dominators() []map[int]bool {
	dom := make([]map[int]bool, len(g.succs))
	dom[0] = map[int]bool{0: true}
	for changed := true; changed; {
		changed = false
		for b := 1; b < len(dom); b++ {
			var all map[int]bool
			for _, p := range g.preds[b] {
				if dom[p] == nil {
					continue
				}
				if all == nil {
					all = maps.Clone(dom[p])
				} else {
					intersect(all, dom[p])
				}
			}
			if all == nil {
				continue
			}
			all[b] = true
			if dom[b] == nil || len(all) != len(dom[b]) {
				dom[b], changed = all, true
			}
		}
	}
	return dom
}

// maxPoll is the length in instructions of a loop that only waits for an mbarrier.
const maxPoll = 24

// loops gives the natural loops as sets of blocks, those with one head as one. Waiting loops are no loops; those of their blocks that
// are not passed in every iteration are not counted in the loops around them either.
func (g *graph) loops() []map[int]bool {
	dom := g.dominators()
	byHead, always := map[int]map[int]bool{}, map[int]map[int]bool{}
	var heads []int
	for b := range g.succs {
		for _, head := range g.succs[b] {
			if !dom[b][head] {
				continue
			}
			if byHead[head] == nil {
				byHead[head], always[head] = map[int]bool{head: true}, maps.Clone(dom[b])
				heads = append(heads, head)
			}
			g.collect(byHead[head], b)
			intersect(always[head], dom[b])
		}
	}
	var loops []map[int]bool
	for _, head := range heads {
		l := byHead[head]
		if g.waits(l) {
			continue
		}
		for _, other := range heads {
			if w := byHead[other]; len(w) < len(l) && isSubset(w, l) && g.waits(w) {
				maps.DeleteFunc(l, func(b int, _ bool) bool { return w[b] && !always[head][b] })
			}
		}
		loops = append(loops, l)
	}
	return loops
}

// intersect takes from a what is not in b.
func intersect(a, b map[int]bool) {
	maps.DeleteFunc(a, func(x int, _ bool) bool { return !b[x] })
}

// collect adds to a loop the blocks from which control reaches b without passing the head.
func (g *graph) collect(loop map[int]bool, b int) {
	if loop[b] {
		return
	}
	loop[b] = true
	for _, p := range g.preds[b] {
		g.collect(loop, p)
	}
}

// works matches instructions that compute or move data.
var works = regexp.MustCompile(`MMA|^(LD[GSLT]|ST[GSLT]|UTMA|UBLK|RED|ATOM|FADD|FMUL|FFMA|HADD|HMUL|HFMA|MUFU)`)

// waits reports whether a loop does nothing but ask an mbarrier.
func (g *graph) waits(loop map[int]bool) bool {
	n, asks := 0, false
	for b := range loop {
		for _, in := range g.code[g.first[b]:g.first[b+1]] {
			if works.MatchString(in.op) {
				return false
			}
			n++
			asks = asks || in.op == "SYNCS" || in.op == "NANOSLEEP"
		}
	}
	// One instruction that leads to itself is the trap after the end of a kernel.
	return n == 1 || asks && n < maxPoll
}

func (g *graph) measure(loop map[int]bool) mix {
	var m mix
	for b := range loop {
		part := measure(g.code[g.first[b]:g.first[b+1]])
		m.instructions += part.instructions
		m.flops += part.flops
	}
	return m
}

func isSubset(a, b map[int]bool) bool {
	for x := range a {
		if !b[x] {
			return false
		}
	}
	return true
}
