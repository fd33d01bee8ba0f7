package tileaa

import (
	"slices"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// A pattern rewrites an op where the builder stands, right before it. It may change the op, or replace and erase it, and
// make ops before it; it erases no other op. It returns whether it did anything.
type pattern = func(b *ir.Builder, op *ir.Op) bool

// patterns are the rewrites of canonicalization, by the code of the op, tried in their order. Each decreases the op in one well-founded
// order (constants to the right, uniform values out of tiles, fewer ops), so that together they terminate. None changes a float
// result, except to the correctly rounded one. Folds, which need no new op, are hooks of the rows.
var patterns = ir.Table[[]pattern]{
	OpAddi & ir.Place:         {constantRight, reassociate},
	OpMuli & ir.Place:         {constantRight, reassociate},
	OpAndi & ir.Place:         {constantRight, reassociate, impliedComparison},
	OpOri & ir.Place:          {constantRight, reassociate},
	OpXori & ir.Place:         {constantRight, reassociate, invertComparison},
	OpAddf & ir.Place:         {constantRight},
	OpMulf & ir.Place:         {constantRight},
	OpMaxf & ir.Place:         {constantRight},
	OpMinf & ir.Place:         {constantRight},
	OpMaxi & ir.Place:         {constantRight},
	OpMini & ir.Place:         {constantRight},
	OpMulhii & ir.Place:       {constantRight},
	OpSubi & ir.Place:         {subtractConstant},
	OpDivi & ir.Place:         {divideByPower},
	OpRemi & ir.Place:         {remainderByPower},
	OpCmpi & ir.Place:         {compareConstant, compareExtended},
	OpSelect & ir.Place:       {selectInverted, floorModulo},
	OpExti & ir.Place:         {extOfExt},
	OpTrunci & ir.Place:       {truncOfExtended, truncOfWide},
	OpBitcast & ir.Place:      {bitcastOfLoad},
	OpAbsf & ir.Place:         {absOfNeg},
	OpPow & ir.Place:          {smallPower},
	OpPowi & ir.Place:         {smallPower},
	OpIntToPtr & ir.Place:     {intToPtrOfPtr},
	OpOffset & ir.Place:       {uniformStep},
	OpReshape & ir.Place:      {reshapeOfReshape},
	OpBroadcast & ir.Place:    {broadcastOfBroadcast},
	OpSplat & ir.Place:        {splatOfReshape},
	OpPermute & ir.Place:      {permuteOfPermute, turnedBack, loadedTurned},
	OpExtract & ir.Place:      {extractOfSplat},
	OpReduce & ir.Place:       {reduceOfOne},
	OpScan & ir.Place:         {scanOfOne},
	OpJoinMemToken & ir.Place: {joinOfTokens},
	OpLoad & ir.Place:         {constantMask, unusedLoad},
	OpTiledLoad & ir.Place:    {unusedLoad, loadOfElements},
	OpMultimemLoad & ir.Place: {unusedLoad},
	OpStore & ir.Place:        {constantMask},
	OpTiledStore & ir.Place:   {storedTurned},
	OpAssert & ir.Place:       {assertTrue},
	OpAlloca & ir.Place:       {unusedSlot},
	OpIf & ir.Place:           {constantIf, unusedIfResults, equalYields, exitSecond, earlyReturn, guardedLoop},
	OpFor & ir.Place:          {shortFor, invariantCarried, equalCarried, unusedCarried, steppedCarried, secondCounter},
	OpLoop & ir.Place:         {loopOnce, countedLoop, invariantCarried, equalCarried, unusedCarried},
	OpDot & ir.Place:          {dotOfOne, dotOfDepths},
	OpCat & ir.Place:          {catOfDots},
}

// Simplify applies the first pattern that matches an op. Elementwise ops have one more.
func Simplify(b *ir.Builder, op *ir.Op) bool {
	for _, p := range patterns.Of(op.Code()) {
		if p(b, op) {
			return true
		}
	}
	return computesElements(op) && uniformOperands(b, op)
}

// DropUnused drops the dead parts of an op, before which the builder stands: dead carried values and results of a loop, unused results of an if, an unused weak load.
func DropUnused(b *ir.Builder, op *ir.Op) bool {
	switch op.Code() {
	case OpFor, OpLoop:
		return unusedCarried(b, op)
	case OpIf:
		return unusedIfResults(b, op)
	case OpLoad, OpTiledLoad, OpMultimemLoad:
		return unusedLoad(b, op)
	}
	return false
}

// replace puts a value in the place of the only result and erases the op.
func replace(op *ir.Op, v *ir.Value) bool {
	op.Result(0).ReplaceAllUsesWith(v)
	op.Erase()
	return true
}

func isConstant(v *ir.Value) bool { return ConstantOf(v) != nil }

// sameOp makes another op of the row of op, with its types and without its attributes.
func sameOp(b *ir.Builder, op *ir.Op, operands ...*ir.Value) *ir.Value {
	return b.Create(ir.State{Def: op.Def, Operands: operands, Types: []ir.Type{op.Result(0).Type()}}).Result(0)
}

// sameWith makes op again with other operands, of which it takes as many, and a result of another type.
func sameWith(b *ir.Builder, op *ir.Op, t *TileType, operands []*ir.Value) *ir.Value {
	return b.Create(ir.State{Def: op.Def, Operands: operands, Groups: slices.Clone(op.Groups()), Types: []ir.Type{t}, Attrs: op.Attrs(), Extra: op.Extra()}).Result(0)
}

// computesElements reports whether an op computes each element of its only result from those of its operands at that place.
func computesElements(op *ir.Op) bool {
	return op.Traits().Has(ir.Elementwise) && len(op.Def.Results) == 1 && op.Code() != OpAssume
}

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
	both := sameOp(b, op, inner.Operand(1), op.Operand(1))
	folded := fold(both.DefiningOp())
	if len(folded) == 1 && folded[0].Attr != nil {
		both.DefiningOp().Erase()
		both = NewConstant(b, op.Result(0).Type(), folded[0].Attr.(*ir.DenseAttr)).Result()
	}
	return replace(op, sameOp(b, op, inner.Operand(0), both))
}

