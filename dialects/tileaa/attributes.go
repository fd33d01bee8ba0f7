package tileaa

import (
	"fmt"
	"slices"
	"strings"

	"tileiras/ir"
)

// The predicates of assume, with the meaning of Tile IR's attributes of the same names. A false promise is undefined.
type (
	// DivByAttr: every element is a multiple of Divisor (of pointers: the address in bytes). Grouped: along dimension
	// Along, in groups of Every elements, the first is one and the others count up by 1 (pointers: by an element).
	DivByAttr struct {
		Divisor      uint64 // a power of two
		Grouped      bool
		Every, Along int64
	}
	// SameElementsAttr: along dimension d, groups of Groups[d] neighbours are equal.
	SameElementsAttr struct{ Groups []int64 }
	// BoundedAttr: Lower <= x <= Upper, signed; nil is no bound.
	BoundedAttr struct{ Lower, Upper *int64 }
)

func (*DivByAttr) AttrDialect() string        { return "tileaa" }
func (*SameElementsAttr) AttrDialect() string { return "tileaa" }
func (*BoundedAttr) AttrDialect() string      { return "tileaa" }

func (a *DivByAttr) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*DivByAttr)
	return ok && *a == *x
}

func (a *SameElementsAttr) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*SameElementsAttr)
	return ok && slices.Equal(a.Groups, x.Groups)
}

func (a *BoundedAttr) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*BoundedAttr)
	return ok && equalBound(a.Lower, x.Lower) && equalBound(a.Upper, x.Upper)
}

func equalBound(a, b *int64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// String is the body of the attribute: div_by<16>, div_by<4, every 4 along 1>, same_elements<[2, 4]>, bounded<0, ?>.
func (a *DivByAttr) String() string {
	if a.Grouped {
		return fmt.Sprintf("div_by<%d, every %d along %d>", a.Divisor, a.Every, a.Along)
	}
	return fmt.Sprintf("div_by<%d>", a.Divisor)
}

func (a *SameElementsAttr) String() string {
	return "same_elements<" + strings.ReplaceAll(fmt.Sprint(a.Groups), " ", ", ") + ">"
}

func (a *BoundedAttr) String() string {
	bound := func(b *int64) string {
		if b == nil {
			return "?"
		}
		return fmt.Sprint(*b)
	}
	return "bounded<" + bound(a.Lower) + ", " + bound(a.Upper) + ">"
}
