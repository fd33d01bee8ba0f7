package async_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"tileiras/ir/float"
	"tileiras/runtime/emu"
)

// Kernels of tcgen05 against plain arithmetic, bit for bit: the inputs are small, so every sum is exact in any order.

// operand is a matrix of values with their bytes.
type operand struct {
	cols  int
	value []float64
	bytes []byte
}

// fill makes a matrix of a format with values that pick gives.
func fill(rows, cols int, f *float.Format, pick func() float64) *operand {
	o := &operand{cols: cols}
	for range rows * cols {
		x := pick()
		bits := f.Encode(x, float.NearestEven)
		if f.Decode(bits) != x {
			panic("not exact")
		}
		o.value = append(o.value, x)
		for i := range f.StorageBits() / 8 {
			o.bytes = append(o.bytes, byte(bits>>(8*i)))
		}
	}
	return o
}

func (o *operand) at(row, col int) float64 { return o.value[row*o.cols+col] }

// multiply launches a kernel on its operands and gives C.
func multiply(t *testing.T, file string, s emu.Schedule, m, n, k int, operands ...*operand) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := emu.Parse(file, string(text))
	if err != nil {
		t.Fatal(err)
	}
	mem := emu.NewMemory()
	var args []emu.Arg
	pointer := func(p uint64) { args = append(args, binary.LittleEndian.AppendUint64(nil, p)) }
	for _, o := range operands {
		pointer(mem.Alloc("operand", o.bytes, 256))
	}
	c := mem.AllocUndef("C", 4*m*n, 256)
	pointer(c)
	for _, v := range []int{n, k} {
		args = append(args, binary.LittleEndian.AppendUint32(nil, uint32(v)))
	}
	res, err := mod.Run(t.Context(), "gemm", mem, args, emu.Options{Grid: [3]int{m / 128, n / 128, 1}, Schedule: s, Seed: 5})
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	if len(res.Notes) > 0 {
		t.Errorf("%v: %v", s, res.Notes)
	}
	return mem.Bytes(c)
}

// sameProduct compares C with a plain product of f64.
func sameProduct(t *testing.T, c []byte, m, n, k int, a, b func(row, k int) float64) {
	t.Helper()
	for i := range m {
		for j := range n {
			var sum float64
			for x := range k {
				sum += a(i, x) * b(j, x)
			}
			if got := binary.LittleEndian.Uint32(c[4*(i*n+j):]); got != math.Float32bits(float32(sum)) {
				t.Fatalf("C[%d][%d] is %v, want %v", i, j, math.Float32frombits(got), sum)
			}
		}
	}
}

func TestProductsInTensorMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	small := func() float64 { return float64(r.IntN(17) - 8) }
	for _, k := range []int{64, 192} {
		const m, n = 256, 128
		a, b := fill(m, k, float.BF16, small), fill(n, k, float.BF16, small)
		for _, s := range emu.Schedules {
			sameProduct(t, multiply(t, "kernels/tcgen05_gemm.ptx", s, m, n, k, a, b), m, n, k, a.at, b.at)
		}
	}
}

func TestBlockScaledProductsInTensorMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	small := func() float64 { return float64(r.IntN(17) - 8) }
	power := func() float64 { return math.Ldexp(1, r.IntN(4)-2) }
	for _, k := range []int{256} {
		const m, n = 128, 256
		a, b := fill(m, k, float.F8E4M3FN, small), fill(n, k, float.F8E4M3FN, small)
		sa, sb := fill(m, k/32, float.F8E8M0FNU, power), fill(n, k/32, float.F8E8M0FNU, power)
		scaled := func(o, scale *operand) func(row, k int) float64 {
			return func(row, k int) float64 { return o.at(row, k) * scale.at(row, k/32) }
		}
		for _, s := range emu.Schedules {
			sameProduct(t, multiply(t, "kernels/tcgen05_block_scaled.ptx", s, m, n, k, a, b, sa, sb), m, n, k, scaled(a, sa), scaled(b, sb))
		}
	}
}
