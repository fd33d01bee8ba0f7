package layout

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// mmaC is the accumulator of mma m16n8: example 1 of the layout literature.
//
//	reg0 -> n0, reg1 -> m3, lane0-1 -> n1 n2, lane2-4 -> m0 m1 m2
func mmaC(t testing.TB) Layout {
	return parse1(t, "{reg=[[0,1],[8,0]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x8")
}

func parse1(t testing.TB, text string) Layout {
	t.Helper()
	l, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// grid draws who holds each element of a 2-D tile, as lane.reg, or warp:lane.reg.
func grid(l Layout, rows, cols int) string {
	var b strings.Builder
	for m := range rows {
		for n := range cols {
			reg, lane, warp, _, _ := l.Owner(l.Flat([]int{m, n}))
			if l.Warps() > 1 {
				fmt.Fprintf(&b, "%d:", warp)
			}
			fmt.Fprintf(&b, "%d.%d ", lane, reg)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func trimLines(s string) string {
	var out []string
	for _, l := range strings.Split(strings.TrimSpace(s), "\n") {
		out = append(out, strings.Join(strings.Fields(l), " "))
	}
	return strings.Join(out, "\n")
}

func checkGrid(t *testing.T, l Layout, rows, cols int, want string) {
	t.Helper()
	if got := trimLines(grid(l, rows, cols)); got != trimLines(want) {
		t.Errorf("%s is\n%s\nwant\n%s", l, got, trimLines(want))
	}
}

func TestAccumulatorOfMmaAsAGrid(t *testing.T) {
	checkGrid(t, mmaC(t), 16, 8, `
		0.0 0.1 1.0 1.1 2.0 2.1 3.0 3.1
		4.0 4.1 5.0 5.1 6.0 6.1 7.0 7.1
		8.0 8.1 9.0 9.1 10.0 10.1 11.0 11.1
		12.0 12.1 13.0 13.1 14.0 14.1 15.0 15.1
		16.0 16.1 17.0 17.1 18.0 18.1 19.0 19.1
		20.0 20.1 21.0 21.1 22.0 22.1 23.0 23.1
		24.0 24.1 25.0 25.1 26.0 26.1 27.0 27.1
		28.0 28.1 29.0 29.1 30.0 30.1 31.0 31.1
		0.2 0.3 1.2 1.3 2.2 2.3 3.2 3.3
		4.2 4.3 5.2 5.3 6.2 6.3 7.2 7.3
		8.2 8.3 9.2 9.3 10.2 10.3 11.2 11.3
		12.2 12.3 13.2 13.3 14.2 14.3 15.2 15.3
		16.2 16.3 17.2 17.3 18.2 18.3 19.2 19.3
		20.2 20.3 21.2 21.3 22.2 22.3 23.2 23.3
		24.2 24.3 25.2 25.3 26.2 26.3 27.2 27.3
		28.2 28.3 29.2 29.3 30.2 30.3 31.2 31.3`)
}

// Two accumulators side by side are the left operand of the next 16-bit mma: attention's softmax feeds P*V without moves.
func TestTwoAccumulatorsAreAnOperand(t *testing.T) {
	c := mmaC(t).Repeat(Reg, 1, 1)
	a := parse1(t, "{reg=[[0,1],[8,0],[0,8]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x16")
	if p := Convert(c, a); p.Kind != Identity {
		t.Errorf("C C -> A is a %s", p.Kind)
	}
}

func TestRowMajorLoadAsAGrid(t *testing.T) {
	l := Blocked([]int{64, 64}, 8, []int{1, 0}, 4)
	want := "{reg=[[0,1],[0,2],[0,4],[16,0],[32,0]], lane=[[0,8],[0,16],[0,32],[1,0],[2,0]], warp=[[4,0],[8,0]]} : 64x64"
	if l.String() != want {
		t.Errorf("got  %s\nwant %s", l, want)
	}
	checkGrid(t, l, 5, 17, `
		0:0.0 0:0.1 0:0.2 0:0.3 0:0.4 0:0.5 0:0.6 0:0.7 0:1.0 0:1.1 0:1.2 0:1.3 0:1.4 0:1.5 0:1.6 0:1.7 0:2.0
		0:8.0 0:8.1 0:8.2 0:8.3 0:8.4 0:8.5 0:8.6 0:8.7 0:9.0 0:9.1 0:9.2 0:9.3 0:9.4 0:9.5 0:9.6 0:9.7 0:10.0
		0:16.0 0:16.1 0:16.2 0:16.3 0:16.4 0:16.5 0:16.6 0:16.7 0:17.0 0:17.1 0:17.2 0:17.3 0:17.4 0:17.5 0:17.6 0:17.7 0:18.0
		0:24.0 0:24.1 0:24.2 0:24.3 0:24.4 0:24.5 0:24.6 0:24.7 0:25.0 0:25.1 0:25.2 0:25.3 0:25.4 0:25.5 0:25.6 0:25.7 0:26.0
		1:0.0 1:0.1 1:0.2 1:0.3 1:0.4 1:0.5 1:0.6 1:0.7 1:1.0 1:1.1 1:1.2 1:1.3 1:1.4 1:1.5 1:1.6 1:1.7 1:2.0`)
}

func TestBlockedCoversEveryTileAndReplicatesSmallOnes(t *testing.T) {
	for _, c := range []struct {
		shape []int
		vec   int
		order []int
		warps int
		want  string
	}{
		{[]int{4, 8}, 4, []int{1, 0}, 2, "{reg=[[0,1],[0,2]], lane=[[0,4],[1,0],[2,0],[0,0],[0,0]], warp=[[0,0]]} : 4x8"},
		{[]int{1, 4096}, 4, []int{1, 0}, 4, "{reg=[[0,1],[0,2],[0,512],[0,1024],[0,2048]], lane=[[0,4],[0,8],[0,16],[0,32],[0,64]], warp=[[0,128],[0,256]]} : 1x4096"},
		{[]int{8, 512}, 4, []int{1, 0}, 4, "{reg=[[0,1],[0,2],[0,128],[0,256],[4,0]], lane=[[0,4],[0,8],[0,16],[0,32],[0,64]], warp=[[1,0],[2,0]]} : 8x512"},
		{[]int{64, 8}, 8, []int{0, 1}, 1, "{reg=[[1,0],[2,0],[4,0],[0,4]], lane=[[8,0],[16,0],[32,0],[0,1],[0,2]]} : 64x8"},
		{[]int{2}, 8, []int{0}, 1, "{reg=[[1]], lane=[[0],[0],[0],[0],[0]]} : 2"},
	} {
		if got := Blocked(c.shape, c.vec, c.order, c.warps).String(); got != c.want {
			t.Errorf("Blocked(%v, %d, %v, %d)\ngot  %s\nwant %s", c.shape, c.vec, c.order, c.warps, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t, rapid.IntRange(0, 14).Draw(t, "bits"))
		order := rapid.Permutation([]int{0, 1, 2}[:len(shape)]).Draw(t, "order")
		vec := 1 << rapid.IntRange(0, 4).Draw(t, "vec")
		span := 1 << rapid.IntRange(0, 8).Draw(t, "span")
		warps := 1 << rapid.IntRange(0, 4).Draw(t, "warps")
		l := BlockedSpan(shape, vec, span, order, warps)
		if !l.IsSurjective() || l.Lanes() != 32 || l.Warps() != warps || l.FreeMask(Reg) != 0 {
			t.Fatalf("%s", l)
		}
		if got := l.Contiguous(order[0]); got < min(vec, shape[order[0]]) {
			t.Fatalf("%s: %d contiguous elements", l, got)
		}
	})
}

func TestTextFormReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t, drawShape(t, rapid.IntRange(5, 9).Draw(t, "bits")), 1, true)
		back, err := Parse(l.String())
		if err != nil || !back.Equal(l) {
			t.Fatalf("%s reads as %s, %v", l, back, err)
		}
	})
	scalar := Must(nil, Bases{Lane: make([]uint64, 5)})
	if back, err := Parse(scalar.String()); err != nil || !back.Equal(scalar) {
		t.Errorf("%s reads as %s, %v", scalar, back, err)
	}
}

