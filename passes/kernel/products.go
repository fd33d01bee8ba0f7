package kernel

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// ChooseAtom is the cheapest instruction for a product, or a part of it, with so many warps; ok is false without any.
func ChooseAtom(s *pass.State, op *ir.Op, e atom.Extent, warps int) (k atom.Candidate, ok bool) {
	for _, types := range OperandTypes(op) {
		takes := func(k atom.Candidate) bool {
			return tensorMemoryHolds(k, e) && atomTakesOperands(s, op, k, warps) && sumTakesAtom(s, op, k, warps)
		}
		if k, ok = AtomOf(s, types, e, warps, takes); !ok {
			continue
		}
		if sum := sumResult(op); k.Atom.Tensor != nil && !k.Swap && combinesWithRow(sum, map[*ir.Value]bool{}) {
			swapped := func(k atom.Candidate) bool { return k.Atom.Tensor != nil && k.Swap && takes(k) }
			if t, found := AtomOf(s, types, e, warps, swapped); found && t.Atom.Rate >= k.Atom.Rate {
				return t, true
			}
		}
		return k, true
	}
	return k, false
}

// tensorMemoryHolds reports whether there are columns for the scales of a product beside its sums.
func tensorMemoryHolds(k atom.Candidate, e atom.Extent) bool {
	n := k.Atom.ScaleColumnsOf(e)
	return n == 0 || k.Atom.Tensor.ColumnsOf(k.Extent.Rows()*k.Extent.N)+atom.WholeColumns(n) <= atom.TensorColumns
}

// scaledInPieces reports whether threads scale the operands of a product for which there is an instruction that multiplies by the scales, but no room: pieces of
// it have that.
func scaledInPieces(s *pass.State, op *ir.Op, k atom.Candidate, warps int) bool {
	if !tileaa.IsScaled(op) || k.Atom.Scaled() {
		return false
	}
	scaled, ok := AtomOf(s, OperandTypes(op)[0], ExtentOf(op), warps, nil)
	return ok && !tensorMemoryHolds(scaled, ExtentOf(op))
}

// sumResult is the result of the chain of accumulating products that a product belongs to.
func sumResult(product *ir.Op) *ir.Value {
	if d, ok := ir.As[tileaa.Dot](product); ok {
		return tileaa.LastOfSum(d).Result()
	}
	return product.Result(0)
}

// sumTakesAtom reports whether the other products of an accumulation chain can use a wgmma candidate chosen for one of them, transposed or
// not: all add to the same registers.
func sumTakesAtom(s *pass.State, op *ir.Op, k atom.Candidate, warps int) bool {
	d, ok := ir.As[tileaa.Dot](op)
	if !ok || !k.Atom.ByWarpgroup() {
		return true
	}
	for _, o := range tileaa.SumOf(d) {
		if o == d {
			continue
		}
		alike := func(c atom.Candidate) bool {
			return c.Atom.ByWarpgroup() && c.Swap == k.Swap && atomTakesOperands(s, o.Op, c, warps)
		}
		if !slices.ContainsFunc(OperandTypes(o.Op), func(types atom.Types) bool {
			_, ok := AtomOf(s, types, ExtentOf(o.Op), warps, alike)
			return ok
		}) {
			return false
		}
	}
	return true
}

