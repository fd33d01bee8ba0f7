package atom

import (
	"fmt"
	"strings"
	"testing"

	"tileiras/codegen/layout"
	"tileiras/codegen/ptxop"
	"tileiras/codegen/target"
)

func sm(t *testing.T, name string) *target.Target {
	t.Helper()
	tg, ok := target.ByName(name)
	if !ok {
		t.Fatalf("no target %s", name)
	}
	return tg
}

func TestEveryProductIsARow(t *testing.T) {
	want := len(scalarRows)
	for i := range ptxop.Products {
		want += len(ptxop.Products[i].A) * len(ptxop.Products[i].B)
	}
	for i := range ptxop.GroupProducts {
		want += 2 * len(ptxop.GroupProducts[i].A) * len(ptxop.GroupProducts[i].B) // A in shared memory or in registers
	}
	for i := range ptxop.TensorProducts {
		p := &ptxop.TensorProducts[i]
		for n := MostColumns; n >= leastColumns; n /= 2 {
			switch {
			case p.Blocks == 0:
				want += len(ptxop.TensorHeights) * len(p.A) * len(p.B)
			case n >= 128: // and 128 rows
				want += len(p.A) * len(p.B)
			}
		}
	}
	if got := len(MMAs()); got != want {
		t.Errorf("%d rows, want %d: accumulators lacks a type", got, want)
	}
}

// The tables of the PTX ISA ("Matrix Fragments for mma"), written as its formulas: register i of the fragment, element j in it.
func TestFragmentsAreThoseOfThePTXManual(t *testing.T) {
	for _, m := range MMAs() {
		if m.Scalar() || m.Group > 0 {
			continue
		}
		e := max(1, 32/m.A.Bits())
		tall := m.Shape.M == 16
		for lane := range 32 {
			g, q := lane/4, lane%4
			check := func(what string, l layout.Layout, reg, row, col int) {
				t.Helper()
				if got := l.Coords(l.Apply(reg, lane, 0, 0)); got[0] != row || got[1] != col {
					t.Errorf("%s: %s, lane %d, element %d is %v, the manual says [%d %d]", m.Name, what, lane, reg, got, row, col)
				}
			}
			for reg := range m.LayoutA.Regs() {
				i, j := reg/e, reg%e
				if tall {
					check("A", m.LayoutA, reg, g+8*(i&1), e*q+j+4*e*(i>>1))
				} else {
					check("A", m.LayoutA, reg, g, e*q+j+4*e*i)
				}
			}
			for reg := range m.LayoutB.Regs() {
				i, j := reg/e, reg%e
				check("B", m.LayoutB, reg, e*q+j+4*e*i, g)
			}
			for i := range m.LayoutC.Regs() {
				check("C", m.LayoutC, i, g+8*(i>>1), 2*q+i&1)
			}
		}
	}
}

// The figures of the PTX ISA ("Register Fragments and Shared Memory Matrix Layouts" of wgmma) as formulas: element i of D in a lane of a warp is at row
// 16*warp + lane/4 + 8*(i/2%2), column 8*(i/4) + 2*(lane%4) + i%2; element j of register r of A at row 16*warp + lane/4 + 8*(r%2), k = e*(lane%4) + j +
// 4*e*(r/2), with e elements in a register.
func TestFragmentsOfWarpgroupsAreThoseOfThePTXManual(t *testing.T) {
	n := 0
	for _, m := range MMAs() {
		if m.Group == 0 || m.Tensor != nil {
			continue
		}
		n++
		at := func(l layout.Layout, reg, lane, warp int) string {
			return fmt.Sprint(l.Coords(l.Apply(reg, lane, warp, 0)))
		}
		for warp := range 4 {
			for lane := range 32 {
				for i := range m.LayoutC.Regs() {
					if got, want := at(m.LayoutC, i, lane, warp), fmt.Sprint([]int{16*warp + lane/4 + 8*(i/2%2), 8*(i/4) + 2*(lane%4) + i%2}); got != want {
						t.Fatalf("%s: D, warp %d, lane %d, element %d is %s, the manual says %s", m.Name, warp, lane, i, got, want)
					}
				}
				e := 32 / m.A.Bits()
				for i := 0; !m.SharedA && i < m.LayoutA.Regs(); i++ {
					r, j := i/e, i%e
					if got, want := at(m.LayoutA, i, lane, warp), fmt.Sprint([]int{16*warp + lane/4 + 8*(r%2), e*(lane%4) + j + 4*e*(r/2)}); got != want {
						t.Fatalf("%s: A, warp %d, lane %d, element %d is %s, the manual says %s", m.Name, warp, lane, i, got, want)
					}
				}
			}
		}
	}
	if n == 0 {
		t.Error("no products of warpgroups")
	}
}

