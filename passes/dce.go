package passes

import "tileiras/ir"

// dce erases ops whose results nobody uses and that do nothing else. It walks backwards, so that what only dead ops used
// goes in the same walk.
func dce(s *State) error {
	eraseDead(s.Module)
	return nil
}

func eraseDead(op *ir.Op) {
	for _, r := range op.Regions() {
		for _, b := range r.Blocks() {
			for o := b.Last(); o != nil; {
				prev := o.Prev()
				if isDead(o) {
					o.Erase()
				} else {
					eraseDead(o)
					if isDead(o) { // its region has become empty
						o.Erase()
					}
				}
				o = prev
			}
		}
	}
}

// isDead reports whether an op can be erased: no result is used, and it and all ops inside it are pure or end a region
// of it. A loop that only a break ends may run for ever, which is an effect; a for does not.
func isDead(op *ir.Op) bool {
	for _, r := range op.Results() {
		if r.HasUses() {
			return false
		}
	}
	if op.Traits().Has(ir.Terminator) || op.Def == ir.Unregistered {
		return false
	}
	if op.NumRegions() == 0 {
		return op.Traits().Has(ir.Pure)
	}
	return comesToAnEnd(op) && hasNoEffect(op)
}

// comesToAnEnd reports whether an op with regions runs them a number of times that is known when it starts: a loop without a bound may
// run for ever, which is an effect.
func comesToAnEnd(op *ir.Op) bool {
	f, ok := ir.FlowOf(op)
	return ok && f.Kind != ir.LoopFlow
}

// hasNoEffect looks into regions: all ops are pure, or region ops like this, and control only goes on behind op.
func hasNoEffect(op *ir.Op) bool {
	for _, r := range op.Regions() {
		for _, b := range r.Blocks() {
			for o := b.First(); o != nil; o = o.Next() {
				switch {
				case o.Traits().Has(ir.Terminator):
					if !endsOnly(op, o) {
						return false
					}
				case o.NumRegions() > 0:
					if !comesToAnEnd(o) || !hasNoEffect(o) {
						return false
					}
				case !o.Traits().Has(ir.Pure):
					return false
				}
			}
		}
	}
	return true
}

// endsOnly reports whether a terminator directly inside op ends no more than one iteration or branch of op.
func endsOnly(op, end *ir.Op) bool {
	return ir.Target(end) == op && end.Def.Flow.Kind != ir.BreakFlow
}
