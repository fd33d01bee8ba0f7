package interp

import (
	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// denseTile reads a constant.
func denseTile(d *ir.DenseAttr) *tile {
	typ := d.Type.(*cudatile.TileType)
	size := ir.DenseElementBytes(typ.Elem)
	t := newTile(typ, int(typ.NumElements()))
	n := len(t.bits)
	if d.Splat {
		n = 1
	}
	keep := mask(ir.BitWidth(typ.Elem))
	for i := range n {
		for k := size - 1; k >= 0; k-- {
			t.bits[i] = t.bits[i]<<8 | uint64(d.Data[i*size+k])
		}
		t.bits[i] &= keep
	}
	for i := n; i < len(t.bits); i++ {
		t.bits[i] = t.bits[0]
	}
	return t
}

// smallConstant is how many elements a constant may have to be kept between its uses.
const smallConstant = 1 << 16

func constant(c *compiler, op *ir.Op) (action, error) {
	d, res := ir.Cast[cudatile.Constant](op).Value(), c.slot(op.Result(0))
	var kept *tile
	if typeOf(op.Result(0)).NumElements() <= smallConstant {
		kept = denseTile(d)
	}
	return func(m *machine) (signal, error) {
		if kept != nil {
			m.vals[res] = kept
		} else {
			m.vals[res] = denseTile(d)
		}
		return next, nil
	}, nil
}

func iotaOp(c *compiler, op *ir.Op) (action, error) {
	res, typ := c.slot(op.Result(0)), typeOf(op.Result(0))
	return func(m *machine) (signal, error) {
		t := newTile(typ, int(typ.NumElements()))
		for i := range t.bits {
			t.bits[i] = uint64(i)
		}
		m.vals[res] = t
		return next, nil
	}, nil
}

// box is a grid of positions: element (i, j, ...) lies at base + i*strides[0] + j*strides[1] + ...
type box struct {
	base    int
	strides []int
}

// rowMajor is where the elements of a tile of a shape lie, row by row.
func rowMajor(shape []int64) box {
	b := box{strides: make([]int, len(shape))}
	n := 1
	for d := len(shape) - 1; d >= 0; d-- {
		b.strides[d] = n
		n *= int(shape[d])
	}
	return b
}

// copyBox copies the elements of a box of one tile into a box of another; both boxes have the shape.
func copyBox(to *tile, tb box, from *tile, fb box, shape []int64) {
	if len(shape) == 0 {
		one := []int{1}
		tb.strides, fb.strides, shape = one, one, []int64{1}
	}
	last := len(shape) - 1
	if last > 0 {
		inner := func(b box, i int) box { return box{b.base + i*b.strides[0], b.strides[1:]} }
		for i := range int(shape[0]) {
			copyBox(to, inner(tb, i), from, inner(fb, i), shape[1:])
		}
		return
	}
	n, ts, fs := int(shape[0]), tb.strides[0], fb.strides[0]
	for i, t, f := 0, tb.base, fb.base; i < n; i, t, f = i+1, t+ts, f+fs {
		to.bits[t] = from.bits[f]
	}
	if from.flags == nil && to.flags == nil {
		return
	}
	to.mark(tb.base, 0)
	for i, t, f := 0, tb.base, fb.base; i < n; i, t, f = i+1, t+ts, f+fs {
		to.flags[t] = from.flag(f)
	}
}

// rearrange is an operation whose result holds elements of its only operand: source says from which box of the operand.
func rearrange(source func(op *ir.Op, from []int64) box) rule {
	return func(c *compiler, op *ir.Op) (action, error) {
		arg, res, typ := c.slot(op.Operand(0)), c.slot(op.Result(0)), typeOf(op.Result(0))
		b := source(op, typeOf(op.Operand(0)).Shape)
		return func(m *machine) (signal, error) {
			out := newTile(typ, int(typ.NumElements()))
			copyBox(out, rowMajor(typ.Shape), m.tile(arg), b, typ.Shape)
			m.vals[res] = out
			return next, nil
		}, nil
	}
}

// broadcast has stride 0 along the dimensions of size 1.
func broadcast(_ *ir.Op, from []int64) box {
	b := rowMajor(from)
	for d, n := range from {
		if n == 1 {
			b.strides[d] = 0
		}
	}
	return b
}

// permute permutes the strides of the source.
func permute(op *ir.Op, from []int64) box {
	all := rowMajor(from)
	b := box{}
	for _, d := range ir.Cast[cudatile.Permute](op).Permutation() {
		b.strides = append(b.strides, all.strides[d])
	}
	return b
}

// reshape shares the elements of its operand.
func reshape(c *compiler, op *ir.Op) (action, error) {
	arg, res, typ := c.slot(op.Operand(0)), c.slot(op.Result(0)), typeOf(op.Result(0))
	return func(m *machine) (signal, error) {
		in := m.tile(arg)
		m.vals[res] = &tile{typ: typ, bits: in.bits, flags: in.flags}
		return next, nil
	}, nil
}

func cat(c *compiler, op *ir.Op) (action, error) {
	lhs, rhs, res, typ := c.slot(op.Operand(0)), c.slot(op.Operand(1)), c.slot(op.Result(0)), typeOf(op.Result(0))
	dim := int(ir.Cast[cudatile.Cat](op).Dim())
	return func(m *machine) (signal, error) {
		out, to := newTile(typ, int(typ.NumElements())), rowMajor(typ.Shape)
		for _, in := range []*tile{m.tile(lhs), m.tile(rhs)} {
			copyBox(out, to, in, rowMajor(in.typ.Shape), in.typ.Shape)
			to.base += int(in.typ.Shape[dim]) * to.strides[dim]
		}
		m.vals[res] = out
		return next, nil
	}, nil
}

// slice finds the box of slice number (i, j, ...) of a tile cut into parts; ok is false out of range.
func (m *machine) slice(whole box, shape, part []int64, indices []int) (b box, ok bool, err error) {
	b = whole
	for d, s := range indices {
		i := m.tile(s)
		if err := m.checkDefined(i, "a slice index"); err != nil {
			return b, false, err
		}
		if i.bits[0] >= uint64(shape[d]/part[d]) {
			return b, false, nil
		}
		b.base += int(i.bits[0]) * int(part[d]) * b.strides[d]
	}
	return b, true, nil
}

// undefineAll makes the result of an operation on a slice that does not exist.
func (m *machine) undefineAll(out *tile) {
	out.markAll(undef)
	m.because(out, func() string { return "whose slice does not exist" })
}

// extract of a slice that does not exist is undefined.
func extract(c *compiler, op *ir.Op) (action, error) {
	from, res, typ := c.slot(op.Operand(0)), c.slot(op.Result(0)), typeOf(op.Result(0))
	indices := c.slotsOf(op.OperandGroup(1))
	return func(m *machine) (signal, error) {
		in, out := m.tile(from), newTile(typ, int(typ.NumElements()))
		b, ok, err := m.slice(rowMajor(in.typ.Shape), in.typ.Shape, typ.Shape, indices)
		if err != nil {
			return 0, err
		}
		if ok {
			copyBox(out, rowMajor(typ.Shape), in, b, typ.Shape)
		} else {
			m.undefineAll(out)
		}
		m.vals[res] = out
		return next, nil
	}, nil
}

// insert of a slice that does not exist is undefined.
func insert(c *compiler, op *ir.Op) (action, error) {
	part, dst, res := c.slot(op.Operand(0)), c.slot(op.Operand(1)), c.slot(op.Result(0))
	indices := c.slotsOf(op.OperandGroup(2))
	return func(m *machine) (signal, error) {
		in, old := m.tile(part), m.tile(dst)
		out := &tile{typ: old.typ, bits: append([]uint64(nil), old.bits...), flags: append([]uint8(nil), old.flags...)}
		b, ok, err := m.slice(rowMajor(old.typ.Shape), old.typ.Shape, in.typ.Shape, indices)
		if err != nil {
			return 0, err
		}
		if ok {
			copyBox(out, b, in, rowMajor(in.typ.Shape), in.typ.Shape)
		} else {
			m.undefineAll(out)
		}
		m.vals[res] = out
		return next, nil
	}, nil
}

// selectRule is select: an element of one of two tiles, undefined where the condition is. The flags of the element that is not
// selected do not matter.
func selectRule(c *compiler, op *ir.Op) (action, error) {
	args, res, typ := c.slotsOf(op.Operands()), c.slot(op.Result(0)), typeOf(op.Result(0))
	return func(m *machine) (signal, error) {
		in, n := m.operands(args)
		if m.opts.Strict {
			if err := m.checkExact(in[0]); err != nil {
				return 0, err
			}
		}
		out := newTile(typ, n)
		for i, cond := range in[0].bits {
			from := in[2]
			if cond != 0 {
				from = in[1]
			}
			out.bits[i] = from.bits[i]
			if f := from.flag(i) | in[0].flag(i); f != 0 {
				out.mark(i, f)
			}
		}
		m.vals[res] = out
		return next, nil
	}, nil
}
