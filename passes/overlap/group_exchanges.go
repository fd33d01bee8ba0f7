package overlap

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// GroupExchanges brings the stores of small tiles to shared memory together, and their loads behind them, where an iteration of a loop has several, so that one
// barrier is enough for all: what comes of loads is stored as early as it can be, and what is loaded from shared memory waits for who takes it.
//
//	buffer_store %x, %s                     buffer_store %x, %s
//	%u = buffer_load %s                     buffer_store %y, %t
//	%v = reduce (f %u)            =>        %u = buffer_load %s
//	buffer_store %y, %t                     %v = reduce (f %u)
//	%w = buffer_load %t                     %w = buffer_load %t
//	g %v, %w                                g %v, %w
//
// What an iteration stores to global memory for nobody who asks for its token comes last. Where the loop copies what it computes with, reductions move, too, for all of
// them reduce the tiles of one iteration; in loops that do several iterations at a time the tiles of all would be held in registers.
func GroupExchanges(s *pass.State) error {
	for _, entry := range s.Entries() {
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if op.Code() != tileaa.OpFor || slices.ContainsFunc(op.Body().Ops(), tileaa.IsProduct) {
				return
			}
			copied := slices.ContainsFunc(op.Body().Ops(), func(o *ir.Op) bool { return o.Code() == tileaa.OpAsyncCopy })
			var stretch []*ir.Op
			for _, o := range op.Body().Ops() {
				if stays(o) || kernel.OrdersAll(o) || o == op.Body().Terminator() {
					groupExchanges(s, stretch, o, copied)
					stretch = nil
					continue
				}
				stretch = append(stretch, o)
			}
		})
	}
	return nil
}

// maxGroupedBytes is the shared memory of the tiles whose stores are grouped: each needs a place of its own.
const maxGroupedBytes = 8 << 10

// exchanges are the small tiles that go through shared memory in a stretch of a block.
type exchanges struct {
	stores []*ir.Op // in order
	loads  map[*ir.Op]bool
}

// exchangesOf finds them: buffers that are stored to once, and loaded from behind that.
func exchangesOf(stretch []*ir.Op) (e exchanges) {
	inside := map[*ir.Op]bool{}
	for _, o := range stretch {
		inside[o] = true
	}
	e.loads = map[*ir.Op]bool{}
	bytes := 0
	for _, o := range stretch {
		store, ok := ir.As[tileaa.BufferStore](o)
		if !ok || !inside[store.Buffer().DefiningOp()] || store.Buffer().DefiningOp().Code() != tileaa.OpAllocShared {
			continue
		}
		users := tileaa.BufferUsers(store.Buffer())
		if slices.ContainsFunc(users, func(u *ir.Op) bool { return u != o && (u.Code() != tileaa.OpBufferLoad || !inside[u]) }) {
			continue
		}
		if bytes += store.Buffer().Type().(*tileaa.BufferType).Bytes(); bytes > maxGroupedBytes {
			break
		}
		e.stores = append(e.stores, o)
		for _, u := range users {
			if u != o {
				e.loads[u] = true
			}
		}
	}
	return e
}

// groupExchanges does so in a stretch of a block, which ends at an op.
func groupExchanges(s *pass.State, stretch []*ir.Op, end *ir.Op, reductions bool) {
	e := exchangesOf(stretch)
	if len(e.stores) < 2 {
		return
	}
	h := newHoisting()
	h.reductions = reductions
	for _, o := range stretch {
		s.Step()
		if h.to == nil && o == e.stores[0] {
			h.to = o
		}
		if h.to != nil {
			h.behind[o] = true
		}
	}
	for _, o := range e.stores[1:] {
		store := ir.Cast[tileaa.BufferStore](o)
		if !h.movable(store.Value().DefiningOp()) {
			continue
		}
		alloc := store.Buffer().DefiningOp()
		if h.behind[alloc] {
			alloc.MoveBefore(h.to)
			delete(h.behind, alloc)
		}
		h.move(o)
	}
	sinkLoads(s, stretch[0], e, end)
}

// sinkLoads moves loads of exchanges, and what depends on them alone, down to their first user, or to the end of the stretch.
func sinkLoads(s *pass.State, first *ir.Op, e exchanges, end *ir.Op) {
	var ops []*ir.Op
	follows := map[*ir.Op]bool{}
	for o := first; o != end; o = o.Next() {
		s.Step()
		ops = append(ops, o)
		from := e.loads[o] || slices.ContainsFunc(o.Operands(), func(v *ir.Value) bool { return follows[v.DefiningOp()] })
		store := (o.Code() == tileaa.OpTiledStore || o.Code() == tileaa.OpStore) && !tileaa.IsStrong(o) && !slices.ContainsFunc(o.Results(), (*ir.Value).HasUses)
		follows[o] = from && (e.loads[o] || store || o.MovesFreely())
	}
	ops = append(ops, end)
	at := map[*ir.Op]int{} // where each stands, or will
	for i, o := range slices.Backward(ops) {
		if at[o] = i; follows[o] {
			at[o] = firstUser(o, at, len(ops)-1)
		}
	}
	for _, o := range ops {
		if follows[o] {
			o.MoveBefore(ops[at[o]])
		}
	}
}

// firstUser is where the first op stands that takes what o gives, or lies in there; at the end if that is behind it.
func firstUser(o *ir.Op, at map[*ir.Op]int, end int) int {
	for _, r := range o.Results() {
		for u := r.FirstUse(); u != nil; u = u.Next() {
			if i, known := at[u.Owner().AncestorIn(o.Block())]; known {
				end = min(end, i)
			}
		}
	}
	return end
}
