package products_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	. "tileiras/tests/products"
	"tileiras/tests/ptxas"
)

// compile makes PTX. missing says that the GPU does not have the types at all.
func compile(t *testing.T, p Product, gpu string) (res *driver.Result, missing bool, err error) {
	res, err = driver.Compile(t.Context(), "product.tileir", []byte(p.Text()), driver.Options{GPU: gpu, Code: driver.Code{Opt: 3}, Emit: driver.EmitPTX})
	if err != nil {
		return nil, strings.Contains(err.Error(), "Incompatibility with architecture"), err
	}
	return res, false, nil
}

// TestEveryProductCompiles: no product is too big, whatever has to be cut, on a GPU of each size of shared memory and kind of matrix unit.
func TestEveryProductCompiles(t *testing.T) {
	gpus, types := []string{"sm_75", "sm_89", "sm_90", "sm_100"}, AllTypes
	if testing.Short() {
		gpus, types = []string{"sm_75", "sm_89"}, AllTypes[:1]
	}
	for _, gpu := range gpus {
		t.Run(gpu, func(t *testing.T) {
			t.Parallel()
			n := 0
			for _, p := range Family(types...) {
				_, missing, err := compile(t, p, gpu)
				if missing {
					continue
				}
				if n++; err != nil {
					t.Errorf("%s: %v", p, err)
				}
			}
			t.Logf("%d products", n)
		})
	}
}

// values are products that run, and where: each has something that must be cut. Some of each kind are asked for every time.
var values = []struct {
	gpu string
	p   Product
}{
	{"sm_75", Product{Types{"f16", "f16", "f32"}, 0, 256, 256, 32, Once}},
	{"sm_75", Product{Types{"f16", "f16", "f32"}, 0, 64, 64, 1024, Loop}},
	{"sm_75", Product{Types{"f32", "f32", "f32"}, 0, 16, 16, 1024, Pointers}},
	{"sm_75", Product{Types{"f32", "f32", "f32"}, 4, 32, 1, 128, Once}},
	{"sm_75", Product{Types{"i8", "i8", "i32"}, 0, 128, 128, 512, Loop}},
	{"sm_75", Product{Types{"bf16", "bf16", "f32"}, 16, 1, 64, 64, Pointers}},
	{"sm_80", Product{Types{"bf16", "bf16", "f32"}, 16, 1, 64, 64, Once}},
	{"sm_80", Product{Types{"bf16", "bf16", "f32"}, 16, 1, 16, 256, Pointers}},
	{"sm_80", Product{Types{"f16", "f16", "f32"}, 0, 512, 256, 64, Loop}},
	{"sm_80", Product{Types{"f16", "f16", "f32"}, 0, 128, 512, 64, Once}},
	{"sm_80", Product{Types{"f16", "f16", "f32"}, 0, 16, 512, 512, Pointers}},
	{"sm_80", Product{Types{"f64", "f64", "f64"}, 0, 128, 128, 64, Loop}},
	{"sm_89", Product{Types{"f8E4M3FN", "f8E4M3FN", "f32"}, 0, 256, 256, 128, Loop}},
	{"sm_89", Product{Types{"f16", "f16", "f32"}, 4, 64, 256, 1, Once}},
	{"sm_89", Product{Types{"f16", "f16", "f32"}, 16, 64, 64, 32, Loop}},
	{"sm_90", Product{Types{"f32", "f32", "f32"}, 0, 1, 1024, 64, Loop}},
	{"sm_90", Product{Types{"f8E4M3FN", "f8E4M3FN", "f32"}, 0, 16, 64, 2048, Once}},
	{"sm_100", Product{Types{"f16", "f16", "f32"}, 0, 256, 256, 64, Loop}},
	{"sm_100", Product{Types{"i8", "i8", "i32"}, 0, 256, 256, 128, Loop}},
	{"sm_100", Product{Types{"bf16", "bf16", "f32"}, 0, 256, 128, 64, Scatter}},
	{"sm_120", Product{Types{"f16", "f16", "f32"}, 0, 256, 256, 128, Loop}},
	{"sm_120", Product{Types{"f64", "f64", "f64"}, 32, 16, 16, 64, Once}},
	{"sm_120", Product{Types{"f16", "f16", "f16"}, 8, 64, 64, 64, Pointers}},
	{"sm_120", Product{Types{"f64", "f64", "f64"}, 4, 64, 256, 1, Pointers}},
}

