package nvvm

import (
	"slices"

	"tileiras/codegen/layout"
	"tileiras/codegen/planted"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/float"
)

func init() {
	register(ir.Table[lowering]{
		tileaa.OpReduce & ir.Place: reduce,
		tileaa.OpScan & ir.Place:   scan,
	})
}

// combine applies the region of a reduction to many pairs: what came before (the region's first argument of each pair) with what comes next,
// each one tile per operand, with any number of registers.
func (f *fn) combine(op *ir.Op, before, next []*tile) []*tile {
	if !oneByOne(op.Body()) {
		return f.combineAll(op, before, next)
	}
	uniform := f.divergent
	f.divergent = true
	n := next[0].len()
	regs := make([][]reg, len(next))
	for i := range n {
		for k, t := range f.combineAll(op, f.nth(before, i), f.nth(next, i)) {
			regs[k] = append(regs[k], f.reg(t, 0))
		}
	}
	f.divergent = uniform
	f.op("bar.warp.sync", con(kI32, fullMask)) // lanes may leave a loop at different times
	out := make([]*tile, len(next))
	for k, t := range next {
		out[k] = f.tileOf(t.elem, regs[k]...)
	}
	return out
}

// oneByOne reports whether a region must be lowered for each pair by itself: elements may go different ways through it, or it multiplies matrices of one
// element.
func oneByOne(region *ir.Block) bool {
	return slices.ContainsFunc(region.Ops(), func(op *ir.Op) bool { return op.NumRegions() > 0 || tileaa.IsProduct(op) })
}

// nth is a register of each tile.
func (f *fn) nth(tiles []*tile, i int) []*tile {
	out := make([]*tile, len(tiles))
	for k, t := range tiles {
		out[k] = f.pick(t, []int{min(i, t.len()-1)})
	}
	return out
}

// combineAll combines all pairs at once: a region of elementwise operations lowers as on tiles of that many registers.
func (f *fn) combineAll(op *ir.Op, before, next []*tile) []*tile {
	body := op.Body()
	for i := range before {
		f.tiles[body.Arg(2*i)], f.tiles[body.Arg(2*i+1)] = before[i], next[i]
	}
	for o := body.First(); o != nil; o = o.Next() {
		if o.Code() == tileaa.OpYield {
			out := make([]*tile, o.NumOperands())
			for i, v := range o.Operands() {
				out[i] = f.repeated(f.tileFor(v), next[0].len())
			}
			return out
		}
		f.lower(o)
	}
	f.bug("the combine region yields nothing")
	return nil
}

// repeated is a tile with n registers, of which a single one stands for all.
func (f *fn) repeated(t *tile, n int) *tile {
	if t.len() == n {
		return t
	}
	return f.tileOf(t.elem, slices.Repeat([]reg{f.reg(t, 0)}, n)...)
}

// commutes reports whether the combine region is one operation that is commutative: then the two lanes of a butterfly may each
// combine in their own order and still agree to the bit.
func commutes(op *ir.Op) bool {
	first := op.Body().First()
	return op.NumOperands() == 1 && first != nil && first.Traits().Has(ir.Commutative) && first.Next() != nil &&
		first.Next().Code() == tileaa.OpYield && first.NumOperands() == 2 && first.Operand(0) != first.Operand(1) &&
		first.Operand(0).IsArg() && first.Operand(1).IsArg() && first.Next().Operand(0) == first.Result(0)
}

// reduce combines along an axis that lies in registers and lanes: a tree over the register bits, on all rows at once, so that many
// chains run side by side; then one butterfly per lane bit.
//
//	registers   r0 r1 r2 r3      (r0+r2) (r1+r3)      ((r0+r2)+(r1+r3))
//	lanes       l <-> l^1, l <-> l^2, ...
func reduce(f *fn, op *ir.Op) {
	dim := int(ir.Cast[tileaa.DimOp](op).Dim())
	l := f.tileLayout(op.Operand(0))
	axis, ok := l.Reduce(dim)
	if !ok || len(axis.Warp) > 0 || len(axis.Block) > 0 {
		f.bug("the axis of %s does not lie in registers and lanes", l)
	}
	vals := make([]*tile, op.NumOperands())
	for i, v := range op.Operands() {
		vals[i] = f.tileFor(v)
	}
	// The rows: registers with no axis bit set, replicas left out.
	var mask, free int
	for _, b := range axis.Reg {
		mask |= 1 << b
	}
	free = int(l.FreeMask(layout.Reg))
	live := func(skip int) []int {
		var out []int
		for r := range l.Regs() {
			if r&(skip|free) == 0 {
				out = append(out, r)
			}
		}
		return out
	}
	// Highest register bits first: packed words split between words before they split inside one.
	at := live(0)
	for i := range vals {
		vals[i] = f.pick(vals[i], at)
	}
	bits := slices.Clone(axis.Reg)
	slices.Sort(bits)
	slices.Reverse(bits)
	gone := 0
	if f.hasThreeInputMinMax(op) {
		vals[0], gone, bits = f.combineThrees(op, vals[0], at, mask), mask, nil
	}
	for _, b := range bits {
		vals = f.halves(op, vals, at, 1<<b)
		gone |= 1 << b
		at = live(gone)
	}
	commutative := commutes(op) || ir.Cast[tileaa.Reduce](op).Commutative()
	for _, b := range axis.Lane {
		vals = f.butterfly(op, vals, b, commutative)
	}
	f.reduced(op, l, dim, live(gone), vals)
}

