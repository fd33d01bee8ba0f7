package overlap

import (
	"slices"

	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// OverlapProducts lets the products of a loop that the tensor unit computes go on while threads compute. What a product adds to what the loop carries stays in
// tensor memory, and is scaled there where the loop scales it first, as attention does when a row finds a larger score: no registers hold it. What a
// product makes from nothing begins as early as its factors are there, and threads wait for it where they take it.
//
//	                                      %a = sums_store %init
//	for %i inits(%init, %more) (%c, %e) { for %i inits(%a, %more) (%c, %e) {
//	  %x = dot %q, %k, 0                    %x = dot %q, %k, 0 {in_flight}
//	                                        %y = dot %v, %u, 0 {in_flight}
//	                                        dot_wait; %x' = dot_land %x
//	  %p = .. exp %x ..                     %p = .. exp %x' ..
//	  %s = mulf %c, %f                      dot_wait; %s = sums_scale %c, %f
//	  buffer_store %p, %b            =>     buffer_store %p, %b
//	  %d = dot %b, %v, %s                   %d = dot %b, %v, %s {in_flight}
//	  %y = dot %v, %u, 0                    dot_wait; %y' = dot_land %y
//	  buffer_store (.. %y), %g              buffer_store (.. %y'), %g
//	  %h = dot %g, %k, %e                   %h = dot %g, %k, %e {in_flight}
//	  continue %d, %h                       continue %d, %h
//	}                                     } lands %h
//	                                      dot_wait 0; dot_land
//
// Products of a loop end in the order in which they begin, and those of an iteration are the same in the next: a wait before what one of them gave is needed
// says how many have begun since. sums_store counts as the products of the iteration before the first; where none begins ahead, nobody waits for sums that are
// only added to, and the loop lands them. Before what a product still reads is overwritten, insert-barriers waits for it.
func OverlapProducts(s *pass.State) error {
	for _, entry := range s.Entries() {
		s.Walk(entry, ir.PostOrder, func(op *ir.Op) {
			if loop, ok := ir.As[tileaa.For](op); ok {
				l := unitLoop{For: loop, b: ir.NewBuilder(s.Ctx)}
				l.flow, _ = ir.LoopOf(op)
				l.overlap()
			}
		})
	}
	return nil
}

// unitLoop is a loop with products of the tensor unit.
type unitLoop struct {
	tileaa.For
	flow     ir.Flow
	b        *ir.Builder
	ahead    int                // products that the previous iteration has begun
	scaled   []tileaa.ScaledSum // to which products add
	added    []tileaa.Dot       // products that only add to what the loop carries, the last of each sum
	zeroInit []tileaa.Dot       // products that add to nothing, the first of each sum
}

// overlap rewrites the loop.
func (l *unitLoop) overlap() {
	if !l.find() {
		return
	}
	for _, d := range l.zeroInit {
		l.beginEarly(d)
	}
	for _, x := range l.scaled {
		l.b.Before(x.Scaled.Op)
		l.b.Loc = x.Scaled.Op.Loc()
		there := tileaa.NewSumsScale(l.b, l.flow.Carried()[x.Carried], x.Factor, tileaa.SumsScaleOptions{}).Result()
		x.Scaled.Result().ReplaceAllUsesWith(there)
		x.Scaled.Op.Erase()
		l.keepInTensor(x.Dot, x.Carried)
	}
	if l.ahead == 0 && len(l.added) > 0 {
		var all []tileaa.Dot
		for _, d := range l.added {
			all = append(all, tileaa.SumOf(d)...)
		}
		l.SetLands(carryInFlight(l.flow, all))
	} else {
		for _, d := range l.added {
			i, _ := tileaa.OnlyAdds(d.Op)
			l.keepInTensor(d, i)
		}
	}
	l.waitInOrder()
}

// find classifies the products of the loop; false if overlap would gain nothing. An accumulating product that is alone in its loop is left
// to pipeline-loops, which knows the slots of its operands.
func (l *unitLoop) find() bool {
	if len(l.flow.Continues()) != 1 || multipliesWithin(l.Op.Body()) {
		return false
	}
	for _, op := range l.Op.Body().Ops() {
		d, ok := tileaa.OnTensorUnit(op)
		if !ok || tileaa.ElemBits(tileaa.AsTile(d.Result()).Elem) != 32 {
			continue
		}
		sum := tileaa.SumOf(d)
		if sum[len(sum)-1] != d {
			continue
		}
		x, scaled := tileaa.ScaledSumOf(d)
		switch {
		case d.InFlight():
			l.ahead += len(sum)
		case scaled:
			l.scaled = append(l.scaled, x)
		case canStayInFlight(d):
			l.added = append(l.added, d)
		case isZeroInit(sum[0]):
			l.zeroInit = append(l.zeroInit, sum[0])
		}
	}
	// Turns are those of two iterations.
	if 2*(l.ahead+l.numInFlight()) > tileaa.ProductMbarriers {
		l.added, l.zeroInit = nil, nil
	}
	if len(l.zeroInit)+l.ahead+len(l.scaled) == 0 || len(l.Lands()) > 0 {
		l.added = nil
	}
	n := l.numInFlight()
	return n > 0 && 2*(l.ahead+n) <= tileaa.ProductMbarriers && hasColumns(l.Op)
}

// numInFlight is how many products of an iteration are to be in flight.
func (l *unitLoop) numInFlight() (n int) {
	for _, x := range l.scaled {
		n += len(tileaa.SumOf(x.Dot))
	}
	for _, d := range slices.Concat(l.added, l.zeroInit) {
		n += len(tileaa.SumOf(d))
	}
	return n
}

// isZeroInit reports whether a product has zero as its accumulator, is not predicated, and has a user.
func isZeroInit(d tileaa.Dot) bool {
	return tileaa.AddsToNothing(d) && d.When() == nil && d.Result().HasUses()
}

// beginEarly issues a zero-init product and its accumulation chain as early as they can be, and reads the sum where it is first used.
func (l *unitLoop) beginEarly(first tileaa.Dot) {
	sum := tileaa.SumOf(first)
	begin(sum)
	last := sum[len(sum)-1]
	l.b.Before(firstUse(last.Op))
	l.b.Loc = last.Op.Loc()
	land(l.b, last.Result())
	for _, d := range sum {
		l.moveUp(d)
	}
}

// moveUp moves a product up behind the previous zero-init chain, or the first one behind loads and copies, if it depends on nothing in
// between.
func (l *unitLoop) moveUp(d tileaa.Dot) {
	behind := l.lastZeroInit(d)
	if behind == nil {
		behind = d.Op.Prev()
		for behind != nil && (computes(behind) || ir.Is[tileaa.AsyncWait](behind)) {
			behind = behind.Prev()
		}
	}
	if behind == nil {
		return
	}
	if along, ok := movable(d, behind); ok {
		at := behind.Next()
		for _, op := range append(along, d.Op) {
			if op != at {
				op.MoveBefore(at)
			} else {
				at = at.Next()
			}
		}
	}
}

// computes reports whether an op is neither the start of copies or loads nor a wait for them: what stands in front of a product may wait
// for a load.
func computes(op *ir.Op) bool {
	return op.Traits().Has(ir.Pure) || ir.Is[tileaa.BufferLoad](op) || ir.Is[tileaa.BufferStore](op) || ir.Is[tileaa.AllocShared](op) || ir.Is[tileaa.DotLand](op)
}

// lastZeroInit is the zero-init product in front of another one behind which that may be issued.
func (l *unitLoop) lastZeroInit(d tileaa.Dot) (last *ir.Op) {
	for op := d.Op.Prev(); op != nil; op = op.Prev() {
		if o, ok := tileaa.OnTensorUnit(op); ok && o.InFlight() && isZeroInit(tileaa.SumOf(o)[0]) {
			return op
		}
	}
	return nil
}

// movable reports whether a product can move up behind another op of its block, and lists what must move along: views of its operands, and
// waits for copies that are still in flight there. Nothing in between may write its operands.
func movable(d tileaa.Dot, behind *ir.Op) (along []*ir.Op, ok bool) {
	var reads []*ir.Value
	for _, v := range tileaa.FactorsOf(d) {
		reads = append(reads, tileaa.ViewedBuffer(v))
	}
	moves, over := map[*ir.Op]bool{d.Op: true}, copiesDone(reads, behind)
	for op := d.Op.Prev(); op != behind; op = op.Prev() {
		if !over && ir.Is[tileaa.AsyncWait](op) {
			moves[op], along = true, append(along, op)
		} else if slices.ContainsFunc(op.Results(), func(r *ir.Value) bool {
			return slices.ContainsFunc(r.Uses(), func(u *ir.Use) bool { return moves[u.Owner()] })
		}) {
			if !op.MovesFreely() || tileaa.IsProduct(op) {
				return nil, false
			}
			moves[op], along = true, append(along, op)
		}
	}
	slices.Reverse(along)
	for op := behind.Next(); op != d.Op; op = op.Next() {
		switch {
		case ir.Is[tileaa.BufferStore](op):
			if slices.Contains(reads, tileaa.ViewedBuffer(ir.Cast[tileaa.BufferStore](op).Buffer())) {
				return nil, false
			}
		case !moves[op] && !computes(op) && !ir.Is[tileaa.TiledLoad](op) && !ir.Is[tileaa.AsyncWait](op):
			return nil, false
		}
	}
	return along, true
}

// copiesDone reports whether copies to buffers are complete in front of an op of a loop that waits for all copies begun before.
func copiesDone(buffers []*ir.Value, before *ir.Op) bool {
	over := before.Prev()
	for over != nil {
		if w, ok := ir.As[tileaa.AsyncWait](over); ok && w.Pending() == 0 {
			break
		}
		over = over.Prev()
	}
	for op := before.Block().Terminator(); op != nil && op != over; op = op.Prev() {
		if c, ok := ir.As[tileaa.AsyncCopy](op); ok && slices.Contains(buffers, tileaa.ViewedBuffer(c.Buffer())) {
			return false
		}
	}
	return true
}

// keepInTensor keeps a loop-carried sum in tensor memory. The sums_store in front of the loop counts as the product of the iteration before
// the first; products of other iterations that began behind it are waited for by their number.
func (l *unitLoop) keepInTensor(d tileaa.Dot, carried int) {
	use := l.flow.InitUse(carried)
	l.b.Loc = d.Op.Loc()
	l.b.Before(l.Op)
	l.Op.SetOperand(use.Index(), tileaa.NewSumsStore(l.b, use.Value(), tileaa.SumsStoreOptions{}).Result())
	begin(tileaa.SumOf(d))

	l.b.After(l.Op)
	tileaa.NewDotWait(l.b, 0)
	land(l.b, l.Op.Result(carried))
}

// firstUse is the first op behind another one in its block that uses its result, or contains a user.
func firstUse(op *ir.Op) (at *ir.Op) {
	users := map[*ir.Op]bool{}
	for _, u := range op.Result(0).Uses() {
		users[u.Owner().AncestorIn(op.Block())] = true
	}
	for at = op.Next(); !users[at]; {
		at = at.Next()
	}
	return at
}

// land replaces the uses of an asynchronous product's result by a dot_land, which reads it from tensor memory into registers.
func land(b *ir.Builder, v *ir.Value) {
	land := tileaa.NewDotLand(b, v.Type(), v, nil, tileaa.DotLandOptions{})
	v.ReplaceAllUsesWith(land.Result())
	land.SetSource(v)
}

// producerOf is the product that must be complete before an op: the one whose sums it reads, or that reads columns of tensor memory that
// the op or the tensor unit overwrites; nil without one.
func producerOf(op *ir.Op) *ir.Op {
	if o, ok := ir.As[tileaa.SumsOp](op); ok {
		if d, ok := tileaa.ProductOf(o); ok {
			return d.Op
		}
		return nil
	}
	if s, ok := ir.As[tileaa.FactorStore](op); ok && s.Over() == nil {
		return s.Result().FirstUse().Owner()
	}
	if d, ok := tileaa.OnTensorUnit(op); ok && !planted.On("factor-overwritten") {
		if s, ok := tileaa.StoreOver(tileaa.LastOfSum(d).Result()); ok {
			return s.Result().FirstUse().Owner()
		}
	}
	return nil
}

// waitInOrder inserts, before each op that reads the result of a product in flight, of this iteration or the one before, a wait for that
// product alone.
func (l *unitLoop) waitInOrder() {
	var flying []*ir.Op
	for _, op := range l.Op.Body().Ops() {
		if d, ok := tileaa.OnTensorUnit(op); ok && d.InFlight() {
			flying = append(flying, op)
		}
	}
	begun, over := 0, make([]bool, len(flying))
	for _, op := range l.Op.Body().Ops() {
		if k := slices.Index(flying, producerOf(op)); k >= 0 && !over[k] {
			l.waitFor(k, op, flying, begun)
			over[k] = true
		}
		if begun < len(flying) && op == flying[begun] {
			over[begun] = false
			begun++
		}
	}
}

// waitFor waits in front of an op for the k-th product in flight of the loop, when begun of them have begun in this iteration.
func (l *unitLoop) waitFor(k int, op *ir.Op, flying []*ir.Op, begun int) {
	if old, ok := ir.As[tileaa.DotWait](op.Prev()); ok {
		old.Op.Erase()
	}
	since := begun - 1 - k
	if since < 0 { // of the iteration before, or from before the loop: the first one has no fresh ones before it, and none of sums that an iteration waits for
		since = begun
		for _, later := range flying[k+1:] {
			sum := tileaa.SumOf(ir.Cast[tileaa.Dot](later))
			if !slices.Contains(l.zeroInit, sum[0]) && sum[len(sum)-1].InFlight() {
				since++
			}
		}
	}
	l.b.Before(op)
	tileaa.NewDotWait(l.b, int64(since))
}
