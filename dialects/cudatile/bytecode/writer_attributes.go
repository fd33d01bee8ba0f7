package bytecode

import (
	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// attribute writes a self-contained attribute.
func (w *writer) attribute(e *encoder, op *ir.Op, a ir.Attribute) {
	switch a := a.(type) {
	case ir.IntegerAttr:
		e.varint(attrInteger)
		e.varint(w.typ(op, a.Type))
		if ir.BitWidth(a.Type) == 1 {
			e.byte(byte(a.Bits))
		} else {
			e.varint(a.Bits)
		}
	case ir.FloatAttr:
		e.varint(attrFloat)
		e.varint(w.typ(op, a.Type))
		if ir.BitWidth(a.Type) <= 8 {
			e.byte(byte(a.Bits))
		} else {
			e.svarint(int64(a.Bits))
		}
	case ir.BoolAttr:
		e.varint(attrBool)
		e.bool(bool(a))
	case ir.TypeAttr:
		e.varint(attrType)
		e.varint(w.typ(op, a.Type))
	case ir.StringAttr:
		e.varint(attrString)
		e.varint(w.str(string(a)))
	case ir.ArrayAttr:
		e.varint(attrArray)
		w.array(e, op, a)
	case ir.DictAttr:
		e.varint(attrDictionary)
		w.dictionary(e, op, a)
	case *cudatile.DivBy:
		e.varint(attrDivBy)
		e.varint(a.Divisor)
		e.byte(mask(a.Every != nil, flagEvery) | mask(a.Along != nil, flagAlong))
		e.optionalInt(a.Every)
		e.optionalInt(a.Along)
	case *cudatile.SameElements:
		e.varint(attrSameElements)
		e.i64s(a.Values)
	case *cudatile.Bounded:
		e.varint(attrBounded)
		e.byte(mask(a.Lower != nil, flagLower) | mask(a.Upper != nil, flagUpper))
		e.optionalInt(a.Lower)
		e.optionalInt(a.Upper)
	default:
		w.fail(op, "attribute of type %T has no encoding", a)
	}
}

func mask(set bool, bit byte) byte {
	if set {
		return bit
	}
	return 0
}

func (e *encoder) optionalInt(v *int64) {
	if v != nil {
		e.svarint(*v)
	}
}

func (w *writer) array(e *encoder, op *ir.Op, a ir.ArrayAttr) {
	e.varint(uint64(len(a)))
	for _, x := range a {
		w.attribute(e, op, x)
	}
}

func (w *writer) dictionary(e *encoder, op *ir.Op, d ir.DictAttr) {
	e.varint(uint64(len(d)))
	for _, x := range d {
		e.varint(w.str(x.Name))
		w.attribute(e, op, x.Value)
	}
}

// inline writes an attribute of an op, whose kind the row knows.
func (w *writer) inline(e *encoder, op *ir.Op, def *ir.ArgDef, a ir.Attribute) {
	switch a := a.(type) {
	case ir.EnumAttr:
		w.enum(e, op, def.Enum, a.Value)
		return
	case ir.IntegerAttr:
		e.varint(a.Bits)
		return
	case ir.BoolAttr:
		e.bool(bool(a))
		return
	case ir.UnitAttr:
		return
	case ir.StringAttr:
		e.varint(w.str(string(a)))
		return
	case ir.SymbolAttr:
		e.varint(w.str(string(a)))
		return
	case ir.TypeAttr:
		e.varint(w.typ(op, a.Type))
		return
	case *ir.DenseAttr:
		e.varint(w.constant(a))
		return
	case ir.I32Array:
		e.i32s(a)
		return
	case ir.I64Array:
		e.i64s(a)
		return
	case ir.BoolArray:
		e.varint(uint64(len(a)))
		for _, b := range a {
			e.bool(b)
		}
		return
	case ir.ArrayAttr:
		w.array(e, op, a)
		return
	case ir.DictAttr:
		w.dictionary(e, op, a)
		return
	}
	if def.Attr == ir.PredicateKind {
		w.attribute(e, op, a)
		return
	}
	w.fail(op, "attribute '%s' of '%s' has no encoding", def.Name, op.Name())
}
