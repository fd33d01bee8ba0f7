package overlap

import (
	"cmp"
	"math"
	"slices"

	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file divides the copies of a loop into groups with waits of their own. In attention, K is multiplied long before V:
//
//	for %i {                              copy K[0]; async_commit
//	  copy K[%i]; copy V[%i]              for %i {
//	  async_commit                          async_wait 0: K[%i]; barrier
//	  async_wait 0                          copy V[%i]; async_commit
//	  barrier                      =>       dot K
//	  dot K                                 ..
//	  ..                                    async_wait 0: V[%i]; barrier
//	  dot V                                 copy K[%i+1]; async_commit
//	}                                       dot V
//	                                      }
//
// With a slot each, K's next tile is in flight while V is multiplied, and V's while K is: half of the shared memory that two slots for both need,
// for a second barrier. A group's copies are begun at the first wait after its slot is last read, where all threads meet anyway; before, where the tensor unit has read it
// and each thread waits for its result: that needs no barrier.

// group is copies that are waited for together.
type group struct {
	copies      []int           // by number
	slice       map[*ir.Op]bool // backward slice of their addresses
	carriedArgs []*ir.Value     // loop-carried arguments of the slice,
	carriedNext []*ir.Value     // and their values for the next copies to begin
	loads       []*ir.Op        // loads of the slice,
	fetched     []*ir.Value     // and what they loaded for the next copies

	first           *ir.Op // op of the body that reads them first
	firstAt, lastAt int    // positions in the body of the first and the last reader

	from     int    // the group at whose wait its copies are begun,
	behind   *ir.Op // or the op before that wait behind which they are,
	behindAt int    // and the position of that op in the body
	distance int64  // iterations between copying and reading
	commit   int64  // number of its commit within an iteration
}

// singleGroup has all copies in one group.
func (p *pipeline) singleGroup() []*group {
	g := &group{slice: p.slice, carriedArgs: p.carriedArgs}
	for i := range p.copies {
		g.copies = append(g.copies, i)
	}
	return []*group{g}
}

// groupsByProduct groups the copies by the accumulation chain of products before which they are first read, in the order of the loop, and
// by whether products or other operations of threads read them. It is nil where the first group is read to the end of the body: then no
// wait is left at which its next copies could begin.
func (p *pipeline) groupsByProduct() []*group {
	order, before := map[*ir.Op]int{}, map[*ir.Op]int{}
	products := 0
	for n, op := range p.loop.Op.Body().Ops() {
		order[op], before[op] = n, products
		if d, ok := ir.As[tileaa.Dot](op); ok && tileaa.LastOfSum(d) == d {
			products++
		}
	}
	groups := map[int]*group{}
	list := []*group{}
	for i, c := range p.copies {
		var first *ir.Op
		last := -1
		for _, user := range tileaa.BufferUsers(c.Buffer()) {
			op := user.AncestorIn(p.loop.Op.Body())
			if op == c.Op {
				continue
			}
			if first == nil || order[op] < order[first] {
				first = op
			}
			last = max(last, order[op])
		}
		if first == nil {
			return nil // nobody reads it
		}
		key := 2 * before[first]
		if !forProducts(first) {
			key++
		}
		g := groups[key]
		if g == nil {
			g = &group{first: first, firstAt: order[first]}
			groups[key] = g
			list = append(list, g)
		}
		if order[first] < g.firstAt {
			g.first, g.firstAt = first, order[first]
		}
		g.lastAt = max(g.lastAt, last)
		g.copies = append(g.copies, i)
	}
	slices.SortFunc(list, func(a, b *group) int { return a.firstAt - b.firstAt })
	if !slices.ContainsFunc(list, func(g *group) bool { return list[0].lastAt < g.firstAt }) {
		return nil
	}
	for _, g := range list {
		q := newAheadLoop(p.loop.Op, true)
		for _, i := range g.copies {
			q.computable(p.copies[i].Block())
			q.computable(p.copies[i].When())
		}
		g.slice, g.carriedArgs = q.slice, q.carriedArgs
		g.behind = p.landingOf(g)
		g.behindAt = order[g.behind]
	}
	return list
}

// landingOf is the dot_land behind which each thread has waited for the tensor unit, if only products of the unit read the copies of a
// group; nil without one.
func (p *pipeline) landingOf(g *group) (last *ir.Op) {
	lands := map[*ir.Op]bool{}
	for _, i := range g.copies {
		for _, user := range tileaa.BufferUsers(p.copies[i].Buffer()) {
			if user == p.copies[i].Op {
				continue
			}
			d, ok := tileaa.OnTensorUnit(user)
			if !ok || !d.InFlight() || d.When() != nil {
				return nil
			}
			land := landing(d, p.loop.Op.Body())
			if land == nil {
				return nil
			}
			lands[land] = true
		}
	}
	for op := p.loop.Op.Body().First(); op != nil; op = op.Next() {
		if lands[op] {
			last = op
		}
	}
	return last
}

// forProducts reports whether an op reads a buffer for products.
func forProducts(read *ir.Op) bool {
	return !ir.Is[tileaa.BufferLoad](read) || tileaa.OnlyProductsTake(read.Result(0))
}

// arrange decides where the copies of each group are begun: at the first wait after the last read of a slot, for the iteration that takes this
// slot next. Where that is the first wait of the next iteration, all of its own slots but one lie ahead.
func arrange(groups []*group, slots int64) {
	for _, g := range groups {
		g.from = max(0, slices.IndexFunc(groups, func(h *group) bool { return g.lastAt < h.firstAt }))
		if g.from == 0 || g.behindAt > groups[g.from].firstAt {
			g.behind = nil
		}
		if g.distance = slots; g.from == 0 && !planted.On("copy-before-read") {
			g.distance--
		}
	}
	order := slices.Clone(groups)
	slices.SortStableFunc(order, func(a, b *group) int { return cmp.Or(a.from-b.from, a.begun()-b.begun()) })
	for n, g := range order {
		g.commit = int64(n)
	}
}

// begun is the place in the body behind which the copies of a group are begun, if that is before a wait.
func (g *group) begun() int {
	if g.behind == nil {
		return math.MaxInt32
	}
	return g.behindAt
}

// byCommit are groups in the order in which an iteration commits them.
func byCommit(groups []*group) []*group {
	return slices.SortedFunc(slices.Values(groups), func(a, b *group) int { return int(a.commit - b.commit) })
}

// staysPending is how many groups may stay in flight at the wait for group i: those committed after its copies for this iteration.
func staysPending(groups []*group, i int) int64 {
	g, n := groups[i], int64(len(groups))
	earlier := int64(0) // commits of this iteration before the wait
	for _, h := range groups {
		if h.from < i || h.from == i && h.behind != nil {
			earlier++
		}
	}
	return g.distance*n + earlier - g.commit - 1
}