// halves combines registers that differ in a bit of their numbers.
func (f *fn) halves(op *ir.Op, vals []*tile, at []int, bit int) []*tile {
	var low, high []int
	for i, r := range at {
		if r&bit == 0 {
			low, high = append(low, i), append(high, slices.Index(at, r|bit))
		}
	}
	x, y := make([]*tile, len(vals)), make([]*tile, len(vals))
	for i, v := range vals {
		x[i], y[i] = f.pick(v, low), f.pick(v, high)
	}
	return f.combine(op, x, y)
}

// hasThreeInputMinMax reports whether a reduction is a minimum or maximum of f32, and the target has one of three inputs.
func (f *fn) hasThreeInputMinMax(op *ir.Op) bool {
	first := op.Body().First()
	return target.FloatThree.On(f.target) && commutes(op) && (first.Code() == tileaa.OpMaxf || first.Code() == tileaa.OpMinf) &&
		ir.IsFloat(tileaa.AsTile(op.Operand(0)).Elem, float.F32)
}

// combineThrees reduces the registers of each row, which the bits of a mask number, three at a time: the running result and two further
// ones.
func (f *fn) combineThrees(op *ir.Op, v *tile, at []int, mask int) *tile {
	var places []int // of a row
	regs := map[int][]int{}
	for i, r := range at {
		p := r & mask
		if regs[p] == nil {
			places = append(places, p)
		}
		regs[p] = append(regs[p], i)
	}
	var columns []*tile
	for _, p := range places {
		columns = append(columns, f.pick(v, regs[p]))
	}
	pair := func(x, y *tile) *tile { return f.combine(op, []*tile{x}, []*tile{y})[0] }
	for len(columns) > 1 {
		var next []*tile
		for ; len(columns) > 2; columns = columns[3:] {
			next = append(next, pair(pair(columns[0], columns[1]), columns[2]))
		}
		if len(columns) == 2 {
			columns = []*tile{pair(columns[0], columns[1])}
		}
		columns = append(next, columns...)
	}
	return columns[0]
}

// butterfly combines with the lane whose number differs in bit b. The lane with bit 0 holds what comes before on both sides.
func (f *fn) butterfly(op *ir.Op, vals []*tile, b int, commutative bool) []*tile {
	mine, other := vals, make([]*tile, len(vals))
	for i, v := range vals {
		regs := f.carrier(v)
		moved := make([]reg, len(regs))
		for j, r := range regs {
			moved[j] = f.shfl("bfly", r, i32(1<<b))
		}
		other[i] = f.carried(v.elem, v.len(), moved)
	}
	if commutative || planted.On("unordered-butterfly") {
		return f.combine(op, mine, other)
	}
	upper := f.icmp(ne, f.and(f.thread(), i32(1<<b)), i32(0))
	before, next := make([]*tile, len(vals)), make([]*tile, len(vals))
	for i := range vals {
		a, o := f.carrier(mine[i]), f.carrier(other[i])
		hi, lo := make([]reg, len(a)), make([]reg, len(a))
		for j := range a {
			hi[j], lo[j] = f.sel(upper, a[j], o[j]), f.sel(upper, o[j], a[j])
		}
		before[i], next[i] = f.carried(mine[i].elem, mine[i].len(), lo), f.carried(mine[i].elem, mine[i].len(), hi)
	}
	return f.combine(op, before, next)
}

// reduced gives the results their layout, that of the source without the axis: rows are found by the elements they hold.
func (f *fn) reduced(op *ir.Op, l layout.Layout, dim int, rows []int, vals []*tile) {
	without := l.RemoveDim(dim)
	for i, v := range op.Results() {
		t := tileaa.AsTile(v)
		n := numRegs(t)
		if n == 1 && len(rows) == 1 {
			f.tiles[v] = f.tileOf(t.Elem, f.reg(vals[i], 0))
			continue
		}
		to := layoutOf(t, f.warps)
		regs := make([]int, n)
		for r := range regs {
			want := to.Apply(r, 0, 0, 0)
			regs[r] = slices.IndexFunc(rows, func(s int) bool { return without.Apply(s, 0, 0, 0) == want })
			if regs[r] < 0 {
				f.bug("register %d of the result is in no row of %s", r, l)
			}
		}
		f.tiles[v] = f.pick(vals[i], regs)
	}
}

