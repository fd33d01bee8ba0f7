package layout

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// values is what every thread's registers hold: values[thread][reg] is an element number.
type values [][]uint64

func hold(l Layout) values {
	v := make(values, l.Lanes()*l.Warps())
	for t := range v {
		for r := range l.Regs() {
			v[t] = append(v[t], l.Apply(r, t%32, t/32, 0))
		}
	}
	return v
}

func odd(x uint64) bool { return bits.OnesCount64(x)%2 == 1 }

// run executes a plan by its documentation.
func (p Plan) run(x values, dst Layout) values {
	swap := func(x values, swaps []Swap) values {
		out := make(values, len(x))
		for t := range x {
			by := 0
			for _, s := range swaps {
				if odd(s.Mask & uint64(t)) {
					by ^= s.Reg
				}
			}
			for i := range x[t] {
				out[t] = append(out[t], x[t][i^by])
			}
		}
		return out
	}
	out := make(values, len(x))
	switch p.Kind {
	case Identity:
		return x
	case RegRename:
		for t := range x {
			for r := range dst.Regs() {
				out[t] = append(out[t], x[t][p.Regs[r]])
			}
		}
	case Shuffle:
		x = swap(x, p.Pre)
		y := make(values, len(x))
		for t := range x {
			lane := 0
			for i, c := range p.Lanes {
				if t>>i&1 != 0 {
					lane ^= c
				}
			}
			if p.LaneIdentity {
				lane = t % 32
			}
			for _, round := range p.Rounds {
				y[t] = append(y[t], x[t&^31|lane^round.Xor][round.Src])
			}
		}
		y = swap(y, p.Post)
		for t := range y {
			for r := range dst.Regs() {
				out[t] = append(out[t], y[t][p.Regs[r]])
			}
		}
	}
	return out
}

// runShared stores and loads through the chosen memory layout.
func runShared(p SharedPlan, src, dst Layout) values {
	store, ok1 := p.Mem.Vectors(src, p.StoreVec)
	load, ok2 := p.Mem.Vectors(dst, p.LoadVec)
	if !ok1 || !ok2 {
		return nil
	}
	x, mem := hold(src), make([]uint64, p.Mem.Size())
	for t := range x {
		for _, g := range store.Groups {
			at := store.threadOffset(t%32, t/32) ^ g.Offset
			for i, r := range g.Regs {
				mem[at+uint64(i)] = x[t][r]
			}
		}
	}
	out := make(values, dst.Lanes()*dst.Warps())
	for t := range out {
		out[t] = make([]uint64, dst.Regs())
		for _, g := range load.Groups {
			at := load.threadOffset(t%32, t/32) ^ g.Offset
			for i, r := range g.Regs {
				out[t][r] = mem[at+uint64(i)]
			}
		}
		for r, rep := range load.Reps {
			out[t][r] = out[t][rep]
		}
	}
	return out
}

func sameValues(a, b values) bool {
	return slices.EqualFunc(a, b, func(x, y []uint64) bool { return slices.Equal(x, y) })
}

func TestPlansDeliverTheDestination(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t, rapid.IntRange(4, 9).Draw(t, "bits"))
		warps := rapid.IntRange(0, 2).Draw(t, "warps")
		src, dst := drawLayout(t, shape, warps, true), drawLayout(t, shape, warps, true)
		p := Convert(src, dst)
		if p.Kind != Shared && !sameValues(p.run(hold(src), dst), hold(dst)) {
			t.Fatalf("%s -> %s: the %s is wrong", src, dst, p.Kind)
		}
		s := SharedLayout(src, dst, 1<<rapid.IntRange(0, 3).Draw(t, "bytes"))
		if !sameValues(runShared(s, src, dst), hold(dst)) {
			t.Fatalf("%s -> %s through %s, vectors %d and %d: wrong", src, dst, s.Mem, s.StoreVec, s.LoadVec)
		}
	})
}

// drawInWarp mixes registers and lanes of a layout arbitrarily, and lets warps see shifted registers and lanes.
func drawInWarp(t *rapid.T, l Layout) Layout {
	inner := slices.Concat(l.bases[Reg], l.bases[Lane])
	n := len(inner)
	m := Matrix{Cols: inner}
	var cols []uint64
	for _, c := range drawInvertible(t, n) {
		cols = append(cols, m.apply(c))
	}
	b := Bases{Reg: cols[:n-5], Lane: cols[n-5:]}
	for _, w := range l.bases[Warp] {
		b.Warp = append(b.Warp, w^m.apply(drawVector(t, n)))
	}
	return Must(l.shape, b)
}

