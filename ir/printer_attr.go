package ir

import (
	"cmp"
	"slices"
	"strconv"
)

// Attr writes an attribute so that it can be read back without knowing what is expected: with its type where that is not
// the usual one, with its dialect's prefix, or as an alias.
func (p *Printer) Attr(a Attribute) {
	switch a := a.(type) {
	case nil:
		p.Str("<<null attribute>>")
	case IntegerAttr:
		p.IntegerValue(a)
		if a.Type != nil && !IsInt(a.Type, 1, 64) {
			p.Str(" : ")
			p.Type(a.Type)
		}
	case FloatAttr:
		text := p.floatText(a)
		p.Str(text)
		f, _ := a.Type.(*FloatType)
		if f == nil || f.Format.Bits() != 64 || len(text) > 1 && text[1] == 'x' {
			p.Str(" : ")
			p.Type(a.Type)
		}
	case TypeAttr:
		p.Type(a.Type)
	case I32Array:
		p.Str("array<i32")
		denseList(p, a)
	case I64Array:
		p.Str("array<i64")
		denseList(p, a)
	case BoolArray:
		p.Str("array<i1")
		for i, v := range a {
			p.Str(listSeparator(i) + strconv.FormatBool(v))
		}
		p.Str(">")
	case EnumAttr:
		p.Str("#" + a.Enum.Dialect + "." + a.Enum.Name + "<" + a.String() + ">")
	case *DenseAttr:
		p.Str("dense")
		p.Dense(a)
		p.Str(" : ")
		p.Type(a.Type)
	case locationAttr:
		p.Loc(a.Location)
	case DialectAttr:
		p.dialectAttr(a)
	default:
		p.plainAttr(a)
	}
}

// plainAttr writes the kinds whose text never depends on what is expected.
func (p *Printer) plainAttr(a Attribute) {
	switch a := a.(type) {
	case BoolAttr:
		p.Str(strconv.FormatBool(bool(a)))
	case UnitAttr:
		p.Str("unit")
	case StringAttr:
		p.Quoted(string(a))
	case SymbolAttr:
		p.Symbol(string(a))
	case ArrayAttr:
		p.Str("[")
		for i, e := range a {
			if i > 0 {
				p.Str(", ")
			}
			p.Attr(e)
		}
		p.Str("]")
	case DictAttr:
		p.Str("{")
		for i, e := range a {
			if i > 0 {
				p.Str(", ")
			}
			p.Str(keyText(e.Name))
			if _, unit := e.Value.(UnitAttr); !unit {
				p.Str(" = ")
				p.Attr(e.Value)
				if i, ok := e.Value.(IntegerAttr); ok && p.opts.Generic && IsInt(i.Type, 64) { // MLIR leaves i64 out elsewhere
					p.Str(" : i64")
				}
			}
		}
		p.Str("}")
	default:
		p.Str("<<unknown attribute>>")
	}
}

func listSeparator(i int) string {
	if i == 0 {
		return ": "
	}
	return ", "
}

func denseList[T int32 | int64](p *Printer, list []T) {
	for i, v := range list {
		p.Str(listSeparator(i) + strconv.FormatInt(int64(v), 10))
	}
	p.Str(">")
}

// IntegerValue writes an integer without its type: signed decimal, i1 as true or false.
func (p *Printer) IntegerValue(a IntegerAttr) {
	if IsInt(a.Type, 1) {
		p.Str(strconv.FormatBool(a.Bits&1 != 0))
		return
	}
	p.Str(strconv.FormatInt(a.SInt(), 10))
}

func (p *Printer) floatText(a FloatAttr) string {
	f, ok := a.Type.(*FloatType)
	if !ok {
		return "<<float attribute without float type>>"
	}
	return f.Format.FormatMLIR(a.Bits)
}

// ShortAttr writes an attribute of a dialect without its prefix when text around it implies the dialect d.
func (p *Printer) ShortAttr(a Attribute, d string) {
	if da, ok := a.(DialectAttr); ok && da.AttrDialect() == d {
		da.WriteAttr(p)
		return
	}
	p.Attr(a)
}

