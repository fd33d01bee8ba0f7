package plan

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
	"tileiras/passes/slice"
)

// This file decides about accesses through tiles of pointers.

// pointerAccess finds the dimension along which pointers count up, and how many neighbours one access may take: the run, its
// alignment and the mask must all agree. Of a load or a store the mask may cut a run at the end of an array.
func pointerAccess(s *pass.State, known *facts.Facts, op tileaa.PtrAccess) {
	if !tileaa.IsRanked(op.Ptr()) {
		return
	}
	fast, vec, ends := pointerVector(known, op)
	access := ir.Cast[tileaa.AccessOp](op.Op)
	setAccess(s, access, vec, fast)
	if len(ends) > 0 {
		access.SetRagged(true)
		ir.Cast[tileaa.MaskedOp](op.Op).SetLeft(leftOf(s, op, ends, vec))
	}
}

// pointerVector is the dimension along which an access of a tile is widest, how many elements it takes there, and what may cut them.
func pointerVector(known *facts.Facts, op tileaa.PtrAccess) (fast int, vec int64, ends []facts.MaskEnd) {
	ptr := op.Ptr()
	t := tileaa.AsTile(ptr)
	size := elemBytes(op.Op)
	fast, vec = len(t.Shape)-1, 1
	for d := len(t.Shape) - 1; d >= 0; d-- {
		most := min(known.PointerVector(ptr, d), layout.WidestAccess/size)
		n := most
		if m := op.Mask(); m != nil {
			n = min(n, known.MaskVector(m, d))
		}
		if n > vec {
			fast, vec, ends = d, n, nil
		}
		for n = most; op.Mask() != nil && n > vec && cutByTheEnd(op.Op); n /= 2 {
			if list, ok := known.MaskEnds(op.Mask(), d, n); ok {
				fast, vec, ends = d, n, list
			}
		}
	}
	if vec == 1 { // each lane takes one element, and a warp the sectors that they lie in
		fewest := known.LikelySectors(ptr, fast, layout.WarpSize)
		for d := fast - 1; d >= 0; d-- {
			if n := known.LikelySectors(ptr, d, layout.WarpSize); n < fewest {
				fast, fewest = d, n
			}
		}
	}
	return fast, vec, ends
}

// copiedPointers are the loads of an entry that bring factors of products through tiles of pointers, and go to shared memory by asynchronous copies,
// perhaps in a version of their loop that promises what makes them wide. all reports whether there are such loads, and all go there.
func copiedPointers(s *pass.State, known *facts.Facts, entry *ir.Op) (copied map[*ir.Op]bool, all bool) {
	copied = map[*ir.Op]bool{}
	feeds := factorLoads(s, entry)
	if len(feeds) == 0 {
		return copied, false
	}
	promised, n := &version{versioner: &versioner{s: s, entry: entry, known: known}, feeds: feeds}, 0
	s.Walk(entry, ir.PreOrder, func(load *ir.Op) {
		p, ok := ir.As[tileaa.PtrAccess](load)
		if !ok || !feeds[load] || !tileaa.IsRanked(p.Ptr()) {
			return
		}
		_, vec, _ := pointerVector(known, p)
		bytes := vec * elemBytes(load)
		if loop := ir.EnclosingLoop(load); bytes < layout.WidestAccess && loop != nil && promised.widens(load, func(v *ir.Value) bool { return ir.DefinedOutside(v, loop) }) {
			bytes = layout.WidestAccess
		}
		if n++; copiesToShared(s, known, load, bytes) {
			copied[load] = true
		}
	})
	return copied, n > 0 && n == len(copied)
}

// placesOf are the tiles of an entry of which only places of wide accesses are computed: of these a thread has one element for an access.
func placesOf(s *pass.State, ps *slice.Products, entry *ir.Op) map[*ir.Value]bool {
	var ops []*ir.Op
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) { ops = append(ops, op) })
	places := map[*ir.Value]bool{}
	for _, op := range slices.Backward(ops) {
		for _, r := range op.Results() {
			if tileaa.IsRanked(r) && r.HasUses() && op.MovesFreely() {
				places[r] = !slices.ContainsFunc(r.Uses(), func(u *ir.Use) bool { return !makesPlace(ps, places, u) })
			}
		}
	}
	return places
}

