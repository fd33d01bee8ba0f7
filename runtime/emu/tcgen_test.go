package emu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tileiras/ir/float"
)

// --- descriptors: values from real kernels ---

// TestInstructionDescriptors decodes constants of kernels of another compiler, whose shapes and types are known.
func TestInstructionDescriptors(t *testing.T) {
	plain := func(m, n int, a, b, d string, mnA, mnB bool) instrDesc {
		return instrDesc{m: m, n: n, a: a, b: b, d: d, mnMajor: [2]bool{mnA, mnB}}
	}
	scaled := func(n int, a, b string, mnB bool, first int) instrDesc {
		return instrDesc{m: 128, n: n, a: a, b: b, d: "f32", mnMajor: [2]bool{false, mnB}, ue8m0: true, scaleFirst: [2]int{first, first}}
	}
	for _, c := range []struct {
		kind string
		v    uint32
		want instrDesc
	}{
		{"kind::f16", 135266320, plain(128, 64, "f16", "f16", "f32", false, false)},   // attention, Q K^T
		{"kind::f16", 136380432, plain(128, 128, "f16", "f16", "f32", false, true)},   // attention, P V, d 128; gemm f16
		{"kind::f16", 135331856, plain(128, 64, "f16", "f16", "f32", false, true)},    // attention, P V, d 64
		{"kind::f16", 136381584, plain(128, 128, "bf16", "bf16", "f32", false, true)}, // gemm bf16 128x128
		{"kind::f16", 138478736, plain(128, 256, "bf16", "bf16", "f32", false, true)}, // gemm bf16 128x256
		{"kind::f16", 68224144, plain(64, 64, "bf16", "bf16", "f32", false, true)},    // gemm bf16 64x64
		{"kind::f16", 68222992, plain(64, 64, "f16", "f16", "f32", false, true)},      // gemm f16 64x64, masked
		{"kind::f16", 136316048, plain(128, 128, "bf16", "bf16", "f32", false, false)},
		{"kind::f16", 138413200, plain(128, 256, "bf16", "bf16", "f32", false, false)},
		{"kind::f16", 0x04090010, plain(64, 32, "f16", "f16", "f32", false, true)},
		{"kind::tf32", 136317200, plain(128, 128, "tf32", "tf32", "f32", false, false)},
		{"kind::f8f6f4", 136314896, plain(128, 128, "e4m3", "e4m3", "f32", false, false)},
		{"kind::i8", 68224160, plain(64, 64, "s8", "s8", "s32", false, true)},
		{"kind::mxf8f6f4", 0x08a10000, scaled(128, "e4m3", "e4m3", true, 0)},
		{"kind::mxf8f6f4", 0x28a10010, scaled(128, "e4m3", "e4m3", true, 1)},
		{"kind::mxf8f6f4", 0x48a10020, scaled(128, "e4m3", "e4m3", true, 2)},
		{"kind::mxf8f6f4", 0x68a10030, scaled(128, "e4m3", "e4m3", true, 3)},
		{"kind::mxf4", 0x08a00480, scaled(128, "e2m1", "e2m1", false, 0)},
		{"kind::mxf4", 0x48a004a0, scaled(128, "e2m1", "e2m1", false, 2)},
		// the fields that those kernels do not use
		{"kind::f16", 0x08400010 &^ 0x30, plain(128, 256, "f16", "f16", "f16", false, false)},
		{"kind::i8", 0x04080028, instrDesc{m: 64, n: 32, a: "u8", b: "u8", d: "s32", saturate: true}},
		{"kind::f8f6f4", 0x04080010 | 3<<7 | 4<<10, plain(64, 32, "e2m3", "e3m2", "f32", false, false)},
		{"kind::f8f6f4", 0x04080010 | 5<<7 | 1<<10, plain(64, 32, "e2m1", "e5m2", "f32", false, false)},
		{"kind::f16", 0x04080010 | 1<<13 | 1<<15, instrDesc{m: 64, n: 32, a: "f16", b: "f16", d: "f32", negate: [2]bool{true, false}, mnMajor: [2]bool{true, false}}},
		{"kind::f16", 0x04080010 | 1<<14, instrDesc{m: 64, n: 32, a: "f16", b: "f16", d: "f32", negate: [2]bool{false, true}}},
		{"kind::mxf4nvf4", 0x08a00480 &^ (1 << 23), instrDesc{m: 128, n: 128, a: "e2m1", b: "e2m1", d: "f32"}},
	} {
		got, err := kindNamed(c.kind).decodeInstr(c.v)
		if err != nil || got != c.want {
			t.Errorf("%s %#x: got %+v, %v, want %+v", c.kind, c.v, got, err, c.want)
		}
	}
	for _, c := range []struct {
		kind string
		v    uint32
		want string
	}{
		{"kind::f16", 0x04080014, "sparse"},
		{"kind::f16", 0x04080011, "sparsity selector"},
		{"kind::f16", 0x04080018, "bits 0x8 must be zero"},
		{"kind::f16", 0x04080050, "bits 0x40"},
		{"kind::f16", 0x04080010 | 1<<23, "bits 0x800000"},
		{"kind::f16", 0x04080010 | 1<<29, "bits 0x20000000"},
		{"kind::f16", 0x04080010 | 1<<30, "shifts"},
		{"kind::f16", 0x04080010 | 2<<7, "no such types"},
		{"kind::f16", 0x04080010 | 1<<7, "A of bf16 and B of f16"},
		{"kind::f16", 0x04080000 | 1<<7 | 1<<10, "D of f16"},
		{"kind::i8", 0x04080020 | 1<<13, "bits 0x2000"},
		{"kind::tf32", 0x04080010, "no such types"},
		{"kind::mxf4", 0x88a00480, "K = 96"},
		{"kind::mxf4", 0x08a10480, "bits 0x10000"},
		{"kind::mxf8f6f4", 0x88a10000, "bits 0x80000000"},
	} {
		if _, err := kindNamed(c.kind).decodeInstr(c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %#x: got %v, want %q", c.kind, c.v, err, c.want)
		}
	}
}

