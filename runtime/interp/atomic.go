package interp

import (
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// combine is what an atomic operation stores for an old value and its operand. exact is false when the order of several
// such operations may show in the result.
type combine func(old, arg uint64) (v uint64, exact bool)

// combineOf finds the function of an atomic mode for elements of a type, or nil.
func combineOf(mode uint32, elem ir.Type) combine {
	whole := func(f func(a, b uint64) uint64) combine {
		return func(old, arg uint64) (uint64, bool) { return f(old, arg), true }
	}
	if t, ok := elem.(*ir.FloatType); ok && mode != def.ModeXchg {
		f := t.Format
		if mode != def.ModeAddF {
			return nil
		}
		return func(old, arg uint64) (uint64, bool) {
			v := f.Add(old, arg, float.NearestEven)
			// A sum that loses no bit in any rounding mode is exact.
			return v, v == f.Add(old, arg, float.TowardZero) && v == f.Add(old, arg, float.TowardPositive)
		}
	}
	w := ir.BitWidth(elem)
	switch mode {
	case def.ModeAnd:
		return whole(func(a, b uint64) uint64 { return a & b })
	case def.ModeOr:
		return whole(func(a, b uint64) uint64 { return a | b })
	case def.ModeXor:
		return whole(func(a, b uint64) uint64 { return a ^ b })
	case def.ModeAdd:
		return whole(func(a, b uint64) uint64 { return (a + b) & mask(w) })
	case def.ModeMax:
		return whole(maxi(w, true))
	case def.ModeMin:
		return whole(mini(w, true))
	case def.ModeUMax:
		return whole(maxi(w, false))
	case def.ModeUMin:
		return whole(mini(w, false))
	case def.ModeXchg:
		return whole(func(_, b uint64) uint64 { return b })
	}
	return nil
}

// update replaces the value at a place by what combine makes of it and element i of a tile, and returns the old value.
func (x *access) update(m *machine, f combine, arg *tile, i int, addr uint64) (old uint64, flags uint8, err error) {
	if arg.flag(i)&undef != 0 {
		return 0, 0, m.failAt(UndefUse, x.shape, i, "the operand is undefined")
	}
	a, off, err := x.locate(m, addr, i)
	if err != nil {
		return 0, 0, err
	}
	old, flags = x.load(a, off, false)
	if flags&undef != 0 {
		return 0, 0, m.failAt(UndefUse, x.shape, i, "the value in memory is undefined")
	}
	v, exact := f(old, arg.bits[i])
	g := flags | arg.flag(i)
	if !exact {
		g |= inexact
	}
	x.store(a, off, false, v, g)
	return old, flags, nil
}

// atomicRMW updates element after element, in the order of the tile. Masked elements of the result are undefined.
func atomicRMW(c *compiler, op *ir.Op) (action, error) {
	p := pointers{c.slot(op.OperandNamed("pointers")), c.optional(op.OperandNamed("mask"))}
	arg, typ := c.slot(op.OperandNamed("arg")), typeOf(op.Result(0))
	res, tok := c.slot(op.Result(0)), c.slot(op.Result(1))
	f, x := combineOf(op.EnumNamed("mode"), typ.Elem), accessOf(typ.Elem, typ.Shape)
	if f == nil {
		return nil, unsupported(op)
	}
	return func(m *machine) (signal, error) {
		out, v := newTile(typ, int(typ.NumElements())), m.tile(arg)
		m.vals[res], m.vals[tok] = out, token{}
		return next, p.each(m, func(i int, addr uint64) error {
			old, g, err := x.update(m, f, v, i, addr)
			out.bits[i] = old
			if g != 0 {
				out.mark(i, g)
			}
			return err
		}, func(i int) { out.mark(i, undef) })
	}, nil
}

// atomicCAS compares bits. Masked elements of the result are those of cmp.
func atomicCAS(c *compiler, op *ir.Op) (action, error) {
	p := pointers{c.slot(op.OperandNamed("pointers")), c.optional(op.OperandNamed("mask"))}
	cmp, val, typ := c.slot(op.OperandNamed("cmp")), c.slot(op.OperandNamed("val")), typeOf(op.Result(0))
	res, tok := c.slot(op.Result(0)), c.slot(op.Result(1))
	x := accessOf(typ.Elem, typ.Shape)
	return func(m *machine) (signal, error) {
		out, expected, v := newTile(typ, int(typ.NumElements())), m.tile(cmp), m.tile(val)
		m.vals[res], m.vals[tok] = out, token{}
		return next, p.each(m, func(i int, addr uint64) error {
			if err := m.checkFlag(expected.flag(i), typ.Shape, i, "the value to compare with"); err != nil {
				return err
			}
			old, g, err := x.update(m, func(old, arg uint64) (uint64, bool) {
				if old == expected.bits[i] {
					return arg, true
				}
				return old, true
			}, v, i, addr)
			out.bits[i] = old
			if g != 0 {
				out.mark(i, g)
			}
			return err
		}, func(i int) {
			out.bits[i] = expected.bits[i]
			if f := expected.flag(i); f != 0 {
				out.mark(i, f)
			}
		})
	}, nil
}

// multimemModes are the atomic modes that the reductions of multicast memory stand for. The interpreter has one copy of
// that memory, so what reads all copies reads it, and what writes all writes it.
var multimemModes = [...]uint32{def.ModeAdd, def.ModeMin, def.ModeMax, def.ModeAnd, def.ModeOr, def.ModeXor, def.ModeUMin, def.ModeUMax}

// reduceView updates the elements of a tile of a view that lie inside the array.
func reduceView(operand string, mode func(*ir.Op) uint32) rule {
	return func(c *compiler, op *ir.Op) (action, error) {
		a, src := viewAccessOf(c, op), c.slot(op.OperandNamed(operand))
		f := combineOf(mode(op), a.facts.Tile.Elem)
		if f == nil {
			return nil, unsupported(op)
		}
		return func(m *machine) (signal, error) {
			v := m.tile(src)
			return next, a.change(m, func(i int, addr uint64, _ bool) error {
				_, _, err := a.x.update(m, f, v, i, addr)
				return err
			})
		}, nil
	}
}

func atomicMode(op *ir.Op) uint32 { return op.EnumNamed("mode") }

// multimemMode is the mode of a multimem reduction; sums of floats are float sums.
func multimemMode(op *ir.Op) uint32 {
	mode := multimemModes[op.EnumNamed("reduction")]
	if formatOf(op.OperandNamed("tile")) != nil && mode == def.ModeAdd {
		return def.ModeAddF
	}
	return mode
}
