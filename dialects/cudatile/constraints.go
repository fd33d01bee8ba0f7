package cudatile

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// elems is a set of element types.
type elems struct {
	widths uint64   // of integers: bit w-1 for width w
	others []string // floats by their names in the text, pointers as def.Pointer
}

var (
	intElems    = elemsOf(def.Ints)
	numberElems = elemsOf(def.Numbers)
)

// elemsOf is a set by the names in the text. Every operand of every op is looked up in one: integers, which have no name until
// one is made, are looked up by width.
func elemsOf(names []string) (e elems) {
	for _, n := range names {
		if digits, integer := strings.CutPrefix(n, "i"); integer {
			width, _ := strconv.Atoi(digits)
			e.widths |= 1 << (width - 1)
		} else {
			e.others = append(e.others, n)
		}
	}
	return e
}

// The lists of element types in the messages of the type verifiers.
const (
	numberText = "f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN " +
		"or i1 or i8 or i16 or i32 or i64"
	tileElementText = numberText + " or " + def.Pointer + " or i4"
)

func (e elems) has(t ir.Type) bool {
	switch t := t.(type) {
	case *ir.IntegerType:
		return 1 <= t.Width && t.Width <= 64 && e.widths>>(t.Width-1)&1 != 0
	case *ir.FloatType:
		return slices.Contains(e.others, t.Format.Name())
	case *PtrType:
		return slices.Contains(e.others, def.Pointer)
	}
	return false
}

// isNumber: what a pointer may point to and an array may hold. The scale format of the 13.4 preview is one too, although
// no message names it.
func isNumber(t ir.Type) bool { return numberElems.has(t) || ir.IsFloat(t, float.F8E5M3FNU) }

// isTileElement: what a tile may hold.
func isTileElement(t ir.Type) bool {
	_, ptr := t.(*PtrType)
	return ptr || isNumber(t) || ir.IsInt(t, 4)
}

func is[T ir.Type](t ir.Type) bool { _, ok := t.(T); return ok }

// kinds are the sets that no list of element types describes.
var kinds = map[string]func(ir.Type) bool{
	"Tile":              is[*TileType],
	"TensorView":        is[*TensorViewType],
	"TileView":          is[TileView],
	"PartitionView":     is[*PartitionViewType],
	"StridedView":       is[*StridedViewType],
	"GatherScatterView": is[*GatherScatterViewType],
	"Token":             is[*TokenType],
	"Any":               func(ir.Type) bool { return true },
}

// members make the only type of a set of one.
var members = map[string]func(*ir.Context) ir.Type{
	"ScalarI32": func(c *ir.Context) ir.Type { return Scalar(c, c.Int(32)) },
	"Token":     func(c *ir.Context) ir.Type { return Token(c) },
}

// constraints makes the constraints of the type sets that the rows name.
func constraints() map[string]*ir.TypeConstraint {
	n := len(def.TypeSets)
	list, sets, all := make([]ir.TypeConstraint, n), make([]tileSet, n), make(map[string]*ir.TypeConstraint, n)
	for i := range def.TypeSets {
		s := &def.TypeSets[i]
		check := kinds[s.Name]
		if s.Elems != nil {
			sets[i].TypeSet = s
			check = sets[i].has
		}
		list[i] = ir.TypeConstraint{Name: s.Name, Text: s.Text, Check: check, Build: members[s.Name]}
		all[s.Name] = &list[i]
	}
	return all
}

// tileSet is a set of tiles by their element types, which are put together when somebody asks: a compile asks for few sets.
type tileSet struct {
	*def.TypeSet
	once  sync.Once
	elems elems
}

func (s *tileSet) has(t ir.Type) bool {
	s.once.Do(func() { s.elems = elemsOf(slices.Concat(s.Elems, s.Unnamed)) })
	tile, ok := t.(*TileType)
	return ok && tile.Rank() <= s.MaxRank && s.elems.has(tile.Elem)
}
