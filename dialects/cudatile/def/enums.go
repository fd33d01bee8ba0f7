package def

import "tileiras/ir"

// dialect is the name of the dialect.
const dialect = "cuda_tile"

// enum makes an enumeration of the dialect whose cases have the values 0, 1, 2, ... on the wire.
func enum[E ~uint32](name string, keywords ...string) ir.Enum[E] {
	return ir.NewEnum[E](dialect, name, keywords...)
}

// expected says what an operation's form says when no case is there.
func expected[E ~uint32](text string, d ir.Enum[E]) ir.Enum[E] { d.Expected = text; return d }

// caseSince says that a case exists from version v on only.
func caseSince[E ~uint32](d ir.Enum[E], keyword string, v ir.Version) ir.Enum[E] {
	for i := range d.Cases {
		if d.Cases[i].Keyword == keyword {
			d.Cases[i].Since = v
		}
	}
	return d
}

// The enumerations of the dialect.
var (
	SignednessEnum = expected("expected signedness to be one of: {'signed', 'unsigned'}", enum[Signedness]("signedness", "unsigned", "signed"))
	OverflowEnum   = enum[Overflow]("overflow", "none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap")
	RoundingEnum   = caseSince(enum[Rounding]("rounding", "nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full",
		"nearest_int_to_zero", "nearest_away"), "nearest_away", ir.V(13, 4))
	OrderingEnum = expected("expected 'comparison_ordering' to be one of: {'ordered', 'unordered'}",
		enum[Ordering]("comparison_ordering", "unordered", "ordered"))
	PredicateEnum = expected("expected 'comparison_predicate' to be one of: {'equal', 'not_equal', 'less_than', 'less_than_or_equal', "+
		"'greater_than', 'greater_than_or_equal'}",
		enum[Predicate]("comparison_predicate", "equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"))
	AtomicModeEnum = enum[AtomicMode]("atomic_rmw_mode", "and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg")
	ScopeEnum      = enum[Scope]("memory_scope", "tl_blk", "device", "sys")
	MemOrderEnum   = enum[MemOrder]("memory_ordering_semantics", "weak", "relaxed", "acquire", "release", "acq_rel")
	PaddingEnum    = enum[Padding]("padding_value", "zero", "neg_zero", "nan", "pos_inf", "neg_inf")
	VisibilityEnum = enum[Visibility]("symbol_visibility", "public", "private")
	PtrAttrEnum    = caseSince(caseSince(enum[PtrAttr]("ptr_attr", "none", "unicast", "multicast"), "unicast", ir.V(13, 5)),
		"multicast", ir.V(13, 5))
	MultimemEnum = enum[Multimem]("multimem_reduction_kind", "add", "min", "max", "and", "or", "xor", "umin", "umax")
)

// Enums lists the enumerations.
var Enums = []*ir.EnumDef{&SignednessEnum.EnumDef, &OverflowEnum.EnumDef, &RoundingEnum.EnumDef, &OrderingEnum.EnumDef, &PredicateEnum.EnumDef,
	&AtomicModeEnum.EnumDef, &ScopeEnum.EnumDef, &MemOrderEnum.EnumDef, &PaddingEnum.EnumDef, &VisibilityEnum.EnumDef, &PtrAttrEnum.EnumDef, &MultimemEnum.EnumDef}

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
	Visibility uint32
	PtrAttr    uint32
	Multimem   uint32
)

const (
	Unsigned Signedness = iota
	Signed
)

const (
	NoOverflowFlag Overflow = iota
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

const (
	Public Visibility = iota
	Private
)

const (
	PtrNone PtrAttr = iota
	PtrUnicast
	PtrMulticast
)

const (
	MultimemAdd Multimem = iota
	MultimemMin
	MultimemMax
	MultimemAnd
	MultimemOr
	MultimemXor
	MultimemUMin
	MultimemUMax
)
