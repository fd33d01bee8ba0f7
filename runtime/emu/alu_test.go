package emu

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// evalBody runs one instruction on lane values: registers a b c d have 32 bits, A B C D 64, ha hb hc hd 16,
// p is a predicate. A, a and ha hold the same input, and so on; the first operand is the result.
func evalBody(instr string) string {
	dst := strings.Fields(strings.NewReplacer(",", " ", "{", " ", "}", " ", "|", " ").Replace(instr))[1]
	result := "mov.b64 R, " + dst
	switch {
	case dst == "p":
		result = "selp.b64 R, 1, 0, p"
	case dst[0] == 'h':
		result = "cvt.u64.u16 R, " + dst
	case dst[0] >= 'a':
		result = "cvt.u64.u32 R, " + dst
	}
	return on("sm_100", header) + `.visible .entry k(.param .u64 buf)
{
	.reg .pred p, q; .reg .b16 ha, hb, hc, hd; .reg .b32 a, b, c, d, e, t; .reg .b64 A, B, C, D, R, P;
	ld.param.u64 P, [buf];
	mov.u32 t, %tid.x;
	mad.wide.u32 P, t, 32, P;
	ld.global.v2.b64 {A, B}, [P];
	ld.global.b64 C, [P+16];
	cvt.u32.u64 a, A; cvt.u32.u64 b, B; cvt.u32.u64 c, C;
	cvt.u16.u64 ha, A; cvt.u16.u64 hb, B; cvt.u16.u64 hc, C;
	mov.b32 d, 0; mov.b64 D, 0; mov.b16 hd, 0; setp.ne.b32 q, c, 0;
	` + instr + `;
	` + result + `;
	st.global.b64 [P+24], R;
	ret;
}
`
}

// eval runs an instruction on up to 32 input triples.
func eval(t *testing.T, instr string, in [][3]uint64) []uint64 {
	t.Helper()
	buf := make([]byte, 32*32)
	for i := range 32 {
		for k, v := range in[i%len(in)] {
			writeBytes(buf, 32*i+8*k, 8, v)
		}
	}
	out, err := runText(t, evalBody(instr), 32, buf, Options{})
	if err != nil {
		t.Fatalf("%s: %v", instr, err)
	}
	var r []uint64
	for i := range in {
		r = append(r, readBytes(out, 32*i+24, 8))
	}
	return r
}

type evalCase struct {
	instr   string
	a, b, c uint64
	want    uint64
}

func checkCases(t *testing.T, cases []evalCase) {
	t.Helper()
	for _, c := range cases {
		if got := eval(t, c.instr, [][3]uint64{{c.a, c.b, c.c}})[0]; got != c.want {
			t.Errorf("%s with %#x, %#x, %#x: got %#x, want %#x", c.instr, c.a, c.b, c.c, got, c.want)
		}
	}
}

const (
	minus1 = 0xffffffff
	min32  = 0x80000000
)

