package cost

import (
	"slices"
	"strings"
	"testing"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
)

func parse(t *testing.T, text string) layout.Layout {
	t.Helper()
	l, err := layout.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func sm(t *testing.T, name string) *target.Target {
	t.Helper()
	tg, ok := target.ByName(name)
	if !ok {
		t.Fatal(name)
	}
	return tg
}

func TestConversionsCostWhatTheirCodeDoes(t *testing.T) {
	const c = "{reg=[[0,1],[8,0]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x8"
	tile := []int{64, 64}
	row := layout.BlockedSpan(tile, 4, 32, []int{1, 0}, 4)
	col := layout.BlockedSpan(tile, 4, 32, []int{0, 1}, 4)
	for _, k := range []struct {
		name     string
		src, dst layout.Layout
		bits     int
		kind     layout.Kind
		want     Cost
	}{
		{"nothing", parse(t, c), parse(t, c), 32, layout.Identity, Cost{}},
		{"registers renamed", parse(t, c), parse(t, "{reg=[[8,0],[0,1]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x8"), 32, layout.RegRename, Cost{}},
		{"halves of words exchanged", parse(t, c), parse(t, "{reg=[[8,0],[0,1]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x8"), 16, layout.RegRename, Cost{Instrs: 2}},
		// 4 rounds, 2 of them move; 2 swaps of 4 selects.
		{"one crossing pair", parse(t, c), parse(t, "{reg=[[0,2],[8,0]], lane=[[0,1],[0,4],[1,0],[2,0],[4,0]]} : 16x8"), 32, layout.Shuffle, Cost{Instrs: 2 + 8, Waves: 2}},
		{"the same of 64-bit values", parse(t, c), parse(t, "{reg=[[0,2],[8,0]], lane=[[0,1],[0,4],[1,0],[2,0],[4,0]]} : 16x8"), 64, layout.Shuffle, Cost{Instrs: 20, Waves: 4}},
		// 4096 elements of 4 bytes: 128 waves a side, 16 bytes a lane.
		{"transpose through shared memory", row, col, 32, layout.Shared, Cost{Instrs: 64, Waves: 256, Barriers: 1}},
	} {
		p, got := Conversion(k.src, k.dst, k.bits)
		if p.Kind != k.kind || got != k.want {
			t.Errorf("%s: a %s of %s; want a %s of %s", k.name, p.Kind, got, k.kind, k.want)
		}
	}
}

// The predicted waves of a trip through shared memory are those of counting.
func TestSharedCostIsTheCountedOne(t *testing.T) {
	tiling, _ := atom.Tile(atom.MMAByName("mma.m16n8k16.row.col.f32.bf16.bf16.f32"), atom.Extent{M: 64, N: 64, K: 16}, atom.Split{Batch: 1, M: 2, N: 2, Copies: 1}, false)
	acc := tiling.Layouts()
	rows := layout.Blocked([]int{64, 64}, 8, []int{1, 0}, 4)
	p, got := Conversion(acc.C, rows, 16)
	s := layout.SharedLayout(acc.C, rows, 2)
	store, err1 := SharedAccess(s.Mem, acc.C, 16, s.StoreVec)
	load, err2 := SharedAccess(s.Mem, rows, 16, s.LoadVec)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if want := store.Plus(load).Plus(Cost{Barriers: 1}); p.Kind != layout.Shared || got != want {
		t.Errorf("%s %s, counted %s", p.Kind, got, want)
	}
}

func TestRegistersCountPackedWordsOnce(t *testing.T) {
	l := layout.Blocked([]int{64, 64}, 8, []int{1, 0}, 4) // 32 elements a thread
	for _, c := range []struct{ bits, want int }{{64, 64}, {32, 32}, {16, 16}, {8, 8}, {1, 8}} {
		if got := Registers(l.Regs(), c.bits); got != c.want {
			t.Errorf("%d bits: %d registers, want %d", c.bits, got, c.want)
		}
	}
}

func TestOccupancyAsTheCalculatorSays(t *testing.T) {
	for _, c := range []struct {
		target                     string
		threads, registers, shared int
		want                       int
		limit                      string
	}{
		{"sm_80", 128, 32, 0, 16, "warps"},
		{"sm_80", 256, 128, 0, 2, "registers"},
		{"sm_80", 128, 255, 0, 2, "registers"},
		{"sm_80", 128, 33, 0, 12, "registers"},
		{"sm_90", 288, 168, 0, 1, "registers"}, // launches on an H200
		{"sm_90", 288, 176, 0, 0, "registers"}, // does not: a scheduler has three of the nine warps
		{"sm_100", 160, 200, 0, 1, "registers"},
		{"sm_100", 160, 168, 0, 2, "registers"},
		{"sm_80", 128, 64, 81 * 1024, 2, "shared memory"},
		{"sm_80", 128, 64, 82 * 1024, 1, "shared memory"},
		{"sm_90", 128, 64, 113 * 1024, 2, "shared memory"},
		{"sm_75", 128, 64, 64 * 1024, 1, "shared memory"},
		{"sm_80", 32, 16, 0, 32, "blocks"},
		{"sm_80", 128, 64, 164 * 1024, 0, "167936 bytes of shared memory, a block has at most 166912"},
		{"sm_80", 2048, 32, 0, 0, "2048 threads, a block has at most 1024"},
	} {
		got, limit := Occupancy(sm(t, c.target), c.threads, c.registers, c.shared)
		if got != c.want || limit != c.limit {
			t.Errorf("%s, %d threads, %d registers, %d bytes: %d (%s), want %d (%s)", c.target, c.threads, c.registers, c.shared, got, limit, c.want, c.limit)
		}
	}
}

func TestRegistersLeaveRoomForBlocks(t *testing.T) {
	for _, c := range []struct{ threads, blocks, want int }{{256, 1, 255}, {288, 1, 168}, {384, 1, 168}, {288, 2, 96}, {160, 2, 168}, {128, 2, 255}, {512, 1, 128}} {
		if got := RegisterLimit(sm(t, "sm_90"), c.threads, c.blocks); got != c.want {
			t.Errorf("%d blocks of %d threads have %d registers each, want %d", c.blocks, c.threads, got, c.want)
		}
	}
}

// Scores of attention may take more registers than sums, which are alive always.
func TestAccumulatorsFitBesideWhatLoopsCarry(t *testing.T) {
	for _, c := range []struct {
		target               string
		warps, most, carried int
		rows, turns, want    bool
	}{
		{"sm_80", 4, 128, 128, false, false, true}, {"sm_80", 4, 192, 96, false, false, true}, {"sm_80", 4, 192, 97, false, false, false},
		{"sm_80", 4, 193, 32, false, false, false}, {"sm_80", 4, 160, 128, false, false, true}, {"sm_80", 4, 160, 128, false, true, false},
		{"sm_80", 4, 192, 64, false, true, true}, {"sm_80", 8, 160, 128, false, false, true}, {"sm_75", 4, 160, 128, false, false, false},
		{"sm_80", 16, 64, 64, false, false, true}, {"sm_80", 16, 96, 32, false, false, true}, {"sm_80", 16, 96, 33, false, false, false},
		{"sm_100", 4, 192, 64, false, false, false}, {"sm_90", 4, 192, 128, true, false, true}, {"sm_90", 4, 192, 64, false, false, false},
		{"sm_90", 4, 193, 64, true, false, false},
	} {
		if got := AccumulatorsFit(sm(t, c.target), c.warps, Accumulators{c.most, c.most, c.carried}, ProductShape{c.rows, c.turns}); got != c.want {
			t.Errorf("%s, %d warps, %d accumulators, %d carried: %t, want %t", c.target, c.warps, c.most, c.carried, got, c.want)
		}
	}
}

// Where the results of two products meet behind their loop, nothing is read ahead.
func TestAccumulatorsFitBehindLoops(t *testing.T) {
	for _, target := range []string{"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"} {
		for most, want := range map[int]bool{128: true, 192: true, 193: false} { // the order cannot matter
			if got := AccumulatorsFit(sm(t, target), 8, Accumulators{most, 128, 128}, ProductShape{}); got != want {
				t.Errorf("%s, %d accumulators behind a loop with 128: %t, want %t", target, most, got, want)
			}
		}
	}
}

func TestRegisterLimitKeepsTheBlocks(t *testing.T) {
	for _, c := range []struct{ threads, blocks, want int }{{384, 1, 168}, {256, 1, 255}, {128, 4, 128}, {512, 2, 64}} {
		got := RegisterLimit(sm(t, "sm_90"), c.threads, c.blocks)
		if got != c.want {
			t.Errorf("%d threads, %d blocks: %d registers, want %d", c.threads, c.blocks, got, c.want)
		}
		if n, _ := Occupancy(sm(t, "sm_90"), c.threads, got, 0); n < c.blocks {
			t.Errorf("with %d registers only %d blocks of %d run", got, n, c.blocks)
		}
	}
}

func TestSelectionFindsTheAtomOfEachTypeAndTarget(t *testing.T) {
	for _, c := range []struct {
		target  string
		a, b, c atom.Elem
		e       atom.Extent
		want    string // the best candidate
		reason  string // one of the reasons
	}{
		{"sm_80", atom.BF16, atom.BF16, atom.F32, atom.Extent{M: 128, N: 128, K: 64}, "mma.m16n8k16.row.col.f32.bf16.bf16.f32", ""},
		{"sm_75", atom.BF16, atom.BF16, atom.F32, atom.Extent{M: 128, N: 128, K: 64}, "fma.f32", "mma.m16n8k16.row.col.f32.bf16.bf16.f32 needs sm_80 and later, PTX 7.0"},
		{"sm_75", atom.F16, atom.F16, atom.F16, atom.Extent{M: 128, N: 128, K: 64}, "mma.m16n8k8.row.col.f16.f16.f16.f16", "mma.m16n8k16.row.col.f16.f16.f16.f16 needs sm_80 and later, PTX 7.0"},
		{"sm_80", atom.F16, atom.F16, atom.F32, atom.Extent{M: 64, N: 64, K: 8}, "mma.m16n8k8.row.col.f32.f16.f16.f32", ""},
		{"sm_90", atom.F32, atom.F32, atom.F32, atom.Extent{M: 128, N: 128, K: 64}, "fma.f32", ""},
		{"sm_80", atom.TF32, atom.TF32, atom.F32, atom.Extent{M: 32, N: 32, K: 32}, "mma.m16n8k8.row.col.f32.tf32.tf32.f32", ""},
		{"sm_75", atom.S8, atom.U8, atom.S32, atom.Extent{M: 64, N: 64, K: 64}, "mma.m8n8k16.row.col.s32.s8.u8.s32", "mma.m16n8k32.row.col.s32.s8.u8.s32 needs sm_80 and later, PTX 7.0"},
		{"sm_80", atom.S8, atom.U8, atom.S32, atom.Extent{M: 64, N: 64, K: 64}, "mma.m16n8k32.row.col.s32.s8.u8.s32", ""},
		{"sm_75", atom.S8, atom.U8, atom.S32, atom.Extent{M: 2, N: 2, K: 16}, "dp4a.s32.u32", "mma.m8n8k16.row.col.s32.s8.u8.s32: m8n8k16 in a tile of 2x2x16 is 16 times the work"},
		{"sm_80", atom.U8, atom.U8, atom.S32, atom.Extent{Batch: 2, M: 2, N: 2, K: 4}, "dp4a.u32.u32", ""},
		{"sm_89", atom.E4M3, atom.E5M2, atom.F32, atom.Extent{M: 64, N: 64, K: 64}, "mma.m16n8k32.row.col.f32.e4m3.e5m2.f32", ""},
		{"sm_120", atom.E4M3, atom.E4M3, atom.F32, atom.Extent{M: 128, N: 128, K: 64}, "mma.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0", ""},
		{"sm_120", atom.E4M3, atom.E4M3, atom.F32, atom.Extent{M: 128, N: 128, K: 16}, "mma.m16n8k16.row.col.f32.e4m3.e4m3.f32", ""},
		{"sm_120", atom.E4M3, atom.E4M3, atom.F16, atom.Extent{M: 128, N: 128, K: 64}, "mma.m16n8k32.row.col.f16.e4m3.e4m3.f16", ""},
		{"sm_90", atom.E4M3, atom.E4M3, atom.F32, atom.Extent{M: 128, N: 128, K: 64}, "wgmma.m64n128k32.f32.e4m3.e4m3", ""},
		{"sm_90", atom.S8, atom.U8, atom.S32, atom.Extent{M: 64, N: 64, K: 64}, "wgmma.m64n64k32.s32.s8.u8", ""},
		{"sm_90", atom.F16, atom.F16, atom.F32, atom.Extent{M: 128, N: 256, K: 64}, "wgmma.m64n256k16.f32.f16.f16", ""},
		{"sm_90", atom.BF16, atom.BF16, atom.F32, atom.Extent{M: 64, N: 32, K: 16}, "wgmma.m64n32k16.f32.bf16.bf16", ""},
		{"sm_90", atom.BF16, atom.BF16, atom.F32, atom.Extent{M: 16, N: 128, K: 64}, "wgmma.m64n16k16.f32.bf16.bf16 of the transposed product", ""},
		{"sm_90", atom.BF16, atom.BF16, atom.F32, atom.Extent{M: 32, N: 32, K: 64}, "mma.m16n8k16.row.col.f32.bf16.bf16.f32", ""},
		{"sm_100", atom.BF16, atom.BF16, atom.F32, atom.Extent{M: 128, N: 256, K: 64}, "tcgen05.m128n256k16.f32.bf16.bf16", "wgmma.m64n256k16.f32.bf16.bf16 needs sm_90a, PTX 8.0"},
		{"sm_100", atom.BF16, atom.BF16, atom.F32, atom.Extent{M: 16, N: 128, K: 64}, "tcgen05.m128n16k16.f32.bf16.bf16 of the transposed product", ""},
		{"sm_103", atom.S8, atom.S8, atom.S32, atom.Extent{M: 128, N: 128, K: 64}, "mma.m16n8k32.row.col.s32.s8.s8.s32", "tcgen05.m128n128k32.s32.s8.s8 needs sm_100a, sm_110a, PTX 8.6"},
		{"sm_100", atom.E5M2, atom.E4M3, atom.F16, atom.Extent{M: 32, N: 32, K: 32}, "mma.m16n8k16.row.col.f16.f16.f16.f16", ""},
		{"sm_80", atom.E4M3, atom.E4M3, atom.F32, atom.Extent{M: 64, N: 64, K: 64}, "mma.m16n8k16.row.col.f32.f16.f16.f32", "mma.m16n8k32.row.col.f32.e4m3.e4m3.f32 needs sm_89 and later, PTX 8.4"},
		{"sm_80", atom.F64, atom.F64, atom.F64, atom.Extent{M: 32, N: 32, K: 16}, "mma.m8n8k4.row.col.f64.f64.f64.f64", ""},
		{"sm_80", atom.BF16, atom.BF16, atom.F32, atom.Extent{M: 8, N: 64, K: 64}, "mma.m16n8k16.row.col.f32.bf16.bf16.f32 of the transposed product", ""},
		{"sm_80", atom.BF16, atom.BF16, atom.F32, atom.Extent{M: 2, N: 2, K: 2}, "fma.f32", "mma.m16n8k16.row.col.f32.bf16.bf16.f32: m16n8k16 in a tile of 2x2x2 is 256 times the work"},
	} {
		target, types := sm(t, c.target), atom.Types{A: c.a, B: c.b, C: c.c}
		list, reasons := Products(target, types, c.e), atom.WhyNot(target, types, c.e)
		if len(list) == 0 {
			t.Errorf("%s %s*%s: no candidate", c.target, c.a, c.b)
			continue
		}
		best := list[0]
		if best.String() != c.want {
			t.Errorf("%s %s*%s+%s %s: %v, want %s", c.target, c.a, c.b, c.c, c.e, list, c.want)
		}
		if c.reason != "" && !strings.Contains("\n"+strings.Join(reasons, "\n")+"\n", "\n"+c.reason+"\n") {
			t.Errorf("%s %s*%s: reasons %q lack %q", c.target, c.a, c.b, reasons, c.reason)
		}
		for _, k := range list {
			if !c.a.WidensTo(k.A) || !c.b.WidensTo(k.B) || k.Atom.C != c.c {
				t.Errorf("%s changes values: %s -> %s, %s -> %s", k, c.a, k.A, c.b, k.B)
			}
			for _, warps := range []int{1, 4} {
				for _, s := range atom.Splits(k.Atom, k.Extent, warps, k.Swap) {
					if _, ok := atom.Tile(k.Atom, k.Extent, s, k.Swap); !ok {
						t.Errorf("%s does not tile %s over %s", k, k.Extent, s)
					}
				}
			}
		}
	}
}

// A product with scales takes the instruction that multiplies by them if there is one for its types, its blocks and its depth along K; operands of 4
// bits become bytes where that helps.
func TestSelectionFindsTheAtomOfEachScale(t *testing.T) {
	e := atom.Extent{M: 64, N: 64, K: 64}
	for _, c := range []struct {
		target     string
		elem       atom.Elem
		scale      atom.Elem
		block      int
		e          atom.Extent
		want, what string
	}{
		{"sm_120", atom.E4M3, atom.E8M0, 32, e, "kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0", "mma.m16n8k32"},
		{"sm_121", atom.E5M2, atom.E8M0, 32, e, "kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e5m2.f32.ue8m0", "mma.m16n8k32"},
		{"sm_120", atom.F4x2, atom.E8M0, 16, e, "kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", "mma.m16n8k64"},
		{"sm_120", atom.F4x2, atom.E8M0, 8, e, "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0", "mma.m16n8k64"},
		{"sm_120", atom.F4x2, atom.E4M3, 8, e, "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "mma.m16n8k64"},
		{"sm_120", atom.F4, atom.E8M0, 32, atom.Extent{M: 64, N: 64, K: 32}, "kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0", "mma.m16n8k32"},
		{"sm_120", atom.F4x2, atom.E4M3, 16, e, "", ""}, // no such blocks
		{"sm_120", atom.E4M3, atom.E8M0, 16, e, "", ""}, // no such blocks
		{"sm_100", atom.E4M3, atom.E8M0, 32, e, "", ""},
		{"sm_80", atom.F4, atom.E8M0, 32, e, "", ""},
	} {
		list := Products(sm(t, c.target), atom.Types{A: c.elem, B: c.elem, C: atom.F32, Scale: atom.Scale{Elem: c.scale, Block: c.block}}, c.e)
		list = slices.DeleteFunc(list, func(k atom.Candidate) bool { return k.Padded(c.e) })
		got := ""
		if len(list) > 0 {
			got = list[0].Atom.Name
		}
		if want := c.what + ".row.col." + c.want; got != want && (c.want != "" || got != "") {
			t.Errorf("%s %s, %s for %d: %s, want %s", c.target, c.elem, c.scale, c.block, got, want)
		}
	}
}

func TestProductsAreSplitForTheLeastTraffic(t *testing.T) {
	for _, c := range []struct {
		e     atom.Extent
		warps int
		want  atom.Split
	}{
		{atom.Extent{M: 128, N: 128, K: 64}, 4, atom.Split{Batch: 1, M: 2, N: 2, Copies: 1}},
		{atom.Extent{M: 128, N: 256, K: 64}, 8, atom.Split{Batch: 1, M: 2, N: 4, Copies: 1}},
		{atom.Extent{M: 256, N: 64, K: 32}, 4, atom.Split{Batch: 1, M: 4, N: 1, Copies: 1}},
		{atom.Extent{M: 16, N: 256, K: 32}, 4, atom.Split{Batch: 1, M: 1, N: 4, Copies: 1}},
		{atom.Extent{Batch: 4, M: 32, N: 32, K: 32}, 4, atom.Split{Batch: 4, M: 1, N: 1, Copies: 1}},
	} {
		list := Products(sm(t, "sm_80"), atom.Types{A: atom.BF16, B: atom.BF16, C: atom.F32}, c.e)
		best, ok := BestSplit(list[0], c.warps, nil)
		if !ok || best.Split != c.want {
			t.Errorf("%s over %d warps: %s, want %s", c.e, c.warps, best.Split, c.want)
		}
	}
	list := Products(sm(t, "sm_80"), atom.Types{A: atom.BF16, B: atom.BF16, C: atom.F32}, atom.Extent{M: 128, N: 128, K: 64})
	rows, ok := BestSplit(list[0], 8, func(s atom.Split) bool { return s.N == 1 })
	if !ok || rows.Split.M != 8 {
		t.Errorf("rows only: %s", rows.Split)
	}
}

// What is cut costs more than what is whole, and more cuts cost more: plans are tried in this order.
func TestCutsCost(t *testing.T) {
	e := atom.Extent{M: 256, N: 256, K: 128}
	list := Products(sm(t, "sm_80"), atom.Types{A: atom.F16, B: atom.F16, C: atom.F32}, e)
	last := 0
	for _, c := range []Cut{{2, 1}, {2, 2}, {4, 2}, {8, 4}} {
		got, ok := CutProduct(list[0], 8, c, 2*256*128*2)
		if !ok || got <= last {
			t.Errorf("%v: %d quarter cycles, not more than %d", c, got, last)
		}
		last = got
	}
	whole, _ := CutProduct(list[0], 8, Cut{1, 1}, 2*256*128*2)
	pieces, _ := CutProduct(list[0], 8, Cut{2, 1}, 2*256*128*2)
	if whole <= pieces {
		t.Errorf("256 accumulators of a thread cost %d, pieces of 128 %d", whole, pieces)
	}
}

// Attention with tiles of 128 by 128: K and V take 64 KB. Where two slots of both have room they are better than a second barrier, else
// one of each is better than waiting.
func TestCopiesTakeTurnsWhereTwoSlotsHaveNoRoom(t *testing.T) {
	l := Loop{MatrixCycles: 4096, Issue: 8000, Waves: 4608, CopiedBytes: 65536, Warps: 8, Registers: 250}
	for _, c := range []struct {
		gpu  string
		slot []int
		want bool
	}{
		{"sm_120", []int{65536}, true},
		{"sm_80", []int{65536, 131072}, false},
		{"sm_120", nil, true},
	} {
		l.SharedBytes = c.slot
		if _, got := l.StaggeredCycles(sm(t, c.gpu), 2, 65536); got != c.want {
			t.Errorf("%s with slots of %d bytes: %t", c.gpu, c.slot, got)
		}
	}
	if _, got := l.StaggeredCycles(sm(t, "sm_120"), 2, 131072); got {
		t.Error("what does not fit is taken")
	}
}

// Decode of latent attention: two blocks that wait for everything are faster than one whose copies take turns, if there are two.
func TestTurnsAreTakenWhereTheyLoseLess(t *testing.T) {
	l := Loop{MatrixCycles: 600, Issue: 3000, Waves: 1100, CopiedBytes: 136 << 10, Warps: 4, Warpgroups: 1, Registers: 200, SharedBytes: []int{86 << 10}}
	cycles, best := l.StaggeredCycles(sm(t, "sm_90"), 2, 156<<10)
	if both := l.Cycles(sm(t, "sm_90")); !best || cycles <= both {
		t.Errorf("%d cycles of one block whose copies take turns, %d of two: taken %v", cycles, both, best)
	}
	l.CopiedBytes = 8 << 10 // what comes soon may be waited for
	if cycles, best := l.StaggeredCycles(sm(t, "sm_90"), 2, 156<<10); best {
		t.Errorf("%d cycles for few bytes: taken", cycles)
	}
}

// Attention 128x128, d = 128: the unit is done in 512 cycles, the threads in 750; of 64x64, d = 256, it is done in 1024, they in 525.
func TestThreadsAreRelievedOfCopiesWhereTheyHaveHalfAsMuchToDoAsTheTensorUnit(t *testing.T) {
	attention := Loop{MatrixCycles: 512, Issue: 3000, Warps: 4, TensorColumns: 256, Registers: 168, SharedBytes: []int{96 << 10}}
	wide, gemm, threads, block := attention, attention, attention, attention
	wide.MatrixCycles, wide.Issue = 1024, 2100
	gemm.Issue = 300          // nothing but products
	threads.TensorColumns = 0 // which threads make
	block.Registers = 176     // of two blocks with a warp more each, one has no registers
	layers := attention
	layers.Issue = 600 // a third of the unit's time
	for name, c := range map[string]struct {
		l    Loop
		part int
		want bool
	}{"attention": {attention, 2, true}, "64 rows": {wide, 2, true}, "gemm": {gemm, 2, false}, "mma.sync": {threads, 2, false}, "a block less": {block, 2, false},
		"two layers": {layers, 4, true}, "so much of copies": {layers, 2, false}} {
		if got := c.l.ProducerPays(sm(t, "sm_100"), 1, c.part); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestTilesSpreadOverEnoughWarps(t *testing.T) {
	for _, c := range []struct{ bytes, want int }{{1024, 4}, {8192, 4}, {16384, 8}, {32768, 16}, {1 << 20, 16}} {
		best := 4
		for _, w := range []int{8, 16} {
			if SpreadCost(c.bytes, w).Quarters() < SpreadCost(c.bytes, best).Quarters() {
				best = w
			}
		}
		if best != c.want {
			t.Errorf("%d bytes: %d warps, want %d", c.bytes, best, c.want)
		}
	}
}

func TestCheaperWayIsTaken(t *testing.T) {
	src := parse(t, "{reg=[[0,1],[8,0],[0,8]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x16")
	dst := parse(t, "{reg=[[0,2],[1,0],[0,8]], lane=[[0,1],[0,4],[8,0],[2,0],[4,0]]} : 16x16")
	p, got := Conversion(src, dst, 32)
	other := sharedCost(layout.ConvertShared(src, dst), src, dst, 32)
	shuffle := shuffleCost(layout.Convert(src, dst), src, dst, 32)
	if got.Quarters() != min(other.Quarters(), shuffle.Quarters()) {
		t.Errorf("%s of %s; shared %s, shuffle %s", p.Kind, got, other, shuffle)
	}
}

func TestIterationsLoadTogether(t *testing.T) {
	plain := Loads{Bytes: 16, Registers: 4, OtherRegisters: 40, Issue: 20, Warps: 4, Trips: -1}
	with := func(change func(l *Loads)) Loads { l := plain; change(&l); return l }
	for _, c := range []struct {
		why   string
		loads Loads
		want  int
	}{
		{"64 bytes of a thread", plain, 4},
		{"80 bytes are enough", with(func(l *Loads) { l.Bytes = 80 }), 1},
		{"48 and 48", with(func(l *Loads) { l.Bytes = 48 }), 2},
		{"eight at most", with(func(l *Loads) { l.Bytes = 2 }), 8},
		{"nothing to load", with(func(l *Loads) { l.Bytes = 0 }), 1},
		{"three iterations", with(func(l *Loads) { l.Trips = 3 }), 2},
		{"no iteration", with(func(l *Loads) { l.Trips = 0 }), 1},
		{"a plan with few registers", with(func(l *Loads) { l.Limit = 48 }), 2},
		{"no registers", with(func(l *Loads) { l.OtherRegisters = 250 }), 1},
		{"long code", with(func(l *Loads) { l.Issue = 300 }), 2},
	} {
		if got := c.loads.Unroll(sm(t, "sm_80")); got != c.want {
			t.Errorf("%s: %d iterations together, want %d", c.why, got, c.want)
		}
	}
	// Two blocks of 256 threads, of 64 bytes each, have 32 KB under way: a multiprocessor of sm_100 moves 29 bytes in a cycle, in 1,400 cycles 41 KB, that of sm_120 6 KB.
	few := Loads{Bytes: 64, Registers: 16, OtherRegisters: 88, Issue: 90, Warps: 8, Trips: -1}
	for gpu, want := range map[string]int{"sm_80": 2, "sm_90": 2, "sm_100": 2, "sm_120": 1} { // a table: the order cannot matter
		if got := few.Unroll(sm(t, gpu)); got != want {
			t.Errorf("%s: two blocks load for %d iterations together, want %d", gpu, got, want)
		}
	}
	few.OtherRegisters = 100 // 132 registers leave room for one block
	if got := few.Unroll(sm(t, "sm_100")); got != 1 {
		t.Errorf("as many bytes in one block as in two: %d iterations together, want 1", got)
	}
}

func TestUnrolledLoopsLeaveRegistersForOtherBlocks(t *testing.T) {
	for _, c := range []struct {
		gpu          string
		warps, asked int
		want         int
	}{
		{"sm_80", 16, 42, 64}, {"sm_80", 8, 42, 64}, {"sm_80", 4, 42, 64}, // half of 64 warps
		{"sm_120", 16, 42, 64}, {"sm_120", 8, 42, 80}, {"sm_75", 16, 42, 128}, // half of 48, and of 32
		{"sm_80", 16, 60, 128}, {"sm_80", 8, 60, 255}, // these would not be enough
	} {
		if got := UnrolledRegisters(sm(t, c.gpu), c.warps, c.asked); got != c.want {
			t.Errorf("%s, %d warps that ask for %d registers: %d, want %d", c.gpu, c.warps, c.asked, got, c.want)
		}
	}
}

func TestBlocksBesideEachOtherKeepMemoryBusy(t *testing.T) {
	a100, b200, t4 := sm(t, "sm_80"), sm(t, "sm_100"), sm(t, "sm_75")
	row := ReducedTile{Loaded: 32 << 10, Stored: 32 << 10, Issue: 8192, Exchanges: 2, Pieces: 1, Passes: 3, Registers: 48, Warps: 16} // of 8192 numbers
	narrow := row
	narrow.Registers, narrow.Warps = 64, 8
	alone := narrow
	alone.Registers = 200
	dram := func(t *target.Target) int { return (64 << 10) * 100 / t.DRAM }
	besides := 8192/4 + 700 + 2*200 // instructions, a load and two barriers
	if got, want := row.Cycles(a100), dram(a100)+besides/2; got != want {
		t.Errorf("two blocks on sm_80: %d cycles, want %d", got, want)
	}
	if got, want := narrow.Cycles(b200), dram(b200)+besides/4; got != want {
		t.Errorf("four blocks on sm_100: %d cycles, want %d", got, want)
	}
	if got, want := alone.Cycles(a100), dram(a100)+besides; got != want {
		t.Errorf("one block on sm_80: %d cycles, want %d", got, want)
	}
	few := narrow
	few.Warps = 2
	if got, want := few.Cycles(b200), dram(b200)+(besides+3*8192/4)/16; got != want {
		t.Errorf("blocks of two warps, which are slow by themselves: %d cycles, want %d", got, want)
	}
	ahead := row
	if ahead.Prefetches = true; ahead.Cycles(a100) != dram(a100) {
		t.Errorf("two blocks that load the next row early take %d cycles, want those of DRAM, %d", ahead.Cycles(a100), dram(a100))
	}
	// In pieces a row is loaded three times: from the second-level cache, where there is room for those of all blocks.
	row.Pieces = 2
	for _, c := range []struct {
		on     *target.Target
		loaded int
		again  bool // from DRAM
	}{{a100, 128 << 10, false}, {a100, 512 << 10, true}, {t4, 128 << 10, true}, {b200, 256 << 10, false}} {
		row.Loaded, row.Stored = c.loaded, c.loaded
		once := 2 * c.loaded * 100 / c.on.DRAM
		if got := row.Cycles(c.on); got > once*5/4 != c.again {
			t.Errorf("%s, %d bytes: %d cycles, %d if they are loaded once", c.on, c.loaded, got, once)
		}
	}
}

func TestCopiesOfRowsRunAheadWhereABlockIsAlone(t *testing.T) {
	row := RowLoop{CopiedBytes: 16 << 10, StoredBytes: 16 << 10, Issue: 1536, Exchanges: 2, Registers: 64, Warps: 8, SharedBytes: slotsOf(16<<10, 8)}
	short, busy, roomy, big := row, row, row, row
	short.CopiedBytes, short.StoredBytes, short.Issue, short.SharedBytes = 1<<10, 1<<10, 128, slotsOf(1<<10, 8)
	busy.Issue = 12 << 10
	roomy.Registers = 32
	big.LaunchedBlocks, big.CopiedBytes, big.SharedBytes = 1, 72<<10, slotsOf(72<<10, 8)
	// Two blocks of 81 KB, and of each the 1 KB that the system takes, are the 164 KB of a multiprocessor of sm_80: nothing is left for exchanges.
	full, notQuite := row, row
	full.Registers, notQuite.Registers = 128, 128
	full.SharedBytes, notQuite.SharedBytes = []int{40 << 10, 81 << 10}, []int{40 << 10, 80 << 10}
	alone := busy
	alone.LaunchedBlocks = 1
	for _, c := range []struct {
		name string
		rows RowLoop
		want int
	}{
		{"rows", row, 2},
		{"short rows are over before copies of the next one have come", short, 5},
		{"many instructions, where other blocks may run", busy, 1},
		{"many instructions, where none does", alone, 2},
		{"blocks that leave no room for a second slot", roomy, 1},
		{"one block with room for two slots", big, 2},
		{"two blocks with room for two slots, but not for exchanges", full, 1},
		{"two blocks with room for two slots and exchanges", notQuite, 2},
	} {
		if got := c.rows.Slots(sm(t, "sm_80")); got != c.want {
			t.Errorf("%s: %d slots, want %d", c.name, got, c.want)
		}
	}
}

// slotsOf is the bytes of one slot, of two, ..
func slotsOf(bytes, most int) (list []int) {
	for n := range most {
		list = append(list, (n+1)*bytes)
	}
	return list
}

// TestSharedMemoryBindsProducts counts what eight warps of 64x32 of a product of 128x128x64 ask of a multiprocessor of sm_80 in an iteration, whose matrix units take
// 1,024 cycles: 96 bytes of every step of 32 bytes for each of four steps and eight warps, 32 KB of copies; with 64x64 of the result and half of K, 64 KB and the copies.
func TestSharedMemoryBindsProducts(t *testing.T) {
	sm80, sm90 := sm(t, "sm_80"), sm(t, "sm_90")
	copied := 2 * 128 * 64 * 2
	whole := Loop{MatrixCycles: 1024, Waves: (8*4*(64+32)*32 + copied) / 128, CopiedBytes: copied, Warps: 8, Issue: 900}
	sliced := whole
	sliced.Waves = (8*2*(64+64)*32 + copied) / 128
	groups := whole
	groups.Warpgroups = 2
	for _, c := range []struct {
		name string
		l    Loop
		t    *target.Target
		want bool
	}{
		{"whole", whole, sm80, true}, {"sliced", sliced, sm80, false}, {"warpgroups", groups, sm90, false},
	} {
		if got := c.l.SharedMemoryBound(c.t); got != c.want {
			t.Errorf("%s: shared memory has most to do: %v, want %v", c.name, got, c.want)
		}
	}
	// Sums of two slices of 128x128xf32 are 128 KB, stored and loaded in 1,024 waves of 128 bytes each, 16 bytes of a lane at once, and added in 1,024 instructions.
	if got, want := CrossWarpSum(2*128*128*4), (Cost{Instrs: 2*256 + 1024, Waves: 2048, Barriers: 2}); got != want {
		t.Errorf("sums of slices meet for %v, want %v", got, want)
	}
}

// TestCopiesOfFewUsesAreAhead holds the slots of an iteration of a query of eight rows and two tiles of 128x64, which takes as long as 32 KB come from the second-level
// cache: two leave room for a second block, where four blocks of one slot hide as much when a launch has so many. Twice as many rows are taken to have them.
func TestCopiesOfFewUsesAreAhead(t *testing.T) {
	query := Loop{MatrixCycles: 128, Issue: 832, Waves: 608, CopiedBytes: 32 << 10, Warps: 4, Registers: 88}
	for n := 1; n <= 5; n++ {
		query.SharedBytes = append(query.SharedBytes, n*query.CopiedBytes)
	}
	rows := query
	rows.MatrixCycles *= 2
	if got := query.Slots(sm(t, "sm_80")); got != 2 {
		t.Errorf("a query has %d slots, want 2", got)
	}
	if got := rows.Slots(sm(t, "sm_80")); got != 1 {
		t.Errorf("sixteen rows have %d slots, want 1", got)
	}
}

// Nobody knows how many blocks a launch has of a loop whose copies have few uses: slots of one block are worth the second block where a block that is alone would
// wait for every copy, and not where it has a second slot.
func TestSlotsOfFewUsesSuitFewBlocks(t *testing.T) {
	l := Loop{MatrixCycles: 128, Issue: 832, Waves: 608, CopiedBytes: 32 << 10, Warps: 4, Registers: 88}
	for _, c := range []struct {
		target       string
		shared       []int // KB
		slots, block int
	}{
		{"sm_120", []int{18, 66, 98}, 3, 1},
		{"sm_80", []int{18, 66, 98, 130, 162}, 2, 2},
	} {
		l.SharedBytes = nil
		for _, kb := range c.shared {
			l.SharedBytes = append(l.SharedBytes, kb<<10)
		}
		gpu := sm(t, c.target)
		if slots := l.Slots(gpu); slots != c.slots || l.Blocks(gpu, slots) != c.block {
			t.Errorf("%s: %d slots, %d blocks, want %d and %d", c.target, slots, l.Blocks(gpu, slots), c.slots, c.block)
		}
	}
}
