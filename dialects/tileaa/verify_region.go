package tileaa

import (
	"fmt"
	"slices"

	"tileiras/ir"
)

// verifyDot checks [B]MxK times [B]KxN plus [B]MxN. The factors are tiles or, after selection, buffers.
func verifyDot(op Dot) string {
	l, r := FactorShape(op.Lhs()), FactorShape(op.Rhs())
	a, t := AsTile(op.Acc()), AsTile(op.Result())
	if a.Elem != t.Elem || !sameShape(a, t) {
		return "needs a result like the accumulator"
	}
	n := len(l)
	if n < 2 || n > 3 || len(r) != n || len(a.Shape) != n {
		return "needs tiles of rank 2 or 3"
	}
	if l[n-1] != r[n-2] || l[n-2] != a.Shape[n-2] || r[n-1] != a.Shape[n-1] ||
		n == 3 && (l[0] != r[0] || l[0] != a.Shape[0]) {
		return "needs shapes MxK, KxN and MxN"
	}
	if p := op.Depths(); len(p) > 0 && (len(p) != 2 || p[0] < 0 || p[0] >= p[1] || p[1] > l[n-1]) {
		return "needs depths [from, to] within K"
	}
	if (op.LhsScale() == nil) != (op.RhsScale() == nil) {
		return "needs scales of both factors or of none"
	}
	if op.LhsScale() != nil && !scalesFit(l, r, FactorShape(op.LhsScale()), FactorShape(op.RhsScale())) {
		return "needs scales of shapes MxS and SxN, S a part of K"
	}
	return ""
}

// verifyDotUses checks a product with those that give its factors and take its result.
func verifyDotUses(op Dot) string {
	if op.InFlight() {
		if wrong := verifyInFlight(op); wrong != "" {
			return wrong
		}
	}
	if keepsRegisters(op) {
		return "has a factor in the registers of a group of warps that is the same in all iterations: it belongs in shared memory"
	}
	return ""
}

// OutlivesIterations reports whether a factor is invariant in the loop of its product. Up to version 13.0, ptxas reuses the registers of such a factor in the loop after
// the first wgmma that reads them (docs/gpu.md), so it must be in shared memory.
func OutlivesIterations(factor *ir.Value, product *ir.Op) bool {
	loop := ir.EnclosingLoop(product)
	return loop != nil && ir.DefinedOutside(factor, loop)
}

// keepsRegisters reports whether a product of a group of warps has a loop-invariant factor in registers.
func keepsRegisters(d Dot) bool {
	if d.Atom() == nil || d.Atom().Atom.Group == 0 {
		return false
	}
	for i, v := range []*ir.Value{d.Lhs(), d.Rhs()} {
		if !d.Atom().Atom.ReadsShared(i, d.Atom().Swap) && OutlivesIterations(v, d.Op) {
			return true
		}
	}
	return false
}

// WaitBehind is the op of its block that waits for a product in flight: the next wait for all, or if there is none the next product that is waited for at once, and with it all
// before it; nil without either.
// Until then the factors of the product must stay in their registers.
func WaitBehind(d Dot) (product *ir.Op) {
	for op := d.Op.Next(); op != nil; op = op.Next() {
		if w, ok := ir.As[DotWait](op); ok && w.Pending() == 0 {
			return op
		}
		if product == nil && EndsProducts(op) {
			product = op
		}
	}
	return product
}

// EndsProducts reports whether an op is a product of a group of warps that is waited for at once, and with it all products before it.
func EndsProducts(op *ir.Op) bool {
	d, ok := ir.As[Dot](op)
	return ok && !d.InFlight() && d.Atom() != nil && d.Atom().Atom.Group > 0
}

