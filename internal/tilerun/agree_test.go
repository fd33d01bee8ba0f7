package tilerun_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"strconv"
	"strings"
	"testing"

	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// agree runs @k of a text on the interpreter and, compiled for a GPU, on the emulator under every schedule. Its parameters are the
// buffers and then 32-bit integers. It returns the buffers afterwards, which must be the same everywhere.
func agree(t *testing.T, gpu, text string, buffers [][]byte, ints ...uint64) [][]byte {
	t.Helper()
	return agreeOn(t, gpu, text, [3]int{1, 1, 1}, buffers, ints...)
}

// agreeOn is agree on a grid.
func agreeOn(t *testing.T, gpu, text string, grid [3]int, buffers [][]byte, ints ...uint64) [][]byte {
	t.Helper()
	l := &cases.Launch{Bytecode: []byte(text), Kernel: "k", Grid: grid}
	for i, b := range buffers {
		l.Buffers = append(l.Buffers, cases.LaunchBuffer{Name: string(rune('a' + i)), Bytes: b, Align: cases.Align})
		l.Params = append(l.Params, cases.LaunchParam{Buffer: i})
	}
	i32, err := cases.DTypeByName("i32")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range ints {
		l.Params = append(l.Params, cases.LaunchParam{Type: i32, Bits: n})
	}
	want, err := (&tilerun.Interpreter{}).Launch(context.Background(), l)
	if err != nil {
		t.Fatal(err)
	}
	for _, schedule := range emu.Schedules {
		got, err := (&tilerun.Emulator{GPU: gpu, Code: driver.Code{Opt: 3}, Schedule: schedule}).Launch(context.Background(), l)
		if err != nil {
			t.Fatalf("%s: %v", schedule, err)
		}
		for i := range buffers {
			if !bytes.Equal(got.Buffers[i], want.Buffers[i]) {
				t.Fatalf("%s: buffer %d is\n%x, the interpreter has\n%x", schedule, i, got.Buffers[i], want.Buffers[i])
			}
		}
	}
	return want.Buffers
}

// Values loaded from ordinary memory are stored to multicast memory, in every width, whole and ragged, weak and released.
func TestMultimemStore(t *testing.T) {
	const text = `cuda_tile.module @m {
entry @k(%p: tile<ptr<T>>, %q: tile<ptr<T, <multicast>>>, %n: tile<i32>) {
  %m = assume div_by<DIV>, %n : tile<i32>
  %a = assume div_by<16>, %p : tile<ptr<T>>
  %b = assume div_by<16>, %q : tile<ptr<T, <multicast>>>
  %0 = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [%m], strides = [1] : tile<ptr<T>>, tile<i32> -> tensor_view<?xT, strides=[1]>
  %w = make_tensor_view %b, shape = [%m], strides = [1] : tile<ptr<T, <multicast>>>, tile<i32> -> tensor_view<?xT, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %pv = make_partition_view %v : partition_view<tile=(64), tensor_view<?xT, strides=[1]>>
  %pw = make_partition_view %w : partition_view<tile=(64), tensor_view<?xT, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  %x, %t = load_view_tko weak %pv[%0] : partition_view<tile=(64), tensor_view<?xT, strides=[1]>>, tile<i32> -> tile<64xT>, token
  %s = multimem_store_view_tko ORDER %pw, %x[%0] token = %t  : partition_view<tile=(64), tensor_view<?xT, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<64xT>, tile<i32>, token -> token
  return
}
}`
	for _, c := range []struct {
		elem, order string
		bytes, n    int // of an element; elements inside the array, a multiple of which the kernel knows the largest power of two
	}{
		{"f32", "weak", 4, 64}, {"f32", "release sys", 4, 52}, {"i32", "relaxed device", 4, 33},
		{"f64", "weak", 8, 35}, {"i64", "relaxed sys", 8, 64},
		{"f16", "relaxed sys", 2, 64}, {"bf16", "weak", 2, 38},
	} {
		for _, gpu := range []string{"sm_90", "sm_100"} {
			t.Run(gpu+" "+c.elem+" "+c.order, func(t *testing.T) {
				src := strings.NewReplacer("ORDER", c.order, "DIV", strconv.Itoa(min(c.n&-c.n, 16)), "xT", "x"+c.elem, "<T", "<"+c.elem).Replace(text)
				in := make([]byte, 64*c.bytes)
				for i := range in {
					in[i] = byte(i*7%61 + 1)
				}
				out := agree(t, gpu, src, [][]byte{in, make([]byte, len(in))}, uint64(c.n))
				want := append(bytes.Clone(in[:c.n*c.bytes]), make([]byte, (64-c.n)*c.bytes)...)
				if !bytes.Equal(out[1], want) {
					t.Errorf("stored\n%x, want\n%x", out[1], want)
				}
			})
		}
	}
}