func TestIntegerArithmetic(t *testing.T) {
	checkCases(t, []evalCase{
		{"add.s32 d, a, b", minus1, 1, 0, 0},
		{"add.s64 D, A, B", math.MaxUint64, 2, 0, 1},
		{"add.u16 hd, ha, hb", 0xffff, 2, 0, 1},
		{"add.sat.s32 d, a, b", 0x7fffffff, 1, 0, 0x7fffffff},
		{"sub.sat.s32 d, a, b", min32, 1, 0, min32},
		{"add.u16x2 d, a, b", 0x0001ffff, 0x00010001, 0, 0x00020000},
		{"sub.s32 d, a, b", 3, 5, 0, 0xfffffffe},
		{"mul.lo.s32 d, a, b", 0x10000, 0x10001, 0, 0x10000},
		{"mul.hi.s32 d, a, b", minus1, 5, 0, minus1},
		{"mul.hi.u32 d, a, b", minus1, 5, 0, 4},
		{"mul.wide.s32 D, a, b", minus1, 5, 0, math.MaxUint64 - 4},
		{"mul.wide.u32 D, a, b", minus1, 5, 0, 5 * minus1},
		{"mul.wide.s16 d, ha, hb", 0xffff, 7, 0, 0xfffffff9},
		{"mul.hi.s64 D, A, B", math.MaxUint64, 5, 0, math.MaxUint64},
		{"mul.hi.u64 D, A, B", math.MaxUint64, 5, 0, 4},
		{"mad.lo.s32 d, a, b, c", 3, 5, minus1, 14},
		{"mad.hi.s32 d, a, b, c", minus1, 5, 2, 1},
		{"mad.wide.u32 D, a, b, C", minus1, 2, 1, 2*minus1 + 1},
		{"mad.wide.s32 D, a, b, C", minus1, 2, 1, math.MaxUint64},
		{"mul24.lo.u32 d, a, b", 0xff000003, 5, 0, 15},
		{"mul24.lo.s32 d, a, b", 0xffffff, 5, 0, 0xfffffffb},
		{"mad24.lo.u32 d, a, b, c", 3, 5, 7, 22},
		{"div.s32 d, a, b", 0xfffffff9, 2, 0, 0xfffffffd},
		{"div.u32 d, a, b", 0xfffffff9, 2, 0, 0x7ffffffc},
		{"div.u32 d, a, b", 5, 0, 0, minus1},
		{"div.s32 d, a, b", min32, minus1, 0, min32},
		{"rem.s32 d, a, b", 0xfffffff9, 2, 0, minus1},
		{"rem.s64 D, A, B", math.MaxUint64 - 6, 4, 0, math.MaxUint64 - 2},
		{"rem.u32 d, a, b", 7, 4, 0, 3},
		{"min.s32 d, a, b", minus1, 1, 0, minus1},
		{"min.u32 d, a, b", minus1, 1, 0, 1},
		{"max.s64 D, A, B", math.MaxUint64, 1, 0, 1},
		{"max.s16x2 d, a, b", 0xffff0005, 0x00010003, 0, 0x00010005},
		{"abs.s32 d, a", 0xfffffffb, 0, 0, 5},
		{"abs.s32 d, a", min32, 0, 0, min32},
		{"neg.s64 D, A", 1, 0, 0, math.MaxUint64},
		{"sad.s32 d, a, b, c", minus1, 5, 10, 16},
		{"sad.u32 d, a, b, c", minus1, 5, 10, 0x4},
		{"dp4a.s32.s32 d, a, b, c", 0xff020304, 0x01010101, 100, 108},
		{"dp4a.u32.s32 d, a, b, c", 0xff000000, 0xff000000, 0, 0xffffff01},
		{"dp2a.lo.s32.s32 d, a, b, c", 0xffff0003, 0x00000205, 1, 14},
		{"dp2a.hi.u32.u32 d, a, b, c", 0x00020003, 0x07050000, 0, 29},
		{"add.cc.u32 d, a, b; addc.u32 d, c, 0", minus1, 1, 5, 6},
		{"sub.cc.u32 d, a, b; subc.u32 d, c, 0", 0, 1, 5, 4},
		{"mad.lo.cc.u32 d, a, b, c; madc.hi.u32 d, a, b, 0", minus1, minus1, minus1, minus1},
	})
}

