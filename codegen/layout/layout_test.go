package layout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

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
		if want := min(vec, shape[order[0]]); Strided(shape, order).MaxVec(l, want) != want {
			t.Fatalf("%s: no accesses of %d elements", l, want)
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
		{"{reg=[[0,4]]} : 4x4", "outside the shape"},
		{"{} : 0x4", "dimension 0 is not a power of two"},
		{"{reg=[[1,1]]} : 4", "has 2 coordinates"},
		{"{row=[[1]]} : 4", `unknown input dimension "row"`},
		{"{az=[[1]]} : 4", `unknown input dimension "az"`},
		{"{=[[1]]} : 4", "a name is expected"},
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

func TestLayoutsThatAreNone(t *testing.T) {
	zeros := func(n int) []uint64 { return make([]uint64, n) }
	for _, c := range []struct {
		shape []int
		b     Bases
		want  string
	}{
		{[]int{4}, Bases{Reg: []uint64{1}, Warp: []uint64{2, 3}}, ""},
		{[]int{4}, Bases{Reg: []uint64{1}, Warp: []uint64{2, 4}}, "basis warp[1] is outside the shape 4"},
		{[]int{3}, Bases{}, "dimension 3 is not a power of two"},
		{[]int{4, -4}, Bases{}, "dimension -4 is not a power of two"},
		{[]int{1 << 31, 1 << 31}, Bases{}, ""},
		{[]int{1 << 31, 1 << 31, 2}, Bases{}, "has more than 2^62 elements"},
		{[]int{1}, Bases{zeros(30), zeros(5), zeros(20), zeros(7)}, ""},
		{[]int{1}, Bases{zeros(30), zeros(5), zeros(20), zeros(8)}, "63 input bits, at most 62 are possible"},
	} {
		_, err := New(c.shape, c.b)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%v, %v): %v, want %q", c.shape, c.b, err, c.want)
		}
	}
}

// Layouts are values: nobody changes one through the slices it was made of, and its text is written once.
func TestLayoutsDoNotChange(t *testing.T) {
	shape, reg := []int{2, 2}, []uint64{1, 2}
	l := Must(shape, Bases{Reg: reg})
	const want = "{reg=[[0,1],[1,0]]} : 2x2"
	shape[0], reg[0] = 4, 3
	_ = append(l.Column(Reg), 3)
	_ = append(l.Replicate(Lane, 1).Column(Reg), 3)
	if got := l.String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if unsafe.StringData(l.Key()) != unsafe.StringData(l.Key()) {
		t.Error("the text of a layout is written again")
	}
}

func TestReplicasHoldTheSameTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t, drawShape(t, rapid.IntRange(0, 7).Draw(t, "bits")), 1, true)
		d := Dim(rapid.IntRange(0, int(NumDims)-1).Draw(t, "dimension"))
		n := rapid.IntRange(0, 3).Draw(t, "n")
		r := l.Replicate(d, n)
		sizes := [NumDims]int{l.Regs(), l.Lanes(), l.Warps(), l.Blocks()}
		more := sizes
		more[d] <<= n
		if got := [NumDims]int{r.Regs(), r.Lanes(), r.Warps(), r.Blocks()}; got != more || !slices.Equal(r.Shape(), l.Shape()) {
			t.Fatalf("%s replicated is %s", l, r)
		}
		seen := map[uint64]int{}
		for i := range more[0] * more[1] * more[2] * more[3] {
			reg, lane, warp, block := i%more[0], i/more[0]%more[1], i/more[0]/more[1]%more[2], i/more[0]/more[1]/more[2]
			e := r.Apply(reg, lane, warp, block)
			if e != l.Apply(reg%sizes[0], lane%sizes[1], warp%sizes[2], block%sizes[3]) {
				t.Fatalf("%s replicated is %s: place %d holds %d", l, r, i, e)
			}
			seen[e]++
		}
		all, once := len(seen) == 1<<l.OutBits(), more[0]*more[1]*more[2]*more[3] == 1<<l.OutBits()
		if r.IsSurjective() != all || r.IsBijective() != (all && once) {
			t.Fatalf("%s holds %d elements in %d places: surjective %v, bijective %v", r, len(seen), more[0]*more[1]*more[2]*more[3], r.IsSurjective(), r.IsBijective())
		}
	})
	if half := parse1(t, "{reg=[[1],[1]]} : 4"); half.IsSurjective() || half.IsBijective() {
		t.Errorf("%s is said to hold all", half)
	}
}

