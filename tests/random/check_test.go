package random

import (
	"testing"

	"tileiras/ir"
	"tileiras/ir/float"
)

// An inexact element may be a little off, but not another number.
func TestInexactElementsResemble(t *testing.T) {
	for _, c := range []struct {
		f    *float.Format
		a, b uint64
		want bool
	}{
		{float.F32, 0x3f800000, 0x3f810000, true},  // 1 and 1.008
		{float.F32, 0x3f800000, 0x40000000, false}, // 1 and 2
		{float.F32, 0x3f800000, 0xbf800000, false}, // 1 and -1
		{float.F32, 0x3f800000, 0, false},          // 1 and 0
		{float.F32, 0x00400000, 0x80000000, true},  // a subnormal and -0
		{float.F32, 0x3f800000, 0x7fc00000, false}, // 1 and NaN
		{float.F32, 0x7f800001, 0x7fffffff, true},  // two NaN
		{float.F32, 0x3f800000, 0x7f800000, false}, // 1 and infinity
		{float.F32, 0x7f7fffff, 0x7f800000, true},  // the largest and infinity
		{float.F32, 0xff7fffff, 0x7f800000, false}, // the least and infinity
		{float.F32, 0xff800000, 0x7f800000, false}, // two infinities
		{float.F32, 0x7fc00000, 0x7f800000, false}, // NaN and infinity
		{float.F16, 0x0001, 0x0003, true},          // subnormals
		{float.F16, 0x3c00, 0x3800, false},         // 1 and 0.5
		{float.F8E5M2, 0x3c, 0x3d, true},           // 1 and 1.25
		{float.F8E5M2, 0x3c, 0x4c, false},          // 1 and 16
		{float.F8E4M3FN, 0x7e, 0x7f, true},         // 448 and NaN
		{float.F8E4M3FN, 0x38, 0x7f, false},        // 1 and NaN
	} {
		if resembles(c.f, c.a, c.b) != c.want || resembles(c.f, c.b, c.a) != c.want {
			t.Errorf("%s: %#x and %#x, expected %v", c.f, c.a, c.b, c.want)
		}
	}
}

// Elements that are marked inexact are compared too.
func TestInexactElementsAreCompared(t *testing.T) {
	inexact := []bool{true, true, true, true}
	for _, c := range []struct {
		got, want []byte
		inexact   []bool
		differs   bool
	}{
		{[]byte{0, 0, 0x81, 0x3f}, []byte{0, 0, 0x80, 0x3f}, inexact, false},
		{[]byte{0, 0, 0x81, 0x3f}, []byte{0, 0, 0x80, 0x3f}, nil, true},
		{[]byte{0, 0, 0, 0x40}, []byte{0, 0, 0x80, 0x3f}, inexact, true},
		{[]byte{0, 0, 0xc0, 0x7f}, []byte{0, 0, 0x80, 0x3f}, inexact, true},
	} {
		if said := differences(&ir.FloatType{Format: float.F32}, c.got, c.want, c.inexact); (said != "") != c.differs {
			t.Errorf("%x and %x: %q", c.got, c.want, said)
		}
	}
}
