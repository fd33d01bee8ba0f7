package ir

import (
	"bytes"
	"reflect"
	"slices"
)

// Attribute is a compile-time value attached to an operation. Attributes are compared with AttrEqual, not ==.
// The text of the built-in kinds is known to the parser and printer; a dialect's own kinds implement DialectAttr.
type Attribute interface {
	// EqualAttr reports whether the other attribute, which is not nil, is the same value.
	EqualAttr(Attribute) bool
}

// DialectAttr is an attribute kind of a dialect; it prints as "#dialect.body".
type DialectAttr interface {
	Attribute
	AttrDialect() string
	// WriteAttr prints the body, "div_by<16>".
	WriteAttr(p *Printer)
}

// AttrEqual compares two attributes; nil equals only nil.
func AttrEqual(a, b Attribute) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.EqualAttr(b)
}

// The built-in attribute kinds.
type (
	// IntegerAttr is an integer with its type; Bits holds the value zero-extended from the type's width.
	IntegerAttr struct {
		Type Type
		Bits uint64
	}
	// FloatAttr is a float with its type, as the bit pattern of the format.
	FloatAttr struct {
		Type Type
		Bits uint64
	}
	// BoolAttr is true or false.
	BoolAttr bool
	// UnitAttr says something by being there.
	UnitAttr struct{}
	// StringAttr is a string of bytes.
	StringAttr string
	// SymbolAttr is a reference to a symbol, "@name", or a symbol's own name.
	SymbolAttr string
	// TypeAttr wraps a type.
	TypeAttr struct{ Type Type }
	// ArrayAttr is a list of attributes.
	ArrayAttr []Attribute
	// I32Array, I64Array and BoolArray are dense lists.
	I32Array  []int32
	I64Array  []int64
	BoolArray []bool
	// DictAttr is a list of named attributes in the order in which they were written; names are unique.
	DictAttr []NamedAttr
	// EnumAttr is one case of an enumeration.
	EnumAttr struct {
		Enum  *EnumDef
		Value uint32
	}
	// DenseAttr is a constant tile: raw little-endian elements in row-major order, or one element for a splat. The
	// slice may share the bytes of the file. Elements take whole bytes; i1 is one byte, 0 or 1, in memory.
	DenseAttr struct {
		Type  Type
		Data  []byte
		Splat bool
	}
)

// NamedAttr is an attribute under a name.
type NamedAttr struct {
	Name  string
	Value Attribute
}

// SInt reads the value as a signed integer of its type's width.
func (a IntegerAttr) SInt() int64 {
	w := BitWidth(a.Type)
	if w == 0 || w >= 64 {
		return int64(a.Bits)
	}
	return int64(a.Bits<<(64-w)) >> (64 - w)
}

// Get finds an entry by name.
func (d DictAttr) Get(name string) (Attribute, bool) {
	for _, e := range d {
		if e.Name == name {
			return e.Value, true
		}
	}
	return nil, false
}

// String is the keyword of the case, as the text form spells it.
func (a EnumAttr) String() string { return a.Enum.Keyword(a.Value) }

