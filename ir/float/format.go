// Package float is the one codec of every floating-point format of Tile IR:
// bits to values and back with any rounding, correctly rounded arithmetic,
// conversions, and the decimal text that MLIR prints.
//
// A format is a row of data (see [formats]); nothing in this package branches
// on the name of a format. Values are computed exactly as a sign, a 128-bit
// significand and an exponent, then rounded once.
//
// The interpreter and the constant folder stand on this package, so it is
// proven alone, against a second implementation over math/big. The emulator
// has conversions of its own, so that one mistake is not made twice. This
// package imports the standard library only.
package float

// Format describes one floating-point format. A bit pattern is a uint64 whose
// low Bits() bits hold, from the top: the sign (if signed), the exponent field
// and the mantissa field. The other bits are ignored on input and zero on
// output.
type Format struct {
	name     string
	expBits  int
	manBits  int
	bias     int
	signed   bool
	inf      bool     // all exponent bits with a zero mantissa is infinity
	nan      nanCode  // which codes are NaN
	noZero   bool     // exponent field 0 is an ordinary exponent: no zero, no subnormals
	storage  int      // bits in memory
	overflow Overflow // what conversion to this format does beyond its range
	nanToMax bool     // conversion of NaN gives the largest finite value
	narrow   *narrow  // of formats with few bits, nil for others
}

// nanCode tells which magnitude codes (the bits without the sign) are NaN.
type nanCode uint8

const (
	nanNone    nanCode = iota // every code is a number
	nanIEEE                   // exponent all ones, mantissa not zero
	nanAllOnes                // exponent and mantissa all ones
)

// The formats of Tile IR. Special values and saturation follow the conversion
// table of the Tile IR types page (f8E5M2, f8E4M3FN) and, where that is
// silent (f8E8M0FNU, f4E2M1FN, f8E5M3FNU), the .satfinite rules of PTX cvt.
var (
	F16       = &Format{name: "f16", expBits: 5, manBits: 10, bias: 15, signed: true, inf: true, nan: nanIEEE, storage: 16, overflow: ToInf}
	BF16      = &Format{name: "bf16", expBits: 8, manBits: 7, bias: 127, signed: true, inf: true, nan: nanIEEE, storage: 16, overflow: ToInf}
	F32       = &Format{name: "f32", expBits: 8, manBits: 23, bias: 127, signed: true, inf: true, nan: nanIEEE, storage: 32, overflow: ToInf}
	F64       = &Format{name: "f64", expBits: 11, manBits: 52, bias: 1023, signed: true, inf: true, nan: nanIEEE, storage: 64, overflow: ToInf}
	TF32      = &Format{name: "tf32", expBits: 8, manBits: 10, bias: 127, signed: true, inf: true, nan: nanIEEE, storage: 32, overflow: ToInf}
	F8E4M3FN  = &Format{name: "f8E4M3FN", expBits: 4, manBits: 3, bias: 7, signed: true, nan: nanAllOnes, storage: 8, overflow: Saturate, nanToMax: true}
	F8E5M2    = &Format{name: "f8E5M2", expBits: 5, manBits: 2, bias: 15, signed: true, inf: true, nan: nanIEEE, storage: 8, overflow: Saturate}
	F8E8M0FNU = &Format{name: "f8E8M0FNU", expBits: 8, manBits: 0, bias: 127, nan: nanAllOnes, noZero: true, storage: 8, overflow: Saturate}
	F4E2M1FN  = &Format{name: "f4E2M1FN", expBits: 2, manBits: 1, bias: 1, signed: true, storage: 4, overflow: Saturate}
	F8E5M3FNU = &Format{name: "fnv8E5M3FNU", expBits: 5, manBits: 3, bias: 15, nan: nanAllOnes, storage: 8, overflow: Saturate}

	// formats lists every format, in the order of the types page.
	formats = []*Format{F16, BF16, F32, F64, TF32, F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN, F8E5M3FNU}
)

// ByName returns the format that Tile IR text calls name, or nil.
func ByName(name string) *Format {
	for _, f := range formats {
		if f.name == name {
			return f
		}
	}
	return nil
}

// Name is the element type's name in Tile IR text.
func (f *Format) Name() string { return f.name }

// String is Name.
func (f *Format) String() string { return f.name }

// Bits is the number of significant bits of a pattern: 19 for tf32, else the
// size in memory.
func (f *Format) Bits() int {
	n := f.expBits + f.manBits
	if f.signed {
		n++
	}
	return n
}

// StorageBits is the size of an element in memory: 4 for f4E2M1FN, 32 for tf32.
func (f *Format) StorageBits() int { return f.storage }

// ToStorage places a pattern into its memory word: tf32 keeps its 19 bits at
// the top of 32, every other format is stored as it is.
func (f *Format) ToStorage(bits uint64) uint64 { return (bits & f.mask()) << (f.storage - f.Bits()) }

// FromStorage is the inverse of ToStorage; it drops the low bits that tf32 ignores.
func (f *Format) FromStorage(word uint64) uint64 { return word >> (f.storage - f.Bits()) & f.mask() }

// ExponentBits is the width of the exponent field.
func (f *Format) ExponentBits() int { return f.expBits }

// MantissaBits is the width of the mantissa field, without the hidden bit.
func (f *Format) MantissaBits() int { return f.manBits }

