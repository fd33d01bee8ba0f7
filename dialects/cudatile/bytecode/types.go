package bytecode

import (
	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// The tags of types.
const (
	tagI1, tagI8, tagI16, tagI32, tagI64                      = 0, 1, 2, 3, 4
	tagF16, tagBF16, tagF32, tagTF32, tagF64                  = 5, 6, 7, 8, 9
	tagF8E4M3FN, tagF8E5M2                                    = 10, 11
	tagPtr, tagTile, tagTensorView, tagPartitionView, tagFunc = 12, 13, 14, 15, 16
	tagToken, tagF8E8M0FNU, tagF4E2M1FN                       = 17, 18, 19
	tagGatherScatterView, tagStridedView, tagI4               = 20, 21, 22
	tagF8E5M3FNU                                              = 130
)

// typeTag describes a tag: the name in messages, the first version, and for an element type what it stands for.
type typeTag struct {
	tag    uint64
	name   string
	since  ir.Version
	width  int           // of an integer
	format *float.Format // of a float
}

var typeTags = []typeTag{
	{tag: tagI1, name: "Int1", since: def.V131, width: 1},
	{tag: tagI8, name: "Int8", since: def.V131, width: 8},
	{tag: tagI16, name: "Int16", since: def.V131, width: 16},
	{tag: tagI32, name: "Int32", since: def.V131, width: 32},
	{tag: tagI64, name: "Int64", since: def.V131, width: 64},
	{tag: tagF16, name: "Float16", since: def.V131, format: float.F16},
	{tag: tagBF16, name: "BFloat16", since: def.V131, format: float.BF16},
	{tag: tagF32, name: "Float32", since: def.V131, format: float.F32},
	{tag: tagTF32, name: "TFloat32", since: def.V131, format: float.TF32},
	{tag: tagF64, name: "Float64", since: def.V131, format: float.F64},
	{tag: tagF8E4M3FN, name: "Float8E4M3FN", since: def.V131, format: float.F8E4M3FN},
	{tag: tagF8E5M2, name: "Float8E5M2", since: def.V131, format: float.F8E5M2},
	{tag: tagPtr, name: "Pointer", since: def.V131},
	{tag: tagTile, name: "Tile", since: def.V131},
	{tag: tagTensorView, name: "TensorView", since: def.V131},
	{tag: tagPartitionView, name: "PartitionView", since: def.V131},
	{tag: tagFunc, name: "Func", since: def.V131},
	{tag: tagToken, name: "Token", since: def.V131},
	{tag: tagF8E8M0FNU, name: "Float8E8M0FNU", since: def.V132, format: float.F8E8M0FNU},
	{tag: tagF4E2M1FN, name: "Float4E2M1FN", since: def.V133, format: float.F4E2M1FN},
	{tag: tagGatherScatterView, name: "GatherScatterView", since: def.V133},
	{tag: tagStridedView, name: "StridedView", since: def.V133},
	{tag: tagI4, name: "Int4", since: def.V133, width: 4},
	{tag: tagF8E5M3FNU, name: "Float8E5M3FNU", since: def.V134, format: float.F8E5M3FNU},
}

func findTag(tag uint64) *typeTag {
	for i := range typeTags {
		if typeTags[i].tag == tag {
			return &typeTags[i]
		}
	}
	return nil
}

// Bit 0 of the flags of a view type says that it has padding, of a pointer or array that it has a pointer attribute.
const flagOptional = 1

// maxTypeDepth bounds how deep types nest; the deepest legal one is a function of tiles of pointers of numbers, or of views.
const maxTypeDepth = 16

// typeTable decodes entries when they are first asked for. Entries may refer to later ones, but not in a circle.
type typeTable struct {
	entries [][]byte
	types   []ir.Type
	busy    []bool
	depth   int
}

func (t *typeTable) len() int { return len(t.entries) }

func (r *reader) readTypes() {
	c, present := r.section(typeSection)
	if !present || r.err != nil {
		return
	}
	entries := c.table("types", "type", 4)
	r.keepTail(typeSection, c)
	r.types = typeTable{entries: entries, types: make([]ir.Type, len(entries)), busy: make([]bool, len(entries))}
	r.origin.types = entries
}

// typ reads a type index.
func (r *reader) typ(c *cursor, what string) ir.Type {
	i := c.varint(what)
	if r.err != nil {
		return nil
	}
	t := r.typeAt(c, i)
	if r.err != nil {
		c.inside("failed to get %s", what)
	}
	return t
}

// typeAt decodes entry i of the table.
func (r *reader) typeAt(c *cursor, i uint64) ir.Type {
	t := &r.types
	switch {
	case r.err != nil:
		return nil
	case i >= uint64(len(t.entries)):
		c.plain("type index %d out of bounds", i)
		return nil
	case t.types[i] != nil:
		return t.types[i]
	case t.busy[i]:
		c.plain("type %d refers to itself", i)
		return nil
	case t.depth >= maxTypeDepth:
		c.plain("type %d nests deeper than %d levels", i, maxTypeDepth)
		return nil
	}
	t.busy[i] = true
	t.depth++
	e := &cursor{failure: r.failure, data: t.entries[i]}
	typ := r.decodeType(e)
	e.end("type")
	t.depth--
	t.busy[i] = false
	if r.err != nil {
		return nil
	}
	t.types[i] = typ
	if _, ok := r.origin.typeIndex[typ]; !ok {
		r.origin.typeIndex[typ] = i
	}
	return typ
}

func (r *reader) tileType(c *cursor, what string) *cudatile.TileType {
	t, ok := r.typ(c, what).(*cudatile.TileType)
	if r.err == nil && !ok {
		c.fail("failed to get %s: expected a tile type", what)
	}
	return t
}

func (r *reader) decodeType(c *cursor) ir.Type {
	tag := c.varint("type tag")
	if r.err != nil {
		return nil
	}
	info := findTag(tag)
	switch {
	case info == nil:
		c.plain("unknown type tag: %d", tag)
		return nil
	case r.v.Before(info.since):
		c.plain("type '%s' requires bytecode version %v+, file version is %v", info.name, info.since, fileVersion(r.v))
		return nil
	case info.width > 0:
		return r.ctx.Int(info.width)
	case info.format != nil:
		return r.ctx.Float(info.format)
	}
	var t ir.Type
	var err error
	switch tag {
	case tagPtr:
		t, err = r.ptrType(c)
	case tagTile:
		elem, shape := r.typ(c, "element type"), c.i64s("shape")
		if r.err == nil {
			t, err = cudatile.Tile(r.ctx, elem, shape)
		}
	case tagTensorView:
		t, err = r.tensorViewType(c)
	case tagPartitionView, tagGatherScatterView, tagStridedView:
		t, err = r.viewType(c, tag)
	case tagFunc:
		in, out := r.typeList(c, "function inputs"), r.typeList(c, "function results")
		if r.err == nil {
			t = r.ctx.Func(in, out)
		}
	case tagToken:
		t = cudatile.Token(r.ctx)
	}
	if err != nil {
		c.plain("%v", err)
	}
	if r.err != nil {
		c.inside("failed to parse %s type", info.name)
		return nil
	}
	return t
}

// fileVersion is a version as the messages about features print it, without the tag.
func fileVersion(v ir.Version) ir.Version { return ir.V(v.Major, v.Minor) }

func (r *reader) typeList(c *cursor, what string) []ir.Type {
	n := c.count(what, 1)
	ts := make([]ir.Type, 0, n)
	for i := 0; i < n && r.err == nil; i++ {
		ts = append(ts, r.typ(c, what))
	}
	return ts
}

func (r *reader) optionalFlags(c *cursor) bool {
	flags := c.varint("optional flags")
	if r.err == nil && flags&^flagOptional != 0 {
		c.fail("unknown optional flags 0x%X", flags&^flagOptional)
	}
	return flags&flagOptional != 0
}

// pointerFlags reads the flags that pointers and arrays have since 13.4.
func (r *reader) pointerFlags(c *cursor) bool { return r.v.AtLeast(def.V134) && r.optionalFlags(c) }

// optionalEnum reads an enumeration value that may be absent.
func (r *reader) optionalEnum(c *cursor, present bool, e *ir.EnumDef, what string) cudatile.Optional {
	if !present {
		return cudatile.Absent
	}
	return cudatile.Some(r.enum(c, e, what).Value)
}

func (r *reader) ptrType(c *cursor) (ir.Type, error) {
	has := r.pointerFlags(c)
	elem := r.typ(c, "pointee type")
	attr := r.optionalEnum(c, has, def.PtrAttr, "pointer attribute")
	if r.err != nil {
		return nil, nil
	}
	return orNil(cudatile.Ptr(r.ctx, elem, attr))
}

func (r *reader) tensorViewType(c *cursor) (ir.Type, error) {
	has := r.pointerFlags(c)
	elem := r.typ(c, "element type")
	shape, strides := c.i64s("shape"), c.i64s("strides")
	attr := r.optionalEnum(c, has, def.PtrAttr, "pointer attribute")
	if r.err != nil {
		return nil, nil
	}
	return orNil(cudatile.TensorView(r.ctx, elem, shape, strides, attr))
}

// viewType reads the three kinds of tile views:
//
//	partition        flags, tile, tensor_view, dim_map, padding?     (13.1 and 13.2: has-padding byte after dim_map)
//	gather/scatter   flags, tile, tensor_view, sparse_dim, padding?
//	strided          flags, tile, traversal strides, tensor_view, dim_map, padding?
func (r *reader) viewType(c *cursor, tag uint64) (ir.Type, error) {
	flagsFirst := r.v.AtLeast(def.V133)
	has := flagsFirst && r.optionalFlags(c)
	tile := wide(c.i32s("tile shape"))
	var traversal []int64
	if tag == tagStridedView {
		traversal = wide(c.i32s("traversal strides"))
	}
	tv, ok := r.typ(c, "tensor_view type").(*cudatile.TensorViewType)
	if r.err == nil && !ok {
		c.fail("expected a tensor_view type")
	}
	var dimMap []int
	var sparse uint64
	if tag == tagGatherScatterView {
		sparse = c.varint("sparse dimension")
	} else {
		for _, d := range c.i32s("dim_map") {
			dimMap = append(dimMap, int(d))
		}
	}
	if !flagsFirst {
		b := c.byte("padding flag")
		if r.err == nil && b > 1 {
			c.fail("invalid padding flag: %d", b)
		}
		has = b == 1
	}
	padding := r.optionalEnum(c, has, def.Padding, "padding value")
	if r.err != nil {
		return nil, nil
	}
	switch tag {
	case tagGatherScatterView:
		return orNil(cudatile.GatherScatterView(r.ctx, tile, tv, int(min(sparse, 1<<31)), padding))
	case tagStridedView:
		return orNil(cudatile.StridedView(r.ctx, tile, traversal, tv, dimMap, padding))
	}
	return orNil(cudatile.PartitionView(r.ctx, tile, tv, dimMap, padding))
}

// orNil keeps a nil pointer from becoming a type that is not nil.
func orNil[T ir.Type](t T, err error) (ir.Type, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

func wide(vs []int32) []int64 {
	ws := make([]int64, len(vs))
	for i, v := range vs {
		ws[i] = int64(v)
	}
	return ws
}
