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

// GuardMasks makes the masks of a loop with products, comparisons of coordinates, only in iterations in which they bite: in attention where a token does
// not see those behind it, most tiles are seen whole.
//
//	%m = cmpi greater_than %columns, %rows         %free = the last column <= the first row
//	%x = select %m, %low, %scores            =>    %x = if %free { yield %scores }
//	                                                    else { %m = cmpi ..; %y = select %m, ..; yield %y }
//
// What adds a select of two constants, of which one is zero, is guarded with it: where nothing is masked, zero is added.
//
// A loop that goes on where another one without masks has ended is left as it is: its frontend gave it the iterations in which they bite.
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
			g := &maskGuards{s: s, facts: known, block: op.Body(), free: map[*ir.Value][2]*ir.Value{}, parts: map[*ir.Value]coordinates{}}
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

// maskGuards is the work on the body of one loop.
type maskGuards struct {
	s     *pass.State
	facts *facts.Facts
	block *ir.Block
	b     *ir.Builder
	free  map[*ir.Value][2]*ir.Value // of a mask: numbers that say that no element is set, that all are; nil where nothing says so
	parts map[*ir.Value]coordinates  // of tiles that were taken apart
}

// fewestMasked is the elements of a tile from which on a branch costs less than its mask.
const fewestMasked = 2048

// guard puts a select behind a branch, if it can be said when the mask does not matter.
func (g *maskGuards) guard(sel tileaa.Select) (guarded bool) {
	t := tileaa.AsTile(sel.Result())
	if t.NumElements() < fewestMasked || !tileaa.IsRanked(sel.Cond()) || sel.Cond().ParentBlock() != g.block {
		return false
	}
	members, ok := g.maskOf(sel.Cond())
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
		all := 0 // the usual answer of all elements
		if constFalse {
			all = 1
		}
		if free := g.freeOf(sel.Cond())[all]; free != nil {
			kept := []*ir.Value{sel.FalseValue(), sel.TrueValue()}[all]
			g.branch(sel.Op, append(members, sel.Op), free, func(*ir.Builder) *ir.Value { return kept })
			return true
		}
	}
	return false
}

// guardSum guards the sum of something and one of two constants.
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
		free := g.freeOf(sel.Cond())[all]
		if free == nil {
			continue
		}
		g.branch(sum.Op, append(members, sel.Op, sum.Op), free, func(b *ir.Builder) *ir.Value {
			plain := b.Insert(b.Ctx.Clone(sum.Op, ir.Mapping{}))
			plain.SetOperand(use.Index(), arm)
			return plain.Result(0)
		})
		return true
	}
	return false
}

// branch makes the last of members in a branch that runs where free does not hold, with what it takes of the others; else what plain makes.
func (g *maskGuards) branch(op *ir.Op, members []*ir.Op, free *ir.Value, plain func(b *ir.Builder) *ir.Value) {
	g.b.Before(op)
	either := tileaa.NewIf(g.b, ir.TypesOf(op.Results()), free)
	op.Result(0).ReplaceAllUsesWith(either.Op.Result(0))
	g.b.AtEnd(either.Op.Region(0).AddBlock())
	tileaa.NewYield(g.b, []*ir.Value{plain(g.b)})
	g.b.AtEnd(either.Op.Region(1).AddBlock())
	m := ir.Mapping{}
	for _, o := range members {
		g.b.Insert(g.b.Ctx.Clone(o, m))
	}
	tileaa.NewYield(g.b, []*ir.Value{m.Lookup(op.Result(0))})
	op.Erase()
}

// longestMask bounds the operations of a mask: each guard has them again.
const longestMask = 32

