package cuda

import (
	"context"
	"encoding/binary"
	"testing"

	"tileiras/runtime/cases"
)

// addPTX adds k to n integers, one per thread, and uses dynamic shared memory.
const addPTX = `
.version 7.0
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 space[];
.visible .entry add(.param .u64 p, .param .u32 n, .param .u32 k)
{
	.reg .pred %q;
	.reg .b32 %r<6>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	ld.param.u32 %r2, [k];
	mov.u32 %r3, %tid.x;
	setp.ge.u32 %q, %r3, %r1;
	@%q ret;
	mov.u32 %r4, space;
	shl.b32 %r5, %r3, 2;
	add.u32 %r4, %r4, %r5;
	st.shared.u32 [%r4], %r2;
	ld.shared.u32 %r2, [%r4];
	cvta.to.global.u64 %rd2, %rd1;
	mul.wide.u32 %rd3, %r3, 4;
	add.s64 %rd2, %rd2, %rd3;
	ld.global.u32 %r4, [%rd2];
	add.u32 %r4, %r4, %r2;
	st.global.u32 [%rd2], %r4;
	ret;
}
`

func TestARealGPURunsAKernel(t *testing.T) {
	d, err := Open("")
	if err != nil {
		t.Skipf("only the fake driver was tested: %v", err)
	}
	c, err := d.Context(0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	i32, err := cases.DTypeByName("i32")
	if err != nil {
		t.Fatal(err)
	}
	m := &Machine{Context: c, Compile: func(context.Context, *cases.Launch) (*Image, error) {
		return &Image{Code: []byte(addPTX), Threads: 128, Shared: c.Device.SharedOptin, ParamBytes: []int{8, 4, 4}}, nil
	}}
	before := make([]byte, 4*100)
	out, err := m.Launch(context.Background(), &cases.Launch{
		Kernel: "add", Grid: [3]int{1, 1, 1},
		Buffers: []cases.LaunchBuffer{{Name: "x", Bytes: before, Align: cases.Align}},
		Params:  []cases.LaunchParam{{Buffer: 0}, {Type: i32, Bits: 99}, {Type: i32, Bits: 7}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		want := uint32(7)
		if i == 99 {
			want = 0
		}
		if got := binary.LittleEndian.Uint32(out.Buffers[0][4*i:]); got != want {
			t.Fatalf("element %d on %s: got %d, want %d", i, c.Device.Name, got, want)
		}
	}
}