// The figures of the PTX ISA ("Data Path Layout Organization", layouts D and F, "Matrix fragments for shape .32x32b" and ".16x32bx2") as formulas: of 128 rows
// row m of D lies in lane m of tensor memory, of 64 in lane 32*(m/16) + m%16; column n in column n. Warp w of four sees the lanes from 32*w on: thread t that of
// number t, or t%16 and there the columns of the half t/16.
func TestRowsOfTheTensorUnitAreLanes(t *testing.T) {
	for _, m := range MMAs() {
		if m.Tensor == nil {
			continue
		}
		for row := range m.Shape.M {
			for column := range m.Shape.N {
				register, lane, warp := column, row%32, row/32
				if half := m.Shape.N / 2; m.Shape.M == 64 {
					register, lane, warp = column%half, row%16+column/half*16, row/16
				}
				if got, want := fmt.Sprint(m.LayoutC.Coords(m.LayoutC.Apply(register, lane, warp, 0))), fmt.Sprint([]int{row, column}); got != want {
					t.Fatalf("%s: register %d of lane %d of warp %d is %s, want %s", m.Name, register, lane, warp, got, want)
				}
			}
		}
	}
}

// A factor goes to tensor memory as it is where a thread holds parts of one row, whole words of it, and the row is that of its lane.
func TestThreadsHoldRowsOfFactors(t *testing.T) {
	tall, low := MMAByName("tcgen05.m128n64k16.f32.f16.f16"), MMAByName("tcgen05.m64n64k16.f32.f16.f16")
	rows := tall.LayoutC
	for _, c := range []struct {
		what string
		atom *MMA
		l    layout.Layout
		bits int
		want bool
	}{
		{"sums", tall, rows, 16, true},
		{"bytes", tall, rows, 8, true},
		{"columns of two groups of warps", tall, rows.Repeat(layout.Warp, 1, 1), 16, true},
		{"rows of two", tall, rows.Repeat(layout.Warp, 0, 1), 16, true},
		{"elements of words of their own", tall, rows, 32, false},
		{"the sums of 64 rows", low, low.LayoutC, 16, false},
		{"columns in lanes", tall, rows.Permute([]int{1, 0}), 16, false},
		{"halves of words in two warps", tall, layout.Must([]int{128, 4}, layout.Bases{Reg: []uint64{2}, Lane: []uint64{4, 8, 16, 32, 64},
			Warp: []uint64{128, 256, 1}}), 16, false},
	} {
		if got := c.atom.Tensor.HoldsRows(c.l, c.bits); got != c.want {
			t.Errorf("%s, %d bits: %v, want %v", c.what, c.bits, got, c.want)
		}
	}
}

// The instruction descriptors that Triton's compiler writes for products of these shapes and types.
func TestInstructionDescriptorsAreThoseOfOthers(t *testing.T) {
	for _, c := range []struct {
		atom               string
		columns            int
		mnMajorA, mnMajorB bool
		want               uint32
	}{
		{"tcgen05.m128n128k16.f32.bf16.bf16", 128, false, true, 0x08210490},
		{"tcgen05.m128n128k16.f32.bf16.bf16", 256, false, true, 0x08410490},
		{"tcgen05.m128n128k16.f32.f16.f16", 128, false, true, 0x08210010},
		{"tcgen05.m128n128k8.f32.tf32.tf32", 128, false, false, 0x08200910},
		{"tcgen05.m128n64k32.s32.s8.s8", 64, false, false, 0x081004a0},
		{"tcgen05.m64n64k16.f32.bf16.bf16", 64, false, true, 0x04110490},
		{"tcgen05.m64n64k16.f32.f16.f16", 64, false, true, 0x04110010},
	} {
		if got := MMAByName(c.atom).Tensor.Describe(c.columns, c.mnMajorA, c.mnMajorB); got != c.want {
			t.Errorf("%s, %d columns: %#08x, want %#08x", c.atom, c.columns, got, c.want)
		}
	}
}

