package cleanup

import (
	"slices"

	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/pass"
)

// GuardMasks puts the masks of a loop with products behind branches: masks that compare coordinates, which are computed only in iterations where they are
// not uniform. In causal attention most tiles are visible as a whole.
//
//	%m = cmpi greater_than %columns, %rows         %free = the last column <= the first row
//	%x = select %m, %low, %scores            =>    %x = if %free { yield %scores }
//	                                                    else { %m = cmpi ..; %y = select %m, ..; yield %y }
//
// A sum to which a select of two constants is added, one of them zero, is guarded with the select: where the mask is uniform, zero is added.
//
// A loop that continues another one without masks is left as it is: the frontend has split off the iterations that need the mask.
func GuardMasks(s *pass.State) error {
	for _, entry := range s.Entries() {
		var loops []*ir.Op
		plain := map[*ir.Op]bool{} // loops with a product and, as far as is known, without masks
		s.Walk(entry, ir.PostOrder, func(op *ir.Op) {
			if _, loop := ir.LoopOf(op); loop && slices.ContainsFunc(op.Body().Ops(), tileaa.IsProduct) {
				loops = append(loops, op)
				plain[op] = true
			}
		})
		if len(loops) == 0 {
			continue
		}
		known := facts.New(s.Ctx, entry)
		for _, op := range loops {
			g := &maskGuards{s: s, facts: known, block: op.Body(), uniform: map[*ir.Value][2]*ir.Value{}, ranges: map[*ir.Value]linearRange{}}
			if slices.ContainsFunc(op.Operands(), func(v *ir.Value) bool { return plain[v.DefiningOp()] }) {
				continue
			}
			for _, o := range op.Body().Ops() {
				s.Step()
				if sel, ok := ir.As[tileaa.Select](o); ok && g.guard(sel) {
					plain[op] = false
				}
			}
		}
	}
	return nil
}

// maskGuards is the state of the pass for the body of one loop.
type maskGuards struct {
	s       *pass.State
	facts   *facts.Facts
	block   *ir.Block
	b       *ir.Builder
	uniform map[*ir.Value][2]*ir.Value // cache of uniformTests
	ranges  map[*ir.Value]linearRange  // cache of linearRange
}

// minMaskedElements is the size of a tile, in elements, from which on a branch costs less than its mask.
const minMaskedElements = 2048

// guard puts a select behind a branch, if a scalar test can tell that the mask selects the arm that is no constant everywhere.
func (g *maskGuards) guard(sel tileaa.Select) (guarded bool) {
	t := tileaa.AsTile(sel.Result())
	if t.NumElements() < minMaskedElements || !tileaa.IsRanked(sel.Cond()) || sel.Cond().ParentBlock() != g.block {
		return false
	}
	members, ok := g.maskSlice(sel.Cond())
	if !ok {
		return false
	}
	g.b = ir.NewBuilder(g.s.Ctx).Before(sel.Op)
	g.b.Loc = sel.Op.Loc()
	_, constTrue := tileaa.SplatValue(sel.TrueValue())
	_, constFalse := tileaa.SplatValue(sel.FalseValue())
	switch {
	case constTrue && constFalse:
		return g.guardSum(sel, members)
	case constTrue != constFalse:
		all := 0 // the value of the mask that selects the arm that is no constant
		if constFalse {
			all = 1
		}
		if uniform := g.uniformTests(sel.Cond())[all]; uniform != nil {
			kept := []*ir.Value{sel.FalseValue(), sel.TrueValue()}[all]
			g.branch(sel.Op, append(members, sel.Op), uniform, func(*ir.Builder) *ir.Value { return kept })
			return true
		}
	}
	return false
}

// guardSum guards a select of two constants together with the sum that it is added to.
func (g *maskGuards) guardSum(sel tileaa.Select, members []*ir.Op) (guarded bool) {
	if !sel.Result().HasOneUse() {
		return false
	}
	use := sel.Result().FirstUse()
	sum, ok := ir.As[tileaa.Addf](use.Owner())
	if !ok || sum.Op.Block() != g.block {
		return false
	}
	for all, arm := range []*ir.Value{sel.FalseValue(), sel.TrueValue()} {
		if bits, _ := tileaa.SplatValue(arm); bits != 0 {
			continue
		}
		uniform := g.uniformTests(sel.Cond())[all]
		if uniform == nil {
			continue
		}
		g.branch(sum.Op, append(members, sel.Op, sum.Op), uniform, func(b *ir.Builder) *ir.Value {
			plain := b.Clone(sum.Op, ir.Mapping{})
			plain.SetOperand(use.Index(), arm)
			return plain.Result(0)
		})
		return true
	}
	return false
}

// branch replaces op, the last of members, by an if: where uniform holds it yields what plain makes, else it runs copies of members.
func (g *maskGuards) branch(op *ir.Op, members []*ir.Op, uniform *ir.Value, plain func(b *ir.Builder) *ir.Value) {
	g.b.Before(op)
	either := tileaa.NewIf(g.b, ir.TypesOf(op.Results()), uniform)
	op.Result(0).ReplaceAllUsesWith(either.Op.Result(0))
	g.b.AtEnd(either.Op.Region(0).AddBlock())
	tileaa.NewYield(g.b, []*ir.Value{plain(g.b)})
	g.b.AtEnd(either.Op.Region(1).AddBlock())
	m := ir.Mapping{}
	for _, o := range members {
		g.b.Clone(o, m)
	}
	tileaa.NewYield(g.b, []*ir.Value{m.Lookup(op.Result(0))})
	op.Erase()
}