func TestBits(t *testing.T) {
	checkCases(t, []evalCase{
		{"and.b32 d, a, b", 0xff00, 0x0ff0, 0, 0x0f00},
		{"or.b64 D, A, B", 1 << 40, 1, 0, 1<<40 | 1},
		{"xor.b16 hd, ha, hb", 0xff00, 0xffff, 0, 0x00ff},
		{"not.b32 d, a", 0, 0, 0, minus1},
		{"cnot.b32 d, a", 0, 0, 0, 1},
		{"lop3.b32 d, a, b, c, 0x96", 0xf0, 0xcc, 0xaa, 0xf0 ^ 0xcc ^ 0xaa},
		{"lop3.b32 d, a, b, c, 0xe8", 0xf0, 0xcc, 0xaa, 0xe8},
		{"shl.b32 d, a, b", 1, 31, 0, min32},
		{"shl.b32 d, a, b", 1, 32, 0, 0},
		{"shl.b64 D, A, b", 1, 63, 0, 1 << 63},
		{"shr.u32 d, a, b", min32, 31, 0, 1},
		{"shr.s32 d, a, b", min32, 40, 0, minus1},
		{"shr.u32 d, a, b", min32, 40, 0, 0},
		{"shr.s16 hd, ha, b", 0x8000, 4, 0, 0xf800},
		{"shf.l.wrap.b32 d, a, b, c", 0x80000001, 0x1, 33, 3},
		{"shf.r.wrap.b32 d, a, b, c", 0x2, 0x1, 1, 0x80000001},
		{"shf.l.clamp.b32 d, a, b, c", 0x80000001, 0x1, 33, 0x80000001},
		{"shf.r.clamp.b32 d, a, b, c", 0x2, 0x7, 40, 7},
		{"popc.b32 d, a", 0xf0f0, 0, 0, 8},
		{"popc.b64 d, A", math.MaxUint64, 0, 0, 64},
		{"clz.b32 d, a", 1, 0, 0, 31},
		{"clz.b64 d, A", 0, 0, 0, 64},
		{"brev.b32 d, a", 1, 0, 0, min32},
		{"bfind.u32 d, a", 0x10, 0, 0, 4},
		{"bfind.s32 d, a", 0xfffffff0, 0, 0, 3},
		{"bfind.u32 d, a", 0, 0, 0, minus1},
		{"bfind.shiftamt.u32 d, a", 0x10, 0, 0, 27},
		{"bfe.u32 d, a, b, c", 0xabcd, 4, 8, 0xbc},
		{"bfe.s32 d, a, b, c", 0xabcd, 4, 8, 0xffffffbc},
		{"bfe.s32 d, a, b, c", min32, 28, 8, 0xfffffff8},
		{"bfe.u64 D, A, b, c", 0xab << 40, 40, 8, 0xab},
		{"bfe.u32 d, a, b, c", minus1, 4, 0, 0},
		{"bfi.b32 d, a, b, 8, 4", 0xf5, 0, 0, 0x500},
		{"bfi.b32 d, a, b, 28, 8", 0xff, 0x1, 0, 0xf0000001},
		{"bmsk.clamp.b32 d, a, b", 4, 8, 0, 0xff0},
		{"szext.clamp.s32 d, a, b", 0xff, 8, 0, minus1},
		{"szext.clamp.u32 d, a, b", 0x1ff, 8, 0, 0xff},
		{"prmt.b32 d, a, b, c", 0x33221100, 0x77665544, 0x7531, 0x77553311},
		{"prmt.b32 d, a, b, c", 0x33228100, 0x77665544, 0x9999, minus1},
		{"prmt.b32.f4e d, a, b, c", 0x33221100, 0x77665544, 1, 0x44332211},
		{"prmt.b32.b4e d, a, b, c", 0x33221100, 0x77665544, 0, 0x55667700},
		{"prmt.b32.rc8 d, a, b, c", 0x33221100, 0, 2, 0x22222222},
		{"prmt.b32.ecl d, a, b, c", 0x33221100, 0, 2, 0x33222222},
		{"prmt.b32.ecr d, a, b, c", 0x33221100, 0, 2, 0x22221100},
		{"prmt.b32.rc16 d, a, b, c", 0x33221100, 0, 1, 0x33223322},
	})
}

