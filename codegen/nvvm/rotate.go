package nvvm

import (
	"slices"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/value"

	"tileiras/codegen/cost"
	"tileiras/codegen/ptxop"
)

// rotation is a loop whose head moves into the iteration before: the wait for copies, the barrier, new copies and the reads for the
// first step of its products take place among the products of the last step, which need nothing of shared memory any more.
//
//	                              wait; barrier; copies; read a0
//	do {                          do {
//	  wait; barrier; copies         read a1; product a0
//	  read a0; product a0    =>     read a2; product a1
//	  read a1; product a1           wait; barrier; read a0 of the next iteration
//	  read a2; product a2           product a2 and copies by turns
//	} while (more)                } while (more)
//
// What products of the first step take goes there, too, where it is computed from these reads and needs no more registers than they: at the head of the
// iteration all products would wait for it. What products of the other steps take is computed among those of the step before.
//
// Memory sees the same accesses in the same order, but for reads that pass copies: those meet in no byte, as no wait is between them. After
// the last iteration there is one head too many: a wait for what is already under way, a barrier that all threads reach, reads of shared memory that
// nobody uses, and copies whose guard is false. Nothing else may be in a head. Where threads meet further down in an iteration, what these reads read may be
// stored to behind the loop without a barrier: they meet once more there.
type rotation struct {
	*sinker
	block *llvm.Block
	order []int32 // of the instructions, by number within the block

	products     []int32
	step         []int // by product: its step along K
	chainStart   []int
	firstEnd     int     // so many products are the first step
	lastBegin    int     // from this one on they are the last step
	gate         []int32 // waits and barriers of the head
	copies       []int32 // copies and commits after them
	earlyCopies  int     // so many copies are issued with the head, during the last step,
	lateCopiesAt int     // the others in front of this product of the next iteration
	reads        []int32 // for the first step
	moved        []bool  // gate, copies and reads
	late         []bool  // products of the last step, and what depends on them
	carried      []int32 // loop-carried: results of the reads, or operands computed from them
}

// rotation finds out whether a block is a loop that can be rotated; nil if not.
func (s *sinker) rotation(b *llvm.Block, order []int32) *rotation {
	back, ok := b.Term.(*llvm.TermCondBr)
	if !ok || back.TargetTrue != b || loopsAlone(back.TargetFalse.(*llvm.Block)) {
		return nil
	}
	r := &rotation{sinker: s, block: b, order: order}
	n := len(s.here) // order leaves out reads that nobody uses
	r.moved, r.late = make([]bool, n), make([]bool, n)
	for i := range s.here {
		if phi, ok := s.here[i].Instruction.(*llvm.InstPhi); ok && len(phi.Incs) != 2 {
			return nil
		}
	}
	if !r.numberSteps() || !r.findHead() || !r.findTail() || !r.independent() {
		return nil
	}
	return r
}

// loopsAlone reports whether a block is a loop of its own.
func loopsAlone(b *llvm.Block) bool {
	back, ok := b.Term.(*llvm.TermCondBr)
	return ok && (back.TargetTrue == b || back.TargetFalse == b)
}

// isGate reports whether an instruction is a wait or a barrier that may run once more than there are iterations, because all threads of a
// loop execute it. Barriers with a thread count may belong to two roles. At an mbarrier a thread waits for copies or products already under
// way, or, in a kernel with pipelines, for another role, which does nothing for an iteration beyond the last.
func (r *rotation) isGate(row *ptxop.Row) bool {
	switch row.Name {
	case "bar.sync", "bar.warp.sync", "cp.async.wait_group":
		return true
	case tryWait:
		return !r.pipelines
	}
	return false
}

func (r *rotation) inst(i int32) llvm.Instruction { return r.here[i].Instruction }
func (r *rotation) is(i int32, what sinking) bool { return r.here[i].what == what }

// each calls do for the operands of an instruction that the block defines, phis included.
func (r *rotation) each(i int32, do func(o int32)) {
	for _, o := range r.here[i].takes {
		if o >= 0 {
			do(o)
		}
	}
}

// takes reports whether such holds for one of these operands.
func (r *rotation) takes(i int32, such func(o int32) bool) bool {
	for _, o := range r.here[i].takes {
		if o >= 0 && such(o) {
			return true
		}
	}
	return false
}

// local is the number of a value that the block defines.
func (r *rotation) local(v value.Value) (int32, bool) {
	n, ok := r.number(v)
	n -= r.first
	return n, ok && n >= 0 && int(n) < len(r.here)
}

