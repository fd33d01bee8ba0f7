package interp

import (
	"fmt"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// terminator ends a block with a signal and its operands.
func terminator(s signal) rule {
	return func(c *compiler, op *ir.Op) (action, error) {
		args := c.slotsOf(op.Operands())
		return func(m *machine) (signal, error) {
			m.out = m.values(args)
			return s, nil
		}, nil
	}
}

// branch is if. A region that ends in break, continue or return passes that signal on.
func branch(c *compiler, op *ir.Op) (action, error) {
	cond, results := c.slot(op.Operand(0)), c.slotsOf(op.Results())
	then, err := c.region(op, 0)
	if err != nil {
		return nil, err
	}
	otherwise, err := c.region(op, 1)
	if err != nil {
		return nil, err
	}
	return func(m *machine) (signal, error) {
		t := m.tile(cond)
		if err := m.checkDefined(t, "the condition"); err != nil {
			return 0, err
		}
		body := then
		if t.bits[0] == 0 {
			body = otherwise
		}
		if body == nil {
			return next, nil
		}
		s, err := m.run(body)
		if err != nil || s != yielded && s != next {
			return s, err
		}
		if s == yielded {
			m.bind(results, m.out)
		}
		return next, nil
	}, nil
}

// forLoop counts from the lower bound to below the upper one; the induction variable never wraps.
func forLoop(c *compiler, op *ir.Op) (action, error) {
	f := ir.Cast[cudatile.For](op)
	bounds := c.slotsOf([]*ir.Value{f.LowerBound(), f.UpperBound(), f.Step()})
	inits, results := c.slotsOf(f.InitValues()), c.slotsOf(f.ResultValues())
	body, err := c.region(op, 0)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, fmt.Errorf("has no body")
	}
	typ, w, unsigned := typeOf(f.LowerBound()), widthOf(f.LowerBound()), f.UnsignedCmp()
	return func(m *machine) (signal, error) {
		var v [3]uint64
		for i, name := range []string{"the lower bound", "the upper bound", "the step"} {
			t := m.tile(bounds[i])
			if err := m.checkDefined(t, name); err != nil {
				return 0, err
			}
			v[i] = t.bits[0]
		}
		lower, upper, step := v[0], v[1], v[2]
		if step == 0 || !unsigned && signExtend(step, w) < 0 {
			return 0, m.fail(Undefined, "the step %d is not positive", signExtend(step, w))
		}
		carried := m.values(inits)
		for iv := lower; less(w, !unsigned, iv, upper); {
			i := newTile(typ, 1)
			i.bits[0] = iv
			m.vals[body.args[0]] = i
			m.bind(body.args[1:], carried)
			s, err := m.run(body)
			if err != nil {
				return 0, err
			}
			switch s {
			case continued:
				carried = m.out
			case next:
				carried = nil
			case returned:
				return s, nil
			default:
				return 0, m.fail(Internal, "a for loop was left by signal %d", s)
			}
			m.op = op
			if rest := (upper - iv) & mask(w); rest <= step {
				break
			}
			iv = (iv + step) & mask(w)
			if err := m.tick(); err != nil {
				return 0, err
			}
		}
		m.bind(results, carried)
		return next, nil
	}, nil
}

// loop repeats until a break.
func loop(c *compiler, op *ir.Op) (action, error) {
	inits, results := c.slotsOf(op.Operands()), c.slotsOf(op.Results())
	body, err := c.region(op, 0)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, fmt.Errorf("has no body")
	}
	return func(m *machine) (signal, error) {
		carried := m.values(inits)
		for {
			m.bind(body.args, carried)
			s, err := m.run(body)
			if err != nil {
				return 0, err
			}
			m.op = op
			switch s {
			case continued:
				carried = m.out
			case next:
				carried = nil
			case broken:
				m.bind(results, m.out)
				return next, nil
			default:
				return s, nil
			}
			if err := m.tick(); err != nil {
				return 0, err
			}
		}
	}, nil
}

// assertion ends the run at the first element that is false.
func assertion(c *compiler, op *ir.Op) (action, error) {
	a := ir.Cast[cudatile.Assert](op)
	cond, message := c.slot(a.Condition()), a.Message()
	return func(m *machine) (signal, error) {
		t := m.tile(cond)
		if err := m.checkDefined(t, "the condition"); err != nil {
			return 0, err
		}
		for i, b := range t.bits {
			if b == 0 {
				return 0, m.failAt(AssertFailed, t.typ.Shape, i, "%s", message)
			}
		}
		return next, nil
	}, nil
}