func TestComparisonAndSelection(t *testing.T) {
	nan := uint64(0x7fc00000)
	one := uint64(0x3f800000)
	checkCases(t, []evalCase{
		{"setp.lt.s32 p, a, b", minus1, 1, 0, 1},
		{"setp.lt.u32 p, a, b", minus1, 1, 0, 0},
		{"setp.lo.u32 p, a, b", 1, minus1, 0, 1},
		{"setp.hs.u32 p, a, b", minus1, minus1, 0, 1},
		{"setp.ge.s64 p, A, B", 1, math.MaxUint64, 0, 1},
		{"setp.ne.b16 p, ha, hb", 0x10001, 1, 0, 0},
		{"setp.lt.f32 p, a, b", nan, one, 0, 0},
		{"setp.ltu.f32 p, a, b", nan, one, 0, 1},
		{"setp.ne.f32 p, a, b", nan, one, 0, 0},
		{"setp.neu.f32 p, a, b", nan, one, 0, 1},
		{"setp.num.f32 p, a, b", one, one, 0, 1},
		{"setp.nan.f32 p, a, b", one, nan, 0, 1},
		{"setp.eq.f32 p, a, b", min32, 0, 0, 1},
		{"setp.eq.ftz.f32 p, a, b", 1, 0, 0, 1},
		{"setp.gt.f64 p, A, B", math.Float64bits(2), math.Float64bits(1), 0, 1},
		{"setp.lt.f16 p, ha, hb", 0xbc00, 0x3c00, 0, 1},
		{"setp.lt.bf16 p, ha, hb", 0xbf80, 0x3f80, 0, 1},
		{"setp.eq.and.s32 p, a, b, q", 5, 5, 0, 0},
		{"setp.eq.or.s32 p, a, b, q", 5, 4, 1, 1},
		{"setp.eq.xor.s32 p, a, b, !q", 5, 5, 0, 0},
		{"setp.eq.s32 p|q, a, b; and.pred p, p, !q", 5, 5, 0, 1},
		{"set.lt.u32.s32 d, a, b", minus1, 1, 0, minus1},
		{"set.lt.f32.s32 d, a, b", minus1, 1, 0, one},
		{"selp.b32 d, a, b, q", 7, 8, 1, 7},
		{"selp.b32 d, a, b, !q", 7, 8, 1, 8},
		{"slct.s32.s32 d, a, b, c", 7, 8, minus1, 8},
		{"slct.u64.f32 D, A, B, c", 7, 8, one, 7},
		{"testp.infinite.f32 p, a", 0xff800000, 0, 0, 1},
		{"testp.subnormal.f32 p, a", 1, 0, 0, 1},
		{"testp.normal.f64 p, A", math.Float64bits(3), 0, 0, 1},
		{"testp.normal.f64 p, A", 1 << 63, 0, 0, 1},
		{"testp.normal.f32 p, a", 0, 0, 0, 1},
		{"testp.normal.f32 p, a", 1 << 31, 0, 0, 1},
		{"testp.normal.f32 p, a", 1, 0, 0, 0},
		{"testp.subnormal.f32 p, a", 1 << 31, 0, 0, 0},
	})
}

func TestMovesPackAndUnpack(t *testing.T) {
	checkCases(t, []evalCase{
		{"mov.b32 d, {ha, hb}", 0x1111, 0x2222, 0, 0x22221111},
		{"mov.b64 D, {a, b}", 1, 2, 0, 2<<32 | 1},
		{"mov.b32 {hd, hc}, a; mov.b16 hd, hc", 0x22221111, 0, 0, 0x2222},
		{"mov.b64 {d, _}, A", 7<<32 | 9, 0, 0, 9},
		{"mov.b32 d, 0f3F800000", 0, 0, 0, 0x3f800000},
		{"mov.f32 d, 1.5", 0, 0, 0, 0x3fc00000},
		{"mov.b64 D, 0d3FF0000000000000", 0, 0, 0, math.Float64bits(1)},
		{"mov.b32 d, -1", 0, 0, 0, minus1},
		{"mov.u32 d, 0b101", 0, 0, 0, 5},
		{"mov.u32 d, WARP_SZ", 0, 0, 0, 32},
		{"mov.u32 d, %ntid.x", 0, 0, 0, 32},
		{"cvta.to.shared.u64 D, A", sharedWindow + 4, 0, 0, 4},
		{"isspacep.global p, P", 0, 0, 0, 1},
		{"isspacep.shared p, P", 0, 0, 0, 0},
		{"mov.b32 d, a; { .reg .b32 a; mov.b32 a, 5; } add.s32 d, d, a", 9, 0, 0, 18},
	})
}

func fb(x float32) uint64 { return uint64(math.Float32bits(x)) }
func db(x float64) uint64 { return math.Float64bits(x) }

