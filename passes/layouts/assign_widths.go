package layouts

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// This file finds the width of accesses whose values meet. Where loads of narrow and of wide elements meet in arithmetic, each in its
// widest vectors, one of them would have to change threads; where all have as many elements in a vector as the widest elements allow,
// none has, and every access still moves whole sectors:
//
//	%x = tiled_load : bf16  16 bytes, 8 elements          8 bytes, 4 elements
//	%w = tiled_load : f32   16 bytes, 4 elements    =>   16 bytes, 4 elements
//	%y = mulf (ftof %x), %w

// widths says how many elements the accesses have whose values meet in arithmetic.
type widths struct {
	parent map[*ir.Value]*ir.Value // union-find: values that meet in arithmetic have one root
	least  map[*ir.Value]int       // by root
	fixed  map[*ir.Value]bool      // by root: a product takes or gives a value
	meet   map[*ir.Value]*meeting  // by root
}

// A meeting is the accesses and the reductions of values that meet in arithmetic, those in loops if there are any.
type meeting struct {
	looped     bool
	accesses   []*ir.Value // what they move
	reductions []*ir.Op
}

// widthsOf takes time linear in the entry.
func widthsOf(s *pass.State, entry *ir.Op) *widths {
	w := &widths{map[*ir.Value]*ir.Value{}, map[*ir.Value]int{}, map[*ir.Value]bool{}, map[*ir.Value]*meeting{}}
	computed := map[*ir.Value]bool{} // from what is rematerialized only
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if op.NumResults() == 1 && (op.Traits().Has(ir.Elementwise) || tileaa.IsRelabeling(op)) {
			computed[op.Result(0)] = !slices.ContainsFunc(op.Operands(), func(v *ir.Value) bool {
				return tileaa.IsRanked(v) && !kernel.IsRematerialized(v) && !computed[v]
			})
		}
		if op.Traits().Has(ir.Elementwise) || op.Code() == tileaa.OpReshape {
			for _, v := range op.Operands() {
				if tileaa.IsRanked(v) && !kernel.IsRematerialized(v) {
					w.join(v, op.Result(0))
				}
			}
		}
	})
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if tileaa.IsProduct(op) {
			for _, v := range append(op.Operands(), op.Results()...) {
				w.fixed[w.root(v)] = true
			}
		}
		if op.Code() == tileaa.OpReduce && !computed[op.Operand(0)] && !kernel.IsRematerialized(op.Operand(0)) {
			w.add(op, op.Operand(0), func(m *meeting) { m.reductions = append(m.reductions, op) })
		}
		if v := moved(op); v != nil {
			w.add(op, v, func(m *meeting) { m.accesses = append(m.accesses, v) })
		}
		if v, n := vectorOf(op); n > 1 {
			root := w.root(v)
			if least, ok := w.least[root]; !ok || n < least {
				w.least[root] = n
			}
		}
	})
	return w
}

// add adds an op that takes or gives a value to those that meet.
func (w *widths) add(op *ir.Op, v *ir.Value, to func(*meeting)) {
	m, looped := w.meet[w.root(v)], ir.EnclosingLoop(op) != nil
	if m == nil || looped && !m.looped {
		m = &meeting{looped: looped}
		w.meet[w.root(v)] = m
	}
	if looped == m.looped {
		to(m)
	}
}

// meetingOf is what the values of a load or store meet, with their root; none where products decide.
func (w *widths) meetingOf(op *ir.Op) (root *ir.Value, m *meeting) {
	v := moved(op)
	if v == nil || w.fixed[w.root(v)] {
		return nil, nil
	}
	return w.root(v), w.meet[w.root(v)]
}

// moved is the tile of a load or store; nil for other operations.
func moved(op *ir.Op) (v *ir.Value) {
	switch op.Code() {
	case tileaa.OpLoad, tileaa.OpTiledLoad:
		v = op.Result(0)
	case tileaa.OpStore, tileaa.OpTiledStore:
		v = tileaa.StoredValue(op)
	}
	if v == nil || !tileaa.IsRanked(v) {
		return nil
	}
	return v
}

// vectorOf is the tile of a load or store and its vector.
func vectorOf(op *ir.Op) (v *ir.Value, vec int) {
	if v = moved(op); v == nil {
		return nil, 0
	}
	n, _ := ir.Cast[tileaa.AccessOp](op).Vec()
	return v, int(n)
}

func (w *widths) root(v *ir.Value) *ir.Value {
	for w.parent[v] != nil {
		if above := w.parent[w.parent[v]]; above != nil {
			w.parent[v] = above
		}
		v = w.parent[v]
	}
	return v
}

func (w *widths) join(a, b *ir.Value) {
	if a, b = w.root(a), w.root(b); a != b {
		w.parent[a] = b
	}
}

// limit is the vector of an access with vectors of vec elements, where it meets others.
func (w *widths) limit(op *ir.Op, vec int) int {
	v, n := vectorOf(op)
	if n < 2 || w.fixed[w.root(v)] {
		return vec
	}
	least := w.least[w.root(v)]
	if least < vec && least*tileaa.ElemBytes(tileaa.AsTile(v).Elem) >= minVector {
		return least
	}
	return vec
}

// minVector is the bytes of the narrowest vector that a load is reduced to for the sake of others: 32 lanes still move four whole sectors.
const minVector = 4
