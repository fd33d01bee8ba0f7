package products_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
)

// listedKernels multiply what a list in memory names.
const listedKernels = "../lit/Inputs/gemm_listed.tileir"

// TestProductsOfWhatAListNames runs them with lists of no entry up to more than rings have slots, on the interpreter and in the emulator, under every schedule
// and with all checks on. A list ends with its last entry. Some rows lie after the array. What must come out is computed here, in integers.
func TestProductsOfWhatAListNames(t *testing.T) {
	text, err := os.ReadFile(listedKernels)
	if err != nil {
		t.Fatal(err)
	}
	kernels := map[string]func(*listed, int) []int64{"rows": (*listed).rows, "blocks": (*listed).blocks, "viewed": (*listed).blocks, "pages": (*listed).pages}
	for _, c := range []struct {
		gpu   string
		roles driver.Roles
	}{{"sm_75", "off"}, {"sm_80", "off"}, {"sm_120", "off"}, {"sm_80", "on"}} {
		gpu := c.gpu
		res, err := driver.Compile(t.Context(), listedKernels, text, driver.Options{GPU: gpu, Code: driver.Code{Opt: 3, Roles: c.roles}, Emit: driver.EmitPTX})
		if err != nil {
			t.Fatal(err)
		}
		machines := everywhere(res)
		for n := range 7 {
			for kernel, launch := range kernels { // each by itself: the order cannot matter
				l := &listed{Case: cases.Case{Name: "listed.tileir", Kernel: kernel, Bytecode: text, Grid: [3]int{1, 1, 1}}, r: rand.New(rand.NewPCG(uint64(n), 3)), t: t}
				want := launch(l, n)
				at := len(l.Buffers) - 2
				var data []byte
				for _, x := range want {
					data = l.Buffers[at].DType.Append(data, l.Buffers[at].DType.FromInt(x))
				}
				for k, m := range machines {
					if err := outcome(t, m, &l.Case, at, data, 0); err != nil {
						t.Errorf("%s %s, %d entries, machine %d: %v", gpu, kernel, n, k, err)
					}
				}
			}
		}
	}
}

// listed is a launch under construction.
type listed struct {
	cases.Case
	r *rand.Rand
	t *testing.T
}

// buffer adds a buffer of numbers that value gives, and a parameter for it.
func (l *listed) buffer(elem string, n int, value func(i int) int64) []int64 {
	d, err := cases.DTypeByName(elem)
	if err != nil {
		l.t.Fatal(err)
	}
	numbers, data := make([]int64, n), []byte(nil)
	for i := range numbers {
		numbers[i] = value(i)
		data = d.Append(data, d.FromInt(numbers[i]))
	}
	name := fmt.Sprintf("b%d", len(l.Buffers))
	l.Buffers = append(l.Buffers, &cases.Buffer{Name: name, DType: d, Shape: []int{n}, Data: data})
	l.Params = append(l.Params, cases.Param{Buffer: name})
	return numbers
}

func (l *listed) small(int) int64 { return l.r.Int64N(9) - 4 }

func (l *listed) number(x int) {
	d, err := cases.DTypeByName("i32")
	if err != nil {
		l.t.Fatal(err)
	}
	l.Params = append(l.Params, cases.Param{Type: d, Bits: uint64(x)})
}

// rows is a product of one matrix with n times 32 rows of an array of 1000.
func (l *listed) rows(n int) []int64 {
	return l.product(n, 32*n, func() int64 { return l.r.Int64N(1100) }, func(list []int64, k int) int64 { return list[k] })
}

// blocks is the same with rows that lie side by side, the last of them after the array.
func (l *listed) blocks(n int) []int64 {
	return l.product(n, n, func() int64 { return l.r.Int64N(32) }, func(list []int64, k int) int64 { return 32*list[k/32] + int64(k%32) })
}

// product makes a list of so many entries, of which each element of K has its row.
func (l *listed) product(n, entries int, entry func() int64, row func(list []int64, k int) int64) []int64 {
	a, b := l.buffer("f16", 64*32, l.small), l.buffer("f16", 1000*64, l.small)
	l.buffer("f32", 64*64, func(int) int64 { return -1 << 20 })
	list := l.buffer("i32", max(1, entries), func(int) int64 { return entry() })
	l.number(n)
	want := make([]int64, 64*64)
	for k := range 32 * n {
		at := row(list, k)
		for i := 0; i < 64 && at < 1000; i++ {
			for j := range 64 {
				want[i*64+j] += a[i*32+k%32] * b[int(at)*64+j]
			}
		}
	}
	return want
}

// pages is a product of n of 5 pages with ones: sums of rows.
func (l *listed) pages(n int) []int64 {
	p := l.buffer("f16", 5*4096, l.small)
	l.buffer("f32", 64*64, func(int) int64 { return -1 << 20 })
	list := l.buffer("i32", max(1, n), func(int) int64 { return 4096 * l.r.Int64N(5) })
	l.number(n)
	want := make([]int64, 64*64)
	for _, page := range list[:n] {
		for i := range want {
			for c := range 64 {
				want[i] += p[int(page)+i/64*64+c]
			}
		}
	}
	return want
}