func kindNamed(name string) *tcgenKind {
	i := slices.IndexFunc(tcgenKinds, func(k tcgenKind) bool { return k.name == name })
	return &tcgenKinds[i]
}

// TestSharedDescriptors: the first two are those of a bf16 GEMM of another compiler, for a tile at byte 1024.
func TestSharedDescriptors(t *testing.T) {
	for _, c := range []struct {
		v       uint64
		mnMajor bool
		want    smemTile
		err     string
	}{
		{0x4000404000010040, false, smemTile{start: 1024, leading: 16, stride: 1024, span: 128}, ""},
		{0x4000404002000040, true, smemTile{start: 1024, leading: 8192, stride: 1024, span: 128, mnMajor: true}, ""},
		{0x8000402000000042, false, smemTile{start: 1056, stride: 512, span: 64}, ""},
		{0xc000401000000000, false, smemTile{stride: 256, span: 32}, ""},
		{0x0000400800080000, false, smemTile{leading: 128, stride: 128}, ""},
		{0x2000404002000000, true, smemTile{leading: 8192, stride: 1024, span: 128, atoms32: true, mnMajor: true}, ""},
		{0x2000404002000000, false, smemTile{}, "MN-major"},
		{0x4000004000000000, false, smemTile{}, "bits 46 to 48"},
		{0x4002404000000000, false, smemTile{}, "base offset"},
		{0x4010404000000000, false, smemTile{}, "absolute"},
		{0x6000404000000000, false, smemTile{}, "code 3"},
		{0x4020404000000000, false, smemTile{}, "reserved"},
		{0x4000404000004000, false, smemTile{}, "reserved"},
	} {
		got, err := decodeShared(c.v, c.mnMajor)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || err == nil && got != c.want {
			t.Errorf("%#x: got %+v, %v, want %+v, %q", c.v, got, err, c.want, c.err)
		}
	}
}

// --- kernels ---

