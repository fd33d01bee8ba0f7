package bytecode

import (
	"fmt"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// The tags of self-contained attributes.
const (
	attrInteger = iota + 1
	attrFloat
	attrBool
	attrType
	attrString
	attrArray
	attrDense
	attrDivBy
	attrSameElements
	attrDictionary
	attrHints
	attrBounded
)

// Bits of the flags of predicates.
const (
	flagEvery, flagAlong = 1, 2
	flagLower, flagUpper = 1, 2
)

// maxAttrDepth bounds how deep attributes nest; hints nest two levels.
const maxAttrDepth = 16

// enum reads an enumeration value.
func (r *reader) enum(c *cursor, e *ir.EnumDef, what string) ir.EnumAttr {
	v := c.varint(what)
	if !r.ok() {
		return ir.EnumAttr{}
	}
	var found *ir.EnumCase
	if v <= 0xFFFFFFFF {
		found = e.Case(uint32(v))
	}
	switch {
	case found == nil:
		c.fail("invalid integer value for enum type: %d", v)
		return ir.EnumAttr{}
	case r.v.Before(found.Since):
		c.fail("enum value %d is not available in bytecode version %v", v, fileVersion(r.v))
		return ir.EnumAttr{}
	}
	return e.Of(found.Value)
}

// integer reads an unsigned number that must fit the width.
func (r *reader) integer(c *cursor, width int, what string) uint64 {
	v := c.varint(what)
	r.fits(c, v, width)
	return v
}

func (r *reader) fits(c *cursor, v uint64, width int) {
	if r.ok() && width < 64 && v>>width != 0 {
		c.fail("value %d does not fit in %d bits", v, width)
	}
}

// attribute reads a self-contained attribute.
func (r *reader) attribute(c *cursor, depth int) ir.Attribute {
	if !r.ok() {
		return nil
	}
	if depth > maxAttrDepth {
		c.fail("attributes nest deeper than %d levels", maxAttrDepth)
		return nil
	}
	tag := c.varint("AttributeTag for self-contained attribute.")
	if !r.ok() {
		return nil
	}
	switch tag {
	case attrInteger:
		return r.integerAttr(c)
	case attrFloat:
		return r.floatAttr(c)
	case attrBool:
		return ir.BoolAttr(c.byte("BoolAttr") != 0)
	case attrType:
		t := r.typ(c, "get referenced type for TypeAttr")
		return ir.TypeAttr{Type: t}
	case attrString:
		return ir.StringAttr(r.str(c, "StringAttr."))
	case attrArray:
		return r.array(c, depth)
	case attrDivBy:
		return r.divBy(c)
	case attrSameElements:
		return &cudatile.SameElements{Values: r.i64Array(c, "DenseI64ArrayAttr for SameElementsAttr")}
	case attrDictionary:
		return r.dictionary(c, depth)
	case attrHints:
		if depth == 0 {
			return r.hints(c)
		}
		c.fail("optimization hints inside another attribute")
	case attrBounded:
		return r.bounded(c)
	case attrDense:
		r.denseStrings(c)
	default:
		c.fail("unsupported AttributeTag %d for self-contained attribute", tag)
	}
	return nil
}

func (r *reader) integerAttr(c *cursor) ir.Attribute {
	t, ok := r.typ(c, "read valid IntegerType for IntegerAttr").(*ir.IntegerType)
	if !ok {
		c.fail("failed to read valid IntegerType for IntegerAttr")
	}
	if !r.ok() {
		return nil
	}
	if t.Width == 1 {
		v := uint64(c.byte("value of IntegerAttr"))
		r.fits(c, v, 1)
		return ir.IntegerAttr{Type: t, Bits: v}
	}
	return ir.IntegerAttr{Type: t, Bits: r.integer(c, t.Width, "value of IntegerAttr")}
}

// floatAttr reads a bit pattern: up to eight bits as a byte, more as the zigzag form of the pattern. The sign bit of an f64
// falls off in files of cuTile Python before 13.5, whose zigzag has 65 bits; the official tools read it like this, too.
func (r *reader) floatAttr(c *cursor) ir.Attribute {
	t, ok := r.typ(c, "read valid FloatType for FloatAttr").(*ir.FloatType)
	if !ok {
		c.fail("failed to read valid FloatType for FloatAttr")
	}
	if !r.ok() {
		return nil
	}
	width := t.Format.Bits()
	var v uint64
	if width <= 8 {
		v = uint64(c.byte("value of FloatAttr"))
	} else {
		v = uint64(c.svarint("value of FloatAttr"))
	}
	r.fits(c, v, width)
	return ir.FloatAttr{Type: t, Bits: v}
}

func (r *reader) array(c *cursor, depth int) ir.ArrayAttr {
	n := c.count("number of elements of ArrayAttr")
	a := make(ir.ArrayAttr, 0, c.room(n))
	for i := 0; i < n && r.ok(); i++ {
		a = append(a, r.attribute(c, depth+1))
	}
	return a
}

// typedArray reads the elements of an array attribute of an op, which must have types.
func (r *reader) typedArray(c *cursor) ir.ArrayAttr {
	a := r.array(c, 0)
	for _, e := range a {
		switch e.(type) {
		case ir.IntegerAttr, ir.FloatAttr, ir.BoolAttr, ir.StringAttr:
		default:
			c.fail("ArrayAttr contains non-TypedAttr elements or is null")
		}
	}
	return a
}

func (r *reader) dictionary(c *cursor, depth int) ir.DictAttr {
	n := c.count("number of elements of DictionaryAttr")
	d := make(ir.DictAttr, 0, c.room(n)/2)
	seen := make(map[string]bool)
	for i := 0; i < n && r.ok(); i++ {
		key := r.str(c, fmt.Sprintf("key for DictionaryAttr element %d", i))
		switch {
		case !r.ok():
		case key == "":
			c.fail("invalid empty attribute name for DictionaryAttr element %d", i)
		case seen[key]:
			c.fail("failed to parse DictionaryAttr, duplicate key found: %s", key)
		}
		seen[key] = true
		d = append(d, ir.NamedAttr{Name: key, Value: r.attribute(c, depth+1)})
	}
	return d
}

// hints reads a dictionary whose values are dictionaries.
func (r *reader) hints(c *cursor) ir.DictAttr {
	d := r.dictionary(c, 0)
	for _, e := range d {
		if _, ok := e.Value.(ir.DictAttr); r.ok() && !ok {
			c.fail("expected dictionary attribute for optimization_hints entry `%s` got value=%s", e.Name, ir.AttrText(e.Value))
		}
	}
	return d
}

// taggedHints reads the hints of a function.
func (r *reader) taggedHints(c *cursor) ir.DictAttr {
	tag := c.varint("AttributeTag for self-contained attribute.")
	if r.ok() && tag != attrHints {
		c.fail("failed to parse OptimizationHintsAttr")
	}
	hints := r.hints(c)
	r.checkHints(c, entryRow, hints)
	return hints
}

func (r *reader) i64Array(c *cursor, what string) []int64 {
	vs := c.i64s(what)
	for _, v := range vs {
		if v == -1<<63 || v == 1<<63-1 {
			c.fail("array contains unsupported value %d", v)
			return nil
		}
	}
	return vs
}

func (r *reader) i32Array(c *cursor, what string) []int32 {
	vs := c.i32s(what)
	for _, v := range vs {
		if v == -1<<31 || v == 1<<31-1 {
			c.fail("array contains unsupported value %d", v)
			return nil
		}
	}
	return vs
}

// optionalInt reads a zigzag number that is there when the flag is.
func (r *reader) optionalInt(c *cursor, present bool, what string) *int64 {
	if !present {
		return nil
	}
	v := c.svarint(what)
	return &v
}

func (r *reader) divBy(c *cursor) ir.Attribute {
	a := &cudatile.DivBy{Divisor: c.varint("divisor for DivByAttr")}
	flags := c.byte("flags byte for DivByAttr")
	a.Every = r.optionalInt(c, flags&flagEvery != 0, "value for 'every' in DivByAttr")
	a.Along = r.optionalInt(c, flags&flagAlong != 0, "value for 'along' in DivByAttr")
	c.unusedBits(uint64(flags), flagEvery|flagAlong)
	return a
}

func (r *reader) bounded(c *cursor) ir.Attribute {
	flags := c.byte("flags byte for BoundedAttr")
	a := &cudatile.Bounded{
		Lower: r.optionalInt(c, flags&flagLower != 0, "lower bound for BoundedAttr"),
		Upper: r.optionalInt(c, flags&flagUpper != 0, "upper bound for BoundedAttr"),
	}
	c.unusedBits(uint64(flags), flagLower|flagUpper)
	return a
}

// predicate reads the promise of an assume.
func (r *reader) predicate(c *cursor) ir.Attribute {
	a := r.attribute(c, 0)
	c.inside("failed to parse self-contained attribute for AssumePredicateAttrInterface")
	if _, ok := a.(cudatile.Predicate); !ok {
		c.fail("failed to cast parsed attribute to AssumePredicateAttrInterface")
	}
	return a
}