func (a IntegerAttr) EqualAttr(b Attribute) bool { x, ok := b.(IntegerAttr); return ok && a == x }
func (a FloatAttr) EqualAttr(b Attribute) bool   { x, ok := b.(FloatAttr); return ok && a == x }
func (a BoolAttr) EqualAttr(b Attribute) bool    { x, ok := b.(BoolAttr); return ok && a == x }
func (a UnitAttr) EqualAttr(b Attribute) bool    { _, ok := b.(UnitAttr); return ok }
func (a StringAttr) EqualAttr(b Attribute) bool  { x, ok := b.(StringAttr); return ok && a == x }
func (a SymbolAttr) EqualAttr(b Attribute) bool  { x, ok := b.(SymbolAttr); return ok && a == x }
func (a TypeAttr) EqualAttr(b Attribute) bool    { x, ok := b.(TypeAttr); return ok && a == x }
func (a EnumAttr) EqualAttr(b Attribute) bool    { x, ok := b.(EnumAttr); return ok && a == x }
func (a ArrayAttr) EqualAttr(b Attribute) bool {
	x, ok := b.(ArrayAttr)
	return ok && slices.EqualFunc(a, x, AttrEqual)
}
func (a I32Array) EqualAttr(b Attribute) bool { x, ok := b.(I32Array); return ok && slices.Equal(a, x) }
func (a I64Array) EqualAttr(b Attribute) bool { x, ok := b.(I64Array); return ok && slices.Equal(a, x) }
func (a BoolArray) EqualAttr(b Attribute) bool {
	x, ok := b.(BoolArray)
	return ok && slices.Equal(a, x)
}
func (a DictAttr) EqualAttr(b Attribute) bool {
	x, ok := b.(DictAttr)
	return ok && slices.EqualFunc(a, x, func(m, n NamedAttr) bool { return m.Name == n.Name && AttrEqual(m.Value, n.Value) })
}
func (a *DenseAttr) EqualAttr(b Attribute) bool {
	x, ok := b.(*DenseAttr)
	return ok && a.Type == x.Type && a.Splat == x.Splat && bytes.Equal(a.Data, x.Data)
}

// EnumDef is an enumeration: its cases in text and on the wire.
type EnumDef struct {
	Dialect string        // of the rows that have attributes of it
	Name    string        // as in the text, "rounding"
	GoType  func() string // the name of the type of its cases in the package of the rows, for generated accessors
	Cases   []EnumCase
	// Expected is what an operation's own form says when the keyword of no case is there; empty means MLIR's own words.
	Expected string
}

// EnumCase is one case of an enumeration.
type EnumCase struct {
	Keyword string
	Value   uint32
	Since   Version
}

// Keyword is the text of a value, or "" if the value is no case.
func (d *EnumDef) Keyword(v uint32) string {
	for _, c := range d.Cases {
		if c.Value == v {
			return c.Keyword
		}
	}
	return ""
}

// Case finds a case by its value, or nil.
func (d *EnumDef) Case(v uint32) *EnumCase {
	for i := range d.Cases {
		if d.Cases[i].Value == v {
			return &d.Cases[i]
		}
	}
	return nil
}

// Lookup finds a case by its keyword.
func (d *EnumDef) Lookup(keyword string) (uint32, bool) {
	for _, c := range d.Cases {
		if c.Keyword == keyword {
			return c.Value, true
		}
	}
	return 0, false
}

// Of makes the attribute of a case.
func (d *EnumDef) Of(v uint32) EnumAttr { return EnumAttr{d, v} }

// Enum is an enumeration whose cases are constants of the Go type E. It is known by its address.
type Enum[E ~uint32] struct{ EnumDef }

// NewEnum makes an enumeration of a dialect whose cases, constants of the Go type E, have the values 0, 1, 2, ...
func NewEnum[E ~uint32](dialect, name string, keywords ...string) Enum[E] {
	cases := make([]EnumCase, len(keywords))
	for i, k := range keywords {
		cases[i] = EnumCase{Keyword: k, Value: uint32(i)}
	}
	return Enum[E]{EnumDef{Dialect: dialect, GoType: func() string { return reflect.TypeFor[E]().Name() }, Name: name, Cases: cases}}
}

// Of makes the attribute of a case.
func (e *Enum[E]) Of(v E) EnumAttr { return e.EnumDef.Of(uint32(v)) }

// Keyword is the text of a case, or "" if the value is no case.
func (e *Enum[E]) Keyword(v E) string { return e.EnumDef.Keyword(uint32(v)) }

// Lookup finds a case by its keyword.
func (e *Enum[E]) Lookup(keyword string) (E, bool) {
	v, ok := e.EnumDef.Lookup(keyword)
	return E(v), ok
}
