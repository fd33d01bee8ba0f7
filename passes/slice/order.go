package slice

import (
	"math"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/facts"
)

// This file says which outputs share a loop, and keeps the order that tokens ask for.
//
// Two things change when tiles are cut. A load happens later, and perhaps again, at the place of the loop: no write that comes
// after it by a token may happen before that. And in a loop, piece 1 is loaded when piece 0 has been stored already: where the
// store comes after the load by a token, both must touch the same place, so that the pieces do not meet. (Without a token path
// there is no order: spec of the memory operations.)

// tokenOrder answers what comes after what.
type tokenOrder struct {
	c         *slicer
	followers map[*ir.Op]map[*ir.Op]bool
}

// followersOf is the set of memory operations that come after one by tokens, in this or a later iteration of a loop.
func (o *tokenOrder) followersOf(op *ir.Op) map[*ir.Op]bool {
	if set, ok := o.followers[op]; ok {
		return set
	}
	set := map[*ir.Op]bool{}
	seen := map[*ir.Value]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		if seen[v] || !tileaa.IsToken(v) {
			return
		}
		seen[v] = true
		for u := v.FirstUse(); u != nil; u = u.Next() {
			user := u.Owner()
			on := passesOn(user, u.Index())
			if len(on) == 0 {
				set[user] = true
				on = user.Results()
			}
			for _, w := range on {
				visit(w)
			}
		}
	}
	for _, r := range op.Results() {
		visit(r)
	}
	o.followers[op] = set
	return set
}

// passesOn lists the values as which operand i of a join, a loop or a terminator goes on; none for operations that use it.
func passesOn(op *ir.Op, i int) []*ir.Value {
	if op.Code() == tileaa.OpJoinMemToken {
		return op.Results()
	}
	return ir.ForwardedTo(op, i)
}

// mayRepeat reports whether a load may happen at a place after it, beside the writes of a group: nothing that must see it done happens in
// between, no other write and no release. Where the place is in a loop that the load is not in, all of the loop is in between, also what the place
// and the group write: an iteration loads after the ones before it have written.
func (o *tokenOrder) mayRepeat(load, place *ir.Op, group map[*ir.Op]bool) bool {
	if o.c.whole[load] {
		return false
	}
	end, again := o.c.number[place], false
	for p := place.ParentOp(); p != nil && !ir.IsProperAncestor(p, load); p = p.ParentOp() {
		if p.Code() == tileaa.OpFor || p.Code() == tileaa.OpLoop {
			again = true
			o.c.s.Walk(p, ir.PreOrder, func(in *ir.Op) { end = max(end, o.c.number[in]+1) })
		}
	}
	if !o.c.loadsBehindFences && o.c.orderedBetween(o.c.number[load], end) {
		return false
	}
	for w := range o.followersOf(load) { // a question about a set: the order cannot matter
		beside := !again && (w == place || group[w])
		if n := o.c.number[w]; w.Traits().Has(ir.Writes) && !beside && o.c.number[load] < n && n < end {
			return false
		}
	}
	return true
}

// group is the outputs of one loop.
type group struct {
	outputs []*output
	pieces  int64
	place   *ir.Op // the loop stands before it
	token   *ir.Value
	ordered bool // something comes after what the loop did
	// What decides whether another output may join:
	ops   map[*ir.Op]bool // of the outputs
	loads *loads
	used  int // number of the first op that uses what the outputs give
}

// loads are the loads that outputs make in pieces, each along its dimension, once.
type loads struct {
	list  []cut
	known map[cut]bool
}

func loadsOf(outputs ...*output) *loads {
	l := &loads{known: map[cut]bool{}}
	for _, o := range outputs {
		for _, k := range o.cuts {
			if o.how[k] == inPieces && loadsFreely(k.v.DefiningOp()) {
				l.add(k)
			}
		}
	}
	return l
}

func (l *loads) add(k cut) {
	if !l.known[k] {
		l.known[k], l.list = true, append(l.list, k)
	}
}