// subtractConstant: x - c => x + -c. No signed wrap stays so unless c is the least number.
func subtractConstant(b *ir.Builder, op *ir.Op) bool {
	d := ConstantOf(op.Operand(1))
	c, ok := SplatInt(op.Operand(1))
	if d == nil || !ok {
		return false
	}
	flags := Subi{op}.Overflow() & def.NoSignedWrap
	if w := elemWidth(op.Operand(1)); c == -1<<(w-1) {
		flags = def.NoOverflow
	}
	return replace(op, NewAddi(b, op.Operand(0), Const(b, d.Type.(*TileType), -c), AddiOptions{Overflow: flags}).Result())
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
	rounding := Divi{op}.Rounding()
	floor := signed(op) && rounding == def.RoundNegInf || !signed(op) && rounding != def.RoundPosInf
	if !ok || !floor {
		return false
	}
	t := AsTile(op.Result(0))
	return replace(op, NewShri(b, op.Operand(0), Const(b, t, int64(k)), Divi{op}.Signedness()).Result())
}

// remainderByPower: unsigned x mod 2^k is a mask.
func remainderByPower(b *ir.Builder, op *ir.Op) bool {
	k, ok := powerOfTwo(op)
	if !ok || signed(op) {
		return false
	}
	t := AsTile(op.Result(0))
	return replace(op, NewAndi(b, op.Operand(0), Const(b, t, 1<<k-1)).Result())
}

// mirrored is the predicate with its sides exchanged, negated the one that is true where it is false.
var (
	mirrored = [6]def.Predicate{def.PredEqual, def.PredNotEqual, def.PredGreater, def.PredGreaterEqual, def.PredLess, def.PredLessEqual}
	negated  = [6]def.Predicate{def.PredNotEqual, def.PredEqual, def.PredGreaterEqual, def.PredGreater, def.PredLessEqual, def.PredLess}
)

// compareConstant: c < x => x > c.
func compareConstant(b *ir.Builder, op *ir.Op) bool {
	if !isConstant(op.Operand(0)) || isConstant(op.Operand(1)) {
		return false
	}
	c := Cmpi{op}
	return replace(op, NewCmpi(b, c.Result().Type(), c.Rhs(), c.Lhs(), c.Signedness(), CmpiOptions{Predicate: mirrored[c.Predicate()]}).Result())
}

