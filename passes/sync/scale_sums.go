package sync

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// scale-sums leaves in tensor memory what a loop scales before a product of the tensor unit adds to it, as attention does when a row finds a larger score, and
// scales it there. No registers hold it, and the product goes on until the next iteration scales what it gave:
//
//	                                      %a = sums_store %init
//	for %i inits(%init) (%c) {            for %i inits(%a) (%c) {
//	  ..                                    ..
//	  %s = mulf %c, %f                      dot_wait
//	  buffer_store %q, %p            =>     %s = sums_scale %c, %f
//	                                        buffer_store %q, %p
//	  %d = dot %p, %v, %s                   %d = dot %p, %v, %s {in_flight}
//	  continue %d                           continue %d
//	}                                     }
//	                                      dot_wait 0; dot_land
//
// Products of a loop end in the order in which they begin, and those of an iteration are the same in the next: a wait before what one of them gave is needed
// says how many have begun since. sums_store counts as the product of the iteration before the first.
func ScaleSums(s *pass.State) error {
	for _, entry := range s.Entries() {
		s.Walk(entry, ir.PostOrder, func(op *ir.Op) {
			if loop, ok := ir.As[tileaa.For](op); ok {
				scaleSums(s, loop)
			}
		})
	}
	return nil
}

// scaleSums rewrites a loop.
func scaleSums(s *pass.State, loop tileaa.For) {
	flow, _ := ir.LoopOf(loop.Op)
	if len(flow.Continues()) != 1 {
		return
	}
	var flying []tileaa.Dot // in the order in which they begin
	var list []tileaa.ScaledSum
	for _, op := range loop.Op.Body().Ops() {
		d, ok := onTensorUnit(op)
		if !ok {
			continue
		}
		x, scaled := tileaa.ScaledSumOf(d)
		if scaled = scaled && !d.InFlight(); scaled {
			list = append(list, x)
		}
		if scaled || d.InFlight() {
			flying = append(flying, d)
		}
	}
	if len(list) == 0 || !hasColumns(loop.Op) || 2*len(flying) > tileaa.ProductMbarriers {
		return
	}
	b := ir.NewBuilder(s.Ctx)
	b.Loc = list[0].Dot.Op.Loc()
	for _, x := range list {
		keepSum(b, loop, x)
	}
	waitInOrder(b, flow, flying)
}

// keepSum has a sum stay where the product puts it.
func keepSum(b *ir.Builder, loop tileaa.For, x tileaa.ScaledSum) {
	flow, _ := ir.LoopOf(loop.Op)
	use := flow.InitUse(x.Carried)
	b.Before(loop.Op)
	loop.Op.SetOperand(use.Index(), tileaa.NewSumsStore(b, use.Value(), tileaa.SumsStoreOptions{}).Result())
	b.Before(x.Scaled.Op)
	there := tileaa.NewSumsScale(b, flow.Carried()[x.Carried], x.Factor, tileaa.SumsScaleOptions{}).Result()
	x.Scaled.Result().ReplaceAllUsesWith(there)
	x.Scaled.Op.Erase()
	x.Dot.SetInFlight(true)

	b.After(loop.Op)
	result := loop.Op.Result(x.Carried)
	tileaa.NewDotWait(b, 0)
	land := tileaa.NewDotLand(b, result.Type(), result, tileaa.DotLandOptions{})
	result.ReplaceAllUsesWith(land.Result())
	land.SetSource(result)
}

// waitInOrder has a loop wait, before each op that takes what a product in flight gave in the iteration before, for that product alone.
func waitInOrder(b *ir.Builder, flow ir.Flow, flying []tileaa.Dot) {
	begun := 0
	for _, op := range flow.Op.Body().Ops() {
		if begun < len(flying) && op == flying[begun].Op {
			begun++
		}
		o, ok := ir.As[tileaa.SumsOp](op)
		if !ok {
			continue
		}
		d, _ := tileaa.ProductOf(o)
		k := slices.IndexFunc(flying, func(f tileaa.Dot) bool { return f.Op == d.Op })
		if k < 0 {
			continue
		}
		if old, ok := ir.As[tileaa.DotWait](op.Prev()); ok {
			old.Op.Erase()
		}
		b.Before(op)
		tileaa.NewDotWait(b, int64(len(flying)-1-k+begun))
	}
}