func TestAnyBijectiveMoveInsideAWarpIsOneShufflePerRegister(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := drawLayout(t, drawShape(t, rapid.IntRange(6, 10).Draw(t, "bits")), 1, false)
		dst := drawInWarp(t, src)
		p, ok := newConversion(src, dst).shuffle()
		if !ok || len(p.Rounds) != src.Regs() {
			t.Fatalf("%s -> %s: %d shuffles, %v", src, dst, len(p.Rounds), ok)
		}
		if !sameValues(p.run(hold(src), dst), hold(dst)) {
			t.Fatalf("%s -> %s: wrong", src, dst)
		}
	})
}

func TestMovesInsideAWarpWithReplicasAreRightWhenFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := drawLayout(t, drawShape(t, rapid.IntRange(3, 9).Draw(t, "bits")), 1, true)
		dst := drawInWarp(t, src)
		c := newConversion(src, dst)
		if !c.inWarp() {
			t.Fatalf("%s -> %s leaves the warp", src, dst)
		}
		if p, ok := c.shuffle(); ok && !sameValues(p.run(hold(src), dst), hold(dst)) {
			t.Fatalf("%s -> %s: wrong", src, dst)
		}
	})
}

func TestKindsOfConversion(t *testing.T) {
	c := "{reg=[[0,1],[8,0]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x8"
	for _, k := range []struct {
		name, src, dst string
		want           Kind
		shuffles       int // rounds that are instructions
		selects        int // swaps
	}{
		{"the same", c, c, Identity, 0, 0},
		{"registers renamed", c, "{reg=[[8,0],[0,1]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x8", RegRename, 0, 0},
		{"replicated registers", c, "{reg=[[0,1],[8,0],[0,1]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x8", RegRename, 0, 0},
		{"a register bit and a lane bit exchanged: half of the registers move",
			c, "{reg=[[0,2],[8,0]], lane=[[0,1],[0,4],[1,0],[2,0],[4,0]]} : 16x8", Shuffle, 2, 2},
		{"two pairs exchanged: a quarter stays",
			c, "{reg=[[0,2],[1,0]], lane=[[0,1],[0,4],[8,0],[2,0],[4,0]]} : 16x8", Shuffle, 3, 4},
		{"lanes permuted", c, "{reg=[[0,1],[8,0]], lane=[[0,4],[0,2],[1,0],[2,0],[4,0]]} : 16x8", Shuffle, 4, 0},
		{"rows of registers chosen by the lane: selects only",
			c, "{reg=[[0,1],[8,0]], lane=[[8,2],[0,4],[1,0],[2,0],[4,0]]} : 16x8", Shuffle, 0, 1},
		{"a value of a row spread back from its replicas",
			"{reg=[[0],[8]], lane=[[0],[0],[1],[2],[4]]} : 16", "{reg=[[1]], lane=[[2],[4],[8],[0],[0]]} : 16", Shuffle, 2, 2},
		{"two pairs exchanged crosswise: each lane bit takes the register that has its name",
			c, "{reg=[[0,4],[0,2]], lane=[[0,1],[8,0],[1,0],[2,0],[4,0]]} : 16x8", Shuffle, 3, 4},
		// Lane bit 2 reads what lane bit 1 reads, from another register: together they have the name of register bit 1, and stay where they are.
		{"two lane bits read one lane", "{reg=[[1],[2]], lane=[[32],[4],[8],[16],[64]]} : 128", "{reg=[[16],[12]], lane=[[32],[4],[5],[2],[64]]} : 128", Shuffle, 3, 4},
		{"the second warp reads its neighbours",
			"{reg=[[1]], lane=[[2],[4],[8],[16],[32]], warp=[[64]]} : 128", "{reg=[[1]], lane=[[2],[4],[8],[16],[32]], warp=[[66]]} : 128", Shuffle, 2, 0},
		{"the second warp has its registers the other way round",
			"{reg=[[1]], lane=[[2],[4],[8],[16],[32]], warp=[[64]]} : 128", "{reg=[[1]], lane=[[2],[4],[8],[16],[32]], warp=[[65]]} : 128", Shuffle, 0, 1},
		{"more warps", "{lane=[[1],[2],[4],[8],[16]]} : 32", "{lane=[[1],[2],[4],[8],[16]], warp=[[0]]} : 32", Shared, 0, 0},
		{"warps exchanged", "{lane=[[1],[2],[4],[8],[16]], warp=[[32],[64]]} : 128", "{lane=[[1],[2],[4],[8],[16]], warp=[[64],[32]]} : 128", Shared, 0, 0},
	} {
		t.Run(k.name, func(t *testing.T) {
			src, dst := parse1(t, k.src), parse1(t, k.dst)
			p := Convert(src, dst)
			if p.Kind != k.want {
				t.Fatalf("%s, want %s", p.Kind, k.want)
			}
			if k.want == Shared {
				return
			}
			n := 0
			for _, r := range p.Rounds {
				if !p.LaneIdentity || r.Xor != 0 {
					n++
				}
			}
			if n != k.shuffles || len(p.Pre)+len(p.Post) != k.selects {
				t.Errorf("%d shuffles, %d swaps; want %d, %d: %+v", n, len(p.Pre)+len(p.Post), k.shuffles, k.selects, p)
			}
			if !sameValues(p.run(hold(src), dst), hold(dst)) {
				t.Error("the values are wrong")
			}
		})
	}
}

