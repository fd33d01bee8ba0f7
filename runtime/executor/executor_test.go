package executor_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"tileiras/internal/driver"
	"tileiras/runtime/executor"
)

var engines = []executor.Engine{executor.Interpreter, executor.Emulator}

// addText adds two vectors of any length, 128 elements a tile block; without its last operand a load pads with nothing.
const addText = `cuda_tile.module @m { entry @add(%pa: tile<ptr<f32>>, %pb: tile<ptr<f32>>, %pc: tile<ptr<f32>>, %n: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %va = make_tensor_view %pa, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %vb = make_tensor_view %pb, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %vc = make_tensor_view %pc, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %a = make_partition_view %va : partition_view<tile=(128), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %b = make_partition_view %vb : partition_view<tile=(128), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %c = make_partition_view %vc : partition_view<tile=(128), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %ta, %t1 = load_view_tko weak %a[%x] : partition_view<tile=(128), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<128xf32>, token
  %tb, %t2 = load_view_tko weak %b[%x] : partition_view<tile=(128), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<128xf32>, token
  %s = addf %ta, %tb : tile<128xf32>
  %t3 = store_view_tko weak %s, %c[%x] : tile<128xf32>, partition_view<tile=(128), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
} }`

func floats(n int, f func(i int) float32) []byte {
	var b []byte
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f(i)))
	}
	return b
}

