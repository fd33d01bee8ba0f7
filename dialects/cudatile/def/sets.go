package def

import "strings"

// TypeSet is a named set of types, which the operands and results of the rows refer to.
type TypeSet struct {
	Name string
	// Kind is how a message begins that describes the set.
	Kind string
	// Elems are the element types of a set of tiles; none for other sets.
	Elems []string
	// Unnamed are element types that no message names.
	Unnamed []string
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
	preview = []string{"fnv8E5M3FNU"} // of 13.4: no message names it
)

func with(list []string, more ...string) []string {
	return append(append([]string(nil), list...), more...)
}

// TypeSets lists the sets. Those without element types are kinds of types that package cudatile knows by name.
var TypeSets = []TypeSet{
	{Name: "Int", Kind: "tile of ", Elems: Ints, MaxRank: AnyRank},
	{Name: "Int4", Kind: "tile of ", Elems: with(Ints, "i4"), MaxRank: AnyRank},
	{Name: "Power", Kind: "tile of ", Elems: []string{"i1", "i8", "i16", "i32"}, MaxRank: AnyRank},
	{Name: "Base", Kind: "tile of ", Elems: bases, MaxRank: AnyRank},
	{Name: "Float", Kind: "tile of ", Elems: floats, Unnamed: preview, MaxRank: AnyRank},
	{Name: "Num", Kind: "tile of ", Elems: Numbers, Unnamed: preview, MaxRank: AnyRank},
	{Name: "Packable", Kind: "tile of ", Elems: with(Numbers, "i4"), Unnamed: preview, MaxRank: AnyRank},
	{Name: "Ptr", Kind: "tile of ", Elems: []string{Pointer}, MaxRank: AnyRank},
	{Name: "I1", Kind: "tile of ", Elems: []string{"i1"}, MaxRank: AnyRank},
	{Name: "I8", Kind: "tile of ", Elems: []string{"i8"}, MaxRank: AnyRank},
	{Name: "I64", Kind: "tile of ", Elems: []string{"i64"}, MaxRank: AnyRank},
	{Name: "F32", Kind: "mmaf_scaled result tile type of ", Elems: []string{"f32"}, MaxRank: AnyRank},
	{Name: "MmaInput", Kind: "mmaf operand tile type of ", Elems: []string{"f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2"}, MaxRank: AnyRank},
	{Name: "MmaAcc", Kind: "mmaf acc/result tile type of ", Elems: []string{"f16", "f32", "f64"}, MaxRank: AnyRank},
	{Name: "MmaiInput", Kind: "mmai operand tile type of ", Elems: []string{"i8"}, MaxRank: AnyRank},
	{Name: "MmaiAcc", Kind: "mmai acc/result tile type of ", Elems: []string{"i32"}, MaxRank: AnyRank},
	{Name: "ScaledInput", Kind: "mmaf_scaled operand tile type of ", Elems: []string{"f8E4M3FN", "f8E5M2", "f4E2M1FN"}, MaxRank: AnyRank},
	{Name: "Scale", Kind: "mmaf_scaled scale tile type of ", Elems: []string{"f8E4M3FN", "f8E8M0FNU"}, Unnamed: preview, MaxRank: AnyRank},
	{Name: "ScalarInt", Kind: "0D tile of ", Elems: Ints, MaxRank: 0},
	{Name: "ScalarI1", Kind: "0D tile of ", Elems: []string{"i1"}, MaxRank: 0},
	{Name: "ScalarI32", Kind: "0D tile of ", Elems: []string{"i32"}, MaxRank: 0},
	{Name: "ScalarPtr", Kind: "0D tile of ", Elems: []string{Pointer}, MaxRank: 0},
	{Name: "IndexTile", Kind: "tile of ", Elems: Ints, MaxRank: 1},
	{Name: "Tile", Kind: "Tile type"},
	{Name: "TensorView", Kind: "tensor view type"},
	{Name: "TileView", Kind: "TileView instance"},
	{Name: "PartitionView", Kind: "partition view type"},
	{Name: "StridedView", Kind: "strided view type"},
	{Name: "GatherScatterView", Kind: "gather scatter view type"},
	{Name: "Token", Kind: "cuda tile token type"},
	{Name: "Any", Kind: "any type"},
}

// Text describes the set as messages do: "tile of i1 or i8 values".
func (s *TypeSet) Text() string {
	if s.Elems == nil {
		return s.Kind
	}
	return s.Kind + strings.Join(s.Elems, " or ") + " values"
}
