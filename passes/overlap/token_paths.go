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
func (p *pipeline) comesAfter(v *ir.Value) (outside []*ir.Value, free bool) {
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
	order, loop := tokenOrder{}, flow.Op
	var work []*ir.Value
	add := func(v *ir.Value, more predecessors) {
		p := order[v]
		if p == nil {
			p = &predecessors{}
			order[v] = p
		}
		news := more.bound && !p.bound
		p.bound = p.bound || more.bound
		for _, t := range more.outside {
			if !p.bound && !slices.Contains(p.outside, t) {
				p.outside, news = append(p.outside, t), true
				p.bound = len(p.outside) > maxOutside
			}
		}
		if news {
			work = append(work, v)
		}
	}
	from := func(v, token *ir.Value) {
		if ir.DefinedOutside(token, loop) {
			add(v, predecessors{outside: []*ir.Value{token}})
		}
	}
	for i, v := range flow.Carried() {
		if tileaa.IsToken(v) {
			for _, token := range flow.CarriedIncoming(i) {
				from(v, token)
			}
		}
	}
	ir.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		if op == loop {
			return
		}
		for b := range op.Blocks() {
			for a := range tokensOf(b.Args()) {
				add(a, predecessors{bound: true})
			}
		}
		for v := range tokensOf(op.Results()) {
			if !passesTokens(op) {
				add(v, predecessors{bound: true})
				continue
			}
			for token := range tokensOf(op.Operands()) {
				from(v, token)
			}
		}
	})
	for len(work) > 0 {
		v := work[0]
		work = work[1:]
		for _, u := range v.Uses() {
			op := u.Owner()
			to := ir.ForwardedTo(op, u.Index())
			if passesTokens(op) && !op.Traits().Has(ir.Terminator) {
				to = op.Results()
			}
			for next := range tokensOf(to) {
				if !ir.DefinedOutside(next, loop) {
					add(next, *order[v])
				}
			}
		}
	}
	return order
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
