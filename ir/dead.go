package ir

// IsDead reports whether an op can be erased: no result is used, and it has no effect.
func IsDead(op *Op) bool { return !op.HasUses() && WithoutEffect(op) }

// WithoutEffect reports whether an op only gives its results: it and all ops inside it are pure or end a region of it. A loop that only a
// break ends may run for ever, which is an effect; a for does not.
func WithoutEffect(op *Op) bool {
	if op.Traits().Has(Terminator) || op.Def == Unregistered {
		return false
	}
	if op.NumRegions() == 0 {
		return op.Traits().Has(Pure)
	}
	return comesToAnEnd(op) && hasNoEffect(op)
}

// comesToAnEnd reports whether an op with regions runs them a number of times that is known when it starts: a loop without a bound may
// run for ever, which is an effect.
func comesToAnEnd(op *Op) bool {
	f, ok := FlowOf(op)
	return ok && f.Kind != LoopFlow
}

// hasNoEffect looks into regions: all ops are pure, or region ops like this, and control only goes on after op.
func hasNoEffect(op *Op) bool {
	for b := range op.Blocks() {
		for o := b.First(); o != nil; o = o.Next() {
			switch {
			case o.Traits().Has(Terminator):
				if !endsOnly(op, o) {
					return false
				}
			case o.NumRegions() > 0:
				if !comesToAnEnd(o) || !hasNoEffect(o) {
					return false
				}
			case !o.Traits().Has(Pure):
				return false
			}
		}
	}
	return true
}

// endsOnly reports whether a terminator directly inside op ends no more than one iteration or branch of op.
func endsOnly(op, end *Op) bool {
	return Target(end) == op && end.Def.Flow.Kind != BreakFlow
}
