// Package slice makes in pieces what is too big for registers or shared memory.
package slice

import (
	"fmt"
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// Tiles strip-mines what is too big for the registers, where the plan says sliced. Registers cannot be indexed, and straight
// code for thousands of values is nothing that an assembler takes, so a big tile never exists as a whole: a loop makes it piece by
// piece. A group begins and ends in memory: its inputs are loads, scalars, iota and constants, its outputs stores and reductions.
//
//	%x = tiled_load %bx : 65536xf32            for %p = 0 to 4 {
//	%y = exp %x                                  %bx' = block_tile ... index * 4 + %p   : block<16384xf32>
//	tiled_store %y, %by                  =>      %x' = tiled_load %bx'                  : 16384xf32
//	                                             %y' = exp %x'
//	                                             tiled_store %y', %by'
//	                                           }
//
// Everything follows from one question asked backwards from an output: what is piece p of this value along dimension d? For an
// elementwise operation it is the operation on piece p of its operands, for a load the load of a smaller block, for iota a shorter
// iota plus p times its length (rules.go). A value on both sides of a full reduction is simply made twice:
//
//	%m = reduce max %x                         for %p { %a = maxf %a, piece p of %x };  %m = reduce max %a
//	tiled_store (subf %x, splat %m)      =>    for %p { tiled_store (subf (piece p of %x, loaded again), splat %m) }
//
// A reduction along another dimension than the sliced one happens inside the piece, so a softmax of many short rows is one loop.
//
// Order: inside a piece, operations come after the tokens from outside the loop; the loop carries out the join of all that its
// pieces did. Loading again, and storing before another piece has loaded, is right only where no token says otherwise
// (order.go).
//
// Where the plan says so, products become batches of slices along K first (slice_k.go).
//
// What cannot be made in pieces stays whole as long as a thread can hold it at all, else it is an error that names it.
func Tiles(s *pass.State) error {
	made := 0
	for _, entry := range s.Entries() {
		if _, err := cutEntry(s, entry, &made); err != nil {
			return err
		}
	}
	return nil
}

// cutEntry cuts the tiles of an entry as its plan says; changed reports whether there are some that it cuts.
func cutEntry(s *pass.State, entry *ir.Op, made *int) (changed bool, err error) {
	plan := tileaa.PlanOf(entry)
	if plan.SlicesK > 1 {
		changed = sliceK(s, entry, int64(plan.SlicesK))
	}
	if plan.OperandBytes > 0 {
		expandIotas(s, entry)
	}
	if plan.Sliced {
		cut, err := slicePieces(s, entry, made)
		if err != nil {
			return false, err
		}
		changed = changed || cut
	}
	if plan.OperandBytes > 0 {
		cut, err := cutSteps(s, entry)
		if err != nil {
			return false, err
		}
		changed = changed || cut
	}
	return changed, nil
}

// slicePieces makes big tiles of an entry in pieces; changed reports whether there are some.
func slicePieces(s *pass.State, entry *ir.Op, made *int) (changed bool, err error) {
	branchesToSelects(s, entry)
	defer selectsToBranches(s, entry)
	before, notes := *made, s.Notes
	start := func() *slicer {
		*made, s.Notes = before, notes
		c := newSlicer(s, entry)
		c.opsMade = made
		return c
	}
	c, err := decided(start)
	if c.expandExtractedIotas() {
		c, err = decided(start)
	}
	switch {
	case err == nil:
		c.build()
		return len(c.groups) > 0, nil
	case c.products && c.threads < layout.WarpSize*cost.MaxWarps, c.hasBiggerPlan():
		return false, &pass.ErrPlan{Entry: pass.SymbolName(entry), Reason: c.err.Error()}
	case c.fitsWhole():
		s.Remark(entry.Loc(), "tiles stay whole and may spill: %v", c.err)
		return false, nil
	}
	return false, &pass.ErrPlan{Entry: pass.SymbolName(entry), Reason: c.err.Error(), Cause: c.err}
}

// maxAttempts bounds how often it is decided anew what stays whole, so that time is linear in the entry.
const maxAttempts = 4

// decided is a slicer that start gives, which has decided what is cut. Loads that would be made in pieces too late for what comes after them by
// their tokens stay whole: then it is decided anew. What a release comes after without a token is loaded behind it rather than refused.
func decided(start func() *slicer) (c *slicer, err error) {
	whole := map[*ir.Op]bool{}
	for range maxAttempts {
		c = start()
		c.whole = whole
		if err = c.decide(); err == nil || len(c.tooLate) == 0 {
			break
		}
		for _, load := range c.tooLate {
			whole[load] = true
		}
	}
	if err != nil && len(c.fences) > 0 {
		c = start()
		c.whole, c.loadsBehindFences = whole, true
		err = c.decide()
	}
	return c, err
}

// slicer slices one entry.
type slicer struct {
	s       *pass.State
	b       *ir.Builder
	entry   *ir.Op
	threads int
	limit   int // registers of a thread beyond which a value is big
	// products: the entry has matrix products, whose accumulators may fill a piece. steps: products are cut along K, nothing else.
	products, steps bool
	accumulators    int       // registers of a thread that the accumulators of a piece may take
	pieceRegs       int       // registers of a thread that a piece takes in an entry without products; all accumulators of a loop and a piece take twice as many
	productDemands  *Products // where products are cut along K
	feeding         FeedsProducts
	tensorSums      map[*ir.Value]bool // sums that stay in tensor memory: their pieces are read behind their loops
	known           *facts.Facts
	number          map[*ir.Op]int // place in the walk: program order
	exits           []*ir.Op       // terminators in branches that leave what is around the branch, in program order
	fences          []*ir.Op       // come after all before them, whatever their tokens say, in program order
	orders          tokenOrder

	loops             map[*ir.Op]bool // that can be cut
	takers            map[*ir.Op]bool // cache of takesBig
	outputs           []*output
	output            map[*ir.Op]*output
	kept              map[*ir.Op]bool // operations that stay whole
	groups            []*group
	groupsWith        map[*ir.Op][]*group // the loops in which a memory operation happens
	rewires           []rewire
	replaced          ir.Mapping      // results of outputs -> what the loops give instead
	outside           ir.Mapping      // tokens in loops and branches -> what these give
	whole             map[*ir.Op]bool // loads that are not made in pieces
	tooLate           []*ir.Op        // those of which it was found that they should not be
	loadsBehindFences bool            // loads may happen behind fences that follow them
	opsMade           *int            // operations on pieces in the loops of the module so far
	remarked          bool
	err               error
}

func newSlicer(s *pass.State, entry *ir.Op) *slicer {
	p, d := tileaa.PlanOf(entry), kernel.DemandsOf(s, entry)
	c := &slicer{
		s: s, b: ir.NewBuilder(s.Ctx), entry: entry, threads: layout.WarpSize * p.Warps, limit: d.ValueLimit(s, p.Warps),
		known: facts.New(s.Ctx, entry), number: map[*ir.Op]int{}, output: map[*ir.Op]*output{}, groupsWith: map[*ir.Op][]*group{}, kept: map[*ir.Op]bool{},
		loops: map[*ir.Op]bool{}, takers: map[*ir.Op]bool{}, replaced: ir.Mapping{}, outside: ir.Mapping{}, feeding: FeedsProducts{}, tensorSums: map[*ir.Value]bool{}, opsMade: new(int), pieceRegs: cost.PieceRegisters,
	}
	if d.AccumulatorBits > 0 {
		c.products = true
		if c.accumulators = p.PieceRegs; c.accumulators == 0 {
			c.accumulators = cost.AccumulatorTarget
		}
		c.limit = d.AccumulatorShare(c.accumulators)
	} else if p.PieceRegs > 0 {
		c.pieceRegs, c.limit = p.PieceRegs, min(c.limit, p.PieceRegs)
	}
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		c.number[op] = len(c.number)
		if target := ir.Target(op); op.Traits().Has(ir.Terminator) && target != nil && target != op.ParentOp() {
			c.exits = append(c.exits, op)
		}
		if kernel.OrdersAll(op) {
			c.fences = append(c.fences, op)
		}
		if !p.SumsInTensor {
			return
		}
		if sum, ok := kernel.TensorMemorySum(s, op, p.Warps); ok {
			flow, _ := ir.LoopOf(sum.DefiningOp())
			for _, v := range []*ir.Value{flow.Init(sum.Index()), flow.Carried()[sum.Index()], op.Result(0), sum} {
				c.tensorSums[v] = true
			}
		}
	})
	c.orders = tokenOrder{c: c, followers: map[*ir.Op]map[*ir.Op]bool{}}
	return c
}