// A store that a token puts after another one waits for it, when other threads made that one.
func TestMultimemStoresFollowTokens(t *testing.T) {
	const text = `cuda_tile.module @m {
entry @k(%p: tile<ptr<i32, <multicast>>>) {
  %a = assume div_by<16>, %p : tile<ptr<i32, <multicast>>>
  %0 = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [1024], strides = [1] : tile<ptr<i32, <multicast>>> -> tensor_view<1024xi32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_tensor_view %a, shape = [32, 32], strides = [1, 32] : tile<ptr<i32, <multicast>>> -> tensor_view<32x32xi32, strides=[1,32], #cuda_tile.ptr_attr<multicast>>
  %pv = make_partition_view %v : partition_view<tile=(1024), tensor_view<1024xi32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  %pw = make_partition_view %w : partition_view<tile=(8x32), tensor_view<32x32xi32, strides=[1,32], #cuda_tile.ptr_attr<multicast>>>
  %x = iota : tile<1024xi32>
  %y = constant <i32: -1> : tile<8x32xi32>
  %s = multimem_store_view_tko weak %pv, %x[%0]  : partition_view<tile=(1024), tensor_view<1024xi32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<1024xi32>, tile<i32> -> token
  %t = multimem_store_view_tko weak %pw, %y[%0, %0] token = %s  : partition_view<tile=(8x32), tensor_view<32x32xi32, strides=[1,32], #cuda_tile.ptr_attr<multicast>>>, tile<8x32xi32>, tile<i32>, token -> token
  return
}
}`
	out := agree(t, "sm_100", text, [][]byte{make([]byte, 4096)})
	for i := range 1024 {
		want := int32(i)
		if i%32 < 8 {
			want = -1
		}
		if got := int32(binary.LittleEndian.Uint32(out[0][4*i:])); got != want {
			t.Fatalf("element %d is %d, want %d", i, got, want)
		}
	}
}

