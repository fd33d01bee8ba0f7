package facts

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// holds checks every claim of a fact against the elements of a tile, by definition.
func (f Fact) holds(shape []int64, elems []uint64) error {
	step := uint64(1) << f.unit
	stride := make([]int64, len(shape))
	n := int64(1)
	for d := len(shape) - 1; d >= 0; d-- {
		stride[d] = n
		n *= shape[d]
	}
	for i, e := range elems {
		s := tileaa.SignExtend(e, f.Width)
		if s < f.SMin || s > f.SMax || e < f.UMin || e > f.UMax || min(bits.TrailingZeros64(e), f.Width) < f.ZeroBits {
			return fmt.Errorf("element %d = %d is not in %v", i, s, f)
		}
		for d := range shape {
			at := int64(i) / stride[d] % shape[d]
			if at%f.Contig[d] != 0 {
				if prev := elems[int64(i)-stride[d]]; tileaa.Truncate(prev+step, f.Width) != e {
					return fmt.Errorf("element %d = %d does not count up from %d along %d: %v", i, s, prev, d, f)
				}
			} else if min(bits.TrailingZeros64(e), f.Width) < f.Div[d] {
				return fmt.Errorf("element %d = %d begins a group along %d: %v", i, s, d, f)
			}
			if at%f.Const[d] != 0 && elems[int64(i)-stride[d]] != e {
				return fmt.Errorf("element %d = %d differs from its neighbour along %d: %v", i, s, d, f)
			}
		}
	}
	return nil
}

// world makes ops on values whose facts a test chooses.
type world struct {
	ctx   *ir.Context
	b     *ir.Builder
	block *ir.Block
	f     *Facts
}

func newWorld() *world {
	w := &world{ctx: ir.NewContext(tileaa.Dialect)}
	w.b = ir.NewBuilder(w.ctx)
	mod := ir.NewOp(ir.State{Def: w.ctx.OpDef("tileaa.module"), Attrs: []ir.Attribute{ir.SymbolAttr("m")}})
	entry := w.b.AtEnd(mod.Region(0).AddBlock()).Create(ir.State{Def: w.ctx.OpDef("tileaa.entry"), Attrs: []ir.Attribute{ir.SymbolAttr("k")}})
	w.block = entry.Region(0).AddBlock()
	w.b.AtEnd(w.block)
	w.f = New(w.ctx, mod)
	return w
}

func (w *world) tile(width int, shape ...int64) *tileaa.TileType {
	return tileaa.Tile(w.ctx, w.ctx.Int(width), shape...)
}

// value is a value with a given fact.
func (w *world) value(t ir.Type, f Fact) *ir.Value {
	v := w.block.AddArg(t)
	w.f.set(v, &f)
	return v
}

// scalarOp is one op on 8-bit integers with its meaning in plain arithmetic: x and y come in the signedness that the
// meaning wants; ok is false where the op is undefined.
type scalarOp struct {
	code ir.Code
	set  func(op *ir.Op)
	run  func(x, y uint64) (r uint64, ok bool)
}

const width = 8

func s8(x uint64) int64 { return tileaa.SignExtend(x, width) }

func defined(f func(x, y uint64) uint64) func(x, y uint64) (uint64, bool) {
	return func(x, y uint64) (uint64, bool) { return tileaa.Truncate(f(x, y), width), true }
}

// flagged are the variants of an op with overflow flags; exact is the mathematical result of signed and unsigned reading.
func flagged(code ir.Code, exact func(x, y int64) int64) []scalarOp {
	var ops []scalarOp
	for flags := def.NoOverflow; flags <= def.NoWrap; flags++ {
		ops = append(ops, scalarOp{code, func(op *ir.Op) { ir.Cast[tileaa.OverflowOp](op).SetOverflow(flags) }, func(x, y uint64) (uint64, bool) {
			s, u := exact(s8(x), s8(y)), exact(int64(x), int64(y))
			ok := (flags&1 == 0 || s >= -128 && s <= 127) && (flags&2 == 0 || u >= 0 && u <= 255)
			return tileaa.Truncate(uint64(u), width), ok
		}})
	}
	return ops
}

