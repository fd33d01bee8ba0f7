package main

import (
	"encoding/binary"
	"math"
	"testing"

	"tileiras/runtime/cases"
)

const tileKernel = `.version 9.5
.target sm_90a
.address_size 64
.visible .global .align 8 .b8 ___NV_TILE_LAUNCH_META_DATA___[64];
.visible .entry k(
.param .u64 .ptr .global .align 1 k_param_0,
.hidden	.param .align 64 .b8 k_param_1[128],
.hidden	.param .u64 .ptr .global .align 1 k_param_2
)
.reqntid 256
.minnctapersm 1
.minperctamemory 512
.language 7
{
.reg .b32 	%r<9>;
.shared .align 128 .b8 global_smem_k[213128];
mov.u32 	%r1, %clusterid.x;
mov.u64 	%rd2, %perctamemoryoffset;
}
`

const ordinaryKernel = `.version 9.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 global_smem_k[];
.visible .entry k(
.param .u64 .ptr .global .align 1 k_param_0,
.param .align 64 .b8 k_param_1[128],
.param .u64 .ptr .global .align 1 k_param_2
)
.reqntid 256
.minnctapersm 1
{
.reg .b32 	%r<9>;
mov.u32 	%r1, %ctaid.x;
mov.u64 	%rd2, 0;
}
`

func TestTileKernelsBecomeOrdinaryOnes(t *testing.T) {
	if text, shared := plainEntry(tileKernel); text != ordinaryKernel || shared != 213128 {
		t.Errorf("%d bytes of shared memory, %s", shared, text)
	}
}

func TestDistanceIsThatOfNorms(t *testing.T) {
	f32, err := cases.DTypeByName("f32")
	if err != nil {
		t.Fatal(err)
	}
	array := func(v ...float32) (b []byte) {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		got, want []byte
		distance  float64
		strange   int
	}{
		{array(3, 4), array(3, 4), 0, 0},
		{array(3, 5), array(0, 5), 0.6, 0},
		{array(nan, 1, inf), array(nan, 1, inf), 0, 0},
		{array(nan, inf, -inf, 1), array(1, 1, inf, 1), 0, 3},
		{array(2), array(0), 2, 0}, // nothing to be relative to
	} {
		if d, n := relativeDistance(f32, c.got, c.want); math.Abs(d-c.distance) > 1e-12 || n != c.strange {
			t.Errorf("%v and %v: %g, %d elements; want %g, %d", c.got, c.want, d, n, c.distance, c.strange)
		}
	}
}

func TestACodeThatDidNotEndIsNotBegunAgain(t *testing.T) {
	done := []result{{Kernel: "a", Peer: "ours", As: 90, State: launching}, {Kernel: "a", Peer: "ours", As: 90, State: launched}, {Kernel: "a", Peer: "nvidia", As: 90, State: launching}}
	for _, c := range []struct {
		peer, want string
	}{{"ours", launched}, {"nvidia", launching}, {"hinted", ""}} {
		if got := state(done, &code{Kernel: "a", Peer: c.peer, As: 90}); got != c.want {
			t.Errorf("%s: %q, want %q", c.peer, got, c.want)
		}
	}
}
