package sync

import (
	"slices"

	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// overlap-products lets the products of a loop that the tensor unit computes go on while threads compute. What a product adds to what the loop carries stays in
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
	flow   ir.Flow
	b      *ir.Builder
	ahead  int                // products that an iteration before has begun
	scaled []tileaa.ScaledSum // to which products add
	added  []tileaa.Dot       // products that only add to what the loop carries, the last of each sum
	fresh  []tileaa.Dot       // products that add to nothing, the first of each sum
}

// overlap rewrites the loop.
func (l *unitLoop) overlap() {
	if !l.find() {
		return
	}
	for _, d := range l.fresh {
		l.beginEarly(d)
	}
	for _, x := range l.scaled {
		l.b.Before(x.Scaled.Op)
		l.b.Loc = x.Scaled.Op.Loc()
		there := tileaa.NewSumsScale(l.b, l.flow.Carried()[x.Carried], x.Factor, tileaa.SumsScaleOptions{}).Result()
		x.Scaled.Result().ReplaceAllUsesWith(there)
		x.Scaled.Op.Erase()
		l.keep(x.Dot, x.Carried)
	}
	if l.ahead == 0 && len(l.added) > 0 {
		var all []tileaa.Dot
		for _, d := range l.added {
			all = append(all, tileaa.SumOf(d)...)
		}
		l.SetLands(letFly(l.flow, all))
	} else {
		for _, d := range l.added {
			i, _ := tileaa.OnlyAdds(d.Op)
			l.keep(d, i)
		}
	}
	l.waitInOrder()
}

// find sorts the products of the loop; false if none has reason to go on. One that adds up by itself alone in its loop is left to pipeline-loops, which knows
// how many slots there are for what it reads.
func (l *unitLoop) find() bool {
	if len(l.flow.Continues()) != 1 || multipliesWithin(l.Op.Body()) {
		return false
	}
	for _, op := range l.Op.Body().Ops() {
		d, ok := onTensorUnit(op)
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
		case mayFly(d):
			l.added = append(l.added, d)
		case isFresh(sum[0]):
			l.fresh = append(l.fresh, sum[0])
		}
	}
	// Turns are those of two iterations.
	if 2*(l.ahead+l.turns()) > tileaa.ProductMbarriers {
		l.added, l.fresh = nil, nil
	}
	if len(l.fresh)+l.ahead+len(l.scaled) == 0 || len(l.Lands()) > 0 {
		l.added = nil
	}
	n := l.turns()
	return n > 0 && 2*(l.ahead+n) <= tileaa.ProductMbarriers && hasColumns(l.Op)
}

// turns is how many products of an iteration are to go on.
func (l *unitLoop) turns() (n int) {
	for _, x := range l.scaled {
		n += len(tileaa.SumOf(x.Dot))
	}
	for _, d := range slices.Concat(l.added, l.fresh) {
		n += len(tileaa.SumOf(d))
	}
	return n
}

// isFresh reports whether a product adds to nothing, begins in any case, and somebody takes what it gives.
func isFresh(d tileaa.Dot) bool {
	return tileaa.AddsToNothing(d) && d.When() == nil && d.Result().HasUses()
}

// beginEarly begins a product that adds to nothing, and those that add to it, as early as they can, and brings the sum to registers where that is first used.
func (l *unitLoop) beginEarly(first tileaa.Dot) {
	sum := tileaa.SumOf(first)
	begin(sum)
	last := sum[len(sum)-1]
	l.b.Before(takenAt(last.Op))
	l.b.Loc = last.Op.Loc()
	land(l.b, last.Result())
	for _, d := range sum {
		l.moveUp(d)
	}
}