// AttrOf writes an attribute where its declaration says what is expected: enum cases as keywords, integers without type.
func (p *Printer) AttrOf(d *ArgDef, a Attribute) {
	switch a := a.(type) {
	case EnumAttr:
		if d.Attr == EnumKind {
			p.Str(a.String())
			return
		}
	case IntegerAttr:
		if d.Attr == I32Kind || d.Attr == I64Kind {
			p.Str(strconv.FormatInt(a.SInt(), 10))
			return
		}
	case *DenseAttr:
		if d.Attr == DenseKind {
			p.Dense(a)
			p.Str(" : ")
			p.Type(a.Type)
			return
		}
	case I32Array:
		if d.Attr == I32ArrayKind {
			bracketed(p, a, func(v int32) string { return strconv.Itoa(int(v)) })
			return
		}
	case I64Array:
		if d.Attr == I64ArrayKind {
			bracketed(p, a, func(v int64) string { return strconv.FormatInt(v, 10) })
			return
		}
	case BoolArray:
		if d.Attr == BoolArrayKind {
			bracketed(p, a, strconv.FormatBool)
			return
		}
	case DictAttr:
		if d.Attr == HintsKind {
			p.Hints(a)
			return
		}
	case DialectAttr:
		if d.Attr == PredicateKind && a.AttrDialect() == p.dialect() {
			a.WriteAttr(p)
			return
		}
	}
	p.Attr(a)
}

func bracketed[T any](p *Printer, list []T, text func(T) string) {
	p.Str("[")
	for i, v := range list {
		if i > 0 {
			p.Str(", ")
		}
		p.Str(text(v))
	}
	p.Str("]")
}

// Hints writes optimization hints, <sm_100 = {latency = 3}, default = {}>: keys bare, values without types.
func (p *Printer) Hints(d DictAttr) {
	p.Str("<")
	p.hintEntries(d)
	p.Str(">")
}

func (p *Printer) hintEntries(d DictAttr) {
	if p.opts.Unwrapped {
		d = slices.SortedStableFunc(slices.Values(d), func(a, b NamedAttr) int { return cmp.Compare(a.Name, b.Name) })
	}
	for i, e := range d {
		if i > 0 {
			p.Str(", ")
		}
		p.Str(e.Name + " = ")
		switch v := e.Value.(type) {
		case DictAttr:
			p.Str("{")
			p.hintEntries(v)
			p.Str("}")
		case IntegerAttr:
			p.IntegerValue(v)
		case FloatAttr:
			p.Str(p.floatText(v))
		default:
			p.Attr(e.Value)
		}
	}
}

// Dense writes the elements of a constant with their type in front, <f32: [[1.000000e+00, ...], ...]>; equal elements
// are written once.
func (p *Printer) Dense(a *DenseAttr) {
	shape, elem := shapeOf(p.owner, a.Type)
	p.Str("<")
	p.ShortType(elem)
	p.Str(": ")
	size := DenseElementBytes(elem)
	if size == 0 || len(a.Data) < size {
		p.Str("<<no elements>>>")
		return
	}
	if a.Splat || allEqual(a.Data, size) {
		p.element(elem, a.Data[:size])
	} else {
		p.denseRows(elem, a.Data, size, shape)
	}
	p.Str(">")
}

func (p *Printer) denseRows(elem Type, data []byte, size int, shape []int64) {
	if len(shape) == 0 {
		p.element(elem, data[:size])
		return
	}
	n := len(data) / size
	rows := int(shape[0])
	p.Str("[")
	for i := 0; i < rows; i++ {
		if i > 0 {
			p.Str(", ")
		}
		p.denseRows(elem, data[i*(n/rows)*size:(i+1)*(n/rows)*size], size, shape[1:])
	}
	p.Str("]")
}

// element writes one element from its bytes.
func (p *Printer) element(elem Type, b []byte) {
	p.step()
	bits := loadBits(b)
	switch t := elem.(type) {
	case *FloatType:
		p.Str(t.Format.FormatMLIR(bits))
	default:
		p.IntegerValue(IntegerAttr{elem, bits})
	}
}

func loadBits(b []byte) uint64 {
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

func allEqual(data []byte, size int) bool {
	for i := size; i < len(data); i++ {
		if data[i] != data[i-size] {
			return false
		}
	}
	return true
}

// DenseElementBytes is the number of bytes of one element of a DenseAttr: its bits rounded up to whole bytes (tf32 has 19
// bits, so 3 bytes); 0 for types that have no constants.
func DenseElementBytes(elem Type) int { return (BitWidth(elem) + 7) / 8 }

// shapeOf looks into a type through the dialect that owns it; a type without shape has no dimensions and itself as element.
func shapeOf(d *Dialect, t Type) (shape []int64, elem Type) {
	elem = t
	if d == nil {
		return nil, elem
	}
	if d.ShapeOf != nil {
		shape, _ = d.ShapeOf(t)
	}
	if d.ElementOf != nil {
		if e, ok := d.ElementOf(t); ok {
			elem = e
		}
	}
	return shape, elem
}
