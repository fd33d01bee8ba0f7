package emu

import "fmt"

// tcgenKind is a kind of tcgen05.mma (section 9.7.16.2.1): the types of its operands by their codes in the
// instruction descriptor, and the depth of one instruction.
type tcgenKind struct {
	name   string
	elems  [8]string // types of A and B by code
	acc    [4]string // types of D by code
	depth  int       // K of a dense product
	blocks []int     // scales to a row that it may have; nil: none
	packed bool      // elements of 4 bits, two to a byte
	scaleD bool      // may scale the old D
	ints   bool      // elements are integers
	same   bool      // A and B are of one type, and D of f16 needs that type to be f16
}

var small8 = [8]string{"e4m3", "e5m2", "", "e2m3", "e3m2", "e2m1"}

var tcgenKinds = []tcgenKind{
	{"kind::f16", [8]string{"f16", "bf16"}, [4]string{"f16", "f32"}, 16, nil, false, true, false, true},
	{"kind::tf32", [8]string{2: "tf32"}, [4]string{1: "f32"}, 8, nil, false, true, false, false},
	{"kind::f8f6f4", small8, [4]string{"f16", "f32"}, 32, nil, false, false, false, false},
	{"kind::i8", [8]string{"u8", "s8"}, [4]string{2: "s32"}, 32, nil, false, false, true, false},
	{"kind::mxf8f6f4", small8, [4]string{1: "f32"}, 32, []int{1}, false, false, false, false},
	{"kind::mxf4", [8]string{1: "e2m1"}, [4]string{1: "f32"}, 64, []int{2}, true, false, false, false},
	{"kind::mxf4nvf4", [8]string{1: "e2m1"}, [4]string{1: "f32"}, 64, []int{2, 4}, true, false, false, false},
}

// instrDesc is an instruction descriptor (section 9.7.16.4.2), decoded:
//
//	bits    f16 tf32 f8f6f4 i8     mxf8f6f4         mxf4 mxf4nvf4
//	0-2     sparsity               sparsity         sparsity
//	3       saturate (i8)
//	4-5     type of D              id of B's scales, the same
//	7-9     type of A              type of A        type of A
//	10-12   type of B              type of B        10-11: type of B
//	13, 14  negate A, B            the same         the same
//	15, 16  A, B are MN-major      the same
//	17-22   N/8                    the same         the same
//	23                             scales are ue8m0, the same
//	24-28   M/16                   the same         the same
//	29-30                          id of A's scales, the same
//	30-31   maximum shift (.ws)                     31: K is 96
type instrDesc struct {
	m, n       int
	a, b, d    string
	saturate   bool
	negate     [2]bool // A, B
	mnMajor    [2]bool
	ue8m0      bool
	scaleFirst [2]int // first byte of the scales of A, B
}

// decodeInstr reads an instruction descriptor of a kind.
func (k *tcgenKind) decodeInstr(v uint32) (x instrDesc, err error) {
	field := func(at, n int) int { return int(v >> at & (1<<n - 1)) }
	bit := func(at int) bool { return v>>at&1 != 0 }
	scaled := k.blocks != nil
	var zero uint32 = 1<<6 | 1<<23 | 1<<29 // bits that must be zero
	x.a, x.b, x.d = k.elems[field(7, 3)], k.elems[field(10, 3)], k.acc[field(4, 2)]
	x.m, x.n = field(24, 5)<<4, field(17, 6)<<3
	x.negate = [2]bool{bit(13), bit(14)}
	switch {
	case k.packed:
		zero = 1<<3 | 1<<6 | 1<<12 | 3<<15
		x.b = k.elems[field(10, 2)]
	case scaled:
		zero = 3 | 1<<3 | 1<<6 | 1<<31
	case k.ints:
		zero |= 3 << 13
		x.saturate = bit(3)
	default:
		zero |= 1 << 3
	}
	if !k.packed {
		x.mnMajor = [2]bool{bit(15), bit(16)}
	}
	if scaled {
		x.d, x.ue8m0 = "f32", bit(23)
		x.scaleFirst = [2]int{field(29, 2), field(4, 2)}
	}
	switch {
	case bit(2):
		return x, fmt.Errorf("sparse products are not modelled")
	case k.packed && bit(31):
		return x, fmt.Errorf("K = 96 is not modelled")
	case !scaled && field(30, 2) != 0:
		return x, fmt.Errorf("shifts of weight-stationary products are not modelled")
	case !scaled && field(0, 2) != 0:
		return x, fmt.Errorf("a sparsity selector without sparsity")
	case v&zero != 0:
		return x, fmt.Errorf("bits %#x must be zero", v&zero)
	case x.a == "" || x.b == "" || x.d == "":
		return x, fmt.Errorf("no such types: codes %d, %d and %d of A, B and D", field(7, 3), field(10, 3), field(4, 2))
	case k.same && x.d == "f16" && (x.a != "f16" || x.b != "f16"):
		return x, fmt.Errorf("D of f16 needs A and B of f16")
	case k.same && x.a != x.b:
		return x, fmt.Errorf("A of %s and B of %s", x.a, x.b)
	}
	return x, nil
}

