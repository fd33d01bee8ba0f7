package def

import "tileiras/ir"

// enum makes an enumeration whose cases have the values 0, 1, 2, ... on the wire.
func enum(name string, keywords ...string) *ir.EnumDef {
	d := &ir.EnumDef{Name: name}
	for i, k := range keywords {
		d.Cases = append(d.Cases, ir.EnumCase{Keyword: k, Value: uint32(i)})
	}
	return d
}

// expected says what an operation's form says when no case is there.
func expected(text string, d *ir.EnumDef) *ir.EnumDef { d.Expected = text; return d }

// caseSince says that a case exists from version v on only.
func caseSince(d *ir.EnumDef, keyword string, v ir.Version) *ir.EnumDef {
	for i := range d.Cases {
		if d.Cases[i].Keyword == keyword {
			d.Cases[i].Since = v
		}
	}
	return d
}

// The enumerations of the dialect.
var (
	Signedness = expected("expected signedness to be one of: {'signed', 'unsigned'}", enum("signedness", "unsigned", "signed"))
	Overflow   = enum("overflow", "none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap")
	Rounding   = caseSince(enum("rounding", "nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full",
		"nearest_int_to_zero", "nearest_away"), "nearest_away", ir.V(13, 4))
	Ordering = expected("expected 'comparison_ordering' to be one of: {'ordered', 'unordered'}",
		enum("comparison_ordering", "unordered", "ordered"))
	Predicate = expected("expected 'comparison_predicate' to be one of: {'equal', 'not_equal', 'less_than', 'less_than_or_equal', "+
		"'greater_than', 'greater_than_or_equal'}",
		enum("comparison_predicate", "equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"))
	AtomicMode = enum("atomic_rmw_mode", "and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg")
	Scope      = enum("memory_scope", "tl_blk", "device", "sys")
	MemOrder   = enum("memory_ordering_semantics", "weak", "relaxed", "acquire", "release", "acq_rel")
	Padding    = enum("padding_value", "zero", "neg_zero", "nan", "pos_inf", "neg_inf")
	Visibility = enum("symbol_visibility", "public", "private")
	PtrAttr    = caseSince(caseSince(enum("ptr_attr", "none", "unicast", "multicast"), "unicast", ir.V(13, 5)),
		"multicast", ir.V(13, 5))
	Multimem = enum("multimem_reduction_kind", "add", "min", "max", "and", "or", "xor", "umin", "umax")
)

// Enums lists the enumerations.
var Enums = []*ir.EnumDef{Signedness, Overflow, Rounding, Ordering, Predicate, AtomicMode, Scope, MemOrder, Padding,
	Visibility, PtrAttr, Multimem}

// Cases of the enumerations that code compares with.
const (
	Unsigned, Signed uint32 = 0, 1

	NoOverflowFlag, NoSignedWrap, NoUnsignedWrap, NoWrap uint32 = 0, 1, 2, 3

	RoundNearestEven, RoundZero, RoundNegInf, RoundPosInf           uint32 = 0, 1, 2, 3
	RoundApprox, RoundFull, RoundNearestIntToZero, RoundNearestAway uint32 = 4, 5, 6, 7

	Unordered, Ordered uint32 = 0, 1

	PredEqual, PredNotEqual, PredLess, PredLessEqual, PredGreater, PredGreaterEqual uint32 = 0, 1, 2, 3, 4, 5

	ModeAnd, ModeOr, ModeXor, ModeAdd, ModeAddF    uint32 = 0, 1, 2, 3, 4
	ModeMax, ModeMin, ModeUMax, ModeUMin, ModeXchg uint32 = 5, 6, 7, 8, 9

	ScopeBlock, ScopeDevice, ScopeSys uint32 = 0, 1, 2

	Weak, Relaxed, Acquire, Release, AcqRel uint32 = 0, 1, 2, 3, 4

	PadZero, PadNegZero, PadNaN, PadPosInf, PadNegInf uint32 = 0, 1, 2, 3, 4

	Public, Private uint32 = 0, 1

	PtrNone, PtrUnicast, PtrMulticast uint32 = 0, 1, 2
)
