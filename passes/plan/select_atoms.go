package plan

import (
	"fmt"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/passes/facts"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// SelectAtoms realises what the plan says of dots, and picks the instruction of those that were cut and how warps share it. About every
// access to memory it decides what codegen must not ask facts for: how wide it is, along which dimension memory runs, which dimensions need
// a bounds check, and how many bits hold its coordinates and offsets; and of element numbers of pointers whether they are not negative.
//
//	dot %a, %b, %c                   =>   dot %a, %b, %c {atom = #tileaa.mma<"mma.m16n8k16...", warps = [1, 4, 2, 1]>}
//	tiled_load %block                =>   tiled_load %block {vec = 8, fast = 1, masked = [true, false]}
//	load %ptr, mask(%i < %n)         =>   load %ptr, mask(%i < %n), left(min(%n - %i, 8)) {vec = 8, fast = 1, ragged}
func SelectAtoms(s *pass.State) error {
	for _, entry := range s.Entries() {
		var dots, accs []*ir.Op
		var offsets []tileaa.Offset
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			switch {
			case tileaa.IsProduct(op):
				dots = append(dots, op)
			case ir.Is[tileaa.AccessOp](op):
				accs = append(accs, op)
			case op.Code() == tileaa.OpOffset:
				offsets = append(offsets, ir.Cast[tileaa.Offset](op))
			}
		})
		for i, op := range dots {
			dot, err := selectDot(s, op)
			if err != nil {
				return err
			}
			dots[i] = dot
		}
		known := facts.New(s.Ctx, entry)
		for _, op := range accs {
			if block, ok := tileaa.BlockOf(op); ok {
				tiledAccess(s, known, ir.Cast[tileaa.AccessOp](op), block)
			} else {
				pointerAccess(s, known, ir.Cast[tileaa.PtrAccess](op))
			}
			if op.Code() == tileaa.OpAtomicRmw || op.Code() == tileaa.OpTiledAtomic {
				narrowAtomic(s, ir.Cast[tileaa.AtomicOp](op))
			}
		}
		for _, op := range offsets {
			number := known.Of(op.Offset())
			op.SetNonnegative(number.Width > 0 && number.SMin >= 0)
		}
	}
	return nil
}

// selectDot gives a product that the plan left its atom, and converts operands to the types that the atom takes. It returns the product, another one
// where the atom does not multiply by its scales.
func selectDot(s *pass.State, op *ir.Op) (*ir.Op, error) {
	s.Ctx.Budget.Look() // every split is tiled
	dot := ir.Cast[tileaa.Dot](op)
	if dot.Atom() == nil {
		warps := tileaa.WarpsOf(op)
		k, ok := kernel.ChooseAtom(s, op, kernel.ExtentOf(op), warps)
		if !ok {
			what := fmt.Sprintf("%s x %s -> %s", k.A, k.B, kernel.OperandTypes(op)[0].C)
			return nil, &ir.NotSupported{Op: "dot", What: what, Target: s.Target.Name, Loc: op.Loc()}
		}
		t, ok := bestTiling(op, k, warps)
		if !ok {
			panic(fmt.Sprintf("BUG: %s does not tile %v over %d warps", k.Atom.Name, kernel.ExtentOf(op), warps))
		}
		dot.SetAtom(mmaOf(t))
	}
	if dot.LhsScale() != nil && !dot.Atom().Atom.Scaled() {
		op = unscale(s, dot)
	}
	b := ir.NewBuilder(s.Ctx).Before(op)
	b.Loc = op.Loc()
	dot = ir.Cast[tileaa.Dot](op)
	m, types := dot.Atom(), kernel.OperandTypes(op)[0]
	wantA, wantB := m.Atom.Operands(m.Swap)
	if types.A != wantA {
		dot.SetLhs(widen(b, dot.Lhs(), types.A, wantA))
		dot.SetSignednessLhs(def.Signed) // it is a number with a sign now
	}
	if types.B != wantB {
		dot.SetRhs(widen(b, dot.Rhs(), types.B, wantB))
		dot.SetSignednessRhs(def.Signed)
	}
	return op, nil
}

// mmaOf is what a dot says of its tiling.
func mmaOf(t atom.Tiling) *tileaa.MMAAttr {
	return &tileaa.MMAAttr{Atom: t.Atom, Swap: t.Swap, Split: t.Split}
}

// widen converts a tile exactly to another type, which an atom takes.
func widen(b *ir.Builder, v *ir.Value, from, to atom.Elem) *ir.Value {
	t := tileaa.AsTile(v)
	if f := float.ByName(string(to)); f != nil {
		return tileaa.NewFtof(b, t.WithElem(b.Ctx, b.Ctx.Float(f)), v, tileaa.FtofOptions{}).Result()
	}
	sign := def.Signed
	if from[0] == 'u' {
		sign = def.Unsigned
	}
	return tileaa.NewExti(b, t.WithElem(b.Ctx, b.Ctx.Int(to.Bits())), v, sign).Result()
}

