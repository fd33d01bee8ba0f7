package products_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"tileiras/codegen/options"
	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// TestFactorsAreRoundedToNearestEven multiplies numbers that a loop rounds to tf32, among them ties, infinities and NaNs of every kind, on each kind of
// instruction. What must come out is computed here, from the bits.
func TestFactorsAreRoundedToNearestEven(t *testing.T) {
	checkFactors(t, options.Rounded, tf32)
}

// TestFactorsAreTruncated is the same where instructions cut off bits: they take a NaN whose only bits are among those for infinity.
func TestFactorsAreTruncated(t *testing.T) {
	checkFactors(t, options.Truncated, func(bits uint32) float64 { return float64(math.Float32frombits(bits &^ 0x1FFF)) })
}

// checkFactors compares products of f32 with those of the numbers that become of it.
func checkFactors(t *testing.T, how options.TF32, factor func(bits uint32) float64) {
	const kernel, batches, rows, columns, depth = "testdata/rounded.tileir", 2, 64, 64, 128
	text, err := os.ReadFile(kernel)
	if err != nil {
		t.Fatal(err)
	}
	f32, err := cases.DTypeByName("f32")
	if err != nil {
		t.Fatal(err)
	}
	i32, err := cases.DTypeByName("i32")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 11))
	buffer := func(name string, n int) (*cases.Buffer, []uint32) {
		bits := make([]uint32, n)
		for i := range bits {
			bits[i] = math.Float32bits(float32(r.NormFloat64()))
			if r.IntN(8) == 0 {
				bits[i] = bits[i]&^0x1FFF | 0x1000 // a tie
			}
		}
		return &cases.Buffer{Name: name, DType: f32, Shape: []int{n}}, bits
	}
	a, left := buffer("a", batches*rows*depth)
	b, right := buffer("b", batches*depth*columns)
	c, _ := buffer("c", batches*rows*columns)
	left[3*depth+5], left[40*depth+7] = 0x7F800000, 0x7F800001
	right[9*columns+11], right[70*columns+12], right[(depth+2)*columns+13] = 0xFFFFFFFF, 0xFF800000, 0x7FFFFFFF
	for _, x := range []struct {
		*cases.Buffer
		bits []uint32
	}{{a, left}, {b, right}, {c, make([]uint32, batches*rows*columns)}} {
		for _, n := range x.bits {
			x.Data = binary.LittleEndian.AppendUint32(x.Data, n)
		}
	}
	want := func(steps int) (data []byte) {
		for n := range batches * rows * columns {
			at, i, j := n/(rows*columns), n/columns%rows, n%columns
			sum := 0.0
			for k := range 32 * steps {
				sum += factor(left[(at*rows+i)*depth+k]) * factor(right[(at*depth+k)*columns+j])
			}
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(sum)))
		}
		return data
	}
	for _, gpu := range []string{"sm_80", "sm_90", "sm_100", "sm_120"} {
		res, err := driver.Compile(t.Context(), kernel, text, driver.Options{GPU: gpu, Code: driver.Code{Opt: 3, TF32: how}, Emit: driver.EmitPTX})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range emu.Schedules {
			m := emulator(res, s)
			for steps := range depth/32 + 1 {
				launch := &cases.Case{Name: "rounded.tileir", Kernel: "bmm", Bytecode: text, Grid: [3]int{1, 1, 1}, Buffers: []*cases.Buffer{a, b, c},
					Params: []cases.Param{{Buffer: "a"}, {Buffer: "b"}, {Buffer: "c"}, {Type: i32, Bits: uint64(steps)}}}
				if err := outcome(t, m, launch, 2, want(steps), 1e-5); err != nil {
					t.Errorf("%s, %d steps, schedule %v: %v", gpu, steps, s, err)
				}
			}
		}
	}
}

// tf32 is a number rounded to 10 bits behind the point, to nearest even.
func tf32(bits uint32) float64 {
	x := math.Float32frombits(bits)
	if x != x || math.IsInf(float64(x), 0) {
		return float64(x)
	}
	return float64(math.Float32frombits((bits + 0xFFF + bits>>13&1) &^ 0x1FFF))
}
