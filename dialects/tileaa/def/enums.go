package def

import "tileiras/ir"

func enum(name string, keywords ...string) *ir.EnumDef {
	d := &ir.EnumDef{Name: name}
	for i, k := range keywords {
		d.Cases = append(d.Cases, ir.EnumCase{Keyword: k, Value: uint32(i)})
	}
	return d
}

// The enumerations of TileAA. Their values equal those of the bytecode (Tile IR bytecode, enum values), so that
// convert-to-tileaa copies them.
var (
	Signedness = enum("signedness", "unsigned", "signed")
	Overflow   = enum("overflow", "none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap")
	Rounding   = enum("rounding", "nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full",
		"nearest_int_to_zero", "nearest_away")
	Ordering  = enum("ordering", "unordered", "ordered")
	Predicate = enum("predicate", "equal", "not_equal", "less_than", "less_than_or_equal", "greater_than",
		"greater_than_or_equal")
	AtomicMode = enum("mode", "and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg")
	Scope      = enum("scope", "tl_blk", "device", "sys")
	MemOrder   = enum("mem_order", "weak", "relaxed", "acquire", "release", "acq_rel")
	Padding    = enum("padding", "zero", "neg_zero", "nan", "pos_inf", "neg_inf")
	// Space is where a buffer lies.
	Space = enum("space", "shared", "tmem")
)

// Cases of the enumerations that code compares with.
const (
	Unsigned, Signed = 0, 1

	NoOverflow, NoSignedWrap, NoUnsignedWrap, NoWrap = 0, 1, 2, 3

	RoundNearestEven, RoundZero, RoundNegInf, RoundPosInf                  = 0, 1, 2, 3
	RoundApprox, RoundFull, RoundNearestIntToZero, RoundNearestAway uint32 = 4, 5, 6, 7

	Unordered, Ordered = 0, 1

	PredEqual, PredNotEqual, PredLess, PredLessEqual, PredGreater, PredGreaterEqual = 0, 1, 2, 3, 4, 5

	ModeAnd, ModeOr, ModeXor, ModeAdd, ModeAddF, ModeMax, ModeMin, ModeUMax, ModeUMin, ModeXchg = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9

	ScopeBlock, ScopeDevice, ScopeSys = 0, 1, 2

	Weak, Relaxed, Acquire, Release, AcqRel = 0, 1, 2, 3, 4

	PadZero, PadNegZero, PadNaN, PadPosInf, PadNegInf = 0, 1, 2, 3, 4
)
