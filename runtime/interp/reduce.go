package interp

import (
	"cmp"
	"fmt"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// axis is the dimension of a tile along which a reduce or scan goes; a lane is the elements that differ in no other. Element k
// of lane (o, i) lies at (o*n + k)*inner + i, or, reversed, at (o*n + n-1-k)*inner + i.
//
//	shape  [ outer | n | inner ]      lanes = outer * inner
type axis struct {
	outer, n, inner int
	reverse         bool
}

func axisOf(shape []int64, dim int, reverse bool) axis {
	l := axis{1, int(shape[dim]), 1, reverse}
	for d, n := range shape {
		switch {
		case d < dim:
			l.outer *= int(n)
		case d > dim:
			l.inner *= int(n)
		}
	}
	return l
}

func (l axis) lanes() int { return l.outer * l.inner }

func (l axis) at(lane, k int) int {
	if l.reverse {
		k = l.n - 1 - k
	}
	return (lane/l.inner*l.n+k)*l.inner + lane%l.inner
}

// step is the distance between neighbouring elements of a lane.
func (l axis) step() int {
	if l.reverse {
		return -l.inner
	}
	return l.inner
}

// get is element k of every lane.
func (l axis) get(t *tile, k int) *tile {
	out := newTile(t.typ, l.lanes())
	for o := range l.outer {
		at := l.at(o*l.inner, k)
		copy(out.bits[o*l.inner:][:l.inner], t.bits[at:])
		for i := range l.inner {
			if f := t.flag(at + i); f != 0 {
				out.mark(o*l.inner+i, f)
			}
		}
	}
	return out
}

// put makes a tile element k of every lane.
func (l axis) put(to *tile, k int, from *tile) {
	to.why = cmp.Or(to.why, from.why)
	for o := range l.outer {
		at := l.at(o*l.inner, k)
		copy(to.bits[at:], from.bits[o*l.inner:][:l.inner])
		for i := range l.inner {
			if f := from.flag(o*l.inner + i); f != 0 {
				to.mark(at+i, f)
			}
		}
	}
}

// combiner is the region of a reduce or scan.
type combiner struct {
	body  *code
	folds []fold // of each operand, when the region is nothing but independent sums and products of floats
	// elementwise: the region may run for all lanes at once. orderMatters: its result may depend on the order of the elements.
	elementwise, orderMatters bool
	// sequential is false when the region is nothing but one associative operation on each pair: any grouping of the elements will do.
	sequential bool
}

// fold is a sum or a product of floats.
type fold struct {
	format  *float.Format
	product bool
}

func combinerOf(c *compiler, op *ir.Op) (*combiner, error) {
	b := op.Body()
	body, err := c.region(op, 0)
	if err != nil {
		return nil, err
	}
	if body == nil || len(body.args) != 2*op.NumOperands() {
		return nil, fmt.Errorf("the region takes no pair of values for each operand")
	}
	out := &combiner{body: body, elementwise: true}
	for _, o := range b.Ops() {
		if !o.Traits().Has(ir.Elementwise) && !o.Traits().Has(ir.Terminator) && (o.NumOperands() > 0 || o.NumRegions() > 0) && !ir.Is[cudatile.Assume](o) {
			out.elementwise = false
		}
		for _, r := range o.Results() {
			out.orderMatters = out.orderMatters || formatOf(r) != nil && !exactOps[o.Code()]
		}
		if o.NumRegions() > 0 {
			out.orderMatters = true
		}
	}
	out.sequential = true
	if t := b.Terminator(); t != nil && t.NumOperands() == op.NumOperands() && len(b.Ops()) == 1+t.NumOperands() {
		out.sequential = false
		for j, v := range t.Operands() {
			o := v.DefiningOp()
			if o == nil || !associative(o) || o.Operand(0) != b.Arg(2*j) || o.Operand(1) != b.Arg(2*j+1) {
				out.sequential = true
			}
			if f, ok := foldOf(v, b.Arg(2*j), b.Arg(2*j+1)); ok {
				out.folds = append(out.folds, f)
			}
		}
	}
	if len(out.folds) < op.NumOperands() {
		out.folds = nil
	}
	return out, nil
}

// exactOps are the operations on floats that do not round.
var exactOps = map[ir.Code]bool{
	cudatile.OpMaxf: true, cudatile.OpMinf: true, cudatile.OpAbsf: true, cudatile.OpNegf: true, cudatile.OpCeil: true, cudatile.OpFloor: true,
	cudatile.OpSelect: true, cudatile.OpConstant: true, cudatile.OpBitcast: true, cudatile.OpAssume: true,
}

// associative tells whether an operation gives the same result for any grouping. A sum that promises not to wrap does not: a
// partial sum may wrap.
func associative(op *ir.Op) bool {
	switch op.Code() {
	case cudatile.OpMaxf, cudatile.OpMinf, cudatile.OpMaxi, cudatile.OpMini, cudatile.OpAndi, cudatile.OpOri, cudatile.OpXori:
		return true
	case cudatile.OpAddi, cudatile.OpMuli:
		return ir.Cast[cudatile.OverflowOp](op).Overflow() == def.NoOverflowFlag
	}
	return false
}

// foldOf recognises x + y and x * y, rounded to nearest.
func foldOf(v, x, y *ir.Value) (fold, bool) {
	op := v.DefiningOp()
	product := ir.Is[cudatile.Mulf](op)
	if !product && !ir.Is[cudatile.Addf](op) {
		return fold{}, false
	}
	a, b := op.Operand(0), op.Operand(1)
	if a == y {
		a, b = b, a
	}
	how := arithmeticOf(op)
	return fold{how.f, product}, a == x && b == y && how.mode == def.RoundNearestEven && !how.ftz
}

// combine combines the prefixes with the next elements. Both have one element per lane.
func (c *combiner) combine(m *machine, prefixes, elements []*tile) ([]*tile, error) {
	lanes := len(elements[0].bits)
	if c.elementwise || lanes == 1 {
		return c.call(m, prefixes, elements, lanes)
	}
	out := make([]*tile, len(prefixes))
	for j := range out {
		out[j] = newTile(prefixes[j].typ, lanes)
	}
	for lane := range lanes {
		res, err := c.call(m, laneScalars(prefixes, lane), laneScalars(elements, lane), 1)
		if err != nil {
			return nil, err
		}
		for j, t := range res {
			out[j].bits[lane] = t.bits[0]
			if f := t.flag(0); f != 0 {
				out[j].mark(lane, f)
				out[j].why = cmp.Or(out[j].why, t.why)
			}
		}
	}
	return out, nil
}

// laneScalars are the elements of one lane, as scalars.
func laneScalars(ts []*tile, lane int) []*tile {
	out := make([]*tile, len(ts))
	for j, t := range ts {
		out[j] = newTile(t.typ, 1)
		out[j].bits[0] = t.bits[lane]
		if f := t.flag(lane); f != 0 {
			out[j].mark(0, f)
		}
	}
	return out
}

// call runs the region. The first argument of a pair is what came before, the second the next element: what NVIDIA's compiler does,
// though the specification has it the other way round.
func (c *combiner) call(m *machine, prefixes, elements []*tile, lanes int) ([]*tile, error) {
	for j := range elements {
		m.vals[c.body.args[2*j]] = prefixes[j]
		m.vals[c.body.args[2*j+1]] = elements[j]
	}
	op, outer := m.op, m.lanes
	m.lanes = lanes
	s, err := m.run(c.body)
	m.op, m.lanes = op, outer
	if err != nil {
		return nil, err
	}
	if s != yielded || len(m.out) != len(prefixes) {
		return nil, m.fail(Internal, "the region yields no value for each operand")
	}
	out := make([]*tile, len(prefixes))
	for j, v := range m.out {
		out[j] = v.(*tile)
		if len(out[j].bits) < lanes {
			out[j] = repeat(out[j], lanes)
		}
	}
	return out, nil
}

// accumulate combines the elements of every lane, in f64, rounded where they are kept: keep gets every prefix. The result is that
// of the whole lane. With ignoreInexact no result is marked inexact.
func (f fold) accumulate(t *tile, l axis, ignoreInexact bool, keep func(lane, k int, v uint64, flags uint8)) *tile {
	out := newTile(t.typ, l.lanes())
	for lane := range out.bits {
		sum, product := newSumExactness(), newProductExactness()
		var acc float64
		var v uint64
		var flags uint8
		i, step := l.at(lane, 0)-l.step(), l.step()
		for k := range l.n {
			i += step
			x := f.format.Decode(t.bits[i])
			flags |= t.flag(i)
			g := flags
			switch {
			case f.product && k > 0:
				acc = float64(acc * x)
			case k > 0:
				acc += x
			default:
				acc = x
			}
			switch {
			case ignoreInexact:
			case f.product:
				if product.add(x); k > 0 && !product.exact(f.format) {
					g |= inexact
				}
			default:
				if sum.add(x); k > 0 && !sum.exact(f.format) {
					g |= inexact
				}
			}
			if keep != nil || k == l.n-1 {
				v = f.format.Encode(acc, float.NearestEven)
			}
			if keep != nil {
				keep(lane, k, v, g)
			}
			if k == l.n-1 && g != 0 {
				out.mark(lane, g)
			}
		}
		out.bits[lane] = v
	}
	return out
}

// reduce combines along a dimension, first element first. The identities are never combined: the combination of nothing
// does not occur, and files hold wrong ones.
func reduce(c *compiler, op *ir.Op) (action, error) {
	return aggregate(c, op, false, func(m *machine, comb *combiner, l axis, in []*tile) ([]*tile, error) {
		if !comb.sequential {
			return comb.tree(m, l, in)
		}
		accs := make([]*tile, len(in))
		for j, t := range in {
			if comb.folds != nil {
				accs[j] = comb.folds[j].accumulate(t, l, m.ignoreInexact, nil)
			} else {
				accs[j] = l.get(t, 0)
			}
		}
		err := comb.foldRest(m, l, in, accs, nil)
		if comb.folds == nil && comb.orderMatters && l.n > 1 && !m.ignoreInexact {
			for j, t := range accs {
				accs[j] = t.marked(inexact)
			}
		}
		return accs, err
	})
}

// tree combines neighbours of every lane, all at once, then their results, until one is left: a tree reduction.
func (c *combiner) tree(m *machine, l axis, in []*tile) ([]*tile, error) {
	for l.n > 1 {
		half := axis{l.outer, l.n / 2, l.inner, false}
		var sides [2][]*tile
		for side := range sides {
			for _, t := range in {
				to := newTile(t.typ, half.lanes()*half.n)
				if l.inner == 1 {
					for i := range to.bits {
						to.bits[i] = t.bits[2*i+side]
					}
				}
				for row := range half.outer * half.n { // a run of lanes from each second row of the tile
					if l.inner == 1 && t.flags == nil {
						break
					}
					i, at := (2*row+side)*l.inner, row*l.inner
					copy(to.bits[at:][:l.inner], t.bits[i:])
					for k := range l.inner {
						if f := t.flag(i + k); f != 0 {
							to.mark(at+k, f)
						}
					}
				}
				sides[side] = append(sides[side], to)
			}
		}
		out, err := c.call(m, sides[0], sides[1], half.lanes()*half.n)
		if err != nil {
			return nil, err
		}
		l, in = half, out
	}
	return in, nil
}

// scan keeps every prefix, from the first element or, reversed, from the last.
func scan(c *compiler, op *ir.Op) (action, error) {
	return aggregate(c, op, ir.Cast[cudatile.Scan](op).Reverse(), func(m *machine, comb *combiner, l axis, in []*tile) ([]*tile, error) {
		outs, accs := make([]*tile, len(in)), make([]*tile, len(in))
		for j, t := range in {
			out := newTile(t.typ, len(t.bits))
			outs[j] = out
			if comb.folds != nil {
				comb.folds[j].accumulate(t, l, m.ignoreInexact, func(lane, k int, v uint64, f uint8) {
					i := l.at(lane, k)
					if out.bits[i] = v; f != 0 {
						out.mark(i, f)
					}
				})
				continue
			}
			accs[j] = l.get(t, 0)
			l.put(out, 0, accs[j])
		}
		return outs, comb.foldRest(m, l, in, accs, func(k int) {
			for j, t := range accs {
				if comb.orderMatters && !m.ignoreInexact {
					t = t.marked(inexact)
				}
				l.put(outs[j], k, t)
			}
		})
	})
}

// aggregate is the rule of reduce and scan; do is what differs.
func aggregate(c *compiler, op *ir.Op, reverse bool, do func(*machine, *combiner, axis, []*tile) ([]*tile, error)) (action, error) {
	comb, err := combinerOf(c, op)
	if err != nil {
		return nil, err
	}
	args, results := c.slotsOf(op.Operands()), c.slotsOf(op.Results())
	l := axisOf(typeOf(op.Operand(0)).Shape, int(ir.Cast[cudatile.AggregateOp](op).Dim()), reverse)
	return func(m *machine) (signal, error) {
		in := make([]*tile, len(args))
		for j, a := range args {
			in[j] = m.tile(a)
		}
		outs, err := do(m, comb, l, in)
		if err != nil {
			return 0, err
		}
		for j, t := range outs {
			m.vals[results[j]] = &tile{typ: typeOf(op.Result(j)), bits: t.bits, flags: t.flags, why: t.why}
		}
		return next, nil
	}, nil
}

// foldRest combines the elements after the first into accs, one after the other, and calls after with each.
func (c *combiner) foldRest(m *machine, l axis, in, accs []*tile, after func(k int)) error {
	if c.folds != nil {
		return nil
	}
	for k := 1; k < l.n; k++ {
		elements := make([]*tile, len(in))
		for j, t := range in {
			elements[j] = l.get(t, k)
		}
		combined, err := c.combine(m, accs, elements)
		if err != nil {
			return err
		}
		copy(accs, combined)
		if after != nil {
			after(k)
		}
	}
	return nil
}