// tcgenText is a kernel of 128 threads around an asynchronous part that one thread runs. It copies an image of sm bytes
// to shared memory and one of 128 lanes of 512 words to tensor memory, runs the part and a commit, and stores all of
// tensor memory. In the part %r10 is the address of the image in shared memory, %r5 that of tensor memory.
func tcgenText(sm int, all, part string) string {
	var b strings.Builder
	b.WriteString(`.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 smem, .param .u64 image, .param .u64 out, .param .u64 words)
.reqntid 128, 1, 1
{
.reg .pred %p<10>; .reg .b32 %r<100>; .reg .b64 %rd<60>; .reg .b32 %q<128>;
.shared .align 1024 .b8 sm[` + itoa(max(sm, 16)) + `]; .shared .align 8 .b64 bar; .shared .align 4 .b32 base;
ld.param.u64 %rd1, [smem]; ld.param.u64 %rd2, [image]; ld.param.u64 %rd3, [out]; ld.param.u64 %rd8, [words];
mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; mov.u32 %r3, bar; mov.u32 %r4, base; mov.u32 %r10, sm;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra A;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 512;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
setp.eq.u32 %p2, %r1, 0;
@%p2 mbarrier.init.shared.b64 [%r3], 1;
A:
shl.b32 %r6, %r1, 4; mov.u32 %r7, ` + itoa(sm) + `;
C:
setp.ge.u32 %p3, %r6, %r7;
@%p3 bra D;
cvt.u64.u32 %rd4, %r6; add.s64 %rd4, %rd4, %rd1; add.u32 %r8, %r6, %r10;
ld.global.v4.b32 {%r20,%r21,%r22,%r23}, [%rd4]; st.shared.v4.b32 [%r8], {%r20,%r21,%r22,%r23};
add.u32 %r6, %r6, 2048;
bra C;
D:
fence.proxy.async;
bar.sync 0;
ld.shared.b32 %r5, [%r4];
shl.b32 %r9, %r2, 21; add.u32 %r9, %r9, %r5;
mul.wide.u32 %rd5, %r1, 2048; add.s64 %rd6, %rd5, %rd2; add.s64 %rd7, %rd5, %rd3;
mul.wide.u32 %rd9, %r1, 512; add.s64 %rd8, %rd8, %rd9;
mov.u32 %r11, 0;
E:
ld.global.v4.b32 {%r20,%r21,%r22,%r23}, [%rd6]; ld.global.v4.b32 {%r24,%r25,%r26,%r27}, [%rd6+16];
add.u32 %r12, %r9, %r11;
tcgen05.st.sync.aligned.32x32b.x8.b32 [%r12], {%r20,%r21,%r22,%r23,%r24,%r25,%r26,%r27};
add.s64 %rd6, %rd6, 32; add.u32 %r11, %r11, 8; setp.lt.u32 %p4, %r11, 512;
@%p4 bra E;
tcgen05.wait::st.sync.aligned;
` + all + `
bar.sync 0;
setp.ne.u32 %p5, %r1, 0;
@%p5 bra F;
` + part + `
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r3];
F:
mbarrier.try_wait.parity.shared.b64 %p6, [%r3], 0;
@!%p6 bra F;
mov.u32 %r11, 0;
G:
add.u32 %r12, %r9, %r11;
tcgen05.ld.sync.aligned.32x32b.x8.b32 {%r20,%r21,%r22,%r23,%r24,%r25,%r26,%r27}, [%r12];
tcgen05.wait::ld.sync.aligned;
st.global.v4.b32 [%rd7], {%r20,%r21,%r22,%r23}; st.global.v4.b32 [%rd7+16], {%r24,%r25,%r26,%r27};
add.s64 %rd7, %rd7, 32; add.u32 %r11, %r11, 8; setp.lt.u32 %p4, %r11, 512;
@%p4 bra G;
bar.sync 0;
@%p1 bra H;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 512;
H:
ret;
}
`)
	return b.String()
}

type tmemImage [tmemLanes][tmemColumns]uint32

// runTcgen runs such a kernel and gives what is in tensor memory after it, and the words of the threads.
func runTcgen(t *testing.T, smem []byte, image *tmemImage, all, part string, o Options) (*tmemImage, []byte, error) {
	t.Helper()
	m, err := Parse("t", tcgenText(len(smem), all, part))
	if err != nil {
		t.Fatal(err)
	}
	if u := m.Entry("k").Unsupported; u != nil {
		t.Fatal(u)
	}
	bytes := make([]byte, 4*tmemLanes*tmemColumns)
	for l := range image {
		for c, v := range image[l] {
			writeBytes(bytes, 4*(l*tmemColumns+c), 4, uint64(v))
		}
	}
	mem := NewMemory()
	args := []Arg{le64(mem.Alloc("smem", append(smem, 0), 256)), le64(mem.Alloc("image", bytes, 256))}
	at := mem.Alloc("out", make([]byte, len(bytes)), 256)
	words := mem.Alloc("words", make([]byte, 128*512), 256)
	if _, err = m.Run(t.Context(), "k", mem, append(args, le64(at), le64(words)), o); err != nil {
		return nil, nil, err
	}
	out := new(tmemImage)
	for l := range out {
		for c := range out[l] {
			out[l][c] = uint32(readBytes(mem.Bytes(at), 4*(l*tmemColumns+c), 4))
		}
	}
	return out, mem.Bytes(words), nil
}