// numberSteps numbers the steps along K: each adds to the accumulators of the one before.
func (r *rotation) numberSteps() bool {
	step := none(len(r.here)) // of products
	for _, i := range r.order {
		n := &r.here[i]
		if !n.product {
			continue
		}
		from, to := n.row.Accumulators()
		at := int32(0)
		for _, acc := range n.Instruction.(*llvm.InstCall).Args[from:to] {
			if e, ok := acc.(*llvm.InstExtractValue); ok {
				acc = e.X
			}
			if n, ok := r.local(acc); ok {
				at = max(at, step[n]+1)
			}
		}
		step[i] = at
		chain := len(r.products)
		if k := len(r.step); k > 0 && (at > 0 || r.step[k-1] == 0) {
			chain = r.chainStart[k-1]
		}
		r.products, r.step, r.chainStart = append(r.products, i), append(r.step, int(at)), append(r.chainStart, chain)
	}
	n := len(r.step)
	if n == 0 {
		return false
	}
	for r.firstEnd < n && r.step[r.firstEnd] == 0 {
		r.firstEnd++
	}
	for r.lastBegin = n; r.lastBegin > r.firstEnd && r.step[r.lastBegin-1] == r.step[n-1]; {
		r.lastBegin--
	}
	return r.step[n-1] > 0
}

// findHead finds the head of the body, which moves into the iteration before: waits and barriers, copies, and reads of shared memory for
// the first step.
func (r *rotation) findHead() bool {
	var others bool
	for _, i := range r.order {
		if i == r.products[0] {
			break
		}
		switch r.here[i].what {
		case fixed:
			others = others || !r.here[i].phi
		case blocker:
			row := r.here[i].row
			switch {
			case others || row == nil:
				return false
			case r.isGate(row):
				if len(r.copies) > 0 {
					return false // waits for copies of its own
				}
				r.gate = append(r.gate, i)
			case row.Effects&ptxop.Async != 0 && row.Effects&ptxop.WriteGlobal == 0 && (row.GuardOperand >= 0 || row.Effects&ptxop.WriteShared == 0):
				r.copies = append(r.copies, i)
			default:
				return false
			}
			r.moved[i] = true
		}
	}
	if len(r.gate) == 0 || len(r.copies) == 0 {
		return false
	}
	seen := make([]bool, len(r.here))
	var visit func(i int32)
	visit = func(i int32) {
		if seen[i] || r.here[i].phi {
			return
		}
		seen[i] = true
		if r.is(i, reading) && r.blockers[i] == len(r.gate)+len(r.copies) {
			r.moved[i] = true
			return
		}
		if r.is(i, pure) {
			r.each(i, visit)
		}
	}
	for _, p := range r.products[:r.firstEnd] {
		r.each(p, visit)
	}
	for _, i := range r.order {
		if r.moved[i] && r.is(i, reading) {
			r.reads = append(r.reads, i)
		}
	}
	return len(r.reads) > 0 && r.findResults()
}

// findResults finds the registers that the head's reads define.
func (r *rotation) findResults() bool {
	for _, i := range r.order {
		if _, ok := r.inst(i).(*llvm.InstExtractValue); ok {
			if n := r.here[i].takes[0]; n >= 0 && r.moved[n] {
				r.carried = append(r.carried, i)
			}
		} else if r.moved[i] && r.is(i, reading) && r.here[i].words > 0 { // else its results are extracted
			r.carried = append(r.carried, i)
		}
	}
	for _, i := range slices.Concat(r.carried, r.reads) {
		if r.here[i].pinned {
			return false
		}
	}
	r.keepOperands()
	return true
}

// keepOperands makes the operands of the first step loop-carried instead of the results of the reads, where they depend on these alone, the
// reads have no other use, and they take no more registers.
func (r *rotation) keepOperands() {
	from, seen := make([]bool, len(r.moved)), make([]bool, len(r.moved)) // what follows from the reads, and what of it products take
	var taken []int32
	passed := 0 // products
	for _, i := range r.order {
		product, others := r.here[i].product, false
		if product {
			passed++
		}
		for _, o := range r.here[i].takes {
			switch {
			case o < 0: // it is the same in every iteration
			case !from[o]:
				others = true
			case !product:
				from[i] = true
			case passed > r.firstEnd:
				return
			case !seen[o]:
				seen[o], taken = true, append(taken, o)
			}
		}
		if from[i] && (others || !r.is(i, pure) || r.here[i].pinned) {
			return
		}
		from[i] = from[i] || r.moved[i] && r.is(i, reading)
	}
	if r.wordsOf(taken) > r.wordsOf(r.carried) {
		return
	}
	r.carried = taken
	for i, follows := range from {
		r.packs[i] = r.packs[i] && !follows
	}
}

// wordsOf is the registers of several results.
func (r *rotation) wordsOf(list []int32) (n int) {
	for _, i := range list {
		n += int(r.here[i].words)
	}
	return n
}

// findTail finds the products of the last step and what depends on them, which must be pure.
func (r *rotation) findTail() bool {
	for _, p := range r.products[r.lastBegin:] {
		r.late[p] = true
	}
	for _, i := range r.order {
		if r.late[i] || !r.takes(i, func(o int32) bool { return r.late[o] }) {
			continue
		}
		if !r.is(i, pure) {
			return false
		}
		r.late[i] = true
	}
	return true
}