// Packed registers: a plan whose low register bit stays in its word works on words.
func TestWordsMovePackedRegisters(t *testing.T) {
	src := parse1(t, "{reg=[[0,1],[8,0],[0,8]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x16")
	dst := parse1(t, "{reg=[[0,1],[0,2],[8,0]], lane=[[0,8],[0,4],[1,0],[2,0],[4,0]]} : 16x16")
	p := Convert(src, dst)
	w, ok := p.Words(1)
	if p.Kind != Shuffle || !ok || len(w.Rounds) != 4 {
		t.Fatalf("%v %v %+v", p.Kind, ok, w)
	}
	x := hold(src)
	words := make(values, len(x))
	for i := range x {
		for r := 0; r < len(x[i]); r += 2 {
			words[i] = append(words[i], x[i][r])
		}
	}
	half := dst
	half.bases[Reg] = dst.bases[Reg][1:]
	want := hold(half)
	if got := w.run(words, half); !sameValues(got, want) {
		t.Errorf("got %v\nwant %v", got[1], want[1])
	}
}

// Tiles of words convert as tiles of the elements in them do: what all words have is low register bits that both sides share.
func TestPlansOfWordsArePlansOfTilesOfWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := drawLayout(t, []int{1 << rapid.IntRange(3, 7).Draw(t, "bits")}, 1, true)
		dst := drawLayout(t, src.Shape(), 1, true)
		if rapid.Bool().Draw(t, "in a warp") {
			dst = drawInWarp(t, src)
		}
		log := rapid.IntRange(0, 2).Draw(t, "log")
		packed := func(l Layout) Layout {
			low := l.relabel([]int{l.Shape()[0] << log}, func(c uint64) uint64 { return c << log })
			low.bases[Reg] = slices.Concat(units(log), low.bases[Reg])
			return low
		}
		got, ok := Convert(packed(src), packed(dst)).Words(log)
		if want := Convert(src, dst); !ok || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s -> %s, %d elements to a word: %v, %v, want %v", src, dst, 1<<log, got, ok, want)
		}
	})
}

func TestPlansThatSplitWordsAreNotPlansOfWords(t *testing.T) {
	src := "{reg=[[0,1],[8,0],[0,8]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x16"
	for _, c := range []struct {
		name, src, dst string
		log            int
	}{
		{"neighbours from two lanes", src, "{reg=[[0,2],[8,0],[0,8]], lane=[[0,1],[0,4],[1,0],[2,0],[4,0]]} : 16x16", 1},
		{"two places in a word exchanged", src, "{reg=[[8,0],[0,1],[0,8]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x16", 2},
		{"two halves exchanged where the lane is odd", src, "{reg=[[0,1],[8,0],[0,8]], lane=[[0,3],[0,4],[1,0],[2,0],[4,0]]} : 16x16", 1},
		{"two halves exchanged in odd words", src, "{reg=[[0,1],[8,1],[0,8]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x16", 1},
		{"half of a word from another lane", src, "{reg=[[0,3],[8,0],[0,8]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x16", 1},
		{"one element a thread", "{lane=[[1],[2],[4],[8],[16]]} : 32", "{lane=[[2],[1],[4],[8],[16]]} : 32", 1},
		{"one element of two", "{reg=[[32]], lane=[[1],[2],[4],[8],[16]]} : 64", "{lane=[[1],[2],[4],[8],[16]]} : 64", 1},
		{"copies of one element", "{lane=[[1],[2],[4],[8],[16]]} : 32", "{reg=[[0]], lane=[[2],[1],[4],[8],[16]]} : 32", 1},
		{"two elements, four to a word", "{reg=[[32]], lane=[[1],[2],[4],[8],[16]]} : 64", "{reg=[[32]], lane=[[2],[1],[4],[8],[16]]} : 64", 2},
	} {
		p := Convert(parse1(t, c.src), parse1(t, c.dst))
		if _, ok := p.Words(0); !ok {
			t.Errorf("%s: %+v does not move elements", c.name, p)
		}
		if w, ok := p.Words(c.log); ok || p.Kind == Shared {
			t.Errorf("%s: %+v is taken for one of words, %+v", c.name, p, w)
		}
	}
}

