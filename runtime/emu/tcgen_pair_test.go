package emu

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// pairText makes a kernel of a cluster of two CTAs of that of tcgenText: each has images and an output of its own, and the
// part is run by thread 0 of the first CTA, whose commit tells both.
func pairText(sm int, part string) string {
	text := tcgenText(sm, "", part)
	for _, change := range [][2]string{
		{"cta_group::1", "cta_group::2"},
		{".reqntid 128, 1, 1\n", ".reqntid 128, 1, 1\n.reqnctapercluster 2, 1, 1\n"},
		{"mov.u32 %r1, %tid.x;", fmt.Sprintf(`mov.u32 %%r1, %%tid.x; mov.u32 %%r90, %%cluster_ctarank; setp.ne.u32 %%p9, %%r90, 0;
mul.wide.u32 %%rd50, %%r90, %d; add.s64 %%rd1, %%rd1, %%rd50; mul.wide.u32 %%rd51, %%r90, %d; add.s64 %%rd2, %%rd2, %%rd51; add.s64 %%rd3, %%rd3, %%rd51;`, sm, 4*tmemLanes*tmemColumns)},
		{"bar.sync 0;\nsetp.ne.u32 %p5, %r1, 0;\n@%p5 bra F;", "barrier.cluster.arrive;\nbarrier.cluster.wait;\nsetp.ne.u32 %p5, %r1, 0;\n@%p5 bra F;\n@%p9 bra F;\nand.b32 %r10, %r10, 0xffffff;"},
		{"tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%r3];", "mov.b16 %h1, 3;\ntcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r3], %h1;"},
		{".reg .b32 %r<100>;", ".reg .b32 %r<100>; .reg .b16 %h<2>;"},
		{"bar.sync 0;\n@%p1 bra H;", "barrier.cluster.arrive;\nbarrier.cluster.wait;\n@%p1 bra H;"},
		{"ld.shared.b32 %r5, [%r4];", "barrier.cluster.arrive;\nbarrier.cluster.wait;\nld.shared.b32 %r5, [%r4];"},
	} {
		if !strings.Contains(text, change[0]) {
			panic(change[0])
		}
		text = strings.ReplaceAll(text, change[0], change[1])
	}
	return text
}

// pairPlace is where the ISA's figures put element (i, j) of D of a pair.
func (c *productCase) pairPlace(i, j int) (cta, lane, col int) {
	if c.m == 256 {
		return i / 128, i % 128, j
	}
	return i / 64, i%64 + j/(c.n/2)*64, j % (c.n / 2)
}

// TestProductsOfPairs: each CTA has half of the rows of A and of the columns of B in its shared memory, and half of
// the rows of D in its tensor memory.
func TestProductsOfPairs(t *testing.T) {
	base := productCase{kind: "f16", a: "bf16", b: "bf16", d: "f32", m: 256, n: 64, steps: 2, swA: 128, swB: 128, keep: true}
	var cases []productCase
	add := func(change func(c *productCase)) {
		c := base
		change(&c)
		cases = append(cases, c)
	}
	add(func(c *productCase) {})
	add(func(c *productCase) { c.m = 128 })
	add(func(c *productCase) { c.aTmem = true })
	add(func(c *productCase) { c.aTmem, c.m, c.n = true, 128, 32 })
	add(func(c *productCase) { c.mnB, c.n = true, 256 })
	add(func(c *productCase) { c.kind, c.a, c.b, c.d = "i8", "s8", "u8", "s32" })
	add(func(c *productCase) {
		c.kind, c.a, c.b, c.blocks, c.scale, c.steps, c.keep = "mxf8f6f4.block_scale", "e4m3", "e5m2", 1, "ue8m0", 1, false
	})
	for i, c := range cases {
		t.Run(c.name(), func(t *testing.T) { c.checkPair(t, rand.New(rand.NewPCG(12, uint64(i)))) })
	}
}

