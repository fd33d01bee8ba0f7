package tileaa

import (
	"fmt"
	"slices"
	"testing"

	"tileiras/ir"
	"tileiras/ir/float"
)

// A movedOp is an operation that only moves elements: which element of which operand each element of the result is.
type movedOp struct {
	name   string
	code   ir.Code
	from   [][]int64 // shapes of the tiles it reads
	to     []int64
	set    func(c *ir.Context, op *ir.Op)
	places int // operands that follow, which say where: rank-0 zeros
	source func(at []int64) (operand int, from []int64)
}

func movedOps() (all []movedOp) {
	same := func(at []int64) (int, []int64) { return 0, at }
	first := func(at []int64) (int, []int64) { return 0, nil }
	all = []movedOp{
		{"splat", OpSplat, [][]int64{{}}, []int64{4}, nil, 0, first},
		{"splat of rank 0", OpSplat, [][]int64{{}}, nil, nil, 0, first},
		{"broadcast", OpBroadcast, [][]int64{{2, 1}}, []int64{2, 4}, nil, 0, func(at []int64) (int, []int64) { return 0, []int64{at[0], 0} }},
		{"broadcast of as many", OpBroadcast, [][]int64{{2, 4}}, []int64{2, 4}, nil, 0, same},
		{"reshape", OpReshape, [][]int64{{2, 4}}, []int64{4, 2}, nil, 0, func(at []int64) (int, []int64) {
			n := 2*at[0] + at[1]
			return 0, []int64{n / 4, n % 4}
		}},
		{"extract", OpExtract, [][]int64{{4, 2}}, []int64{2, 2}, nil, 2, same}, // slice 0
		{"extract of all", OpExtract, [][]int64{{2, 2}}, []int64{2, 2}, nil, 2, same},
		{"insert of all", OpInsert, [][]int64{{2, 2}, {2, 2}}, []int64{2, 2}, nil, 2, same},
		{"convert_layout", OpConvertLayout, [][]int64{{2, 4}}, []int64{2, 4}, nil, 0, same},
		{"assume", OpAssume, [][]int64{{2, 4}}, []int64{2, 4}, nil, 0, same},
		{"cat", OpCat, [][]int64{{2, 4}, {2, 4}}, []int64{4, 4}, func(c *ir.Context, op *ir.Op) { Cat{op}.SetDim(c, 0) }, 0, func(at []int64) (int, []int64) {
			return int(at[0] / 2), []int64{at[0] % 2, at[1]}
		}},
	}
	for _, p := range []ir.I32Array{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		from := []int64{2, 4, 8}
		all = append(all, movedOp{fmt.Sprint("permute by ", p), OpPermute, [][]int64{from}, []int64{from[p[0]], from[p[1]], from[p[2]]},
			func(_ *ir.Context, op *ir.Op) { Permute{op}.SetPermutation(p) }, 0, func(at []int64) (int, []int64) {
				source := make([]int64, 3)
				for i, d := range p { // result dimension i is source dimension p[i]
					source[d] = at[i]
				}
				return 0, source
			}})
	}
	return all
}

// places are the indices of a shape in row-major order.
func places(shape []int64) (all [][]int64) {
	all = [][]int64{nil}
	for _, n := range shape {
		var next [][]int64
		for _, at := range all {
			for i := range n {
				next = append(next, append(slices.Clone(at), i))
			}
		}
		all = next
	}
	return all
}

// Folds of operations that move elements put each where it belongs.
func TestFoldsOfMovesKeepTheElements(t *testing.T) {
	c, b := bench()
	known := map[ir.Code]bool{}
	for _, row := range movedOps() {
		known[row.code] = true
		t.Run(row.name, func(t *testing.T) {
			folded := 0
			for _, element := range []func(operand, i int) uint64{
				func(operand, i int) uint64 { return uint64(100*operand + i + 1) }, // all differ
				func(operand, i int) uint64 { return 7 },
				func(operand, i int) uint64 { return uint64(operand) + 7 },
				nil, // of a value that is no constant
			} {
				folded += tryMove(t, c, b, row, element)
			}
			if folded == 0 {
				t.Error("nothing folds")
			}
		})
	}
	for code := range valuedOps(c) {
		known[code] = true
	}
	for _, row := range opRows {
		code := row.Code
		if folds := evaluators.Of(code) != nil || identities.Of(code) != nil || attrFolds.Of(code) != nil; folds && !known[code] && !backOps[code] {
			t.Errorf("%s folds, and no test knows to what", row.Name)
		}
	}
}

