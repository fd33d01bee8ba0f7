package cudatile

import (
	"fmt"

	"tileiras/ir"
)

// The rules of assume predicates, in the order in which the specification checks them. Each returns "" when the
// predicate can hold for values of the type.

const attrPrefix = "'" + Name + "."

// VerifyOn of div_by: a power of two up to 2^62; groups only along a dimension of a tile.
func (a *DivBy) VerifyOn(t ir.Type) string {
	say := func(format string, args ...any) string { return attrPrefix + "div_by' " + fmt.Sprintf(format, args...) }
	if a.Divisor == 0 || a.Divisor&(a.Divisor-1) != 0 {
		return say("divisor must be a power of 2")
	}
	if (a.Every == nil) != (a.Along == nil) {
		return say("'every'/'along' must be used in combination")
	}
	if a.Divisor > 1<<62 {
		return say("divisor is too large")
	}
	if _, ok := t.(*TensorViewType); ok {
		if a.Every != nil {
			return say("'every'/'along' cannot be used if the constrained value is a tensor_view")
		}
		return ""
	}
	tile, ok := t.(*TileType)
	if !ok || !isIntOrPtr(tile.Elem) {
		return say("is valid only for tile of integer/pointer or tensor_view values")
	}
	if a.Every == nil {
		return ""
	}
	if tile.Rank() == 0 {
		return say("'every'/'along' cannot be used if the constrained value is a 0D tile")
	}
	if *a.Along < 0 || *a.Along >= int64(tile.Rank()) {
		return say("every_dim (%d) must be >= 0 and < tile rank (%d)", *a.Along, tile.Rank())
	}
	if size := tile.Shape[*a.Along]; *a.Every < 0 || *a.Every > size {
		return fmt.Sprintf("expected %sdiv_by' every_dim to be within 0 and the size of the respective dimension (%d)",
			attrPrefix, size)
	}
	return ""
}

// VerifyOn of same_elements: one group size for each dimension.
func (a *SameElements) VerifyOn(t ir.Type) string {
	say := func(format string, args ...any) string {
		return attrPrefix + "same_elements' " + fmt.Sprintf(format, args...)
	}
	tile, ok := t.(*TileType)
	if !ok || !isIntOrPtr(tile.Elem) {
		return say("is valid only for tile of integer/pointer values")
	}
	if len(a.Values) != tile.Rank() {
		return say("expected %d values to match the tile rank, got %d", tile.Rank(), len(a.Values))
	}
	for i, v := range a.Values {
		if v < 0 || v > tile.Shape[i] {
			return say("expected value %d to be within 0 and the size of the respective dimension (%d), got %d", i, tile.Shape[i], v)
		}
	}
	return ""
}

// VerifyOn of bounded: bounds that the signed type can hold, in order.
func (a *Bounded) VerifyOn(t ir.Type) string {
	say := func(format string, args ...any) string {
		return attrPrefix + "bounded' " + fmt.Sprintf(format, args...)
	}
	tile, ok := t.(*TileType)
	if !ok || !intElems.has(tile.Elem) {
		return say("is valid only for tile of integer values")
	}
	shift := 64 - ir.BitWidth(tile.Elem)
	for _, b := range []struct {
		name  string
		value *int64
	}{{"lower", a.Lower}, {"upper", a.Upper}} {
		if b.value != nil && *b.value<<shift>>shift != *b.value {
			return say("%s bound %d is not within the range of %s", b.name, *b.value, tile.Elem)
		}
	}
	if a.Lower != nil && a.Upper != nil && *a.Lower > *a.Upper {
		return say("lower bound %d is greater than upper bound %d", *a.Lower, *a.Upper)
	}
	return ""
}

func isIntOrPtr(t ir.Type) bool {
	_, ptr := t.(*PtrType)
	return ptr || intElems.has(t)
}
