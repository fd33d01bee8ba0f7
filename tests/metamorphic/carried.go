package metamorphic

import (
	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

func (r *rewriter) pickLoop() *ir.Op { return r.pick(isLoop) }

// initsOf gives the group of operands with which a loop begins to carry values.
func initsOf(loop *ir.Op) int {
	if loop.Code() == cudatile.OpFor {
		return 3
	}
	return 0
}

// carry adds a value that a loop carries, and gives it; next makes what a continue passes on, with the builder in front of that.
func (r *rewriter) carry(loop *ir.Op, init value, next func(carried value, from *ir.Op) value) value {
	group := initsOf(loop)
	if loop.Code() == cudatile.OpFor {
		loop.AddResults([]ir.Type{init.Type()})
	}
	loop.SetOperandGroup(group, append(loop.OperandGroup(group), init))
	carried := loop.Body().AddArg(init.Type())
	for _, c := range continuesOf(loop) {
		r.b.Before(c)
		c.SetOperands(append(c.Operands(), next(carried, c)), []int32{int32(c.NumOperands() + 1)})
	}
	return carried
}

func carryInvariant(r *rewriter) bool {
	loop := r.pickLoop()
	if loop == nil {
		return false
	}
	var vs []value
	seen := map[value]bool{}
	ir.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		for _, v := range op.Operands() {
			if op != loop && !seen[v] && ir.DefinedOutside(v, loop) && isCarriable(v) {
				seen[v] = true
				vs = append(vs, v)
			}
		}
	})
	v := one(r, vs)
	if v == nil {
		return false
	}
	uses := v.Uses()
	carried := r.carry(loop, v, func(carried value, _ *ir.Op) value { return carried })
	for _, u := range uses {
		if ir.IsProperAncestor(loop, u.Owner()) {
			u.Owner().SetOperand(u.Index(), carried)
		}
	}
	return true
}

func carryTwice(r *rewriter) bool {
	loop := r.pickLoop()
	if loop == nil || len(loop.OperandGroup(initsOf(loop))) == 0 {
		return false
	}
	inits := loop.OperandGroup(initsOf(loop))
	k := r.IntN(len(inits))
	first := loop.Body().Arg(loop.Body().NumArgs() - len(inits) + k)
	uses := first.Uses()
	second := r.carry(loop, inits[k], func(_ value, from *ir.Op) value { return from.Operand(k) })
	for _, u := range uses {
		if r.heads() {
			u.Owner().SetOperand(u.Index(), second)
		}
	}
	return true
}

func swapCarried(r *rewriter) bool {
	loop := r.pickLoop()
	if loop == nil || len(loop.OperandGroup(initsOf(loop))) < 2 {
		return false
	}
	inits := loop.OperandGroup(initsOf(loop))
	n := len(inits)
	p := r.Perm(n)
	x, y := p[0], p[1]
	first := loop.Body().NumArgs() - n
	exchange(loop.Body().Arg(first+x), loop.Body().Arg(first+y))
	inits[x], inits[y] = inits[y], inits[x]
	loop.SetOperandGroup(initsOf(loop), inits)
	for _, c := range continuesOf(loop) {
		a, b := c.Operand(x), c.Operand(y)
		c.SetOperand(x, b)
		c.SetOperand(y, a)
	}
	if loop.Code() == cudatile.OpFor {
		exchange(loop.Result(x), loop.Result(y))
	}
	return true
}

// exchange has two values trade their users and types.
func exchange(a, b value) {
	ofA, ofB := a.Uses(), b.Uses()
	for _, u := range ofA {
		u.Owner().SetOperand(u.Index(), b)
	}
	for _, u := range ofB {
		u.Owner().SetOperand(u.Index(), a)
	}
	t := a.Type()
	a.SetType(b.Type())
	b.SetType(t)
}

func secondCounter(r *rewriter) bool {
	f, found := r.pickFor(func(f cudatile.For) bool { return f.Region().Arg(0).HasUses() })
	if !found {
		return false
	}
	uses := f.Region().Arg(0).Uses()
	second := r.carry(f.Op, f.LowerBound(), func(carried value, _ *ir.Op) value { return r.add(carried, f.Step()) })
	all := r.heads()
	for _, u := range uses {
		if all || r.heads() {
			u.Owner().SetOperand(u.Index(), second)
		}
	}
	return true
}

func carryTokens(r *rewriter) bool {
	f, found := r.pickFor(isSimple)
	if !found {
		return false
	}
	var accesses []*ir.Op
	for _, op := range f.Region().Ops() {
		if tokenOperand(op) >= 0 && givesToken(op) != nil {
			accesses = append(accesses, op)
		}
	}
	op := one(r, accesses)
	if op == nil {
		return false
	}
	r.b.Before(f.Op)
	before := r.carry(f.Op, cudatile.NewMakeToken(r.b).Result(), func(value, *ir.Op) value { return givesToken(op) })
	r.addToken(op, before)
	return true
}