// hasBiggerPlan reports whether there is a plan of bigger pieces, whose threads have registers for what stays whole.
func (c *slicer) hasBiggerPlan() bool { return !c.products && c.pieceRegs < cost.PieceRegisters }

// fitsWhole reports whether a thread can hold every value one way or another.
func (c *slicer) fitsWhole() bool {
	ok := true
	c.s.Walk(c.entry, ir.PreOrder, func(op *ir.Op) {
		ok = ok && !slices.ContainsFunc(op.Results(), func(v *ir.Value) bool { return kernel.TileRegisters(v) > kernel.WholeRegisters*c.threads })
	})
	return ok
}

func (c *slicer) big(v *ir.Value) bool { return c.regs(v) > c.limit*c.threads }

// regs is kernel.TileRegisters of a value, but 0 of operands of products, which are cut along K later, and of sums that the tensor unit keeps.
func (c *slicer) regs(v *ir.Value) int {
	if c.tensorSums[v] || c.products && !c.steps && c.feeding.Of(v) {
		return 0
	}
	return kernel.TileRegisters(v)
}

// pieceLimit is the most registers of a thread that a piece takes, and a piece with all accumulators of a loop.
func (c *slicer) pieceLimit() (piece, loop int) {
	if c.products {
		return c.accumulators, c.accumulators
	}
	return c.pieceRegs, 2 * c.pieceRegs
}

