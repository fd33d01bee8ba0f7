package emu

import (
	"context"
	"strconv"
	"strings"
	"testing"
)

// loopKernel is the inner loop of a typical kernel: address arithmetic, a global load, shared memory with
// a barrier, float arithmetic, a compare and a branch.
var loopKernel = header + `.visible .entry k(.param .u64 p, .param .u32 n)
.reqntid 128
{
	.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<8>; .reg .f32 %f<8>;
	.shared .align 16 .b8 sm[1024];
	ld.param.u64 %rd0, [p];
	ld.param.u32 %r1, [n];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %rd1, %r0, 4;
	add.s64 %rd1, %rd0, %rd1;
	shl.b32 %r2, %r0, 2;
	mov.u32 %r3, sm;
	add.s32 %r3, %r3, %r2;
	xor.b32 %r4, %r2, 64;
	mov.u32 %r5, sm;
	add.s32 %r4, %r4, %r5;
	mov.b32 %r6, 0;
	mov.f32 %f0, 0f3F800000;
LOOP:
	ld.global.f32 %f1, [%rd1];
	fma.rn.f32 %f0, %f1, %f0, %f1;
	mul.rn.f32 %f2, %f0, %f1;
	st.shared.f32 [%r3], %f2;
	bar.sync 0;
	ld.shared.f32 %f3, [%r4];
	add.rn.f32 %f0, %f0, %f3;
	and.b32 %r7, %r6, 7;
	shl.b32 %r8, %r7, 3;
	cvt.rn.f32.s32 %f4, %r8;
	max.f32 %f0, %f0, %f4;
	bar.sync 0;
	add.s32 %r6, %r6, 1;
	setp.lt.s32 %p1, %r6, %r1;
	@%p1 bra LOOP;
	st.global.f32 [%rd1], %f0;
	ret;
}
`