// shape checks M and N against what a kind has (section 9.7.16.2.1).
func (k *tcgenKind) shape(x *instrDesc, group int, ws bool) error {
	ms, step := []int{64, 128}, 8
	switch {
	case ws:
		ms = []int{32, 64, 128}
	case k.blocks != nil && group == 1:
		ms = []int{128}
	case group == 2:
		ms, step = []int{128, 256}, 16
	}
	if group == 1 && k.blocks == nil && x.m == 128 && !ws {
		step = 16
	}
	ok := false
	for _, m := range ms {
		ok = ok || m == x.m
	}
	n := x.n >= step && x.n <= 256 && x.n%step == 0
	if k.ints {
		n = n && (x.n%16 == 0 || x.n == 8 || x.n == 24) && (group == 1 || x.n%32 == 0)
	}
	if ws {
		n = x.n == 64 || x.n == 128 || x.n == 256
	}
	if x.mnMajor[1] && elemKinds[x.b].bits == 8 && x.n%(16*group) != 0 {
		n = false
	}
	if !ok || !n {
		return fmt.Errorf("%s has no shape of M %d and N %d", k.name, x.m, x.n)
	}
	return nil
}

// decodeShared reads the descriptor of an operand in shared memory (section 9.7.16.4.1); addresses are in units
// of 16 bytes:
//
//	0-13 start | 16-29 leading dimension offset | 32-45 stride dimension offset | 46-48 one | 49-51 base offset
//	52 mode of the leading dimension offset | 53-60 zero | 61-63 swizzle
func decodeShared(v uint64, mnMajor bool) (s smemTile, err error) {
	field := func(at int) int { return int(v >> at & (1<<14 - 1) << 4) }
	s = smemTile{start: field(0), leading: field(16), stride: field(32), mnMajor: mnMajor}
	switch v >> 61 {
	case 0:
	case 1:
		s.span, s.atoms32 = 128, true
	case 2:
		s.span = 128
	case 4:
		s.span = 64
	case 6:
		s.span = 32
	default:
		return s, fmt.Errorf("no swizzle has code %d", v>>61)
	}
	switch {
	case v>>46&7 != 1:
		return s, fmt.Errorf("bits 46 to 48 are %d, not 1", v>>46&7)
	case v>>49&7 != 0:
		return s, fmt.Errorf("a base offset is not modelled")
	case v>>52&1 != 0:
		return s, fmt.Errorf("absolute leading dimension offsets are not modelled")
	case v>>53&0xff != 0 || v>>14&3 != 0 || v>>30&3 != 0:
		return s, fmt.Errorf("reserved bits are not zero")
	case s.atoms32 && !mnMajor:
		return s, fmt.Errorf("a swizzle of 32-byte atoms needs an MN-major operand")
	}
	return s, nil
}
