package tileaa

import (
	"math/bits"
	"testing"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// bench makes ops on constants in a block of its own.
func bench() (*ir.Context, *ir.Builder) {
	c := ir.NewContext(Dialect)
	entry := ir.NewOp(ir.State{Def: opRows[OpEntry.Index()-1], Attrs: []ir.Attribute{ir.SymbolAttr("k")}})
	return c, ir.NewBuilder(c).AtEnd(entry.Region(0).AddBlock())
}

func TestIntegerFoldsAgreeWithPlainArithmeticOnAllEightBitPairs(t *testing.T) {
	const w = 8
	s := func(x uint64) int64 { return int64(int8(x)) }
	pick := func(sign def.Signedness, x uint64) int64 {
		if sign == def.Signed {
			return s(x)
		}
		return int64(x)
	}
	floor := func(x, y int64) int64 {
		q := x / y
		if x%y != 0 && (x < 0) != (y < 0) {
			q--
		}
		return q
	}
	type test struct {
		code ir.Code
		set  func(op *ir.Op)
		want func(x, y uint64) (uint64, bool)
	}
	always := func(f func(x, y uint64) uint64) func(x, y uint64) (uint64, bool) {
		return func(x, y uint64) (uint64, bool) { return f(x, y), true }
	}
	tests := []test{
		{OpAddi, nil, always(func(x, y uint64) uint64 { return x + y })},
		{OpSubi, nil, always(func(x, y uint64) uint64 { return x - y })},
		{OpMuli, nil, always(func(x, y uint64) uint64 { return x * y })},
		{OpMulhii, nil, always(func(x, y uint64) uint64 { return x * y >> w })},
		{OpAndi, nil, always(func(x, y uint64) uint64 { return x & y })},
		{OpOri, nil, always(func(x, y uint64) uint64 { return x | y })},
		{OpXori, nil, always(func(x, y uint64) uint64 { return x ^ y })},
		{OpShli, nil, always(func(x, y uint64) uint64 { return x << y })}, // Go gives 0 from 64 on, and bits above 8 do not count
	}
	for _, sign := range []def.Signedness{def.Unsigned, def.Signed} {
		undefined := func(x, y uint64) bool { return y == 0 || sign == def.Signed && x == 128 && y == 255 }
		for _, rounding := range []def.Rounding{def.RoundZero, def.RoundNegInf, def.RoundPosInf} {
			if sign == def.Unsigned && rounding == def.RoundNegInf {
				continue
			}
			tests = append(tests, test{OpDivi, func(op *ir.Op) { Divi{op}.SetSignedness(sign); Divi{op}.SetRounding(rounding) }, func(x, y uint64) (uint64, bool) {
				if undefined(x, y) {
					return 0, false
				}
				a, b := pick(sign, x), pick(sign, y)
				switch rounding {
				case def.RoundNegInf:
					return uint64(floor(a, b)), true
				case def.RoundPosInf:
					return uint64(-floor(-a, b)), true
				}
				return uint64(a / b), true
			}})
		}
		set := func(op *ir.Op) { SignedOp{op}.SetSignedness(sign) }
		tests = append(tests,
			test{OpRemi, set, func(x, y uint64) (uint64, bool) {
				if undefined(x, y) {
					return 0, false
				}
				return uint64(pick(sign, x) % pick(sign, y)), true
			}},
			test{OpMaxi, set, always(func(x, y uint64) uint64 { return uint64(max(pick(sign, x), pick(sign, y))) })},
			test{OpMini, set, always(func(x, y uint64) uint64 { return uint64(min(pick(sign, x), pick(sign, y))) })},
			test{OpShri, set, always(func(x, y uint64) uint64 { return uint64(pick(sign, x) >> min(y, 63)) })})
		for p := def.PredEqual; p <= def.PredGreaterEqual; p++ {
			tests = append(tests, test{OpCmpi, func(op *ir.Op) { set(op); Cmpi{op}.SetPredicate(p) }, always(func(x, y uint64) uint64 {
				a, b := pick(sign, x), pick(sign, y)
				return b2u([...]bool{a == b, a != b, a < b, a <= b, a > b, a >= b}[p])
			})})
		}
	}
	// one fold has all x in a tile, and one y
	for _, tt := range tests {
		name := opRows[tt.code.Index()-1].Name
		c, b := bench()
		tile := Tile(c, c.Int(w), 256)
		result := tile
		if tt.code == OpCmpi {
			result = Tile(c, c.Int(1), 256)
		}
		fold := func(xs []uint64, y uint64) []ir.FoldResult {
			operands := []*ir.Value{NewConstant(b, tile, DenseOf(tile, xs)).Result(), Const(b, tile, int64(y))}
			op := b.Create(ir.State{Def: opRows[tt.code.Index()-1], Operands: operands, Types: []ir.Type{result}})
			if tt.set != nil {
				tt.set(op)
			}
			return ir.Fold(op)
		}
		for y := uint64(0); y < 256; y++ {
			xs, want := make([]uint64, 256), make([]uint64, 256)
			undefined := -1
			for x := range xs {
				var ok bool
				xs[x] = uint64(x)
				if want[x], ok = tt.want(uint64(x), y); !ok {
					undefined = x
				}
			}
			if undefined >= 0 {
				if got := fold(xs, y); len(got) != 0 && got[0].Attr != nil {
					t.Fatalf("%s by %d is undefined for %d and folds", name, y, undefined)
				}
				xs[undefined] = 0
				var ok bool
				if want[undefined], ok = tt.want(0, y); !ok {
					continue // for every x
				}
			}
			got := fold(xs, y)
			if len(got) != 1 {
				t.Fatalf("%s by %d does not fold", name, y)
			}
			d, _ := got[0].Attr.(*ir.DenseAttr)
			if got[0].Value != nil {
				d = ConstantOf(got[0].Value)
			}
			for x := range xs {
				if v := ElementBits(d, x); v != Truncate(want[x], ir.BitWidth(result.Elem)) {
					t.Fatalf("%s of %d and %d folds to %d, want %d", name, xs[x], y, v, Truncate(want[x], w))
				}
			}
		}
	}
}

func TestFoldsOfUnequalElements(t *testing.T) {
	c, b := bench()
	tile := Tile(c, c.Int(32), 4)
	x := NewConstant(b, tile, DenseOf(tile, []uint64{1, 2, 3, 4})).Result()
	y := NewConstant(b, tile, DenseOf(tile, []uint64{4, 3, 2, 1})).Result()
	sum := NewAddi(b, x, y, AddiOptions{}).Op
	if d := ir.Fold(sum)[0].Attr.(*ir.DenseAttr); !d.Splat || ElementBits(d, 0) != 5 {
		t.Errorf("the sum is %v, want a splat of 5", d)
	}
	product := NewMuli(b, x, y, MuliOptions{}).Op
	d := ir.Fold(product)[0].Attr.(*ir.DenseAttr)
	for i, want := range []uint64{4, 6, 6, 4} {
		if got := ElementBits(d, i); got != want {
			t.Errorf("element %d of the product is %d, want %d", i, got, want)
		}
	}
}

func TestConstantsKeepOddWidths(t *testing.T) {
	c, _ := bench()
	for width := 1; width <= 64; width++ {
		tile := Tile(c, c.Int(width), 2)
		most := ^uint64(0) >> (64 - width)
		d := DenseOf(tile, []uint64{most, most - 1})
		if len(d.Data) != 2*((width+7)/8) || ElementBits(d, 0) != most || ElementBits(d, 1) != most-1 {
			t.Errorf("i%d: %v is read as %d, %d", width, d.Data, ElementBits(d, 0), ElementBits(d, 1))
		}
		if v, ok := SplatBits(SplatOf(tile, ^uint64(0))); !ok || bits.Len64(v) != width {
			t.Errorf("i%d: a splat of all ones has %d bits", width, bits.Len64(v))
		}
	}
}
