package kernel

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// ChooseAtom is the cheapest way to compute a product, or a part of it, with so many warps; ok is false without any.
func ChooseAtom(s *pass.State, op *ir.Op, e atom.Extent, warps int) (k atom.Candidate, ok bool) {
	for _, types := range OperandTypes(op) {
		takes := func(k atom.Candidate) bool { return groupTakes(s, op, k, warps) && othersTake(s, op, k, warps) }
		if k, ok = AtomOf(s, types, e, warps, takes); !ok {
			continue
		}
		if sum := sumOf(op); k.Atom.Tensor != nil && !k.Swap && (wantsColumns(sum, map[*ir.Value]bool{}) || turnedToRows(sum)) {
			swapped := func(k atom.Candidate) bool { return k.Atom.Tensor != nil && k.Swap && takes(k) }
			if t, found := AtomOf(s, types, e, warps, swapped); found && t.Atom.Rate >= k.Atom.Rate {
				return t, true
			}
		}
		return k, true
	}
	return k, false
}

// sumOf is what a product, and all others of its sum, give.
func sumOf(product *ir.Op) *ir.Value {
	if d, ok := ir.As[tileaa.Dot](product); ok {
		return tileaa.LastOfSum(d).Result()
	}
	return product.Result(0)
}

// othersTake reports whether the other products of a sum can be computed as a candidate of warpgroups for one of them has it, transposed or not: all add to the same registers.
func othersTake(s *pass.State, op *ir.Op, k atom.Candidate, warps int) bool {
	d, ok := ir.As[tileaa.Dot](op)
	if !ok || !k.Atom.ByWarpgroup() {
		return true
	}
	for _, o := range tileaa.SumOf(d) {
		if o == d {
			continue
		}
		alike := func(c atom.Candidate) bool {
			return c.Atom.ByWarpgroup() && c.Swap == k.Swap && groupTakes(s, o.Op, c, warps)
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

// wantsColumns reports whether elementwise steps compute with the result of a product and a row of values that is the same for all rows: a thread that has a row
// of the result holds all of them, one that has a column only one.
func wantsColumns(v *ir.Value, seen map[*ir.Value]bool) bool {
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
		}) || wantsColumns(op.Result(0), seen)
	})
}

// turnedToRows reports whether the result of a product is transposed for who keeps whole rows: columns, as it comes.
func turnedToRows(v *ir.Value) bool {
	return slices.ContainsFunc(v.Uses(), func(u *ir.Use) bool {
		op := u.Owner()
		if op.Code() != tileaa.OpPermute {
			return false
		}
		p := tileaa.PermutationOf(op)
		n := len(p)
		return n > 1 && p[n-1] == n-2 && p[n-2] == n-1 && comesToRows(op.Result(0), true, map[*ir.Value]bool{})
	})
}

// groupTakes reports whether an atom finds the factors of a product where they are: one of a group of warps takes what comes from memory, as it is or
// rounded, from shared memory, and its A, if that is computed, from registers. Where the atom wants K side by side and memory runs along rows or columns,
// A is read to registers, so that copies can bring it, and B comes through registers. So is A that is rounded, unless storedRounded or tileaa.OutlivesIterations. The tensor unit takes what
// threads store for it, whatever they have of it. Of a transposed product a thread has parts of columns there, so it takes none of which rows are reduced or scaled.
// So that a product of warpgroups of which threads keep rows need not be transposed, they store its right factor, if that is computed; so they do a sum that is rounded.
func groupTakes(s *pass.State, op *ir.Op, k atom.Candidate, warps int) bool {
	if k.Atom.Group == 0 {
		return true
	}
	a, b := op.Operand(0), op.Operand(1)
	if k.Swap {
		a, b = b, a
	}
	if k.Atom.Tensor != nil && s.Opt > 0 {
		return !k.Swap || !wantsRows(op, false)
	}
	shared := ComesByCopies(a, k.Atom, k.Swap) || storedRounded(s, op, a, k, warps) || tileaa.OutlivesIterations(a, op)
	if _, _, loaded := tileaa.FactorLoad(b); s.Opt == 0 || k.Atom.SharedA != shared || !loaded && (k.Swap || !sumWantsRows(op) && !roundedSum(b)) {
		return false
	}
	return !tileaa.AddsApart(op, k.Atom) || k.Atom.Shape.N <= mostApart
}