// heldBits is the bits of the biggest tile of an entry but for some.
func heldBits(s *pass.State, entry *ir.Op, places map[*ir.Value]bool) (most int) {
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		for _, r := range op.Results() {
			if tileaa.IsRanked(r) && !places[r] {
				most = max(most, kernel.BitsOf(r))
			}
		}
	})
	return most
}

// makesPlace reports whether a use of a tile is to say where a wide access is, or makes a tile of which only such uses are known.
func makesPlace(ps *slice.Products, places map[*ir.Value]bool, u *ir.Use) bool {
	p, ok := ir.As[tileaa.PtrAccess](u.Owner())
	if !ok {
		return u.Owner().NumResults() == 1 && places[u.Owner().Result(0)]
	}
	v := u.Owner().Operand(u.Index())
	_, vec, _ := pointerVector(ps.Facts(), p)
	return (v == p.Ptr() || v == p.Mask()) && (ps.Copied[p.Op] || vec*elemBytes(p.Op) >= layout.WidestAccess)
}

// leftOf computes how many elements of an access of vec elements lie before all of these ends, where the first one does:
//
//	lhs < rhs    rhs - lhs, which is exact as an unsigned number where the comparison holds
func leftOf(s *pass.State, op tileaa.PtrAccess, ends []facts.MaskEnd, vec int64) *ir.Value {
	b := ir.NewBuilder(s.Ctx)
	b.Loc = op.Op.Loc()
	i32 := s.Ctx.Int(32)
	var left *ir.Value
	for _, e := range ends {
		b.After(e.Compare)
		t := tileaa.AsTile(e.Lhs)
		n, most := tileaa.NewSubi(b, e.Rhs, e.Lhs, tileaa.SubiOptions{}).Result(), vec
		if e.Inclusive {
			most-- // one more is added below
		}
		if bits := tileaa.ElemBits(t.Elem); bits < 32 {
			n = tileaa.NewExti(b, t.WithElem(s.Ctx, i32), n, def.Unsigned).Result()
		}
		n = tileaa.NewMini(b, n, tileaa.Const(b, tileaa.AsTile(n), most), def.Unsigned).Result()
		if tileaa.ElemBits(t.Elem) > 32 {
			n = tileaa.NewTrunci(b, t.WithElem(s.Ctx, i32), n, tileaa.TrunciOptions{}).Result()
		}
		if e.Inclusive {
			n = tileaa.NewAddi(b, n, tileaa.Const(b, tileaa.AsTile(n), 1), tileaa.AddiOptions{}).Result()
		}
		for i := len(e.Via) - 1; i >= 0; i-- {
			n = b.After(e.Via[i]).Clone(e.Via[i], ir.Mapping{e.Via[i].Operand(0): n}).Result(0)
			n.SetType(tileaa.AsTile(e.Via[i].Result(0)).WithElem(s.Ctx, i32))
		}
		if left != nil {
			n = tileaa.NewMini(b.Before(op.Op), left, n, def.Unsigned).Result()
		}
		left = n
	}
	return left
}

// copiesToShared reports whether select-copies will make asynchronous copies of so many bytes of a load that brings an operand of a product:
// what is not read is zero or nothing in particular.
func copiesToShared(s *pass.State, known *facts.Facts, op *ir.Op, bytes int64) bool {
	if !s.Optimizes(op) || !kernel.CanCopyAsync(known, op) {
		return false
	}
	if block, ok := tileaa.BlockOf(op); ok {
		if _, sparse := block.SparseDim(); sparse {
			return false
		}
	}
	return atom.CanCopy(s.Target, int(bytes))
}