// maxMaskOps bounds the operations that compute a mask: each guard copies them.
const maxMaskOps = 32

// maskSlice is the backward slice of a mask within the block, in order: the integer tiles from which it is computed. ok is false if anything but
// selects uses the mask.
func (g *maskGuards) maskSlice(mask *ir.Value) (members []*ir.Op, ok bool) {
	for u := mask.FirstUse(); u != nil; u = u.Next() {
		if !ir.Is[tileaa.Select](u.Owner()) || u.Index() != 0 {
			return nil, false
		}
	}
	has := map[*ir.Op]bool{}
	var add func(v *ir.Value)
	add = func(v *ir.Value) {
		op := v.DefiningOp()
		if op == nil || op.Block() != g.block || has[op] || len(members) > maxMaskOps || !tileaa.IsRanked(v) || op.NumRegions() > 0 ||
			!op.Traits().Has(ir.Pure) || !ir.IsInt(tileaa.AsTile(v).Elem) {
			return
		}
		has[op] = true
		for _, o := range op.Operands() {
			add(o)
		}
		members = append(members, op)
	}
	add(mask)
	return members, len(members) > 0 && len(members) <= maxMaskOps
}

// uniformTests are two scalar conditions on a mask: no element is set, all elements are set. They are sufficient, not necessary; nil is unknown.
func (g *maskGuards) uniformTests(mask *ir.Value) [2]*ir.Value {
	f, ok := g.uniform[mask]
	if !ok {
		f = g.findUniformTests(mask)
		g.uniform[mask] = f
	}
	return f
}

func (g *maskGuards) findUniformTests(mask *ir.Value) (uniform [2]*ir.Value) {
	if x, ok := tileaa.SplatInt(mask); ok {
		uniform[x&1] = tileaa.Const(g.b, tileaa.Tile(g.b.Ctx, g.b.Ctx.Int(1)), 1)
		return uniform
	}
	op := mask.DefiningOp()
	if op == nil {
		return uniform
	}
	switch op.Code() {
	case tileaa.OpBroadcast, tileaa.OpReshape, tileaa.OpPermute:
		return g.uniformTests(op.Operand(0))
	case tileaa.OpAndi:
		x, y := g.uniformTests(op.Operand(0)), g.uniformTests(op.Operand(1))
		return [2]*ir.Value{g.or(x[0], y[0]), g.and(x[1], y[1])}
	case tileaa.OpOri:
		x, y := g.uniformTests(op.Operand(0)), g.uniformTests(op.Operand(1))
		return [2]*ir.Value{g.and(x[0], y[0]), g.or(x[1], y[1])}
	case tileaa.OpCmpi:
		return g.fromCompare(ir.Cast[tileaa.Cmpi](op))
	}
	return uniform
}

// or is the disjunction of sufficient conditions: of an unknown one it is the other.
func (g *maskGuards) or(x, y *ir.Value) *ir.Value {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return tileaa.NewOri(g.b, x, y).Result()
}

// and is the conjunction of sufficient conditions: unknown if one of them is.
func (g *maskGuards) and(x, y *ir.Value) *ir.Value {
	if x == nil || y == nil {
		return nil
	}
	return tileaa.NewAndi(g.b, x, y).Result()
}

// fromCompare finds the conditions for a comparison x < y: it is true everywhere where the largest x is below the smallest y, false everywhere where
// the smallest x is not below the largest y. They are computed in 64 bits and hold only where no coordinate wraps.
func (g *maskGuards) fromCompare(c tileaa.Cmpi) (uniform [2]*ir.Value) {
	small, large, inclusive, ok := tileaa.AsLess(c)
	if !ok {
		return uniform
	}
	if bits := tileaa.ElemBits(tileaa.AsTile(small).Elem); bits < 8 || bits > 32 {
		return uniform
	}
	x, y := g.linearRange(small), g.linearRange(large)
	if !x.known || !y.known {
		return uniform
	}
	signed := c.Signedness() == def.Signed
	noWrap := append(g.noWrapTests(x, small, signed), g.noWrapTests(y, large, signed)...)
	whole, none := def.PredLess, def.PredGreaterEqual
	if inclusive {
		whole, none = def.PredLessEqual, def.PredGreater
	}
	if planted.On("mask-guard-off-by-one") {
		x.most--
	}
	uniform[1] = g.compare(g.materialize(x, x.most), g.materialize(y, y.least), whole)
	uniform[0] = g.compare(g.materialize(x, x.least), g.materialize(y, y.most), none)
	for _, f := range noWrap {
		uniform[0], uniform[1] = g.and(uniform[0], f), g.and(uniform[1], f)
	}
	return uniform
}