// assume passes its operand on. A false promise is reported: code compiled under it would have no meaning.
func assume(c *compiler, op *ir.Op) (action, error) {
	a := ir.Cast[cudatile.Assume](op)
	arg, res, typ := c.slot(a.Value()), c.slot(a.Result()), typeOf(a.Value())
	predicate := a.Predicate()
	unused := onlyUnusedStrides(a)
	return func(m *machine) (signal, error) {
		v := m.vals[arg]
		m.vals[res] = v
		if unused && m.opts.AnyUnusedStride {
			return next, nil
		}
		t, ok := v.(*tile)
		if !ok {
			t = newTile(nil, 1)
			t.bits[0] = v.(*tensorView).base
		}
		switch p := predicate.(type) {
		case *cudatile.Bounded:
			return next, m.bounded(t, p)
		case *cudatile.DivBy:
			return next, m.divBy(t, typ, p)
		case *cudatile.SameElements:
			return next, m.sameElements(t, p)
		}
		return 0, m.fail(Internal, "unknown promise")
	}, nil
}

// onlyUnusedStrides tells whether a promise of divisibility is about nothing but strides of axes of one element.
func onlyUnusedStrides(a cudatile.Assume) bool {
	if _, ok := a.Predicate().(*cudatile.DivBy); !ok || !a.Result().HasUses() {
		return false
	}
	for _, u := range a.Result().Uses() {
		v, ok := ir.As[cudatile.MakeTensorView](u.Owner())
		if !ok || !strideOfUnitAxis(v, u.Index()) {
			return false
		}
	}
	return true
}

// strideOfUnitAxis tells whether an operand is the stride of an axis that has one element by the type of the view.
func strideOfUnitAxis(v cudatile.MakeTensorView, operand int) bool {
	typ := v.Result().Type().(*cudatile.TensorViewType)
	at := operand - 1 - len(v.DynamicShape()) // after the base and the extents
	for d, stride := range typ.Strides {
		if stride != cudatile.Dynamic {
			continue
		}
		if at == 0 {
			return typ.Shape[d] == 1
		}
		at--
	}
	return false
}

func (m *machine) bounded(t *tile, p *cudatile.Bounded) error {
	for i := range t.bits {
		v := t.signed(i)
		if t.flag(i)&undef == 0 && (p.Lower != nil && v < *p.Lower || p.Upper != nil && v > *p.Upper) {
			return m.failAt(Undefined, t.typ.Shape, i, "%d breaks the promised bounds", v)
		}
	}
	return nil
}

// divBy checks the first element of each group, and that the others follow it one by one (pointers: by their pointee).
// Of a view, which has no shape, the address is checked.
func (m *machine) divBy(t *tile, typ *cudatile.TileType, p *cudatile.DivBy) error {
	if typ == nil {
		if t.bits[0]%p.Divisor != 0 {
			return m.fail(Undefined, "the address %#x is not divisible by %d as promised", t.bits[0], p.Divisor)
		}
		return nil
	}
	along, every, stride := 0, int64(1), 1
	step, keep := uint64(1), ^uint64(0)
	if p.Along != nil {
		along, every = int(*p.Along), max(*p.Every, 1)
		stride = rowMajor(typ.Shape).strides[along]
	}
	if ptr, ok := typ.Elem.(*cudatile.PtrType); ok {
		step = uint64(codecOf(ptr.Elem).bytes)
	} else {
		keep = mask(ir.BitWidth(typ.Elem))
	}
	for i, v := range t.bits {
		if t.flag(i)&undef != 0 {
			continue
		}
		k := int64(0) // place in the group
		if p.Along != nil {
			k = coordinates(typ.Shape, i)[along] % every
		}
		if k == 0 {
			if v%p.Divisor != 0 {
				return m.failAt(Undefined, typ.Shape, i, "%#x is not divisible by %d as promised", v, p.Divisor)
			}
		} else if first := t.bits[i-int(k)*stride]; v != (first+uint64(k)*step)&keep {
			return m.failAt(Undefined, typ.Shape, i, "%#x does not follow %#x, the first of its group, as promised", v, first)
		}
	}
	return nil
}

func (m *machine) sameElements(t *tile, p *cudatile.SameElements) error {
	all := rowMajor(t.typ.Shape)
	for i, v := range t.bits {
		if t.flag(i)&undef != 0 {
			continue
		}
		first := 0
		for d, at := range coordinates(t.typ.Shape, i) {
			first += int(at-at%max(p.Values[d], 1)) * all.strides[d]
		}
		if t.flag(first)&undef == 0 && v != t.bits[first] {
			return m.failAt(Undefined, t.typ.Shape, i, "%#x differs from %#x, the first of its group, against the promise", v, t.bits[first])
		}
	}
	return nil
}
