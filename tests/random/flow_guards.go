package random

// checking writes a for of few rounds, without another in it, which compares what grows with its counter with bounds of all sorts.
func (f *flow) checking() {
	if !f.nests() {
		return
	}
	t := scalar(choose(f.generator, "i32", "i32", "i32", "i64", "i16"))
	first := f.r.IntN(4) * f.r.IntN(2)
	lower, upper, unsigned := f.boundary(t.elem, first), f.boundary(t.elem, first+2+f.r.IntN(8)), f.chance(20)
	switch f.r.IntN(5) {
	case 0:
		upper = f.combine(lesser, f.combine(added, f.loaded(t.elem), f.constant(t, 6)), f.constant(t, 8))
	case 1:
		upper = f.combine(anded, f.cast(f.someScalar(), t.elem), f.constant(t, 15))
	case 2: // one below zero is a large one without a sign
		lower, unsigned = f.loaded(t.elem), f.chance(50)
	}
	step := f.constant(t, int64(choose(f.generator, 1, 1, 1, 1, 1, 2)))
	f.shows("for that compares its counter")
	limits := f.limits(t)
	f.rounds(lower, upper, step, unsigned, f.slotsOf(f.someJournals(90), f.r.IntN(2)), func(r *round) {
		r.limits = limits
		for range 1 + f.r.IntN(3) {
			f.guarding()
		}
	})
}

// limits are scalars of a type or another that are made in front of a loop.
func (f *flow) limits(t typ) (list []value) {
	for range 1 + f.r.IntN(3) {
		elem := choose(f.generator, t.elem, t.elem, choose(f.generator, integers...))
		v := f.loaded(elem)
		switch f.r.IntN(4) {
		case 0:
			v = f.combine(added, v, f.boundary(elem, f.r.IntN(40)))
		case 1:
			v = f.combine(anded, f.cast(f.someScalar(), elem), f.constant(scalar(elem), 15))
		case 2:
			if far := f.far(elem); far.name != "" {
				v = far
			}
		}
		list = append(list, v)
	}
	return list
}

// guarding compares what grows with a counter, as the masks of frontends do, and does or takes something where that is less than a bound.
func (f *flow) guarding() {
	if len(f.around) == 0 {
		return
	}
	r, shape := f.around[len(f.around)-1], []int(nil)
	if f.chance(40) {
		shape = []int{choose(f.generator, 2, 4, 8, 16, 64)}
	}
	x := f.grown(r, shape)
	below := func() value {
		word := choose(f.generator, "less_than", "less_than", "less_than_or_equal", "greater_than_or_equal")
		return f.compared(word, x, f.widened(f.limit(r, x.typ), shape), f.chance(25))
	}
	c := below()
	if f.chance(30) {
		f.shows("guard by two bounds")
		c = f.combine(choose(f.generator, anded, xored), c, below())
	}
	if shape == nil && f.nests() && f.chance(60) {
		f.shows("if that a counter decides")
		f.either(c, f.slotsOf(f.someJournals(80), f.r.IntN(2)), f.doing(yields), &way{yields, func() { f.statements(f.r.IntN(2)) }})
		return
	}
	f.shows("selection that a counter decides")
	t := typ{choose(f.generator, integers...), shape}
	f.uses(f.keep(f.selected(c, f.want(t), f.want(t))))
}

// grown is a counter times a number, with some numbers added that stay; a tile has its elements' numbers added, too.
func (f *flow) grown(r *round, shape []int) value {
	x := r.counter
	if x.elem == "i8" || f.chance(20) && x.elem != "i64" {
		x = f.cast(x, choose(f.generator, "i32", "i64"))
	}
	if shape != nil {
		x = f.combine(multiplied, x, f.constant(x.typ, int64(shape[0])))
	} else if f.chance(30) {
		x = f.combine(multiplied, x, f.constant(x.typ, choose(f.generator, 1, 2, 3, 4, 5, greatestOf(x.elem)>>3, greatestOf(x.elem)>>2+1)))
	}
	for f.chance(35) {
		switch f.r.IntN(4) {
		case 0:
			x = f.combine(added, x, f.boundary(x.elem, f.r.IntN(4)))
		case 1:
			x = f.combine(added, f.combine(anded, f.cast(f.someScalar(), x.elem), f.constant(x.typ, 7)), x)
		case 2:
			if len(r.limits) > 0 {
				x = f.combine(added, x, f.combine(choose(f.generator, anded, greater), f.cast(choose(f.generator, r.limits...), x.elem), f.constant(x.typ, 3)))
			}
		default:
			x = f.combine(added, x, x)
		}
	}
	if shape != nil {
		x = f.combine(added, f.widened(x, shape), f.numbers(typ{x.elem, shape}, 0))
	}
	return x
}

// limit is a scalar with which what grows with the counter of a loop is compared.
func (f *flow) limit(r *round, t typ) value {
	s := scalar(t.elem)
	if len(r.limits) > 0 && f.chance(70) {
		f.shows("guard by a bound from in front of a loop")
		return f.cast(choose(f.generator, r.limits...), t.elem)
	}
	bound := f.boundary(t.elem, f.r.IntN(1+min(98, 8*t.n())))
	switch f.r.IntN(5) {
	case 0:
		return f.combine(added, f.cast(f.block, t.elem), bound)
	case 1:
		if r.lower.is(s) {
			f.shows("guard by a bound from where the loop begins")
			return f.combine(added, r.lower, f.boundary(t.elem, f.r.IntN(6)))
		}
	case 2:
		f.shows("guard by a bound from memory")
		return f.combine(added, f.loaded(t.elem), bound)
	case 3:
		return f.constant(s, int64(f.r.IntN(12)-4))
	}
	return bound
}

// deciding takes what one of two ways computes, each without an effect.
func (f *flow) deciding() {
	if !f.nests() {
		return
	}
	f.shows("if that only computes")
	list := []slot{{typ: f.someScalar().typ}}
	does := way{yields, func() {
		for range 1 + f.r.IntN(2) {
			f.computing()
		}
	}}
	f.either(f.condition(), list, does, &does)
	f.uses(f.pool[len(f.pool)-1])
}