// The lanes from which the hardware takes scales, found by probing a GPU of sm_120 (and CUTLASS's SFALayout and SFBLayout for thread 0): the scale of row m
// of A comes from lane 4*(m%8) + 2*thread + m/8, that of column n of B from lane 4*n + thread; blocks along K are neighbouring bytes of a register,
// the first one a multiple of their number. Every atom of every tiling must find its own scales there.
func TestScalesLieWhereTheInstructionTakesThem(t *testing.T) {
	for _, m := range MMAs() {
		if !m.Scaled() {
			continue
		}
		blocks := m.Shape.K / m.Scale.Block
		for _, e := range []Extent{{0, 16, 8, m.Shape.K}, {0, 64, 128, 4 * m.Shape.K}, {0, 64, 32, 8 * m.Shape.K}, {4, 32, 32, 2 * m.Shape.K}, {2, 16, 16, m.Shape.K}} {
			for _, swap := range []bool{false, true} {
				if swap {
					e.M, e.N = e.N, e.M
				}
				for _, s := range Splits(m, e, 2, swap) {
					tl := tiled(t, m, e, s, swap)
					sa, sb, rows, columns := tl.SA, tl.SB, e.M, e.N
					if swap { // as the atom sees them
						sa, sb, rows, columns = transpose(tl.SB), transpose(tl.SA), e.N, e.M
					}
					lanesA := func(m, thread int) int { return 4*(m%8) + 2*thread + m/8 }
					lanesB := func(n, thread int) int { return 4*n + thread }
					checkScales(t, m, sa, SelectorA(sa), e, rows, 16, 2, blocks, lanesA)
					checkScales(t, m, transpose(sb), SelectorB(transpose(sb)), e, columns, 8, 4, blocks, lanesB)
				}
			}
		}
	}
}

// checkScales looks for the scales of rows in a layout of rows x blocks.
func checkScales(t *testing.T, m *MMA, l layout.Layout, s *Selector, e Extent, rows, step, threads, blocks int, lane func(row, thread int) int) {
	t.Helper()
	found := 0
	for batch := range max(1, e.Batch) {
		for first := 0; first < rows; first += step {
			for k := 0; k < e.K/m.Scale.Block; k += blocks {
				at := func(row, k int) []int {
					if e.Batch > 0 {
						return []int{batch, row, k}
					}
					return []int{row, k}
				}
				c, ok := s.At(at(first, k)...)
				if !ok {
					continue // another warp's
				}
				found++
				if c.Byte%blocks != 0 || c.Byte >= 4 || c.Thread >= threads {
					t.Fatalf("%s: the instruction cannot select %+v", m.Name, c)
				}
				for row := range step {
					for b := range blocks {
						if got := l.Apply(4*c.Word+c.Byte+b, lane(row, c.Thread), 0, 0); got != l.Flat(at(first+row, k+b)) {
							t.Fatalf("%s, %s: %+v of row %d+%d, block %d is %v", m.Name, l, c, first, row, k+b, l.Coords(got))
						}
					}
				}
			}
		}
	}
	if found == 0 {
		t.Fatalf("%s: warp 0 has no scales in %s", m.Name, l)
	}
}

func TestARowThatDoesNotCoverItsShapeIsRefused(t *testing.T) {
	good := *MMAByName("mma.m16n8k16.row.col.f32.bf16.bf16.f32")
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	twice := good
	b := good.LayoutA.Bases()
	twice.LayoutA = layout.Must([]int{16, 16}, layout.Bases{Reg: []uint64{b.Reg[0], b.Reg[1], b.Reg[1]}, Lane: b.Lane})
	if err := twice.check(); err == nil || !strings.Contains(err.Error(), "exactly once") {
		t.Errorf("A row held twice: %v", err)
	}
	registers := good
	registers.WordsB = 4
	if err := registers.check(); err == nil || !strings.Contains(err.Error(), "registers") {
		t.Errorf("wrong registers: %v", err)
	}
}