func TestBadTextIsRefusedWithAReason(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `at byte 0: "{" expected`},
		{"{reg=[[1]]} : 3", "dimension 3 is not a power of two"},
		{"{reg=[[4]]} : 4", "outside the shape"},
		{"{reg=[[1,1]]} : 4", "has 2 coordinates"},
		{"{row=[[1]]} : 4", `unknown input dimension "row"`},
		{"{reg=[[1]], reg=[[2]]} : 4", "reg is given twice"},
		{"{reg=[[1]]} : 4 4", "unexpected text"},
		{"{reg=[[1]", "expected"},
		{"{reg=[[99999999999999999999]]} : 4", "a number is expected"},
		{"{} : 4611686018427387904x4", "more than 2^62 elements"},
	} {
		_, err := Parse(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%q): %v, want %q", c.text, err, c.want)
		}
	}
}

func TestEveryElementHasOneOwner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t, drawShape(t, 7), 1, true)
		freeR, freeL, freeW := int(l.FreeMask(Reg)), int(l.FreeMask(Lane)), int(l.FreeMask(Warp))
		owners := make([]int, 1<<l.OutBits())
		for r := range l.Regs() {
			for lane := range l.Lanes() {
				for w := range l.Warps() {
					if r&freeR == 0 && lane&freeL == 0 && w&freeW == 0 {
						owners[l.Apply(r, lane, w, 0)]++
					}
				}
			}
		}
		for e, n := range owners {
			r, lane, w, _, ok := l.Owner(uint64(e))
			if n != 1 || !ok || l.Apply(r, lane, w, 0) != uint64(e) {
				t.Fatalf("%s: element %d has %d owners", l, e, n)
			}
			if r&freeR != 0 || lane&freeL != 0 || w&freeW != 0 {
				t.Fatalf("%s: Owner(%d) is not the owner", l, e)
			}
		}
	})
}