func randomImage(r *rand.Rand) *tmemImage {
	image := new(tmemImage)
	for l := range image {
		for c := range image[l] {
			image[l][c] = r.Uint32()
		}
	}
	return image
}

// --- products ---

// productCase is one form of tcgen05.mma.
type productCase struct {
	kind        string // after kind::, with its scales
	a, b, d     string
	m, n, steps int
	mnA, mnB    bool
	swA, swB    int // width of the swizzle, 0: none, 1: 128 bytes with atoms of 32
	aTmem, ws   bool
	keep        bool // old D
	negA, negB  bool
	saturate    bool
	scaleD      int
	disable     [4]uint32
	blocks      int
	scale       string
	first       int
	padded      bool // 4 and 6 bits in padded chunks
}

func (c *productCase) name() string {
	return fmt.Sprintf("%s_%s_%s_%s_%dx%dx%d_%v%v_%d_%d_%v%v%v%v%v_%d%v_%s%d", c.kind, c.a, c.b, c.d, c.m, c.n, c.steps, c.mnA, c.mnB, c.swA, c.swB,
		c.aTmem, c.ws, c.keep, c.negA, c.negB, c.scaleD, c.disable[0] != 0, c.scale, c.first)
}

func (c *productCase) depth() int {
	switch {
	case strings.HasPrefix(c.kind, "mxf4"):
		return 64
	case c.a == "tf32":
		return 8
	case strings.HasSuffix(c.a, "16") || strings.HasSuffix(c.a, "f16"):
		return 16
	}
	return 32
}

// width is the bits of an element in shared memory with its padding.
func (c *productCase) width() int { return 256 / c.depth() }

// pick gives random bits of a type and the value.
func pick(r *rand.Rand, name string) (uint64, float64) {
	switch name {
	case "f16", "bf16", "tf32":
		x := float64(r.IntN(17) - 8)
		f := map[string]*float.Format{"f16": float.F16, "bf16": float.BF16, "tf32": float.TF32}[name]
		bits := f.Encode(x, float.NearestEven)
		if name == "tf32" {
			return uint64(math.Float32bits(float32(x))) | r.Uint64()&0x1fff, x // the low bits mean nothing
		}
		return bits, x
	case "s8":
		v := int8(r.IntN(256))
		return uint64(uint8(v)), float64(v)
	case "u8":
		v := uint8(r.IntN(256))
		return uint64(v), float64(v)
	}
	v := bitsOf(r, name)
	return v, decodeSmall(name, v)
}

// tileOf writes a tile of rows x k elements the way the ISA draws the canonical layouts: groups of eight rows (or of
// eight k) of W bytes, in which the chunks of 16 bytes of a row are permuted by the number of the row. It gives the
// image and the descriptor of the first instruction, and how far the next one is.
func tileOf(bits [][]uint64, width, swizzle int, mnMajor, padded bool, name string) (image []byte, desc uint64, step int) {
	rows, k := len(bits), len(bits[0])
	outer, inner := rows, k
	if mnMajor {
		outer, inner = k, rows
	}
	span, group, code := swizzle, 8, map[int]uint64{0: 0, 1: 1, 128: 2, 64: 4, 32: 6}[swizzle]
	if swizzle == 0 {
		span = 16
	}
	if swizzle == 1 {
		span, group = 128, 4
	}
	lineBytes := inner * width / 8
	blocks := (lineBytes + span - 1) / span // spans of a line
	groups := (outer + group - 1) / group
	// groups of one block follow each other, blocks follow their groups
	image = make([]byte, blocks*groups*group*span)
	per := 128 / width // elements of a chunk
	for o := range outer {
		for i := range inner {
			row, col := o, i
			if mnMajor {
				row, col = i, o
			}
			v := bits[row][col]
			at := i * width / 8
			block, in, line := at/span, at%span, o%group
			chunk := in / 16
			switch swizzle {
			case 128:
				chunk ^= line
			case 64:
				chunk ^= line / 2
			case 32:
				chunk ^= line / 4
			case 1:
				chunk ^= line << 1
			}
			base := ((block*groups+o/group)*group+line)*span + chunk*16
			bit := i % per * width
			if padded {
				bit = i % per * smallBits(name)
			}
			for n := 0; n < 64 && v>>n != 0; n++ {
				if v>>n&1 != 0 {
					image[base+(bit+n)/8] |= 1 << ((bit + n) % 8)
				}
			}
		}
	}
	lbo, sbo := groups*group*span, group*span
	switch step = 32; { // of 32 bytes of K
	case mnMajor && swizzle == 0:
		lbo, sbo = sbo, lbo
		step = 256 / width / 8 * lbo
	case mnMajor:
		step = 256 / width / group * sbo
	case swizzle == 0:
		step = 2 * lbo
	case swizzle == 32:
		step = lbo
	}
	return image, uint64(lbo>>4)<<16 | uint64(sbo>>4)<<32 | 1<<46 | code<<61, step
}