func word(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// region gives memory an address that does not depend on where Go has it.
func region(name string, at uint64, data []byte) executor.Region {
	return executor.Region{Name: name, Address: at, Data: data}
}

func load(t *testing.T, text string, o executor.Options) *executor.Program {
	t.Helper()
	p, err := executor.Load(t.Context(), []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A program runs again and again on memory of the caller, one tile block after the other or several at once, and holds nothing of it.
func TestLaunches(t *testing.T) {
	const n = 1000
	for _, e := range engines {
		for _, workers := range []int{1, 4} {
			p := load(t, addText, executor.Options{Engine: e, Workers: workers})
			for _, at := range []uint64{0x10_0000, 0x5555_0000_0000, 0x7fff_1234_0000} {
				a, b := floats(n, func(i int) float32 { return float32(i) }), floats(n, func(i int) float32 { return float32(at%7) - 2*float32(i) })
				c := make([]byte, 4*n)
				rep, err := p.Launch(t.Context(), &executor.Launch{Kernel: "add", Grid: [3]int{8, 1, 1},
					Params: [][]byte{word(at), word(at + 4*n), word(at + 8*n), word(n)},
					Memory: []executor.Region{region("a", at, a), region("b", at+4*n, b), region("c", at+8*n, c)}})
				if err != nil {
					t.Fatal(err)
				}
				if want := floats(n, func(i int) float32 { return float32(at%7) - float32(i) }); !bytes.Equal(c, want) {
					t.Errorf("%s, %d workers, at %#x: wrong sums", e, workers, at)
				}
				if rep.Blocks != 8 {
					t.Errorf("%s: %d tile blocks, want 8", e, rep.Blocks)
				}
			}
		}
	}
}

// printText prints tiles of several ranks, one of them with more elements than one call of printf takes.
const printText = `cuda_tile.module @m { entry @show() {
  %i = iota : tile<8xi32>
  %r = reshape %i : tile<8xi32> -> tile<2x4xi32>
  %c = reshape %i : tile<8xi32> -> tile<2x2x2xi32>
  %o = reshape %i : tile<8xi32> -> tile<8x1xi32>
  %w = iota : tile<32xi32>
  %x = reshape %w : tile<32xi32> -> tile<2x16xi32>
  %s = constant <f32: 1.5> : tile<f32>
  %t0 = print_tko "%d %i|%f\n", %i, %r, %s : tile<8xi32>, tile<2x4xi32>, tile<f32> -> token
  %t1 = print_tko "%d%d\n", %c, %o token=%t0 : tile<2x2x2xi32>, tile<8x1xi32> -> token
  %t2 = print_tko "%d.\n", %x token=%t1 : tile<2x16xi32> -> token
  return
} }`

// Both engines print tiles as nested lists.
func TestPrints(t *testing.T) {
	const want = `[0, 1, 2, 3, 4, 5, 6, 7] [[0, 1, 2, 3], [4, 5, 6, 7]]|1.500000
[[[0, 1], [2, 3]], [[4, 5], [6, 7]]][[0], [1], [2], [3], [4], [5], [6], [7]]
[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], [16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]].
`
	for _, e := range engines {
		var said bytes.Buffer
		_, err := load(t, printText, executor.Options{Engine: e}).Launch(t.Context(), &executor.Launch{Kernel: "show", Grid: [3]int{1, 1, 1}, Stdout: &said})
		if err != nil || said.String() != want {
			t.Errorf("%s: %v\n%swant\n%s", e, err, said.String(), want)
		}
	}
}

// What is wrong with a launch is said before anything runs.
func TestMisuse(t *testing.T) {
	p := load(t, addText, executor.Options{})
	good := executor.Launch{Kernel: "add", Grid: [3]int{1, 1, 1}, Params: [][]byte{word(0), word(0), word(0), word(0)}}
	for want, change := range map[string]func(l *executor.Launch){
		`there is no kernel "sub"; there are ["add"]`:   func(l *executor.Launch) { l.Kernel = "sub" },
		"grid [0 1 1]: x is 1 to 16777215, y and z are": func(l *executor.Launch) { l.Grid[0] = 0 },
		"grid [1 70000 1]: x is 1 to 16777215, y and z": func(l *executor.Launch) { l.Grid[1] = 70000 },
		`kernel "add" has 4 parameters, got 3 argument`: func(l *executor.Launch) { l.Params = l.Params[:3] },
		"is a i32 of 4 bytes, got 2": func(l *executor.Launch) {
			l.Params = [][]byte{word(0), word(0), word(0), {1, 2}}
		},
		"overlaps": func(l *executor.Launch) {
			l.Memory = []executor.Region{region("a", 4096, make([]byte, 8)), region("b", 4100, make([]byte, 8))}
		},
	} {
		l := good
		change(&l)
		if _, err := p.Launch(t.Context(), &l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := executor.Load(t.Context(), []byte("cuda_tile.module @m { entry @k() { %x = foo } }"), executor.Options{Name: "k.tileir"}); err == nil || !strings.Contains(err.Error(), "k.tileir") {
		t.Errorf("bad text: %v", err)
	}
}

// scatterText stores its tile block's number at p[x/2 * 4 .. +4] by pointers: blocks 0 and 1 race. With the offset 1000 it leaves the array.
const scatterText = `cuda_tile.module @m { entry @scatter(%p: tile<ptr<i32>>, %off: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %h = divi %x, %two signed rounding<zero> : tile<i32>
  %q = muli %h, %four : tile<i32>
  %r = addi %q, %off : tile<i32>
  %i = iota : tile<4xi32>
  %rs = reshape %r : tile<i32> -> tile<1xi32>
  %rb = broadcast %rs : tile<1xi32> -> tile<4xi32>
  %at = addi %i, %rb : tile<4xi32>
  %ps = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %pb = broadcast %ps : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %addr = offset %pb, %at : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %xs = reshape %x : tile<i32> -> tile<1xi32>
  %v = broadcast %xs : tile<1xi32> -> tile<4xi32>
  %t = store_ptr_tko weak %addr, %v : tile<4xptr<i32>>, tile<4xi32> -> token
  return
} }`

func scatter(t *testing.T, e executor.Engine, o executor.Options, offset uint64) error {
	o.Engine, o.Name = e, `in\scatter.tileir`
	const at = 0x7000_0000
	_, err := load(t, scatterText, o).Launch(t.Context(), &executor.Launch{Kernel: "scatter", Grid: [3]int{4, 1, 1},
		Params: [][]byte{word(at), word(offset)}, Memory: []executor.Region{region("p", at, make([]byte, 4*16))}})
	return err
}

func TestOutOfBounds(t *testing.T) {
	for _, e := range engines {
		var f *executor.Fault
		if err := scatter(t, e, executor.Options{Checks: executor.Checks{NoRaces: true}}, 10); !errors.As(err, &f) {
			t.Fatalf("%s: got %v", e, err)
		}
		// Block 2 stores elements 14 to 17 of 16.
		if f.Kind != "out of bounds" || f.Block != [3]int{2, 0, 0} || f.Region != "p" || f.Offset < 56 || f.Offset > 68 || f.Address == 0 {
			t.Errorf("%s: got %+v", e, f)
		}
		if len(f.Places) == 0 || f.Places[0].File != `in\scatter.tileir` || f.Places[0].Line != 17 {
			t.Errorf("%s: places %v, want line 17", e, f.Places)
		}
	}
}

func TestRace(t *testing.T) {
	var f *executor.Fault
	if err := scatter(t, executor.Emulator, executor.Options{}, 0); !errors.As(err, &f) {
		t.Fatalf("got %v", err)
	}
	if f.Kind != "race" || f.Other == nil || f.Other.Block[0]/2 != f.Block[0]/2 || f.Other.Block == f.Block || !f.Other.Write ||
		len(f.Other.Places) == 0 || f.Other.Places[0].Line != 17 || !strings.Contains(f.Message, "the write of byte") {
		t.Errorf("got %+v", f)
	}
	if err := scatter(t, executor.Emulator, executor.Options{Checks: executor.Checks{NoRaces: true}}, 0); err != nil {
		t.Errorf("with the check off: %v", err)
	}
}

// spinText waits for a value that nobody stores.
const spinText = `cuda_tile.module @m { entry @spin(%p: tile<ptr<i32>>, %go: tile<i1>) {
  loop {
    if %go {
      break
    }
    %v, %t = load_ptr_tko relaxed device %p : tile<ptr<i32>> -> tile<i32>, token
    %zero = constant <i32: 0> : tile<i32>
    %come = cmpi not_equal %v, %zero, signed : tile<i32> -> tile<i1>
    if %come {
      break
    }
    continue
  }
  return
} }`

// An i1 is a byte that is 0 or not, and a context ends what does not end.
func TestCancel(t *testing.T) {
	for _, e := range engines {
		p := load(t, spinText, executor.Options{Engine: e})
		launch := &executor.Launch{Kernel: "spin", Grid: [3]int{1, 1, 1}, Params: [][]byte{word(4096), {2}},
			Memory: []executor.Region{region("p", 4096, make([]byte, 4))}}
		if _, err := p.Launch(t.Context(), launch); err != nil {
			t.Errorf("%s: %v", e, err)
		}
		launch.Params[1] = []byte{0}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := p.Launch(ctx, launch); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v", e, err)
		}
	}
}

// A launch that waits for another one of its program ends with its own context.
func TestCancelWhileWaiting(t *testing.T) {
	p := load(t, spinText, executor.Options{})
	spin := func(ctx context.Context) error {
		_, err := p.Launch(ctx, &executor.Launch{Kernel: "spin", Grid: [3]int{1, 1, 1}, Params: [][]byte{word(4096), {0}},
			Memory: []executor.Region{region("p", 4096, make([]byte, 4))}})
		return err
	}
	first, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- spin(first) }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := spin(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	end()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestReadOnly: a store to what may only be read is a fault that names it.
func TestReadOnly(t *testing.T) {
	for _, e := range engines {
		before, memory := region("before", 4096-64, make([]byte, 4*16)), region("p", 4096, make([]byte, 4*16))
		memory.ReadOnly = true
		_, err := load(t, scatterText, executor.Options{Engine: e}).Launch(t.Context(), &executor.Launch{Kernel: "scatter", Grid: [3]int{1, 1, 1},
			Params: [][]byte{word(4096), word(0)}, Memory: []executor.Region{before, memory}})
		var f *executor.Fault
		if !errors.As(err, &f) || f.Kind != "read-only" || f.Region != "p" || f.Offset != int64(f.Address)-4096 {
			t.Errorf("%s: %v in %+v", e, err, f)
		}
	}
}

// TestLoadIsTheCompilersDoor: what a compile refuses before its passes, and when it ends by itself, is an error of Load on every engine.
func TestLoadIsTheCompilersDoor(t *testing.T) {
	const viewed = "cuda_tile.module @m {\n  entry @k(%v: tensor_view<8xf32, strides=[1]>) { return }\n}"
	const outside = "cuda_tile.module @m {\n  %c = constant <i32: 1> : tile<i32>\n  entry @k() { return }\n}"
	for _, e := range []executor.Engine{executor.Interpreter, executor.Emulator} {
		for _, text := range []string{viewed, outside} {
			_, want := driver.Compile(t.Context(), "k.tileir", []byte(text), driver.Options{Emit: driver.EmitCudaTile})
			_, err := executor.Load(t.Context(), []byte(text), executor.Options{Name: "k.tileir", Engine: e})
			var f *driver.Failure
			if !errors.As(err, &f) || len(f.Diags) == 0 || f.Code != driver.ExitInput || !strings.HasPrefix(err.Error(), `loc("k.tileir":`) {
				t.Errorf("%s: %v\n%s", e, err, text)
			}
			if want == nil || err == nil || err.Error() != want.Error() {
				t.Errorf("%s: %v\na compile says %v", e, err, want)
			}
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		for _, c := range []struct {
			ctx  context.Context
			o    executor.Options
			want error
		}{
			{t.Context(), executor.Options{TimeLimit: time.Nanosecond}, context.DeadlineExceeded},
			{t.Context(), executor.Options{MemoryLimit: 1}, driver.ErrMemory},
			{canceled, executor.Options{}, context.Canceled},
		} {
			c.o.Engine = e
			if p, err := executor.Load(c.ctx, []byte(addText), c.o); !errors.Is(err, c.want) || p != nil {
				t.Errorf("%s: %v, want %v", e, err, c.want)
			}
		}
	}
	if _, err := executor.Load(t.Context(), []byte(addText), executor.Options{Code: driver.Code{SlicesK: 3}}); err == nil || !strings.Contains(err.Error(), "Options.SlicesK = 3") {
		t.Errorf("3 slices of a product: %v", err)
	}
}

// TestMappedAlignment: what the compiled code takes for granted of a pointer is asked of its address, wherever the memory around it begins.
func TestMappedAlignment(t *testing.T) {
	const text = `cuda_tile.module @m { entry @k(%p0: tile<ptr<f32>>) {
  %s, %t0 = load_ptr_tko weak %p0 : tile<ptr<f32>> -> tile<f32>, token
  %p = assume div_by<16>, %p0 : tile<ptr<f32>>
  %i = iota : tile<1024xi32>
  %a = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b = broadcast %a : tile<1xptr<f32>> -> tile<1024xptr<f32>>
  %c = offset %b, %i : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
  %x, %t1 = load_ptr_tko weak %c : tile<1024xptr<f32>> -> tile<1024xf32>, token
  %s1 = reshape %s : tile<f32> -> tile<1xf32>
  %s2 = broadcast %s1 : tile<1xf32> -> tile<1024xf32>
  %y = addf %x, %s2 rounding<nearest_even> : tile<1024xf32>
  %t2 = join_tokens %t0, %t1 : token
  %t3 = store_ptr_tko weak %c, %y token=%t2 : tile<1024xptr<f32>>, tile<1024xf32> -> token
  return
} }`
	for _, c := range []struct {
		checks        string
		begin, offset uint64
		kind          string
	}{
		{"all", 0x20000, 0, ""}, {"all", 0x20004, 0, "misaligned"}, {"all", 0x20004, 12, ""}, {"all", 0x2000c, 4, ""}, {"all", 0x20000, 4, "misaligned"},
		{"alignment", 0x20000, 4, "misaligned"}, {"races,undefined", 0x20000, 4, ""}, {"none", 0x20000, 4, ""},
	} {
		checks, _ := executor.ChecksOf(c.checks)
		_, err := load(t, text, executor.Options{Engine: executor.Emulator, GPU: "sm_80", Checks: checks}).Launch(t.Context(), &executor.Launch{Kernel: "k", Grid: [3]int{1, 1, 1},
			Params: [][]byte{word(c.begin + c.offset)}, Memory: []executor.Region{region("a", c.begin, make([]byte, 8192))}})
		var f *executor.Fault
		if errors.As(err, &f); (err == nil) != (c.kind == "") || err != nil && (f == nil || f.Kind != executor.FaultKind(c.kind)) {
			t.Errorf("checks %s, pointer at %#x of memory at %#x: %v, expected %q", c.checks, c.begin+c.offset, c.begin, err, c.kind)
		}
	}
}

func TestNegativeWorkers(t *testing.T) {
	if _, err := executor.Load(t.Context(), []byte(addText), executor.Options{Workers: -1}); err == nil || !strings.HasPrefix(err.Error(), "error: Options.Workers = -1: ") {
		t.Errorf("%v", err)
	}
}