// verifyInFlight checks that the result of a product in flight is not read before it is complete: a loop carries it to the product of the next iteration and lands
// it after the last one, or another product accumulates on it in place, or a dot_land waits for it, which needs accumulators that are zero or have no other user.
func verifyInFlight(d Dot) string {
	if d.Atom() == nil || d.Atom().Atom.Group == 0 || !d.Atom().Atom.SharedA && WaitBehind(d) == nil {
		return "is in flight, which only products of groups of warps can be, that read both factors in shared memory or are waited for in their block"
	}
	if carried, alone := OnlyAdds(d.Op); alone {
		if loop, ok := ir.As[For](d.Op.ParentOp()); ok && slices.Contains(loop.Lands(), int64(carried)) {
			return ""
		}
	}
	prev, further := PrevInSum(d)
	begins := further && prev.InFlight() || !LastOfSum(d).InFlight()
	if d.Atom().Atom.Tensor != nil {
		_, scaled := ir.DefinedBy[SumsScale](d.Acc())
		begins = begins || scaled || AddsToNothing(d) || carriedFromStore(d.Acc())
	} else {
		begins = (begins || AddsToNothing(d) || d.Acc().HasOneUse()) && WaitBehind(d) != nil
	}
	_, added := NextInSum(d)
	if ends := added || d.Result().HasUses() && !slices.ContainsFunc(d.Result().Uses(), func(u *ir.Use) bool { return !takesInFlight(u.Owner()) }); !begins || !ends {
		return "is in flight, and does not add alone to what a loop carries and lands, nor to nothing, to what nobody else takes, or to sums in tensor memory, for a dot_land or a product that adds to it"
	}
	return ""
}

// takesInFlight reports whether an op may use the result of a product in flight: it passes it on, or waits for it.
func takesInFlight(op *ir.Op) bool {
	return op.Code() == OpContinue || op.Code() == OpFor || op.Code() == OpDotLand
}

// carriedFromStore reports whether a loop carries a value from a sums_store.
func carriedFromStore(v *ir.Value) bool {
	flow, index, found := carriedBy(v)
	if !found {
		return false
	}
	_, stored := ir.DefinedBy[SumsStore](flow.InitUse(index).Value())
	return stored
}

// ProductOf is the product whose accumulators in tensor memory an op stores, scales or loads.
func ProductOf(op SumsOp) (d Dot, ok bool) {
	if op.Op.Code() == OpSumsStore {
		return InTensorMemory(op.Result())
	}
	return InTensorMemory(op.Source())
}

// InTensorMemory finds the product in flight of the tensor unit whose result a value is, through loops that carry it: the value is in tensor memory. ok is false for others.
func InTensorMemory(v *ir.Value) (d Dot, ok bool) {
	if d, ok = ir.DefinedBy[Dot](v); ok {
		return d, d.inUnit()
	}
	if _, stored := ir.DefinedBy[SumsStore](v); stored && v.HasOneUse() {
		if flow, loop := ir.LoopOf(v.FirstUse().Owner()); loop {
			if i, first := flow.InitIndex(v.FirstUse().Index()); first {
				return InTensorMemory(flow.Carried()[i])
			}
		}
		return Dot{}, false
	}
	flow, index, found := carriedBy(v)
	if !found {
		return Dot{}, false
	}
	if loop, isFor := ir.As[For](flow.Op); !isFor || !v.IsArg() && slices.Contains(loop.Lands(), int64(index)) {
		return Dot{}, false
	}
	for _, end := range flow.Continues() {
		if d, ok = ir.DefinedBy[Dot](end.Operand(index)); ok {
			return d, d.inUnit()
		}
	}
	return Dot{}, false
}

// inUnit reports whether the tensor unit has a product in flight.
func (d Dot) inUnit() bool { return d.InFlight() && d.Atom() != nil && d.Atom().Atom.Tensor != nil }

// LandedMemory is the tensor memory from which a loop loads accumulators to registers when it ends.
func LandedMemory(loop For) (memory []*ir.Value) {
	flow, _ := ir.LoopOf(loop.Op)
	for _, i := range loop.Lands() {
		if d, ok := InTensorMemory(flow.Carried()[i]); ok {
			memory = append(memory, d.Memory())
		}
	}
	return memory
}

// carriedBy finds the loop that carries a value, which is an argument of its body or, of a counted loop, one of its results, and the index of the carried value.
func carriedBy(v *ir.Value) (flow ir.Flow, index int, ok bool) {
	if v.IsArg() {
		if flow, ok = ir.LoopOf(v.Block().ParentOp()); !ok {
			return flow, 0, false
		}
		index, ok = flow.CarriedIndex(v)
		return flow, index, ok
	}
	flow, ok = ir.LoopOf(v.DefiningOp())
	return flow, v.Index(), ok && flow.Kind == ir.CountedFlow
}

// scalesFit checks the shapes of factors l and r against those of their scales.
func scalesFit(l, r, ls, rs []int64) bool {
	n := len(l)
	if len(ls) != n || len(rs) != n || ls[n-2] != l[n-2] || rs[n-1] != r[n-1] || n == 3 && (ls[0] != l[0] || rs[0] != l[0]) {
		return false
	}
	return ls[n-1] == rs[n-2] && l[n-1]%ls[n-1] == 0
}