// moveUp begins a product behind the last one of a sum that adds to nothing, the first of them behind loads and copies, if nothing in between concerns it.
func (l *unitLoop) moveUp(d tileaa.Dot) {
	behind := l.lastFresh(d)
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

// computes reports whether an op neither begins copies or loads nor waits for them as such: what stands in front of a product may wait for a load.
func computes(op *ir.Op) bool {
	return op.Traits().Has(ir.Pure) || ir.Is[tileaa.BufferLoad](op) || ir.Is[tileaa.BufferStore](op) || ir.Is[tileaa.AllocShared](op) || ir.Is[tileaa.DotLand](op)
}

// lastFresh is the product before one, of a sum that adds to nothing, which it may begin behind.
func (l *unitLoop) lastFresh(d tileaa.Dot) (last *ir.Op) {
	for op := d.Op.Prev(); op != nil; op = op.Prev() {
		if o, ok := onTensorUnit(op); ok && o.InFlight() && isFresh(tileaa.SumOf(o)[0]) {
			return op
		}
	}
	return nil
}

// movable reports whether a product can move up behind another op of its block, and lists what has to move with it: views of what it reads, and waits for copies
// that are not over there. What is between must not write what it reads.
func movable(d tileaa.Dot, behind *ir.Op) (along []*ir.Op, ok bool) {
	var reads []*ir.Value
	for _, v := range tileaa.FactorsOf(d) {
		reads = append(reads, tileaa.ViewedBuffer(v))
	}
	moves, over := map[*ir.Op]bool{d.Op: true}, landed(reads, behind)
	for op := d.Op.Prev(); op != behind; op = op.Prev() {
		if !over && ir.Is[tileaa.AsyncWait](op) {
			moves[op], along = true, append(along, op)
		} else if slices.ContainsFunc(op.Results(), func(r *ir.Value) bool {
			return slices.ContainsFunc(r.Uses(), func(u *ir.Use) bool { return moves[u.Owner()] })
		}) {
			if !op.Traits().Has(ir.Pure) || op.NumRegions() > 0 || tileaa.IsProduct(op) {
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

// landed reports whether copies to buffers are over before an op of a loop that waits for all copies which were begun before.
func landed(buffers []*ir.Value, before *ir.Op) bool {
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

// keep has what a product adds to the carried value of a number stay where it puts it. What is stored there before the loop counts as the product of the
// iteration before the first: those of other iterations that began behind it are waited for by their number.
func (l *unitLoop) keep(d tileaa.Dot, carried int) {
	use := l.flow.InitUse(carried)
	l.b.Loc = d.Op.Loc()
	l.b.Before(l.Op)
	l.Op.SetOperand(use.Index(), tileaa.NewSumsStore(l.b, use.Value(), tileaa.SumsStoreOptions{}).Result())
	begin(tileaa.SumOf(d))

	l.b.After(l.Op)
	tileaa.NewDotWait(l.b, 0)
	land(l.b, l.Op.Result(carried))
}

// takenAt is the first op of its block behind one with a result that uses that, or holds an op that does.
func takenAt(op *ir.Op) (at *ir.Op) {
	users := map[*ir.Op]bool{}
	for _, u := range op.Result(0).Uses() {
		users[u.Owner().AncestorIn(op.Block())] = true
	}
	for at = op.Next(); !users[at]; {
		at = at.Next()
	}
	return at
}

// land brings to registers what products in flight sum, for all who use it.
func land(b *ir.Builder, v *ir.Value) {
	land := tileaa.NewDotLand(b, v.Type(), v, nil, tileaa.DotLandOptions{})
	v.ReplaceAllUsesWith(land.Result())
	land.SetSource(v)
}

// takenFrom is the product that must be over before an op: the one whose sums it takes, or that reads the columns of tensor memory to which it or the unit writes;
// nil without one.
func takenFrom(op *ir.Op) *ir.Op {
	if o, ok := ir.As[tileaa.SumsOp](op); ok {
		d, _ := tileaa.ProductOf(o)
		return d.Op
	}
	if s, ok := ir.As[tileaa.FactorStore](op); ok && s.Over() == nil {
		return s.Result().FirstUse().Owner()
	}
	if d, ok := onTensorUnit(op); ok && !planted.On("factor-overwritten") {
		if s, ok := storeOver(tileaa.LastOfSum(d).Result()); ok {
			return s.Result().FirstUse().Owner()
		}
	}
	return nil
}

// storeOver is the factor that is stored in the columns of a product that gives a value, if there is one.
func storeOver(v *ir.Value) (s tileaa.FactorStore, ok bool) {
	for u := v.FirstUse(); u != nil && !ok; u = u.Next() {
		if ir.Is[tileaa.DotLand](u.Owner()) {
			s, ok = storeOver(u.Owner().Result(0))
		} else if s, ok = ir.As[tileaa.FactorStore](u.Owner()); ok {
			ok = s.Over() == v
		}
	}
	return s, ok
}

// waitInOrder has the loop wait, before each op that takes what a product in flight gave, in this iteration or in the one before, for that product alone.
func (l *unitLoop) waitInOrder() {
	var flying []*ir.Op
	for _, op := range l.Op.Body().Ops() {
		if d, ok := onTensorUnit(op); ok && d.InFlight() {
			flying = append(flying, op)
		}
	}
	begun, over := 0, make([]bool, len(flying))
	for _, op := range l.Op.Body().Ops() {
		if k := slices.Index(flying, takenFrom(op)); k >= 0 && !over[k] {
			l.waitFor(k, op, flying, begun)
			over[k] = true
		}
		if begun < len(flying) && op == flying[begun] {
			over[begun] = false
			begun++
		}
	}
}

// waitFor waits before an op of the loop for the k-th of its products in flight, of which so many have begun in this iteration.
func (l *unitLoop) waitFor(k int, op *ir.Op, flying []*ir.Op, begun int) {
	if old, ok := ir.As[tileaa.DotWait](op.Prev()); ok {
		old.Op.Erase()
	}
	since := begun - 1 - k
	if since < 0 { // of the iteration before, or from before the loop: the first one has no fresh ones before it
		since = begun
		for _, later := range flying[k+1:] {
			if first := tileaa.SumOf(ir.Cast[tileaa.Dot](later))[0]; !slices.Contains(l.fresh, first) {
				since++
			}
		}
	}
	l.b.Before(op)
	tileaa.NewDotWait(l.b, int64(since))
}
