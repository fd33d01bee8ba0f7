package sync

import (
	"math"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/internal/planted"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// This file rewrites a loop whose copies run ahead.

// expansion is the work on one loop.
type expansion struct {
	*pipeline
	b      *ir.Builder
	slots  int64
	rings  []*ir.Value // by copy
	tokens []*ir.Value // what each copy comes after; nil: nothing
}

// expand makes rings of so many slots.
func (p *pipeline) expand(s *pass.State, slots int) {
	x := &expansion{pipeline: p, b: ir.NewBuilder(s.Ctx).Before(p.loop.Op), slots: int64(slots)}
	x.b.Loc = p.loop.Op.Loc()
	for i, c := range p.copies {
		slots := x.slots
		if planted.On("slot-too-few") {
			slots-- // the copy of this iteration overwrites what it reads
		}
		t := tileaa.Ring(s.Ctx, slots, c.Buffer().Type().(*tileaa.BufferType))
		x.rings = append(x.rings, tileaa.NewAllocRing(x.b, t, tileaa.AllocRingOptions{}).Result())
		x.tokens = append(x.tokens, joinTokens(x.b, p.tokens[i]))
	}
	start := tileaa.Const(x.b, x.positions(), 0)
	ahead, begun := x.prologue(start)
	x.steady(start, ahead, begun)
}

// joinTokens is a token that comes after all of some, nil after none.
func joinTokens(b *ir.Builder, tokens []*ir.Value) *ir.Value {
	switch len(tokens) {
	case 0:
		return nil
	case 1:
		return tokens[0]
	}
	return tileaa.NewJoinMemToken(b, tokens).Result()
}

func (x *expansion) positions() *tileaa.TileType { return tileaa.Tile(x.b.Ctx, x.b.Ctx.Int(32)) }

// distance is how many iterations ahead copies are begun.
func (x *expansion) distance() int64 { return x.slots - 1 }

// prologue begins the copies of the first iterations. It gives the carried values that addresses follow from as they are distance
// iterations later, and by copy the tokens of what was begun.
func (x *expansion) prologue(start *ir.Value) (ahead []*ir.Value, begun [][]*ir.Value) {
	signedness := def.Signed
	if x.loop.Unsigned() {
		signedness = def.Unsigned
	}
	runs := x.compare(x.loop.Lower(), x.loop.Upper(), def.PredLess, signedness)
	for _, v := range x.carry {
		i, _ := x.flow.CarriedIndex(v)
		ahead = append(ahead, x.loop.Inits()[i])
	}
	begun = make([][]*ir.Value, len(x.copies))
	for k := range x.distance() {
		counter, exists := x.later(x.loop.Lower(), k, runs)
		var tokens []*ir.Value
		tokens, ahead = x.begin(counter, ahead, start, k, exists)
		for i, t := range tokens {
			begun[i] = append(begun[i], t)
		}
	}
	return ahead, begun
}

func (x *expansion) compare(a, b *ir.Value, p def.Predicate, s def.Signedness) *ir.Value {
	i1 := tileaa.Tile(x.b.Ctx, x.b.Ctx.Int(1))
	return tileaa.NewCmpi(x.b, i1, a, b, s, tileaa.CmpiOptions{Predicate: p}).Result()
}

// later is the counter of the iteration k later, and whether there is one, given whether there is one for this counter (nil: there is).
// What is left of the range is compared as an unsigned number, which it is where the counter lies in it, so nothing wraps.
func (x *expansion) later(counter *ir.Value, k int64, exists *ir.Value) (*ir.Value, *ir.Value) {
	t := tileaa.AsTile(counter)
	further := func(by *ir.Value) {
		left := tileaa.NewSubi(x.b, x.loop.Upper(), counter, tileaa.SubiOptions{}).Result()
		more := x.compare(left, by, def.PredGreater, def.Unsigned)
		if exists != nil {
			more = tileaa.NewAndi(x.b, exists, more).Result()
		}
		counter, exists = tileaa.NewAddi(x.b, counter, by, tileaa.AddiOptions{}).Result(), more
	}
	if k == 0 {
		return counter, exists
	}
	if step, ok := tileaa.SplatInt(x.loop.Step()); ok && step > 0 && step < math.MaxInt8 && tileaa.ElemBits(t.Elem) >= 32 {
		further(tileaa.Const(x.b, t, k*step))
		return counter, exists
	}
	for range k {
		further(x.loop.Step())
	}
	return counter, exists
}

// begin begins the copies of one iteration, if it exists, of which the counter and the carried values that addresses follow from are
// given, in the slots so many ahead of a position. It gives their tokens and the carried values of the next iteration.
func (x *expansion) begin(counter *ir.Value, carried []*ir.Value, position *ir.Value, ahead int64, exists *ir.Value) (tokens, next []*ir.Value) {
	m := ir.Mapping{x.flow.InductionVar(): counter}
	for i, v := range x.carry {
		m[v] = carried[i]
	}
	for _, op := range x.loop.Op.Body().Ops() {
		if x.ahead[op] {
			x.b.Insert(op.Clone(m))
		}
	}
	for i, c := range x.copies {
		ring := x.rings[i]
		slots := ring.Type().(*tileaa.RingType).Slots
		slot := tileaa.NewRingSlot(x.b, c.Buffer().Type(), ring, position, ahead%slots).Result()
		width, _ := c.Vec()
		fast, _ := c.Fast()
		begun := tileaa.NewAsyncCopy(x.b, m.Lookup(c.Block()), slot, c.Layout(), tileaa.AsyncCopyOptions{Token: x.tokens[i], When: exists,
			Vec: &width, Fast: &fast, Narrow: c.Narrow(), Masked: c.Masked(), CoordinateBits: c.CoordinateBits(), Ragged: c.Ragged()})
		tokens = append(tokens, begun.ResultToken())
	}
	tileaa.NewAsyncCommit(x.b)
	for _, v := range x.carry {
		i, _ := x.flow.CarriedIndex(v)
		next = append(next, m.Lookup(x.flow.Continues()[0].Operand(i)))
	}
	return tokens, next
}

// steady rewrites the loop: it begins copies distance iterations ahead and reads the slot of its own.
func (x *expansion) steady(start *ir.Value, ahead []*ir.Value, begun [][]*ir.Value) {
	body := x.loop.Op.Body()
	end := body.Terminator()
	old := body.Ops()
	var used []int // copies after which something comes
	inits := append([]*ir.Value{start}, ahead...)
	for i, c := range x.copies {
		if c.ResultToken().HasUses() {
			used = append(used, i)
			inits = append(inits, joinTokens(x.b, begun[i]))
		}
	}
	var args []*ir.Value
	for _, v := range inits {
		args = append(args, body.AddArg(v.Type()))
	}
	position, carried, before := args[0], args[1:1+len(ahead)], args[1+len(ahead):]

	x.b.AtStart(body)
	tileaa.NewAsyncWait(x.b, x.distance()-1)
	counter, exists := x.later(x.flow.InductionVar(), x.distance(), nil)
	if planted.On("late-copy") {
		exists = nil
	}
	tokens, next := x.begin(counter, carried, position, x.distance(), exists)
	after := make([]*ir.Value, len(used))
	for k, i := range used {
		after[k] = joinTokens(x.b, []*ir.Value{before[k], tokens[i]})
		x.copies[i].ResultToken().ReplaceAllUsesWith(after[k])
	}
	for i, c := range x.copies {
		slot := tileaa.NewRingSlot(x.b, c.Buffer().Type(), x.rings[i], position, 0).Result()
		c.Buffer().ReplaceAllUsesWith(slot)
	}
	x.b.Before(end)
	passed := append([]*ir.Value{tileaa.NewRingNext(x.b, position, x.rings[0].Type().(*tileaa.RingType).Slots).Result()}, next...)
	end.SetOperandGroup(0, slices.Concat(end.Operands(), passed, after))
	x.eraseOld(old)
	x.replaceLoop(inits)
}

// eraseOld erases, of what the body was, the copies with their groups, waits, buffers and addresses.
func (x *expansion) eraseOld(body []*ir.Op) {
	for _, op := range slices.Backward(body) {
		switch c := op.Code(); {
		case c == tileaa.OpAsyncCopy, c == tileaa.OpAsyncCommit, c == tileaa.OpAsyncWait,
			c == tileaa.OpAllocShared && !op.HasUses(), x.ahead[op] && ir.IsDead(op):
			op.Erase()
		}
	}
}

// replaceLoop puts a loop that carries more in the place of the loop, with its body.
func (x *expansion) replaceLoop(more []*ir.Value) {
	x.b.Before(x.loop.Op)
	inits := append(x.loop.Inits(), more...)
	var types []ir.Type
	for _, v := range inits {
		types = append(types, v.Type())
	}
	n := tileaa.NewFor(x.b, types, x.loop.Lower(), x.loop.Upper(), x.loop.Step(), inits, tileaa.ForOptions{Unsigned: x.loop.Unsigned()})
	n.Op.Region(0).TakeBlocks(x.loop.Op.Region(0))
	for i, r := range x.loop.Op.Results() {
		n.Op.Result(i).NameHint = r.NameHint
		r.ReplaceAllUsesWith(n.Op.Result(i))
	}
	x.loop.Op.Erase()
}
