package overlap

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

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
