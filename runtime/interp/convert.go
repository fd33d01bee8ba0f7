package interp

import (
	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// bitcast passes the bits on. Those of a NaN become visible, and which NaN an operation makes is nobody's promise.
func bitcast(op *ir.Op) (kernel, error) {
	f := formatOf(op.Operand(0))
	if f == nil {
		return same(op)
	}
	return func(out *tile, in []*tile) {
		for i, a := range in[0].bits {
			out.bits[i] = a
			if f.IsNaN(a) {
				out.mark(i, inexact)
			}
		}
	}, nil
}

// same passes the bits on, between pointers and their addresses too.
func same(*ir.Op) (kernel, error) {
	return func(out *tile, in []*tile) { copy(out.bits, in[0].bits) }, nil
}

func exti(op *ir.Op) (kernel, error) {
	from, to := widthOf(op.Operand(0)), widthOf(op.Result(0))
	if !isSigned(op) {
		return same(op)
	}
	return map1(func(a uint64) uint64 { return uint64(signExtend(a, from)) & mask(to) }), nil
}

// trunci is undefined where it breaks its promise to lose nothing.
func trunci(op *ir.Op) (kernel, error) {
	from, to, flags := widthOf(op.Operand(0)), widthOf(op.Result(0)), ir.Cast[cudatile.Trunci](op).Overflow()
	return partial(func(a, _ uint64) (uint64, string) {
		v := a & mask(to)
		keepsSigned := signExtend(v, to) == signExtend(a, from)
		if flags&def.NoSignedWrap != 0 && !keepsSigned || flags&def.NoUnsignedWrap != 0 && v != a {
			return v, wraps
		}
		return v, ""
	}), nil
}

func ftof(op *ir.Op) (kernel, error) {
	from, to, r := formatOf(op.Operand(0)), formatOf(op.Result(0)), roundings[ir.Cast[cudatile.RoundedOp](op).RoundingMode()]
	return map1(func(a uint64) uint64 { return float.Convert(from, to, a, r) }), nil
}

// ftoi is undefined for NaN and beyond the range, unless it saturates. To i1, it is x != 0, also for NaN: no number is out of range.
func ftoi(op *ir.Op) (kernel, error) {
	f, w, signed := formatOf(op.Operand(0)), widthOf(op.Result(0)), isSigned(op)
	if w == 1 {
		return map1(func(a uint64) uint64 {
			if f.IsZero(a) {
				return 0
			}
			return 1
		}), nil
	}
	saturating := ir.Cast[cudatile.Ftoi](op).Saturating()
	outOfRange := "is out of range of " + ir.ShortType(typeOf(op.Result(0)).Elem)
	return partial(func(a, _ uint64) (uint64, string) {
		v, ok := f.ToInt(a, w, signed, float.TowardZero)
		switch {
		case ok || saturating:
			return v, ""
		case f.IsNaN(a):
			return v, "converts a NaN"
		}
		return v, outOfRange
	}), nil
}

func itof(op *ir.Op) (kernel, error) {
	w, f, r := widthOf(op.Operand(0)), formatOf(op.Result(0)), roundings[ir.Cast[cudatile.RoundedOp](op).RoundingMode()]
	if isSigned(op) {
		return map1(func(a uint64) uint64 { return f.FromInt(signExtend(a, w), r) }), nil
	}
	return map1(func(a uint64) uint64 { return f.FromUint(a, r) }), nil
}

// offset moves pointers by a signed number of elements. Leaving the address space is undefined, and so is stopping
// between the two elements of a byte.
func offset(op *ir.Op) (kernel, error) {
	w := widthOf(op.Operand(1))
	c := codecOf(typeOf(op.Operand(0)).Elem.(*cudatile.PtrType).Elem)
	return partial(func(a, b uint64) (uint64, string) {
		i := signExtend(b, w)
		d := i * int64(c.bytes)
		if c.nibble {
			d = i >> 1
		}
		v := a + uint64(d)
		switch {
		case c.nibble && i&1 != 0:
			return v, "points to the second element of a byte"
		case !c.nibble && d/int64(c.bytes) != i, (v < a) != (d < 0):
			return v, "leaves the address space"
		}
		return v, ""
	}), nil
}

// repack reads the elements of a rank-1 tile as one string of bits, lowest first, and cuts it into elements of another
// width: pack and unpack. The bytes of a NaN are those of nobody's promise, as in bitcast.
func repack(c *compiler, op *ir.Op) (action, error) {
	arg, res, typ := c.slot(op.Operand(0)), c.slot(op.Result(0)), typeOf(op.Result(0))
	from, to := storageOf(op.Operand(0)), storageOf(op.Result(0))
	format, target := formatOf(op.Operand(0)), formatOf(op.Result(0))
	return func(m *machine) (signal, error) {
		in, out := m.tile(arg), newTile(typ, int(typ.NumElements()))
		if m.opts.Strict {
			if err := m.checkExact(in); err != nil {
				return 0, err
			}
		}
		for at, total := 0, len(out.bits)*to; at < total; {
			// The longest run of bits that stays in one element on both sides.
			i, j := at/from, at/to
			n := min(from-at%from, to-at%to)
			word := in.bits[i]
			if format != nil {
				word = format.ToStorage(word)
			}
			out.bits[j] |= word >> (at % from) & mask(n) << (at % to)
			f := in.flag(i)
			if format != nil && format.IsNaN(in.bits[i]) {
				f |= inexact
			}
			if f != 0 {
				out.mark(j, f)
			}
			at += n
		}
		if target != nil {
			for j, word := range out.bits {
				out.bits[j] = target.FromStorage(word)
			}
		}
		m.vals[res] = out
		return next, nil
	}, nil
}

// storageOf is the size of an element of a tile in memory, in bits.
func storageOf(v *ir.Value) int {
	if f := formatOf(v); f != nil {
		return f.StorageBits()
	}
	return widthOf(v)
}