func (g *maskGuards) compare(x, y *ir.Value, p def.Predicate) *ir.Value {
	return tileaa.NewCmpi(g.b, tileaa.Tile(g.b.Ctx, g.b.Ctx.Int(1)), x, y, def.Signed, tileaa.CmpiOptions{Predicate: p}).Result()
}

// linearRange bounds the elements of an integer tile, modulo 2^width: the sum of values times factors, which is the same for all elements, plus something
// in [least, most].
type linearRange struct {
	values      []*ir.Value
	factors     []int64
	least, most int64
	known       bool
}

// plus is x + y * factor.
func (x linearRange) plus(y linearRange, factor int64) linearRange {
	x.values, x.factors = slices.Concat(x.values, y.values), slices.Clone(x.factors)
	for _, f := range y.factors {
		x.factors = append(x.factors, f*factor)
	}
	low, high := y.least*factor, y.most*factor
	x.least, x.most = x.least+min(low, high), x.most+max(low, high)
	return x
}

// maxTerms bounds the number of values of a linearRange, maxMagnitude its factors and constants: sums of all of them fit 64 bits.
const (
	maxTerms     = 8
	maxMagnitude = 1 << 24
)

func (x linearRange) inLimits() bool {
	n := max(-x.least, x.most)
	for _, f := range x.factors {
		n = max(n, f, -f)
	}
	return len(x.values) <= maxTerms && n <= maxMagnitude
}

// linearRange is the linear range of a value, cached: a sum may add the same value twice.
func (g *maskGuards) linearRange(v *ir.Value) linearRange {
	x, done := g.ranges[v]
	if !done {
		g.s.Step()
		x = g.decompose(v)
		g.ranges[v] = x
	}
	return x
}

func (g *maskGuards) decompose(v *ir.Value) linearRange {
	if n, constant := tileaa.SplatInt(v); constant {
		x := linearRange{least: n, most: n}
		x.known = x.inLimits()
		return x
	}
	if !tileaa.IsRanked(v) {
		return linearRange{values: []*ir.Value{v}, factors: []int64{1}, known: true}
	}
	op := v.DefiningOp()
	if op == nil {
		return g.rangeOnly(v)
	}
	switch op.Code() {
	case tileaa.OpSplat, tileaa.OpBroadcast, tileaa.OpReshape, tileaa.OpPermute, tileaa.OpAssume:
		return g.linearRange(op.Operand(0))
	case tileaa.OpAddi, tileaa.OpSubi:
		a, b, sign := g.linearRange(op.Operand(0)), g.linearRange(op.Operand(1)), int64(1)
		if op.Code() == tileaa.OpSubi {
			sign = -1
		}
		if x := a.plus(b, sign); a.known && b.known && x.inLimits() {
			return x
		}
	}
	return g.rangeOnly(v)
}

// rangeOnly is the linear range of a tile of which only the interval is known.
func (g *maskGuards) rangeOnly(v *ir.Value) linearRange {
	f := g.facts.Of(v)
	return linearRange{least: f.SMin, most: f.SMax, known: f.Width > 0 && f.SMin > -maxMagnitude && f.SMax < maxMagnitude}
}

// materialize computes the linear part of x plus a constant, in 64 bits.
func (g *maskGuards) materialize(x linearRange, constant int64) *ir.Value {
	wide := tileaa.Tile(g.b.Ctx, g.b.Ctx.Int(64))
	var sum *ir.Value
	add := func(v *ir.Value) {
		if sum != nil {
			v = tileaa.NewAddi(g.b, sum, v, tileaa.AddiOptions{}).Result()
		}
		sum = v
	}
	for i, v := range x.values {
		term := tileaa.NewExti(g.b, wide, v, def.Signed).Result()
		if f := x.factors[i]; f != 1 {
			term = tileaa.NewMuli(g.b, term, tileaa.Const(g.b, wide, f), tileaa.MuliOptions{}).Result()
		}
		add(term)
	}
	if constant != 0 || sum == nil {
		add(tileaa.Const(g.b, wide, constant))
	}
	return sum
}

// noWrapTests lists the conditions under which no element of a tile wraps in its type; empty where none can.
func (g *maskGuards) noWrapTests(x linearRange, tile *ir.Value, signed bool) (tests []*ir.Value) {
	width := tileaa.ElemBits(tileaa.AsTile(tile).Elem)
	low, high := int64(0), int64(1)<<width-1
	if signed {
		low, high = -1<<(width-1), 1<<(width-1)-1
	}
	least, most := x.least, x.most
	for i, v := range x.values {
		f := g.facts.Of(v)
		a, b := f.SMin*x.factors[i], f.SMax*x.factors[i]
		least, most = least+min(a, b), most+max(a, b)
	}
	wide := tileaa.Tile(g.b.Ctx, g.b.Ctx.Int(64))
	if least < low {
		tests = append(tests, g.compare(g.materialize(x, x.least), tileaa.Const(g.b, wide, low), def.PredGreaterEqual))
	}
	if most > high {
		tests = append(tests, g.compare(g.materialize(x, x.most), tileaa.Const(g.b, wide, high), def.PredLessEqual))
	}
	return tests
}
