package ir

// IsDead reports whether an op can be erased: no result is used, and it has no effect.
func IsDead(op *Op) bool { return !op.HasUses() && withoutEffect(op) }

// withoutEffect reports whether an op does nothing but compute its results: it and all ops inside it are pure or terminators of its
// regions. A loop without a trip count may not terminate, which is an effect; a for does.
func withoutEffect(op *Op) bool {
	if op.Traits().Has(Terminator) || op.Def == Unregistered {
		return false
	}
	if op.NumRegions() == 0 {
		return op.Traits().Has(Pure)
	}
	return terminates(op) && regionsHaveNoEffect(op)
}

// terminates reports whether an op with regions runs them a number of times that is known when it starts.
func terminates(op *Op) bool {
	f, ok := FlowOf(op)
	return ok && f.Kind != LoopFlow
}

// regionsHaveNoEffect looks into regions: all ops are pure, or region ops like this, and control only goes on after op.
func regionsHaveNoEffect(op *Op) bool {
	for b := range op.Blocks() {
		for o := b.First(); o != nil; o = o.Next() {
			switch {
			case o.Traits().Has(Terminator):
				if !endsOnly(op, o) {
					return false
				}
			case o.NumRegions() > 0:
				if !terminates(o) || !regionsHaveNoEffect(o) {
					return false
				}
			case !o.Traits().Has(Pure):
				return false
			}
		}
	}
	return true
}

// endsOnly reports whether a terminator inside op ends no more than an iteration or branch of op, so that control continues after op.
func endsOnly(op, end *Op) bool {
	return Target(end) == op && end.Def.Flow.Kind != BreakFlow
}
