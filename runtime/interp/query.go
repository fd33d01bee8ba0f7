package interp

import (
	"fmt"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// coordinatesOf gives three scalar results.
func coordinatesOf(of func(*machine) [3]int) rule {
	return func(c *compiler, op *ir.Op) (action, error) {
		results, typ := c.slotsOf(op.Results()), typeOf(op.Result(0))
		return func(m *machine) (signal, error) {
			for d, v := range of(m) {
				m.vals[results[d]] = m.scalar(typ, int64(v))
			}
			return next, nil
		}, nil
	}
}

// scalar holds a non-negative integer, undefined when it does not fit the type.
func (m *machine) scalar(typ *cudatile.TileType, v int64) *tile {
	t := newTile(typ, 1)
	w := ir.BitWidth(typ.Elem)
	if t.bits[0] = uint64(v) & mask(w); t.bits[0] != uint64(v) {
		t.mark(0, undef)
		m.because(t, func() string { return fmt.Sprintf("which does not hold %d", v) })
	}
	return t
}

// extents gives one scalar result for each extent of a view.
func extents(of func(value) []int64) rule {
	return func(c *compiler, op *ir.Op) (action, error) {
		arg, results := c.slot(op.Operand(0)), c.slotsOf(op.Results())
		types := make([]*cudatile.TileType, len(results))
		for i, r := range op.Results() {
			types[i] = typeOf(r)
		}
		return func(m *machine) (signal, error) {
			for i, n := range of(m.vals[arg]) {
				m.vals[results[i]] = m.scalar(types[i], n)
			}
			return next, nil
		}, nil
	}
}

func tensorShape(v value) []int64 { return v.(*tensorView).shape }

func indexSpace(v value) []int64 { return v.(*tileView).indexSpace() }

// indexSpace is how many tiles a view has along each dimension: ceil(extent / step).
func (v *tileView) indexSpace() []int64 {
	var out []int64
	for i, d := range v.facts.DimMap {
		step := v.facts.Step[i]
		n := v.array.shape[d]
		out = append(out, n/step+min(n%step, 1))
	}
	return out
}

// newToken is an operation that only orders others.
func newToken(c *compiler, op *ir.Op) (action, error) {
	res := c.slot(op.Result(op.NumResults() - 1))
	return func(m *machine) (signal, error) {
		m.vals[res] = token{}
		return next, nil
	}, nil
}