// formGroups gives every output a loop; outputs that load the same pieces share one where order allows.
func (c *slicer) formGroups() {
	for _, o := range slices.Clone(c.outputs) {
		if !c.joinGroup(o) {
			c.groups = append(c.groups, &group{outputs: []*output{o}, pieces: o.pieces, place: o.op, ops: map[*ir.Op]bool{o.op: true}, loads: loadsOf(o), used: c.firstUse(o.op)})
		}
	}
	slices.SortFunc(c.groups, func(a, b *group) int { return c.number[a.place] - c.number[b.place] })
	for _, g := range c.groups {
		if op := c.hazard(g.outputs, g.loads.list); op != nil {
			v, _ := cutTile(op)
			c.refuse(op, v, "its token comes after a load, perhaps of the same memory, that is made in the same pieces")
		}
		for _, op := range g.memoryOps() {
			c.groupsWith[op] = append(c.groupsWith[op], g)
		}
	}
	c.s.Walk(c.entry, ir.PreOrder, func(op *ir.Op) {
		for _, v := range op.Operands() {
			if tileaa.IsToken(v) && op.Code() != tileaa.OpJoinMemToken && !c.isReplaced(op) {
				if leaves, changed := c.checkTokens(op, v, nil); changed {
					c.rewires = append(c.rewires, rewire{op, v, leaves})
				}
			}
		}
	})
	for _, g := range c.groups {
		for _, op := range g.memoryOps() {
			if v := tileaa.TokenBefore(op); v != nil {
				c.checkTokens(op, v, g)
			}
		}
	}
}

// isReplaced reports whether an operation does not survive: it is an output, or a load or loop that only outputs used.
func (c *slicer) isReplaced(op *ir.Op) bool {
	return c.output[op] != nil || (loadsFreely(op) || c.cuttable(op)) && !c.kept[op]
}

// memoryOps are the operations of a group with tokens, each once: a load may be there along several dimensions.
func (g *group) memoryOps() []*ir.Op {
	var ops []*ir.Op
	seen := map[*ir.Op]bool{}
	for _, k := range g.loads.list {
		if op := k.v.DefiningOp(); !seen[op] {
			seen[op], ops = true, append(ops, op)
		}
	}
	for _, o := range g.outputs {
		if o.kind == effect {
			ops = append(ops, o.op)
		}
	}
	return ops
}

// joinGroup adds an output to an earlier group if it may.
func (c *slicer) joinGroup(o *output) bool {
	for _, g := range slices.Backward(c.groups) {
		if g.place.Block() != o.op.Block() || g.used <= c.number[o.op] || c.orderedBetween(c.number[g.place], c.number[o.op]) || hasEffect(g.outputs) && c.leavesBetween(g.place, o.op) {
			continue
		}
		all := c.cutAlike(append(slices.Clone(g.outputs), o))
		if all == nil {
			continue
		}
		others, own := all[:len(all)-1], all[len(all)-1:]
		same := slices.Equal(others, g.outputs) // they are cut as before, and meet no hazard
		shared := g.loads
		if !same {
			shared = loadsOf(others...)
		}
		list := loadsOf(own...).list
		further := slices.DeleteFunc(slices.Clone(list), func(k cut) bool { return shared.known[k] })
		if len(further) == len(list) || !c.mayLoadAt(shared.list, o.op, g.ops) || !c.mayLoadAt(further, o.op, g.ops) {
			continue
		}
		if !same && c.hazard(others, shared.list) != nil || c.hazard(others, further) != nil || c.hazard(own, shared.list) != nil || c.hazard(own, further) != nil {
			continue
		}
		for _, k := range further {
			shared.add(k)
		}
		g.outputs, g.pieces, g.place, g.loads, g.used = all, all[0].pieces, o.op, shared, min(g.used, c.firstUse(o.op))
		g.ops[o.op] = true
		for _, p := range all {
			c.output[p.op] = p
		}
		return true
	}
	return false
}

// orderedBetween reports whether between two numbers stands an op after which what was before it must have happened, whatever its token.
func (c *slicer) orderedBetween(from, to int) bool {
	i, _ := slices.BinarySearchFunc(c.fences, from, func(op *ir.Op, n int) int { return c.number[op] - n })
	return i < len(c.fences) && c.number[c.fences[i]] < to
}

// hasEffect reports whether an output does more than give values.
func hasEffect(outputs []*output) bool {
	return slices.ContainsFunc(outputs, func(o *output) bool { return o.kind == effect })
}

// leavesBetween reports whether the block of two ops may be left between them: what has an effect must have happened by then.
func (c *slicer) leavesBetween(from, to *ir.Op) bool {
	i, _ := slices.BinarySearchFunc(c.exits, c.number[from], func(exit *ir.Op, n int) int { return c.number[exit] - n })
	for ; i < len(c.exits) && c.number[c.exits[i]] < c.number[to]; i++ {
		if c.number[ir.Target(c.exits[i])] < c.number[from] {
			return true
		}
	}
	return false
}