// combinesWithRow reports whether elementwise operations combine a product's result with a broadcast row vector: a thread that holds a row
// of the result needs all of that vector, one that holds a column needs one element.
func combinesWithRow(v *ir.Value, seen map[*ir.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	return slices.ContainsFunc(v.Uses(), func(u *ir.Use) bool {
		op := u.Owner()
		if !op.Traits().Has(ir.Elementwise) {
			return false
		}
		return slices.ContainsFunc(op.Operands(), func(o *ir.Value) bool {
			b := o.DefiningOp()
			if b == nil || b.Code() != tileaa.OpBroadcast {
				return false
			}
			from := tileaa.ShapeOf(b.Operand(0))
			n := len(from)
			return n > 1 && from[n-2] == 1 && from[n-1] > 1
		}) || combinesWithRow(op.Result(0), seen)
	})
}

// atomTakesOperands reports whether an atom can read the factors of a product where they are. A wgmma reads what is loaded, as it is or
// rounded, from shared memory, and a computed A from registers. Where the atom wants K contiguous and memory is contiguous along rows or
// columns, A is read into registers, so that copies can bring it, and B comes through registers. So is an A that is rounded, unless
// storesRoundedFactor or tileaa.OutlivesIterations. The tensor unit takes whatever threads store for it; of a transposed product a thread
// holds parts of columns, so none whose rows are reduced or rescaled is taken. A computed right factor of a wgmma is stored to shared
// memory if threads keep rows of the result, which then need not be transposed, and so is a rounded sum.
func atomTakesOperands(s *pass.State, op *ir.Op, k atom.Candidate, warps int) bool {
	if k.Atom.Group == 0 {
		return true
	}
	a, b := op.Operand(0), op.Operand(1)
	if k.Swap {
		a, b = b, a
	}
	if k.Atom.Tensor != nil && s.Optimizes(op) {
		return !k.Swap || !wantsRows(op, false)
	}
	shared := CopiesSuit(a, k.Atom, k.Swap) || storesRoundedFactor(s, op, a, k, warps) || tileaa.OutlivesIterations(a, op)
	if _, _, loaded := tileaa.FactorLoad(b); !s.Optimizes(op) || k.Atom.SharedA != shared || !loaded && (k.Swap || !sumWantsRows(op) && !isRoundedSum(b)) {
		return false
	}
	return !tileaa.AddsApart(op, k.Atom) || k.Atom.Shape.N <= maxSeparateColumns
}

// sumWantsRows is WantsRows of the last product of an accumulation chain.
func sumWantsRows(op *ir.Op) bool {
	d, ok := ir.As[tileaa.Dot](op)
	return ok && WantsRows(tileaa.LastOfSum(d).Op)
}

// isRoundedSum reports whether a factor is a loop-carried value or the result of a product, rounded.
func isRoundedSum(v *ir.Value) bool {
	op := v.DefiningOp()
	for op != nil && (op.Code() == tileaa.OpFtof || tileaa.IsRelabeling(op)) {
		v = op.Operand(0)
		op = v.DefiningOp()
	}
	return op == nil || tileaa.IsProduct(op)
}

// storesRoundedFactor reports whether a left factor that is rounded on its way is stored to shared memory for wgmma, as right ones are. A
// wgmma that reads it from registers must be complete before these are written for the next one, and only another block can multiply
// meanwhile: that is not worth it where registers leave no room for a second block.
func storesRoundedFactor(s *pass.State, op *ir.Op, a *ir.Value, k atom.Candidate, warps int) bool {
	load, between, loaded := tileaa.FactorLoad(a)
	_, adds := tileaa.OnlyAdds(op)
	if !loaded || !adds || len(tileaa.SumOf(ir.Cast[tileaa.Dot](op))) > 1 || OnlyViews(between) || load.Block() != op.Block() {
		return false
	}
	return k.Extent.M*k.Extent.N/(layout.WarpSize*warps)+StagingReserve > cost.RegisterLimit(s.Target, layout.WarpSize*warps, 2)
}

// WantsRows reports whether threads should keep whole rows of a product's result: whether it flows to the next product or to a reduction,
// or its left operand comes from another product.
func WantsRows(op *ir.Op) bool { return wantsRows(op, true) }

// wantsRows is WantsRows; factor says whether a product that takes the result as its left factor counts.
func wantsRows(op *ir.Op, factor bool) bool {
	return DerivedFromProduct(op.Operand(0)) || reachesRowConsumer(op.Result(0), factor, map[*ir.Value]bool{})
}

// reachesRowConsumer reports whether a value, directly, by elementwise operations or out of a branch, is reduced or, if factor, is the left
// factor of a product.
func reachesRowConsumer(v *ir.Value, factor bool, seen map[*ir.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	for u := v.FirstUse(); u != nil; u = u.Next() {
		o := u.Owner()
		switch {
		case o.Code() == tileaa.OpReduce, factor && tileaa.IsProduct(o) && u.Index() == 0:
			return true
		case o.Traits().Has(ir.Elementwise):
			if reachesRowConsumer(o.Result(0), factor, seen) {
				return true
			}
		case o.Code() == tileaa.OpYield && o.ParentOp().Code() == tileaa.OpIf:
			if reachesRowConsumer(o.ParentOp().Result(u.Index()), factor, seen) {
				return true
			}
		}
	}
	return false
}

// maxStepsBetweenProducts bounds the chain of operations between two products, such as those of an attention or the activation of a
// network: the time of each question is bounded.
const maxStepsBetweenProducts = 64

// DerivedFromProduct reports whether a value is computed from a product's result by elementwise operations and branches, and so is in
// registers.
func DerivedFromProduct(v *ir.Value) bool {
	level, seen := []*ir.Value{v}, map[*ir.Value]bool{v: true}
	for range maxStepsBetweenProducts {
		var before []*ir.Value
		for _, v := range level {
			o := v.DefiningOp()
			switch {
			case o == nil || tileaa.AsTile(v) == nil:
			case tileaa.IsProduct(o):
				return true
			case o.Traits().Has(ir.Elementwise), o.Code() == tileaa.OpIf:
				for _, x := range sourcesOf(o, v) {
					if !seen[x] {
						seen[x] = true
						before = append(before, x)
					}
				}
			}
		}
		level = before
	}
	return false
}

// sourcesOf lists the operands of an elementwise operation, or the values that the branches of an if yield for result v.
func sourcesOf(op *ir.Op, v *ir.Value) (list []*ir.Value) {
	if op.Code() != tileaa.OpIf {
		return op.Operands()
	}
	for _, r := range op.Regions() {
		if last := r.Front().Terminator(); last.Code() == tileaa.OpYield {
			list = append(list, last.Operand(v.Index()))
		}
	}
	return list
}

// maxSeparateColumns is the most columns of an instruction that sums to registers of its own, beside the accumulators.
const maxSeparateColumns = 128

// contiguousAlongK reports whether a factor, the right one or the left one, is loaded from memory that is contiguous along K, as far as
// types say.
func contiguousAlongK(v *ir.Value, right bool) bool {
	load, between, ok := tileaa.FactorLoad(v)
	if !ok || len(between) > 0 {
		return false
	}
	block, ok := tileaa.BlockOf(load)
	if !ok {
		return false
	}
	t := tileaa.AsTile(v)
	k := len(t.Shape) - 1
	if right {
		k--
	}
	return block.Memref().Type().(*tileaa.MemrefType).Strides[block.DimMap()[k]] == 1
}

// CopiesSuit reports whether asynchronous copies can bring a factor, the right one or the left one, to shared memory as an atom of a
// warpgroup reads it.
func CopiesSuit(v *ir.Value, a *atom.MMA, right bool) bool {
	return LoadedForProductsOnly(v) && (a.TakesMNMajor || contiguousAlongK(v, right))
}

// LoadedForProductsOnly reports whether a factor is a load that only products use, with nothing but views between.
func LoadedForProductsOnly(v *ir.Value) bool {
	_, between, ok := tileaa.FactorLoad(v)
	return ok && OnlyViews(between)
}

// OnlyViews reports whether the ops between a load and its user are views (reshapes, permutes), not conversions that round.
func OnlyViews(between []*ir.Op) bool {
	return !slices.ContainsFunc(between, func(op *ir.Op) bool { return op.Code() == tileaa.OpFtof })
}

// AtomOf is the cheapest way to compute a product of tiles of these types, in the PTX that the driver reads, among those that takes accepts (nil: all).
func AtomOf(s *pass.State, types atom.Types, e atom.Extent, warps int, takes func(atom.Candidate) bool) (k atom.Candidate, ok bool) {
	limit, limited := target.ParsePTX(s.MaxPTX)
	for _, k := range cost.Products(s.Target, types, e) {
		if limited && k.Atom.Need.Version(s.Target) > limit || takes != nil && !takes(k) {
			continue
		}
		if !k.Padded(e) && len(atom.Splits(k.Atom, e, warps, k.Swap)) > 0 {
			return k, true
		}
	}
	return atom.Candidate{Extent: e, A: types.A, B: types.B}, false
}

// OperandTypes names the element types of a product as atoms do: its own first, then those to which operands are scaled where no instruction
// multiplies by the scales. A value of at most 4 significant bits times a scale of at most 4 is exact in bf16.
func OperandTypes(op *ir.Op) []atom.Types {
	own := tileaa.TypesOf(ir.Cast[tileaa.Dot](op))
	if own.Scale == (atom.Scale{}) {
		return []atom.Types{own}
	}
	return []atom.Types{own, {A: atom.BF16, B: atom.BF16, C: own.C}}
}

// TilingOf is how warps share a product, as its atom says; ok is false for what is none, or where it does not fit.
func TilingOf(op *ir.Op) (t atom.Tiling, ok bool) {
	d, ok := ir.As[tileaa.Dot](op)
	if !ok {
		return t, false
	}
	return tileaa.TilingOf(d)
}

// ExtentOf is the extent of a product.
func ExtentOf(op *ir.Op) atom.Extent { return tileaa.ExtentOf(ir.Cast[tileaa.Dot](op)) }