// Reductions of multicast memory, whose value comes back by loads that reduce over the copies, of which here is one.
func TestMultimemReductions(t *testing.T) {
	const text = `cuda_tile.module @m {
entry @k(%p: tile<ptr<T, <multicast>>>, %q: tile<ptr<T, <multicast>>>, %n: tile<i32>) {
  %m = assume div_by<DIV>, %n : tile<i32>
  %a = assume div_by<16>, %p : tile<ptr<T, <multicast>>>
  %b = assume div_by<16>, %q : tile<ptr<T, <multicast>>>
  %0 = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [%m], strides = [1] : tile<ptr<T, <multicast>>>, tile<i32> -> tensor_view<?xT, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_tensor_view %b, shape = [%m], strides = [1] : tile<ptr<T, <multicast>>>, tile<i32> -> tensor_view<?xT, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %pv = make_partition_view %v : partition_view<tile=(512), padding_value = zero, tensor_view<?xT, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  %pw = make_partition_view %w : partition_view<tile=(512), padding_value = zero, tensor_view<?xT, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  %x, %t = multimem_load_reduce_view_tko LOAD %pv[%0]  LOADKIND: partition_view<tile=(512), padding_value = zero, tensor_view<?xT, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<512xT>, token
  %t1 = multimem_reduce_view_tko RED %pw, %x[%0] token = %t  REDKIND: partition_view<tile=(512), padding_value = zero, tensor_view<?xT, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<512xT>, tile<i32>, token -> token
  %y, %t2 = multimem_load_reduce_view_tko LOAD %pw[%0] token = %t1  LOADKIND: partition_view<tile=(512), padding_value = zero, tensor_view<?xT, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32>, token -> tile<512xT>, token
  %t3 = multimem_reduce_view_tko RED %pw, %y[%0] token = %t2  REDKIND: partition_view<tile=(512), padding_value = zero, tensor_view<?xT, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<512xT>, tile<i32>, token -> token
  return
}
}`
	kind := func(name string) string {
		if name == "add" {
			return "" // which is not written
		}
		return "attributes {reduction = #cuda_tile.multimem_reduction_kind<" + name + ">} "
	}
	for _, c := range []struct {
		elem, load, loadKind, red, redKind string
		bytes, n                           int
		ptx                                string // an instruction that must be there
	}{
		{"f32", "weak", "add", "relaxed sys", "add", 4, 512, "multimem.ld_reduce.global.add.v4.f32"},
		{"f32", "acquire sys", "add", "release sys", "add", 4, 437, "multimem.red.release.sys.global.add.f32"},
		{"f16", "relaxed device", "max", "relaxed device", "add", 2, 512, "multimem.red.relaxed.gpu.global.add.v2.f16x2"},
		{"bf16", "weak", "min", "release sys", "add", 2, 290, "multimem.red.release.sys.global.add.bf16x2"},
		{"f64", "relaxed sys", "add", "relaxed sys", "add", 8, 402, "multimem.red.relaxed.sys.global.add.f64"},
		{"i32", "weak", "and", "relaxed sys", "umin", 4, 512, "multimem.red.relaxed.sys.global.min.u32"},
		{"i64", "weak", "umax", "relaxed tl_blk", "max", 8, 512, "multimem.red.relaxed.cta.global.max.s64"},
		{"i32", "relaxed sys", "min", "relaxed sys", "xor", 4, 11, "multimem.ld_reduce.relaxed.sys.global.min.s32"},
		{"i64", "weak", "or", "release device", "add", 8, 512, "multimem.ld_reduce.global.or.b64"},
	} {
		t.Run(c.elem+" "+c.loadKind+" "+c.redKind, func(t *testing.T) {
			src := strings.NewReplacer("LOADKIND", kind(c.loadKind), "REDKIND", kind(c.redKind), "LOAD", c.load, "RED", c.red,
				"DIV", strconv.Itoa(min(c.n&-c.n, 16)), "xT", "x"+c.elem, "<T", "<"+c.elem).Replace(text)
			fill := func(step int) []byte {
				b := make([]byte, 512*c.bytes)
				for i := range b {
					b[i] = byte(1 + i*step%60) // floats of these bytes are normal numbers: sums in global memory flush others
				}
				return b
			}
			before := fill(11)
			out := agree(t, "sm_100", src, [][]byte{fill(7), bytes.Clone(before)}, uint64(c.n))
			if bytes.Equal(out[1], before) {
				t.Error("nothing was reduced")
			}
			if !bytes.Equal(out[1][c.n*c.bytes:], before[c.n*c.bytes:]) {
				t.Error("something was reduced outside of the array")
			}
			res, err := driver.Compile(context.Background(), "k.tileir", []byte(src), driver.Options{GPU: "sm_100", Code: driver.Code{Opt: 3}, Emit: driver.EmitPTX})
			if err != nil || !strings.Contains(string(res.Output), c.ptx+" ") {
				t.Errorf("no %s in (%v)\n%s", c.ptx, err, res.Output)
			}
		})
	}
}

