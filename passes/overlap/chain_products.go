package overlap

import (
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// ChainProducts lets groups of warps, or the tensor unit, go on with a product that adds to what the one before it in its block gives, where that is: they add in
// the order in which products begin, so only the last one is waited for.
//
//	%x = dot %q, %k, 0                     %x = dot %q, %k, 0 {in_flight}
//	%y = dot %r, %l, %x             =>     %y = dot %r, %l, %x
//	%p = .. exp %y ..                      %p = .. exp %y ..
//
// skew-products and overlap-products take all products of a sum together.
func ChainProducts(s *pass.State) error {
	for _, entry := range s.Entries() {
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			for b := range op.Blocks() {
				chainIn(b)
			}
		})
	}
	return nil
}

// chainIn does so in a block: for sums that follow each other, so that those in flight have mbarriers enough, and that no loop or branch multiplies
// meanwhile, or leaves the block, in front of the wait.
func chainIn(b *ir.Block) {
	places, from := map[*ir.Op]int{}, 0 // from where on no other products stand that go on
	for at, op := range b.Ops() {
		if op.NumRegions() > 0 && (kernel.Multiplies(op) || ir.MayLeave(op)) {
			from = at
		}
		d, ok := ir.As[tileaa.Dot](op)
		if !ok || d.Atom() == nil {
			continue
		}
		places[op] = at
		list := tileaa.SumOf(d)
		if last := len(list) - 1; last > 0 && list[last] == d && places[list[0].Op] >= from {
			begin(list[:last])
			from = at
		}
	}
}

// begin says of products that they only begin.
func begin(list []tileaa.Dot) {
	for _, d := range list {
		d.SetInFlight(true)
	}
}
