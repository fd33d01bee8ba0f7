package cudatile

import (
	"slices"

	"tileiras/ir"
)

// Predicate is what an assume promises: *DivBy, *SameElements or *Bounded.
type Predicate interface {
	ir.DialectAttr
	// VerifyOn says in the words of the specification why the predicate cannot hold for values of a type, or "".
	VerifyOn(t ir.Type) string
}

// DivBy promises that elements are multiples of Divisor. With groups, only the first of each Every elements along
// dimension Along is, and the rest of the group grows by one (of pointers: by one element). Of a tensor view it speaks
// about the base address.
type DivBy struct {
	Divisor      uint64
	Every, Along *int64 // both or none
}

// SameElements promises that along dimension i groups of Values[i] neighbours are equal.
type SameElements struct{ Values []int64 }

// Bounded promises that signed elements lie between Lower and Upper, inclusive; nil is no bound.
type Bounded struct{ Lower, Upper *int64 }

func (*DivBy) AttrDialect() string        { return Name }
func (*SameElements) AttrDialect() string { return Name }
func (*Bounded) AttrDialect() string      { return Name }

func (a *DivBy) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*DivBy)
	return ok && a.Divisor == x.Divisor && equalInt(a.Every, x.Every) && equalInt(a.Along, x.Along)
}

func (a *SameElements) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*SameElements)
	return ok && slices.Equal(a.Values, x.Values)
}

func (a *Bounded) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*Bounded)
	return ok && equalInt(a.Lower, x.Lower) && equalInt(a.Upper, x.Upper)
}

func equalInt(a, b *int64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