// sumWantsRows is WantsRows of what a product and those behind it in its sum give.
func sumWantsRows(op *ir.Op) bool {
	d, ok := ir.As[tileaa.Dot](op)
	return ok && WantsRows(tileaa.LastOfSum(d).Op)
}

// roundedSum reports whether a factor is what a loop carries or a product gives, rounded.
func roundedSum(v *ir.Value) bool {
	op := v.DefiningOp()
	for op != nil && (op.Code() == tileaa.OpFtof || tileaa.Names(op)) {
		v = op.Operand(0)
		op = v.DefiningOp()
	}
	return op == nil || tileaa.IsProduct(op)
}

// storedRounded reports whether warpgroups take a left factor that is rounded on its way from shared memory, as they do the right one. A product that reads it
// from registers has to be over before they are given the next one, and only those of another block multiply meanwhile: registers have no room for that here.
func storedRounded(s *pass.State, op *ir.Op, a *ir.Value, k atom.Candidate, warps int) bool {
	load, between, loaded := tileaa.FactorLoad(a)
	_, adds := tileaa.OnlyAdds(op)
	if !loaded || !adds || len(tileaa.SumOf(ir.Cast[tileaa.Dot](op))) > 1 || OnlyNamed(between) || load.Block() != op.Block() {
		return false
	}
	return k.Extent.M*k.Extent.N/(32*warps)+StagingReserve > cost.RegisterLimit(s.Target, 32*warps, 2)
}

// WantsRows reports whether threads should keep whole rows of the result of a product: it looks from there to the next product or reduction, and from its left
// operand to the one before.
func WantsRows(op *ir.Op) bool { return wantsRows(op, true) }

// wantsRows is WantsRows; factor says whether a product counts that takes the result as its left factor.
func wantsRows(op *ir.Op, factor bool) bool {
	return madeOfProduct(op.Operand(0)) || comesToRows(op.Result(0), factor, map[*ir.Value]bool{})
}

// comesToRows reports whether a value is reduced, or, if that counts, the left factor of a product, as it is or after elementwise steps, on one way through a branch
// at least.
func comesToRows(v *ir.Value, factor bool, seen map[*ir.Value]bool) bool {
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
			if comesToRows(o.Result(0), factor, seen) {
				return true
			}
		case o.Code() == tileaa.OpYield && o.ParentOp().Code() == tileaa.OpIf:
			if comesToRows(o.ParentOp().Result(u.Index()), factor, seen) {
				return true
			}
		}
	}
	return false
}

// farEnough is the most elementwise steps between the two products of an attention.
const farEnough = 12

// madeOfProduct reports whether elementwise steps make a value of the result of a product.
func madeOfProduct(v *ir.Value) bool {
	level, seen := []*ir.Value{v}, map[*ir.Value]bool{v: true}
	for range farEnough {
		var before []*ir.Value
		for _, v := range level {
			o := v.DefiningOp()
			switch {
			case o == nil || tileaa.AsTile(v) == nil:
			case tileaa.IsProduct(o):
				return true
			case o.Traits().Has(ir.Elementwise), o.Code() == tileaa.OpIf:
				for _, x := range madeOf(o, v) {
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

// madeOf is what an elementwise operation computes a result with, or what the branches of an if yield for it.
func madeOf(op *ir.Op, v *ir.Value) (list []*ir.Value) {
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

// mostApart is the most columns of an instruction whose sums lie beside the accumulators of its product.
const mostApart = 128

// loadedAlong reports whether memory runs along K of a factor, that on the right or on the left, for all that types say.
func loadedAlong(v *ir.Value, right bool) bool {
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

// ComesByCopies reports whether copies can bring a factor, that on the right or on the left, as an atom of a group of warps wants it in shared memory.
func ComesByCopies(v *ir.Value, a *atom.MMA, right bool) bool {
	return LoadedAlone(v) && (a.Turns || loadedAlong(v, right))
}

// LoadedAlone reports whether a factor is loaded for nobody but products; what stands between only names its elements anew.
func LoadedAlone(v *ir.Value) bool {
	_, between, ok := tileaa.FactorLoad(v)
	return ok && OnlyNamed(between)
}

// OnlyNamed reports whether ops between a load and its user name its elements anew, and do not round them.
func OnlyNamed(between []*ir.Op) bool {
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
