package sync

import (
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file lets the products of an iteration go on while the next one begins its own. Instructions of groups of warps work by themselves, and those that
// add to the same accumulators do so in order, so nobody has to wait for them before the end:
//
//	for .. (%c) {                         for .. (%c) {
//	  %d = dot %a, %b, %c                   %d = dot %a, %b, %c {in_flight}
//	  continue %d                 =>        dot_wait {pending = 1}: that of the iteration before is over
//	}                                       continue %d
//	                                      } that lands %d
//
// What the products of an iteration read is free two iterations later, so a slot is filled again an iteration later than it would be otherwise: with S slots,
// copies are begun S-2 iterations ahead.

// summands are the products of a loop that only add to what it carries, each to something of its own, if all its products do.
func (p *pipeline) summands() (list []tileaa.Dot) {
	for _, op := range p.loop.Op.Body().Ops() {
		if !tileaa.IsProduct(op) {
			continue
		}
		d, ok := ir.As[tileaa.Dot](op)
		if _, alone := tileaa.OnlyAdds(op); !alone || !ok || d.Atom().Atom.Group == 0 || tileaa.AddsApart(op, d.Atom().Atom) || tileaa.ElemBits(tileaa.AsTile(d.Result()).Elem) != 32 {
			return nil // narrow elements share registers, which nobody may touch
		}
		list = append(list, d)
	}
	return list
}

// slotsInFlight is the least number of slots with which products stay in flight: one that they read, one that is read next, and two for copies.
const slotsInFlight = 4

// letFly lets the summands of a loop go on into the next iteration. It gives the numbers of the carried values that they add to.
func letFly(b *ir.Builder, flow ir.Flow, list []tileaa.Dot) (lands ir.I64Array) {
	for _, d := range list {
		d.SetInFlight(true)
		i, _ := flow.CarriedIndex(d.Acc())
		lands = append(lands, int64(i))
	}
	b.After(list[len(list)-1].Op)
	tileaa.NewDotWait(b, int64(len(list)))
	return lands
}