func TestSlicingLeavesDependentBasesThatCountAsFree(t *testing.T) {
	l := parse1(t, "{reg=[[1,1]], lane=[[0,1],[1,0]]} : 2x2").RemoveDim(0)
	if l.String() != "{reg=[[1]], lane=[[1],[0]]} : 2" {
		t.Fatalf("sliced layout is %s", l)
	}
	if l.FreeMask(Reg) != 0 || l.FreeMask(Lane) != 0b11 {
		t.Errorf("free register bits %b, free lane bits %b", l.FreeMask(Reg), l.FreeMask(Lane))
	}
}

func TestAnyTextIsEitherRefusedOrReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(drawLayout(t, []int{8, 16}, 1, true).String())
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			text[at] = rapid.SampledFrom([]byte("{}[]=,:x 0123456789relanwp")).Draw(t, "byte")
		}
		text = text[:rapid.IntRange(0, len(text)).Draw(t, "length")]
		l, err := Parse(string(text))
		if err != nil {
			return
		}
		if back, err := Parse(l.String()); err != nil || !back.Equal(l) {
			t.Fatalf("%s reads as %s, and that as %s, %v", text, l, back, err)
		}
	})
}

// Every edit of the output dimensions is checked on every place against the same edit of coordinates.
func TestEditsActOnCoordinates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t, []int{4, 8, 4}, 1, true)
		perm := rapid.Permutation([]int{0, 1, 2}).Draw(t, "perm")
		dim := rapid.IntRange(0, 2).Draw(t, "dim")
		permuted, removed, expanded := l.Permute(perm), l.RemoveDim(dim), l.ExpandDim(dim)
		reshaped := l.Reshape([]int{2, 64})
		for r := range l.Regs() {
			lane := rapid.IntRange(0, 31).Draw(t, "lane")
			x := l.Coords(l.Apply(r, lane, 1, 0))
			check := func(what string, e Layout, want []int) {
				if got := e.Coords(e.Apply(r, lane, 1, 0)); !slices.Equal(got, want) {
					t.Fatalf("%s of %v is %v, want %v", what, x, got, want)
				}
			}
			check("permute", permuted, []int{x[perm[0]], x[perm[1]], x[perm[2]]})
			check("remove", removed, slices.Delete(slices.Clone(x), dim, dim+1))
			check("expand", expanded, slices.Insert(slices.Clone(x), dim, 0))
			flat := x[0]*32 + x[1]*4 + x[2]
			check("reshape", reshaped, []int{flat / 64, flat % 64})
		}
		src := l.BroadcastSource([]int{4, 1, 4})
		for r := range l.Regs() {
			x := l.Coords(l.Apply(r, 3, 0, 0))
			if got := src.Coords(src.Apply(r, 3, 0, 0)); !slices.Equal(got, []int{x[0], 0, x[2]}) {
				t.Fatalf("broadcast source of %v is %v", x, got)
			}
		}
	})
}

func TestExtractWantsARegisterBitForEachPiece(t *testing.T) {
	for _, reg := range [][]uint64{{1}, {1, 2, 2}} { // no bit chooses the piece, two do
		if piece, _, ok := Must([]int{4}, Bases{Reg: reg}).Extract([]int{2}); ok {
			t.Errorf("registers %v of 4 elements: a piece of 2 is %s", reg, piece)
		}
	}
}