func (c *productCase) check(t *testing.T, r *rand.Rand) {
	k := c.depth() * c.steps
	pickAll := func(rows int, name string) (bits [][]uint64, vals [][]float64) {
		for i := range rows {
			bits, vals = append(bits, make([]uint64, k)), append(vals, make([]float64, k))
			for j := range k {
				bits[i][j], vals[i][j] = pick(r, name)
			}
		}
		return
	}
	bitsA, a := pickAll(c.m, c.a)
	bitsB, b := pickAll(c.n, c.b)
	image := randomImage(r)
	var smem []byte
	var descA uint64
	stepA := 8
	if c.aTmem {
		c.placeA(image, bitsA)
	} else {
		smem, descA, stepA = tileOf(bitsA, c.width(), c.swA, c.mnA, c.padded, c.a)
	}
	for len(smem)%1024 != 0 {
		smem = append(smem, 0)
	}
	imageB, descB, stepB := tileOf(bitsB, c.width(), c.swB, c.mnB, c.padded, c.b)
	descB |= uint64(len(smem) >> 4)
	smem = append(smem, imageB...)
	scaleA, scaleB := c.placeScales(r, image)
	old := c.placeD(r, image)
	want := c.want(a, b, old, scaleA, scaleB)
	part := c.part(descA, descB, stepA, stepB)
	got, _, err := runTcgen(t, smem, image, "", part, Options{Schedule: Reverse, Checks: Checks{NoUndefined: c.d == "f16"}})
	if err != nil {
		t.Fatal(err)
	}
	expect := *image
	for i := range c.m {
		for j := range c.n {
			l, col := c.dPlace(i, j)
			if c.disable[l/32]>>(l%32)&1 != 0 {
				continue
			}
			v := c.encodeD(want[i][j])
			if c.d == "f16" {
				got[l][col] &= 0xffff
			}
			expect[l][col] = v
		}
	}
	for l := range expect {
		for col := range expect[l] {
			if got[l][col] != expect[l][col] {
				t.Fatalf("lane %d column %d: got %#x, want %#x", l, col, got[l][col], expect[l][col])
			}
		}
	}
}

// Columns of the operands in tensor memory.
const (
	colA  = 256
	colSA = 320
	colSB = 340
)

// dPlace is where the ISA's figures put element (i, j) of D.
func (c *productCase) dPlace(i, j int) (lane, col int) {
	switch {
	case c.ws && c.m == 64:
		return i + j/(c.n/2)*64, j % (c.n / 2)
	case c.ws && c.m == 32:
		return i + j/(c.n/4)*32, j % (c.n / 4)
	case c.m == 64:
		return i/16*32 + i%16, j
	}
	return i, j
}

func (c *productCase) placeA(image *tmemImage, bits [][]uint64) {
	width := c.width()
	for i := range bits {
		lane, _ := c.dPlace(i, 0)
		for col := range 8 * c.steps {
			image[lane][colA+col] = 0
		}
		for k, v := range bits[i] {
			if c.padded && c.a == "e2m1" {
				v <<= 2 // in its container
			}
			image[lane][colA+k*width/32] |= uint32(v) << (k * width % 32)
		}
	}
}

