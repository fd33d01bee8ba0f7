package def

import "strings"

// TypeSet is a named set of types, which the operands and results of the rows refer to.
type TypeSet struct {
	Name string
	// Kind is how a message begins that describes the set.
	Kind string
	// Elems are the element types of a set of tiles; none for other sets.
	Elems []string
	// MaxRank is the largest rank of a set of tiles; AnyRank means any.
	MaxRank int
}

// AnyRank is the MaxRank of sets of tiles of any rank.
const AnyRank = 1 << 30

// Pointer stands for every pointer type among element types.
const Pointer = "Pointer type"

// Element types, in the order in which messages list them.
var (
	Ints    = []string{"i1", "i8", "i16", "i32", "i64"}
	bases   = []string{"f16", "bf16", "f32", "f64"}
	floats  = with(bases, "tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN")
	Numbers = with(Ints, floats...)
)

func with(list []string, more ...string) []string {
	return append(append([]string(nil), list...), more...)
}

// TypeSets lists the sets. Those without element types are kinds of types that package cudatile knows by name.
var TypeSets = []TypeSet{
	{"Int", "tile of ", Ints, AnyRank},
	{"Int4", "tile of ", with(Ints, "i4"), AnyRank},
	{"Base", "tile of ", bases, AnyRank},
	{"Float", "tile of ", floats, AnyRank},
	{"Num", "tile of ", Numbers, AnyRank},
	{"Packable", "tile of ", with(Numbers, "i4"), AnyRank},
	{"Ptr", "tile of ", []string{Pointer}, AnyRank},
	{"I1", "tile of ", []string{"i1"}, AnyRank},
	{"I8", "tile of ", []string{"i8"}, AnyRank},
	{"I64", "tile of ", []string{"i64"}, AnyRank},
	{"F32", "tile of ", []string{"f32"}, AnyRank},
	{"MmaInput", "mmaf operand tile type of ", []string{"f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2"}, AnyRank},
	{"MmaAcc", "mmaf acc/result tile type of ", []string{"f16", "f32", "f64"}, AnyRank},
	{"MmaiInput", "mmai operand tile type of ", []string{"i8"}, AnyRank},
	{"MmaiAcc", "mmai acc/result tile type of ", []string{"i32"}, AnyRank},
	{"ScaledInput", "tile of ", []string{"f8E4M3FN", "f8E5M2", "f4E2M1FN"}, AnyRank},
	{"Scale", "tile of ", []string{"f8E4M3FN", "f8E8M0FNU", "fnv8E5M3FNU"}, AnyRank},
	{"ScalarInt", "0D tile of ", Ints, 0},
	{"ScalarI1", "0D tile of ", []string{"i1"}, 0},
	{"ScalarI32", "0D tile of ", []string{"i32"}, 0},
	{"ScalarPtr", "0D tile of ", []string{Pointer}, 0},
	{"IndexTile", "tile of ", Ints, 1},
	{"Tile", "Tile type", nil, 0},
	{"TensorView", "tensor view type", nil, 0},
	{"TileView", "a type that implements the TileView interface", nil, 0},
	{"PartitionView", "partition view type", nil, 0},
	{"StridedView", "strided view type", nil, 0},
	{"GatherScatterView", "gather scatter view type", nil, 0},
	{"Token", "cuda tile token type", nil, 0},
	{"Any", "any type", nil, 0},
}

// Text describes the set as messages do: "tile of i1 or i8 values".
func (s *TypeSet) Text() string {
	if s.Elems == nil {
		return s.Kind
	}
	return s.Kind + strings.Join(s.Elems, " or ") + " values"
}