func TestTheZeroLayoutIsNoOther(t *testing.T) {
	scalar, cell := Must(nil, Bases{}), mustMem(nil, nil, 0, 0)
	if none := (Layout{}); none.Equal(scalar) || scalar.Equal(none) || !none.Equal(Layout{}) || !scalar.Equal(Must(nil, Bases{})) {
		t.Error("a layout of one element in one place is taken for none")
	}
	if none := (MemLayout{}); none.Equal(cell) || cell.Equal(none) || !none.Equal(MemLayout{}) || !cell.Equal(mustMem(nil, nil, 0, 0)) {
		t.Error("a memory layout of one element is taken for none")
	}
	a, b := Must([]int{4}, Bases{Reg: []uint64{1, 2}}), Must([]int{4}, Bases{Reg: []uint64{1}, Lane: []uint64{2}})
	if a.Equal(b) || a.Equal(Must([]int{2, 2}, Bases{Reg: []uint64{1, 2}})) || !a.Equal(Must([]int{4}, Bases{Reg: []uint64{1, 2}})) {
		t.Error("layouts are equal that are not, or the other way round")
	}
}

func TestExtractFindsThePiecesOfCat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t, []int{8, 16}, 0, true)
		dim := rapid.IntRange(0, 1).Draw(t, "dim")
		piece, regs, ok := l.Cat(dim).Extract(l.Shape())
		if !ok || !piece.Equal(l) {
			t.Fatalf("the piece of a cat of %s is %s", l, piece)
		}
		for p, list := range regs {
			for r, reg := range list {
				if reg != r+p*l.Regs() {
					t.Fatalf("register %d of piece %d is %d", r, p, reg)
				}
			}
		}
	})
	c := mmaC(t).Repeat(Reg, 1, 2).Repeat(Reg, 0, 1) // 32x32
	piece, regs, ok := c.Extract([]int{16, 16})
	if !ok {
		t.Fatal("no pieces of 16x16 in 32x32")
	}
	for p, list := range regs {
		for r, reg := range list {
			x := piece.Coords(piece.Apply(r, 7, 0, 0))
			want := []int{x[0] + p/2*16, x[1] + p%2*16}
			if got := c.Coords(c.Apply(reg, 7, 0, 0)); !slices.Equal(got, want) {
				t.Errorf("piece %d register %d is element %v, want %v", p, r, got, want)
			}
		}
	}
	if _, _, ok := mmaC(t).Extract([]int{16, 4}); ok {
		t.Error("column 4 of an accumulator is chosen by a lane, so half of it is not a set of registers")
	}
}

func TestReduceCombinesEveryElementOnce(t *testing.T) {
	c := mmaC(t)
	if a, ok := c.Reduce(1); !ok || !slices.Equal(a.Reg, []int{0}) || !slices.Equal(a.Lane, []int{0, 1}) {
		t.Errorf("along a row: %+v, %v", a, ok)
	}
	if a, ok := c.Reduce(0); !ok || !slices.Equal(a.Reg, []int{1}) || !slices.Equal(a.Lane, []int{2, 3, 4}) {
		t.Errorf("along a column: %+v, %v", a, ok)
	}
	if _, ok := parse1(t, "{reg=[[1,1]], lane=[[0,1]]} : 2x2").Reduce(0); ok {
		t.Error("a bit that steps along both dimensions cannot be combined")
	}
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t, rapid.IntRange(3, 12).Draw(t, "bits"))
		dim := rapid.IntRange(0, len(shape)-1).Draw(t, "dim")
		l := drawLayout(t, shape, 2, true).Straighten(dim)
		a, ok := l.Scan(dim)
		if !ok || !l.IsSurjective() {
			t.Fatalf("no scan of %s along %d", l, dim)
		}
		// The bits of the axis, in order, count 0, 1, 2, ... along it.
		n := len(a.Reg) + len(a.Lane) + len(a.Warp)
		if n != bits.Len(uint(shape[dim]))-1 {
			t.Fatalf("%s: %d bits along %d", l, n, shape[dim])
		}
		for i := range shape[dim] {
			var place [3]int
			rest := i
			for d, list := range [][]int{a.Reg, a.Lane, a.Warp} {
				for _, b := range list {
					place[d] |= rest & 1 << b
					rest >>= 1
				}
			}
			if got := l.Coords(l.Apply(place[0], place[1], place[2], 0))[dim]; got != i {
				t.Fatalf("%s: place %d along the axis is coordinate %d", l, i, got)
			}
		}
	})
}

// A scan goes from register to register, then from lane to lane: registers must hold neighbours.
func TestScanWantsTheLowBitsInRegisters(t *testing.T) {
	for _, c := range []struct {
		l  Layout
		ok bool
	}{
		{Must([]int{4}, Bases{Reg: []uint64{1}, Lane: []uint64{2}}), true},
		{Must([]int{4}, Bases{Reg: []uint64{2}, Lane: []uint64{1}}), false},
	} {
		if _, ok := c.l.Scan(0); ok != c.ok {
			t.Errorf("%s: Scan says %v", c.l, ok)
		}
	}
}
