package cudatile

import (
	"slices"
	"strings"

	"tileiras/ir"
	"tileiras/ir/float"
)

// elems is a set of element types, by their names in the text.
type elems []string

var (
	intElems    = elems{"i1", "i8", "i16", "i32", "i64"}
	baseElems   = elems{"f16", "bf16", "f32", "f64"}
	floatElems  = append(slices.Clone(baseElems), "tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN")
	numberElems = append(slices.Clone(intElems), floatElems...)
)

// The lists of element types in the messages of the type verifiers.
const (
	numberText = "f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN " +
		"or i1 or i8 or i16 or i32 or i64"
	tileElementText = numberText + " or " + pointer + " or i4"
)

func (e elems) has(t ir.Type) bool {
	switch t := t.(type) {
	case *ir.IntegerType:
		return slices.Contains(e, t.String())
	case *ir.FloatType:
		return slices.Contains(e, t.Format.Name())
	case *PtrType:
		return slices.Contains(e, pointer)
	}
	return false
}

// pointer stands for every pointer type in a list of element types.
const pointer = "Pointer type"

// isNumber: what a pointer may point to and an array may hold. The scale format of the 13.4 preview is one too, although
// no message names it.
func isNumber(t ir.Type) bool { return numberElems.has(t) || ir.IsFloat(t, float.F8E5M3FNU) }

// isTileElement: what a tile may hold.
func isTileElement(t ir.Type) bool {
	_, ptr := t.(*PtrType)
	return ptr || isNumber(t) || ir.IsInt(t, 4)
}

// tileOf is the constraint of tiles with these elements; scalarOf of those of rank 0.
func tileOf(name string, e ...string) *ir.TypeConstraint {
	return tiles(name, "tile of ", e, anyRank)
}

func anyRank(*TileType) bool { return true }

func scalarOf(name string, e ...string) *ir.TypeConstraint {
	return tiles(name, "0D tile of ", e, func(t *TileType) bool { return t.Rank() == 0 })
}

func tiles(name, what string, e elems, also func(*TileType) bool) *ir.TypeConstraint {
	return &ir.TypeConstraint{Name: name, Text: what + strings.Join(e, " or ") + " values", Check: func(t ir.Type) bool {
		tile, ok := t.(*TileType)
		return ok && e.has(tile.Elem) && also(tile)
	}}
}

// typeIs is the constraint of one kind of type.
func typeIs[T ir.Type](name, text string) *ir.TypeConstraint {
	return &ir.TypeConstraint{Name: name, Text: text, Check: func(t ir.Type) bool { _, ok := t.(T); return ok }}
}

func built(c *ir.TypeConstraint, build func(*ir.Context) ir.Type) *ir.TypeConstraint {
	c.Build = build
	return c
}

// constraints lists the type sets that the rows name.
func constraints() map[string]*ir.TypeConstraint {
	set := make(map[string]*ir.TypeConstraint)
	for _, c := range []*ir.TypeConstraint{
		tileOf("Int", intElems...),
		tileOf("Int4", append(slices.Clone(intElems), "i4")...),
		tileOf("Base", baseElems...),
		tileOf("Float", floatElems...),
		tileOf("Num", numberElems...),
		tileOf("Packable", append(slices.Clone(numberElems), "i4")...),
		tileOf("Ptr", pointer),
		tileOf("I1", "i1"),
		tileOf("I8", "i8"),
		tileOf("I32", "i32"),
		tileOf("I64", "i64"),
		tileOf("F32", "f32"),
		tiles("MmaInput", "mmaf operand tile type of ", elems{"f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2"}, anyRank),
		tiles("MmaAcc", "mmaf acc/result tile type of ", elems{"f16", "f32", "f64"}, anyRank),
		tiles("MmaiInput", "mmai operand tile type of ", elems{"i8"}, anyRank),
		tiles("MmaiAcc", "mmai acc/result tile type of ", elems{"i32"}, anyRank),
		tileOf("ScaledInput", "f8E4M3FN", "f8E5M2", "f4E2M1FN"),
		tileOf("Scale", "f8E4M3FN", "f8E8M0FNU", "fnv8E5M3FNU"),
		scalarOf("ScalarInt", intElems...),
		scalarOf("ScalarI1", "i1"),
		built(scalarOf("ScalarI32", "i32"), func(c *ir.Context) ir.Type { return Scalar(c, c.Int(32)) }),
		scalarOf("ScalarPtr", pointer),
		tiles("IndexTile", "tile of ", intElems, func(t *TileType) bool { return t.Rank() <= 1 }),
		typeIs[*TileType]("Tile", "tile of any type values"),
		typeIs[*TensorViewType]("TensorView", "TensorView type"),
		typeIs[TileView]("TileView", "a type that implements the TileView interface"),
		typeIs[*PartitionViewType]("PartitionView", "PartitionView type"),
		typeIs[*StridedViewType]("StridedView", "StridedView type"),
		typeIs[*GatherScatterViewType]("GatherScatterView", "GatherScatterView type"),
		built(typeIs[*TokenType]("Token", "Token type"), func(c *ir.Context) ir.Type { return Token(c) }),
		{Name: "Any", Text: "a tile, view or token", Check: func(t ir.Type) bool { return t != nil && t.TypeDialect() == Name }},
	} {
		set[c.Name] = c
	}
	return set
}