// Products of bytes too small for a matrix instruction, batched too, of every mixture of signs, are what the interpreter computes.
func TestSmallProductsOfBytes(t *testing.T) {
	const text = `cuda_tile.module @m {
entry @k(%p: tile<ptr<i8>>, %q: tile<ptr<i8>>, %o: tile<ptr<i32>>) {
  %0 = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %p, shape = [B, M, K], strides = [128, K, 1] : tensor_view<BxMxKxi8, strides=[128,K,1]>
  %vb = make_tensor_view %q, shape = [B, K, N], strides = [128, N, 1] : tensor_view<BxKxNxi8, strides=[128,N,1]>
  %vo = make_tensor_view %o, shape = [B, M, N], strides = [64, N, 1] : tensor_view<BxMxNxi32, strides=[64,N,1]>
  %pa = make_partition_view %va : partition_view<tile=(BxMxK), tensor_view<BxMxKxi8, strides=[128,K,1]>>
  %pb = make_partition_view %vb : partition_view<tile=(BxKxN), tensor_view<BxKxNxi8, strides=[128,N,1]>>
  %po = make_partition_view %vo : partition_view<tile=(BxMxN), tensor_view<BxMxNxi32, strides=[64,N,1]>>
  %a, %ta = load_view_tko weak %pa[%0, %0, %0] : partition_view<tile=(BxMxK), tensor_view<BxMxKxi8, strides=[128,K,1]>>, tile<i32> -> tile<BxMxKxi8>, token
  %b, %tb = load_view_tko weak %pb[%0, %0, %0] : partition_view<tile=(BxKxN), tensor_view<BxKxNxi8, strides=[128,N,1]>>, tile<i32> -> tile<BxKxNxi8>, token
  %c = constant <i32: 2147483000> : tile<BxMxNxi32>
  %d = mmai %a, %b, %c SIGNS : tile<BxMxKxi8>, tile<BxKxNxi8>, tile<BxMxNxi32>
  %t = store_view_tko weak %d, %po[%0, %0, %0] : tile<BxMxNxi32>, partition_view<tile=(BxMxN), tensor_view<BxMxNxi32, strides=[64,N,1]>>, tile<i32> -> token
  return
}
}`
	bytes := func(n, step int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i*step + i>>3)
		}
		return b
	}
	for _, signs := range []string{"signed signed", "signed unsigned", "unsigned signed", "unsigned unsigned"} {
		for _, shape := range [][4]string{{"1", "4", "4", "16"}, {"2", "2", "8", "4"}, {"4", "1", "1", "32"}} {
			t.Run(signs+" "+strings.Join(shape[:], "x"), func(t *testing.T) {
				src := strings.NewReplacer("BxMxN", shape[0]+"x"+shape[1]+"x"+shape[2], "BxMxK", shape[0]+"x"+shape[1]+"x"+shape[3],
					"BxKxN", shape[0]+"x"+shape[3]+"x"+shape[2], "[B, M, K]", "["+shape[0]+", "+shape[1]+", "+shape[3]+"]",
					"[B, K, N]", "["+shape[0]+", "+shape[3]+", "+shape[2]+"]", "[B, M, N]", "["+shape[0]+", "+shape[1]+", "+shape[2]+"]",
					", K,", ", "+shape[3]+",", ", N,", ", "+shape[2]+",", ",K,", ","+shape[3]+",", ",N,", ","+shape[2]+",", "SIGNS", signs).Replace(text)
				out := agree(t, "sm_75", src, [][]byte{bytes(512, 37), bytes(512, 101), make([]byte, 1024)})
				if string(out[2]) == string(make([]byte, 1024)) {
					t.Error("nothing was stored")
				}
			})
		}
	}
}