// unscale turns a block-scaled product into a product of operands that are scaled before, in bf16.
//
//	dot %a, %b, %c, lhs_scale(%sa), rhs_scale(%sb)   =>   dot (bf16 %a * spread %sa), (bf16 %b * spread %sb), %c
func unscale(s *pass.State, d tileaa.Dot) *ir.Op {
	b := ir.NewBuilder(s.Ctx).Before(d.Op)
	b.Loc = d.Op.Loc()
	scaled := func(v, scale *ir.Value, k int) *ir.Value {
		if ir.IsInt(tileaa.AsTile(v).Elem, 8) {
			v = single(b, v, k)
		}
		t, st := tileaa.AsTile(v), tileaa.AsTile(scale)
		bf := s.Ctx.Float(float.BF16)
		wide := tileaa.Tile(s.Ctx, bf, t.Shape...)
		x := tileaa.NewFtof(b, wide, v, tileaa.FtofOptions{}).Result()
		y := tileaa.NewFtof(b, tileaa.Tile(s.Ctx, bf, st.Shape...), scale, tileaa.FtofOptions{}).Result()
		// spread: KxN/V -> K/V x 1 -> K/V x V -> K along dimension k
		parts := append(append([]int64{}, st.Shape[:k+1]...), 1)
		parts = append(parts, st.Shape[k+1:]...)
		y = tileaa.NewReshape(b, tileaa.Tile(s.Ctx, bf, parts...), y).Result()
		parts = append([]int64{}, parts...)
		parts[k+1] = t.Shape[k] / st.Shape[k]
		y = tileaa.NewBroadcast(b, tileaa.Tile(s.Ctx, bf, parts...), y).Result()
		y = tileaa.NewReshape(b, wide, y).Result()
		return tileaa.NewMulf(b, x, y, tileaa.MulfOptions{}).Result()
	}
	rank := len(tileaa.AsTile(d.Lhs()).Shape)
	lhs := scaled(d.Lhs(), d.LhsScale(), rank-1)
	rhs := scaled(d.Rhs(), d.RhsScale(), rank-2)
	dot := tileaa.NewDot(b, d.Result().Type(), lhs, rhs, d.Acc(), def.Signed, def.Signed, tileaa.DotOptions{Atom: d.Atom()})
	d.Result().ReplaceAllUsesWith(dot.Result())
	d.Op.Erase()
	return dot.Op
}

// cutByTheEnd reports whether an access may be cut by the end of the array: a thread whose elements lie on both sides makes it one by one.
func cutByTheEnd(op *ir.Op) bool {
	switch op.Code() {
	case tileaa.OpTiledLoad, tileaa.OpTiledStore, tileaa.OpLoad, tileaa.OpStore:
		return !tileaa.IsStrong(op)
	}
	return false
}

// factorLoads are the loads of which all goes to products in an op, as factors or scales.
func factorLoads(s *pass.State, op *ir.Op) map[*ir.Op]bool {
	feeds := map[*ir.Op]bool{}
	s.Walk(op, ir.PreOrder, func(op *ir.Op) {
		if !tileaa.IsProduct(op) {
			return
		}
		for i, v := range op.Operands() {
			if load, _, ok := tileaa.FactorLoad(v); ok && i != 2 {
				feeds[load] = true
			}
		}
	})
	return feeds
}

// elemBytes is the bytes of an element of what an op accesses, 1 for less than a byte.
func elemBytes(op *ir.Op) int64 { return int64(max(tileaa.ElemBytes(tileaa.AccessedTile(op).Elem), 1)) }

// narrowAtomic leaves an atomic operation as many neighbours as one instruction takes, which gives no old values.
func narrowAtomic(s *pass.State, a tileaa.AtomicOp) {
	access := ir.Cast[tileaa.AccessOp](a.Op)
	vec, ranked := access.Vec()
	if !ranked {
		return
	}
	widest := 1
	if t, ok := tileaa.AccessedTile(a.Op).Elem.(*ir.FloatType); ok && a.Mode() == def.ModeAddF && (a.Op.Code() == tileaa.OpTiledAtomic || !a.Op.Result(0).HasUses()) {
		widest = atom.WidestRed(s.Target, atom.Elem(t.Format.Name()), int(vec))
	}
	access.SetVec(s.Ctx, int64(widest))
}

func setAccess(s *pass.State, op tileaa.AccessOp, vec int64, fast int) {
	op.SetVec(s.Ctx, max(vec, 1))
	op.SetFast(s.Ctx, int64(fast))
}

// tiledAccess follows the dimension along which the array is contiguous: the addresses, and the masks where there are
// some, say how many neighbours one access takes.
func tiledAccess(s *pass.State, known *facts.Facts, op tileaa.AccessOp, block tileaa.BlockTile) {
	t := tileaa.AccessedTile(op.Op)
	size := elemBytes(op.Op)
	masked, bits := make(ir.BoolArray, len(t.Shape)), make(ir.I64Array, len(t.Shape))
	for d := range masked {
		masked[d], bits[d] = !known.InBounds(block, d), known.CoordinateBits(block, d)
	}
	fast := known.FastDim(block)
	vec := min(known.BlockVector(block, fast), layout.WidestAccess/size)
	if same := known.BlockMaskVector(block, fast); same < vec {
		if masked[fast] && cutByTheEnd(op.Op) {
			op.SetRagged(true)
		} else {
			vec = same
		}
	}
	setAccess(s, op, vec, fast)
	op.SetMasked(masked)
	op.SetCoordinateBits(bits)
	if known.NarrowBlock(block) {
		op.SetNarrow(true)
	}
}
