package cleanup

import (
	"math/bits"
	"slices"

	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/pass"
)

// EliminateRangeChecks is inductive range check elimination. It splits the iteration space of an innermost loop without products: in the main loop no bounds
// check of an array, and no comparison of the induction variable with an invariant bound, can fail, so they are dropped; the remainder loop keeps them.
// (Bodik, Gupta and Sarkar, "ABCD", PLDI 2000, name the problem.)
//
//	for %i = %lo to %hi {                         %n = %extent / 1024; %m = max(%lo, min(%hi, %n))
//	  %b = block_tile %x[%i]                      %r = for %i = %lo to %m {
//	  %t = tiled_load %b                            %b = block_tile %x[%i] {inbounds}
//	  %c = cmpi less_than %i * 1024 + %iota, %n     %t = tiled_load %b
//	  %s = select %c, %t, %zero              =>     ..
//	}                                             }
//	                                              for %i = %m to %hi {remainder} { as it was }
//
// A check compares what grows with the induction variable and cannot wrap with a loop-invariant bound. Checks that do not depend on the induction variable stay
// in both loops. At the end of an array the remainder loop has few iterations, if any; where the bound depends on the block, as for a causal mask, it may
// have most of them.
func EliminateRangeChecks(s *pass.State) error {
	for _, entry := range s.Entries() {
		var loops []*ir.Op
		s.Walk(entry, ir.PostOrder, func(op *ir.Op) {
			if op.Code() == tileaa.OpFor && splittable(s, op) {
				loops = append(loops, op)
			}
		})
		if len(loops) == 0 {
			continue
		}
		known := facts.New(s.Ctx, entry)
		var found []*rangeChecks
		for _, op := range loops {
			c := &rangeChecks{facts: known, loop: ir.Cast[tileaa.For](op), forms: map[*ir.Value]linearForm{}}
			c.collect(s)
			if len(c.blocks)+len(c.compares) > 0 {
				found = append(found, c)
			}
		}
		for _, c := range found {
			c.split(s)
		}
		if len(found) > 0 {
			NewCanonicalizer(s, simplify).ToFixpoint(entry)
		}
	}
	return nil
}

// splittable reports whether a loop is an innermost one without products that counts in steps of one, more than once.
func splittable(s *pass.State, op *ir.Op) bool {
	loop := ir.Cast[tileaa.For](op)
	n, known := tileaa.TripCount(op)
	step, ok := tileaa.SplatInt(loop.Step())
	if !ok || step != 1 || known && n < 2 || loop.Remainder() {
		return false
	}
	s.Walk(op, ir.PreOrder, func(o *ir.Op) {
		ok = ok && (o == op || o.Code() != tileaa.OpFor && o.Code() != tileaa.OpLoop && !tileaa.IsProduct(o))
	})
	return ok
}

// rangeChecks are the inductive checks of a loop.
type rangeChecks struct {
	facts    *facts.Facts
	loop     tileaa.For
	blocks   []blockCheck
	compares []*ir.Op
	limits   []limit
	forms    map[*ir.Value]linearForm // cache of linearFormOf
}

// blockCheck lists the dimensions of a block that are in bounds while the limits hold.
type blockCheck struct {
	block tileaa.BlockTile
	dims  []int
}

// limit is the condition step * i + scale * (sum of values) + size <= bound on the induction variable i. It holds for i from 0 to
// (bound - size - scale * values) / step.
type limit struct {
	bound      *ir.Value // a scalar
	signed     bool      // of bound
	fixed      int64     // the bound where it is a constant and bound is nil
	step, size int64
	scale      int64 // 1 without values
	values     []*ir.Value
}

func (l limit) equal(o limit) bool {
	return l.bound == o.bound && l.signed == o.signed && l.fixed == o.fixed && l.step == o.step && l.size == o.size && l.scale == o.scale &&
		slices.Equal(l.values, o.values)
}

// collect finds the checks.
func (c *rangeChecks) collect(s *pass.State) {
	s.Walk(c.loop.Op, ir.PreOrder, func(op *ir.Op) {
		switch op.Code() {
		case tileaa.OpBlockTile:
			c.checkBlock(ir.Cast[tileaa.BlockTile](op))
		case tileaa.OpCmpi:
			if l, ok := c.checkCompare(ir.Cast[tileaa.Cmpi](op)); ok {
				c.compares = append(c.compares, op)
				c.addLimit(l)
			}
		}
	})
}