func TestReshapesKeepTheNumberOfElements(t *testing.T) {
	for _, shape := range [][]int{{8}, {2}, {3}, {0}, {4, 2}, {}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("4 elements have the shape %v", shape)
				}
			}()
			parse1(t, "{reg=[[1],[2]]} : 4").Reshape(shape)
		}()
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
		reshaped, bits := l.Reshape([]int{2, 64}), l.PermuteBits(1, []int{2, 0, 1})
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
			check("permute bits", bits, []int{x[0], x[1]%4*2 + x[1]/4, x[2]})
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

// A piece of every shape, down to one element, and what is no shape of a piece.
func TestExtractTakesPiecesOfAnyShape(t *testing.T) {
	l := parse1(t, "{reg=[[0,1],[1,0],[0,2]], lane=[[0,0]]} : 2x4")
	for _, c := range []struct {
		shape []int
		want  string // registers of the pieces
	}{
		{[]int{2, 4}, "[[0 1 2 3 4 5 6 7]]"},
		{[]int{2, 2}, "[[0 1 2 3] [4 5 6 7]]"},
		{[]int{1, 4}, "[[0 1 4 5] [2 3 6 7]]"},
		{[]int{1, 2}, "[[0 1] [4 5] [2 3] [6 7]]"},
		{[]int{2, 1}, "[[0 2] [1 3] [4 6] [5 7]]"},
		{[]int{1, 1}, "[[0] [1] [4] [5] [2] [3] [6] [7]]"},
		{[]int{4}, ""}, {[]int{2, 4, 1}, ""}, {[]int{2, 8}, ""}, {[]int{2, 3}, ""}, {[]int{0, 4}, ""}, {[]int{2, -4}, ""},
	} {
		piece, regs, ok := l.Extract(c.shape)
		if ok != (c.want != "") || ok && fmt.Sprint(regs) != c.want {
			t.Errorf("%v of %s: registers %v, want %s", c.shape, l, regs, c.want)
		}
		for _, list := range regs {
			for r, reg := range list {
				x, y := piece.Coords(piece.Apply(r, 0, 0, 0)), l.Coords(l.Apply(reg, 0, 0, 0))
				for i := range x {
					if x[i] != y[i]%c.shape[i] {
						t.Errorf("%v of %s: register %d is element %v, want %v", c.shape, l, r, x, y)
					}
				}
			}
		}
	}
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
	if text := (Layout{}).String() + (MemLayout{}).String(); text != "" {
		t.Errorf("no layout is %s", text)
	}
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

// A lane that knows nothing of two tiles tells which of them an element of both is of; threads have as many registers as before.
func TestCatInLanes(t *testing.T) {
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t, []int{8, 16}, 0, true)
		dim := rapid.IntRange(0, 1).Draw(t, "dim")
		joined, bit, ok := l.CatInLanes(dim)
		if ok != slices.Contains(l.Column(Lane), 0) {
			t.Fatalf("%s: %t", l, ok)
		} else if !ok {
			return
		}
		seen++
		if joined.Regs() != l.Regs() || joined.Shape()[dim] != 2*l.Shape()[dim] {
			t.Fatalf("%s becomes %s", l, joined)
		}
		for reg := range l.Regs() {
			for lane := range l.Lanes() {
				for warp := range l.Warps() {
					want := l.Coords(l.Apply(reg, lane, warp, 0))
					want[dim] += lane >> bit & 1 * l.Shape()[dim]
					if got := joined.Coords(joined.Apply(reg, lane, warp, 0)); !slices.Equal(got, want) {
						t.Fatalf("register %d of lane %d of warp %d is element %v, want %v", reg, lane, warp, got, want)
					}
				}
			}
		}
	})
	if seen == 0 {
		t.Error("no layout had room in its lanes")
	}
}