func (c *productCase) checkPair(t *testing.T, r *rand.Rand) {
	k := c.depth() * c.steps
	matrix := func(rows int, name string) (bits [][]uint64, vals [][]float64) {
		for i := range rows {
			bits, vals = append(bits, make([]uint64, k)), append(vals, make([]float64, k))
			for j := range k {
				bits[i][j], vals[i][j] = pick(r, name)
			}
		}
		return
	}
	bitsA, a := matrix(c.m, c.a)
	bitsB, b := matrix(c.n, c.b)
	images := [2]*tmemImage{randomImage(r), randomImage(r)}
	var smem [2][]byte
	var descA, descB uint64
	stepA, stepB := 8, 0
	for cta := range 2 {
		halfA, halfB := bitsA[cta*c.m/2:][:c.m/2], bitsB[cta*c.n/2:][:c.n/2]
		if c.aTmem {
			c.pairA(images[cta], halfA)
		} else {
			smem[cta], descA, stepA = tileOf(halfA, c.width(), c.swA, c.mnA, false, c.a)
		}
		for len(smem[cta])%1024 != 0 {
			smem[cta] = append(smem[cta], 0)
		}
		var tile []byte
		tile, descB, stepB = tileOf(halfB, c.width(), c.swB, c.mnB, false, c.b)
		descB |= uint64(len(smem[cta]) >> 4)
		smem[cta] = append(smem[cta], tile...)
	}
	sa, sb := c.pairScales(r, images)
	old := make([][]float64, c.m)
	for i := range old {
		old[i] = make([]float64, c.n)
		for j := range old[i] {
			x := float64(r.IntN(200) - 100)
			cta, lane, col := c.pairPlace(i, j)
			images[cta][lane][col] = c.encodeD(x)
			if c.keep {
				old[i][j] = x
			}
		}
	}
	want := c.want(a, b, old, sa, sb)
	expect := [2]tmemImage{*images[0], *images[1]}
	for i := range c.m {
		for j := range c.n {
			cta, lane, col := c.pairPlace(i, j)
			expect[cta][lane][col] = c.encodeD(want[i][j])
		}
	}
	part := c.part(descA, descB, stepA, stepB)
	for _, s := range Schedules {
		got := runPair(t, smem, images, part, s)
		for cta := range 2 {
			for lane := range expect[cta] {
				for col, v := range expect[cta][lane] {
					if got[cta][lane][col] != v {
						t.Fatalf("%v: CTA %d lane %d column %d: got %#x, want %#x", s, cta, lane, col, got[cta][lane][col], v)
					}
				}
			}
		}
	}
}

// pairA places the rows of A that a CTA has; with M 128 a second time 64 lanes on.
func (c *productCase) pairA(image *tmemImage, bits [][]uint64) {
	c2 := *c
	c2.m = 128 // lane i has row i
	c2.placeA(image, bits)
	if c.m == 128 {
		for i := range 64 {
			copy(image[i+64][colA:colA+16], image[i][colA:colA+16])
		}
	}
}

// pairScales gives each CTA the scales of its rows of A and all of those of B.
func (c *productCase) pairScales(r *rand.Rand, images [2]*tmemImage) (a, b func(row, k int) float64) {
	one := func(int, int) float64 { return 1 }
	if c.blocks == 0 {
		return one, one
	}
	half := *c
	half.m = c.m / 2
	a0, b := half.placeScales(r, images[0])
	a1, _ := half.placeScales(r, images[1])
	for lane := range images[0] {
		copy(images[1][lane][colSB:colSB+8], images[0][lane][colSB:colSB+8])
	}
	return func(row, k int) float64 {
		if row < half.m {
			return a0(row, k)
		}
		return a1(row-half.m, k)
	}, b
}

func runPair(t *testing.T, smem [2][]byte, images [2]*tmemImage, part string, s Schedule) (out [2]*tmemImage) {
	t.Helper()
	m, err := Parse("t", pairText(len(smem[0]), part))
	if err != nil {
		t.Fatal(err)
	}
	if u := m.Entry("k").Unsupported; u != nil {
		t.Fatal(u)
	}
	const size = 4 * tmemLanes * tmemColumns
	bytes := make([]byte, 2*size)
	for cta := range 2 {
		for l := range images[cta] {
			for c, v := range images[cta][l] {
				writeBytes(bytes, cta*size+4*(l*tmemColumns+c), 4, uint64(v))
			}
		}
	}
	mem := NewMemory()
	args := []Arg{le64(mem.Alloc("smem", append(append([]byte(nil), smem[0]...), smem[1]...), 256)), le64(mem.Alloc("image", bytes, 256))}
	at := mem.Alloc("out", make([]byte, len(bytes)), 256)
	words := mem.Alloc("words", make([]byte, 16), 256)
	if _, err = m.Run(t.Context(), "k", mem, append(args, le64(at), le64(words)), Options{Grid: [3]int{2, 1, 1}, Schedule: s, Seed: 9}); err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	for cta := range 2 {
		out[cta] = new(tmemImage)
		for l := range out[cta] {
			for c := range out[cta][l] {
				out[cta][l][c] = uint32(readBytes(mem.Bytes(at), cta*size+4*(l*tmemColumns+c), 4))
			}
		}
	}
	return out
}

// TestPairsAllocateTogether: an alloc waits for that of the other CTA; without it nobody can run.
func TestPairsAllocateTogether(t *testing.T) {
	text := strings.Replace(pairText(16, ""), "@%p1 bra A;", "@%p9 bra A;\n@%p1 bra A;", 1)
	m, err := Parse("t", text)
	if err != nil {
		t.Fatal(err)
	}
	mem := NewMemory()
	var args []Arg
	for range 4 {
		args = append(args, le64(mem.Alloc("x", make([]byte, 8*tmemLanes*tmemColumns), 256)))
	}
	_, err = m.Run(t.Context(), "k", mem, args, Options{Grid: [3]int{2, 1, 1}})
	if r, ok := err.(*Report); !ok || r.Kind != Deadlock || !strings.Contains(strings.Join(r.Places, "\n"), "warp 0 lanes 0xffffffff waits at line") {
		t.Errorf("got %v", err)
	}
}
