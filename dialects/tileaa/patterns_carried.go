package tileaa

import (
	"slices"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// steppedCarried: a carried tile of pointers or integers to which every iteration of a for adds a splat is split into its initial value, which is
// loop-invariant, and a carried scalar sum: one register instead of one per element.
//
//	for inits(%first) (%p) {                  for inits(0) (%sum) {
//	  .. %p ..                          =>      .. offset %first, (splat %sum) ..
//	  continue (offset %p, splat %s)            continue (addi %sum, %s)
//	}                                         }
//
// Pointers move by numbers of 64 bits, because the sum may need more than the steps.
func steppedCarried(b *ir.Builder, op *ir.Op) bool {
	f, _ := ir.LoopOf(op)
	for i, arg := range f.Carried() {
		t := AsTile(arg)
		if t == nil || len(t.Shape) == 0 {
			continue
		}
		var sum *TileType
		switch t.Elem.(type) {
		case *PtrType:
			sum = Tile(b.Ctx, b.Ctx.Int(64))
		case *ir.IntegerType:
			sum = Tile(b.Ctx, t.Elem)
		default:
			continue
		}
		steps := make([][]*ir.Value, 0, 1)
		for _, c := range f.Continues() {
			if s, ok := stepsFrom(c.Operand(i), arg); ok && len(s) > 0 {
				steps = append(steps, s)
			}
		}
		if len(steps) == len(f.Continues()) && len(steps) > 0 {
			carrySum(b, f, i, sum, steps)
			return true
		}
	}
	return false
}

// stepsFrom lists the splats that are added to from, one after the other, to make v.
func stepsFrom(v, from *ir.Value) (steps []*ir.Value, ok bool) {
	for v != from {
		op := v.DefiningOp()
		if op == nil || op.Code() != OpOffset && op.Code() != OpAddi || !IsSplat(op.Operand(1)) {
			return nil, false
		}
		steps = append(steps, op.Operand(1))
		v = op.Operand(0)
	}
	return steps, true
}

// carrySum replaces carried value i by the scalar sum of the steps of each continue.
func carrySum(b *ir.Builder, f ir.Flow, i int, sum *TileType, steps [][]*ir.Value) {
	op := f.Op
	arg, inits := f.Carried()[i], f.Inits()
	first := inits[i]
	at := func(sums *ir.Value) { // puts first and a sum in the place of a value
		whole := AsTile(first)
		tile := NewSplat(b, whole.WithElem(b.Ctx, sum.Elem), sums)
		var v *ir.Value
		if _, ptr := whole.Elem.(*PtrType); ptr {
			v = NewOffset(b, first, tile.Result(), OffsetOptions{}).Result()
		} else {
			v = NewAddi(b, first, tile.Result(), AddiOptions{}).Result()
		}
		sums.ReplaceAllUsesWith(v)
		tile.Op.SetOperand(0, sums)
		sums.SetType(sum)
	}
	inits[i] = Const(b, sum, 0)
	b.AtStart(op.Body())
	at(arg)
	for k, c := range f.Continues() {
		b.Before(c)
		next := arg
		for _, s := range steps[k] {
			next = NewAddi(b, next, oneOf(b, s, sum), AddiOptions{}).Result()
		}
		c.SetOperand(i, next)
	}
	if r := op.Result(i); r.HasUses() {
		b.After(op)
		at(r)
	} else {
		r.SetType(sum)
	}
	b.Before(op)
	f.SetInits(inits)
}

// oneOf is the scalar of a splat, extended to the type of the sum.
func oneOf(b *ir.Builder, tile *ir.Value, sum *TileType) *ir.Value {
	if x, ok := SplatInt(tile); ok {
		return Const(b, sum, x)
	}
	v := tile.DefiningOp().Operand(0)
	if ElemBits(AsTile(v).Elem) == ElemBits(sum.Elem) {
		return v
	}
	return NewExti(b, sum, v, def.Signed).Result()
}

// equalCarried: two carried values that begin alike and go on alike are one.
//
//	loop inits(%x, %x) (%a, %b) {                loop inits(%x, %x) (%a, %b) {
//	  .. %a .. %b ..                       =>      .. %a .. %a ..
//	  continue %y, %y                              continue %y, %y
//	}                                            }
func equalCarried(_ *ir.Builder, op *ir.Op) bool {
	f, _ := ir.LoopOf(op)
	continues, args := f.Continues(), f.Carried()
	type way struct {
		class int
		value *ir.Value
	}
	class := make([]int, len(args)) // of values that came alike so far
	classify := func(value func(i int) *ir.Value) {
		number := map[way]int{}
		for i := range class {
			w := way{class[i], value(i)}
			if _, seen := number[w]; !seen {
				number[w] = len(number)
			}
			class[i] = number[w]
		}
	}
	inits := f.Inits()
	classify(func(i int) *ir.Value { return inits[i] })
	for _, c := range continues {
		classify(func(i int) *ir.Value {
			if v := c.Operand(i); v != args[i] {
				return v
			}
			return nil // as it is
		})
	}
	changed, first := false, map[int]int{}
	for i, a := range args {
		j, twice := first[class[i]]
		if !twice {
			first[class[i]] = i
			continue
		}
		if !usedOnlyBy(a, continues) {
			a.ReplaceAllUsesWith(args[j])
			changed = true
		}
		if f.Kind == ir.CountedFlow && op.Result(i).HasUses() {
			op.Result(i).ReplaceAllUsesWith(op.Result(j))
			changed = true
		}
	}
	return changed
}

// secondCounter: a carried number that grows as the counter does is the counter and their distance.
//
//	for %lo to %hi step 2, inits(%x) (%i, %j) {          for %lo to %hi step 2 (%i) {
//	  .. %j ..                                     =>      .. %i + (%x - %lo) ..
//	  continue %j + 2                                      continue
//	}                                                    }
func secondCounter(b *ir.Builder, op *ir.Op) bool {
	f, _ := ir.LoopOf(op)
	i, continues, changed := f.InductionVar(), f.Continues(), false
	for k, j := range f.Carried() {
		if j.Type() != i.Type() || op.Result(k).HasUses() || !stepsAlike(For{op}, k, continues) {
			continue
		}
		sum := i
		if x := f.Init(k); x != (For{op}).Lower() {
			distance := NewSubi(b.Before(op), x, For{op}.Lower(), SubiOptions{}).Result()
			sum = NewAddi(b.AtStart(op.Body()), i, distance, AddiOptions{}).Result()
		}
		j.ReplaceAllUsesWith(sum)
		changed = true
	}
	return changed
}

// stepsAlike reports whether carried value k grows by the step of a for in each iteration, and something but the sum uses it.
func stepsAlike(loop For, k int, continues []*ir.Op) bool {
	j := loop.Body().Arg(1 + k)
	step, known := SplatInt(loop.Step())
	var sums []*ir.Op
	for _, c := range continues {
		next, ok := ir.DefinedBy[Addi](c.Operand(k))
		if !ok || next.Lhs() != j {
			return false
		}
		if by, constant := SplatInt(next.Rhs()); next.Rhs() != loop.Step() && !(known && constant && by == step) {
			return false
		}
		sums = append(sums, next.Op)
	}
	return slices.ContainsFunc(j.Uses(), func(u *ir.Use) bool { return !slices.Contains(sums, u.Owner()) })
}
