package nvvm_test

import (
	"encoding/binary"
	"math"
	"math/rand"
	"testing"

	"tileiras/ir/float"
)

// Where quotients are computed by the reciprocal, as divide.go has it.
const (
	leastDivisor, mostDivisor   = 0x32800000, 0x4C800000
	leastDividend, mostDividend = 0x12800000, 0x71800000
)

// quotient is what divided computes for dividends and divisors in its range, on the host's arithmetic.
func quotient(x, d float32) float32 {
	y := 1 / d
	high := y
	if float.FMA32(-d, y, 1) < 0 {
		high = math.Float32frombits(math.Float32bits(y) - 1)
	}
	low := float.FMA32(-d, high, 1) * high
	q := float.FMA32(x, high, x*low)
	return float.FMA32(float.FMA32(q, d, -x), -y, q)
}

// TestQuotientsAreCorrectlyRounded compares with the host's division, which IEEE 754 asks to be correctly rounded: random numbers, and
// those whose last bits are at their ends, where reciprocals and quotients lie closest to the middle of two numbers.
func TestQuotientsAreCorrectlyRounded(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	n := 10_000_000
	if testing.Short() {
		n /= 100
	}
	hard := func(mantissa uint32) uint32 {
		switch r.Intn(4) {
		case 0:
			return mantissa & 0x7F // few bits
		case 1:
			return 0x7FFFFF - mantissa&0x7F
		case 2:
			return mantissa&0x7F<<16 | mantissa>>8&0x7F
		}
		return mantissa
	}
	between := func(least, most uint32) float32 {
		exponent := least>>23 + uint32(r.Intn(int(most>>23-least>>23)))
		return math.Float32frombits(exponent<<23 | hard(r.Uint32()&0x7FFFFF))
	}
	for range n {
		x, d := between(leastDividend, mostDividend), between(leastDivisor, mostDivisor)
		if q := quotient(x, d); q != x/d {
			t.Fatalf("%x / %x = %x, want %x", x, d, q, x/d)
		}
	}
}

// TestQuotientsBetweenTwoNumbers divides where x 2^25 is an odd multiple of d but for 1: no quotient lies closer to the middle of two numbers.
// A reciprocal that is not correctly rounded gives a wrong one of them now and then.
func TestQuotientsBetweenTwoNumbers(t *testing.T) {
	n := 0
	for d := uint64(1<<23 + 1); d < 1<<24; d += 74 {
		inverse := d // modulo 2^25, by Newton's iteration
		for range 5 {
			inverse *= 2 - d*inverse
		}
		for _, one := range []uint64{1, ^uint64(0)} {
			middle := -one * inverse & (1<<25 - 1)
			x := (middle*d + one) >> 25
			if middle < 1<<24 || x < 1<<22 {
				continue
			}
			n++
			above, below := float32(x), float32(d)
			if q := quotient(above, below); q != above/below {
				t.Fatalf("%x / %x = %x, want %x", above, below, q, above/below)
			}
		}
	}
	if n < 100_000 {
		t.Errorf("only %d quotients", n)
	}
}

// TestDivisionOfATileByANumber runs every kind of dividend by every kind of divisor, in the range of the reciprocal and out of it.
func TestDivisionOfATileByANumber(t *testing.T) {
	special := []uint32{0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, leastDividend - 1, leastDividend, mostDividend, mostDividend + 1,
		0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x40400000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x40490FDB,
		0x4AE29C7A, 0x4ACCAB2E} // by 0x4B0005C9 and 0x4B0006A7: as close to the middle of two numbers as quotients come
	const body = "    %d, %dt = load %p1 : (tile<ptr<f32>>) -> (tile<f32>, token)\n    %s = splat %d : (tile<f32>) -> tile<512xf32, #L>\n" +
		"    %r = divf %v0, %s : tile<512xf32, #L>\n"
	code := elementwise(testLayouts["vectors"], body, "f32", "f32", "f32")
	r := rand.New(rand.NewSource(2))
	for _, d := range []uint32{0x3F800000, 0x40400000, 0x457FF123, leastDivisor, leastDivisor - 1, mostDivisor, mostDivisor + 1, 0xC0400000, 0, 0x7F800000, 0x7FC00000, 3,
		0x4B0005C9, 0x4B0006A7} {
		for _, one := range append([]uint32{0x40A00000}, special...) {
			in, by := make([]byte, 4*numElements), make([]byte, 4*numElements)
			for i := range numElements {
				x := math.Float32bits(float32(r.NormFloat64()))
				if i%37 == 0 {
					x = one // sends only its own thread away
				}
				binary.LittleEndian.PutUint32(in[4*i:], x)
				binary.LittleEndian.PutUint32(by[4*i:], d)
			}
			arrays, _ := launch(t, "sm_80", code, 1, in, by, make([]byte, 4*numElements))
			out := arrays[2]
			for i := range numElements {
				x, got := binary.LittleEndian.Uint32(in[4*i:]), binary.LittleEndian.Uint32(out[4*i:])
				want := uint32(float.F32.Div(uint64(x), uint64(d), float.NearestEven))
				if bothNaN := float.F32.IsNaN(uint64(got)) && float.F32.IsNaN(uint64(want)); got != want && !bothNaN {
					t.Fatalf("%#x / %#x = %#x, want %#x", x, d, got, want)
				}
			}
		}
	}
}
