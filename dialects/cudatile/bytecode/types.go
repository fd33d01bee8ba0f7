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
	if !present || !r.ok() {
		return
	}
	entries := c.table("types", "type", 4)
	r.keepTail(typeSection, c)
	r.sectionFailed("type")
	r.types = typeTable{entries: entries, types: make([]ir.Type, len(entries)), busy: make([]bool, len(entries))}
	r.origin.types = entries
}

// typ reads a type index; a failure says "failed to" and what.
func (r *reader) typ(c *cursor, what string) ir.Type {
	i, read := c.tryVarint()
	if !read {
		c.silent()
	}
	t := r.typeAt(i)
	if !r.ok() {
		c.inside("failed to %s", what)
	}
	return t
}

// typeAt decodes entry i of the table. That there is none, or that it contains itself, is a silent failure.
func (r *reader) typeAt(i uint64) ir.Type {
	t := &r.types
	switch {
	case !r.ok():
		return nil
	case i < uint64(len(t.entries)) && t.types[i] != nil:
		return t.types[i]
	case i >= uint64(len(t.entries)) || t.busy[i] || t.depth >= maxTypeDepth:
		r.silent()
		return nil
	}
	t.busy[i] = true
	t.depth++
	typ := r.decodeType(&cursor{failure: r.failure, data: t.entries[i]})
	t.depth--
	t.busy[i] = false
	if !r.ok() {
		return nil
	}
	t.types[i] = typ
	if _, ok := r.origin.typeIndex[typ]; !ok {
		r.origin.typeIndex[typ] = i
	}
	return typ
}

// decodeType reads an entry. Offsets count from after the tag.
func (r *reader) decodeType(c *cursor) ir.Type {
	tag, read := c.tryVarint()
	if !read {
		c.silent()
		return nil
	}
	info := findTag(tag)
	switch {
	case info == nil || r.options.Strict131 && r.v.Before(info.since):
		c.plain("unknown type tag: %d", tag)
		return nil
	case r.v.Before(info.since):
		c.plain("type '%s' requires bytecode version %v+, file version is %v", info.name, info.since, fileVersion(r.v))
		return nil
	}
	c = c.after()
	var t ir.Type
	var err error
	switch {
	case info.width > 0:
		t = r.ctx.Int(info.width)
	case info.format != nil:
		t = r.ctx.Float(info.format)
	case tag == tagToken:
		t = cudatile.Token(r.ctx)
	case tag == tagPtr:
		t, err = r.ptrType(c)
	case tag == tagTile:
		elem, shape := r.typ(c, "get elementType type"), c.i64s("concreteShapeCache")
		if r.ok() {
			t, err = orNil(cudatile.Tile(r.ctx, elem, shape))
		}
	case tag == tagTensorView:
		t, err = r.tensorViewType(c)
	case tag == tagFunc:
		in, out := r.typeList(c, "parameters", "parameter"), r.typeList(c, "results", "result")
		if r.ok() {
			t = r.ctx.Func(in, out)
		}
	default:
		t, err = r.viewType(c, tag)
	}
	if err != nil {
		c.fail("%s", r.typeError(err))
	}
	c.end("type")
	return t
}

// fileVersion is a version as the messages about features print it, without the tag.
func fileVersion(v ir.Version) ir.Version { return ir.V(v.Major, v.Minor) }

func (r *reader) typeList(c *cursor, plural, singular string) []ir.Type {
	n := c.count("number of " + plural)
	ts := make([]ir.Type, 0, c.room(n))
	for i := 0; i < n && r.ok(); i++ {
		r.ctx.Step()
		ts = append(ts, r.typ(c, "get "+singular+" type"))
	}
	return ts
}

// unusedBits refuses flags of types and attributes that do not exist, once the others have been read.
func (c *cursor) unusedBits(flags, known uint64) {
	if c.ok() && flags&^known != 0 {
		c.fail("unused bits set in optional parameter flags")
	}
}

// optionalFlags reads the flags of a type, which some types have since a version.
func (r *reader) optionalFlags(c *cursor, since ir.Version) uint64 {
	if r.v.Before(since) {
		return 0
	}
	return c.varint("optional parameter flags")
}

// readOptional reads an enumeration value, the last part of a type, that is there when the flag is.
func readOptional[E ~uint32](r *reader, c *cursor, flags uint64, e *ir.Enum[E], what string) (o cudatile.Optional[E]) {
	if flags&flagOptional != 0 {
		o = cudatile.Some(E(r.enum(c, &e.EnumDef, what).Value))
	}
	c.unusedBits(flags, flagOptional)
	return o
}

func (r *reader) ptrType(c *cursor) (ir.Type, error) {
	flags := r.optionalFlags(c, def.V134)
	elem := r.typ(c, "get pointeeType type")
	attr := readOptional(r, c, flags, &def.PtrAttrEnum, "pointer attribute")
	if !r.ok() {
		return nil, nil
	}
	return orNil(cudatile.Ptr(r.ctx, elem, attr))
}

func (r *reader) tensorViewType(c *cursor) (ir.Type, error) {
	flags := r.optionalFlags(c, def.V134)
	elem := r.typ(c, "get elementType type")
	shape, strides := c.i64s("shape"), c.i64s("strides")
	attr := readOptional(r, c, flags, &def.PtrAttrEnum, "pointer attribute")
	if !r.ok() {
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
	flags := r.optionalFlags(c, def.V133)
	tile := wide(c.i32s("tile_shape data"))
	var traversal []int64
	if tag == tagStridedView {
		traversal = wide(c.i32s("traversal_strides data"))
	}
	t := r.typ(c, "get tensor_view type")
	tv, ok := t.(*cudatile.TensorViewType)
	if r.ok() && !ok {
		c.fail("expected ::mlir::cuda_tile::TensorViewType but got '%s'", ir.TypeString(t))
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
	if r.v.Before(def.V133) {
		flags = uint64(c.byte("padding flag"))
	}
	padding := readOptional(r, c, flags, &def.PaddingEnum, "padding value")
	if !r.ok() {
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