func TestFloatArithmetic(t *testing.T) {
	tiny := uint64(1) // the smallest f32 subnormal
	nan := uint64(0x7fc12345)
	checkCases(t, []evalCase{
		{"add.rn.f32 d, a, b", fb(1), fb(0x1p-24), 0, fb(1)},
		{"add.rp.f32 d, a, b", fb(1), fb(0x1p-60), 0, 0x3f800001},
		{"add.rz.f32 d, a, b", fb(1), fb(-0x1p-60), 0, 0x3f7fffff},
		{"add.rm.f32 d, a, b", fb(1), fb(-1), 0, min32},
		{"add.rm.f32 d, a, b", 0, 0, 0, 0},
		{"add.rm.f64 D, A, B", 0, 0, 0, 0},
		{"sub.rn.f32 d, a, b", fb(3), fb(5), 0, fb(-2)},
		{"mul.rz.f32 d, a, b", 0x3f800001, 0x3f800001, 0, 0x3f800002},
		{"mul.rp.f32 d, a, b", 0x3f800001, 0x3f800001, 0, 0x3f800003},
		{"mul.rn.f32 d, a, b", fb(math.MaxFloat32), fb(2), 0, 0x7f800000},
		{"mul.rz.f32 d, a, b", fb(math.MaxFloat32), fb(2), 0, fb(math.MaxFloat32)},
		{"mul.ftz.f32 d, a, b", tiny, fb(1), 0, 0},
		{"add.ftz.sat.f32 d, a, b", 0x00c00000, 0x80800000, 0, 0},
		{"mul.rn.ftz.sat.f32 d, a, b", 0x2e3b7ecc, 0x0e43094e, 0, 0},
		{"fma.rz.ftz.sat.f32 d, a, b, c", 0x2e3b7ecc, 0x0e43094e, 0, 0},
		{"add.ftz.sat.f16 hd, ha, hb", 0x0600, 0x8400, 0, 0},
		{"mul.f32 d, a, b", tiny, fb(1), 0, tiny},
		{"add.sat.f32 d, a, b", fb(1), fb(1), 0, fb(1)},
		{"add.sat.f32 d, a, b", nan, fb(1), 0, 0},
		{"add.f32 d, a, b", nan, fb(1), 0, 0x7fffffff},
		{"div.rn.f32 d, a, b", fb(1), fb(3), 0, 0x3eaaaaab},
		{"div.rz.f32 d, a, b", fb(1), fb(3), 0, 0x3eaaaaaa},
		{"div.full.f32 d, a, b", fb(1), fb(3), 0, 0x3eaaaaab},
		{"div.approx.ftz.f32 d, a, b", fb(6), fb(3), 0, fb(2)},
		{"div.approx.f32 d, a, b", fb(0x1p127), fb(0x1p126), 0, fb(2)},
		{"div.approx.f32 d, a, b", fb(0x1p127), fb(0x1.8p126), 0, 0},
		{"div.approx.ftz.f32 d, a, b", fb(-0x1p127), fb(0x1p127), 0, 1 << 31},
		{"div.approx.f32 d, a, b", 0x7f800000, fb(0x1p127), 0, 0x7fffffff},
		{"div.approx.f32 d, a, b", fb(1), 0xff800000, 0, 1 << 31},
		{"div.full.f32 d, a, b", fb(0x1p127), fb(0x1p127), 0, fb(1)},
		{"fma.rn.f32 d, a, b, c", fb(1 + 0x1p-12), fb(1 + 0x1p-12), fb(0x1p-60), fb(1 + 0x1p-11 + 0x1p-23)},
		{"fma.rz.f32 d, a, b, c", fb(1), fb(1), fb(-0x1p-80), 0x3f7fffff},
		{"fma.rm.f32 d, a, b, c", fb(1), fb(1), fb(-1), min32},
		{"min.f32 d, a, b", nan, fb(1), 0, fb(1)},
		{"min.NaN.f32 d, a, b", nan, fb(1), 0, 0x7fffffff},
		{"min.f32 d, a, b", 0, min32, 0, min32},
		{"max.f32 d, a, b", min32, 0, 0, 0},
		{"max.xorsign.abs.f32 d, a, b", fb(-3), fb(2), 0, fb(-3)},
		{"abs.f32 d, a", fb(-3), 0, 0, fb(3)},
		{"neg.f32 d, a", fb(3), 0, 0, fb(-3)},
		{"copysign.f32 d, a, b", fb(-3), fb(2), 0, fb(-2)},
		{"rcp.rn.f32 d, a", fb(3), 0, 0, 0x3eaaaaab},
		{"rcp.rz.f32 d, a", fb(3), 0, 0, 0x3eaaaaaa},
		{"rcp.approx.ftz.f32 d, a", tiny, 0, 0, 0x7f800000},
		{"sqrt.rn.f32 d, a", fb(2), 0, 0, fb(math.Sqrt2)},
		{"sqrt.rp.f32 d, a", fb(2), 0, 0, 0x3fb504f4},
		{"rsqrt.approx.f32 d, a", fb(4), 0, 0, fb(0.5)},
		{"ex2.approx.f32 d, a", fb(-3), 0, 0, fb(0.125)},
		{"ex2.approx.ftz.f32 d, a", 0xff800000, 0, 0, 0},
		{"lg2.approx.f32 d, a", fb(8), 0, 0, fb(3)},
		{"lg2.approx.f32 d, a", 0, 0, 0, 0xff800000},
		{"sin.approx.f32 d, a", fb(0.5), 0, 0, fb(float32(math.Sin(0.5)))},
		{"cos.approx.f32 d, a", 0, 0, 0, fb(1)},
		{"tanh.approx.f32 d, a", fb(20), 0, 0, fb(1)},
		{"add.rn.f64 D, A, B", db(1), db(2), 0, db(3)},
		{"add.rp.f64 D, A, B", db(1), db(0x1p-200), 0, db(1) + 1},
		{"mul.rz.f64 D, A, B", db(math.MaxFloat64), db(2), 0, db(math.MaxFloat64)},
		{"div.rm.f64 D, A, B", db(1), db(3), 0, db(1.0 / 3)},
		{"div.rp.f64 D, A, B", db(1), db(3), 0, db(1.0/3) + 1},
		{"sqrt.rz.f64 D, A", db(2), 0, 0, db(math.Sqrt2) - 1},
		{"fma.rn.f64 D, A, B, C", db(1 + 0x1p-30), db(1 - 0x1p-30), db(-1), db(-0x1p-60)},
		{"fma.rm.f64 D, A, B, C", db(1), db(1), db(-1), 1 << 63},
		{"max.f64 D, A, B", db(1), db(math.NaN()), 0, db(1)},
		{"add.rn.f16 hd, ha, hb", 0x3c00, 0x1000, 0, 0x3c00},
		{"add.rn.f16x2 d, a, b", 0x3c003c00, 0x3c004000, 0, 0x40004200},
		{"mul.rn.bf16 hd, ha, hb", 0x4040, 0x4040, 0, 0x4110},
		{"fma.rn.bf16x2 d, a, b, c", 0x40404040, 0x40404040, 0x3f803f80, 0x41204120},
		{"fma.rn.relu.f16 hd, ha, hb, hc", 0xbc00, 0x3c00, 0, 0},
		{"fma.rn.f16 hd, ha, hb, hc", 0x3c01, 0x3c01, 0x0001, 0x3c02},
		{"min.f16x2 d, a, b", 0x3c007e00, 0xbc003c00, 0, 0xbc003c00},
		{"max.NaN.bf16 hd, ha, hb", 0x7fc0, 0x3f80, 0, 0x7fff},
		{"neg.f16x2 d, a", 0x3c00bc00, 0, 0, 0xbc003c00},
		{"abs.bf16x2 d, a", 0xbf80bf80, 0, 0, 0x3f803f80},
		{"ex2.approx.f16x2 d, a", 0x3c004000, 0, 0, 0x40004400},
		{"tanh.approx.bf16 hd, ha", 0, 0, 0, 0},
	})
}

