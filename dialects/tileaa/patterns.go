package tileaa

import (
	"slices"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// A pattern rewrites an op where the builder stands, right before it. It may change the op, or replace and erase it, and
// make ops before it; it erases no other op. It returns whether it did anything.
type pattern = func(b *ir.Builder, op *ir.Op) bool

// Patterns are the rewrites of canonicalization, by the short name of the op. Each makes something simpler in one fixed
// order (constants to the right, uniform values out of tiles, fewer ops), so that they come to an end together; none
// changes a float result. Folds, which need no new op, are hooks of the rows.
var Patterns map[string]pattern

// firstOf tries patterns in order.
func firstOf(ps ...pattern) pattern {
	return func(b *ir.Builder, op *ir.Op) bool {
		for _, p := range ps {
			if p(b, op) {
				return true
			}
		}
		return false
	}
}

func init() {
	Patterns = map[string]pattern{
		"addi":           firstOf(constantRight, reassociate),
		"muli":           firstOf(constantRight, reassociate),
		"andi":           firstOf(constantRight, reassociate),
		"ori":            firstOf(constantRight, reassociate),
		"xori":           firstOf(constantRight, reassociate, invertComparison),
		"addf":           constantRight,
		"mulf":           constantRight,
		"maxf":           constantRight,
		"minf":           constantRight,
		"maxi":           constantRight,
		"mini":           constantRight,
		"mulhii":         constantRight,
		"subi":           subtractConstant,
		"divi":           divideByPower,
		"remi":           remainderByPower,
		"cmpi":           compareConstant,
		"select":         selectInverted,
		"exti":           extOfExt,
		"trunci":         truncOfExtended,
		"absf":           absOfNeg,
		"int_to_ptr":     intToPtrOfPtr,
		"reshape":        reshapeOfReshape,
		"broadcast":      broadcastOfBroadcast,
		"splat":          splatOfReshape,
		"permute":        permuteOfPermute,
		"extract":        extractOfSplat,
		"reduce":         reduceOfOne,
		"scan":           scanOfOne,
		"join_mem_token": joinOfTokens,
		"load":           firstOf(constantMask, unusedLoad),
		"tiled_load":     unusedLoad,
		"multimem_load":  unusedLoad,
		"store":          constantMask,
		"assert":         assertTrue,
		"alloca":         unusedSlot,
		"if":             firstOf(constantIf, unusedIfResults, equalYields),
		"for":            firstOf(shortFor, invariantCarried, unusedCarried),
		"loop":           invariantCarried,
	}
	for _, d := range def.Ops {
		if d.Traits.Has(ir.Elementwise) && len(d.Results) == 1 && d.Name != "assume" {
			p := Patterns[d.Name]
			if p == nil {
				Patterns[d.Name] = uniformOperands
			} else {
				Patterns[d.Name] = firstOf(p, uniformOperands)
			}
		}
	}
}

// replace puts a value in the place of the only result and erases the op.
func replace(op *ir.Op, v *ir.Value) bool {
	op.Result(0).ReplaceAllUsesWith(v)
	op.Erase()
	return true
}

func isConstant(v *ir.Value) bool { return ConstantOf(v) != nil }

// constantRight: c + x => x + c.
func constantRight(_ *ir.Builder, op *ir.Op) bool {
	if !isConstant(op.Operand(0)) || isConstant(op.Operand(1)) {
		return false
	}
	l, r := op.Operand(0), op.Operand(1)
	op.SetOperand(0, r)
	op.SetOperand(1, l)
	return true
}

// reassociate: (x + a) + b => x + (a + b) for integers. The inner sum may overflow where the outer one does not, so the
// flags go.
func reassociate(b *ir.Builder, op *ir.Op) bool {
	inner := op.Operand(0).DefiningOp()
	if inner == nil || inner.Def != op.Def || !isConstant(op.Operand(1)) || !isConstant(inner.Operand(1)) {
		return false
	}
	// the constant is computed at once, so that a long sum takes one sweep
	both := Binary(b, op.Def.Name, inner.Operand(1), op.Operand(1))
	folded := op.Def.Hooks.Fold(b.Ctx, both.DefiningOp())
	if len(folded) == 1 && folded[0].Attr != nil {
		both.DefiningOp().Erase()
		both = One(b, "constant", op.Result(0).Type(), Args{"value": folded[0].Attr})
	}
	return replace(op, Binary(b, op.Def.Name, inner.Operand(0), both))
}

// subtractConstant: x - c => x + -c. No signed wrap stays so unless c is the least number.
func subtractConstant(b *ir.Builder, op *ir.Op) bool {
	d := ConstantOf(op.Operand(1))
	c, ok := SplatInt(op.Operand(1))
	if d == nil || !ok {
		return false
	}
	flags := op.EnumNamed("overflow") & 1
	if w := elemWidth(op.Operand(1)); c == -1<<(w-1) {
		flags = 0
	}
	return replace(op, One(b, "addi", op.Result(0).Type(), Args{
		"lhs": op.Operand(0), "rhs": Const(b, d.Type.(*TileType), -c), "overflow": flags,
	}))
}

// powerOfTwo is log2 of the right operand when it is 2^k, as an unsigned number or, for signed ops, a positive one.
func powerOfTwo(op *ir.Op) (k int, ok bool) {
	x, ok := SplatValue(op.Operand(1))
	if !ok || x == 0 || x&(x-1) != 0 {
		return 0, false
	}
	for x > 1 {
		x >>= 1
		k++
	}
	return k, !signed(op) || k < elemWidth(op.Operand(1))-1
}

// divideByPower: unsigned x / 2^k and floor of signed x / 2^k are shifts.
func divideByPower(b *ir.Builder, op *ir.Op) bool {
	k, ok := powerOfTwo(op)
	rounding := op.EnumNamed("rounding")
	floor := signed(op) && rounding == def.RoundNegInf || !signed(op) && rounding != def.RoundPosInf
	if !ok || !floor {
		return false
	}
	t := AsTile(op.Result(0))
	return replace(op, One(b, "shri", t, Args{
		"lhs": op.Operand(0), "rhs": Const(b, t, int64(k)), "signedness": op.EnumNamed("signedness"),
	}))
}

// remainderByPower: unsigned x mod 2^k is a mask.
func remainderByPower(b *ir.Builder, op *ir.Op) bool {
	k, ok := powerOfTwo(op)
	if !ok || signed(op) {
		return false
	}
	t := AsTile(op.Result(0))
	return replace(op, Binary(b, "andi", op.Operand(0), Const(b, t, 1<<k-1)))
}

// mirrored is the predicate with its sides exchanged, negated the one that is true where it is false.
var (
	mirrored = [6]uint32{def.PredEqual, def.PredNotEqual, def.PredGreater, def.PredGreaterEqual, def.PredLess, def.PredLessEqual}
	negated  = [6]uint32{def.PredNotEqual, def.PredEqual, def.PredGreaterEqual, def.PredGreater, def.PredLessEqual, def.PredLess}
)

// compareConstant: c < x => x > c.
func compareConstant(b *ir.Builder, op *ir.Op) bool {
	if !isConstant(op.Operand(0)) || isConstant(op.Operand(1)) {
		return false
	}
	return replace(op, One(b, "cmpi", op.Result(0).Type(), Args{
		"lhs": op.Operand(1), "rhs": op.Operand(0), "signedness": op.EnumNamed("signedness"),
		"predicate": mirrored[op.EnumNamed("predicate")],
	}))
}

// invertComparison: not (x < y) => x >= y, when nobody else asks for x < y. Of floats the ordering turns too: the
// negation of "less and no NaN" is "greater, equal or NaN".
func invertComparison(b *ir.Builder, op *ir.Op) bool {
	in := op.Operand(0).DefiningOp()
	if !isInt(op.Operand(1), -1) || in == nil || !op.Operand(0).HasOneUse() || in.Def != rows["cmpi"] && in.Def != rows["cmpf"] {
		return false
	}
	args := Args{"lhs": in.Operand(0), "rhs": in.Operand(1), "predicate": negated[in.EnumNamed("predicate")]}
	if in.Def == rows["cmpi"] {
		args["signedness"] = in.EnumNamed("signedness")
	} else {
		args["ordering"] = uint32(def.Ordered+def.Unordered) - in.EnumNamed("ordering")
	}
	return replace(op, One(b, in.Def.Name, op.Result(0).Type(), args))
}

// selectInverted: select (not c), x, y => select c, y, x.
func selectInverted(_ *ir.Builder, op *ir.Op) bool {
	in, ok := IsOp(op.Operand(0), "xori")
	if !ok || !isInt(in.Operand(1), -1) {
		return false
	}
	x, y := op.Operand(1), op.Operand(2)
	op.SetOperand(0, in.Operand(0))
	op.SetOperand(1, y)
	op.SetOperand(2, x)
	return true
}

// extOfExt: two extensions of one kind are one; the sign extension of a zero extension has a zero for a sign.
func extOfExt(b *ir.Builder, op *ir.Op) bool {
	in, ok := IsOp(op.Operand(0), "exti")
	if !ok || !signed(op) && signed(in) {
		return false
	}
	return replace(op, One(b, "exti", op.Result(0).Type(), Args{"source": in.Operand(0), "signedness": in.EnumNamed("signedness")}))
}

// truncOfExtended: a truncation drops what an extension added, or makes it an extension to less. (To the type of the
// source it is folded.)
func truncOfExtended(b *ir.Builder, op *ir.Op) bool {
	in, ok := IsOp(op.Operand(0), "exti")
	if !ok {
		return false
	}
	args := Args{"source": in.Operand(0)}
	name := "trunci"
	if elemWidth(op.Result(0)) > elemWidth(in.Operand(0)) {
		name, args["signedness"] = "exti", in.EnumNamed("signedness")
	}
	return replace(op, One(b, name, op.Result(0).Type(), args))
}

// absOfNeg: |-x| = |x|.
func absOfNeg(_ *ir.Builder, op *ir.Op) bool {
	in, ok := IsOp(op.Operand(0), "negf")
	if ok {
		op.SetOperand(0, in.Operand(0))
	}
	return ok
}

// intToPtrOfPtr: a pointer that went through an integer is the pointer. (Of the same type it is folded.)
func intToPtrOfPtr(b *ir.Builder, op *ir.Op) bool {
	in, ok := IsOp(op.Operand(0), "ptr_to_int")
	if !ok {
		return false
	}
	return replace(op, One(b, "ptr_cast", op.Result(0).Type(), Args{"source": in.Operand(0)}))
}

// reshapeOfReshape: only the first and the last shape count; equal elements have no order, and rank 0 is a splat.
func reshapeOfReshape(b *ir.Builder, op *ir.Op) bool {
	t := AsTile(op.Result(0))
	src := op.Operand(0)
	if t.Layout != nil {
		return false
	}
	if len(AsTile(src).Shape) == 0 {
		return replace(op, One(b, "splat", t, Args{"source": src}))
	}
	if in, ok := IsOp(src, "splat"); ok {
		return replace(op, splatTo(b, in.Operand(0), t))
	}
	if in, ok := IsOp(src, "reshape"); ok {
		op.SetOperand(0, in.Operand(0))
		return true
	}
	return false
}

// splatTo is a rank-0 value in a type of any rank.
func splatTo(b *ir.Builder, v *ir.Value, t *TileType) *ir.Value {
	if len(t.Shape) == 0 {
		return v
	}
	return One(b, "splat", t, Args{"source": v})
}

// broadcastOfBroadcast: two are one, and of equal elements it is a splat. All dimensions 1 are one element.
func broadcastOfBroadcast(b *ir.Builder, op *ir.Op) bool {
	t := AsTile(op.Result(0))
	if t.Layout != nil {
		return false
	}
	if in, ok := IsOp(op.Operand(0), "splat"); ok {
		return replace(op, splatTo(b, in.Operand(0), t))
	}
	if in, ok := IsOp(op.Operand(0), "broadcast"); ok {
		op.SetOperand(0, in.Operand(0))
		return true
	}
	if from := AsTile(op.Operand(0)); from.NumElements() == 1 {
		return replace(op, splatTo(b, One(b, "reshape", Tile(b.Ctx, from.Elem), Args{"source": op.Operand(0)}), t))
	}
	return false
}

// splatOfReshape: a splat of the one element of a splat.
func splatOfReshape(_ *ir.Builder, op *ir.Op) bool {
	in, ok := IsOp(op.Operand(0), "reshape")
	if !ok {
		return false
	}
	if inner, ok := IsOp(in.Operand(0), "splat"); ok {
		op.SetOperand(0, inner.Operand(0))
		return true
	}
	return false
}

// permuteOfPermute composes: result dimension i is dimension q[p[i]] of the first source.
func permuteOfPermute(b *ir.Builder, op *ir.Op) bool {
	t := AsTile(op.Result(0))
	if t.Layout != nil {
		return false
	}
	if in, ok := IsOp(op.Operand(0), "splat"); ok {
		return replace(op, splatTo(b, in.Operand(0), t))
	}
	in, ok := IsOp(op.Operand(0), "permute")
	if !ok {
		return false
	}
	p, q := Permutation(op), Permutation(in)
	both := make(ir.I32Array, len(p))
	for i := range p {
		both[i] = q[p[i]]
	}
	return replace(op, One(b, "permute", t, Args{"source": in.Operand(0), "permutation": both}))
}

func extractOfSplat(b *ir.Builder, op *ir.Op) bool {
	t := AsTile(op.Result(0))
	in, ok := IsOp(op.Operand(0), "splat")
	if !ok || t.Layout != nil {
		return false
	}
	return replace(op, splatTo(b, in.Operand(0), t))
}

// uniformOperands computes once what is equal in all elements, or along dimensions that were repeated:
//
//	addi (splat x), (splat y)            =>  splat (addi x, y)
//	addi (broadcast x), (broadcast y)    =>  broadcast (addi x, y)     for x and y of one shape
//	addi (broadcast x), (splat y)        =>  broadcast (addi x, splat y)
//	addi x, y                            =>  splat (addi (reshape x), (reshape y))     for x and y of one element
//
// It stops once layouts are given.
func uniformOperands(b *ir.Builder, op *ir.Op) bool {
	t := AsTile(op.Result(0))
	if t == nil || len(t.Shape) == 0 || t.Layout != nil {
		return false
	}
	// shape is that of the broadcast sources; all operands are constants, splats or broadcasts of it
	var shape []int64
	single := t.NumElements() == 1
	narrow, found := false, single
	for _, v := range op.Operands() {
		if s := AsTile(v); s == nil || !sameShape(s, t) {
			return false
		}
		if single {
			continue
		}
		if in, ok := IsOp(v, "broadcast"); ok {
			from := AsTile(in.Operand(0)).Shape
			if narrow && !slices.Equal(shape, from) {
				return false
			}
			shape, narrow, found = from, true, true
		} else if _, ok := IsOp(v, "splat"); ok {
			found = true
		} else if _, ok := SplatValue(v); !ok {
			return false
		}
	}
	if !found {
		return false
	}
	operands := op.Operands()
	for i, v := range operands {
		small := Tile(b.Ctx, AsTile(v).Elem, shape...)
		if x, ok := SplatValue(v); ok {
			operands[i] = One(b, "constant", small, Args{"value": SplatOf(small, x)})
		} else if in, ok := IsOp(v, "splat"); ok {
			operands[i] = splatTo(b, in.Operand(0), small)
		} else if single {
			operands[i] = One(b, "reshape", small, Args{"source": v})
		} else {
			operands[i] = v.DefiningOp().Operand(0)
		}
	}
	r := b.Create(ir.State{
		Def: op.Def, Operands: operands, Groups: slices.Clone(op.Groups()), Types: []ir.Type{Tile(b.Ctx, t.Elem, shape...)},
		Attrs: op.Attrs(), Extra: op.Extra(),
	}).Result(0)
	if narrow {
		return replace(op, One(b, "broadcast", t, Args{"source": r}))
	}
	return replace(op, splatTo(b, r, t))
}

// reduceOfOne: along a dimension of size 1 there is nothing to combine.
func reduceOfOne(b *ir.Builder, op *ir.Op) bool {
	d := op.IntNamed("dim")
	for i, v := range op.OperandGroupNamed("operands") {
		t := AsTile(v)
		if t.Shape[d] != 1 || t.Layout != nil {
			return false
		}
		op.Result(i).ReplaceAllUsesWith(One(b, "reshape", op.Result(i).Type(), Args{"source": v}))
	}
	op.Erase()
	return true
}

func scanOfOne(_ *ir.Builder, op *ir.Op) bool {
	d := op.IntNamed("dim")
	for i, v := range op.OperandGroupNamed("operands") {
		if AsTile(v).Shape[d] != 1 || v.Type() != op.Result(i).Type() {
			return false
		}
	}
	for i, v := range op.OperandGroupNamed("operands") {
		op.Result(i).ReplaceAllUsesWith(v)
	}
	op.Erase()
	return true
}