// BenchmarkLoop reports lane instructions a second with all checks on.
func BenchmarkLoop(b *testing.B) {
	m, err := Parse("loop.ptx", loopKernel)
	if err != nil {
		b.Fatal(err)
	}
	var n int64
	for b.Loop() {
		mem := NewMemory()
		a := mem.Alloc("buf", make([]byte, 512), 256)
		res, err := m.Run(context.Background(), "k", mem, []Arg{le64(a), {0xe8, 3, 0, 0}}, Options{Grid: [3]int{1, 1, 1}})
		if err != nil {
			b.Fatal(err)
		}
		n += res.Stats.LaneInstrs
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mlane/s")
}

// BenchmarkManyBlocks runs a grid of small blocks that read and write their part of memory.
func BenchmarkManyBlocks(b *testing.B) {
	m, err := Parse("blocks.ptx", header+`.visible .entry k(.param .u64 p)
.reqntid 128
{
	.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>;
	.shared .align 16 .b8 sm[4096];
	ld.param.u64 %rd0, [p];
	mov.u32 %r0, %tid.x;
	mov.u32 %r1, %ctaid.x;
	mad.lo.s32 %r2, %r1, 128, %r0;
	mul.wide.u32 %rd1, %r2, 16;
	add.s64 %rd1, %rd0, %rd1;
	ld.global.v4.f32 {%f0,%f1,%f2,%f3}, [%rd1+16];
	ld.global.f32 %f4, [%rd0];
	add.rn.f32 %f0, %f1, %f4;
	fma.rn.f32 %f1, %f2, %f3, %f0;
	bar.sync 0;
	st.global.v4.f32 [%rd1+16], {%f0,%f1,%f2,%f3};
	ret;
}
`)
	if err != nil {
		b.Fatal(err)
	}
	const blocks = 4096
	var n int64
	for b.Loop() {
		mem := NewMemory()
		a := mem.Alloc("buf", make([]byte, blocks*128*16+16), 256)
		res, err := m.Run(context.Background(), "k", mem, []Arg{le64(a)}, Options{Grid: [3]int{blocks, 1, 1}})
		if err != nil {
			b.Fatal(err)
		}
		n += res.Stats.LaneInstrs
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mlane/s")
}

// mmaKernel is the inner loop of a matrix product: ldmatrix and mma.sync.
var mmaKernel = header + `.visible .entry k(.param .u64 p, .param .u32 n)
.reqntid 128
{
	.reg .pred %p<4>; .reg .b32 %r<40>; .reg .b64 %rd<8>; .reg .f32 %f<20>;
	.shared .align 16 .b8 sm[4096];
	ld.param.u64 %rd0, [p];
	ld.param.u32 %r1, [n];
	mov.u32 %r0, %tid.x;
	shl.b32 %r2, %r0, 4;
	mov.u32 %r3, sm;
	add.s32 %r3, %r3, %r2;
	cvt.u64.u32 %rd1, %r2;
	add.s64 %rd1, %rd0, %rd1;
	cp.async.cg.shared.global [%r3], [%rd1], 16;
	cp.async.cg.shared.global [%r3+2048], [%rd1], 16;
	cp.async.commit_group;
	cp.async.wait_group 0;
	bar.sync 0;
	mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
	mov.f32 %f4, %f0; mov.f32 %f5, %f0; mov.f32 %f6, %f0; mov.f32 %f7, %f0;
	mov.b32 %r6, 0;
LOOP:
	ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, [%r3];
	ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r14,%r15,%r16,%r17}, [%r3+2048];
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r10,%r11,%r12,%r13},{%r14,%r15},{%f0,%f1,%f2,%f3};
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4,%f5,%f6,%f7},{%r10,%r11,%r12,%r13},{%r16,%r17},{%f4,%f5,%f6,%f7};
	add.s32 %r6, %r6, 1;
	setp.lt.s32 %p1, %r6, %r1;
	@%p1 bra LOOP;
	st.global.v4.f32 [%rd1], {%f0,%f1,%f2,%f3};
	ret;
}
`

// BenchmarkMma reports matrix instructions a second.
func BenchmarkMma(b *testing.B) {
	m, err := Parse("mma.ptx", mmaKernel)
	if err != nil {
		b.Fatal(err)
	}
	var n int64
	for b.Loop() {
		mem := NewMemory()
		a := mem.Alloc("buf", make([]byte, 2048), 256)
		res, err := m.Run(context.Background(), "k", mem, []Arg{le64(a), {0xe8, 3, 0, 0}}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		n += res.Stats.Mma
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mmma/s")
}

// ringKernel is mmaKernel with a copy of the next tile in every round, as a pipelined loop has it.
var ringKernel = strings.NewReplacer("LOOP:\n", `LOOP:
	cp.async.cg.shared.global [%r3], [%rd1], 16;
	cp.async.cg.shared.global [%r3+2048], [%rd1], 16;
	cp.async.commit_group;
	cp.async.wait_group 0;
	bar.sync 0;
`, "	@%p1 bra LOOP;", "	bar.sync 0;\n	@%p1 bra LOOP;").Replace(mmaKernel)

// BenchmarkRing reports rounds a second of four warps.
func BenchmarkRing(b *testing.B) {
	m, err := Parse("ring.ptx", ringKernel)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		mem := NewMemory()
		a := mem.Alloc("buf", make([]byte, 2048), 256)
		if _, err := m.Run(context.Background(), "k", mem, []Arg{le64(a), {0xe8, 3, 0, 0}}, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(1000*b.N)/b.Elapsed().Seconds()/1e3, "krounds/s")
}

// BenchmarkWgmma reports millions of multiplications a second of wgmma m64n256k16, every operand in shared memory.
func BenchmarkWgmma(b *testing.B) {
	regs := make([]string, 128)
	for i := range regs {
		regs[i] = "%f" + strconv.Itoa(i)
	}
	m, err := Parse("wgmma.ptx", strings.Replace(header, "sm_80", "sm_90a", 1)+`.visible .entry k(.param .u64 p)
.reqntid 128
{
	.reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<128>;
	.shared .align 1024 .b8 sm[16384];
	mov.u32 %r1, %tid.x; mov.u32 %r2, sm; mad.lo.u32 %r2, %r1, 16, %r2; mov.b32 %r3, 0; mov.u32 %r4, 0;
CLEAR:
	st.shared.v4.b32 [%r2], {%r3, %r3, %r3, %r3};
	add.u32 %r2, %r2, 2048; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 8;
	@%p1 bra CLEAR;
	fence.proxy.async.shared::cta;
	bar.sync 0;
	mov.b64 %rd1, 0x8000002000010000; mov.b64 %rd2, 0x8000002000010000; mov.u32 %r4, 0; mov.pred %p2, 0;
	wgmma.fence.sync.aligned;
LOOP:
	wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {`+strings.Join(regs, ",")+`}, %rd1, %rd2, %p2, 1, 1, 0, 0;
	mov.pred %p2, 1; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 100;
	@%p1 bra LOOP;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 0;
	ret;
}
`)
	if err != nil {
		b.Fatal(err)
	}
	var n int64
	for b.Loop() {
		mem := NewMemory()
		res, err := m.Run(context.Background(), "k", mem, []Arg{le64(0)}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		n += res.Stats.Mma
	}
	b.ReportMetric(float64(n*64*256*16)/b.Elapsed().Seconds()/1e6, "MMAC/s")
}

// BenchmarkMultiplications does nothing but the multiplications of a m64n256k16: what BenchmarkWgmma is held against.
func BenchmarkMultiplications(b *testing.B) {
	work := new(wgmmaScratch)
	for b.Loop() {
		for range 100 {
			for block := range work.c {
				for row := range 64 {
					addRow(&work.c[block][row&15], work.a[row*32:][:16], work.b[block][:16])
				}
			}
		}
	}
	b.ReportMetric(float64(b.N)*100*64*256*16/b.Elapsed().Seconds()/1e6, "MMAC/s")
}
