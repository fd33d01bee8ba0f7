package sync

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// skew-products begins products of the tensor unit an iteration ahead where nothing that is computed goes into them, so that the unit multiplies while
// threads compute with what it has multiplied before. In attention these are the scores:
//
//	                                      async_copy %k[%lo], %first; %s0 = dot %q, %first {in_flight}
//	for %i = %lo to %hi {                 for %i = %lo to %hi inits(%s0) (%s) {
//	  async_copy %k[%i], %b                 async_copy %k[%i+1], %b when(%i+1 < %hi)
//	  async_copy %v[%i], %c                 async_copy %v[%i], %c
//	  async_wait 0                          async_wait 0
//	  %s = dot %q, %b                =>     dot_wait 0; %t = dot_land %s
//	                                        %next = dot %q, %b when(%i+1 < %hi) {in_flight}
//	  %p = .. exp %s ..                     %p = .. exp %t ..
//	  %d = dot %p, %c, %acc                 %d = dot %p, %c, %acc
//	  continue %d                           continue %d, %next
//	}                                     }
//
// What comes for it comes an iteration ahead of the rest; pipeline-loops sees copies that belong together. Barriers, and waits before what the product reads
// is overwritten, are those of any product in flight.
func SkewProducts(s *pass.State) error {
	for _, entry := range s.Entries() {
		s.Walk(entry, ir.PostOrder, func(op *ir.Op) {
			if op.Code() != tileaa.OpFor {
				return
			}
			if k := skewable(op); k != nil {
				k.skew(s)
			}
		})
	}
	return nil
}

// skewed is a product of a loop that can begin an iteration ahead, and the copies that bring what it takes.
type skewed struct {
	expansion
	dot tileaa.Dot
}

// skewable finds the first product of a loop that can.
func skewable(op *ir.Op) *skewed {
	k := &skewed{expansion: expansion{pipeline: &pipeline{loop: ir.Cast[tileaa.For](op), ahead: map[*ir.Op]bool{}}}}
	k.flow, _ = ir.LoopOf(op)
	if len(k.flow.Continues()) != 1 {
		return nil
	}
	for _, o := range op.Body().Ops() {
		d, ok := ir.As[tileaa.Dot](o)
		bits, zero := uint64(1), false
		if ok {
			bits, zero = tileaa.SplatValue(d.Acc())
		}
		if !zero || bits != 0 || d.Atom().Atom.Tensor == nil || tileaa.ElemBits(tileaa.AsTile(d.Result()).Elem) != 32 {
			continue
		}
		if k.dot = d; k.comesAhead(d.Lhs()) && k.comesAhead(d.Rhs()) && len(k.copies) > 0 && len(k.carry) == 0 {
			return k
		}
		return nil
	}
	return nil
}

// comesAhead reports whether a factor comes from outside of the loop, or by a copy for it alone, and notes the copy.
func (k *skewed) comesAhead(factor *ir.Value) bool {
	buffer := tileaa.ViewedBuffer(factor)
	if ir.DefinedOutside(buffer, k.loop.Op) {
		return true
	}
	if !ir.Is[tileaa.AllocShared](buffer.DefiningOp()) {
		return false
	}
	var c tileaa.AsyncCopy
	for _, user := range tileaa.BufferUsers(buffer) {
		copies, ok := ir.As[tileaa.AsyncCopy](user)
		switch {
		case user == k.dot.Op:
		case ok && c.Op == nil:
			c = copies
		default:
			return false
		}
	}
	if c.Op == nil || c.When() != nil || c.ResultToken().HasUses() || !k.buffered(c) || !k.computable(c.Block()) {
		return false
	}
	tokens, free := k.comesAfter(c.Token(), map[*ir.Value]bool{})
	k.copies, k.pipeline.tokens = append(k.copies, c), append(k.pipeline.tokens, tokens)
	return free
}

// skew rewrites the loop.
func (k *skewed) skew(s *pass.State) {
	k.b = ir.NewBuilder(s.Ctx).Before(k.loop.Op)
	k.b.Loc = k.dot.Op.Loc()
	first := k.begin()
	body := k.loop.Op.Body()
	sums := body.AddArg(first.Type())

	k.b.AtStart(body)
	counter, exists := k.later(k.flow.InductionVar(), 1, nil)
	later := ir.Mapping{k.flow.InductionVar(): counter}
	k.cloneAll(k.ahead, later, exists)
	for i, c := range k.copies {
		k.b.Before(c.Op)
		c.SetBlock(later.Lookup(c.Block()))
		c.SetWhen(exists)
		c.SetToken(joinTokens(k.b, k.pipeline.tokens[i]))
	}
	k.b.Before(k.dot.Op)
	tileaa.NewDotWait(k.b, 0)
	landed := tileaa.NewDotLand(k.b, sums.Type(), sums, tileaa.DotLandOptions{}).Result()
	k.dot.Result().ReplaceAllUsesWith(landed)
	k.dot.SetInFlight(true)
	k.dot.SetWhen(exists)
	end := k.flow.Continues()[0]
	end.SetOperandGroup(0, append(end.Operands(), k.dot.Result()))
	k.replaceLoop([]*ir.Value{first})
}

// begin begins the product of the first iteration before the loop, if there is one.
func (k *skewed) begin() *ir.Value {
	runs := k.runs()
	m := ir.Mapping{k.flow.InductionVar(): k.loop.Lower()}
	k.cloneAll(k.ahead, m, runs)
	for i, c := range k.copies {
		buffer := tileaa.NewAllocShared(k.b, c.Buffer().Type(), tileaa.AllocSharedOptions{}).Result()
		copyLike(k.b, c, m.Lookup(c.Block()), buffer, c.Layout(), joinTokens(k.b, k.pipeline.tokens[i]), runs)
		m[c.Buffer()] = buffer
	}
	tileaa.NewAsyncCommit(k.b)
	tileaa.NewAsyncWait(k.b, 0)
	for _, v := range []*ir.Value{k.dot.Lhs(), k.dot.Rhs()} {
		k.view(v, m)
	}
	if zero := k.dot.Acc(); !ir.DefinedOutside(zero, k.loop.Op) {
		m[zero] = k.b.Insert(zero.DefiningOp().Clone(ir.Mapping{})).Result(0)
	}
	d := ir.Cast[tileaa.Dot](k.b.Insert(k.dot.Op.Clone(m)))
	d.SetInFlight(true)
	d.SetWhen(runs)
	return d.Result()
}

// view makes the views through which the product takes a factor.
func (k *skewed) view(factor *ir.Value, m ir.Mapping) {
	var views []*ir.Op
	for v, ok := ir.DefinedBy[tileaa.BufferView](factor); ok; v, ok = ir.DefinedBy[tileaa.BufferView](factor) {
		views, factor = append(views, v.Op), v.Buffer()
	}
	for _, v := range slices.Backward(views) {
		if !ir.DefinedOutside(v.Result(0), k.loop.Op) {
			m[v.Result(0)] = k.b.Insert(v.Clone(m)).Result(0)
		}
	}
}