// TestProductsAreRight runs products in the emulator, with all its checks on. What they must give is computed here, in integers.
func TestProductsAreRight(t *testing.T) {
	list := values
	if os.Getenv("TILEIRAS_PRODUCTS") == "all" {
		for i, p := range Family(AllTypes[:8]...) {
			list = append(list, struct {
				gpu string
				p   Product
			}{[]string{"sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"}[i%6], p})
		}
	}
	for i, v := range list {
		t.Run(fmt.Sprintf("%s %s", v.gpu, v.p), func(t *testing.T) {
			t.Parallel()
			res, missing, err := compile(t, v.p, v.gpu)
			if missing {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			c, want, err := launch(v.p, uint64(i))
			if err != nil {
				t.Fatal(err)
			}
			if err := outcome(t, emulator(res, emu.Schedules[i%len(emu.Schedules)]), c, 3, want, 0); err != nil {
				t.Error(err)
			}
		})
	}
}

// launch makes arrays of small integers, whose products and sums every type of the family holds exactly, and the array that must come
// out.
func launch(p Product, seed uint64) (*cases.Case, []byte, error) {
	c := &cases.Case{Name: "product.tileir", Kernel: "k", Bytecode: []byte(p.Text()), Grid: [3]int{1, 1, 1}}
	r := rand.New(rand.NewPCG(seed, 1))
	sa, sb, sc := p.Shapes()
	var numbers [][]int64
	for i, array := range []struct {
		elem  string
		shape []int
	}{{p.A, sa}, {p.B, sb}, {p.C, sc}, {p.C, sc}} {
		d, err := cases.DTypeByName(strings.ToLower(array.elem))
		if err != nil {
			return nil, nil, err
		}
		n := 1
		for _, e := range array.shape {
			n *= e
		}
		values, data := make([]int64, n), []byte(nil)
		for k := range values {
			if values[k] = r.Int64N(5) - 2; i == 3 || r.IntN(8) > 0 && p.C == "f16" {
				values[k] = 0 // few terms: sums below 2048
			}
			data = d.Append(data, d.FromInt(values[k]))
		}
		name := string(rune('a' + i))
		c.Buffers = append(c.Buffers, &cases.Buffer{Name: name, DType: d, Shape: array.shape, Data: data})
		c.Params = append(c.Params, cases.Param{Buffer: name})
		numbers = append(numbers, values)
	}
	if p.InLoop() {
		numbers[2] = make([]int64, len(numbers[2])) // the accumulator begins as zero
	}
	want := []byte(nil)
	for _, n := range multiply(p, numbers[0], numbers[1], numbers[2]) {
		want = c.Buffers[3].DType.Append(want, c.Buffers[3].DType.FromInt(n))
	}
	return c, want, nil
}

// multiply is c + a*b in integers.
func multiply(p Product, a, b, c []int64) []int64 {
	out := slices.Clone(c)
	k := p.K * p.Steps()
	for i := range max(1, p.Batch) {
		for m := range p.M {
			for j := range k {
				x := a[(i*p.M+m)*k+j]
				if x == 0 {
					continue
				}
				row, to := b[(i*k+j)*p.N:][:p.N], out[(i*p.M+m)*p.N:][:p.N]
				for n, y := range row {
					to[n] += x * y
				}
			}
		}
	}
	return out
}

// TestPtxasFindsRegisters: what was cut fits into the registers.
func TestPtxasFindsRegisters(t *testing.T) {
	tools, ok := ptxas.Find(t.TempDir())
	if !ok {
		t.Skipf("%s does not name the folder of NVIDIA's tools", ptxas.Variable)
	}
	gpus, types := []string{"sm_75", "sm_80", "sm_120"}, AllTypes[:1]
	if os.Getenv("TILEIRAS_PRODUCTS") == "all" {
		gpus, types = []string{"sm_75", "sm_80", "sm_89", "sm_90", "sm_120"}, AllTypes
	}
	for _, gpu := range gpus {
		for _, p := range Family(types...) {
			if only := os.Getenv("TILEIRAS_PRODUCTS_ONLY"); !strings.Contains(p.String(), only) {
				continue
			}
			res, missing, err := compile(t, p, gpu)
			if missing {
				continue
			}
			if err != nil {
				t.Errorf("%s %s: %v", gpu, p, err)
				continue
			}
			text := string(res.Output)
			rep, err := tools.Assemble(t.Context(), "product", text, ptxas.Target(text))
			if err != nil {
				t.Errorf("%s %s: %v", gpu, p, err)
				continue
			}
			for _, k := range rep.Kernels {
				if k.Spills() > 0 {
					t.Errorf("%s %s: %d bytes of spills, %d registers of %d threads", gpu, p, k.Spills(), k.Registers, k.Threads)
				}
			}
		}
	}
}
