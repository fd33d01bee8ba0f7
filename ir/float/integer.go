package float

import "math/bits"

// FromInt rounds a signed integer to f.
func (f *Format) FromInt(v int64, r Rounding) uint64 {
	mag := uint64(v)
	if v < 0 {
		mag = -mag
	}
	return f.pack(normalize(v < 0, 127, 0, mag), r)
}

// FromUint rounds an unsigned integer to f.
func (f *Format) FromUint(v uint64, r Rounding) uint64 {
	return f.pack(normalize(false, 127, 0, v), r)
}

// ToInt rounds bits to an integer of width 1 to 64 bits, signed or unsigned.
// The result is in two's complement, zero above width. Out of range values
// give the nearest end of the range and NaN gives 0, both with inRange false.
func (f *Format) ToInt(b uint64, width int, signed bool, r Rounding) (v uint64, inRange bool) {
	n := f.unpack(b)
	limit := uint64(1)<<width - 1 // largest magnitude for this sign
	switch {
	case signed && n.neg:
		limit = 1 << (width - 1)
	case signed:
		limit >>= 1
	case n.neg:
		limit = 0
	}
	var mag uint64
	switch n.class {
	case notANumber:
		return 0, false
	case infinite:
		mag, inRange = limit, false
	case finite:
		mag, inRange = n.integer(r)
		if !inRange || mag > limit {
			mag, inRange = limit, false
		}
	case zero:
		inRange = true
	}
	if n.neg {
		mag = -mag
	}
	return mag << (64 - width) >> (64 - width), inRange
}

// integer rounds the magnitude of a finite number to an integer; ok is false
// if it needs more than 64 bits.
func (n number) integer(r Rounding) (v uint64, ok bool) {
	if n.exp >= 64 {
		return 0, false
	}
	// Shift so that hi holds the integer and lo the fraction.
	hi, lo := shrSticky(n.hi, n.lo, min(63-n.exp, 128))
	half, rest := lo>>63 != 0, lo<<1 != 0
	up := roundsUp(r, n.neg, hi&1 != 0, half, rest)
	hi, carry := bits.Add64(hi, uint64(b2i(up)), 0)
	return hi, carry == 0
}