// scan is inclusive: serial over the axis bits in registers, then the totals of the lanes by a ladder of shfl.up, then every element
// takes the total of all lanes before its own. Reverse runs from the other end: the same with registers and lanes complemented.
func scan(f *fn, op *ir.Op) {
	dim := int(ir.Cast[tileaa.DimOp](op).Dim())
	l := f.tileLayout(op.Operand(0))
	axis, ok := l.Scan(dim)
	if !ok || len(axis.Warp) > 0 || len(axis.Block) > 0 {
		f.bug("the axis of %s is not ordered in registers and lanes", l)
	}
	reverse := ir.Cast[tileaa.Scan](op).Reverse()
	vals := make([]*tile, op.NumOperands())
	for i, v := range op.Operands() {
		vals[i] = f.tileFor(v)
	}
	// Registers by place on the axis: rows[p] lists those with place p, in the same order of rows for every p.
	free := int(l.FreeMask(layout.Reg))
	places := 1 << len(axis.Reg)
	rows := make([][]int, places)
	for r := range l.Regs() {
		if r&free != 0 {
			continue
		}
		p := 0
		for i, b := range axis.Reg {
			p |= r >> b & 1 << i
		}
		if reverse {
			p = places - 1 - p
		}
		rows[p] = append(rows[p], r)
	}
	prefix := make([][]*tile, places) // by place, by operand
	for p := range places {
		x := make([]*tile, len(vals))
		for i, v := range vals {
			x[i] = f.pick(v, rows[p])
		}
		if p > 0 {
			x = f.combine(op, prefix[p-1], x)
		}
		prefix[p] = x
	}
	if len(axis.Lane) > 0 {
		f.scanLanes(op, axis.Lane, reverse, prefix)
	}
	for i, v := range op.Results() {
		out := f.newTile(vals[i].elem, vals[i].len())
		for p := range places {
			for j, r := range rows[p] {
				out.regs[r] = f.reg(prefix[p][i], j)
			}
		}
		f.fillReplicas(out, l)
		f.tiles[v] = out
	}
}

// scanLanes adds to every element what the lanes before hold. With the lane's place on the axis q = its bits, low first, step s
// takes the total of place q - 2^s, which is another lane by an XOR or a distance: a shfl.idx of the lane with that place.
func (f *fn) scanLanes(op *ir.Op, bits []int, reverse bool, prefix [][]*tile) {
	last := prefix[len(prefix)-1]
	cols := make([]uint64, layout.LaneBits+f.warpBits())
	others := int64(31)
	for i, b := range bits {
		cols[b] = 1 << i
		others &^= 1 << b
	}
	q := f.linear(cols)
	size := int64(1) << len(bits)
	if reverse {
		q = f.sub(i32(size-1), q)
	}
	// laneAt is the lane of this thread's row with place p.
	laneAt := func(p reg) reg {
		if reverse {
			p = f.sub(i32(size-1), p)
		}
		out := f.and(f.lane(), i32(others))
		for i, b := range bits {
			out = f.or(out, f.shl(f.and(f.lshr(p, i), i32(1)), b))
		}
		return out
	}
	total := last
	for s := range bits {
		distance := i32(1 << s)
		inside := f.icmp(sge, q, distance)
		from := laneAt(f.sel(inside, f.sub(q, distance), q))
		before := f.fromLane(total, from)
		total = f.choose(inside, f.combine(op, before, total), total)
	}
	// The total of the lanes strictly before.
	inside := f.icmp(sge, q, i32(1))
	before := f.fromLane(total, laneAt(f.sel(inside, f.sub(q, i32(1)), q)))
	for p := range prefix {
		if p == len(prefix)-1 {
			prefix[p] = total
			continue
		}
		prefix[p] = f.choose(inside, f.combine(op, before, prefix[p]), prefix[p])
	}
}

// fromLane is what another lane holds of the values.
func (f *fn) fromLane(vals []*tile, lane reg) []*tile {
	out := make([]*tile, len(vals))
	for i, v := range vals {
		regs := f.carrier(v)
		m := make([]reg, len(regs))
		for j, r := range regs {
			m[j] = f.shfl("idx", r, lane)
		}
		out[i] = f.carried(v.elem, v.len(), m)
	}
	return out
}

// choose is x where c holds, else y.
func (f *fn) choose(c reg, x, y []*tile) []*tile {
	out := make([]*tile, len(x))
	for i := range x {
		a, b := f.carrier(x[i]), f.carrier(y[i])
		m := make([]reg, len(a))
		for j := range a {
			m[j] = f.sel(c, a[j], b[j])
		}
		out[i] = f.carried(x[i].elem, x[i].len(), m)
	}
	return out
}