// cutAlike cuts outputs of one loop into the same number of pieces, so many that the accumulators fit; nil when that cannot be.
func (c *slicer) cutAlike(outputs []*output) []*output {
	pieces, regs, accumulators := int64(0), 0, 0
	for _, o := range outputs {
		pieces = max(pieces, o.pieces)
	}
	for _, o := range outputs {
		regs = max(regs, o.regs*int(o.pieces)/int(pieces))
		accumulators += o.accumulators() * int(o.pieces) / int(pieces)
	}
	_, loopLimit := c.pieceLimit()
	for !c.steps && regs+accumulators > loopLimit*c.threads {
		regs, accumulators, pieces = regs/2, accumulators/2, pieces*2
	}
	var alike []*output
	var scans []pieceOf
	for _, o := range outputs {
		if o.pieces != pieces {
			if o = c.tryOutput(o.op, o.kind, o.dim, pieces); o == nil || o.pieces != pieces || !c.areWhole(o.wholes) {
				return nil
			}
		}
		alike, scans = append(alike, o), append(scans, o.scans...)
	}
	if !sameDirection(scans) || c.products && accumulatorsOf(alike...) > c.accumulators*c.threads {
		return nil
	}
	return alike
}

// areWhole reports whether values exist whole already.
func (c *slicer) areWhole(vs []*ir.Value) bool {
	return !slices.ContainsFunc(vs, func(v *ir.Value) bool {
		op := v.DefiningOp()
		return op != nil && !c.kept[op] && c.output[op] == nil
	})
}

// firstUse is the number of the first op that uses what an output gives, itself or by joins of tokens.
func (c *slicer) firstUse(op *ir.Op) int {
	first := math.MaxInt
	seen := map[*ir.Value]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		if seen[v] {
			return
		}
		seen[v] = true
		for u := v.FirstUse(); u != nil; u = u.Next() {
			if user := u.Owner(); user.Code() == tileaa.OpJoinMemToken {
				visit(user.Result(0))
			} else {
				first = min(first, c.number[user])
			}
		}
	}
	for _, v := range op.Results() {
		visit(v)
	}
	return first
}

// mayLoadAt reports whether loads may happen at a place, beside the ops of a group.
func (c *slicer) mayLoadAt(loads []cut, place *ir.Op, group map[*ir.Op]bool) bool {
	return !slices.ContainsFunc(loads, func(k cut) bool {
		c.s.Step()
		return !c.orders.mayRepeat(k.v.DefiningOp(), place, group)
	})
}

// hazard is a write that would, in one loop, meet other pieces of something that its token says is loaded before; nil if there is
// none. A write to where each piece was loaded meets none, if no two elements lie at one place. (Outputs of which one comes after another do not share a loop: used.)
func (c *slicer) hazard(outputs []*output, loads []cut) *ir.Op {
	for _, w := range outputs {
		if w.kind != effect || !w.op.Traits().Has(ir.Writes) {
			continue
		}
		for _, k := range loads {
			c.s.Step()
			l := k.v.DefiningOp()
			if c.number[l] > c.number[w.op] || !c.orders.followersOf(l)[w.op] {
				continue
			}
			if k.dim != w.dim || !facts.SamePlace(tileaa.AccessedPlace(l), tileaa.AccessedPlace(w.op), facts.AnyTime) || !c.known.DistinctPlace(tileaa.AccessedPlace(l)) {
				return w.op
			}
		}
	}
	return nil
}

// A leaf is a token that an operation comes after: v, or what op does in a loop.
type leaf struct {
	v  *ir.Value
	op *ir.Op
}

// tokens lists what comes before an operation by its token v, given that loads of outputs are gone. A load need not come after
// another load, so it looks through them: what comes after it comes after those.
func (c *slicer) tokens(op *ir.Op, v *ir.Value) (leaves []leaf, changed bool) {
	seen := map[*ir.Value]bool{}
	reads := loadsFreely(op)
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		if v == nil || seen[v] {
			return
		}
		seen[v] = true
		d := v.DefiningOp()
		switch {
		case d == nil:
			leaves = append(leaves, leaf{v: v})
		case d.Code() == tileaa.OpJoinMemToken:
			for _, o := range d.Operands() {
				visit(o)
			}
		case loadsFreely(d):
			if !reads {
				if !c.isReplaced(d) {
					leaves = append(leaves, leaf{v: v})
				}
				leaves = append(leaves, leaf{op: d})
			}
			changed = changed || c.isReplaced(d) || len(c.groupsWith[d]) > 0
			visit(tileaa.TokenBefore(d))
		case c.output[d] != nil:
			changed = true
			leaves = append(leaves, leaf{op: d})
		case d.Code() != tileaa.OpCreateMemToken:
			leaves = append(leaves, leaf{v: v})
		}
	}
	visit(v)
	return leaves, changed
}

