package plan

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// VersionLoops makes a second version of code that loads from arrays or stores to arrays of which nobody promises that rows begin at multiples of 16
// bytes, or that elements of a row lie side by side. One test before it says which version runs; in the first one it is a promise.
//
//	%m = make_memref %a, strides(%s, %u)        %ok = (%a | %s * bytes) % 16 == 0 && %u == 1
//	for .. {                               =>   if %ok { assume; %m1 = make_memref %a1, strides(%s1, 1); for .. { tiled_load %m1 } }
//	  tiled_load (block_tile %m) ..             else { for .. { tiled_load %m } }
//	}
//
// For pointers it asks the same of the parameters from which they follow, of as few as will do, and where factors of products are loaded from rows or columns that are
// remainders, as Triton wraps them, whether what is divided is not negative: then they count up between multiples of the divisor. Where all of this is promised, it asks
// whether rows of factors end where a copy of 16 bytes does.
//
// A nest of loops with products is long code: it has two versions only if accesses in the loops that multiply are narrow. What stands beside such loops, in
// the same block, has versions of its own: results are stored by 16 bytes where their array allows it, however factors are loaded.
func VersionLoops(s *pass.State) error {
	for _, entry := range s.Entries() {
		v := &versioner{s: s, entry: entry, known: facts.New(s.Ctx, entry), sumsInTensor: tileaa.PlanOf(entry).SumsInTensor}
		v.block(entry.Body())
	}
	return nil
}

// versioner works on an entry.
type versioner struct {
	s            *pass.State
	entry        *ir.Op
	known        *facts.Facts // of values that stay, or are replaced by equal ones
	failures     int          // accesses that nothing could make wide
	sumsInTensor bool         // the plan has pieces of sums brought to registers behind loops
}

// block makes versions in a block: of nests, and of what stands between them.
func (v *versioner) block(b *ir.Block) {
	var between []*ir.Op
	ops := b.Ops()
	for len(ops) > 0 {
		op := ops[0]
		ops = ops[1:]
		switch {
		case op == b.Terminator():
		case kernel.Multiplies(op):
			v.straight(between)
			behind := v.takePieces(op, ops)
			v.nest(op, behind)
			between, ops = nil, ops[len(behind):]
		default:
			between = append(between, op)
		}
	}
	v.straight(between)
}

// takePieces are the first of some operations, up to the last that takes a piece of what a loop has left in tensor memory, and what is computed with that.
// They have to stay beside the loop.
func (v *versioner) takePieces(loop *ir.Op, ops []*ir.Op) []*ir.Op {
	if !v.sumsInTensor || !slices.ContainsFunc(loop.Results(), isTakenInPieces) {
		return nil
	}
	from, last := map[*ir.Op]bool{}, 0
	takes := func(x *ir.Value) bool { return x.DefiningOp() == loop || tileaa.IsRanked(x) && from[x.DefiningOp()] }
	for i, op := range ops {
		if slices.ContainsFunc(ir.Taken(op), takes) {
			from[op], last = true, i+1
		}
	}
	return ops[:last]
}

// takesPiece reports whether an op takes a piece of what a loop leaves in tensor memory.
func (v *versioner) takesPiece(op *ir.Op) bool {
	e, ok := ir.As[tileaa.Extract](op)
	return v.sumsInTensor && ok && ir.Is[tileaa.For](e.Source().DefiningOp()) && isTakenInPieces(e.Source())
}

func isTakenInPieces(v *ir.Value) bool {
	_, ok := kernel.ConstantExtracts(v)
	return ok
}

// within makes versions in the blocks of an op.
func (v *versioner) within(op *ir.Op) {
	for b := range op.Blocks() {
		v.block(b)
	}
}