// addLimit adds a limit that is not yet there.
func (c *rangeChecks) addLimit(l limit) {
	if !slices.ContainsFunc(c.limits, l.equal) {
		c.limits = append(c.limits, l)
	}
}

// checkBlock finds the dimensions of a block whose index grows with the induction variable, and their limits.
func (c *rangeChecks) checkBlock(block tileaa.BlockTile) {
	if _, sparse := block.SparseDim(); sparse {
		return
	}
	memref, ok := ir.DefinedBy[tileaa.MakeMemref](block.Memref())
	if !ok {
		return
	}
	t, check := block.Result().Type().(*tileaa.BlockType), blockCheck{block: block}
	for d, index := range block.Indices() {
		x, counts := c.linearFormOf(index)
		if !counts || x.factor == 0 || c.facts.InBounds(block, d) {
			continue
		}
		each := block.Traversal()[d]
		l := limit{step: x.factor * each, size: t.Shape[d] + x.most*each, scale: 1, values: x.values}
		if len(x.values) > 0 {
			l.scale = each
		}
		sizes := memref.Result().Type().(*tileaa.MemrefType).Shape
		if l.bound, l.fixed = tileaa.SizeOf(sizes, memref.Shape(), int(block.DimMap()[d])); c.fits(l) {
			check.dims = append(check.dims, d)
			c.addLimit(l)
		}
	}
	if len(check.dims) > 0 {
		c.blocks = append(c.blocks, check)
	}
}

// checkCompare is the limit up to which a comparison is true for all elements.
func (c *rangeChecks) checkCompare(cmp tileaa.Cmpi) (l limit, ok bool) {
	small, large, inclusive, ok := tileaa.AsLess(cmp)
	if !ok {
		return l, false
	}
	x, counts := c.linearFormOf(small)
	if !counts || x.factor == 0 {
		return l, false
	}
	l = limit{signed: cmp.Signedness() == def.Signed, step: x.factor, scale: 1, size: x.most, values: x.values}
	if !inclusive {
		l.size++
	}
	if n, constant := tileaa.SplatInt(large); constant && (l.signed || n >= 0) {
		l.fixed, l.signed = n, n < 0
	} else if l.bound = scalarOf(large); l.bound != nil {
		l.signed = l.signed && !c.nonNegative(l.bound) // a non-negative bound is the same number unsigned
	} else {
		return l, false
	}
	return l, c.fits(l)
}

// scalarOf is the scalar of which a tile is a splat, or nil.
func scalarOf(v *ir.Value) *ir.Value {
	for len(tileaa.ShapeOf(v)) > 0 {
		op := v.DefiningOp()
		if op == nil || op.Code() != tileaa.OpSplat && op.Code() != tileaa.OpBroadcast && op.Code() != tileaa.OpReshape {
			return nil
		}
		v = op.Operand(0)
	}
	return v
}

// maxBound bounds all numbers of limits and linear forms, so that their sums and products fit 64 bits.
const maxBound = 1 << 40

// fits reports whether a limit can be computed in front of the loop, in 64 bits.
func (c *rangeChecks) fits(l limit) bool {
	small := func(v *ir.Value, signed bool) bool {
		f := c.facts.Of(v)
		if signed {
			return f.SMin > -maxBound && f.SMax < maxBound
		}
		return f.UMax < maxBound
	}
	ok := l.scale > 0 && l.scale < 1<<20 && l.step > 0 && max(l.step, l.size, l.fixed) < maxBound && l.fixed > -maxBound
	ok = ok && (l.bound == nil || ir.DefinedOutside(l.bound, c.loop.Op) && small(l.bound, l.signed))
	for _, v := range l.values {
		ok = ok && small(v, true)
	}
	return ok && c.facts.Of(c.loop.Op.Body().Arg(0)).UMax < maxBound
}

