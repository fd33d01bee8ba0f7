package def

import "tileiras/ir"

// dialect is the name of the dialect.
const dialect = "tileaa"

// enum makes an enumeration of the dialect whose cases have the values 0, 1, 2, ... on the wire.
func enum[E ~uint32](name string, keywords ...string) ir.Enum[E] {
	return ir.NewEnum[E](dialect, name, keywords...)
}

// The enumerations of TileAA. Their values equal those of the bytecode (Tile IR bytecode, enum values), so that
// convert-to-tileaa copies them.
var (
	SignednessEnum = enum[Signedness]("signedness", "unsigned", "signed")
	OverflowEnum   = enum[Overflow]("overflow", "none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap")
	RoundingEnum   = enum[Rounding]("rounding", "nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full",
		"nearest_int_to_zero", "nearest_away")
	OrderingEnum  = enum[Ordering]("ordering", "unordered", "ordered")
	PredicateEnum = enum[Predicate]("predicate", "equal", "not_equal", "less_than", "less_than_or_equal", "greater_than",
		"greater_than_or_equal")
	AtomicModeEnum = enum[AtomicMode]("mode", "and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg")
	ScopeEnum      = enum[Scope]("scope", "tl_blk", "device", "sys")
	MemOrderEnum   = enum[MemOrder]("mem_order", "weak", "relaxed", "acquire", "release", "acq_rel")
	PaddingEnum    = enum[Padding]("padding", "zero", "neg_zero", "nan", "pos_inf", "neg_inf")
)

// The Go types of the enumerations.
type (
	Signedness uint32
	Overflow   uint32
	Rounding   uint32
	Ordering   uint32
	Predicate  uint32
	AtomicMode uint32
	Scope      uint32
	MemOrder   uint32
	Padding    uint32
)

const (
	Unsigned Signedness = iota
	Signed
)

const (
	NoOverflow Overflow = iota
	NoSignedWrap
	NoUnsignedWrap
	NoWrap
)

const (
	RoundNearestEven Rounding = iota
	RoundZero
	RoundNegInf
	RoundPosInf
	RoundApprox
	RoundFull
	RoundNearestIntToZero
	RoundNearestAway
)

const (
	Unordered Ordering = iota
	Ordered
)

const (
	PredEqual Predicate = iota
	PredNotEqual
	PredLess
	PredLessEqual
	PredGreater
	PredGreaterEqual
)

// Holds reports whether the predicate is true of two numbers of which the first is less, equal or neither.
func (p Predicate) Holds(less, equal bool) bool {
	switch p {
	case PredEqual:
		return equal
	case PredNotEqual:
		return !equal
	case PredLess:
		return less
	case PredLessEqual:
		return less || equal
	case PredGreater:
		return !less && !equal
	}
	return !less
}

const (
	ModeAnd AtomicMode = iota
	ModeOr
	ModeXor
	ModeAdd
	ModeAddF
	ModeMax
	ModeMin
	ModeUMax
	ModeUMin
	ModeXchg
)

const (
	ScopeBlock Scope = iota
	ScopeDevice
	ScopeSys
)

const (
	Weak MemOrder = iota
	Relaxed
	Acquire
	Release
	AcqRel
)

const (
	PadZero Padding = iota
	PadNegZero
	PadNaN
	PadPosInf
	PadNegInf
)