func (c *productCase) placeScales(r *rand.Rand, image *tmemImage) (a, b func(row, k int) float64) {
	place := func(rows, col int) func(row, k int) float64 {
		words := make([]uint64, rows)
		for i := range rows {
			for n := range 4 {
				words[i] |= bitsOf(r, c.scale) << (8 * n)
			}
			for q := range 4 {
				image[i%32+32*q][col+i/32] = uint32(words[i])
			}
		}
		return func(i, k int) float64 {
			return decodeSmall(c.scale, words[i]>>(8*(c.first+k%c.depth()*c.blocks/c.depth()))&0xff)
		}
	}
	if c.blocks == 0 {
		one := func(int, int) float64 { return 1 }
		return one, one
	}
	return place(c.m, colSA), place(c.n, colSB)
}

func (c *productCase) placeD(r *rand.Rand, image *tmemImage) [][]float64 {
	old := make([][]float64, c.m)
	for i := range old {
		old[i] = make([]float64, c.n)
		for j := range old[i] {
			x := float64(r.IntN(200) - 100)
			if c.saturate {
				x = 0x7ffffff0
			}
			lane, col := c.dPlace(i, j)
			image[lane][col] = c.encodeD(x)
			if c.keep {
				old[i][j] = math.Ldexp(x, -c.scaleD)
			}
		}
	}
	return old
}

func (c *productCase) encodeD(x float64) uint32 {
	switch c.d {
	case "f16":
		return uint32(float.F16.Encode(x, float.NearestEven))
	case "s32":
		return uint32(int32(max(min(x, 0x7fffffff), -0x80000000)))
	}
	return math.Float32bits(float32(x))
}

func (c *productCase) want(a, b, old [][]float64, sa, sb func(row, k int) float64) [][]float64 {
	for i := range old {
		for j := range old[i] {
			for k := range a[i] {
				x := a[i][k] * sa(i, k) * b[j][k] * sb(j, k)
				if c.negA != c.negB {
					x = -x
				}
				old[i][j] += x
			}
		}
	}
	return old
}

