package emu

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// axis is one mode of a layout: how many, and the distance in lanes and columns.
type axis struct{ size, lane, col int }

// moveLayouts are the layouts of tcgen05.ld and st as products of modes, the fastest first: of the threads, of the
// registers of x1, and the distance from one x1 to the next.
var moveLayouts = map[string]struct {
	threads, regs []axis
	next          int
	most          int
}{
	"32x32b":   {[]axis{{32, 1, 0}}, nil, 1, 128},
	"16x64b":   {[]axis{{2, 8, 0}, {2, 0, 1}, {8, 1, 0}}, nil, 2, 128},
	"16x128b":  {[]axis{{4, 0, 1}, {8, 1, 0}}, []axis{{2, 8, 0}}, 4, 64},
	"16x256b":  {[]axis{{4, 0, 2}, {8, 1, 0}}, []axis{{2, 0, 1}, {2, 8, 0}}, 8, 32},
	"16x32bx2": {[]axis{{16, 1, 0}, {2, 0, 128}}, nil, 1, 128}, // the second half 128 columns on
}

func along(axes []axis, i int) (lane, col int) {
	for _, a := range axes {
		lane, col, i = lane+i%a.size*a.lane, col+i%a.size*a.col, i/a.size
	}
	return
}

// moveCase is one form of ld or st.
type moveCase struct {
	shape string
	n     int
	pack  bool
	lane  int // 16 for the upper half of a warp's lanes
}

func (c moveCase) regs() int {
	n := c.n
	for _, a := range moveLayouts[c.shape].regs {
		n *= a.size
	}
	return n
}

// cell is the place of a register; with packing the first of two columns.
func (c moveCase) cell(thread, reg int) (lane, col int) {
	l := moveLayouts[c.shape]
	per := c.regs() / c.n
	tl, tc := along(l.threads, thread%32)
	rl, rc := along(l.regs, reg%per)
	cols := tc + rc + reg/per*l.next
	if c.pack {
		cols *= 2
		if c.shape == "16x32bx2" { // the offset of the half is in columns of tensor memory
			cols = 2*(cols/2-tc) + tc
		}
	}
	return thread/32*32 + c.lane + tl + rl, 3 + cols
}

func moveCases() (cases []moveCase) {
	for _, shape := range []string{"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"} {
		for n := 1; n <= moveLayouts[shape].most; n *= 4 {
			cases = append(cases, moveCase{shape: shape, n: n})
			if n < 64 {
				cases = append(cases, moveCase{shape: shape, n: n, pack: true})
			}
		}
		if shape != "32x32b" {
			cases = append(cases, moveCase{shape: shape, n: 2, lane: 16})
		}
	}
	return cases
}

func (c moveCase) String() string {
	return fmt.Sprintf("%s.x%d pack %v lane %d", c.shape, c.n, c.pack, c.lane)
}

// text gives the operands of the instruction: modifiers, address and registers.
func (c moveCase) text(pack string) (mods, addr, imm, regs string) {
	mods = fmt.Sprintf("sync.aligned.%s.x%d", c.shape, c.n)
	if c.pack {
		mods += "." + pack
	}
	var l []string
	for r := range c.regs() {
		l = append(l, fmt.Sprintf("%%q%d", r))
	}
	if c.shape == "16x32bx2" {
		imm = ", 128"
	}
	return mods + ".b32", fmt.Sprintf("[%%r9 + %d]", c.lane<<16+3), imm, "{" + strings.Join(l, ",") + "}"
}

// TestLoadsFromTensorMemory: every shape takes the cells that its layout says.
func TestLoadsFromTensorMemory(t *testing.T) {
	image := randomImage(rand.New(rand.NewPCG(4, 4)))
	for _, c := range moveCases() {
		mods, addr, imm, regs := c.text("pack::16b")
		all := fmt.Sprintf("tcgen05.ld.%s %s, %s%s;\ntcgen05.wait::ld.sync.aligned;\n", mods, regs, addr, imm)
		for r := range c.regs() {
			all += fmt.Sprintf("st.global.b32 [%%rd8+%d], %%q%d;\n", 4*r, r)
		}
		_, words, err := runTcgen(t, nil, image, all, "", Options{})
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		for thread := range 128 {
			for r := range c.regs() {
				lane, col := c.cell(thread, r)
				want := image[lane][col]
				if c.pack {
					want = want&0xffff | image[lane][col+1]<<16
				}
				if got := uint32(readBytes(words, 512*thread+4*r, 4)); got != want {
					t.Fatalf("%v: thread %d register %d: got %#x, want %#x", c, thread, r, got, want)
				}
			}
		}
	}
}

// TestStoresToTensorMemory: every shape changes the cells that its layout says, and no others.
func TestStoresToTensorMemory(t *testing.T) {
	image := randomImage(rand.New(rand.NewPCG(5, 5)))
	for _, c := range moveCases() {
		mods, addr, imm, regs := c.text("unpack::16b")
		all := ""
		for r := range c.regs() {
			all += fmt.Sprintf("mad.lo.u32 %%q%d, %%r1, 0x01000193, %d;\n", r, 77*r)
		}
		all += fmt.Sprintf("tcgen05.st.%s %s%s, %s;\ntcgen05.wait::st.sync.aligned;\n", mods, addr, imm, regs)
		got, _, err := runTcgen(t, nil, image, all, "", Options{Checks: Checks{NoUndefined: c.pack}})
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		want := *image
		for thread := range 128 {
			for r := range c.regs() {
				lane, col := c.cell(thread, r)
				v := uint32(thread)*0x01000193 + 77*uint32(r)
				want[lane][col] = v
				if c.pack { // only the lower halves are specified
					want[lane][col], want[lane][col+1] = v&0xffff, v>>16
					got[lane][col] &= 0xffff
					got[lane][col+1] &= 0xffff
				}
			}
		}
		if *got != want {
			t.Fatalf("%v: tensor memory differs", c)
		}
	}
}