// maskOf lists what computes a mask in the loop, in order, if nobody but selects takes the mask.
func (g *maskGuards) maskOf(mask *ir.Value) (members []*ir.Op, ok bool) {
	for u := mask.FirstUse(); u != nil; u = u.Next() {
		if !ir.Is[tileaa.Select](u.Owner()) || u.Index() != 0 {
			return nil, false
		}
	}
	has := map[*ir.Op]bool{}
	var add func(v *ir.Value)
	add = func(v *ir.Value) {
		op := v.DefiningOp()
		if op == nil || op.Block() != g.block || has[op] || len(members) > longestMask || !tileaa.IsRanked(v) || op.NumRegions() > 0 ||
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
	return members, len(members) > 0 && len(members) <= longestMask
}

// freeOf is numbers that say that no element of a mask is set, and that all are.
func (g *maskGuards) freeOf(mask *ir.Value) [2]*ir.Value {
	f, ok := g.free[mask]
	if !ok {
		f = g.decide(mask)
		g.free[mask] = f
	}
	return f
}

func (g *maskGuards) decide(mask *ir.Value) (free [2]*ir.Value) {
	if x, ok := tileaa.SplatInt(mask); ok {
		free[x&1] = tileaa.Const(g.b, tileaa.Tile(g.b.Ctx, g.b.Ctx.Int(1)), 1)
		return free
	}
	op := mask.DefiningOp()
	if op == nil {
		return free
	}
	switch op.Code() {
	case tileaa.OpBroadcast, tileaa.OpReshape, tileaa.OpPermute:
		return g.freeOf(op.Operand(0))
	case tileaa.OpAndi:
		x, y := g.freeOf(op.Operand(0)), g.freeOf(op.Operand(1))
		return [2]*ir.Value{g.either(x[0], y[0]), g.both(x[1], y[1])}
	case tileaa.OpOri:
		x, y := g.freeOf(op.Operand(0)), g.freeOf(op.Operand(1))
		return [2]*ir.Value{g.both(x[0], y[0]), g.either(x[1], y[1])}
	case tileaa.OpCmpi:
		return g.ofCompare(ir.Cast[tileaa.Cmpi](op))
	}
	return free
}

// either and both join what may be unknown.
func (g *maskGuards) either(x, y *ir.Value) *ir.Value {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return tileaa.NewOri(g.b, x, y).Result()
}

func (g *maskGuards) both(x, y *ir.Value) *ir.Value {
	if x == nil || y == nil {
		return nil
	}
	return tileaa.NewAndi(g.b, x, y).Result()
}

// ofCompare compares the ends of two tiles of coordinates, in 64 bits, where none of them wraps.
func (g *maskGuards) ofCompare(c tileaa.Cmpi) (free [2]*ir.Value) {
	small, large, inclusive, ok := tileaa.Below(c)
	if !ok {
		return free
	}
	if bits := tileaa.ElemBits(tileaa.AsTile(small).Elem); bits < 8 || bits > 32 {
		return free
	}
	x, y := g.coordinates(small), g.coordinates(large)
	if !x.known || !y.known {
		return free
	}
	signed := c.Signedness() == def.Signed
	fits := append(g.fits(x, small, signed), g.fits(y, large, signed)...)
	whole, none := def.PredLess, def.PredGreaterEqual
	if inclusive {
		whole, none = def.PredLessEqual, def.PredGreater
	}
	if planted.On("mask-guard-off-by-one") {
		x.most--
	}
	free[1] = g.compare(g.end(x, x.most), g.end(y, y.least), whole)
	free[0] = g.compare(g.end(x, x.least), g.end(y, y.most), none)
	for _, f := range fits {
		free[0], free[1] = g.both(free[0], f), g.both(free[1], f)
	}
	return free
}

func (g *maskGuards) compare(x, y *ir.Value, p def.Predicate) *ir.Value {
	return tileaa.NewCmpi(g.b, tileaa.Tile(g.b.Ctx, g.b.Ctx.Int(1)), x, y, def.Signed, tileaa.CmpiOptions{Predicate: p}).Result()
}

// coordinates are numbers of a tile modulo 2^width: the sum of values times factors, and least to most.
type coordinates struct {
	values      []*ir.Value
	factors     []int64
	least, most int64
	known       bool
}

// plus is the sum of coordinates and others times a factor.
func (x coordinates) plus(y coordinates, factor int64) coordinates {
	x.values, x.factors = slices.Concat(x.values, y.values), slices.Clone(x.factors)
	for _, f := range y.factors {
		x.factors = append(x.factors, f*factor)
	}
	low, high := y.least*factor, y.most*factor
	x.least, x.most = x.least+min(low, high), x.most+max(low, high)
	return x
}

// mostValues bounds the values of coordinates, mostNumber their factors and constants: sums of all fit 64 bits.
const (
	mostValues = 8
	mostNumber = 1 << 24
)

func (x coordinates) small() bool {
	n := max(-x.least, x.most)
	for _, f := range x.factors {
		n = max(n, f, -f)
	}
	return len(x.values) <= mostValues && n <= mostNumber
}

// coordinates takes a tile of numbers apart, once: a sum may add the same twice.
func (g *maskGuards) coordinates(v *ir.Value) coordinates {
	x, done := g.parts[v]
	if !done {
		g.s.Step()
		x = g.takeApart(v)
		g.parts[v] = x
	}
	return x
}

func (g *maskGuards) takeApart(v *ir.Value) coordinates {
	if n, constant := tileaa.SplatInt(v); constant {
		x := coordinates{least: n, most: n}
		x.known = x.small()
		return x
	}
	if !tileaa.IsRanked(v) {
		return coordinates{values: []*ir.Value{v}, factors: []int64{1}, known: true}
	}
	op := v.DefiningOp()
	if op == nil {
		return g.ranged(v)
	}
	switch op.Code() {
	case tileaa.OpSplat, tileaa.OpBroadcast, tileaa.OpReshape, tileaa.OpPermute, tileaa.OpAssume:
		return g.coordinates(op.Operand(0))
	case tileaa.OpAddi, tileaa.OpSubi:
		a, b, sign := g.coordinates(op.Operand(0)), g.coordinates(op.Operand(1)), int64(1)
		if op.Code() == tileaa.OpSubi {
			sign = -1
		}
		if x := a.plus(b, sign); a.known && b.known && x.small() {
			return x
		}
	}
	return g.ranged(v)
}

// ranged is a tile of which only the range is known.
func (g *maskGuards) ranged(v *ir.Value) coordinates {
	f := g.facts.Of(v)
	return coordinates{least: f.SMin, most: f.SMax, known: f.Width > 0 && f.SMin > -mostNumber && f.SMax < mostNumber}
}

// end is the sum of coordinates with a constant, in 64 bits.
func (g *maskGuards) end(x coordinates, constant int64) *ir.Value {
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

// fits lists what says that no coordinate of a tile is beyond its type; nothing where that is known.
func (g *maskGuards) fits(x coordinates, tile *ir.Value, signed bool) (tests []*ir.Value) {
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
		tests = append(tests, g.compare(g.end(x, x.least), tileaa.Const(g.b, wide, low), def.PredGreaterEqual))
	}
	if most > high {
		tests = append(tests, g.compare(g.end(x, x.most), tileaa.Const(g.b, wide, high), def.PredLessEqual))
	}
	return tests
}
