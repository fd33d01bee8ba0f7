package facts

import (
	"math/rand/v2"
	"testing"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// grid draws a tile of a shape that has something to find along some of its dimensions: a sum of one pattern for each.
func grid(rng *rand.Rand, shape []int64) []uint64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	elems := make([]uint64, n)
	stride := n
	for _, d := range shape {
		stride /= d
		along := pattern(rng, d)
		if rng.IntN(3) == 0 {
			along = make([]uint64, d)
		}
		for i := range elems {
			elems[i] = tileaa.Truncate(elems[i]+along[int64(i)/stride%d], width)
		}
	}
	return elems
}

// gather makes the elements of a result by asking, for each coordinate of it, for the index of an element of the source.
func gather(elems []uint64, shape []int64, index func(at []int64) int64) []uint64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	out, at := make([]uint64, n), make([]int64, len(shape))
	for i := range out {
		out[i] = elems[index(at)]
		for k := len(at) - 1; k >= 0; k-- {
			if at[k]++; at[k] < shape[k] {
				break
			}
			at[k] = 0
		}
	}
	return out
}

func TestMovedElementsKeepTheirGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	tests := []struct {
		name     string
		op       ir.Code
		from, to []int64
		attrs    []ir.Attribute
		index    func(at []int64) int64
	}{
		{"split", tileaa.OpReshape, []int64{32}, []int64{4, 8}, nil, func(at []int64) int64 { return at[0]*8 + at[1] }},
		{"split in three", tileaa.OpReshape, []int64{32}, []int64{2, 4, 4}, nil, func(at []int64) int64 { return at[0]*16 + at[1]*4 + at[2] }},
		{"merge", tileaa.OpReshape, []int64{4, 8}, []int64{32}, nil, func(at []int64) int64 { return at[0] }},
		{"regroup", tileaa.OpReshape, []int64{4, 8}, []int64{8, 4}, nil, func(at []int64) int64 { return at[0]*4 + at[1] }},
		{"add ones", tileaa.OpReshape, []int64{4, 8}, []int64{1, 4, 1, 8}, nil, func(at []int64) int64 { return at[1]*8 + at[3] }},
		{"drop ones", tileaa.OpReshape, []int64{1, 8, 1}, []int64{8}, nil, func(at []int64) int64 { return at[0] }},
		{"transpose", tileaa.OpPermute, []int64{4, 8}, []int64{8, 4}, []ir.Attribute{ir.I32Array{1, 0}},
			func(at []int64) int64 { return at[1]*8 + at[0] }},
		{"repeat rows", tileaa.OpBroadcast, []int64{1, 8}, []int64{4, 8}, nil, func(at []int64) int64 { return at[1] }},
		{"repeat columns", tileaa.OpBroadcast, []int64{4, 1}, []int64{4, 8}, nil, func(at []int64) int64 { return at[0] }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			from, to := w.tile(width, tt.from...), w.tile(width, tt.to...)
			found := 0
			for range 2000 {
				x := grid(rng, tt.from)
				op := w.b.Create(ir.State{Def: tileaa.Dialect.Row(tt.op), Operands: []*ir.Value{w.value(from, observed(from, x))},
					Types: []ir.Type{to}, Attrs: tt.attrs})
				got := w.f.Of(op.Result(0))
				if err := got.holds(tt.to, gather(x, tt.to, tt.index)); err != nil {
					t.Fatalf("%v: %v", x, err)
				}
				for d := range tt.to {
					if got.Const[d] > 1 || got.Contig[d] > 1 {
						found++
					}
				}
			}
			if found == 0 {
				t.Error("no group was found")
			}
		})
	}
}

func TestPiecesKeepTheirGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	w := newWorld()
	whole, half := w.tile(width, 16), w.tile(width, 8)
	index := w.value(w.tile(32), unknown(w.tile(32)))
	for range 2000 {
		x, y, z := grid(rng, whole.Shape), grid(rng, half.Shape), grid(rng, half.Shape)
		vx, vy, vz := w.value(whole, observed(whole, x)), w.value(half, observed(half, y)), w.value(half, observed(half, z))
		check := func(says string, f Fact, shape []int64, elems []uint64) {
			if err := f.holds(shape, elems); err != nil {
				t.Fatalf("%s of %v, %v, %v: %v", says, x, y, z, err)
			}
		}
		slice := int64(rng.IntN(2)) * 8
		check("extract", w.f.Of(tileaa.NewExtract(w.b, half, vx, []*ir.Value{index}).Result()),
			half.Shape, x[slice:slice+8])
		check("cat", w.f.Of(tileaa.NewCat(w.b, whole, vy, vz, 0).Result()),
			whole.Shape, append(append([]uint64(nil), y...), z...))
		inserted := append([]uint64(nil), x...)
		copy(inserted[slice:], y)
		check("insert", w.f.Of(tileaa.NewInsert(w.b, whole, vy, vx, []*ir.Value{index}).Result()),
			whole.Shape, inserted)
	}
}

func TestCastsAndSelectsKeepTheirGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	w := newWorld()
	narrow, wide, mask := w.tile(width, 16), w.tile(16, 16), w.tile(1, 16)
	for range 4000 {
		x, y, c := pattern(rng, 16), pattern(rng, 16), pattern(rng, 16)
		vx, vy := w.value(narrow, observed(narrow, x)), w.value(narrow, observed(narrow, y))
		for i := range c {
			c[i] &= 1
		}
		vc := w.value(mask, observed(mask, c))
		each := func(f func(i int) uint64) []uint64 {
			out := make([]uint64, 16)
			for i := range out {
				out[i] = f(i)
			}
			return out
		}
		check := func(says string, f Fact, elems []uint64) {
			if err := f.holds(narrow.Shape, elems); err != nil {
				t.Fatalf("%s of %v, %v, %v: %v", says, x, y, c, err)
			}
		}
		check("sign extension", w.f.Of(tileaa.NewExti(w.b, wide, vx, def.Signed).Result()),
			each(func(i int) uint64 { return tileaa.Truncate(uint64(s8(x[i])), 16) }))
		check("zero extension", w.f.Of(tileaa.NewExti(w.b, wide, vx, def.Unsigned).Result()),
			each(func(i int) uint64 { return x[i] }))
		check("truncation", w.f.Of(tileaa.NewTrunci(w.b, w.tile(4, 16), vx, tileaa.TrunciOptions{}).Result()),
			each(func(i int) uint64 { return x[i] & 15 }))
		check("select", w.f.Of(tileaa.NewSelect(w.b, vc, vx, vy).Result()),
			each(func(i int) uint64 {
				if c[i] != 0 {
					return x[i]
				}
				return y[i]
			}))
	}
}

func TestOffsetsOfPointersCountInElements(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	w := newWorld()
	ptr := tileaa.Tile(w.ctx, tileaa.Ptr(w.ctx, w.ctx.Int(32)), 16)
	offset := w.tile(width, 16)
	found := 0
	for range 4000 {
		base, o := pattern(rng, 16), pattern(rng, 16)
		for i := range base {
			base[i] = 1<<20 + 4*base[i]
		}
		if rng.IntN(2) == 0 {
			for i := range base {
				base[i] = base[0]
			}
		}
		p := unknown(ptr)
		p.observePointers(ptr.Shape, base)
		out := make([]uint64, 16)
		for i := range out {
			out[i] = base[i] + uint64(4*s8(o[i]))
		}
		r := tileaa.NewOffset(w.b, w.value(ptr, p.refine()), w.value(offset, observed(offset, o)), tileaa.OffsetOptions{}).Result()
		got := w.f.Of(r)
		if err := got.holds(ptr.Shape, out); err != nil {
			t.Fatalf("%v + %v: %v", base, o, err)
		}
		if v := w.f.PointerVector(r, 0); v > 1 {
			found++
			for i := 0; i < 16; i += int(v) {
				if out[i]%uint64(4*v) != 0 {
					t.Fatalf("%v + %v: group of %d begins at %d", base, o, v, out[i])
				}
			}
		}
	}
	if found == 0 {
		t.Error("no access was found to be wide")
	}
}

// observePointers reads a fact off pointers to 4-byte elements.
func (f *Fact) observePointers(shape []int64, elems []uint64) {
	steps := make([]uint64, len(elems))
	for i, e := range elems {
		steps[i] = e / 4
	}
	g := unknown(&tileaa.TileType{Shape: shape, Elem: &ir.IntegerType{Width: 64}})
	g.observe(shape, steps)
	f.Contig, f.Const, f.Div = g.Contig, g.Const, g.Div
	for d := range f.Div {
		f.Div[d] = min(f.Div[d]+2, 64)
	}
	f.ZeroBits = min(g.ZeroBits+2, 64)
}

// Equal elements go on over outer dimensions only while all of these are constant, too: held against every tile of so many numbers, each dimension of
// which is constant in runs.
func TestConstantRunsBeyondADimension(t *testing.T) {
	shape := []int64{2, 4, 8}
	for _, runs := range [][]int64{{1, 1, 8}, {1, 2, 8}, {2, 2, 8}, {1, 4, 8}, {2, 4, 8}, {2, 1, 8}} {
		at := func(i int64) [3]int64 { return [3]int64{i / 32 / runs[0], i / 8 % 4 / runs[1], i % 8 / runs[2]} }
		for _, limit := range []int64{8, 16, 32, 64} {
			want := limit
			for equal := func(n int64) bool {
				for i := range int64(64) {
					if at(i) != at(i/n*n) {
						return false
					}
				}
				return true
			}; !equal(want); {
				want /= 2
			}
			if got := constBeyond(Fact{Const: runs}, shape, 2, limit); got != want {
				t.Errorf("runs of %v in %v up to %d: %d are equal, want %d", runs, shape, limit, got, want)
			}
		}
	}
}
