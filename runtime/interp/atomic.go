package interp

import (
	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// atomicOp is an atomic mode for elements of one type.
type atomicOp struct {
	apply  func(old, arg uint64) uint64
	sum    *float.Format         // of sums of floats, whose order may show
	unsure func(old uint64) bool // whether another correct implementation may store something else; nil is never
}

// atomicOpOf finds an atomic mode for elements of a type; apply is nil when there is none.
func atomicOpOf(mode def.AtomicMode, elem ir.Type) atomicOp {
	if t, ok := elem.(*ir.FloatType); ok && mode != def.ModeXchg {
		if mode != def.ModeAddF {
			return atomicOp{}
		}
		return atomicOp{apply: func(old, arg uint64) uint64 { return t.Format.Add(old, arg, float.NearestEven) }, sum: t.Format}
	}
	w := ir.BitWidth(elem)
	switch mode {
	case def.ModeAnd:
		return atomicOp{apply: func(a, b uint64) uint64 { return a & b }}
	case def.ModeOr:
		return atomicOp{apply: func(a, b uint64) uint64 { return a | b }}
	case def.ModeXor:
		return atomicOp{apply: func(a, b uint64) uint64 { return a ^ b }}
	case def.ModeAdd:
		return atomicOp{apply: func(a, b uint64) uint64 { return (a + b) & mask(w) }}
	case def.ModeMax:
		return atomicOp{apply: maxi(w, true)}
	case def.ModeMin:
		return atomicOp{apply: mini(w, true)}
	case def.ModeUMax:
		return atomicOp{apply: maxi(w, false)}
	case def.ModeUMin:
		return atomicOp{apply: mini(w, false)}
	case def.ModeXchg:
		return atomicOp{apply: func(_, b uint64) uint64 { return b }}
	}
	return atomicOp{}
}

// atomicSum is the additions to one address so far, whose order is not specified.
type atomicSum struct {
	sumExactness
	last uint64 // what the additions have left there
}

// sumIsExact says whether all that has been added at an address since the last plain store is exact in every order. Where GPUs add f32 in global memory, they
// take subnormal numbers for zeros, and make zeros of sums that are some (PTX ISA, "atom", "red", "cp.reduce.async.bulk"); those of memory near the
// threads, and compilers that add by compare and swap, do not. No partial sum is subnormal if all terms are multiples of the smallest normal number.
func (mem *Memory) sumIsExact(addr uint64, f *float.Format, old, arg, sum uint64) bool {
	if mem.ignoreInexact {
		return true
	}
	s, ok := mem.sums[addr]
	if !ok || s.last != old {
		s = atomicSum{sumExactness: newSumExactness()}
		s.add(f.Decode(old))
	}
	s.add(f.Decode(arg))
	s.last = sum
	mem.sums[addr] = s
	return s.exact(f) && (f != float.F32 || s.low >= 1-f.Bias())
}

// update replaces the value at an address by what f makes of it and element i of a tile, and returns the old value.
func (x *access) update(m *machine, f atomicOp, arg *tile, i int, addr uint64) (old uint64, flags uint8, err error) {
	if arg.flag(i)&undef != 0 && !m.opts.AnyUndefined {
		return 0, 0, m.undefAt(arg, i, "the operand")
	}
	a, off, err := x.locateToWrite(m, addr, i)
	if err != nil {
		return 0, 0, err
	}
	old, flags = x.load(a, off, false)
	if flags&undef != 0 && !m.opts.AnyUndefined {
		return 0, 0, m.failAt(UndefUse, x.shape, i, "the value in memory is undefined")
	}
	v := f.apply(old, arg.bits[i])
	g := flags | arg.flag(i)
	if f.sum != nil && !m.mem.sumIsExact(addr, f.sum, old, arg.bits[i], v) || f.unsure != nil && f.unsure(old) {
		g |= inexact
	}
	x.store(a, off, false, v, g)
	return old, flags, nil
}

// atomicRMW updates element after element, in the order of the tile. Masked elements of the result are undefined.
func atomicRMW(c *compiler, op *ir.Op) (action, error) {
	a := ir.Cast[cudatile.AtomicRmwTko](op)
	p := pointers{c.slot(a.Pointers()), c.optional(a.Mask())}
	arg, typ := c.slot(a.Arg()), typeOf(a.Result())
	res, tok := c.slot(a.Result()), c.slot(a.ResultToken())
	f, x := atomicOpOf(a.Mode(), typ.Elem), accessOf(typ.Elem, typ.Shape)
	if f.apply == nil {
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
		}, func(i int) {
			if out.mark(i, undef); out.why == nil {
				m.because(out, func() string { return whose(typ.Shape, i, "is masked out") })
			}
		})
	}, nil
}