// linearForm is factor * i + values + x, where i is the induction variable and the elements of x are in [0, most].
type linearForm struct {
	factor int64
	values []*ir.Value
	most   int64
	known  bool
}

// mostTerms bounds the values of a linear form: a value that is added to itself again and again counts each time.
const mostTerms = 64

// linearFormOf is the linear form of a value, cached: a sum may add the same value twice. ok is false where something on the way to it may be negative
// or wrap.
func (c *rangeChecks) linearFormOf(v *ir.Value) (x linearForm, ok bool) {
	x, done := c.forms[v]
	if !done {
		if x, ok = c.decompose(v); !ok {
			x = linearForm{}
		}
		x.known = ok
		c.forms[v] = x
	}
	return x, x.known
}

func (c *rangeChecks) decompose(v *ir.Value) (x linearForm, ok bool) {
	known := c.facts.Of(v)
	if known.Width == 0 || known.SMin < 0 {
		return x, false
	}
	if v == c.loop.Op.Body().Arg(0) {
		return linearForm{factor: 1}, true
	}
	if ir.DefinedOutside(v, c.loop.Op) {
		if n, constant := known.Constant(); constant {
			return linearForm{most: int64(n)}, n < maxBound
		}
		if s := scalarOf(v); s != nil {
			return linearForm{values: []*ir.Value{s}}, c.facts.Of(s).Width == known.Width
		}
		return linearForm{most: known.SMax}, known.SMax < maxBound
	}
	op := v.DefiningOp()
	if op == nil {
		return x, false
	}
	switch op.Code() {
	case tileaa.OpAssume, tileaa.OpSplat, tileaa.OpBroadcast, tileaa.OpReshape, tileaa.OpExti:
		return c.linearFormOf(op.Operand(0)) // non-negative: sign and zero extension are the same
	case tileaa.OpAddi:
		a, okA := c.linearFormOf(op.Operand(0))
		b, okB := c.linearFormOf(op.Operand(1))
		sum := linearForm{factor: a.factor + b.factor, values: slices.Concat(a.values, b.values), most: a.most + b.most}
		return sum, okA && okB && len(sum.values) <= mostTerms && c.noWrap(op, func(x, y uint64) (hi, lo uint64) { lo, hi = bits.Add64(x, y, 0); return hi, lo })
	case tileaa.OpMuli:
		a, okA := c.linearFormOf(op.Operand(0))
		n, constant := tileaa.SplatInt(op.Operand(1))
		if !constant {
			a, okA = c.linearFormOf(op.Operand(1))
			n, constant = tileaa.SplatInt(op.Operand(0))
		}
		product := linearForm{factor: a.factor * n, most: a.most * n}
		return product, okA && constant && n > 0 && n < 1<<20 && len(a.values) == 0 && max(a.factor, a.most) < maxBound && c.noWrap(op, bits.Mul64)
	}
	return x, false
}

// noWrap reports whether a sum or product f of the largest operands is a non-negative signed number of the type.
func (c *rangeChecks) noWrap(op *ir.Op, f func(x, y uint64) (hi, lo uint64)) bool {
	x, y := c.facts.Of(op.Operand(0)), c.facts.Of(op.Operand(1))
	hi, lo := f(uint64(x.SMax), uint64(y.SMax))
	return x.SMin >= 0 && y.SMin >= 0 && hi == 0 && lo < 1<<(x.Width-1)
}

// split puts the main loop, without the checks, in front of the loop, which becomes the remainder loop.
func (c *rangeChecks) split(s *pass.State) {
	b := ir.NewBuilder(s.Ctx).Before(c.loop.Op)
	b.Loc = c.loop.Op.Loc()
	end := c.splitPoint(b)
	m := ir.Mapping{}
	main := ir.Cast[tileaa.For](b.Clone(c.loop.Op, m))
	main.SetUpper(end)
	for _, k := range c.blocks {
		block := ir.Cast[tileaa.BlockTile](m.Lookup(k.block.Result()).DefiningOp())
		inbounds := slices.Clone(block.Inbounds())
		if inbounds == nil {
			inbounds = make(ir.BoolArray, len(block.Indices()))
		}
		for _, d := range k.dims {
			inbounds[d] = true
		}
		block.SetInbounds(inbounds)
	}
	for _, op := range c.compares {
		cmp := m.Lookup(op.Result(0))
		b.Before(main.Op)
		cmp.ReplaceAllUsesWith(tileaa.Const(b, tileaa.AsTile(cmp), 1))
	}
	c.loop.SetLower(end)
	c.loop.SetInits(main.Results())
	c.loop.SetRemainder(!slices.ContainsFunc(c.limits, func(l limit) bool { return l.bound != nil && tileaa.DependsOnProgramID(l.bound) }))
}

