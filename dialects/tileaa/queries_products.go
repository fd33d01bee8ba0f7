package tileaa

import "tileiras/ir"

// OnTensorUnit is an op as a product of the tensor unit.
func OnTensorUnit(op *ir.Op) (d Dot, ok bool) {
	d, ok = ir.As[Dot](op)
	return d, ok && d.Atom() != nil && d.Atom().Atom.Tensor != nil
}

// RunsAsync reports whether an op is a product that stays in flight.
func RunsAsync(op *ir.Op) bool {
	d, ok := ir.As[Dot](op)
	return ok && d.InFlight()
}

// ReadByUnit reports whether an op reads through the tensor unit alone: whoever waits knows that it is over for all.
func ReadByUnit(op *ir.Op) bool {
	return RunsAsync(op) && ir.Cast[Dot](op).Atom().Atom.Tensor != nil
}

// StoreOver is the store of a factor over the columns of a product's sum, if there is one.
func StoreOver(v *ir.Value) (s FactorStore, ok bool) {
	for u := v.FirstUse(); u != nil && !ok; u = u.Next() {
		if ir.Is[DotLand](u.Owner()) {
			s, ok = StoreOver(u.Owner().Result(0))
		} else if s, ok = ir.As[FactorStore](u.Owner()); ok {
			ok = s.Over() == v
		}
	}
	return s, ok
}
