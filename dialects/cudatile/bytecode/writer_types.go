package bytecode

import (
	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// typ finds or makes the table entry of a type. Its parts come before it.
func (w *writer) typ(op *ir.Op, t ir.Type) uint64 {
	w.ctx.Step()
	if i, ok := w.typeIndex[t]; ok {
		return i
	}
	var e encoder
	w.encodeType(&e, op, t)
	if w.err != nil {
		return 0
	}
	i := w.types.add(e.buf)
	w.typeIndex[t] = i
	return i
}

// tag writes a type tag, if the version has it.
func (w *writer) tag(e *encoder, op *ir.Op, info *typeTag) {
	if w.v.Before(info.since) {
		w.fail(op, "type '%s' requires bytecode version %v+, targeting %v", info.name, info.since, fileVersion(w.v))
	}
	e.varint(info.tag)
}

func (w *writer) encodeType(e *encoder, op *ir.Op, t ir.Type) {
	switch t := t.(type) {
	case *ir.IntegerType, *ir.FloatType:
		for i := range typeTags {
			info := &typeTags[i]
			it, isInt := t.(*ir.IntegerType)
			if isInt && info.width == it.Width || !isInt && info.format != nil && info.format == t.(*ir.FloatType).Format {
				w.tag(e, op, info)
				return
			}
		}
		w.fail(op, "unsupported type in bytecode writer: '%s'", ir.TypeString(t))
	case *cudatile.PtrType:
		elem := w.typ(op, t.Elem)
		w.tag(e, op, findTag(tagPtr))
		w.pointerFlags(e, op, t.Attr)
		e.varint(elem)
		writeOptional(w, e, op, &def.PtrAttrEnum, t.Attr)
	case *cudatile.TileType:
		elem := w.typ(op, t.Elem)
		w.tag(e, op, findTag(tagTile))
		e.varint(elem)
		e.i64s(t.Shape)
	case *cudatile.TensorViewType:
		elem := w.typ(op, t.Elem)
		w.tag(e, op, findTag(tagTensorView))
		w.pointerFlags(e, op, t.PtrAttr)
		e.varint(elem)
		e.i64s(t.Shape)
		e.i64s(t.Strides)
		writeOptional(w, e, op, &def.PtrAttrEnum, t.PtrAttr)
	case *cudatile.PartitionViewType:
		w.viewType(e, op, tagPartitionView, t, nil)
	case *cudatile.StridedViewType:
		w.viewType(e, op, tagStridedView, t, t.Traversal)
	case *cudatile.GatherScatterViewType:
		w.viewType(e, op, tagGatherScatterView, t, nil)
	case *cudatile.TokenType:
		w.tag(e, op, findTag(tagToken))
	case *ir.FunctionType:
		var list encoder
		for _, ts := range [][]ir.Type{t.Inputs, t.Results} {
			list.varint(uint64(len(ts)))
			for _, x := range ts {
				list.varint(w.typ(op, x))
			}
		}
		w.tag(e, op, findTag(tagFunc))
		e.buf = append(e.buf, list.buf...)
	default:
		w.fail(op, "unsupported type in bytecode writer: '%s'", ir.TypeString(t))
	}
}

// viewType writes the three kinds of tile views; see reader.viewType.
func (w *writer) viewType(e *encoder, op *ir.Op, tag uint64, t cudatile.TileView, traversal []int64) {
	v := t.View()
	tensor := w.typ(op, v.Tensor)
	w.tag(e, op, findTag(tag))
	flagsFirst := w.v.AtLeast(def.V133)
	if flagsFirst {
		e.bool(v.Padding != cudatile.Absent)
	}
	e.i32s(narrow(v.Tile.Shape))
	if tag == tagStridedView {
		e.i32s(narrow(traversal))
	}
	e.varint(tensor)
	if tag == tagGatherScatterView {
		e.varint(uint64(v.SparseDim))
	} else {
		dims := make([]int32, len(v.DimMap))
		for i, d := range v.DimMap {
			dims[i] = int32(d)
		}
		e.i32s(dims)
	}
	if !flagsFirst {
		e.bool(v.Padding != cudatile.Absent)
	}
	writeOptional(w, e, op, &def.PaddingEnum, v.Padding)
}

// pointerFlags writes the flags that pointers and arrays have since 13.4.
func (w *writer) pointerFlags(e *encoder, op *ir.Op, attr cudatile.Optional[def.PtrAttr]) {
	if w.v.AtLeast(def.V134) {
		e.bool(attr != cudatile.Absent)
	} else if attr != cudatile.Absent {
		w.fail(op, "parameter 'ptrAttr' requires bytecode version %v+, but targeting %v", def.V134, fileVersion(w.v))
	}
}

func writeOptional[E ~uint32](w *writer, e *encoder, op *ir.Op, d *ir.Enum[E], o cudatile.Optional[E]) {
	if v, ok := o.Get(); ok {
		w.enum(e, op, &d.EnumDef, uint32(v))
	}
}

// enum writes an enumeration value.
func (w *writer) enum(e *encoder, op *ir.Op, d *ir.EnumDef, v uint32) {
	switch c := d.Case(v); {
	case c == nil:
		w.fail(op, "invalid integer value for enum type: %d", v)
	case w.v.Before(c.Since):
		w.fail(op, "enum value %d is not available in bytecode version %v", v, fileVersion(w.v))
	}
	e.varint(uint64(v))
}

// constant finds or makes the table entry of a constant.
func (w *writer) constant(a *ir.DenseAttr) uint64 {
	if i, ok := w.origin.constantIndex[a]; ok {
		return i
	}
	t, ok := a.Type.(*cudatile.TileType)
	data := a.Data
	if ok && ir.IsInt(t.Elem, 1) {
		data = packBools(a)
	}
	return w.constants.add(counted(uint64(len(data)), data))
}

// packBools is the layout that the official tools read: one byte 00 or FF for a splat, else eight elements to a byte, least
// significant first.
func packBools(a *ir.DenseAttr) []byte {
	if a.Splat || len(a.Data) == 1 {
		return []byte{-a.Data[0]}
	}
	packed := make([]byte, (len(a.Data)+7)/8)
	for k, b := range a.Data {
		packed[k/8] |= b << (k % 8)
	}
	return packed
}
