package interp

import (
	"math"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// makeTensorView puts the dynamic extents and strides, unsigned numbers of their width, into their places.
func makeTensorView(c *compiler, op *ir.Op) (action, error) {
	v := ir.Cast[cudatile.MakeTensorView](op)
	base, res := c.slot(v.Base()), c.slot(v.Result())
	shape, strides := c.slotsOf(v.DynamicShape()), c.slotsOf(v.DynamicStrides())
	typ, argument := v.Result().Type().(*cudatile.TensorViewType), argumentOf(v.Base())
	return func(m *machine) (signal, error) {
		p := m.tile(base)
		if err := m.checkDefined(p, "the base address"); err != nil {
			return 0, err
		}
		v := &tensorView{typ: typ, base: p.bits[0], argument: argument}
		var err error
		if v.shape, err = m.fill(typ.Shape, shape, "an extent"); err != nil {
			return 0, err
		}
		if v.strides, err = m.fill(typ.Strides, strides, "a stride"); err != nil {
			return 0, err
		}
		for _, n := range v.shape {
			if n < 0 {
				return 0, m.fail(Undefined, "the extent %d does not fit 64 signed bits", uint64(n))
			}
		}
		m.vals[res] = v
		return next, nil
	}, nil
}

// fill replaces the dynamic entries of a list by operands.
func (m *machine) fill(static []int64, slots []int, what string) ([]int64, error) {
	out := append([]int64(nil), static...)
	k := 0
	for i, n := range out {
		if n != cudatile.Dynamic {
			continue
		}
		t := m.tile(slots[k])
		if err := m.checkDefined(t, what); err != nil {
			return nil, err
		}
		out[i] = int64(t.bits[0])
		k++
	}
	return out, nil
}

// makeTileView is the rule of the three kinds of views of tiles.
func makeTileView(c *compiler, op *ir.Op) (action, error) {
	arg, res := c.slot(op.Operand(0)), c.slot(op.Result(0))
	facts := op.Result(0).Type().(cudatile.TileView).View()
	return func(m *machine) (signal, error) {
		m.vals[res] = &tileView{facts, m.vals[arg].(*tensorView)}
		return next, nil
	}, nil
}

// footprint is where the elements of one tile of a view lie: element (i, j, ...) at offset[0][i] + offset[1][j] + ...
// elements from the base, and inside the array when all of its inside are true.
type footprint struct {
	base    uint64
	shape   []int64
	offset  [][]int64
	inside  [][]bool
	outside bool // the index lies outside the index space, so that nothing is known
}

// tileAt evaluates the indices of an access. promised has the dimensions that the program says are inside.
//
//	coordinate along tile dimension i = index[i]*step[i] + k, or along the sparse dimension index[i][k]
func (m *machine) tileAt(v *tileView, indices []int, promised ir.BoolArray) (*footprint, error) {
	w := &footprint{base: v.array.base, shape: v.facts.Tile.Shape}
	space := v.indexSpace()
	for i, s := range indices {
		idx := m.tile(s)
		if err := m.checkDefined(idx, "an index of the view"); err != nil {
			return nil, err
		}
		d := v.facts.DimMap[i]
		extent, stride := uint64(v.array.shape[d]), v.array.strides[d]
		n := w.shape[i]
		offset, inside := make([]int64, n), make([]bool, n)
		// Programs name block 0 of empty slices: it has no elements inside.
		if v.facts.SparseDim < 0 && idx.bits[0] >= max(uint64(space[i]), 1) {
			w.outside = true
		}
		for k := range offset {
			at, fits := idx.bits[0], true
			if i == v.facts.SparseDim {
				at = idx.bits[k]
			} else {
				step := uint64(v.facts.Step[i])
				fits = at <= math.MaxInt64/step && at*step+uint64(k) <= math.MaxInt64
				at = at*step + uint64(k)
			}
			inside[k] = fits && at < extent
			if inside[k] {
				offset[k] = int64(at) * stride
			} else if i < len(promised) && promised[i] {
				return nil, m.fail(Undefined, "index %d of dimension %d reaches coordinate %d of an extent of %d, against the promise to stay inside", idx.bits[min(k, len(idx.bits)-1)], i, at, extent)
			}
		}
		w.offset, w.inside = append(w.offset, offset), append(w.inside, inside)
	}
	return w, nil
}

// rows visits the elements along the last dimension together, in row-major order of the others: the number of the first element,
// its offset but for that along the last dimension, and whether all other dimensions are inside.
func (w *footprint) rows(visit func(i int, off int64, inside bool) error) error {
	i, last := 0, len(w.shape)-1
	var walk func(d int, off int64, inside bool) error
	walk = func(d int, off int64, inside bool) error {
		if d == last {
			err := visit(i, off, inside)
			i += len(w.offset[last])
			return err
		}
		for k, o := range w.offset[d] {
			if err := walk(d+1, off+o, inside && w.inside[d][k]); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(0, 0, true)
}

// each visits the elements in row-major order with their place in memory.
func (w *footprint) each(c codec, visit func(i int, inside bool, addr uint64, high bool) error) error {
	return w.rows(func(i int, off int64, inside bool) error { return w.row(c, i, off, inside, visit) })
}

// row visits the elements of one row.
func (w *footprint) row(c codec, i int, off int64, inside bool, visit func(i int, inside bool, addr uint64, high bool) error) error {
	last := len(w.shape) - 1
	for k, o := range w.offset[last] {
		addr, high := c.address(w.base, off+o)
		if err := visit(i+k, inside && w.inside[last][k], addr, high); err != nil {
			return err
		}
	}
	return nil
}

// first is the offset of the first element along the last dimension.
func (w *footprint) first() int64 { return w.offset[len(w.shape)-1][0] }

// outsideRest visits the elements of a row after the first n, none of which is inside.
func (w *footprint) outsideRest(i, n int, visit func(i int, inside bool, addr uint64, high bool) error) error {
	for k := n; k < len(w.offset[len(w.shape)-1]); k++ {
		if err := visit(i+k, false, 0, false); err != nil {
			return err
		}
	}
	return nil
}

// uniformStride tells whether the elements of a row that are inside are its first n, step elements apart.
func (w *footprint) uniformStride() (n int, step int64, ok bool) {
	offset, inside := w.offset[len(w.shape)-1], w.inside[len(w.shape)-1]
	for n < len(inside) && inside[n] {
		n++
	}
	if n > 1 {
		step = offset[1] - offset[0]
	}
	for k := 1; k < n; k++ {
		if offset[k]-offset[k-1] != step {
			return 0, 0, false
		}
	}
	for _, in := range inside[n:] {
		if in {
			return 0, 0, false
		}
	}
	return n, step, true
}

// viewAccess is an operation on one tile of a view.
type viewAccess struct {
	view, token int
	indices     []int
	promised    ir.BoolArray
	x           access
	facts       cudatile.ViewFacts
}

func viewAccessOf(c *compiler, op *ir.Op) viewAccess {
	a := ir.Cast[cudatile.ViewAccess](op)
	facts := a.View().Type().(cudatile.TileView).View()
	return viewAccess{view: c.slot(a.View()), token: c.slot(a.ResultToken()), promised: a.Inbounds(), facts: facts,
		indices: c.slotsOf(a.Index()), x: accessOf(facts.Tile.Elem, facts.Tile.Shape)}
}

func (a *viewAccess) footprint(m *machine) (*footprint, error) {
	m.vals[a.token] = token{}
	return m.tileAt(m.vals[a.view].(*tileView), a.indices, a.promised)
}

// writeFootprint is the footprint of an operation that writes. An index outside the index space is undefined.
func (a *viewAccess) writeFootprint(m *machine) (*footprint, error) {
	w, err := a.footprint(m)
	if err == nil && w.outside {
		err = m.fail(Undefined, "the %s", m.outsideIndex(m.vals[a.view].(*tileView), a.indices).text(m.mem))
	}
	return w, err
}

// eachWritten visits the elements inside the array, for operations that write.
func (a *viewAccess) eachWritten(m *machine, visit func(i int, addr uint64, high bool) error) error {
	w, err := a.writeFootprint(m)
	if err != nil {
		return err
	}
	return w.each(a.x.codec, func(i int, inside bool, addr uint64, high bool) error {
		if !inside {
			return nil
		}
		return visit(i, addr, high)
	})
}

// padding is the value of elements outside the array; ok is false when there is none.
func padding(facts cudatile.ViewFacts) (v uint64, ok bool) {
	p, ok := facts.Padding.Get()
	ft, isFloat := facts.Tile.Elem.(*ir.FloatType)
	if !ok || !isFloat {
		return 0, ok
	}
	f := ft.Format
	switch p {
	case def.PadNegZero:
		return f.Zero(true), true
	case def.PadNaN:
		return f.NaN(), true
	case def.PadPosInf:
		return f.Inf(false), true
	case def.PadNegInf:
		return f.Inf(true), true
	}
	return f.Encode(0, float.NearestEven), true
}

// loadView is undefined outside the array without padding, and everywhere when the index is outside the index space.
func loadView(c *compiler, op *ir.Op) (action, error) {
	a, res := viewAccessOf(c, op), c.slot(op.Result(0))
	pad, padded := padding(a.facts)
	typ := a.facts.Tile
	return func(m *machine) (signal, error) {
		w, err := a.footprint(m)
		if err != nil {
			return 0, err
		}
		out := newTile(typ, int(typ.NumElements()))
		m.vals[res] = out
		view := m.vals[a.view].(*tileView)
		if w.outside {
			index := m.outsideIndex(view, a.indices)
			for i := range out.bits {
				if m.markUnpadded(out, i) {
					m.because(out, func() string { return "whose " + index.text(m.mem) })
				}
				if m.opts.ZeroPadding && padded {
					out.bits[i] = pad
				}
			}
			return next, nil
		}
		read := func(i int, inside bool, addr uint64, high bool) error {
			if inside {
				return a.x.read(m, out, i, addr, high)
			}
			if out.bits[i] = pad; !padded && m.markUnpadded(out, i) {
				m.because(out, func() string {
					return whose(typ.Shape, i, "lies outside "+view.array.name(m.mem)+", and which names no padding")
				})
			}
			return nil
		}
		lead, step, even := w.uniformStride()
		return next, w.rows(func(i int, off int64, inside bool) error {
			if even && inside && lead > 0 && a.x.readRun(m, out.bits[i:][:lead], w.base, off+w.first(), step) {
				return w.outsideRest(i, lead, read)
			}
			return w.row(a.x.codec, i, off, inside, read)
		})
	}, nil
}

func storeView(c *compiler, op *ir.Op) (action, error) {
	a, src := viewAccessOf(c, op), c.slot(ir.Cast[cudatile.TileOp](op).Tile())
	return func(m *machine) (signal, error) {
		v := m.tile(src)
		w, err := a.writeFootprint(m)
		if err != nil {
			return 0, err
		}
		write := func(i int, inside bool, addr uint64, high bool) error {
			if !inside {
				return nil
			}
			return a.x.write(m, v, i, addr, high)
		}
		lead, step, even := w.uniformStride()
		even = even && (v.any()&undef == 0 || m.opts.AnyUndefined)
		return next, w.rows(func(i int, off int64, inside bool) error {
			if !inside || even && (lead == 0 || a.x.writeRun(m, v.bits[i:][:lead], w.base, off+w.first(), step, v.flags != nil)) {
				return nil
			}
			return w.row(a.x.codec, i, off, inside, write)
		})
	}, nil
}