// FactorShape is the shape of a factor of a product, a tile or, after selection, a buffer.
func FactorShape(v *ir.Value) []int64 {
	if t, ok := v.Type().(*BufferType); ok {
		return t.Shape
	}
	return AsTile(v).Shape
}

// verifyCombine checks the operands, results and region of a reduce or scan. The region's arguments are, for each
// operand, an element and the accumulator.
func verifyCombine(op CombineOp) string {
	in, results := op.Operands(), op.Results()
	if len(in) == 0 || len(results) != len(in) {
		return "needs one result for each operand"
	}
	if len(op.Identities()) != len(in) {
		return "needs one identity for each operand"
	}
	if wrong := dimInRange(op.Dim(), len(AsTile(in[0]).Shape)); wrong != "" {
		return wrong
	}
	dim := int(op.Dim())
	body := op.Op.Body()
	if body == nil || body.NumArgs() != 2*len(in) || body.Terminator() == nil || body.Terminator().NumOperands() != len(in) {
		return "needs a region with two arguments and one yielded value for each operand"
	}
	for i, v := range in {
		t, r := AsTile(v), AsTile(results[i])
		if !slices.Equal(t.Shape, AsTile(in[0]).Shape) || t.Elem != r.Elem {
			return "needs operands of one shape, and results of their element types"
		}
		want := t.Shape
		if ir.Is[Reduce](op.Op) {
			want = slices.Delete(slices.Clone(t.Shape), dim, dim+1)
		}
		if !slices.Equal(r.Shape, want) {
			return fmt.Sprintf("needs results of shape %v", want)
		}
		for _, e := range []*ir.Value{body.Arg(2 * i), body.Arg(2*i + 1), body.Terminator().Operand(i)} {
			if s := AsTile(e); s == nil || len(s.Shape) != 0 || s.Elem != t.Elem {
				return "needs a region of rank-0 tiles of the operands' elements"
			}
		}
	}
	return ""
}

// verifyBlock checks a block_tile against its memref.
func verifyBlock(op BlockTile) string {
	m, b := op.Memref().Type().(*MemrefType), op.Result().Type().(*BlockType)
	if m.Elem != b.Elem {
		return "makes a block of the elements of a memref"
	}
	n := len(b.Shape)
	traversal, dimMap, indices := op.Traversal(), op.DimMap(), op.Indices()
	if len(m.Shape) != n || len(traversal) != n || len(dimMap) != n || len(indices) != n {
		return "needs one index, traversal stride and array dimension for each dimension of the block"
	}
	if in := op.Inbounds(); in != nil && len(in) != n {
		return "needs one inbounds flag for each dimension of the block"
	}
	sparse := -1
	if s, ok := op.SparseDim(); ok {
		sparse = int(s)
		if sparse < 0 || sparse >= n {
			return "needs a sparse dimension that the block has"
		}
	}
	seen := make([]bool, n)
	for d, a := range dimMap {
		if a < 0 || int(a) >= n || seen[a] {
			return "needs a dim_map that is a permutation"
		}
		seen[a] = true
		if traversal[d] <= 0 {
			return "needs positive traversal strides"
		}
		t := AsTile(indices[d])
		if d != sparse && len(t.Shape) != 0 || d == sparse && !slices.Equal(t.Shape, b.Shape[d:d+1]) {
			return "needs rank-0 integers as indices, and a tile of coordinates along the sparse dimension"
		}
	}
	return ""
}

// sameValueTypes compares the types of values with those of others.
func sameValueTypes(a, b []*ir.Value) bool {
	return slices.EqualFunc(a, b, func(x, y *ir.Value) bool { return x.Type() == y.Type() })
}

func verifyFor(op For) string {
	body, inits := op.Body(), op.Inits()
	if body.NumArgs() != len(inits)+1 || body.Arg(0).Type() != op.Lower().Type() ||
		!sameValueTypes(body.Args()[1:], inits) || !sameValueTypes(op.Results(), inits) {
		return "needs a body whose arguments are the induction variable and the carried values, and results like these"
	}
	if end := body.Terminator(); end == nil || end.Code() != OpContinue {
		return "needs a body that ends in continue"
	}
	for _, i := range op.Lands() {
		if i < 0 || i >= int64(len(inits)) {
			return fmt.Sprintf("lands value %d of the %d that it carries", i, len(inits))
		}
	}
	return ""
}

