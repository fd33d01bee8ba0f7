package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// controlFlow is the control flow graph: block b is the instructions from first[b] to first[b+1].
type controlFlow struct {
	code    []instruction
	first   []int
	succs   [][]int
	preds   [][]int
	order   []int // reverse postorder of what is reached
	dom     []set // by block
	loops   []loop
	blockAt map[int]int // first instruction of a block -> block
	rare    set
}

type set map[int]bool

// subset reports whether all of s is in t, and t has more.
func (s set) subset(t set) bool {
	if len(s) >= len(t) {
		return false
	}
	for x := range s {
		if !t[x] {
			return false
		}
	}
	return true
}

// intersection is what is in both; of nil and t, t.
func (s set) intersection(t set) set {
	if s == nil {
		return maps.Clone(t)
	}
	maps.DeleteFunc(s, func(x int, _ bool) bool { return !t[x] })
	return s
}

// loop is a natural loop: its blocks, and those that every iteration runs.
type loop struct{ body, everyIteration set }

var choice = regexp.MustCompile(`^!?U?P\d`) // a branch that takes its predicate as an operand

// leaves reports whether control never falls through an instruction.
func (i *instruction) leaves() bool {
	switch i.op {
	case "EXIT", "RET", "BRX", "JMP":
		return !i.guarded
	case "BRA":
		return !i.guarded && !choice.MatchString(i.args)
	}
	return false
}

func newControlFlow(code []instruction) *controlFlow {
	f := &controlFlow{code: code, blockAt: map[int]int{}}
	starts := set{0: true}
	for n := range code {
		i := &code[n]
		for _, t := range i.targets {
			starts[t] = true
		}
		if len(i.targets) > 0 || i.op == "EXIT" || i.op == "RET" || i.op == "BRX" || i.op == "BRA" {
			starts[n+1] = true
		}
	}
	for n := range code {
		if starts[n] {
			f.blockAt[n] = len(f.first)
			f.first = append(f.first, n)
		}
	}
	f.first = append(f.first, len(code))
	blocks := len(f.first) - 1
	f.succs, f.preds = make([][]int, blocks), make([][]int, blocks)
	for b := range blocks {
		last := &code[f.first[b+1]-1]
		for _, t := range last.targets {
			f.succs[b] = append(f.succs[b], f.blockAt[t])
		}
		if !last.leaves() && b+1 < blocks {
			f.succs[b] = append(f.succs[b], b+1)
		}
	}
	f.orderBlocks()
	f.dominators()
	f.findLoops()
	f.findRare()
	return f
}

// orderBlocks computes the reverse postorder, and the predecessors among reachable blocks.
func (f *controlFlow) orderBlocks() {
	seen := make([]bool, len(f.succs))
	var visit func(b int)
	visit = func(b int) {
		seen[b] = true
		for _, s := range f.succs[b] {
			if !seen[s] {
				visit(s)
			}
		}
		f.order = append(f.order, b)
	}
	visit(0)
	slices.Reverse(f.order)
	for _, b := range f.order {
		for _, s := range f.succs[b] {
			f.preds[s] = append(f.preds[s], b)
		}
	}
}

// dominators computes the dominators of every block.
func (f *controlFlow) dominators() {
	f.dom = make([]set, len(f.succs))
	f.dom[0] = set{0: true}
	for changed := true; changed; {
		changed = false
		for _, b := range f.order[1:] {
			var all set
			for _, p := range f.preds[b] {
				if f.dom[p] != nil {
					all = all.intersection(f.dom[p])
				}
			}
			all[b] = true
			if f.dom[b] == nil || len(all) != len(f.dom[b]) {
				f.dom[b], changed = all, true
			}
		}
	}
}

// findLoops collects the natural loops, those of one head as one, in the order of their heads' first back edge.
func (f *controlFlow) findLoops() {
	at := map[int]int{} // by head
	for _, b := range f.order {
		for _, head := range f.succs[b] {
			if !f.dom[b][head] {
				continue
			}
			n, ok := at[head]
			if !ok {
				n = len(f.loops)
				at[head] = n
				always := set{}
				for x := range f.dom[b] {
					always[x] = true
				}
				f.loops = append(f.loops, loop{set{head: true}, always})
			}
			l := &f.loops[n]
			f.collect(l.body, b)
			for x := range l.everyIteration {
				if !f.dom[b][x] {
					delete(l.everyIteration, x)
				}
			}
		}
	}
}