// involvesBig reports whether an operation takes or makes a big tile, or scans more than a thread holds.
func (c *slicer) involvesBig(op *ir.Op) bool {
	if op.Code() == tileaa.OpScan && kernel.ScanRegisters(op, tileaa.ShapeOf(op.Operand(0)), c.threads/layout.WarpSize) > 2*c.limit {
		return true
	}
	return slices.ContainsFunc(op.Operands(), c.big) || slices.ContainsFunc(op.Results(), c.big)
}

// An output is an operation at which a group ends, and how it is cut.
type output struct {
	op     *ir.Op
	kind   outputKind
	pieces int64
	dim    int // of the tile that is cut: the stored value, the reduced operand, the collected result
	recipe
}

type outputKind uint8

const (
	effect     outputKind = iota // happens piece by piece: a store, an atomic, an assert
	accumulate                   // a reduction along the cut: pieces are combined, then reduced
	sum                          // a product along K: each piece adds to the accumulator
	collect                      // a small result: its pieces are put together
)

// decide finds out what is cut, and which loops make it.
func (c *slicer) decide() error {
	c.findOutputs()
	if c.err == nil {
		c.formGroups()
	}
	return c.err
}

// findOutputs decides about everything that must happen or must be known whole: it becomes an output of a loop, or stays.
func (c *slicer) findOutputs() {
	c.s.Walk(c.entry, ir.PreOrder, func(op *ir.Op) {
		if op != c.entry && !c.cuttable(op) && !c.cuttable(op.ParentOp()) {
			c.visitEffect(op)
		}
	})
	slices.SortFunc(c.outputs, func(a, b *output) int { return c.number[a.op] - c.number[b.op] })
}

// visitEffect sees to it that an operation happens, if it does more than compute: in pieces or as it is.
func (c *slicer) visitEffect(op *ir.Op) {
	if c.err == nil && c.steps && tileaa.IsProduct(op) {
		if o := c.stepOutput(op, c.stepPieces(op)); o != nil {
			c.add(o)
		}
		return
	}
	if c.err != nil || inCombine(op) || op.Traits().Has(ir.Pure) || loadsFreely(op) {
		return
	}
	if _, ok := cutTile(op); ok && !c.steps && c.dependsOnBig(op) {
		// A small tile is worth a loop if that spares making it whole.
		if o := c.bestOutput(op, effect); o != nil && (c.involvesBig(op) || !o.extracts() || o.cutsTensorSums(c)) {
			c.add(o)
			return
		}
	}
	c.keep(op)
}

// inCombine reports whether op lies in the region of a reduce or scan, which belongs to that operation.
func inCombine(op *ir.Op) bool {
	p := op.ParentOp()
	return p != nil && (p.Code() == tileaa.OpReduce || p.Code() == tileaa.OpScan)
}

// loadsFreely reports whether op is a load that may happen any number of times.
func loadsFreely(op *ir.Op) bool {
	return kernel.IsPlainLoad(op) && !tileaa.IsStrong(op)
}

