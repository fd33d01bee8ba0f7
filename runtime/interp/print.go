package interp

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
	"tileiras/ir/printf"
	"tileiras/runtime/cprintf"
)

// printTKO prints at once, in the order of execution. A tile that is no scalar prints as nested lists.
func printTKO(c *compiler, op *ir.Op) (action, error) {
	from := ir.Cast[cudatile.PrintTko](op)
	var elems []ir.Type
	for _, a := range from.Args() {
		elems = append(elems, a.Type().(*cudatile.TileType).Elem)
	}
	format, err := printf.Fit(from.Str(), elems)
	if err != nil {
		return nil, fmt.Errorf("not supported yet: %v: %w", err, errors.ErrUnsupported)
	}
	pieces, err := cprintf.Parse(format)
	if err != nil {
		return nil, err
	}
	args, tok := c.slotsOf(from.Args()), -1
	if op.NumResults() > 0 {
		tok = c.slot(op.Result(0))
	}
	return func(m *machine) (signal, error) {
		var b strings.Builder
		k := 0
		for i := range pieces {
			p := &pieces[i]
			if p.Verb == 0 {
				b.WriteString(p.Text)
				continue
			}
			t := m.tile(args[k])
			if m.opts.Strict {
				if err := m.checkExact(t); err != nil {
					return 0, err
				}
			}
			printTile(&b, p, t)
			k++
		}
		if m.opts.Stdout != nil {
			if _, err := m.opts.Stdout.Write([]byte(b.String())); err != nil {
				return 0, err
			}
		}
		if tok >= 0 {
			m.vals[tok] = token{}
		}
		return next, nil
	}, nil
}

// printTile writes the elements as nested lists.
func printTile(b *strings.Builder, p *cprintf.Piece, t *tile) {
	i := 0
	var list func(shape []int64)
	list = func(shape []int64) {
		if len(shape) == 0 {
			if t.flag(i)&undef != 0 {
				b.WriteString("undef")
			} else {
				b.WriteString(p.Value(promoted(t.typ.Elem, t.bits[i])))
			}
			i++
			return
		}
		b.WriteByte('[')
		for k := range shape[0] {
			if k > 0 {
				b.WriteString(", ")
			}
			list(shape[1:])
		}
		b.WriteByte(']')
	}
	list(t.typ.Shape)
}

// promoted is an element as C passes it: floats as double, what is narrower than an int as one. Tile IR's integers take their sign along, i1 has none.
func promoted(t ir.Type, bits uint64) uint64 {
	switch t := t.(type) {
	case *ir.FloatType:
		return math.Float64bits(t.Format.Decode(bits))
	case *ir.IntegerType:
		if t.Width > 1 {
			return uint64(signExtend(bits, t.Width))
		}
	}
	return bits
}