// Bias is what is subtracted from the exponent field to give the exponent.
func (f *Format) Bias() int { return f.bias }

// Signed says whether the format has a sign bit.
func (f *Format) Signed() bool { return f.signed }

// HasInf says whether the format has infinities.
func (f *Format) HasInf() bool { return f.inf }

// HasNaN says whether the format has a NaN.
func (f *Format) HasNaN() bool { return f.nan != nanNone }

// HasZero says whether the format can hold zero.
func (f *Format) HasZero() bool { return !f.noZero }

// Holds says whether every value of g is one of f: numbers, infinities and NaN.
func (f *Format) Holds(g *Format) bool {
	return f.manBits >= g.manBits && f.leastExp() <= g.leastExp() && f.Decode(f.Max()) >= g.Decode(g.Max()) && (f.signed || !g.signed) &&
		(f.inf || !g.inf) && (f.HasNaN() || !g.HasNaN()) && (f.HasZero() || !g.HasZero())
}

// leastExp is the exponent of the last bit of the smallest numbers.
func (f *Format) leastExp() int { return f.minExpField() - f.bias - f.manBits }

func (f *Format) mask() uint64        { return 1<<f.Bits() - 1 }
func (f *Format) magMask() uint64     { return 1<<(f.expBits+f.manBits) - 1 }
func (f *Format) manMask() uint64     { return 1<<f.manBits - 1 }
func (f *Format) infCode() uint64     { return (1<<f.expBits - 1) << f.manBits }
func (f *Format) minExpField() int    { return b2i(!f.noZero) }
func (f *Format) precision() int      { return f.manBits + 1 }
func (f *Format) signBit() uint64     { return uint64(b2i(f.signed)) << (f.expBits + f.manBits) }
func (f *Format) mag(b uint64) uint64 { return b & f.magMask() }

// withSign sets the sign of a magnitude code; unsigned formats have none.
func (f *Format) withSign(mag uint64, neg bool) uint64 {
	if neg {
		mag |= f.signBit()
	}
	return mag
}

// maxMag is the code of the largest finite magnitude.
func (f *Format) maxMag() uint64 {
	switch f.nan {
	case nanIEEE:
		return f.infCode() - 1
	case nanAllOnes:
		return f.magMask() - 1
	}
	return f.magMask()
}

// Max is the largest finite value.
func (f *Format) Max() uint64 { return f.maxMag() }

// Lowest is the smallest finite value: -Max, or the smallest value of an
// unsigned format.
func (f *Format) Lowest() uint64 {
	if !f.signed {
		return 0
	}
	return f.withSign(f.maxMag(), true)
}

// NaN is the quiet NaN with a positive sign, or Max for a format without NaN.
func (f *Format) NaN() uint64 {
	switch f.nan {
	case nanIEEE:
		return f.infCode() | 1<<(f.manBits-1)
	case nanAllOnes:
		return f.magMask()
	}
	return f.maxMag()
}

// Inf is the infinity of a sign, or what takes its place: NaN, else the
// largest finite value of the sign.
func (f *Format) Inf(neg bool) uint64 {
	switch {
	case f.inf:
		return f.withSign(f.infCode(), neg)
	case f.nan != nanNone:
		return f.NaN()
	}
	return f.withSign(f.maxMag(), neg)
}

// Zero is the zero of a sign; 2^-127 in f8E8M0FNU, which has no zero.
func (f *Format) Zero(neg bool) uint64 { return f.withSign(0, neg) }

// IsNaN says whether bits are a NaN.
func (f *Format) IsNaN(bits uint64) bool {
	switch f.nan {
	case nanIEEE:
		return f.mag(bits) > f.infCode()
	case nanAllOnes:
		return f.mag(bits) == f.magMask()
	}
	return false
}

// IsInf says whether bits are an infinity.
func (f *Format) IsInf(bits uint64) bool { return f.inf && f.mag(bits) == f.infCode() }

// IsFinite says whether bits are neither NaN nor an infinity.
func (f *Format) IsFinite(bits uint64) bool { return !f.IsNaN(bits) && !f.IsInf(bits) }

// IsZero says whether bits are a zero of either sign.
func (f *Format) IsZero(bits uint64) bool { return !f.noZero && f.mag(bits) == 0 }

// IsSubnormal says whether bits are a number below the normal range, not zero.
func (f *Format) IsSubnormal(bits uint64) bool {
	m := f.mag(bits)
	return !f.noZero && m != 0 && m <= f.manMask()
}

// Sign says whether the sign bit is set.
func (f *Format) Sign(bits uint64) bool { return bits&f.signBit() != 0 }

// Neg flips the sign bit (of NaN too); unsigned formats return bits unchanged.
func (f *Format) Neg(bits uint64) uint64 { return bits&f.mask() ^ f.signBit() }

// Abs clears the sign bit.
func (f *Format) Abs(bits uint64) uint64 { return f.mag(bits) }

// FlushSubnormal returns the zero of the same sign for a subnormal number and
// everything else unchanged (the ftz modifier).
func (f *Format) FlushSubnormal(bits uint64) uint64 {
	if f.IsSubnormal(bits) {
		return bits & f.signBit()
	}
	return bits & f.mask()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
