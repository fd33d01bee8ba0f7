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
	const name = attrPrefix + "same_elements'"
	tile, ok := t.(*TileType)
	if !ok || !isIntOrPtr(tile.Elem) {
		return name + " is valid only for tile of integer/pointer values"
	}
	if len(a.Values) != tile.Rank() {
		return fmt.Sprintf("expected number of values in %s (%d) to match rank of constrained tile (%d)",
			name, len(a.Values), tile.Rank())
	}
	for i, v := range a.Values {
		if v < 0 || v > tile.Shape[i] {
			return fmt.Sprintf("expected %s value %d to be within 0 and the size of the respective dimension (%d)",
				name, i, tile.Shape[i])
		}
	}
	return ""
}

// VerifyOn of bounded: bounds that the signed type can hold, in order.
func (a *Bounded) VerifyOn(t ir.Type) string {
	const name = attrPrefix + "bounded'"
	tile, ok := t.(*TileType)
	if !ok || !intElems.has(tile.Elem) {
		return name + " is valid only for tile of integer values"
	}
	least := int64(-1) << (ir.BitWidth(tile.Elem) - 1)
	within := func(v *int64) bool { return v == nil || *v >= least && *v <= ^least }
	switch {
	case !within(a.Lower):
		return fmt.Sprintf("%s expects lower bound to be within [%d, %d]", name, least, ^least)
	case !within(a.Upper):
		return fmt.Sprintf("%s expects upper bound to be within [%d, %d]", name, least, ^least)
	case a.Lower != nil && a.Upper != nil && *a.Lower > *a.Upper:
		return name + " expects lower bound to be less than or equal to upper bound"
	}
	return ""
}

func isIntOrPtr(t ir.Type) bool {
	_, ptr := t.(*PtrType)
	return ptr || intElems.has(t)
}