// drawRelated is a layout that a conversion from l may ask for: registers renamed, moves inside warps or blocks, or anything.
func drawRelated(t *rapid.T, l Layout) Layout {
	mixed := func(dims ...Dim) []uint64 { // what these inputs select, in other bits of theirs
		m := Matrix{Cols: l.columns(dims...)}
		var cols []uint64
		for _, c := range drawInvertible(t, len(m.Cols)) {
			cols = append(cols, m.apply(c))
		}
		return cols
	}
	b, regs := l.Bases(), len(l.Column(Reg))
	switch rapid.IntRange(0, 4).Draw(t, "relation") {
	case 0:
		b.Reg = mixed(Reg)
	case 1:
		inner := mixed(Reg, Lane)
		b.Reg, b.Lane = inner[:regs], inner[regs:]
	case 2:
		inner := mixed(Reg, Lane, Warp)
		b.Reg, b.Lane, b.Warp = inner[:regs], inner[regs:regs+LaneBits], inner[regs+LaneBits:]
	case 3:
		all := mixed(Reg, Lane, Warp, Block)
		b.Reg, b.Lane, b.Warp, b.Block = all[:regs], all[regs:regs+LaneBits], all[regs+LaneBits:regs+LaneBits+len(b.Warp)], all[regs+LaneBits+len(b.Warp):]
	}
	switch rapid.IntRange(0, 7).Draw(t, "more or less") {
	case 0:
		b.Reg = append(slices.Clone(b.Reg), 0)
	case 1:
		b.Reg = b.Reg[:regs/2]
	case 2:
		b.Warp = append(slices.Clone(b.Warp), 0)
	case 3:
		b.Warp, b.Block = b.Warp[:len(b.Warp)/2], append(slices.Clone(b.Block), 0)
	case 4:
		b.Lane = b.Lane[:LaneBits-1]
	}
	return Must(l.Shape(), b)
}

// held is the elements that the registers of a thread hold. Lanes, warps and blocks that a layout does not tell apart hold the same.
func held(l Layout, lane, warp, block int) (out []uint64) {
	for r := range l.Regs() {
		out = append(out, l.Apply(r, lane%l.Lanes(), warp%l.Warps(), block%l.Blocks()))
	}
	return out
}

// The kind of a conversion by its definition: where the elements of each thread are before it.
func TestConversionsGoAsFarAsTheirElementsAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t, []int{1 << rapid.IntRange(1, 9).Draw(t, "bits")}, 2, true)
		src := Must(l.Shape(), Bases{l.bases[Reg], l.bases[Lane], l.bases[Warp][:1], l.bases[Warp][1:]})
		dst := drawRelated(t, src)
		warps, blocks := max(src.Warps(), dst.Warps()), max(src.Blocks(), dst.Blocks())
		same := src.Warps() == dst.Warps() && src.Blocks() == dst.Blocks()
		inBlock, inWarp, renamed := true, same, same
		regs := make([][]int, dst.Regs()) // in which registers of the source every thread has had it so far
		for r := range regs {
			regs[r] = counting(src.Regs())
		}
		for block := range blocks {
			ofBlock := map[uint64]bool{}
			for thread := range warps * 32 {
				for _, e := range held(src, thread%32, thread/32, block) {
					ofBlock[e] = true
				}
			}
			for warp := range warps {
				ofWarp := map[uint64]bool{}
				for lane := range 32 {
					for _, e := range held(src, lane, warp, block) {
						ofWarp[e] = true
					}
				}
				for lane := range 32 {
					own := held(src, lane, warp, block)
					for r, e := range held(dst, lane, warp, block) {
						inBlock, inWarp = inBlock && ofBlock[e], inWarp && ofWarp[e]
						regs[r] = slices.DeleteFunc(regs[r], func(s int) bool { return own[s] != e })
					}
				}
			}
		}
		for _, list := range regs {
			renamed = renamed && len(list) > 0
		}
		want := Plan{Kind: Cluster}
		if inBlock {
			want = Plan{Kind: Shared, WarpLocal: inWarp}
		}
		if got := ConvertShared(src, dst); got.Kind != want.Kind || got.WarpLocal != want.WarpLocal {
			t.Fatalf("%s -> %s: %+v, want %+v", src, dst, got, want)
		}
		got := Convert(src, dst)
		switch {
		case src.String() == dst.String():
			want.Kind = Identity
		case renamed:
			want.Kind = RegRename
		case got.Kind == Shuffle && inWarp:
			want.Kind = Shuffle
		}
		if got.Kind != want.Kind || got.Kind == Shared && got.WarpLocal != inWarp {
			t.Fatalf("%s -> %s: %+v, want %+v", src, dst, got, want)
		}
		if got.Kind <= Shuffle && len(got.Regs) != dst.Regs() && got.Kind != Identity {
			t.Fatalf("%s -> %s: a plan for %d registers, want %d", src, dst, len(got.Regs), dst.Regs())
		}
	})
}