// TestFmaRoundsOnce compares f32 fma with exact arithmetic, on operands that make double rounding likely.
func TestFmaRoundsOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200000 {
		a := math.Float32frombits(uint32(r.Uint64())&0xfff | uint32(90+r.IntN(80))<<23)
		b := math.Float32frombits(uint32(r.Uint64())&0xfff | uint32(90+r.IntN(80))<<23)
		c := math.Float32frombits(uint32(r.Uint64())&0x80000fff | uint32(60+r.IntN(120))<<23)
		x := new(big.Float).SetPrec(400).SetFloat64(float64(a))
		x.Mul(x, new(big.Float).SetFloat64(float64(b))).Add(x, new(big.Float).SetFloat64(float64(c)))
		want, _ := x.Float32()
		if got := fma32(a, b, c); got != want {
			t.Fatalf("fma(%x, %x, %x) = %x, want %x", a, b, c, got, want)
		}
	}
}

// TestSmallFormatsRound checks every mode against exact arithmetic: the result is one of the two
// neighbours, the one that the mode asks for.
func TestSmallFormatsRound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{"f16", "bf16", "e5m2", "e4m3", "e2m1", "tf32"} {
		f := formats[name]
		// Every value of the format, in order: position in this list is the code of the magnitude.
		var values []float64
		for code := uint32(0); code <= f.max; code++ {
			values = append(values, f.value(code<<f.low))
		}
		for range 20000 {
			i := r.IntN(len(values) - 1)
			lo, hi := values[i], values[i+1]
			x := lo + (hi-lo)*float64(r.IntN(9))/8
			neg := r.IntN(2) == 1
			frac := (x - lo) / (hi - lo)
			for mode, up := range map[rnd]bool{
				rn: frac > 0.5 || frac == 0.5 && i&1 == 1, rna: frac >= 0.5, rz: false,
				rp: frac > 0 && !neg, rm: frac > 0 && neg,
			} {
				want := uint32(i)
				if up || x == hi {
					want++
				}
				v := x
				if neg {
					v = -x
					want |= 1 << (f.ebits + f.mbits)
				}
				if got := f.round(v, mode, false); got != want<<f.low {
					t.Fatalf("%s: round(%x, mode %d) = %#x, want %#x", name, v, mode, got, want<<f.low)
				}
			}
		}
	}
}

