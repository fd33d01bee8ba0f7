package sync

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/memory"
)

// This file counts which warps touch which elements of a buffer, and which words of tensor memory. It looks at slots of the tile block's memory, too.

// ownWarps reports whether each element of a buffer is touched in two layouts by one warp, the same. It counts them.
func (j *judge) ownWarps(a, b *layout.Layout) bool {
	if a == nil || b == nil {
		return false
	}
	key := [2]*layout.Layout{a, b}
	own, known := j.alone[key]
	if !known {
		own = true
		holder := map[uint64]int{}
		for _, l := range key {
			eachElement(l, func(element uint64, warp int) {
				w, held := holder[element]
				own = own && (!held || w == warp)
				holder[element] = warp
			})
		}
		j.alone[key] = own
	}
	return own
}

// ownPart reports whether each warp has a part of its own of what two ops touch in tensor memory: of sums it has, but a factor may lie over the sums of others.
// It counts them.
func (j *judge) ownPart(op, before *ir.Op) bool {
	s, stores := ir.As[tileaa.FactorStore](op)
	land, takes := ir.As[tileaa.DotLand](before)
	if !stores || !takes {
		return true
	}
	d, ok := tileaa.ProductOf(ir.Cast[tileaa.SumsOp](land.Op))
	if !ok || !memory.TensorRegionOf(d).Overlaps(memory.FactorRegionOf(s)) {
		return true
	}
	key := [2]*ir.Op{op, before}
	own, known := j.parts[key]
	if known {
		return own
	}
	own = len(land.Indices()) == 0
	type word struct{ lane, column int64 }
	takers := map[word]int{}
	first, _ := d.Column()
	const lanes = atom.TensorLanes
	taken, stored := tileaa.LayoutOf(land.Result()), tileaa.LayoutOf(s.Value())
	eachElement(taken, func(element uint64, warp int) {
		at := taken.Coords(element)
		row, column, across := int64(at[0]), int64(at[1]), tileaa.AsTile(d.Result()).Shape[1]
		if d.Atom().Swap {
			row, column, across = column, row, tileaa.AsTile(d.Result()).Shape[0]
		}
		takers[word{row % lanes, first + row/lanes*across + column}] = warp
	})
	first, _ = s.Column()
	bits := int64(tileaa.ElemBits(tileaa.AsTile(s.Value()).Elem))
	eachElement(stored, func(element uint64, warp int) {
		at := stored.Coords(element)
		row, k := int64(at[0]), int64(at[1])
		taker, found := takers[word{row % lanes, first + row/lanes*tileaa.FactorGroupColumns(s) + k*bits/32}]
		own = own && (!found || taker == warp)
	})
	j.parts[key] = own
	return own
}

// eachElement visits the elements of a layout, and the warps that have them.
func eachElement(l *layout.Layout, visit func(element uint64, warp int)) {
	for warp := range l.Warps() {
		for lane := range l.Lanes() {
			for reg := range l.Regs() {
				visit(l.Apply(reg, lane, warp, 0), warp)
			}
		}
	}
}

// slotAccess is an access to a slot of the tile block's memory.
type slotAccess struct {
	access
	write bool
	old   bool // the slot is over: its bytes are those of another iteration's
}

// slotTouched is the alloca of whose slot an op accesses elements; ok is false where that is not seen.
func slotTouched(op *ir.Op) (slot *ir.Op, ok bool) {
	place := tileaa.AccessedPlace(op)
	if place == nil || kernel.AccessKindsOf(op) == 0 {
		return nil, false
	}
	a, ok := ir.DefinedBy[tileaa.Alloca](pointerOf(place))
	return a.Op, ok
}

// touchSlot looks at an access to a slot, and notes it.
func (j *judge) touchSlot(a *actor, op *ir.Op) *fault {
	slot, ok := slotTouched(op)
	if !ok {
		return nil
	}
	now := &slotAccess{access: access{op: op, by: a, time: a.time, done: a.time}, write: kernel.AccessKindsOf(op)&kernel.Write != 0}
	for _, x := range j.slots[slot] {
		if !x.old || !x.write && !now.write || alikeShared(x.op, op) {
			continue
		}
		if why := j.unordered(&x.access, &now.access, false); why != "" {
			return &fault{op, "touches the slot of an earlier iteration, " + why, x.op}
		}
	}
	list := slices.DeleteFunc(j.slots[slot], func(x *slotAccess) bool { return x.op == op && x.by == a })
	j.slots[slot] = append(list, now)
	return nil
}

// alikeShared reports whether threads share two accesses alike.
func alikeShared(a, b *ir.Op) bool {
	la, lb := accessLayout(a), accessLayout(b)
	if la == nil || lb == nil {
		return actsOnce(a) && actsOnce(b)
	}
	return la.Equal(*lb)
}