// atomicCAS compares bits; which ones a NaN has that an operation makes is nobody's promise. Masked elements of the result are those of cmp.
func atomicCAS(c *compiler, op *ir.Op) (action, error) {
	a := ir.Cast[cudatile.AtomicCasTko](op)
	p := pointers{c.slot(a.Pointers()), c.optional(a.Mask())}
	cmp, val, typ := c.slot(a.Cmp()), c.slot(a.Val()), typeOf(a.Result())
	res, tok := c.slot(a.Result()), c.slot(a.ResultToken())
	x, f := accessOf(typ.Elem, typ.Shape), formatOf(a.Cmp())
	return func(m *machine) (signal, error) {
		out, expected, v := newTile(typ, int(typ.NumElements())), m.tile(cmp), m.tile(val)
		m.vals[res], m.vals[tok] = out, token{}
		return next, p.each(m, func(i int, addr uint64) error {
			if err := m.checkFlag(expected.flag(i), expected, i, "the value to compare with"); err != nil {
				return err
			}
			old, g, err := x.update(m, atomicOp{apply: func(old, arg uint64) uint64 {
				if old == expected.bits[i] {
					return arg
				}
				return old
			}, unsure: func(old uint64) bool { return f != nil && f.IsNaN(old) && f.IsNaN(expected.bits[i]) }}, v, i, addr)
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

// multimemModes are the atomic modes of the multimem reductions. The interpreter has one copy of multicast memory, so reading all
// copies reads it, and writing all writes it.
var multimemModes = [...]def.AtomicMode{
	def.MultimemAdd: def.ModeAdd, def.MultimemMin: def.ModeMin, def.MultimemMax: def.ModeMax, def.MultimemAnd: def.ModeAnd,
	def.MultimemOr: def.ModeOr, def.MultimemXor: def.ModeXor, def.MultimemUMin: def.ModeUMin, def.MultimemUMax: def.ModeUMax,
}

// reduceView updates the elements of a tile of a view that lie inside the array.
func reduceView(operands func(*ir.Op) (tile *ir.Value, mode def.AtomicMode)) rule {
	return func(c *compiler, op *ir.Op) (action, error) {
		tile, mode := operands(op)
		a, src := viewAccessOf(c, op), c.slot(tile)
		f := atomicOpOf(mode, a.facts.Tile.Elem)
		if f.apply == nil {
			return nil, unsupported(op)
		}
		return func(m *machine) (signal, error) {
			v := m.tile(src)
			return next, a.eachWritten(m, func(i int, addr uint64, _ bool) error {
				_, _, err := a.x.update(m, f, v, i, addr)
				return err
			})
		}, nil
	}
}

func atomicReduction(op *ir.Op) (*ir.Value, def.AtomicMode) {
	a := ir.Cast[cudatile.AtomicRedViewTko](op)
	return a.Value(), a.Mode()
}

// multimemReduction: sums of floats are float sums.
func multimemReduction(op *ir.Op) (*ir.Value, def.AtomicMode) {
	m := ir.Cast[cudatile.MultimemReduceViewTko](op)
	mode := multimemModes[m.Reduction()]
	if formatOf(m.Tile()) != nil && mode == def.ModeAdd {
		mode = def.ModeAddF
	}
	return m.Tile(), mode
}