func tryMove(t *testing.T, c *ir.Context, b *ir.Builder, row movedOp, element func(operand, i int) uint64) int {
	var operands []*ir.Value
	values := make([]map[string]uint64, len(row.from))
	for k, shape := range row.from {
		tile := Tile(c, c.Int(32), shape...)
		if element == nil {
			operands = append(operands, freeValue(b, tile))
			continue
		}
		values[k] = map[string]uint64{}
		var elems []uint64
		for i, at := range places(shape) {
			elems = append(elems, element(k, i))
			values[k][fmt.Sprint(at)] = element(k, i)
		}
		operands = append(operands, NewConstant(b, tile, DenseOf(tile, elems)).Result())
	}
	for range row.places {
		operands = append(operands, Const(b, Tile(c, c.Int(32)), 0))
	}
	op := b.Create(ir.State{Def: opRows[row.code.Index()-1], Operands: operands, Types: []ir.Type{Tile(c, c.Int(32), row.to...)}})
	if row.set != nil {
		row.set(c, op)
	}
	results := fold(op)
	if len(results) == 0 {
		return 0
	}
	for i, at := range places(row.to) {
		k, from := row.source(at)
		v := results[0].Value
		if v == nil {
			if got, want := ElementBits(results[0].Attr.(*ir.DenseAttr), i), values[k][fmt.Sprint(from)]; got != want {
				t.Fatalf("element %d folds to %d, want %d", at, got, want)
			}
		} else if v != operands[k] || !slices.Equal(from, at) {
			t.Fatalf("folds to an operand whose element %d is another", at)
		}
	}
	return 1
}

// backOps fold where they undo what was done before, or do nothing, and have no elements to compute.
var backOps = map[ir.Code]bool{OpIntToPtr: true, OpPtrToInt: true, OpPtrCast: true, OpPack: true, OpUnpack: true, OpJoinMemToken: true, OpOffset: true, OpIota: true}

func TestFoldsOfWhatIsUndone(t *testing.T) {
	c, b := bench()
	make1 := func(code ir.Code, result ir.Type, operands ...*ir.Value) *ir.Op {
		return b.Create(ir.State{Def: opRows[code.Index()-1], Operands: operands, Types: []ir.Type{result}})
	}
	words, bytes, halves := Tile(c, c.Int(64), 4), Tile(c, c.Int(8), 8), Tile(c, c.Int(16), 4)
	pointers, others, thirds := Tile(c, Ptr(c, c.Int(32)), 4), Tile(c, Ptr(c, c.Int(8)), 4), Tile(c, Ptr(c, c.Int(16)), 4)
	for _, s := range []struct {
		first, second    ir.Code
		from, mid, other ir.Type // other is a type that is not the first one's
	}{
		{OpIntToPtr, OpPtrToInt, words, pointers, nil},
		{OpPtrToInt, OpIntToPtr, pointers, words, others},
		{OpPtrCast, OpPtrCast, pointers, others, thirds},
		{OpPack, OpUnpack, halves, bytes, Tile(c, c.Float(float.F16), 4)},
		{OpUnpack, OpPack, bytes, halves, nil},
	} {
		x := freeValue(b, s.from)
		inner := make1(s.first, s.mid, x).Result(0)
		if got := fold(make1(s.second, s.from, inner)); len(got) != 1 || got[0].Value != x {
			t.Errorf("%s of %s does not give the value back", opRows[s.second.Index()-1].Name, opRows[s.first.Index()-1].Name)
		}
		if s.other == nil {
			continue
		}
		if got := fold(make1(s.second, s.other, inner)); len(got) != 0 {
			t.Errorf("%s of %s folds to a value of another type", opRows[s.second.Index()-1].Name, opRows[s.first.Index()-1].Name)
		}
	}
	p := freeValue(b, pointers)
	for distance, want := range []*ir.Value{p, nil} {
		got := fold(make1(OpOffset, pointers, p, Const(b, Tile(c, c.Int(32), 4), int64(distance))))
		if folds := len(got) == 1 && got[0].Value == p; folds != (want != nil) || len(got) > 1 {
			t.Errorf("an offset of %d folds: %v", distance, folds)
		}
	}
	one, two := freeValue(b, Token(c)), freeValue(b, Token(c))
	if got := fold(NewJoinMemToken(b, []*ir.Value{one}).Op); len(got) != 1 || got[0].Value != one {
		t.Error("a join of one token does not fold to it")
	}
	if got := fold(NewJoinMemToken(b, []*ir.Value{one, two}).Op); len(got) != 0 {
		t.Error("a join of two tokens folds")
	}
	if got := fold(NewIota(b, Tile(c, c.Int(32), 1)).Op); len(got) != 1 || ElementBits(got[0].Attr.(*ir.DenseAttr), 0) != 0 {
		t.Error("an iota of one element is not 0")
	}
	if got := fold(NewIota(b, Tile(c, c.Int(32), 2)).Op); len(got) != 0 {
		t.Error("an iota of two elements folds")
	}
}