// splitPoint is the first iteration in which a check may fail, clamped to the bounds of the loop. It is computed in the type of the induction variable
// if all limits fit it, else in 64 bits.
func (c *rangeChecks) splitPoint(b *ir.Builder) *ir.Value {
	lower, upper := c.loop.Lower(), c.loop.Upper()
	counterType := tileaa.AsTile(lower)
	t := tileaa.Tile(b.Ctx, b.Ctx.Int(64))
	if !slices.ContainsFunc(c.limits, func(l limit) bool { return !c.fitsCounterType(l) }) && (!c.loop.Unsigned() || c.nonNegative(lower) && c.nonNegative(upper)) {
		t = counterType
	}
	as := func(v *ir.Value, signed bool) *ir.Value {
		if tileaa.ElemBits(tileaa.AsTile(v).Elem) == tileaa.ElemBits(t.Elem) {
			return v
		}
		signedness := def.Unsigned
		if signed {
			signedness = def.Signed
		}
		return tileaa.NewExti(b, t, v, signedness).Result()
	}
	number := func(n int64) *ir.Value { return tileaa.Const(b, t, n) }
	end := as(upper, !c.loop.Unsigned())
	for _, l := range c.limits {
		n := number(l.fixed)
		if l.bound != nil {
			n = as(l.bound, l.signed)
		}
		for _, v := range l.values {
			more := tileaa.NewMuli(b, as(v, true), number(l.scale), tileaa.MuliOptions{}).Result()
			n = tileaa.NewSubi(b, n, more, tileaa.SubiOptions{}).Result()
		}
		n = tileaa.NewSubi(b, n, number(l.size-l.step), tileaa.SubiOptions{}).Result()
		if l.signed || len(l.values) > 0 || l.size > l.step {
			n = tileaa.NewMaxi(b, n, number(0), def.Signed).Result()
		}
		if planted.On("interior-too-long") {
			n = tileaa.NewAddi(b, n, number(l.step-1), tileaa.AddiOptions{}).Result()
		}
		n = tileaa.NewDivi(b, n, number(l.step), def.Unsigned, def.RoundZero).Result()
		end = tileaa.NewMini(b, end, n, def.Signed).Result()
	}
	if first, ok := tileaa.SplatInt(lower); !ok || first != 0 || !c.nonNegative(upper) {
		signedness := def.Signed
		if c.loop.Unsigned() { // a lower bound that is above every upper one is no negative number
			signedness = def.Unsigned
		}
		end = tileaa.NewMaxi(b, end, as(lower, !c.loop.Unsigned()), signedness).Result()
	}
	if t == counterType || tileaa.ElemBits(counterType.Elem) == 64 {
		return end
	}
	return tileaa.NewTrunci(b, counterType, end, tileaa.TrunciOptions{}).Result()
}

// fitsCounterType reports whether a limit can be computed in the type of the induction variable: nothing but the difference may be negative.
func (c *rangeChecks) fitsCounterType(l limit) bool {
	width := tileaa.ElemBits(tileaa.AsTile(c.loop.Lower()).Elem)
	if l.bound == nil && uint64(l.fixed) >= 1<<(width-1) || l.bound != nil && tileaa.ElemBits(tileaa.AsTile(l.bound).Elem) != width {
		return false
	}
	return !l.signed && len(l.values) == 0 && l.size >= l.step && uint64(l.size) < 1<<(width-1) && (l.bound == nil || c.nonNegative(l.bound))
}

// nonNegative reports whether a value is known to be at least 0 as a signed number.
func (c *rangeChecks) nonNegative(v *ir.Value) bool { return c.facts.Of(v).SMin >= 0 }