// verifyLands checks that a loop lands products in flight, and that nobody looks in registers for those that it carries.
func verifyLands(op For) string {
	body := op.Body()
	for _, i := range op.Lands() {
		if d, ok := ir.DefinedBy[Dot](body.Terminator().Operand(int(i))); !ok || !d.InFlight() {
			return fmt.Sprintf("lands value %d that it carries, which is no product in flight", i)
		}
	}
	for i, v := range body.Terminator().Operands() {
		if d, ok := ir.DefinedBy[Dot](v); !ok || !d.inUnit() {
			continue
		}
		if wrong := onlySums(body.Arg(i + 1)); wrong != "" {
			return wrong
		}
		if wrong := onlySums(op.Results()[i]); wrong != "" && !slices.Contains(op.Lands(), int64(i)) {
			return wrong
		}
	}
	return ""
}

// verifySumsStore checks that a loop begins with what is stored, and that a product of the loop adds to it.
func verifySumsStore(s SumsStore) string {
	if wrong := onlySums(s.Result()); wrong != "" {
		return wrong
	}
	if _, there := InTensorMemory(s.Result()); !there {
		return "is for no loop that adds to it in tensor memory"
	}
	return ""
}

// onlySums checks the users of a value in tensor memory, which has no registers: products accumulate on it, loops carry it, and sums ops store, scale and load it.
func onlySums(v *ir.Value) string {
	for u := v.FirstUse(); u != nil; u = u.Next() {
		_, onSums := ir.As[SumsOp](u.Owner())
		adds := IsProduct(u.Owner()) && u.Index() == accumulator
		over := u.Owner().Code() == OpFactorStore && u.Index() > 0
		if !takesInFlight(u.Owner()) && !adds && !over && (!onSums || u.Index() > 0) {
			return fmt.Sprintf("has sums in tensor memory, where %s does not look for them", u.Owner().Name())
		}
	}
	return ""
}

func verifyLoop(op Loop) string {
	if !sameValueTypes(op.Body().Args(), op.Inits()) {
		return "needs a body whose arguments are the carried values"
	}
	return ""
}

func verifyIf(op If) string {
	if len(op.Results()) > 0 && op.Else() == nil {
		return "has results and needs an else branch"
	}
	for _, b := range []*ir.Block{op.Then(), op.Else()} {
		if b == nil {
			continue
		}
		end := b.Terminator()
		if end == nil {
			return "needs branches that end in a terminator"
		}
		if end.Code() == OpYield && !sameValueTypes(end.Operands(), op.Results()) {
			return "needs branches that yield values of the types of the results"
		}
	}
	return ""
}

// verifyRoles checks that an entry consists of roles and what all warps do before them, and ends with them.
func verifyRoles(op Roles) string {
	end := op.Body().Terminator()
	switch next := op.Op.Next(); {
	case op.Op.ParentOp() == nil || op.Op.ParentOp().Code() != OpEntry:
		return "must be in the block of an entry"
	case next == nil || next.Code() != OpReturn:
		return "must be followed by the return"
	}
	warps := 0
	for _, o := range op.Body().Ops() {
		if o != end && o.Code() != OpRole {
			return "needs a body of roles"
		}
		if r, ok := ir.As[Role](o); ok {
			warps += int(min(r.Warps(), mostWarps+1))
		}
	}
	if p := (Entry{op.Op.ParentOp()}).Plan(); p != nil && warps != p.Warps+p.Producers {
		return fmt.Sprintf("has roles for %d warps, and %d take them", warps, p.Warps+p.Producers)
	}
	return ""
}

// nestedIn checks the parent of an op, and what a terminator carries out of its loop.
func nestedIn(parents ...ir.Code) verifier {
	return func(op *ir.Op) string {
		if p := op.ParentOp(); p == nil || !slices.Contains(parents, p.Code()) {
			var names []string
			for _, c := range parents {
				names = append(names, opRows[c.Index()-1].Name)
			}
			return fmt.Sprintf("must be inside one of %v", names)
		}
		if k := op.Def.Flow.Kind; k != ir.BreakFlow && k != ir.ContinueFlow {
			return ""
		}
		f, ok := ir.LoopOf(ir.Target(op))
		switch {
		case !ok || f.Kind == ir.CountedFlow && ir.Is[Break](op):
			return "has no loop around it"
		case ir.Is[Continue](op) && !sameValueTypes(op.Operands(), f.Inits()):
			return "needs values of the types of the carried ones"
		case ir.Is[Break](op) && !sameValueTypes(op.Operands(), f.Op.Results()):
			return "needs values of the types of the loop's results"
		}
		return ""
	}
}