// Every tiling, executed step by step on element numbers, multiplies each row with each column once, in ascending order along k.
func TestTilingsMultiplyEveryRowWithEveryColumn(t *testing.T) {
	type test struct {
		atom string
		e    Extent
		s    Split
		swap bool
	}
	var tests []test
	for _, m := range MMAs() {
		if m.Group == 0 { // others take operands that no thread holds
			tests = append(tests, test{m.Name, Extent{0, 32, 32, max(32, m.Shape.K)}, Split{1, 2, 2, 1}, false})
		}
	}
	tests = append(tests,
		test{"mma.m16n8k16.row.col.f32.f16.f16.f32", Extent{0, 64, 32, 32}, Split{1, 1, 4, 1}, false},
		test{"mma.m16n8k16.row.col.f32.f16.f16.f32", Extent{0, 8, 64, 32}, Split{1, 1, 2, 2}, true},
		test{"mma.m16n8k8.row.col.f32.tf32.tf32.f32", Extent{4, 16, 16, 8}, Split{2, 1, 2, 1}, false},
		test{"mma.m16n8k16.row.col.f32.bf16.bf16.f32", Extent{2, 8, 16, 16}, Split{2, 1, 1, 1}, true},
		test{"fma.f32", Extent{0, 4, 4, 8}, Split{1, 1, 1, 4}, false},
		test{"fma.f32", Extent{0, 128, 4, 4}, Split{1, 4, 1, 1}, false},
		test{"fma.s32", Extent{16, 2, 2, 4}, Split{4, 1, 1, 1}, false},
		test{"fma.f64", Extent{2, 64, 2, 2}, Split{1, 2, 1, 1}, true},
		test{"dp4a.s32.u32", Extent{2, 4, 2, 16}, Split{2, 1, 1, 2}, false},
		test{"dp4a.u32.u32", Extent{0, 1, 256, 4}, Split{1, 1, 2, 1}, false},
	)
	for _, c := range tests {
		t.Run(fmt.Sprintf("%s %s %s", c.atom, c.e, c.s), func(t *testing.T) {
			execute(t, tiled(t, MMAByName(c.atom), c.e, c.s, c.swap))
		})
	}
}

// laidOut is a tiling with its layouts.
type laidOut struct {
	Tiling
	Layouts
}

// tiled is a tiling whose layouts hold as many elements as it says.
func tiled(t *testing.T, m *MMA, e Extent, s Split, swap bool) laidOut {
	t.Helper()
	tl, ok := Tile(m, e, s, swap)
	if !ok {
		t.Fatalf("%s does not tile %s over %s", m.Name, e, s)
	}
	l := tl.Layouts()
	if got, want := tl.Held(), (Held{l.A.Regs(), l.B.Regs(), l.C.Regs(), l.SA.Regs(), l.SB.Regs()}); got != want {
		t.Errorf("%s of %s over %s, swapped %t: a thread holds %+v, its layouts %+v", m.Name, e, s, swap, got, want)
	}
	return laidOut{tl, l}
}

// execute runs a tiling on coordinates: every place of C must receive A[b][m][k] * B[b][k][n] for k = 0, 1, 2, ...
func execute(t *testing.T, tl laidOut) {
	t.Helper()
	at := tl.Atom
	a, b := tl.A, tl.B // the tiles that are the atom's A and B
	if tl.Swap {
		a, b = b, a
	}
	for _, l := range []layout.Layout{tl.A, tl.B, tl.C} {
		if !l.IsSurjective() || l.Warps() != tl.Split.Warps() || l.Lanes() != 32 {
			t.Fatalf("%s does not hold its tile", l)
		}
	}
	// Who holds the row's and the column's elements: by the atom's own layouts; what is there: by the tile's.
	held := func(tile, frag layout.Layout, first, row, col, lane, warp int) [3]int {
		reg, owner, _, _, _ := frag.Owner(frag.Flat([]int{row, col}))
		if !at.Scalar() {
			lane = owner
		}
		return coords3(tile, tile.Apply(first+reg, lane, warp, 0))
	}
	for warp := range tl.Split.Warps() {
		received := make([]int, 32*tl.C.Regs())
		for _, s := range steps(tl.Tiling) {
			for place := range 32 * at.LayoutC.Regs() {
				lane, r := place%32, place/32
				c := coords3(tl.C, tl.C.Apply(s.C+r, lane, warp, 0))
				in := at.LayoutC.Coords(at.LayoutC.Apply(r, lane, 0, 0))
				for k := range at.Shape.K {
					x, y := held(a, at.LayoutA, s.A, in[0], k, lane, warp), held(b, at.LayoutB, s.B, k, in[1], lane, warp)
					if tl.Swap {
						x, y = y, x
					}
					want := &received[lane*tl.C.Regs()+s.C+r]
					if x != [3]int{c[0], c[1], *want} || y != [3]int{c[0], *want, c[2]} {
						t.Fatalf("warp %d: C%v receives A%v * B%v, expected k = %d", warp, c, x, y, *want)
					}
					*want++
				}
			}
		}
		for place, n := range received {
			if n != tl.Extent.K {
				t.Fatalf("warp %d, place %d received %d of %d products", warp, place, n, tl.Extent.K)
			}
		}
	}
}