// cutTile is the tile of an operation with an effect that can be cut.
func cutTile(op *ir.Op) (*ir.Value, bool) {
	var v *ir.Value
	switch op.Code() {
	case tileaa.OpTiledStore, tileaa.OpStore, tileaa.OpTiledAtomic, tileaa.OpAtomicRmw, tileaa.OpAtomicCas:
		v = tileaa.StoredValue(op)
	case tileaa.OpAssert:
		v = ir.Cast[tileaa.Assert](op).Cond()
	}
	if v == nil || !tileaa.IsRanked(v) {
		return nil, false
	}
	if ordersMore(op) || op.NumResults() == 2 && op.Result(0).HasUses() {
		return nil, false // an acquire or release is one act; the old values of an atomic exist once
	}
	return v, true
}

// ordersMore reports whether a memory operation orders others too: acquire and release.
func ordersMore(op *ir.Op) bool {
	m, ok := ir.As[tileaa.MemoryOp](op)
	return ok && m.Order() > def.Relaxed
}

// dependsOnBig reports whether a big tile feeds an operation, however small what it makes itself.
func (c *slicer) dependsOnBig(op *ir.Op) bool { return c.involvesBig(op) || c.takesBig(op) }

// takesBig is dependsOnBig of what an operation takes, cached: the program stays as it is until everything is decided.
func (c *slicer) takesBig(op *ir.Op) bool {
	takes, old := c.takers[op]
	if !old {
		c.s.Step()
		takes = slices.ContainsFunc(op.Operands(), func(v *ir.Value) bool {
			d := v.DefiningOp()
			switch {
			case c.tensorSums[v]:
				return true
			case d == nil || !tileaa.IsRanked(v):
				return false
			case c.cuttable(d):
				return true
			}
			return (rules[d.Code()] != nil || d.Traits().Has(ir.Elementwise)) && c.dependsOnBig(d)
		})
		c.takers[op] = takes
	}
	return takes
}

// add makes an output, and everything outside of its loop that the loop needs.
func (c *slicer) add(o *output) {
	if *c.opsMade += len(o.cuts); *c.opsMade > cost.MaxPieces {
		v, _ := cutTile(o.op)
		if v == nil {
			v = o.op.Operand(0)
		}
		c.refuse(o.op, v, fmt.Sprintf("every loop repeats what its output is made of, and together they have more than %d operations on pieces", cost.MaxPieces))
		return
	}
	c.outputs = append(c.outputs, o)
	c.output[o.op] = o
	for _, v := range o.wholes {
		c.needWhole(v, o.op)
	}
}

// keep leaves an operation as it is: its operands must exist whole.
func (c *slicer) keep(op *ir.Op) {
	if c.kept[op] || c.err != nil {
		return
	}
	c.kept[op] = true
	switch {
	case !c.involvesBig(op):
	case c.hasBiggerPlan():
		c.err = fmt.Errorf("%s cannot be cut into pieces", op.Def.Name)
		return
	case !c.remarked:
		c.remarked = true
		c.s.Remark(op.Loc(), "%s cannot be cut into pieces; it may spill", op.Def.Name)
	}
	for _, v := range op.Results() {
		c.checkWhole(v, op)
	}
	for _, v := range op.Operands() {
		c.needWhole(v, op)
	}
	switch {
	case op.Code() == tileaa.OpReduce || op.Code() == tileaa.OpScan:
		for _, v := range ir.Captures(op) {
			c.needWhole(v, op)
		}
	case c.cuttable(op):
		for _, in := range op.Body().Ops() {
			c.visitEffect(in)
		}
	}
}

// needWhole sees to it that a value that user takes exists whole.
func (c *slicer) needWhole(v *ir.Value, user *ir.Op) {
	op := v.DefiningOp()
	c.checkWhole(v, user)
	if op == nil || c.err != nil || c.kept[op] || c.output[op] != nil || tileaa.IsToken(v) {
		return
	}
	if tileaa.AsTile(v) != nil && c.involvesBig(op) && !c.big(v) && (op.Traits().Has(ir.Pure) || loadsFreely(op)) {
		if o := c.bestOutput(op, collect); o != nil {
			c.add(o)
			return
		}
	}
	c.keep(op)
}

func (c *slicer) checkWhole(v *ir.Value, user *ir.Op) {
	if c.steps && c.feeding.Of(v) && !(tileaa.IsProduct(user) && c.stepPieces(user) > 1) {
		return // what a product takes that fits
	}
	if c.regs(v) > kernel.WholeRegisters*c.threads {
		c.refuse(user, v, "it cannot be made in pieces")
	}
}

