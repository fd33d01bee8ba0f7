package interp

import (
	"tileiras/ir"
)

// kernel computes all elements of out from inputs of the same length, and may mark elements. The flags of the inputs are
// merged into out before it runs.
type kernel func(out *tile, in []*tile)

// elementwise is the rule of an operation whose element i depends on the elements i of its operands only. make looks at the
// operation once. continuous: a small error of the operands makes a small error of the result, so strict runs accept inexact
// operands.
func elementwise(continuous bool, make func(*ir.Op) (kernel, error)) rule {
	return func(c *compiler, op *ir.Op) (action, error) {
		k, err := make(op)
		if err != nil {
			return nil, err
		}
		args, res, typ := c.slotsOf(op.Operands()), c.slot(op.Result(0)), typeOf(op.Result(0))
		return func(m *machine) (signal, error) {
			in, n := m.operands(args)
			out := newTile(typ, n)
			out.ignoreInexact = m.ignoreInexact
			for _, t := range in {
				out.merge(t)
			}
			if !continuous && m.opts.Strict && out.any()&inexact != 0 {
				for _, t := range in {
					if err := m.checkExact(t); err != nil {
						return 0, err
					}
				}
			}
			if k(out, in); out.why != nil {
				out.why.op, m.undefined = m.op, true
			}
			m.vals[res] = out
			return next, nil
		}, nil
	}
}

// checkExact reports an inexact element in a strict run.
func (m *machine) checkExact(t *tile) error {
	for i, f := range t.flags {
		if f&inexact != 0 {
			return m.checkFlag(f&inexact, t, i, "an operand")
		}
	}
	return nil
}

// operands are the tiles in some slots, with one length: in a combine region, a true scalar is repeated for every lane.
func (m *machine) operands(slots []int) (in []*tile, n int) {
	in = make([]*tile, len(slots))
	n = 1
	for i, s := range slots {
		in[i] = m.tile(s)
		n = max(n, len(in[i].bits))
	}
	if m.lanes > 1 {
		for i, t := range in {
			if len(t.bits) < n {
				in[i] = repeat(t, n)
			}
		}
	}
	return in, n
}

// repeat makes n equal elements of one.
func repeat(t *tile, n int) *tile {
	out := newTile(t.typ, n)
	for i := range out.bits {
		out.bits[i] = t.bits[0]
	}
	if t.flags != nil {
		out.markAll(t.flags[0])
		out.why = t.why
	}
	return out
}

// merge adds the flags of a tile of the same length.
func (t *tile) merge(from *tile) {
	if from.flags == nil {
		return
	}
	if t.flags == nil {
		t.flags = append([]uint8(nil), from.flags...)
		return
	}
	for i, f := range from.flags {
		t.flags[i] |= f
	}
}

func map1(f func(a uint64) uint64) kernel {
	return func(out *tile, in []*tile) {
		for i, a := range in[0].bits {
			out.bits[i] = f(a)
		}
	}
}

func map2(f func(a, b uint64) uint64) kernel {
	return func(out *tile, in []*tile) {
		y := in[1].bits
		for i, a := range in[0].bits {
			out.bits[i] = f(a, y[i])
		}
	}
}

func map3(f func(a, b, c uint64) uint64) kernel {
	return func(out *tile, in []*tile) {
		y, z := in[1].bits, in[2].bits
		for i, a := range in[0].bits {
			out.bits[i] = f(a, y[i], z[i])
		}
	}
}

// partial is a unary or binary function that is undefined where does says why: "divides by 0"; b is 0 for unary operations.
func partial(f func(a, b uint64) (v uint64, does string)) kernel {
	return func(out *tile, in []*tile) {
		for i, a := range in[0].bits {
			b := uint64(0)
			if len(in) > 1 {
				b = in[1].bits[i]
			}
			v, does := f(a, b)
			out.bits[i] = v
			if does == "" {
				continue
			}
			if out.why == nil && out.flag(i)&undef == 0 {
				out.why = &cause{text: func() string { return whose(out.typ.Shape, i, does) }}
			}
			out.mark(i, undef)
		}
	}
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