func coords3(l layout.Layout, elem uint64) [3]int {
	x := l.Coords(elem)
	if len(x) == 2 {
		return [3]int{0, x[0], x[1]}
	}
	return [3]int(x)
}

func TestTilesThatDoNotFitAreRefused(t *testing.T) {
	m := MMAByName("mma.m16n8k16.row.col.f32.f16.f16.f32")
	for _, c := range []struct {
		e Extent
		s Split
	}{
		{Extent{0, 8, 64, 16}, Split{1, 1, 1, 1}},
		{Extent{0, 32, 64, 16}, Split{1, 4, 1, 1}},
		{Extent{0, 48, 64, 16}, Split{1, 1, 1, 1}},
		{Extent{2, 16, 64, 16}, Split{4, 1, 1, 1}},
		{Extent{0, 16, 64, 16}, Split{1, 1, 3, 1}},
	} {
		if _, ok := Tile(m, c.e, c.s, false); ok {
			t.Errorf("%s over %s was accepted", c.e, c.s)
		}
	}
}

func TestSplitsCoverTheWarps(t *testing.T) {
	m := MMAByName("mma.m16n8k16.row.col.f32.f16.f16.f32")
	for _, c := range []struct {
		e     Extent
		warps int
		want  string
	}{
		{Extent{0, 64, 64, 64}, 4, "[1x1x4 warps, 1 copies 1x2x2 warps, 1 copies 1x4x1 warps, 1 copies]"},
		{Extent{0, 16, 16, 64}, 4, "[1x1x2 warps, 2 copies]"},
		{Extent{2, 16, 8, 64}, 2, "[2x1x1 warps, 1 copies]"},
		{Extent{0, 8, 8, 64}, 4, "[]"},
	} {
		splits := Splits(m, c.e, c.warps, false)
		if got := fmt.Sprint(splits); got != c.want {
			t.Errorf("%s over %d warps: %s, want %s", c.e, c.warps, got, c.want)
		}
		for _, s := range splits {
			if _, ok := Tile(m, c.e, s, false); !ok || s.Warps() != c.warps {
				t.Errorf("%s over %s does not fit", c.e, s)
			}
		}
	}
}

// Every element of C is in the registers of one thread; the fragments of an instruction are 64 rows and N columns of the four warps of a group, which
// begin at multiples of them.
func TestWarpgroupsShareAProduct(t *testing.T) {
	m := MMAByName("wgmma.m64n64k16.f32.f16.f16")
	for _, c := range []struct {
		e     Extent
		warps int
		swap  bool
		want  string
	}{
		{Extent{0, 64, 64, 64}, 4, false, "[1x4x1 warps, 1 copies]"},
		{Extent{0, 128, 128, 16}, 8, false, "[1x4x2 warps, 1 copies 1x8x1 warps, 1 copies]"},
		{Extent{0, 64, 128, 16}, 8, true, "[1x1x8 warps, 1 copies]"},
		{Extent{2, 64, 64, 16}, 8, false, "[2x4x1 warps, 1 copies]"},
		{Extent{0, 64, 64, 64}, 8, false, "[]"},
		{Extent{0, 64, 64, 64}, 2, false, "[]"},
	} {
		splits := Splits(m, c.e, c.warps, c.swap)
		if got := fmt.Sprint(splits); got != c.want {
			t.Errorf("%s over %d warps: %s, want %s", c.e, c.warps, got, c.want)
		}
		for _, s := range splits {
			tl := tiled(t, m, c.e, s, c.swap)
			if s.Warps() != c.warps || !tl.C.IsBijective() || tl.C.Warps() != c.warps {
				t.Fatalf("%s over %s: %s", c.e, s, tl.C)
			}
			for first := 0; first < tl.C.Regs(); first += m.LayoutC.Regs() {
				for group := 0; group < c.warps; group += 4 {
					corner := coords3(tl.C, tl.C.Apply(first, 0, group, 0))
					for i := range m.LayoutC.Regs() * 128 {
						r, lane, warp := i/128, i%32, i/32%4
						at, in := coords3(tl.C, tl.C.Apply(first+r, lane, group+warp, 0)), m.LayoutC.Coords(m.LayoutC.Apply(r, lane, warp, 0))
						if c.swap {
							in[0], in[1] = in[1], in[0]
						}
						if want := [3]int{corner[0], corner[1] + in[0], corner[2] + in[1]}; at != want || corner[1]%64 != 0 || corner[2]%64 != 0 {
							t.Fatalf("%s over %s: register %d of lane %d of warp %d is %v, want %v", c.e, s, first+r, lane, group+warp, at, want)
						}
					}
				}
			}
		}
	}
}

