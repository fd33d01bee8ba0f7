package interp

import (
	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// matrix is a batch of matrices of one operand, decoded.
type matrix struct {
	batch, rows, cols int
	v                 []float64
	flags             []uint8 // of each element, nil when there are none
}

// matrixShape splits [B]xRxC.
func matrixShape(shape []int64) (batch, rows, cols int) {
	n := len(shape)
	batch = 1
	if n == 3 {
		batch = int(shape[0])
	}
	return batch, int(shape[n-2]), int(shape[n-1])
}

func decode(t *tile, f *float.Format) *matrix {
	b, r, c := matrixShape(t.typ.Shape)
	x := &matrix{b, r, c, make([]float64, len(t.bits)), t.flags}
	for i, v := range t.bits {
		x.v[i] = f.Decode(v)
	}
	return x
}

// scale multiplies each block of a matrix by its scale; the blocks lie along the columns of the left operand and along
// the rows of the right one. Products of these narrow formats are exact in f64.
func (x *matrix) scale(s *matrix) {
	perRow, perCol := x.rows/s.rows, x.cols/s.cols
	for b := range x.batch {
		for i := range x.rows {
			for j := range x.cols {
				at := (b*x.rows+i)*x.cols + j
				from := (b*s.rows+i/perRow)*s.cols + j/perCol
				x.v[at] *= s.v[from]
				f := uint8(0)
				if s.flags != nil {
					f = s.flags[from]
				}
				if f != 0 {
					if x.flags == nil {
						x.flags = make([]uint8, len(x.v))
					}
					x.flags[at] |= f
				}
			}
		}
	}
}

// dotExactness is what a row of the left or a column of the right operand says about the exactness of a dot product.
type dotExactness struct {
	sumExactness
	flags uint8
}

// dotExactness looks at the rows or, with columns, the columns of one matrix of the batch.
func (x *matrix) dotExactness(b int, columns bool) []dotExactness {
	n := x.rows
	if columns {
		n = x.cols
	}
	out := make([]dotExactness, n)
	for i := range out {
		out[i].sumExactness = newSumExactness()
	}
	at := b * x.rows * x.cols
	for i := range x.rows {
		for j := range x.cols {
			which := i
			if columns {
				which = j
			}
			d := &out[which]
			d.add(x.v[at])
			if x.flags != nil {
				d.flags |= x.flags[at]
			}
			at++
		}
	}
	return out
}

// multiply gives acc + a*b, summed in f64 and rounded once. A result is marked inexact if some order of its sum can round in a
// format with p bits of precision (exact.go); with ignoreInexact none is.
func multiply(out, acc *tile, a, b *matrix, f *float.Format, p int, ignoreInexact bool) {
	row := make([]float64, b.cols)
	for n := range a.batch {
		var left, right []dotExactness
		if !ignoreInexact || a.flags != nil || b.flags != nil {
			left, right = a.dotExactness(n, false), b.dotExactness(n, true)
		}
		for i := range a.rows {
			at := (n*a.rows + i) * b.cols
			for j := range row {
				row[j] = f.Decode(acc.bits[at+j])
			}
			addProducts(row, a.v[(n*a.rows+i)*a.cols:][:a.cols], b.v[n*b.rows*b.cols:])
			for j, v := range row {
				out.bits[at+j] = f.Encode(v, float.NearestEven)
			}
			if left != nil {
				markRow(out, acc, at, &left[i], right, f, p)
			} else if acc.flags != nil {
				for j := range row {
					out.mark(at+j, acc.flags[at+j])
				}
			}
		}
	}
}

// addProducts adds the product of a row and a matrix to a row, first product first. Four rows of the matrix at a time leave the sums in registers
// for longer.
func addProducts(sums, row, matrix []float64) {
	n := len(sums)
	for ; len(row) >= 4; row = row[4:] {
		x0, x1, x2, x3 := row[0], row[1], row[2], row[3]
		l0, l1, l2, l3 := matrix[:n], matrix[n:][:n], matrix[2*n:][:n], matrix[3*n:][:n]
		for j, s := range sums {
			s += float64(x0 * l0[j])
			s += float64(x1 * l1[j])
			s += float64(x2 * l2[j])
			s += float64(x3 * l3[j])
			sums[j] = s
		}
		matrix = matrix[4*n:]
	}
	for k, x := range row {
		for j, y := range matrix[k*n:][:n] {
			sums[j] += float64(x * y)
		}
	}
}

// markRow marks results of a row, from element at on, that are inexact or undefined.
func markRow(out, acc *tile, at int, l *dotExactness, right []dotExactness, f *float.Format, p int) {
	for j := range right {
		r := &right[j]
		flags := l.flags | r.flags | acc.flag(at+j)
		c := newSumExactness()
		c.add(f.Decode(acc.bits[at+j]))
		if l.special || r.special || c.special || !fits(f, p, min(l.low+r.low, c.low), l.sum*r.largest+c.sum) {
			flags |= inexact
		}
		if flags != 0 {
			out.mark(at+j, flags)
		}
	}
}

// mmaf multiplies float matrices. Fast accumulation keeps at least the precision of f16.
func mmaf(c *compiler, op *ir.Op) (action, error) {
	args, res, typ := c.slotsOf(op.Operands()), c.slot(op.Result(0)), typeOf(op.Result(0))
	in, f := formatOf(op.Operand(0)), formatOf(op.Result(0))
	p := precision(f)
	if ir.Cast[cudatile.Mmaf](op).FastAcc() {
		p = min(p, precision(float.F16))
	}
	return func(m *machine) (signal, error) {
		out := newTile(typ, int(typ.NumElements()))
		multiply(out, m.tile(args[2]), decode(m.tile(args[0]), in), decode(m.tile(args[1]), in), f, p, m.ignoreInexact)
		m.vals[res] = out
		return next, nil
	}, nil
}

func mmafScaled(c *compiler, op *ir.Op) (action, error) {
	args, res, typ := c.slotsOf(op.Operands()), c.slot(op.Result(0)), typeOf(op.Result(0))
	in, scale, f := formatOf(op.Operand(0)), formatOf(op.Operand(3)), formatOf(op.Result(0))
	return func(m *machine) (signal, error) {
		out := newTile(typ, int(typ.NumElements()))
		a, b := decode(m.tile(args[0]), in), decode(m.tile(args[1]), in)
		a.scale(decode(m.tile(args[3]), scale))
		b.scale(decode(m.tile(args[4]), scale))
		multiply(out, m.tile(args[2]), a, b, f, precision(f), m.ignoreInexact)
		m.vals[res] = out
		return next, nil
	}, nil
}

// mmai multiplies matrices of bytes; the sum wraps.
func mmai(c *compiler, op *ir.Op) (action, error) {
	args, res, typ := c.slotsOf(op.Operands()), c.slot(op.Result(0)), typeOf(op.Result(0))
	mma := ir.Cast[cudatile.Mmai](op)
	signedLeft, signedRight := mma.SignednessLhs() == def.Signed, mma.SignednessRhs() == def.Signed
	read := func(t *tile, signed bool) []int32 {
		v := make([]int32, len(t.bits))
		for i, b := range t.bits {
			if v[i] = int32(b); signed {
				v[i] = int32(int8(b))
			}
		}
		return v
	}
	return func(m *machine) (signal, error) {
		x, y, acc := m.tile(args[0]), m.tile(args[1]), m.tile(args[2])
		out := newTile(typ, int(typ.NumElements()))
		batch, rows, inner := matrixShape(x.typ.Shape)
		_, _, cols := matrixShape(y.typ.Shape)
		a, b := read(x, signedLeft), read(y, signedRight)
		for n := range batch {
			for i := range rows {
				first := (n*rows + i) * cols
				for j := range cols {
					sum, flags := int32(acc.bits[first+j]), acc.flag(first+j)
					for k := range inner {
						l, r := (n*rows+i)*inner+k, (n*inner+k)*cols+j
						sum += a[l] * b[r]
						flags |= x.flag(l) | y.flag(r)
					}
					if out.bits[first+j] = uint64(uint32(sum)); flags != 0 {
						out.mark(first+j, flags)
					}
				}
			}
		}
		if m.opts.Strict {
			if err := m.checkExact(out); err != nil {
				return 0, err
			}
		}
		m.vals[res] = out
		return next, nil
	}, nil
}