// invertComparison: not (x < y) => x >= y, when nobody else asks for x < y. Of floats the ordering turns too: the
// negation of "less and no NaN" is "greater, equal or NaN".
func invertComparison(b *ir.Builder, op *ir.Op) bool {
	if !IsSplatOf(op.Operand(1), -1) || !op.Operand(0).HasOneUse() {
		return false
	}
	t := op.Result(0).Type()
	if c, ok := ir.DefinedBy[Cmpi](op.Operand(0)); ok {
		return replace(op, NewCmpi(b, t, c.Lhs(), c.Rhs(), c.Signedness(), CmpiOptions{Predicate: negated[c.Predicate()]}).Result())
	}
	if c, ok := ir.DefinedBy[Cmpf](op.Operand(0)); ok {
		ordering := def.Ordered + def.Unordered - c.Ordering()
		return replace(op, NewCmpf(b, t, c.Lhs(), c.Rhs(), ordering, CmpfOptions{Predicate: negated[c.Predicate()]}).Result())
	}
	return false
}

// selectInverted: select (not c), x, y => select c, y, x.
func selectInverted(_ *ir.Builder, op *ir.Op) bool {
	in, ok := ir.DefinedBy[Xori](op.Operand(0))
	if !ok || !IsSplatOf(in.Rhs(), -1) {
		return false
	}
	s := Select{op}
	x, y := s.TrueValue(), s.FalseValue()
	s.SetCond(in.Lhs())
	s.SetTrueValue(y)
	s.SetFalseValue(x)
	return true
}

// extOfExt: two extensions of one kind are one; the sign extension of a zero extension has a zero for a sign.
func extOfExt(b *ir.Builder, op *ir.Op) bool {
	in, ok := ir.DefinedBy[Exti](op.Operand(0))
	if !ok || !signed(op) && signed(in.Op) {
		return false
	}
	return replace(op, NewExti(b, op.Result(0).Type(), in.Source(), in.Signedness()).Result())
}

// truncOfExtended: a truncation drops what an extension added, or makes it an extension to less. (To the type of the
// source it is folded.)
func truncOfExtended(b *ir.Builder, op *ir.Op) bool {
	in, ok := ir.DefinedBy[Exti](op.Operand(0))
	if !ok {
		return false
	}
	t := op.Result(0).Type()
	if elemWidth(op.Result(0)) > elemWidth(in.Source()) {
		return replace(op, NewExti(b, t, in.Source(), in.Signedness()).Result())
	}
	return replace(op, NewTrunci(b, t, in.Source(), TrunciOptions{}).Result())
}

// absOfNeg: |-x| = |x|.
func absOfNeg(_ *ir.Builder, op *ir.Op) bool {
	in, ok := ir.DefinedBy[Negf](op.Operand(0))
	if ok {
		op.SetOperand(0, in.Source())
	}
	return ok
}

// intToPtrOfPtr: a pointer that went through an integer is the pointer. (Of the same type it is folded.)
func intToPtrOfPtr(b *ir.Builder, op *ir.Op) bool {
	in, ok := ir.DefinedBy[PtrToInt](op.Operand(0))
	if !ok {
		return false
	}
	return replace(op, NewPtrCast(b, op.Result(0).Type(), in.Source()).Result())
}

// reshapeOfReshape: only the first and the last shape count; equal elements have no order, and rank 0 is a splat.
func reshapeOfReshape(b *ir.Builder, op *ir.Op) bool {
	t := AsTile(op.Result(0))
	src := op.Operand(0)
	if t.Layout != nil {
		return false
	}
	if len(AsTile(src).Shape) == 0 {
		return replace(op, NewSplat(b, t, src).Result())
	}
	if in, ok := ir.DefinedBy[Splat](src); ok {
		return replace(op, splatTo(b, in.Source(), t))
	}
	if in, ok := ir.DefinedBy[Reshape](src); ok {
		op.SetOperand(0, in.Source())
		return true
	}
	return false
}

// splatTo is a rank-0 value in a type of any rank.
func splatTo(b *ir.Builder, v *ir.Value, t *TileType) *ir.Value {
	if len(t.Shape) == 0 {
		return v
	}
	return NewSplat(b, t, v).Result()
}

// broadcastOfBroadcast: two are one, and of equal elements it is a splat. All dimensions 1 are one element.
func broadcastOfBroadcast(b *ir.Builder, op *ir.Op) bool {
	t := AsTile(op.Result(0))
	if t.Layout != nil {
		return false
	}
	if in, ok := ir.DefinedBy[Splat](op.Operand(0)); ok {
		return replace(op, splatTo(b, in.Source(), t))
	}
	if in, ok := ir.DefinedBy[Broadcast](op.Operand(0)); ok {
		op.SetOperand(0, in.Source())
		return true
	}
	if from := AsTile(op.Operand(0)); from.NumElements() == 1 {
		return replace(op, splatTo(b, NewReshape(b, Tile(b.Ctx, from.Elem), op.Operand(0)).Result(), t))
	}
	return false
}

