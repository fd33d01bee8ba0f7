package sync

import (
	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/memory"
)

// This file counts which warps touch which elements of a buffer, and which words of tensor memory.

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