// TestFragmentOfMmaSync: a 16x256b load is the fragment of C of mma.sync.m16n8.
func TestFragmentOfMmaSync(t *testing.T) {
	s := moveShapes[3]
	for lane := range 32 {
		for i := range 4 {
			row, col := c16(i, lane>>2, lane&3)
			if l, c := s.at(lane, i, 0); s.name != "16x256b" || l != row || c != col {
				t.Errorf("lane %d register %d: (%d, %d), want (%d, %d)", lane, i, l, c, row, col)
			}
		}
	}
}

// TestCopiesToTensorMemory: tcgen05.cp of every shape; the lanes are those of the ISA's figures.
func TestCopiesToTensorMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	image := randomImage(r)
	for _, c := range []struct {
		mods    string
		rows, k int // bytes of a row
		lanes   func(row int) []int
	}{
		{"128x256b", 128, 32, func(i int) []int { return []int{i} }},
		{"128x128b", 128, 16, func(i int) []int { return []int{i} }},
		{"4x256b", 4, 32, func(i int) []int { return []int{[]int{0, 32, 64, 96}[i]} }},
		{"64x128b.warpx2::02_13", 64, 16, func(i int) []int { return []int{i, i + 64} }},
		{"64x128b.warpx2::01_23", 64, 16, func(i int) []int {
			if i < 32 {
				return []int{i, i + 32}
			}
			return []int{i + 32, i + 64}
		}},
		{"32x128b.warpx4", 32, 16, func(i int) []int { return []int{i, i + 32, i + 64, i + 96} }},
	} {
		for _, swizzle := range []int{0, 32, 128} {
			if c.k == 16 && swizzle == 32 {
				continue
			}
			rows := make([][]uint64, max(8, c.rows))
			for i := range rows {
				rows[i] = make([]uint64, max(c.k, swizzle))
				for j := range rows[i] {
					rows[i][j] = r.Uint64() & 0xff
				}
			}
			smem, desc, _ := tileOf(rows, 8, swizzle, false, false, "")
			part := fmt.Sprintf("shr.u32 %%r30, %%r10, 4; cvt.u64.u32 %%rd10, %%r30; add.s64 %%rd10, %%rd10, %d;\ntcgen05.cp.cta_group::1.%s [%%r5 + 16], %%rd10;\n", int64(desc), c.mods)
			got, _, err := runTcgen(t, smem, image, "", part, Options{})
			if err != nil {
				t.Fatalf("%s: %v", c.mods, err)
			}
			want := *image
			for i := range c.rows {
				for _, lane := range c.lanes(i) {
					for b := range c.k {
						cell := &want[lane][16+b/4]
						*cell = *cell&^(0xff<<(b%4*8)) | uint32(rows[i][b])<<(b%4*8)
					}
				}
			}
			if *got != want {
				t.Fatalf("%s swizzle %d: tensor memory differs", c.mods, swizzle)
			}
		}
	}
}

// TestCopiesExpandElements: 16 elements of 4 or 6 bits, padded to 16 bytes, become a byte each.
func TestCopiesExpandElements(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	image := randomImage(r)
	for format, bits := range map[string]int{"b8x16.b4x16_p64": 4, "b8x16.b6x16_p32": 6} {
		rows := make([][]uint64, 128)
		for i := range rows {
			rows[i] = make([]uint64, 16)
			for j := range rows[i] {
				rows[i][j] = r.Uint64() & (1<<bits - 1)
			}
		}
		smem, desc, _ := tileOf(rows, 8, 0, false, true, map[int]string{4: "e2m1", 6: "e2m3"}[bits])
		part := fmt.Sprintf("shr.u32 %%r30, %%r10, 4; cvt.u64.u32 %%rd10, %%r30; add.s64 %%rd10, %%rd10, %d;\ntcgen05.cp.cta_group::1.128x128b.%s [%%r5], %%rd10;\n", int64(desc), format)
		got, _, err := runTcgen(t, smem, image, "", part, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			for j, v := range rows[i] {
				if bits == 4 {
					v <<= 2
				}
				if x := got[i][j/4] >> (j % 4 * 8) & 0xff; uint64(x) != v {
					t.Fatalf("%s row %d element %d: got %#x, want %#x", format, i, j, x, v)
				}
			}
		}
	}
}

// TestShiftOfTensorMemory: 31 rows of each quarter of the lanes move down by one.
func TestShiftOfTensorMemory(t *testing.T) {
	image := randomImage(rand.New(rand.NewPCG(8, 8)))
	got, _, err := runTcgen(t, nil, image, "", "tcgen05.shift.cta_group::1.down [%r5 + 24];", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := *image
	for l := range want {
		if l%32 < 31 {
			copy(want[l][24:32], image[l+1][24:32])
		}
	}
	if *got != want {
		t.Error("tensor memory differs")
	}
}