// splatOfReshape: a splat of the one element of a splat.
func splatOfReshape(_ *ir.Builder, op *ir.Op) bool {
	in, ok := ir.DefinedBy[Reshape](op.Operand(0))
	if !ok {
		return false
	}
	if inner, ok := ir.DefinedBy[Splat](in.Source()); ok {
		op.SetOperand(0, inner.Source())
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
	if in, ok := ir.DefinedBy[Splat](op.Operand(0)); ok {
		return replace(op, splatTo(b, in.Source(), t))
	}
	in, ok := ir.DefinedBy[Permute](op.Operand(0))
	if !ok {
		return false
	}
	p, q := Permute{op}.Permutation(), in.Permutation()
	both := make(ir.I32Array, len(p))
	for i := range p {
		both[i] = q[p[i]]
	}
	return replace(op, NewPermute(b, t, in.Source(), both).Result())
}

func extractOfSplat(b *ir.Builder, op *ir.Op) bool {
	t := AsTile(op.Result(0))
	in, ok := ir.DefinedBy[Splat](op.Operand(0))
	if !ok || t.Layout != nil {
		return false
	}
	return replace(op, splatTo(b, in.Source(), t))
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
		if in, ok := ir.DefinedBy[Broadcast](v); ok {
			from := AsTile(in.Source()).Shape
			if narrow && !slices.Equal(shape, from) {
				return false
			}
			shape, narrow, found = from, true, true
		} else if _, ok := ir.DefinedBy[Splat](v); ok {
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
			operands[i] = NewConstant(b, small, SplatOf(small, x)).Result()
		} else if in, ok := ir.DefinedBy[Splat](v); ok {
			operands[i] = splatTo(b, in.Source(), small)
		} else if single {
			operands[i] = NewReshape(b, small, v).Result()
		} else {
			operands[i] = v.DefiningOp().Operand(0)
		}
	}
	r := sameWith(b, op, Tile(b.Ctx, t.Elem, shape...), operands)
	if narrow {
		return replace(op, NewBroadcast(b, t, r).Result())
	}
	return replace(op, splatTo(b, r, t))
}

// reduceOfOne: along a dimension of size 1 there is nothing to combine.
func reduceOfOne(b *ir.Builder, op *ir.Op) bool {
	c := CombineOp{op}
	d := c.Dim()
	for i, v := range c.Operands() {
		t := AsTile(v)
		if t.Shape[d] != 1 || t.Layout != nil {
			return false
		}
		op.Result(i).ReplaceAllUsesWith(NewReshape(b, op.Result(i).Type(), v).Result())
	}
	op.Erase()
	return true
}

// dotOfOne: a product of batches of one, of which nobody takes the batch, has none.
//
//	%d = dot %x, %y, %acc : tile<1x64x64xf32>            %d = dot (reshape %x), (reshape %y), (reshape %acc) : tile<64x64xf32>
//	reshape %d : tile<64x64xf32>                  =>
func dotOfOne(b *ir.Builder, op *ir.Op) bool {
	t := AsTile(op.Result(0))
	if len(t.Shape) != 3 || t.Shape[0] != 1 || t.Layout != nil || !op.Result(0).HasOneUse() {
		return false
	}
	back, ok := ir.As[Reshape](op.Result(0).FirstUse().Owner())
	if !ok || !slices.Equal(AsTile(back.Result()).Shape, t.Shape[1:]) {
		return false
	}
	operands := op.Operands()
	for i, v := range operands {
		from := AsTile(v)
		operands[i] = NewReshape(b, Tile(b.Ctx, from.Elem, from.Shape[1:]...), v).Result()
	}
	d := sameWith(b, op, Tile(b.Ctx, t.Elem, t.Shape[1:]...), operands)
	return replace(op, NewReshape(b, t, d).Result())
}

func scanOfOne(_ *ir.Builder, op *ir.Op) bool {
	c := CombineOp{op}
	d := c.Dim()
	for i, v := range c.Operands() {
		if AsTile(v).Shape[d] != 1 || v.Type() != op.Result(i).Type() {
			return false
		}
	}
	for i, v := range c.Operands() {
		op.Result(i).ReplaceAllUsesWith(v)
	}
	op.Erase()
	return true
}