// collect adds the blocks from which control reaches b without passing the head, which is in the body.
func (f *controlFlow) collect(body set, b int) {
	if body[b] {
		return
	}
	body[b] = true
	for _, p := range f.preds[b] {
		f.collect(body, p)
	}
}

// numbers are the instructions of blocks, in order.
func (f *controlFlow) numbers(blocks set) []int {
	var out []int
	for b := range blocks {
		for n := f.first[b]; n < f.first[b+1]; n++ {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// reached is the reachable blocks, without the rare ones.
func (f *controlFlow) reached() set {
	all := set{}
	for _, b := range f.order {
		if !f.rare[b] {
			all[b] = true
		}
	}
	return all
}

// dominatingCode is the instructions outside of innermost loops that dominate instruction n.
func (f *controlFlow) dominatingCode(n int) []int {
	blocks := set{}
	for b := range f.dom[f.blockAt[n]] {
		if !slices.ContainsFunc(f.loops, func(l loop) bool { return l.body[b] }) {
			blocks[b] = true
		}
	}
	return f.numbers(blocks)
}

// always is the instructions that every warp runs: those that dominate all ways out.
func (f *controlFlow) always() []int {
	var blocks set
	for _, b := range f.order {
		if last := &f.code[f.first[b+1]-1]; last.op == "EXIT" && last.leaves() && !f.rare[b] {
			blocks = blocks.intersection(f.dom[b])
		}
	}
	return f.numbers(blocks)
}

// longest is the most instructions that dominate another: of roles, what the one runs that has most to do.
func (f *controlFlow) longest() (most []int) {
	for _, b := range f.order {
		if numbers := f.numbers(f.dom[b]); len(numbers) > len(most) && !f.rare[b] {
			most = numbers
		}
	}
	return most
}

// slowPath is in the names of the functions that ptxas adds for operands that its own code for a division or a root does not take.
const slowPath = "slowpath"

// findRare finds blocks that run for unusual operands only: those behind one way of a branch that call a slow path and do nothing with memory
// or other warps, and that a loop around the branch does not need. (Ball and Larus, "Branch prediction for free", PLDI 1993: a successor that
// calls and does not postdominate is not taken.) Slow paths are functions where others divide, so they count nowhere.
func (f *controlFlow) findRare() {
	f.rare = set{}
	for _, b := range f.order {
		if len(f.succs[b]) < 2 {
			continue
		}
		for _, s := range f.succs[b] {
			if region := f.dominatedBy(s); len(f.preds[s]) == 1 && f.isSlow(region) && !f.isNeeded(b, region) {
				for x := range region {
					f.rare[x] = true
				}
			}
		}
	}
}

// dominatedBy is the blocks that s dominates.
func (f *controlFlow) dominatedBy(s int) set {
	region := set{}
	for _, b := range f.order {
		if f.dom[b][s] {
			region[b] = true
		}
	}
	return region
}

// isSlow reports whether blocks call a slow path, and neither access memory nor synchronise nor exit.
func (f *controlFlow) isSlow(region set) bool {
	calls := false
	for _, n := range f.numbers(region) {
		i := &f.code[n]
		switch i.class {
		case classInt, classFloat, classHalf, classDouble, classSpecial, classConvert, classProduct, classConst, classUniform, classNothing:
		case classBranch:
			if i.op == "EXIT" || i.op == "RET" {
				return false
			}
			calls = calls || i.op == "CALL" && strings.Contains(i.args, slowPath)
		default:
			return false
		}
	}
	return calls
}

// isNeeded reports whether a loop around a block needs some blocks in every iteration.
func (f *controlFlow) isNeeded(b int, region set) bool {
	return slices.ContainsFunc(f.loops, func(l loop) bool {
		if !l.body[b] {
			return false
		}
		for x := range region {
			if l.everyIteration[x] {
				return true
			}
		}
		return false
	})
}

// maxPoll is the length of a loop that only asks an mbarrier.
const maxPoll = 24

// polls reports whether a loop only polls an mbarrier.
func (f *controlFlow) polls(l loop) bool {
	numbers := f.numbers(l.body)
	asks := false
	for _, n := range numbers {
		i := &f.code[n]
		switch i.class {
		case classSync, classBranch, classInt, classProduct, classUniform, classNothing, classConst:
		default:
			return false
		}
		if i.op == "BAR" {
			return false
		}
		asks = asks || i.op == "SYNCS" || i.op == "NANOSLEEP"
	}
	return asks && len(numbers) < maxPoll
}

// innermost are the instructions of the innermost loops, where loops that poll do not count as loops. Polling that not every
// iteration does is left out.
func (f *controlFlow) innermost() [][]int {
	var polling, working []loop
	for _, l := range f.loops {
		if f.polls(l) {
			polling = append(polling, l)
		} else {
			working = append(working, l)
		}
	}
	var out [][]int
	for _, l := range working {
		if slices.ContainsFunc(working, func(o loop) bool { return o.body.subset(l.body) }) {
			continue
		}
		body := set{}
		for b := range l.body {
			if !f.rare[b] {
				body[b] = true
			}
		}
		for _, p := range polling {
			if p.body.subset(body) {
				for b := range p.body {
					if !l.everyIteration[b] {
						delete(body, b)
					}
				}
			}
		}
		out = append(out, f.numbers(body))
	}
	return out
}

// skipped reports whether not every iteration of the loop around an instruction runs it.
func (f *controlFlow) skipped(n int) bool {
	b := 0
	for f.first[b+1] <= n {
		b++
	}
	around := loop{}
	for _, l := range f.loops {
		if l.body[b] && (around.body == nil || l.body.subset(around.body)) {
			around = l
		}
	}
	return around.body != nil && !around.everyIteration[b]
}

// essential are instructions for which a block counts even if not every iteration runs it: it loads, waits or multiplies, or
// stores what the next iteration reads.
func (i *instruction) essential() bool {
	switch i.op {
	case "UTMASTG":
		return false
	case "SYNCS", "UTCBAR":
		return true
	}
	switch i.class {
	case classMMA, classMatrix, classShared, classLoad, classCopy, classTMA:
		return true
	}
	return false
}

// trim takes from the instructions of a loop the blocks that not every iteration runs and that do nothing that it needs: masks of tiles at
// the edge, lazy rescaling, and what is stored in shared memory on its way to global memory, which is the end of a tile in a loop over
// several.
func (f *controlFlow) trim(numbers []int) []int {
	var blocks []int
	here := set{}
	for _, n := range numbers {
		if b, ok := f.blockAt[n]; ok {
			blocks, here[b] = append(blocks, b), true
		}
	}
	head := slices.MinFunc(blocks, func(a, b int) int { return len(f.dom[a]) - len(f.dom[b]) }) // it dominates the others
	latch := -1
	for _, b := range blocks {
		if slices.Contains(f.succs[b], head) && (latch < 0 || b != head) {
			latch = b
		}
	}
	if latch < 0 {
		return numbers
	}
	var out []int
	for _, b := range blocks {
		code := f.numbers(set{b: true})
		optional := b != head && b != latch && f.reach(here, head, b)[latch]
		written := slices.ContainsFunc(f.numbers(f.reach(here, b, head)), func(n int) bool { return f.code[n].class == classStore || f.code[n].op == "UTMASTG" })
		if !optional || slices.ContainsFunc(code, func(n int) bool {
			return f.code[n].essential() && !(written && (f.code[n].op == "STS" || f.code[n].op == "STSM"))
		}) {
			out = append(out, code...)
		}
	}
	return out
}

// reach is the blocks among some that can be reached from one without passing another.
func (f *controlFlow) reach(among set, from, without int) set {
	seen, work := set{from: true}, []int{from}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for _, s := range f.succs[b] {
			if among[s] && !seen[s] && s != without {
				seen[s] = true
				work = append(work, s)
			}
		}
	}
	return seen
}
