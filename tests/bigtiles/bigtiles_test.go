// Package bigtiles_test runs kernels whose tiles are too big for the registers (testdata, Tile IR text): cut into pieces, they must
// give in the emulator, with all its checks on, what the interpreter gives for whole tiles. Where NVIDIA's ptxas is at hand it must
// take them in no time and without spills.
package bigtiles_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	"tileiras/tests/ptxas"
)

// A launch of a kernel: its grid, and its parameters in order. "x: f32 70000 < 100" is an array of integers below 100 (and not below
// -100, where the type has a sign), "z: f32 70000" one of zeros, "7" an i32.
type launch struct {
	kernel string
	grid   int
	params []string
	// tolerance is by what part of the largest magnitude results may differ; 0 is not at all.
	tolerance float64
}

var launches = []launch{
	{"vecadd", 2, []string{"x: f32 81920 < 1000", "y: f32 81920 < 1000", "z: f32 81920", "81920"}, 0},
	{"bias_scale", 2, []string{"x: f32 153600 < 100", "row: f32 512 < 10", "column: f32 300 < 10", "z: f32 153600", "300", "500"}, 0},
	{"row_softmax", 2, []string{"x: f32 131072 < 4", "z: f32 131072", "65000"}, 0x1p-16},
	{"row_softmax_gradient", 2, []string{"y: f32 32768 < 4", "dy: f32 32768 < 4", "z: f32 32768", "16"}, 0x1p-16},
	{"rows_softmax_in_place", 2, []string{"x: f32 204800 < 4", "200"}, 0x1p-16},
	{"row_sums", 2, []string{"x: f32 262144 < 3", "max: f32 4", "sum: f32 4", "squares: f32 4", "50000"}, 0},
	{"argmax", 1, []string{"x: i32 131072 < 1000", "at: i32 1", "value: i32 1"}, 0},
	{"gather", 1, []string{"x: i32 40000 < 1000", "index: i32 65536 < 50000", "z: i32 65536", "w: i32 65536", "40000"}, 0},
	{"transpose_chain", 1, []string{"x: f32 65536 < 1000", "y: f32 65536", "z: f32 65536"}, 0},
	{"column_counts", 1, []string{"x: i8 131072 < 100", "hits: i32 256", "columns: i32 256"}, 0},
	{"recurrence", 1, []string{"a: i32 32768 < 1000", "x: i32 32768 < 1000", "y: i32 32768"}, 0},
	{"row_scan", 1, []string{"x: f32 65536 < 10", "y: f32 65536", "z: f32 65536"}, 0},
	{"weighted_rows", 1, []string{"x: f32 196608 < 10", "bias: f32 768 < 10", "y: f32 65536", "total: f32 1", "3"}, 0},
	{"collected_rows", 1, []string{"x: f32 32768 < 100", "y: f32 16384", "z: f32 32768"}, 0},
	{"steps", 1, []string{"x: f64 32768 < 100", "5"}, 0},
	{"sparse", 1, []string{"x: f32 65536 < 100", "index: i32 256 < 256", "y: f32 76800", "h: f16 60000 < 100", "z: f16 65536", "200"}, 0},
}

// gpu is what the kernels are compiled for.
const gpu = "sm_80"

func TestPiecesGiveWhatWholeTilesGive(t *testing.T) {
	for i, l := range launches {
		t.Run(l.kernel, func(t *testing.T) {
			t.Parallel()
			c, err := l.read()
			if err != nil {
				t.Fatal(err)
			}
			in, err := c.NewLaunch()
			if err != nil {
				t.Fatal(err)
			}
			want, err := (&tilerun.Interpreter{}).Launch(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			m := &tilerun.Emulator{GPU: gpu, Code: driver.Code{Opt: 3}, Schedule: emu.Schedules[i%len(emu.Schedules)]}
			got, err := m.Launch(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			changed := false
			for k, b := range c.Buffers {
				changed = changed || !slices.Equal(b.Data, want.Buffers[k])
				if err := cases.Compare(b, got.Buffers[k], want.Buffers[k], l.tolerance, l.tolerance); err != nil {
					t.Errorf("%s: %v", b.Name, err)
				}
			}
			if !changed {
				t.Error("the kernel left every array as it was")
			}
		})
	}
}

// TestAllKernelsRun keeps the table complete.
func TestAllKernelsRun(t *testing.T) {
	files, err := filepath.Glob("testdata/*.tileir")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".tileir")
		if !slices.ContainsFunc(launches, func(l launch) bool { return l.kernel == name }) {
			t.Errorf("no launch runs %s", f)
		}
	}
}

// patience is how long ptxas may take for a kernel on a busy machine. Alone it takes 0.2 seconds; straight code for tiles of these
// sizes takes it minutes.
const patience = 15 * time.Second

func TestPtxasTakesPieces(t *testing.T) {
	tools, ok := ptxas.Find(t.TempDir())
	if !ok {
		t.Skipf("%s does not name the folder of NVIDIA's tools", ptxas.Variable)
	}
	for _, l := range launches {
		c, err := l.read()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range []string{"sm_75", "sm_80", "sm_90", "sm_100"} {
			res, err := driver.Compile(t.Context(), c.Name, c.Bytecode, driver.Options{GPU: g, Code: driver.Code{Opt: 3}, Emit: driver.EmitPTX})
			if err != nil {
				t.Fatalf("%s, %s: %v", l.kernel, g, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			rep, err := tools.Assemble(ctx, l.kernel, string(res.Output), g)
			cancel()
			if err != nil {
				t.Errorf("%s: %v", l.kernel, err)
				continue
			}
			for _, k := range rep.Kernels {
				if k.Spills() > 0 {
					t.Errorf("%s, %s: %d bytes of spills, %d registers", l.kernel, g, k.Spills(), k.Registers)
				}
			}
		}
	}
}

// read makes a case of a launch.
func (l *launch) read() (*cases.Case, error) {
	text, err := os.ReadFile(filepath.Join("testdata", l.kernel+".tileir"))
	if err != nil {
		return nil, err
	}
	c := &cases.Case{Name: l.kernel + ".tileir", Kernel: l.kernel, Bytecode: text, Grid: [3]int{l.grid, 1, 1}}
	for i, p := range l.params {
		name, array, ok := strings.Cut(p, ": ")
		if !ok {
			var n int64
			if _, err := fmt.Sscan(p, &n); err != nil {
				return nil, err
			}
			i32, err := cases.DTypeByName("i32")
			if err != nil {
				return nil, err
			}
			c.Params = append(c.Params, cases.Param{Type: i32, Bits: uint64(uint32(n))})
			continue
		}
		var dtype string
		var size int
		in := &cases.Init{Kind: "zeros", Seed: uint64(i)}
		if n, err := fmt.Sscanf(array, "%s %d < %d", &dtype, &size, &in.Hi); n == 3 {
			in.Kind, in.Lo = "uniform_int", -in.Hi
		} else if n < 2 {
			return nil, fmt.Errorf("%q: %v", p, err)
		}
		d, err := cases.DTypeByName(dtype)
		if err != nil {
			return nil, err
		}
		c.Buffers = append(c.Buffers, &cases.Buffer{Name: name, DType: d, Shape: []int{size}, Init: in})
		c.Params = append(c.Params, cases.Param{Buffer: name})
	}
	return c, nil
}