func TestConversions(t *testing.T) {
	checkCases(t, []evalCase{
		{"cvt.s64.s32 D, a", minus1, 0, 0, math.MaxUint64},
		{"cvt.u64.u32 D, a", minus1, 0, 0, minus1},
		{"cvt.s32.s8 d, a", 0x180, 0, 0, 0xffffff80},
		{"cvt.u32.u8 d, a", 0x180, 0, 0, 0x80},
		{"cvt.s8.s32 d, a", 0x80, 0, 0, 0xffffff80},
		{"cvt.sat.s8.s32 d, a", 300, 0, 0, 127},
		{"cvt.sat.u8.s32 d, a", minus1, 0, 0, 0},
		{"cvt.sat.u16.u32 hd, a", 0x12345, 0, 0, 0xffff},
		{"cvt.rzi.s32.f32 d, a", fb(-2.7), 0, 0, 0xfffffffe},
		{"cvt.rni.s32.f32 d, a", fb(2.5), 0, 0, 2},
		{"cvt.rmi.s32.f32 d, a", fb(-2.1), 0, 0, 0xfffffffd},
		{"cvt.rpi.s32.f32 d, a", fb(2.1), 0, 0, 3},
		{"cvt.rzi.s32.f32 d, a", fb(3e9), 0, 0, 0x7fffffff},
		{"cvt.rzi.u32.f32 d, a", fb(-1), 0, 0, 0},
		{"cvt.rzi.s32.f32 d, a", 0x7fc00000, 0, 0, 0},
		{"cvt.rzi.s64.f32 D, a", 0x7fc00000, 0, 0, 1 << 63},
		{"cvt.rzi.u64.f64 D, A", db(1e30), 0, 0, math.MaxUint64},
		{"cvt.rzi.s8.f32 d, a", fb(-200), 0, 0, 0xffffff80},
		{"cvt.rn.f32.s32 d, a", 0x7fffffff, 0, 0, fb(0x1p31)},
		{"cvt.rz.f32.s32 d, a", 0x7fffffff, 0, 0, 0x4effffff},
		{"cvt.rn.f32.u64 d, A", 1<<63 | 1<<39, 0, 0, fb(0x1p63)},
		{"cvt.rn.f32.u64 d, A", 1<<63 | 1<<39 | 1, 0, 0, 0x5f000001},
		{"cvt.rn.f64.s64 D, A", math.MaxUint64, 0, 0, db(-1)},
		{"cvt.rp.f64.u64 D, A", 1<<63 + 1, 0, 0, db(0x1p63) + 1},
		{"cvt.rn.f16.s32 hd, a", 70000, 0, 0, 0x7c00},
		{"cvt.rn.f16.f32 hd, a", fb(65520), 0, 0, 0x7c00},
		{"cvt.rn.f16.f32 hd, a", fb(65519), 0, 0, 0x7bff},
		{"cvt.rz.f16.f32 hd, a", fb(70000), 0, 0, 0x7bff},
		{"cvt.rn.relu.f16.f32 hd, a", fb(-3), 0, 0, 0},
		{"cvt.f32.f16 d, ha", 0x0001, 0, 0, fb(0x1p-24)},
		{"cvt.f32.f16 d, ha", 0xfc00, 0, 0, 0xff800000},
		{"cvt.rn.bf16.f32 hd, a", 0x3f808000, 0, 0, 0x3f80},
		{"cvt.rn.bf16.f32 hd, a", 0x3f818000, 0, 0, 0x3f82},
		{"cvt.f32.bf16 d, ha", 0x3f80, 0, 0, fb(1)},
		{"cvt.rn.bf16x2.f32 d, a, b", fb(1), fb(2), 0, 0x3f804000},
		{"cvt.rn.f16x2.f32 d, a, b", fb(1), fb(2), 0, 0x3c004000},
		{"cvt.rn.f32.f64 d, A", db(1 + 0x1p-24 + 0x1p-50), 0, 0, 0x3f800001},
		{"cvt.f64.f32 D, a", fb(1.5), 0, 0, db(1.5)},
		{"cvt.rni.f32.f32 d, a", fb(2.5), 0, 0, fb(2)},
		{"cvt.rmi.f32.f32 d, a", fb(-2.5), 0, 0, fb(-3)},
		{"cvt.sat.f32.f32 d, a", fb(2.5), 0, 0, fb(1)},
		{"cvt.ftz.f64.f32 D, a", 1, 0, 0, 0},
		{"cvt.rn.tf32.f32 d, a", 0x3f801000, 0, 0, 0x3f800000},
		{"cvt.rna.tf32.f32 d, a", 0x3f801000, 0, 0, 0x3f802000},
		{"cvt.rn.satfinite.e4m3x2.f32 hd, a, b", fb(1), fb(1000), 0, 0x387e},
		{"cvt.rn.satfinite.e5m2x2.f32 hd, a, b", fb(1), fb(-2), 0, 0x3cc0},
		{"cvt.rn.f16x2.e4m3x2 d, ha", 0x387e, 0, 0, 0x3c005f00},
		{"cvt.rn.f16x2.e5m2x2 d, ha", 0x3cc0, 0, 0, 0x3c00c000},
		{"cvt.rn.satfinite.e4m3x2.f16x2 hd, a", 0x3c005f00, 0, 0, 0x387e},
		// A power of two of 8 bits has no infinity and no zero: what is beyond becomes the largest, 0xFE, and the smallest (PTX ISA, cvt).
		{"cvt.rz.satfinite.ue8m0x2.f32 hd, a, b", 0, fb(float32(math.Inf(1))), 0, 0x00fe},
		{"cvt.rp.satfinite.ue8m0x2.f32 hd, a, b", fb(3), fb(float32(math.NaN())), 0, 0x81ff},
		{"cvt.pack.sat.u8.s32.b32 d, a, b, c", 300, minus1, 0x1234, 0x1234ff00},
		{"cvt.pack.sat.s16.s32 d, a, b", 5, 100000, 0, 0x00057fff},
	})
}
