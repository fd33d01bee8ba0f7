package nvvm

import (
	"slices"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/metadata"

	"tileiras/codegen/planted"
	"tileiras/codegen/ptxop"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

func init() {
	register(ir.Table[lowering]{
		tileaa.OpFor & ir.Place:      lowerFor,
		tileaa.OpLoop & ir.Place:     lowerLoop,
		tileaa.OpIf & ir.Place:       lowerIf,
		tileaa.OpYield & ir.Place:    func(f *fn, op *ir.Op) { f.branchTo(&f.yields[len(f.yields)-1].edges, op) },
		tileaa.OpContinue & ir.Place: func(f *fn, op *ir.Op) { f.branchTo(&f.loops[len(f.loops)-1].latch.edges, op) },
		tileaa.OpBreak & ir.Place:    func(f *fn, op *ir.Op) { f.branchTo(&f.loops[len(f.loops)-1].exit.edges, op) },
		tileaa.OpReturn & ir.Place: func(f *fn, op *ir.Op) {
			f.cur.Term = llvm.NewRet(nil)
			f.dead = true
		},
	})
}

// edge is a way into a block that does not exist yet: from where, with which values. The block from is still open.
type edge struct {
	from *block
	vals []*tile
}

// join collects the edges into one place.
type join struct{ edges []edge }

// loopFrame is the innermost loop: where continue and break lead.
type loopFrame struct{ latch, exit join }

// branchTo ends the current block with an edge that carries the operands of a terminator.
func (f *fn) branchTo(edges *[]edge, op *ir.Op) {
	e := edge{from: f.cur}
	for _, v := range op.Operands() {
		e.vals = append(e.vals, f.valueOf(v))
	}
	e.vals = f.withCount(ir.Target(op), e.vals)
	*edges = append(*edges, e)
	f.dead = true
}

// valueOf is the tile of a value, nil for tokens, which are no values, and for what the tensor unit goes on with.
func (f *fn) valueOf(v *ir.Value) *tile {
	if _, ok := v.Type().(*tileaa.TokenType); ok || f.inTensor(v) {
		return nil
	}
	return f.tileFor(v)
}

// merge continues where all edges meet and gives the values there. A single edge needs no block; without any, what follows is dead.
func (f *fn) merge(j *join, types []ir.Type) []*tile {
	switch len(j.edges) {
	case 0:
		f.dead = true
		return nil
	case 1:
		f.enterBlock(j.edges[0].from)
		f.dead = false
		return j.edges[0].vals
	}
	to := f.newBlock()
	phis := f.header(to, types)
	for _, e := range j.edges {
		f.enter(phis, e)
		f.cur = e.from
		f.br(to)
	}
	f.enterBlock(to)
	f.dead = false
	return phis.tiles
}

// header is the phis of a block for values of these types.
type header struct {
	at    *block
	tiles []*tile
	phis  [][]*llvm.InstPhi
}

func (f *fn) header(at *block, types []ir.Type) *header {
	h := &header{at: at}
	for _, t := range types {
		f.budget.Step()
		tt, ok := t.(*tileaa.TileType)
		if !ok {
			h.tiles, h.phis = append(h.tiles, nil), append(h.phis, nil)
			continue
		}
		n := numRegs(tt)
		k, count := f.carrierKind(tt.Elem, n)
		regs, phis := make([]reg, count), make([]*llvm.InstPhi, count)
		for i := range regs {
			regs[i], phis[i] = f.phi(at, k)
		}
		v := f.carried(tt.Elem, n, regs)
		v.home = at
		h.tiles, h.phis = append(h.tiles, v), append(h.phis, phis)
	}
	return h
}

// enter adds an edge to the phis.
func (f *fn) enter(h *header, e edge) {
	for i, phis := range h.phis {
		f.budget.Step()
		if phis == nil {
			continue
		}
		for j, r := range f.carrier(e.vals[i]) {
			f.addIncomingReg(phis[j], r, e.from)
		}
	}
}

func (f *fn) bind(vs []*ir.Value, tiles []*tile) {
	for i, v := range vs {
		f.budget.Step()
		if tiles != nil && tiles[i] != nil {
			f.tiles[v] = tiles[i]
		}
	}
}

func loopOf(op *ir.Op) ir.Flow {
	loop, _ := ir.LoopOf(op)
	return loop
}

func (f *fn) inits(op *ir.Op) []*tile {
	var out []*tile
	for _, v := range loopOf(op).Inits() {
		f.budget.Step()
		out = append(out, f.valueOf(v))
	}
	return f.withCount(op, out)
}

// lowerFor: the test at the end decides without wrapping whether another step fits below the bound.
//
//	       lower < upper ?  -no-> exit
//	body:  phi iv, values
//	       ...
//	latch: step < upper - iv ?  -yes-> body with iv + step
//	exit:  phi results
//
// An expanded loop has another body and test before the latch: what the first one passes on is in registers of its own, and none are copied.
func lowerFor(f *fn, op *ir.Op) {
	c := &countedLoop{fn: f, loop: ir.Cast[tileaa.For](op)}
	lower, upper, step := f.scalar(c.loop.Lower()), f.scalar(c.loop.Upper()), f.scalar(c.loop.Step())
	less := slt
	if c.loop.Unsigned() {
		less = ult
	}
	body := op.Body()
	enter := f.icmp(less, lower, upper)
	c.upper, c.step, c.inits = upper, step, f.inits(op)
	c.exit = f.newBlock()
	head := f.newBlock()
	before := f.cur
	c.results = f.header(c.exit, f.carriedTypes(op, op.Results()))
	if enter.isConst() {
		if enter.bits == 0 {
			f.bind(op.Results(), c.inits)
			return
		}
		f.br(head)
	} else {
		f.condBr(enter, head, c.exit)
		f.enter(c.results, edge{before, c.inits})
	}
	carried := f.header(head, f.carriedTypes(op, body.Args()[1:]))
	iv, ivPhi := f.phi(head, lower.k)
	f.addIncomingReg(ivPhi, lower, before)
	f.enter(carried, edge{before, c.inits})
	f.enterBlock(head)
	next := c.iteration(iv, carried.tiles)
	if f.dead {
		// The body always leaves the kernel: the loop is entered once or not at all.
		f.enterBlock(c.exit)
		f.dead = enter.isConst()
		f.bind(op.Results(), c.results.tiles)
		f.recount(op, c.results.tiles)
		return
	}
	if c.loop.Expanded() {
		second := f.newBlock()
		after := c.leave(iv, next, second)
		f.enterBlock(second)
		iv, next = after, c.iteration(after, next)
	}
	latch := f.cur
	after := c.leave(iv, next, head)
	f.addIncomingReg(ivPhi, after, latch)
	f.enter(carried, edge{latch, next})
	f.enterBlock(c.exit)
	f.bind(op.Results(), c.results.tiles)
	f.recount(op, c.results.tiles)
}

// countedLoop is a counted loop while it is lowered.
type countedLoop struct {
	*fn
	loop        tileaa.For
	upper, step reg
	inits       []*tile
	exit        *block
	results     *header // of the exit
}

// iteration lowers the body for one value of the counter, and returns what it passes on.
func (c *countedLoop) iteration(iv reg, vals []*tile) (next []*tile) {
	body, frame := c.loop.Op.Body(), &loopFrame{}
	c.tiles[body.Arg(0)] = c.tileOf(elemOf(body.Arg(0)), iv)
	c.bind(body.Args()[1:], vals)
	c.recount(c.loop.Op, vals)
	c.loops = append(c.loops, frame)
	c.block(body)
	c.loops = c.loops[:len(c.loops)-1]
	return c.merge(&frame.latch, c.carriedTypes(c.loop.Op, body.Args()[1:]))
}

// leave ends a body: on to a block with the next value of the counter if there is one, else to the exit. A loop with lands waits for its
// products on the latter edge.
func (c *countedLoop) leave(iv reg, next []*tile, to *block) (after reg) {
	after = c.add(iv, c.step)
	more := c.hasNext(iv, after, c.upper, c.step, c.loop.Unsigned())
	c.recount(c.loop.Op, next)
	last := edge{c.cur, next}
	out := c.exit
	if len(c.loop.Lands()) > 0 && !planted.On("drop-landing") {
		out = c.newBlock()
	}
	on := c.condBr(more, to, out)
	if copiesAsync(c.loop.Op.Body()) {
		on.Metadata = append(on.Metadata, c.noUnroll())
	}
	if out != c.exit {
		c.enterBlock(out)
		last = edge{out, c.land(next)}
		c.br(c.exit)
	}
	c.enter(c.results, last)
	return after
}

// land waits for the products in flight that a loop ends with, and returns the loop-carried values with their results.
func (c *countedLoop) land(vals []*tile) []*tile {
	vals = slices.Clone(vals)
	for n, i := range c.loop.Lands() {
		if vals[i] == nil {
			d, ok := tileaa.InTensorMemory(loopOf(c.loop.Op).Carried()[i])
			if !ok {
				c.bug("lands a value that is nowhere")
			}
			if n == 0 && !planted.On("sum-unwaited") {
				c.tensorOf(d.Op).waitAllBut(c.fn, c.loop.Op, 0)
			}
			vals[i] = c.tensorProductOf(d).sum(c.inits[i])
			continue
		}
		vals[i] = c.landed(vals[i])
	}
	return vals
}

// copiesAsync reports whether a loop body has copies in flight: unrolling would undo the planned distance.
func copiesAsync(body *ir.Block) bool {
	for op := body.First(); op != nil; op = op.Next() {
		if op.Code() == tileaa.OpAsyncCommit {
			return true
		}
	}
	return false
}

// noUnroll is LLVM's mark on the back edge of a loop that must stay as it is: a node of its own that begins with itself.
func (f *fn) noUnroll() *metadata.Attachment {
	node := &metadata.Tuple{MetadataID: -1, Distinct: true}
	node.Fields = []metadata.Field{node, &metadata.Tuple{MetadataID: -1, Fields: []metadata.Field{&metadata.String{Value: ptxop.UnrollDisable}}}}
	f.m.MetadataDefs = append(f.m.MetadataDefs, node)
	return &metadata.Attachment{Name: ptxop.Loop, Node: node}
}

// hasNext is the test iv + step < upper, computed so that the sum cannot wrap: upper - iv is positive and fits the width as an unsigned
// number. With step 1 the sum is at most upper.
func (f *fn) hasNext(iv, after, upper, step reg, unsigned bool) reg {
	if step.is(1) || planted.On("wrapping-bound") {
		if unsigned {
			return f.icmp(ult, after, upper)
		}
		return f.icmp(slt, after, upper)
	}
	if upper.isConst() && step.isConst() && !unsigned && upper.sint() <= signed(1<<(upper.k.bits()-1)-1, upper.k.bits())-step.sint() {
		return f.icmp(slt, after, upper)
	}
	return f.icmp(ult, step, f.sub(upper, iv))
}

// lowerLoop: the first edge, and one from every continue, lead to the header; breaks lead out.
func lowerLoop(f *fn, op *ir.Op) {
	body := op.Body()
	frame := &loopFrame{}
	head := f.newBlock()
	carried := f.header(head, f.carriedTypes(op, body.Args()))
	f.enter(carried, edge{f.cur, f.inits(op)})
	f.br(head)
	f.enterBlock(head)
	f.bind(body.Args(), carried.tiles)
	f.recount(op, carried.tiles)
	f.loops = append(f.loops, frame)
	f.block(body)
	f.loops = f.loops[:len(f.loops)-1]
	next := f.merge(&frame.latch, f.carriedTypes(op, body.Args()))
	if !f.dead {
		f.enter(carried, edge{f.cur, next})
		f.br(head)
	}
	results := f.merge(&frame.exit, f.carriedTypes(op, op.Results()))
	f.bind(op.Results(), results)
	f.recount(op, results)
}

func lowerIf(f *fn, op *ir.Op) {
	cond := f.scalar(ir.Cast[tileaa.If](op).Cond())
	j := &join{}
	regions := op.Regions()
	hasElse := len(regions) > 1 && !regions[1].Empty()
	arm := func(r *ir.Region) {
		f.yields = append(f.yields, j)
		f.block(r.Front())
		f.yields = f.yields[:len(f.yields)-1]
		if !f.dead {
			j.edges = append(j.edges, edge{from: f.cur, vals: f.withCount(op, nil)}) // an implicit, empty yield
		}
		f.dead = false
	}
	meet := func() {
		results := f.merge(j, f.carriedTypes(op, op.Results()))
		f.bind(op.Results(), results)
		f.recount(op, results)
	}
	if cond.isConst() {
		switch {
		case cond.bits != 0:
			arm(regions[0])
		case hasElse:
			arm(regions[1])
		default:
			return
		}
		meet()
		return
	}
	before := f.cur
	count := f.withCount(op, nil)
	then := f.newBlock()
	f.enterBlock(then)
	arm(regions[0])
	if hasElse {
		other := f.newBlock()
		f.cur = before
		f.condBr(cond, then, other)
		f.enterBlock(other)
		f.recount(op, count)
		arm(regions[1])
		meet()
		return
	}
	// Without an else the condition leads straight to what follows.
	after := f.newBlock()
	phis := f.header(after, f.carriedTypes(op, nil))
	f.cur = before
	f.condBr(cond, then, after)
	f.enter(phis, edge{before, count})
	for _, e := range j.edges {
		f.enter(phis, e)
		f.cur = e.from
		f.br(after)
	}
	f.enterBlock(after)
	f.recount(op, phis.tiles)
}

// ifThen runs make in a block of its own, entered by the lanes where c holds: a divergent branch within one operation. The results are phis
// of make's values and those given for the other lanes.
func (f *fn) ifThen(c reg, otherwise []reg, make func() []reg) []reg {
	if c.isConst() {
		if c.bits == 0 {
			return otherwise
		}
		return make()
	}
	before := f.cur
	rare, after := f.newBlock(), f.newBlock()
	f.divergentBr(c, rare, after)
	got, from := f.arm(rare, after, make)
	return f.mergeTwo(after, otherwise, before, got, from)
}

// ifThenDo is ifThen without results.
func (f *fn) ifThenDo(c reg, make func()) {
	f.ifThen(c, nil, func() []reg {
		make()
		return nil
	})
}

// ifElse is ifThen where the other lanes run a block of their own as well.
func (f *fn) ifElse(c reg, rare, usual func() []reg) []reg {
	switch {
	case c.isConst() && c.bits == 0:
		return usual()
	case c.isConst():
		return rare()
	}
	first, second, after := f.newBlock(), f.newBlock(), f.newBlock()
	f.divergentBr(c, first, second)
	x, fromFirst := f.arm(first, after, rare)
	y, fromSecond := f.arm(second, after, usual)
	return f.mergeTwo(after, x, fromFirst, y, fromSecond)
}

// arm runs make in block b, which branches to after, and returns its values and last block.
func (f *fn) arm(b, after *block, make func() []reg) (got []reg, end *block) {
	f.enterBlock(b)
	got = make()
	f.cur.Term = llvm.NewBr(after.Block)
	return got, f.cur
}

// mergeTwo enters a block with two predecessors, and makes the phis of their values.
func (f *fn) mergeTwo(after *block, x []reg, fromX *block, y []reg, fromY *block) []reg {
	f.enterBlock(after)
	out := append([]reg(nil), x...)
	for i := range out {
		r, p := f.phi(after, x[i].k)
		f.addIncomingReg(p, x[i], fromX)
		f.addIncomingReg(p, y[i], fromY)
		out[i] = r
	}
	return out
}

// loopWhile is a do-while loop within one operation: step takes the state and returns the next one and the condition to go on.
func (f *fn) loopWhile(state []reg, step func(state []reg) (next []reg, again reg)) []reg {
	before := f.cur
	head, after := f.newBlock(), f.newBlock()
	f.cur.Term = llvm.NewBr(head.Block)
	in := append([]reg(nil), state...)
	phis := make([]*llvm.InstPhi, len(state))
	for i := range state {
		in[i], phis[i] = f.phi(head, state[i].k)
		f.addIncomingReg(phis[i], state[i], before)
	}
	f.enterBlock(head)
	next, again := step(in)
	for i := range next {
		f.addIncomingReg(phis[i], next[i], f.cur)
	}
	f.divergentBr(again, head, after)
	f.enterBlock(after)
	return next
}
