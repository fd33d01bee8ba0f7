package ir

import (
	"encoding/binary"
	"fmt"
	"strings"

	"tileiras/ir/float"
)

// Type is an interned type: two types of one context are the same type exactly when they are ==.
//
// A dialect's type prints its body without the dialect prefix ("tile<4xf32>"); the printer adds "!cuda_tile." where the
// text around it does not imply the dialect.
type Type interface {
	// TypeDialect is the dialect that owns the type, "" for the element types of this package.
	TypeDialect() string
	// WriteType appends the body of the type to w.
	WriteType(w *strings.Builder)
}

// TypeString is the text of a type with its dialect prefix, "!dialect.body".
func TypeString(t Type) string {
	if t == nil {
		return "<<null type>>"
	}
	var b strings.Builder
	if d := t.TypeDialect(); d != "" {
		b.WriteString("!" + d + ".")
	}
	t.WriteType(&b)
	return b.String()
}

// ShortType is the text of a type without its dialect prefix.
func ShortType(t Type) string {
	if t == nil {
		return "<<null type>>"
	}
	var b strings.Builder
	t.WriteType(&b)
	return b.String()
}

// IntegerType is a signless integer of 1 to 64 bits: the operations carry signedness.
type IntegerType struct{ Width int }

func (t *IntegerType) TypeDialect() string          { return "" }
func (t *IntegerType) WriteType(w *strings.Builder) { fmt.Fprintf(w, "i%d", t.Width) }
func (t *IntegerType) String() string               { return ShortType(t) }

// FloatType is a float of one format of ir/float.
type FloatType struct{ Format *float.Format }

func (t *FloatType) TypeDialect() string          { return "" }
func (t *FloatType) WriteType(w *strings.Builder) { w.WriteString(t.Format.Name()) }
func (t *FloatType) String() string               { return ShortType(t) }

// FunctionType is the signature of a function or entry.
type FunctionType struct{ Inputs, Results []Type }

func (t *FunctionType) TypeDialect() string { return "" }
func (t *FunctionType) WriteType(w *strings.Builder) {
	w.WriteByte('(')
	writeTypes(w, t.Inputs)
	w.WriteString(") -> (")
	writeTypes(w, t.Results)
	w.WriteByte(')')
}
func (t *FunctionType) String() string { return ShortType(t) }

// OpaqueType is a type of a dialect that the context does not know.
type OpaqueType struct{ Text string }

func (t *OpaqueType) TypeDialect() string          { return "" }
func (t *OpaqueType) WriteType(w *strings.Builder) { w.WriteString(t.Text) }
func (t *OpaqueType) String() string               { return t.Text }

func writeTypes(w *strings.Builder, ts []Type) {
	for i, t := range ts {
		if i > 0 {
			w.WriteString(", ")
		}
		w.WriteString(TypeString(t))
	}
}

// typeKey turns a list of interned types into a comparable key: their pointers as text.
func (c *Context) typeKey(ts []Type) string {
	var b strings.Builder
	for _, t := range ts {
		c.Step()
		fmt.Fprintf(&b, "%p;", t)
	}
	return b.String()
}

// ShapeKey turns a list of dimensions into a comparable key for Intern.
func ShapeKey(dims []int64) string {
	b := make([]byte, 0, 8*len(dims))
	for _, d := range dims {
		b = binary.LittleEndian.AppendUint64(b, uint64(d))
	}
	return string(b)
}

// BitWidth is the number of significant bits of an integer or float type, or 0 for other types.
func BitWidth(t Type) int {
	switch t := t.(type) {
	case *IntegerType:
		return t.Width
	case *FloatType:
		return t.Format.Bits()
	}
	return 0
}

// IsInt reports whether t is an integer type of one of the widths (of any width if none is given).
func IsInt(t Type, widths ...int) bool {
	i, ok := t.(*IntegerType)
	if !ok {
		return false
	}
	for _, w := range widths {
		if i.Width == w {
			return true
		}
	}
	return len(widths) == 0
}

// IsFloat reports whether t is a float type of one of the formats (of any format if none is given).
func IsFloat(t Type, formats ...*float.Format) bool {
	f, ok := t.(*FloatType)
	if !ok {
		return false
	}
	for _, g := range formats {
		if f.Format == g {
			return true
		}
	}
	return len(formats) == 0
}