func (c *productCase) part(descA, descB uint64, stepA, stepB int) string {
	dCode := map[string]uint32{"f16": 0, "f32": 1, "s32": 2}[c.d]
	codes := map[string]uint32{"f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5, "u8": 0, "s8": 1}
	bit := func(b bool, at int) uint32 {
		if b {
			return 1 << at
		}
		return 0
	}
	idesc := codes[c.a]<<7 | codes[c.b]<<10 | bit(c.negA, 13) | bit(c.negB, 14) | bit(c.mnA, 15) | bit(c.mnB, 16) | uint32(c.n/8)<<17 | uint32(c.m/16)<<24
	switch {
	case c.depth() == 64:
		idesc = 1<<7 | 1<<10 | idesc&^(0x3f<<7)
	case c.blocks == 0:
		idesc |= dCode<<4 | bit(c.saturate, 3)
	}
	if c.blocks > 0 {
		idesc |= uint32(c.first)<<4 | uint32(c.first)<<29 | bit(c.scale == "ue8m0", 23)
	}
	ws := ""
	if c.ws {
		ws = ".ws"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "shr.u32 %%r30, %%r10, 4; cvt.u64.u32 %%rd10, %%r30;\nmov.b32 %%r31, %#x;\n", idesc)
	fmt.Fprintf(&b, "add.u32 %%r32, %%r5, %d; add.u32 %%r33, %%r5, %d; setp.eq.u32 %%p7, 0, %d; setp.eq.u32 %%p8, 0, 0;\n", colSA, colSB, int(bit(!c.keep, 0)))
	for s := range c.steps {
		fmt.Fprintf(&b, "add.s64 %%rd11, %%rd10, %d; add.s64 %%rd12, %%rd10, %d;\n", int64(descA+uint64(s*stepA>>4)), int64(descB+uint64(s*stepB>>4)))
		a := "%rd11"
		if c.aTmem {
			a = fmt.Sprintf("[%%r5 + %d]", colA+8*s)
		}
		fmt.Fprintf(&b, "tcgen05.mma%s.cta_group::1.kind::%s [%%r5], %s, %%rd12, %%r31", ws, c.kind, a)
		if c.blocks > 0 {
			b.WriteString(", [%r32], [%r33]")
		}
		if c.disable != [4]uint32{} {
			fmt.Fprintf(&b, ", {%d, %d, %d, %d}", c.disable[0], c.disable[1], c.disable[2], c.disable[3])
		}
		fmt.Fprintf(&b, ", %%p%d", min(7+s, 8))
		if c.scaleD > 0 {
			fmt.Fprintf(&b, ", %d", c.scaleD)
		}
		b.WriteString(";\n")
	}
	return b.String()
}

// TestEveryProduct compares every kind, type, layout and option of tcgen05.mma with a plain product, bit for bit, and
// shows that nothing else in tensor memory changes.
func TestEveryProduct(t *testing.T) {
	base := productCase{kind: "f16", a: "f16", b: "f16", d: "f32", m: 128, n: 32, steps: 2, swA: 128, swB: 128}
	var cases []productCase
	add := func(change func(c *productCase)) {
		c := base
		change(&c)
		cases = append(cases, c)
	}
	for _, sw := range []int{0, 32, 64, 128} {
		for _, mn := range []bool{false, true} {
			add(func(c *productCase) { c.swA, c.swB, c.mnA, c.mnB, c.n = sw, sw, mn, !mn, 64 })
			add(func(c *productCase) {
				c.kind, c.a, c.b, c.swA, c.swB, c.mnA, c.mnB = "f8f6f4", "e4m3", "e5m2", sw, sw, mn, !mn
				c.n = 128
			})
		}
	}
	for _, n := range []int{16, 48, 256} {
		add(func(c *productCase) { c.n, c.a, c.b = n, "bf16", "bf16" })
	}
	for _, n := range []int{8, 24, 64, 256} {
		add(func(c *productCase) { c.m, c.n, c.keep = 64, n, true })
	}
	add(func(c *productCase) { c.d, c.keep = "f16", true })
	add(func(c *productCase) { c.negA, c.keep = true, true })
	add(func(c *productCase) { c.negB, c.scaleD, c.keep, c.steps = true, 3, true, 1 })
	add(func(c *productCase) { c.disable, c.keep = [4]uint32{0xff, 0, 1 << 31, 0xffff0000}, true })
	add(func(c *productCase) { c.aTmem = true })
	add(func(c *productCase) { c.aTmem, c.m = true, 64 })
	add(func(c *productCase) { c.kind, c.a, c.b = "tf32", "tf32", "tf32" })
	add(func(c *productCase) { c.kind, c.a, c.b, c.aTmem = "tf32", "tf32", "tf32", true })
	add(func(c *productCase) {
		c.kind, c.a, c.b, c.mnA, c.mnB, c.swA, c.swB, c.n = "tf32", "tf32", "tf32", true, true, 1, 1, 64
	})
	for _, ab := range []string{"s8 s8", "u8 s8", "s8 u8"} {
		f := strings.Fields(ab)
		add(func(c *productCase) { c.kind, c.a, c.b, c.d, c.keep = "i8", f[0], f[1], "s32", true })
	}
	add(func(c *productCase) {
		c.kind, c.a, c.b, c.d, c.keep, c.saturate, c.steps = "i8", "u8", "u8", "s32", true, true, 1
	})
	small := strings.Fields("e4m3 e5m2 e2m3 e3m2 e2m1")
	for i, x := range small {
		y := small[4-i]
		add(func(c *productCase) { c.kind, c.a, c.b, c.padded = "f8f6f4", x, y, true })
		add(func(c *productCase) { c.kind, c.a, c.b, c.padded, c.aTmem, c.d = "f8f6f4", x, y, true, true, "f16" })
		add(func(c *productCase) {
			c.kind, c.a, c.b, c.padded = "mxf8f6f4.block_scale.block32", x, y, true
			c.blocks, c.scale, c.first, c.n = 1, "ue8m0", i%4, 64+8*i
		})
	}
	for _, n := range []int{128, 256} {
		add(func(c *productCase) {
			c.kind, c.a, c.b, c.blocks, c.scale, c.n, c.keep = "mxf8f6f4.block_scale.scale_vec::1X", "e4m3", "e4m3", 1, "ue8m0", n, true
		})
	}
	for _, first := range []int{0, 2} {
		add(func(c *productCase) {
			c.kind, c.a, c.b, c.blocks, c.scale, c.first = "mxf4.block_scale", "e2m1", "e2m1", 2, "ue8m0", first
		})
	}
	add(func(c *productCase) {
		c.kind, c.a, c.b, c.blocks, c.scale, c.aTmem = "mxf4.block_scale.block32", "e2m1", "e2m1", 2, "ue8m0", true
	})
	for _, s := range []string{"ue8m0", "ue4m3"} {
		add(func(c *productCase) {
			c.kind, c.a, c.b, c.blocks, c.scale, c.n = "mxf4nvf4.block_scale.block16", "e2m1", "e2m1", 4, s, 128
		})
	}
	for _, m := range []int{32, 64, 128} {
		add(func(c *productCase) { c.ws, c.m, c.n = true, m, 64 })
		add(func(c *productCase) { c.ws, c.m, c.n, c.keep = true, m, 256, true })
	}
	for i, c := range cases {
		if c.d == "f16" || c.blocks > 0 && c.first == 0 {
			c.steps = 1 // every instruction rounds its sums, which are exact else
		}
		t.Run(c.name(), func(t *testing.T) { c.check(t, rand.New(rand.NewPCG(9, uint64(i)))) })
	}
}

// TestTensorCopiesOfTF32 loads f32 through a map of tf32 with a swizzle of 32-byte atoms: elements are rounded to 10 bits
// of fraction, and the tile is what a descriptor with that swizzle reads.
func TestTensorCopiesOfTF32(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	global := make([]byte, 16*128)
	for i := range 16 * 32 {
		writeBytes(global, 4*i, 4, uint64(math.Float32bits(float32(r.NormFloat64()))))
	}
	m, err := Parse("t", `.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)
.reqntid 32
{
	.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<10>;
	.shared .align 1024 .b8 sm[2048]; .shared .align 8 .b64 bar;
	ld.param.u64 %rd2, [out]; mov.u64 %rd1, map; cvta.param.u64 %rd1, %rd1;
	mov.u32 %r1, %tid.x; mov.u32 %r2, sm; mov.u32 %r3, bar;
	setp.ne.u32 %p1, %r1, 0;
	@%p1 bra W;
	mbarrier.init.shared::cta.b64 [%r3], 1;
	fence.proxy.async.shared::cta;
	mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 2048;
	cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd1, {0, 0}], [%r3];
W:
	bar.warp.sync -1;
V:
	mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
	@!%p2 bra V;
	mul.lo.u32 %r4, %r1, 64; add.u32 %r5, %r2, %r4; cvt.u64.u32 %rd3, %r4; add.s64 %rd3, %rd3, %rd2;
	ld.shared.v4.b32 {%r6,%r7,%r8,%r9}, [%r5]; st.global.v4.b32 [%rd3], {%r6,%r7,%r8,%r9};
	ld.shared.v4.b32 {%r6,%r7,%r8,%r9}, [%r5+16]; st.global.v4.b32 [%rd3+16], {%r6,%r7,%r8,%r9};
	ld.shared.v4.b32 {%r6,%r7,%r8,%r9}, [%r5+32]; st.global.v4.b32 [%rd3+32], {%r6,%r7,%r8,%r9};
	ld.shared.v4.b32 {%r6,%r7,%r8,%r9}, [%r5+48]; st.global.v4.b32 [%rd3+48], {%r6,%r7,%r8,%r9};
	ret;
}
`)
	if err != nil {
		t.Fatal(err)
	}
	mem := NewMemory()
	a := mem.Alloc("a", global, 256)
	out := mem.Alloc("out", make([]byte, 2048), 256)
	tm := TensorMap{Address: a, Rank: 2, Dims: [5]uint32{32, 16}, Strides: [4]uint64{128}, Box: [5]uint16{32, 16}, Steps: [5]uint8{1, 1}, Type: 11, Swizzle: 3, Atomicity: 1}
	if _, err := m.Run(t.Context(), "k", mem, []Arg{tm.Encode(), le64(out)}, Options{}); err != nil {
		t.Fatal(err)
	}
	tile := smemTile{leading: 2048, stride: 512, span: 128, atoms32: true, mnMajor: true}
	for k := range 16 {
		for mn := range 32 {
			x := float64(math.Float32frombits(uint32(readBytes(global, 4*(32*k+mn), 4))))
			at := tile.at(k, 4*mn&^15) + 4*mn&15
			got := float64(math.Float32frombits(uint32(readBytes(mem.Bytes(out), at, 4))))
			if want := float.TF32.Decode(float.TF32.Encode(x, float.NearestAway)); got != want {
				t.Fatalf("row %d element %d: got %v, want %v", k, mn, got, want)
			}
		}
	}
}
