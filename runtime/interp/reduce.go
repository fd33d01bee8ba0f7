package interp

import (
	"fmt"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// line is the place of a dimension in a tile: element k of lane (o, i) lies at (o*n + k)*inner + i, or, reversed, at
// (o*n + n-1-k)*inner + i.
//
//	shape  [ outer | n | inner ]      lanes = outer * inner
type line struct {
	outer, n, inner int
	reverse         bool
}

func lineOf(shape []int64, dim int, reverse bool) line {
	l := line{1, int(shape[dim]), 1, reverse}
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

func (l line) lanes() int { return l.outer * l.inner }

func (l line) at(lane, k int) int {
	if l.reverse {
		k = l.n - 1 - k
	}
	return (lane/l.inner*l.n+k)*l.inner + lane%l.inner
}

// step is how far the elements of a lane lie apart.
func (l line) step() int {
	if l.reverse {
		return -l.inner
	}
	return l.inner
}

// get is element k of every lane.
func (l line) get(t *tile, k int) *tile {
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
func (l line) put(to *tile, k int, from *tile) {
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
	body   *code
	simple []fold // of each operand, when the region is nothing but independent sums and products of floats
	// vector: the region may run for all lanes at once. rounds: its result may depend on the order of the elements.
	vector, rounds bool
	// ordered is false when the region is nothing but one associative operation on each pair: any grouping of the elements will do.
	ordered bool
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
	out := &combiner{body: body, vector: true}
	for _, o := range b.Ops() {
		if !o.Traits().Has(ir.Elementwise) && !o.Traits().Has(ir.Terminator) && o.NumOperands() > 0 && !ir.Is[cudatile.Assume](o) {
			out.vector = false
		}
		for _, r := range o.Results() {
			out.rounds = out.rounds || formatOf(r) != nil && !exactOps[o.Code()]
		}
		if o.NumRegions() > 0 {
			out.rounds = true
		}
	}
	out.ordered = true
	if t := b.Terminator(); t != nil && t.NumOperands() == op.NumOperands() && len(b.Ops()) == 1+t.NumOperands() {
		out.ordered = false
		for j, v := range t.Operands() {
			o := v.DefiningOp()
			if o == nil || !associative(o) || o.Operand(0) != b.Arg(2*j) || o.Operand(1) != b.Arg(2*j+1) {
				out.ordered = true
			}
			if f, ok := foldOf(v, b.Arg(2*j), b.Arg(2*j+1)); ok {
				out.simple = append(out.simple, f)
			}
		}
	}
	if len(out.simple) < op.NumOperands() {
		out.simple = nil
	}
	return out, nil
}

// exactOps make floats without rounding.
var exactOps = map[ir.Code]bool{
	cudatile.OpMaxf: true, cudatile.OpMinf: true, cudatile.OpAbsf: true, cudatile.OpNegf: true, cudatile.OpCeil: true, cudatile.OpFloor: true,
	cudatile.OpSelect: true, cudatile.OpConstant: true, cudatile.OpBitcast: true, cudatile.OpAssume: true,
}

// associative tells whether an operation gives the same whatever is combined first. A sum that promises not to wrap does not: a part of it
// may wrap.
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

// step combines the prefixes with the next elements. Both have one element per lane.
func (c *combiner) step(m *machine, prefixes, elements []*tile) ([]*tile, error) {
	lanes := len(elements[0].bits)
	if c.vector || lanes == 1 {
		return c.call(m, prefixes, elements, lanes)
	}
	out := make([]*tile, len(prefixes))
	for j := range out {
		out[j] = newTile(prefixes[j].typ, lanes)
	}
	for lane := range lanes {
		res, err := c.call(m, pick(prefixes, lane), pick(elements, lane), 1)
		if err != nil {
			return nil, err
		}
		for j, t := range res {
			out[j].bits[lane] = t.bits[0]
			if f := t.flag(0); f != 0 {
				out[j].mark(lane, f)
			}
		}
	}
	return out, nil
}

// pick makes scalars of one lane.
func pick(ts []*tile, lane int) []*tile {
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

// along combines the elements of every lane, in f64, rounded where they are kept: keep gets every prefix. The result is
// that of the whole lane. With loose, nobody asks what is inexact.
func (f fold) along(t *tile, l line, loose bool, keep func(lane, k int, v uint64, flags uint8)) *tile {
	out := newTile(t.typ, l.lanes())
	for lane := range out.bits {
		sum, product := newReach(), newSpan()
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
			case loose:
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
	return along(c, op, false, func(m *machine, comb *combiner, l line, in []*tile) ([]*tile, error) {
		if !comb.ordered {
			return comb.pairs(m, l, in)
		}
		accs := make([]*tile, len(in))
		for j, t := range in {
			if comb.simple != nil {
				accs[j] = comb.simple[j].along(t, l, m.loose, nil)
			} else {
				accs[j] = l.get(t, 0)
			}
		}
		err := comb.rest(m, l, in, accs, nil)
		if comb.simple == nil && comb.rounds && l.n > 1 && !m.loose {
			for j, t := range accs {
				accs[j] = t.marked(inexact)
			}
		}
		return accs, err
	})
}

// pairs combines neighbours of every lane, all at once, then their results, until one is left.
func (c *combiner) pairs(m *machine, l line, in []*tile) ([]*tile, error) {
	for l.n > 1 {
		half := line{l.outer, l.n / 2, l.inner, false}
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
	return along(c, op, ir.Cast[cudatile.Scan](op).Reverse(), func(m *machine, comb *combiner, l line, in []*tile) ([]*tile, error) {
		outs, accs := make([]*tile, len(in)), make([]*tile, len(in))
		for j, t := range in {
			out := newTile(t.typ, len(t.bits))
			outs[j] = out
			if comb.simple != nil {
				comb.simple[j].along(t, l, m.loose, func(lane, k int, v uint64, f uint8) {
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
		return outs, comb.rest(m, l, in, accs, func(k int) {
			for j, t := range accs {
				if comb.rounds && !m.loose {
					t = t.marked(inexact)
				}
				l.put(outs[j], k, t)
			}
		})
	})
}

// along is what reduce and scan share.
func along(c *compiler, op *ir.Op, reverse bool, do func(*machine, *combiner, line, []*tile) ([]*tile, error)) (action, error) {
	comb, err := combinerOf(c, op)
	if err != nil {
		return nil, err
	}
	args, results := c.slotsOf(op.Operands()), c.slotsOf(op.Results())
	l := lineOf(typeOf(op.Operand(0)).Shape, int(ir.Cast[cudatile.AggregateOp](op).Dim()), reverse)
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
			m.vals[results[j]] = &tile{typ: typeOf(op.Result(j)), bits: t.bits, flags: t.flags}
		}
		return next, nil
	}, nil
}

// rest combines the elements after the first into accs, one after the other, and says so after each.
func (c *combiner) rest(m *machine, l line, in, accs []*tile, after func(k int)) error {
	if c.simple != nil {
		return nil
	}
	for k := 1; k < l.n; k++ {
		elements := make([]*tile, len(in))
		for j, t := range in {
			elements[j] = l.get(t, k)
		}
		combined, err := c.step(m, accs, elements)
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