func floorDiv(x, y int64) int64 {
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

// quotient is divi by definition.
func quotient(x, y int64, rounding def.Rounding) int64 {
	switch rounding {
	case def.RoundNegInf:
		return floorDiv(x, y)
	case def.RoundPosInf:
		return -floorDiv(-x, y)
	}
	return x / y
}

func scalarOps() []scalarOp {
	ops := flagged(tileaa.OpAddi, func(x, y int64) int64 { return x + y })
	ops = append(ops, flagged(tileaa.OpSubi, func(x, y int64) int64 { return x - y })...)
	ops = append(ops, flagged(tileaa.OpMuli, func(x, y int64) int64 { return x * y })...)
	for flags := def.NoOverflow; flags <= def.NoWrap; flags++ {
		ops = append(ops, scalarOp{tileaa.OpShli, func(op *ir.Op) { ir.Cast[tileaa.Shli](op).SetOverflow(flags) }, func(x, y uint64) (uint64, bool) {
			if y >= width {
				return 0, flags == 0
			}
			s, u := s8(x)<<y, int64(x)<<y
			return tileaa.Truncate(uint64(u), width), (flags&1 == 0 || s >= -128 && s <= 127) && (flags&2 == 0 || u <= 255)
		}})
	}
	read := []func(uint64) int64{func(x uint64) int64 { return int64(x) }, s8}
	for _, sign := range []def.Signedness{def.Unsigned, def.Signed} {
		v := read[sign]
		undefined := func(x, y uint64) bool { return y == 0 || sign == 1 && x == 128 && y == 255 }
		for _, rounding := range []def.Rounding{def.RoundZero, def.RoundNegInf, def.RoundPosInf} {
			if sign == 0 && rounding == def.RoundNegInf {
				continue
			}
			ops = append(ops, scalarOp{tileaa.OpDivi, func(op *ir.Op) {
				ir.Cast[tileaa.Divi](op).SetSignedness(sign)
				ir.Cast[tileaa.Divi](op).SetRounding(rounding)
			}, func(x, y uint64) (uint64, bool) {
				if undefined(x, y) {
					return 0, false
				}
				return tileaa.Truncate(uint64(quotient(v(x), v(y), rounding)), width), true
			}})
		}
		set := func(op *ir.Op) { ir.Cast[tileaa.SignedOp](op).SetSignedness(sign) }
		ops = append(ops,
			scalarOp{tileaa.OpRemi, set, func(x, y uint64) (uint64, bool) {
				if undefined(x, y) {
					return 0, false
				}
				return tileaa.Truncate(uint64(v(x)%v(y)), width), true
			}},
			scalarOp{tileaa.OpMaxi, set, defined(func(x, y uint64) uint64 { return uint64(max(v(x), v(y))) })},
			scalarOp{tileaa.OpMini, set, defined(func(x, y uint64) uint64 { return uint64(min(v(x), v(y))) })},
			scalarOp{tileaa.OpShri, set, defined(func(x, y uint64) uint64 { return uint64(v(x) >> min(y, 63)) })})
		for predicate := def.PredEqual; predicate <= def.PredGreaterEqual; predicate++ {
			ops = append(ops, scalarOp{tileaa.OpCmpi, func(op *ir.Op) {
				set(op)
				ir.Cast[tileaa.Cmpi](op).SetPredicate(predicate)
			}, func(x, y uint64) (uint64, bool) {
				a, b := v(x), v(y)
				if [...]bool{a == b, a != b, a < b, a <= b, a > b, a >= b}[predicate] {
					return 1, true
				}
				return 0, true
			}})
		}
	}
	return append(ops,
		scalarOp{tileaa.OpMulhii, nil, defined(func(x, y uint64) uint64 { return x * y >> width })},
		scalarOp{tileaa.OpAndi, nil, defined(func(x, y uint64) uint64 { return x & y })},
		scalarOp{tileaa.OpOri, nil, defined(func(x, y uint64) uint64 { return x | y })},
		scalarOp{tileaa.OpXori, nil, defined(func(x, y uint64) uint64 { return x ^ y })},
		scalarOp{tileaa.OpAbsi, nil, defined(func(x, _ uint64) uint64 { return uint64(max(s8(x), -s8(x))) })},
		scalarOp{tileaa.OpNegi, nil, defined(func(x, _ uint64) uint64 { return -x })},
		scalarOp{tileaa.OpNegi, func(op *ir.Op) { ir.Cast[tileaa.Negi](op).SetOverflow(def.NoSignedWrap) }, func(x, _ uint64) (uint64, bool) { return tileaa.Truncate(-x, width), x != 128 }},
	)
}

// create makes the op on tiles of a shape.
func (w *world) create(o scalarOp, x, y *ir.Value) *ir.Value {
	row := tileaa.Dialect.Row(o.code)
	operands := []*ir.Value{x, y}[:row.NumOperandDefs()]
	t := x.Type().(*tileaa.TileType)
	if o.code == tileaa.OpCmpi {
		t = t.WithElem(w.ctx, w.ctx.Int(1))
	}
	op := w.b.Create(ir.State{Def: row, Operands: operands, Types: []ir.Type{t}})
	if o.set != nil {
		o.set(op)
	}
	return op.Result(0)
}

// someFacts are facts of 8-bit integers with all values that they allow.
func someFacts(t ir.Type) (facts []Fact, members [][]uint64) {
	intervals := [][2]int64{{-128, 127}, {0, 127}, {-128, -1}, {0, 0}, {-1, -1}, {1, 1}, {-128, -128}, {5, 9}, {-7, -2}, {-3, 4}, {16, 100}, {2, 127}}
	for _, iv := range intervals {
		for _, zeros := range []int{0, 3} {
			f := unknown(t)
			f.SMin, f.SMax, f.ZeroBits = iv[0], iv[1], zeros
			facts = append(facts, f)
		}
	}
	for _, iv := range [][2]uint64{{100, 200}, {0, 129}, {3, 255}} {
		f := unknown(t)
		f.UMin, f.UMax = iv[0], iv[1]
		facts = append(facts, f)
	}
	for i, f := range facts {
		var m []uint64
		for x := uint64(0); x < 1<<width; x++ {
			if s := s8(x); s >= f.SMin && s <= f.SMax && x >= f.UMin && x <= f.UMax && min(bits.TrailingZeros64(x), width) >= f.ZeroBits {
				m = append(m, x)
			}
		}
		members = append(members, m)
		facts[i] = f.refine()
	}
	return facts, members
}

func TestIntervalsHoldForEveryPairOfEightBitNumbers(t *testing.T) {
	for _, o := range scalarOps() {
		w := newWorld()
		tile := w.tile(width)
		facts, members := someFacts(tile)
		for i, fx := range facts {
			for j, fy := range facts {
				got := w.f.Of(w.create(o, w.value(tile, fx), w.value(tile, fy)))
				for _, x := range members[i] {
					for _, y := range members[j] {
						r, ok := o.run(x, y)
						if !ok {
							continue
						}
						if s := tileaa.SignExtend(r, got.Width); s < got.SMin || s > got.SMax || r < got.UMin || r > got.UMax ||
							min(bits.TrailingZeros64(r), got.Width) < got.ZeroBits {
							t.Fatalf("%s of %d in %v and %d in %v is %d, not in %v", tileaa.Dialect.Row(o.code).Name, x, fx, y, fy, r, got)
						}
					}
				}
			}
		}
	}
}

// patterns draws tiles that have something to find: counting, equal, mixed, and scaled groups.
func pattern(rng *rand.Rand, n int64) []uint64 {
	elems := make([]uint64, n)
	group := int64(1) << rng.IntN(4)
	most := []int{4, 32, 256}[rng.IntN(3)]
	start := uint64(rng.IntN(most)) &^ (1<<rng.IntN(6) - 1)
	jump := uint64(rng.IntN(most)) &^ (1<<rng.IntN(8) - 1)
	inner := uint64(rng.IntN(3)) // 0 equal, 1 counting, 2 twice as fast
	for i := range elems {
		elems[i] = tileaa.Truncate(start+uint64(int64(i)/group)*jump+uint64(int64(i)%group)*inner, width)
	}
	return elems
}

func observed(t ir.Type, elems []uint64) Fact {
	f := unknown(t)
	f.observe(shapeOf(t), elems)
	return f.refine()
}

func TestNeighboursHoldOnPatternsOfEightBitTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, o := range scalarOps() {
		w := newWorld()
		tile := w.tile(width, 16)
		found := 0
	trial:
		for range 1000 {
			x, y := pattern(rng, 16), pattern(rng, 16)
			out := make([]uint64, 16)
			for i := range out {
				var ok bool
				if out[i], ok = o.run(x[i], y[i]); !ok {
					continue trial
				}
			}
			fx, fy := observed(tile, x), observed(tile, y)
			got := w.f.Of(w.create(o, w.value(tile, fx), w.value(tile, fy)))
			if err := got.holds(shapeOf(tile), out); err != nil {
				t.Fatalf("%s of %v %v and %v %v = %v: %v", tileaa.Dialect.Row(o.code).Name, x, fx, y, fy, out, err)
			}
			if got.Const[0] > 1 || got.Contig[0] > 1 {
				found++
			}
		}
		if found == 0 {
			t.Errorf("%s: no group was found in any pattern", tileaa.Dialect.Row(o.code).Name)
		}
	}
}