func TestCopiesComeFromTheTarget(t *testing.T) {
	for _, c := range []struct {
		target string
		bytes  int
		want   bool
	}{{"sm_80", 16, true}, {"sm_80", 8, true}, {"sm_80", 4, true}, {"sm_80", 2, false}, {"sm_80", 32, false}, {"sm_75", 16, false}} {
		if got := CanCopy(sm(t, c.target), c.bytes); got != c.want {
			t.Errorf("%d bytes on %s: %v", c.bytes, c.target, got)
		}
	}
	if got := LoadMatrix(sm(t, "sm_75"), layout.MatrixPlan{Num: 4, Trans: true}); got != "ldmatrix.m8n8.x4.trans.shared.b16" {
		t.Errorf("four matrices: %q", got)
	}
}

// Operand tiles in swizzled shared memory are read by ldmatrix without conflicts, four matrices at a time.
func TestOperandTilesLoadByLdmatrix(t *testing.T) {
	for _, c := range []struct {
		atom           string
		e              Extent
		s              Split
		transA, transB bool // A with m contiguous, B with n contiguous
	}{
		{"mma.m16n8k16.row.col.f32.bf16.bf16.f32", Extent{0, 128, 128, 64}, Split{1, 2, 2, 1}, false, false},
		{"mma.m16n8k16.row.col.f32.bf16.bf16.f32", Extent{0, 128, 128, 64}, Split{1, 2, 2, 1}, true, true},
		{"mma.m16n8k8.row.col.f32.tf32.tf32.f32", Extent{0, 64, 64, 32}, Split{1, 2, 2, 1}, false, false},
		{"mma.m16n8k32.row.col.s32.s8.s8.s32", Extent{0, 64, 64, 128}, Split{1, 4, 1, 1}, false, false},
		{"mma.m16n8k32.row.col.f32.e4m3.e4m3.f32", Extent{0, 64, 64, 128}, Split{1, 1, 4, 1}, false, false},
	} {
		m := MMAByName(c.atom)
		tl := tiled(t, m, c.e, c.s, false)
		bits := m.A.Bits()
		for _, o := range []struct {
			l     layout.Layout
			kDim  int
			trans bool
		}{{tl.A, 1, c.transA}, {tl.B, 0, c.transB}} {
			order := []int{o.kDim, 1 - o.kDim}
			if o.trans {
				order = []int{1 - o.kDim, o.kDim}
			}
			mem := layout.Swizzled(o.l.Shape(), order, bits/8, 128)
			p, ok := layout.LdMatrix(mem, o.l, bits, o.trans)
			if !ok || p.Num != 4 || p.Conflict(mem, bits) != 1 {
				t.Errorf("%s: operand %s of %s: %v, %d matrices, conflict %d", c.atom, o.l, mem, ok, p.Num, p.Conflict(mem, bits))
			}
		}
	}
}

// A step is one instruction: the first element registers of the atom's operands. A fragment is the registers from there on.
type step struct{ A, B, C int }

// steps lists the instructions of a tiling: K outermost, so that operands of one step along K are loaded while the step before
// computes; columns run back and forth under rows, so that neighbours share an operand.
func steps(t Tiling) []step {
	ea, eb, ec := t.Atom.LayoutA.Regs(), t.Atom.LayoutB.Regs(), t.Atom.LayoutC.Regs()
	r := t.Repeat
	if t.Swap {
		r.M, r.N = r.N, r.M
	}
	out := make([]step, 0, r.Batch*r.M*r.N*r.K)
	for b := range r.Batch {
		for k := range r.K {
			for m := range r.M {
				for i := range r.N {
					n := i
					if m%2 == 1 {
						n = r.N - 1 - i
					}
					out = append(out, step{
						A: ea * (m + r.M*(k+r.K*b)),
						B: eb * (n + r.N*(k+r.K*b)),
						C: ec * (n + r.N*(m+r.M*b)),
					})
				}
			}
		}
	}
	return out
}