// A rewire is an operation that stays, one of its tokens, and what it comes after by it when tiles are cut. It is found out before
// anything changes.
type rewire struct {
	op     *ir.Op
	v      *ir.Value
	leaves []leaf
}

// checkTokens is tokens; it sees to it that the loops that an operation comes after stand in front of it, and marks them as ordered.
// own is the loop that it is in itself.
func (c *slicer) checkTokens(op *ir.Op, v *ir.Value, own *group) (leaves []leaf, changed bool) {
	at := op
	if own != nil {
		at = own.place
	}
	leaves, changed = c.tokens(op, v)
	for _, l := range leaves {
		for _, g := range c.groupsWith[l.op] {
			if g == own {
				continue
			}
			place := g.place
			for place.Block() != at.Block() && at.AncestorIn(place.Block()) == nil && carriesOut(place.ParentOp()) {
				place = place.ParentOp()
			}
			if a := at.AncestorIn(place.Block()); a == nil || c.number[a] <= c.number[place] {
				if loadsFreely(l.op) {
					c.tooLate = append(c.tooLate, l.op)
				}
				c.refuse(l.op, l.op.Result(0), "what comes after it by its token comes before its pieces")
			}
			g.ordered = true
		}
	}
	return leaves, changed
}

// joined makes the token of leaves at the builder's place. inPiece gives the tokens of operations in the piece that is being made.
func (c *slicer) joined(leaves []leaf, own *group, inPiece func(op *ir.Op) []*ir.Value) *ir.Value {
	var vs []*ir.Value
	add := func(v *ir.Value) {
		if v != nil && !slices.Contains(vs, v) {
			vs = append(vs, v)
		}
	}
	for _, l := range leaves {
		if l.op == nil {
			add(l.v)
			continue
		}
		for _, g := range c.groupsWith[l.op] {
			if g != own {
				add(c.carriedOut(g.token))
				continue
			}
			for _, v := range inPiece(l.op) {
				add(v)
			}
		}
	}
	return joinTokens(c.b, vs)
}

// joinTokens is one token for several, and a new one for none.
func joinTokens(b *ir.Builder, tokens []*ir.Value) *ir.Value {
	if t := tileaa.JoinTokens(b, tokens); t != nil {
		return t
	}
	return tileaa.NewCreateMemToken(b).Result()
}

// carriesOut reports whether an op is a loop or a branch out of which a token can come: every way through it ends at its end.
func carriesOut(op *ir.Op) bool {
	switch op.Code() {
	case tileaa.OpFor:
		flow, _ := ir.LoopOf(op)
		return len(flow.Continues()) == 1
	case tileaa.OpIf:
		return !ir.MayLeave(op)
	}
	return false
}

// carriedOut is a token where the builder stands, which may be outside of loops and branches around it: these carry it out.
func (c *slicer) carriedOut(v *ir.Value) *ir.Value {
	to, at := c.b.Place()
	defer c.b.SetPlace(to, at)
	for v != nil && v.ParentBlock() != to && to.ParentOp().AncestorIn(v.ParentBlock()) == nil {
		if c.outside[v] == nil {
			c.outside[v] = c.throughEnd(v)
		}
		v = c.outside[v]
	}
	return v
}

// throughEnd has the loop or branch around a token give it.
func (c *slicer) throughEnd(v *ir.Value) *ir.Value {
	op := v.ParentBlock().ParentOp()
	c.b.Loc = op.Loc()
	if loop, ok := ir.LoopOf(op); ok {
		end, arg := op.Body().Terminator(), op.Body().AddArg(v.Type())
		end.SetOperandGroup(0, append(end.Operands(), joinTokens(c.b.Before(end), []*ir.Value{arg, v})))
		loop.Carry([]*ir.Value{joinTokens(c.b.Before(op), nil)})
		return op.Result(op.NumResults() - 1)
	}
	f := ir.Cast[tileaa.If](op)
	for _, b := range []*ir.Block{f.Then(), tileaa.ElseOf(c.b, f)} {
		end, token := b.Terminator(), v
		if b != v.ParentBlock() {
			token = joinTokens(c.b.Before(end), nil)
		}
		end.SetOperandGroup(0, append(end.Operands(), token))
	}
	return op.AddResults([]ir.Type{v.Type()})[0]
}