// independent reports whether the head of the next iteration depends on nothing of the last step, only on pure values.
func (r *rotation) independent() bool {
	seen := make([]bool, len(r.here))
	var ok func(i int32) bool
	ok = func(i int32) bool {
		if seen[i] {
			return true
		}
		seen[i] = true
		if phi, is := r.inst(i).(*llvm.InstPhi); is {
			n, is := r.local(r.backEdgeValue(phi))
			return !is || !r.late[n]
		}
		return r.is(i, pure) && !r.takes(i, func(o int32) bool { return !ok(o) })
	}
	for _, i := range slices.Concat(r.gate, r.copies, r.reads) {
		if r.takes(i, func(o int32) bool { return !ok(o) }) {
			return false
		}
	}
	more, is := r.local(r.block.Term.(*llvm.TermCondBr).Cond)
	return !is || !r.late[more]
}

// backEdgeValue is the incoming value of a phi on the loop's back edge.
func (r *rotation) backEdgeValue(phi *llvm.InstPhi) value.Value {
	for _, in := range phi.Incs {
		if in.Pred == r.block {
			return in.X
		}
	}
	panic("BUG: nvvm: a phi of a loop without a value from the loop")
}

// fits estimates whether a thread has registers for the first steps of two iterations: the block's most register pressure plus the
// loop-carried reads.
func (r *rotation) fits(limit int) bool {
	outside := make([]bool, len(r.all))
	alive := make([]bool, len(r.here))
	live, most := 0, 0
	use := func(o int32) {
		switch {
		case o >= 0 && !alive[o]:
			alive[o] = true
			live += int(r.here[o].words)
		case o < noInst && !outside[elsewhere(o)]:
			outside[elsewhere(o)] = true
			live += int(r.all[elsewhere(o)].words)
		}
	}
	useValue := func(v value.Value) { use(r.operand(v, r.first, r.first+int32(len(r.here)))) }
	for _, x := range r.block.Term.Operands() {
		useValue(*x)
	}
	for _, i := range r.order {
		if phi, ok := r.inst(i).(*llvm.InstPhi); ok {
			useValue(r.backEdgeValue(phi))
		}
	}
	for _, i := range slices.Backward(r.order) {
		if r.here[i].phi || !alive[i] && r.is(i, pure) {
			continue // a phi, or what nobody uses
		}
		if alive[i] {
			alive[i] = false
			live -= int(r.here[i].words)
		}
		for _, o := range r.here[i].takes {
			use(o)
		}
		most = max(most, live)
	}
	return most+r.wordsOf(r.carried) <= limit
}

// splitCopies decides how many copies are issued during the last step, its share of half of an iteration; the others follow together in the
// next iteration, because each copy among reads makes ptxas put three dummy reads in front of it on sm_80. All of them are early if the
// wait leaves no group in flight, so that the next wait is for them, unless there is one product and another resident block to cover it;
// all of them, too, if there is no other block and the last step has a product for each.
func (r *rotation) splitCopies(blocks int) {
	r.earlyCopies = len(r.copies)
	last := len(r.products) - r.lastBegin
	for _, i := range r.gate {
		if r.here[i].row.Name != "cp.async.wait_group" {
			continue
		}
		pending, ok := r.inst(i).(*llvm.InstCall).Args[0].(*constant.Int)
		if !ok {
			continue
		}
		late := pending.X.Sign() > 0 && (blocks > 1 || len(r.copies) > last)
		if late || blocks > 1 && r.chainStart[0] == r.chainStart[len(r.chainStart)-1] {
			rest := min(r.productsToPass(), max(0, len(r.products)/2-last))
			r.earlyCopies, r.lateCopiesAt = len(r.copies)*last/(last+rest), rest/4
		}
	}
}

// apply rotates the loop if registers suffice.
func (r *rotation) apply(f *fn) bool {
	limit := f.plan.Registers(cost.RegisterLimit(f.target, f.plan.Threads(), 1))
	if !r.fits(limit) {
		return false
	}
	blocks, _ := cost.Occupancy(f.target, f.plan.Threads(), limit, f.shared)
	r.splitCopies(blocks)
	m := &rotationWriter{
		rotation: r, f: f, out: make([]llvm.Instruction, 0, len(r.order)), done: make([]bool, len(r.here)), ready: make([]bool, len(r.here)),
		phiFor: make([]value.Value, len(r.here)),
	}
	m.writePrologue()
	m.writeBody()
	if barrier := r.barrierBehindHead(); barrier != nil {
		r.exits = append(r.exits, exitBarrier{r.block.Term.(*llvm.TermCondBr).TargetFalse.(*llvm.Block), f.clone(barrier)})
	}
	return true
}

// exitBarrier is a barrier to put at the beginning of the block behind a loop.
type exitBarrier struct {
	block   *llvm.Block
	barrier llvm.Instruction
}

// barrierBehindHead is a barrier of the iteration that is not in its head, of the most threads that there is; or nil.
func (r *rotation) barrierBehindHead() (barrier llvm.Instruction) {
	for _, i := range r.order {
		row := r.here[i].row
		switch {
		case row == nil || r.moved[i]:
		case row.Name == "bar.sync" || row.Name == "bar.sync.count":
			return r.inst(i)
		case row.Name == "bar.warp.sync" && barrier == nil:
			barrier = r.inst(i)
		}
	}
	return barrier
}