// refuse is the error about a tile that cannot be cut into pieces.
func (c *slicer) refuse(op *ir.Op, v *ir.Value, why string) {
	if c.err == nil {
		c.err = &ir.NotSupported{Op: op.Def.Name, Loc: op.Loc(), What: fmt.Sprintf("of a tile too big for the registers of %d threads, %s: %s, and whole it takes %d registers of each thread, which has %d; a smaller tile helps",
			c.threads, ir.ShortType(v.Type()), why, (kernel.TileRegisters(v)+c.threads-1)/c.threads, kernel.WholeRegisters-1)}
	}
}

// bestOutput is the cheapest way to cut an operation, or nil. A reduction may be cut along its own dimension too.
func (c *slicer) bestOutput(op *ir.Op, kind outputKind) *output {
	var best *output
	try := func(kind outputKind, rank int) {
		for d := range rank {
			if o := c.tryOutput(op, kind, d, 2); o != nil && (best == nil || o.cost < best.cost) {
				best = o
			}
		}
	}
	switch {
	case kind == effect:
		v, _ := cutTile(op)
		try(effect, len(tileaa.AsTile(v).Shape))
	case op.Code() == tileaa.OpReduce:
		dim := tileaa.DimOf(op)
		best = c.tryOutput(op, accumulate, dim, 2)
		fallthrough
	default:
		try(collect, len(tileaa.AsTile(op.Result(0)).Shape))
	}
	return best
}

// tryOutput cuts an operation along one dimension into as few pieces as fit, but at least so many.
func (c *slicer) tryOutput(op *ir.Op, kind outputKind, dim int, pieces int64) *output {
	if kind == sum {
		return c.stepOutput(op, pieces)
	}
	pieceLimit, loopLimit := c.pieceLimit()
	if kind == accumulate && !kernel.CombinesTiles(op) || kind == collect && ir.DenseElementBytes(tileaa.AsTile(op.Result(0)).Elem) == 0 {
		return nil // pointers are no constants that an empty tile could be made of
	}
	for ; ; pieces *= 2 {
		p := &prober{c: c, pieces: pieces, place: op, how: map[cut]method{}}
		var roots []cut
		switch kind {
		case effect:
			for _, v := range op.Operands() {
				roots = append(roots, cut{v, effectDim(v, dim)})
			}
		case accumulate:
			for _, v := range op.Operands() {
				roots = append(roots, cut{v, dim})
			}
		case collect:
			roots = append(roots, cut{op.Result(0), dim})
		}
		if !p.needAll(roots) || p.assumptionFailed || kind == collect && p.how[roots[0]] != inPieces {
			return nil
		}
		r, ok := p.recipe(roots)
		if !ok {
			return nil
		}
		if kind == accumulate {
			r.wholes = append(r.wholes, ir.Captures(op)...)
		}
		o := &output{op: op, kind: kind, dim: dim, pieces: pieces, recipe: r}
		if r.regs > pieceLimit*c.threads || r.regs+o.accumulators() > loopLimit*c.threads || c.products && accumulatorsOf(o) > c.accumulators*c.threads {
			continue
		}
		o.cost += map[outputKind]int{effect: 0, accumulate: cost.SliceAccumulate, collect: cost.SliceCollect}[kind]
		return o
	}
}

// results are the values that the loop carries for an output: every accumulator, and the tiles that are collected. Effects have none. Tokens go with
// that of the group.
func (o *output) results() []*ir.Value {
	switch o.kind {
	case accumulate, sum:
		return o.op.Results()
	case collect:
		return slices.DeleteFunc(slices.Clone(o.op.Results()), func(r *ir.Value) bool { return !r.HasUses() || tileaa.IsToken(r) })
	}
	return nil
}

// accumulators is the registers that all threads together carry through the loop for an output.
func (o *output) accumulators() int {
	n := 0
	for _, v := range o.op.Operands() {
		if o.kind == accumulate {
			n += kernel.TileRegisters(v) / int(o.pieces)
		}
	}
	return n
}

// effectDim is along which dimension an operand of an effect is cut when its tile is cut along dim; scalars and tokens are not.
func effectDim(v *ir.Value, dim int) int {
	if tileaa.ShapeOf(v) == nil {
		return whole
	}
	return dim
}
