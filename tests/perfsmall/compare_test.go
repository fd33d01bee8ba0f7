package perfsmall_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"tileiras/ir/float"
	"tileiras/runtime/cases"
)

// f32Tolerance is the part of the largest magnitude of a buffer by which two f32 results may differ where exp, rsqrt or an
// approximate division is on the way: two units in the last place of a float are less than the rounding errors of the sums that
// such results pass through.
const f32Tolerance = 0x1p-16

// ulpsAllowed is that bound for narrower types, in units in the last place at the largest magnitude.
const ulpsAllowed = 2

// compareBuffer compares the result of a machine with that of the interpreter: equal where the interpreter's value is exact,
// within the tolerance of the type elsewhere. inexact has a flag per byte; nil means that all are exact.
func compareBuffer(b *cases.Buffer, got, want []byte, inexact []bool) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s has %d bytes, the interpreter's has %d", b.Name, len(got), len(want))
	}
	d := b.DType
	tolerance := toleranceOf(d, want)
	differ, exact := 0, 0
	var first error
	for i := range len(want) / d.Size {
		g, w := word(d, got, i), word(d, want, i)
		isExact := !flagged(inexact, i*d.Size, d.Size)
		if isExact {
			exact++
		}
		if g == w || d.Format != nil && closeEnough(d.Format, g, w, isExact, tolerance) {
			continue
		}
		if differ++; first == nil {
			rule := "which is exact"
			if !isExact {
				rule = fmt.Sprintf("tolerance %.3g", tolerance)
			}
			first = fmt.Errorf("%s: element %d is %s, the interpreter has %s, %s", b.Name, i, show(d, g), show(d, w), rule)
		}
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("%w; %d of %d elements differ", first, differ, len(want)/d.Size)
}

// closeEnough is the rule for floats whose bits differ.
func closeEnough(f *float.Format, got, want uint64, exact bool, tolerance float64) bool {
	if f.IsNaN(got) || f.IsNaN(want) {
		return f.IsNaN(got) && f.IsNaN(want)
	}
	if exact {
		return false
	}
	return math.Abs(f.Decode(got)-f.Decode(want)) <= tolerance
}

// toleranceOf is the largest difference that inexact values of a buffer may have.
func toleranceOf(d *cases.DType, want []byte) float64 {
	if d.Format == nil {
		return 0
	}
	largest := 0.0
	for i := range len(want) / d.Size {
		if v := math.Abs(d.Format.Decode(word(d, want, i))); !math.IsInf(v, 0) && v > largest {
			largest = v
		}
	}
	if d.Format == float.F32 {
		return largest * f32Tolerance
	}
	if largest == 0 {
		return 0
	}
	return math.Ldexp(ulpsAllowed, math.Ilogb(largest)-d.Format.MantissaBits())
}

func flagged(flags []bool, at, n int) bool {
	if flags == nil {
		return false
	}
	for _, f := range flags[at : at+n] {
		if f {
			return true
		}
	}
	return false
}

// word reads element i of little-endian data.
func word(d *cases.DType, data []byte, i int) uint64 {
	var b [8]byte
	copy(b[:], data[i*d.Size:(i+1)*d.Size])
	return binary.LittleEndian.Uint64(b[:])
}

func show(d *cases.DType, bits uint64) string {
	if d.Format != nil {
		return fmt.Sprintf("%g (0x%0*x)", d.Format.Decode(bits), 2*d.Size, bits)
	}
	return fmt.Sprintf("0x%0*x", 2*d.Size, bits)
}
