package overlap

import (
	"iter"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
)

// This file is what tokens of a loop say of accesses that happen earlier than they stand.

// tokenOrder is what each token that is made in a loop comes after.
type tokenOrder map[*ir.Value]*predecessors

// predecessors are the tokens from outside of a loop that a token comes after, and whether it comes after anything in the loop but weak reads.
type predecessors struct {
	outside []*ir.Value
	bound   bool
}

// maxOutside bounds a list of tokens from outside: what comes after more counts as bound, so that time is linear in the loop.
const maxOutside = 64

// comesAfter lists the tokens from outside of the loop that a token comes after; free is false if it comes after anything in the loop but
// weak reads.
func (p *aheadLoop) comesAfter(v *ir.Value) (outside []*ir.Value, free bool) {
	switch {
	case v == nil:
		return nil, true
	case ir.DefinedOutside(v, p.flow.Op):
		return []*ir.Value{v}, true
	case p.order == nil:
		p.order = tokenOrderOf(p.flow)
	}
	before := p.order[v]
	if before == nil {
		return nil, true
	}
	return before.outside, !before.bound
}

// tokenOrderOf passes on what tokens come after, through weak reads, joins and what the loop carries, until nothing is new.
func tokenOrderOf(flow ir.Flow) tokenOrder {
	t := tokenWalk{order: tokenOrder{}, loop: flow.Op}
	t.begin(flow)
	for len(t.work) > 0 {
		v := t.work[0]
		t.work = t.work[1:]
		for _, u := range v.Uses() {
			op := u.Owner()
			to := ir.ForwardedTo(op, u.Index())
			if passesTokens(op) && !op.Traits().Has(ir.Terminator) {
				to = op.Results()
			}
			for next := range tokensOf(to) {
				if !ir.DefinedOutside(next, t.loop) {
					t.add(next, *t.order[v])
				}
			}
		}
	}
	return t.order
}

// tokenWalk finds a token order.
type tokenWalk struct {
	order tokenOrder
	loop  *ir.Op
	work  []*ir.Value // whose predecessors are news to what comes after them
}

// begin notes what comes directly after tokens from outside, and what comes after more than weak reads.
func (t *tokenWalk) begin(flow ir.Flow) {
	for i, v := range flow.Carried() {
		if tileaa.IsToken(v) {
			t.after(v, flow.CarriedIncoming(i))
		}
	}
	ir.Walk(t.loop, ir.PreOrder, func(op *ir.Op) {
		if op == t.loop {
			return
		}
		for b := range op.Blocks() {
			for a := range tokensOf(b.Args()) {
				t.add(a, predecessors{bound: true})
			}
		}
		for v := range tokensOf(op.Results()) {
			if passesTokens(op) {
				t.after(v, op.Operands())
			} else {
				t.add(v, predecessors{bound: true})
			}
		}
	})
}

// after notes those of the values that are tokens from outside.
func (t *tokenWalk) after(v *ir.Value, list []*ir.Value) {
	for token := range tokensOf(list) {
		if ir.DefinedOutside(token, t.loop) {
			t.add(v, predecessors{outside: []*ir.Value{token}})
		}
	}
}

// add notes that a token comes after more.
func (t *tokenWalk) add(v *ir.Value, more predecessors) {
	p := t.order[v]
	if p == nil {
		p = &predecessors{}
		t.order[v] = p
	}
	news := more.bound && !p.bound
	p.bound = p.bound || more.bound
	for _, token := range more.outside {
		if !p.bound && !slices.Contains(p.outside, token) {
			p.outside, news = append(p.outside, token), true
			p.bound = len(p.outside) > maxOutside
		}
	}
	if news {
		t.work = append(t.work, v)
	}
}

// passesTokens reports whether an op orders nothing itself but weak reads.
func passesTokens(op *ir.Op) bool {
	return op.NumRegions() == 0 && kernel.AccessKindsOf(op)&^kernel.WeakRead == 0
}

func tokensOf(list []*ir.Value) iter.Seq[*ir.Value] {
	return func(yield func(*ir.Value) bool) {
		for _, v := range list {
			if tileaa.IsToken(v) && !yield(v) {
				return
			}
		}
	}
}

// keepPaths prepares accesses of a loop, which come in order, for tokens from outside of the loop, because they are going to happen earlier. What comes after
// one of them by its token comes after what that came after in the loop, too, and keeps that path:
//
//	%a, %t1 = load %x token = %t              %a, %t1 = load %x token = %t
//	%b, %t2 = load %y token = %t1        =>   %b, %t2 = load %y token = %t1      which %t may replace now
//	%t3 = store %c, %x token = %t2            %j = join_mem_token %t2, %t1
//	                                          %t3 = store %c, %x token = %j
func keepPaths(ctx *ir.Context, loop *ir.Op, accesses []*ir.Op) {
	b, list := ir.NewBuilder(ctx), map[*ir.Op]bool{}
	for _, op := range accesses {
		list[op] = true
	}
	for _, op := range slices.Backward(accesses) { // a path to one from another goes on at that
		before := tileaa.TokenBefore(op)
		if before == nil || ir.DefinedOutside(before, loop) {
			continue
		}
		for _, u := range op.Result(op.NumResults() - 1).Uses() {
			if user := u.Owner(); !list[user] {
				b.Loc = user.Loc()
				user.SetOperand(u.Index(), tileaa.JoinTokens(b.Before(user), []*ir.Value{u.Value(), before}))
			}
		}
	}
}
