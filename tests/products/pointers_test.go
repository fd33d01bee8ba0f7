package products_test

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// pointerKernel is a product of tiles of 64x64 in steps of 32 along K, read through masked tiles of pointers.
const pointerKernel = "../lit/Inputs/gemm_pointers.tileir"

// extents of A, B and C: no iteration, one, as many as a ring of four slots has but one, as many, one more; whole, and ended inside a tile, inside an
// access, before the first element of a tile.
var extents = [][3]int{
	{64, 64, 0}, {64, 64, 32}, {64, 64, 96}, {64, 64, 128}, {64, 64, 160}, {128, 64, 256},
	{64, 64, 1}, {64, 64, 31}, {64, 64, 33}, {64, 64, 65}, {64, 64, 90}, {64, 64, 97}, {64, 64, 127}, {64, 64, 129}, {64, 64, 163},
	{1, 1, 1}, {5, 64, 40}, {64, 5, 40}, {63, 33, 95}, {65, 71, 100}, {66, 57, 129},
}

// TestProductsThroughPointers runs them on the interpreter and in the emulator, under every schedule and with all checks on. Arrays end with their last
// element, so that what reads on finds nothing; C begins as what no sum is, and keeps it outside. What must come out is computed here, in integers.
func TestProductsThroughPointers(t *testing.T) {
	text, err := os.ReadFile(pointerKernel)
	if err != nil {
		t.Fatal(err)
	}
	for _, gpu := range []string{"sm_75", "sm_80", "sm_90"} {
		t.Run(gpu, func(t *testing.T) {
			t.Parallel()
			res, err := driver.Compile(t.Context(), pointerKernel, text, driver.Options{GPU: gpu, Code: driver.Code{Opt: 3}, Emit: driver.EmitPTX})
			if err != nil {
				t.Fatal(err)
			}
			ptx := string(res.Output)
			inARing(t, gpu, ptx)
			for i, e := range extents {
				c, want := pointerLaunch(t, text, e, uint64(i), 8)
				for k, m := range everywhere(res) {
					if err := outcome(t, m, c, 2, want, 0); err != nil {
						t.Errorf("%v, machine %d: %v", e, k, err)
					}
				}
			}
		})
	}
}

// inARing holds that a GPU that has asynchronous copies makes them of both operands, 16 bytes at a time, iterations ahead, and that one barrier orders an
// iteration.
func inARing(t *testing.T, gpu, ptx string) {
	copies := regexp.MustCompile(`cp\.async\.c[ag]\.shared\.global[^,]*\], \[[^,]*\], (\d+)`).FindAllStringSubmatch(ptx, -1)
	if gpu == "sm_75" {
		if len(copies) > 0 {
			t.Errorf("%d copies for a GPU that has none", len(copies))
		}
		return
	}
	for _, c := range copies {
		if c[1] != "16" {
			t.Errorf("a copy of %s bytes", c[1])
		}
	}
	loop := regexp.MustCompile(`(?s)\.pragma "nounroll";.*?\n\$B\d+:`).FindString(ptx)
	pending := regexp.MustCompile(`cp\.async\.wait_group (\d+)`).FindStringSubmatch(loop)
	want := "2"
	if strings.Contains(loop, "wgmma") {
		want = "1" // a product in flight holds a slot
	}
	if n := strings.Count(loop, "cp.async.cg"); n != 4 || strings.Count(loop, "bar.sync") != 1 || pending == nil || pending[1] != want {
		t.Errorf("a loop with %d copies, %d barriers, pending groups %q", n, strings.Count(loop, "bar.sync"), pending)
	}
}

// TestProductsThroughPointersOfAnywhere runs the kernel without its promises: where they hold and where they do not, and copies only where they do.
func TestProductsThroughPointersOfAnywhere(t *testing.T) {
	text, err := os.ReadFile(pointerKernel)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`div_by<\d+>`).ReplaceAll(text, []byte("div_by<1>"))
	for _, gpu := range []string{"sm_75", "sm_80"} {
		res, err := driver.Compile(t.Context(), pointerKernel, text, driver.Options{GPU: gpu, Code: driver.Code{Opt: 3}, Emit: driver.EmitPTX})
		if err != nil {
			t.Fatal(err)
		}
		ptx := string(res.Output)
		if n := strings.Count(ptx, "cp.async.cg"); (n > 0) != (gpu == "sm_80") {
			t.Errorf("%s: %d copies of 16 bytes", gpu, n)
		}
		for i, e := range extents {
			for _, multiple := range []int{8, 4, 1} {
				c, want := pointerLaunch(t, text, e, uint64(i), multiple)
				if err := outcome(t, emulator(res, emu.Schedules[i%len(emu.Schedules)]), c, 2, want, 0); err != nil {
					t.Errorf("%s %v, rows at multiples of %d: %v", gpu, e, multiple, err)
				}
			}
		}
	}
}

// pointerLaunch makes arrays of small integers of M, N, K, with rows at multiples of so many elements, and what must be in C.
func pointerLaunch(t *testing.T, text []byte, e [3]int, seed uint64, multiple int) (*cases.Case, []byte) {
	m, n, k := e[0], e[1], e[2]
	up := func(x int) int { return max(multiple, (x+multiple-1)/multiple*multiple) }
	distance := [3]int{up(k), up(n) + 8, up(n)}
	rows := [3]int{m, k, m}
	columns := [3]int{k, n, n}
	c := &cases.Case{Name: "pointers.tileir", Kernel: "gemm", Bytecode: text, Grid: [3]int{(m + 63) / 64, (n + 63) / 64, 1}}
	r := rand.New(rand.NewPCG(seed, 2))
	var numbers [3][]int64
	for i, elem := range []string{"f16", "f16", "f32"} {
		d, err := cases.DTypeByName(elem)
		if err != nil {
			t.Fatal(err)
		}
		numbers[i] = make([]int64, max(1, (rows[i]-1)*distance[i]+columns[i]))
		data := []byte(nil)
		for at := range numbers[i] {
			x := r.Int64N(9) - 4
			if i == 2 {
				x = -1 << 20
			} else if at%distance[i] >= columns[i] {
				x = 1000 // between rows
			}
			numbers[i][at] = x
			data = d.Append(data, d.FromInt(x))
		}
		name := string(rune('a' + i))
		c.Buffers = append(c.Buffers, &cases.Buffer{Name: name, DType: d, Shape: []int{len(numbers[i])}, Data: data})
		c.Params = append(c.Params, cases.Param{Buffer: name})
	}
	i32, err := cases.DTypeByName("i32")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []int{m, n, k, distance[0], distance[1], distance[2]} {
		c.Params = append(c.Params, cases.Param{Type: i32, Bits: uint64(x)})
	}
	for i := range m {
		for j := range n {
			sum := int64(0)
			for x := range k {
				sum += numbers[0][i*distance[0]+x] * numbers[1][x*distance[1]+j]
			}
			numbers[2][i*distance[2]+j] = sum
		}
	}
	var want []byte
	for _, x := range numbers[2] {
		want = c.Buffers[2].DType.Append(want, c.Buffers[2].DType.FromInt(x))
	}
	return c, want
}