// nest makes versions of a nest with products, of what its loops with products access, and versions in it, of the first if there are two. What stands behind and
// takes pieces of its sums is part of each version, and has versions of its own there.
func (v *versioner) nest(op *ir.Op, behind []*ir.Op) {
	loops := map[*ir.Op]bool{}
	v.s.Walk(op, ir.PreOrder, func(in *ir.Op) {
		if tileaa.IsProduct(in) {
			loops[ir.EnclosingLoop(in)] = true
		}
	})
	feeds := factorLoads(v.s, op)
	x := &version{versioner: v, feeds: feeds, members: []*ir.Op{op}, has: map[*ir.Op]bool{op: true}}
	v.s.Walk(op, ir.PreOrder, func(in *ir.Op) {
		if feeds[in] || loops[ir.EnclosingLoop(in)] {
			x.suppose(in, func(y *ir.Value) bool { return ir.DefinedOutside(y, op) })
		}
	})
	if len(x.promises) == 0 && cost.BoundsIssueCounts(v.s.Target) {
		v.s.Walk(op, ir.PreOrder, func(in *ir.Op) {
			if feeds[in] {
				x.supposeWhole(in, func(y *ir.Value) bool { return ir.DefinedOutside(y, op) })
			}
		})
	}
	x.gather(behind)
	if len(x.promises) > 0 && (len(behind) == 0 || !slices.ContainsFunc(x.members, x.leaks)) {
		first := x.split()
		v.straight(slices.Clone(x.members[1:]))
		op, behind = first[0], first[1:]
	}
	v.within(op)
	v.straight(behind)
}

// straight makes versions of operations that stand side by side, and versions in what has none.
func (v *versioner) straight(ops []*ir.Op) {
	x := v.versionOf(ops)
	if x != nil {
		x.split()
	}
	for _, op := range ops {
		if x == nil || !x.has[op] {
			v.within(op)
		}
	}
}

// maxEnds bounds how often a version of straight code is made shorter.
const maxEnds = 4

// versionOf finds the operations to have two versions of: from where the test can be made to the end, but for what makes a tile that is needed behind it. They
// begin with a load, so that a tile and another to which it is added come to lie in threads in one way.
func (v *versioner) versionOf(ops []*ir.Op) *version {
	at := make(map[*ir.Op]int, len(ops))
	for i, op := range ops {
		at[op] = i
	}
	for range maxEnds {
		x := &version{versioner: v, has: map[*ir.Op]bool{}}
		first, tested := len(ops), -1 // the first op that gains, and the last that is tested
		for i, op := range ops {
			testable := func(y *ir.Value) bool { return place(at, op.Block(), y) < min(first, i) }
			v.s.Walk(op, ir.PreOrder, func(in *ir.Op) {
				if x.suppose(in, testable) {
					first = min(first, i)
				}
			})
		}
		if len(x.promises) == 0 {
			return nil
		}
		for _, p := range x.promises {
			tested = max(tested, place(at, ops[0].Block(), p.value))
		}
		for i := first - 1; i > tested && !tileaa.IsProduct(ops[i]); i-- {
			if _, load := ir.As[tileaa.LatencyOp](ops[i]); load && tileaa.IsRanked(ops[i].Result(0)) {
				first = i
			}
		}
		x.gather(ops[first:])
		i := slices.IndexFunc(x.members, x.leaks)
		if i < 0 {
			return x
		}
		ops = ops[:at[x.members[i]]]
	}
	return nil
}

// place is the number of the op of a block in which a value is made, -1 if that is none of those that are numbered.
func place(at map[*ir.Op]int, b *ir.Block, v *ir.Value) int {
	if op := v.DefiningOp(); op != nil {
		if i, ok := at[op.AncestorIn(b)]; ok {
			return i
		}
	}
	return -1
}

// gather takes for members what has effects or needs members, and pieces of what a loop has left in tensor memory: in front of the test, all would be in registers.
func (v *version) gather(ops []*ir.Op) {
	for _, op := range ops {
		v.s.Step()
		needs := func(x *ir.Value) bool { return x.DefiningOp() != nil && v.has[x.DefiningOp().AncestorIn(op.Block())] }
		if !op.Traits().Has(ir.Pure|ir.Speculatable) || v.takesPiece(op) || slices.ContainsFunc(ir.Taken(op), needs) {
			v.members, v.has[op] = append(v.members, op), true
		}
	}
}

// leaks reports whether a member makes what others need and what cannot come out of a branch, or not without a cost.
func (v *version) leaks(op *ir.Op) bool {
	for _, r := range op.Results() {
		if _, token := r.Type().(*tileaa.TokenType); token || tileaa.AsTile(r) != nil && !tileaa.IsRanked(r) {
			continue
		}
		for u := r.FirstUse(); u != nil; u = u.Next() {
			if !v.has[u.Owner().AncestorIn(op.Block())] {
				return true
			}
		}
	}
	return false
}