func TestExtractFindsThePiecesOfCat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t, []int{8, 16}, 0, true)
		dim := rapid.IntRange(0, 1).Draw(t, "dim")
		piece, regs, ok := l.Cat(dim).Extract(l.Shape())
		if !ok || !piece.Equal(l) || len(regs) != 2 || l.Cat(dim).Shape()[dim] != 2*l.Shape()[dim] {
			t.Fatalf("%d pieces of a cat of %s are %s", len(regs), l, piece)
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
	if !ok || len(regs) != 4 {
		t.Fatalf("%d pieces of 16x16 in 32x32", len(regs))
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

// drawStraight is a layout whose input bits step along one dimension each, or none; with units, each selects one bit of a coordinate.
func drawStraight(t *rapid.T, shape []int, units bool) Layout {
	var cols []uint64
	for dim := range shape {
		own := drawInvertible(t, Log2(shape[dim]))
		if !units && rapid.Bool().Draw(t, "dependent") {
			own = append(own, drawVector(t, Log2(shape[dim])))
		}
		for i, c := range own {
			if units {
				c = 1 << i
			}
			cols = append(cols, c<<lowBit(shape, dim))
		}
	}
	cols = append(cols, make([]uint64, rapid.IntRange(0, 2).Draw(t, "copies"))...)
	cols = rapid.Permutation(cols).Draw(t, "deal")
	at := rapid.Permutation([]int{0, len(cols) / 4, len(cols) / 2, len(cols) * 3 / 4, len(cols)}).Draw(t, "cuts")
	slices.Sort(at)
	return Must(shape, Bases{Reg: cols[:at[1]], Lane: cols[at[1]:at[2]], Warp: cols[at[2]:at[3]], Block: cols[at[3]:]})
}

// along lists the coordinates along a dimension of the places that the bits of a reduction reach, the first bit counting fastest.
func along(l Layout, dim int, a AxisBits) (out []int) {
	var bits [][2]int
	for d, list := range [][]int{a.Reg, a.Lane, a.Warp, a.Block} {
		for _, b := range list {
			bits = append(bits, [2]int{d, b})
		}
	}
	for n := range 1 << len(bits) {
		var place [NumDims]int
		for i, b := range bits {
			place[b[0]] |= n >> i & 1 << b[1]
		}
		out = append(out, l.Coords(l.Apply(place[0], place[1], place[2], place[3]))[dim])
	}
	return out
}

func counting(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

func TestReduceCombinesEveryElementOnce(t *testing.T) {
	c := mmaC(t)
	if a, ok := c.Reduce(1); !ok || !slices.Equal(a.Reg, []int{0}) || !slices.Equal(a.Lane, []int{0, 1}) {
		t.Errorf("along a row: %+v, %v", a, ok)
	}
	if a, ok := c.Reduce(0); !ok || !slices.Equal(a.Reg, []int{1}) || !slices.Equal(a.Lane, []int{2, 3, 4}) {
		t.Errorf("along a column: %+v, %v", a, ok)
	}
	for _, text := range []string{"{reg=[[1,1]], lane=[[0,1]]} : 2x2", "{reg=[[0,1]]} : 2x2"} {
		l := parse1(t, text)
		if _, ok := l.Reduce(0); ok {
			t.Errorf("%s: a bit that steps along both dimensions, or none along one, was combined", l)
		}
		if _, ok := l.Scan(0); ok {
			t.Errorf("%s: what cannot be combined was scanned", l)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t, rapid.IntRange(1, 7).Draw(t, "bits"))
		dim := rapid.IntRange(0, len(shape)-1).Draw(t, "dim")
		l := drawStraight(t, shape, false)
		a, ok := l.Reduce(dim)
		got := along(l, dim, a)
		slices.Sort(got)
		if !ok || !slices.Equal(got, counting(shape[dim])) {
			t.Fatalf("%s along %d: %+v, %v reach %v", l, dim, a, ok, got)
		}
	})
}

// A scan goes from register to register, then from lane to lane, then from warp to warp: each must hold lower bits of the coordinate than the next.
func TestScanCountsAlongTheDimension(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t, rapid.IntRange(1, 7).Draw(t, "bits"))
		dim := rapid.IntRange(0, len(shape)-1).Draw(t, "dim")
		l := drawStraight(t, shape, true)
		var owners []Dim // of the bits of the coordinate
		for b := range Log2(shape[dim]) {
			for d := range NumDims {
				if slices.Contains(l.Column(d), Bit(shape, dim, b)) {
					owners = append(owners, d)
				}
			}
		}
		a, ok := l.Scan(dim)
		if ok != slices.IsSorted(owners) {
			t.Fatalf("%s along %d: Scan says %v", l, dim, ok)
		}
		if got := along(l, dim, a); ok && !slices.Equal(got, counting(shape[dim])) {
			t.Fatalf("%s along %d: %+v counts %v", l, dim, a, got)
		}
	})
}
