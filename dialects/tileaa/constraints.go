package tileaa

import "tileiras/ir"

// constraints are the sets of types that the rows name.
func constraints() map[string]*ir.TypeConstraint {
	sets := map[string]*ir.TypeConstraint{}
	set := func(name, text string, check func(ir.Type) bool) {
		sets[name] = &ir.TypeConstraint{Name: name, Text: func() string { return text }, Check: check}
	}
	tile := func(name, text string, elem func(ir.Type) bool) {
		set(name, "tile of "+text, func(t ir.Type) bool { x, ok := t.(*TileType); return ok && elem(x.Elem) })
	}
	scalar := func(name, text string, elem func(ir.Type) bool) {
		set(name, "rank-0 tile of "+text, func(t ir.Type) bool {
			x, ok := t.(*TileType)
			return ok && len(x.Shape) == 0 && elem(x.Elem)
		})
	}
	anyElem := func(ir.Type) bool { return true }
	integer := func(t ir.Type) bool { return ir.IsInt(t) }
	i1 := func(t ir.Type) bool { return ir.IsInt(t, 1) }
	pointer := isType[*PtrType]

	tile("tile", "any elements", anyElem)
	tile("int", "integers", integer)
	tile("i1", "i1", i1)
	tile("i64", "i64", func(t ir.Type) bool { return ir.IsInt(t, 64) })
	tile("float", "floats", func(t ir.Type) bool { return ir.IsFloat(t) })
	tile("ptr", "pointers", pointer)
	scalar("scalar", "any element", anyElem)
	scalar("scalar_int", "integers", integer)
	scalar("scalar_i1", "i1", i1)
	scalar("scalar_ptr", "pointers", pointer)
	set("memref", "memref", isType[*MemrefType])
	set("block", "block", isType[*BlockType])
	set("buffer", "buffer", isType[*BufferType])
	set("ring", "ring", isType[*RingType])
	set("pipeline", "pipeline", isType[*PipelineType])
	set("tensor_memory", "tensor memory", isType[*TensorMemoryType])
	set("map_memory", "memory of tensor maps", isType[*MapMemoryType])
	set("token", "token", isType[*TokenType])
	set("factor", "tile or buffer", func(t ir.Type) bool { return isType[*TileType](t) || isType[*BufferType](t) })
	set("value", "tile or token", func(t ir.Type) bool { return isType[*TileType](t) || isType[*TokenType](t) })
	return sets
}

func isType[T ir.Type](t ir.Type) bool { _, ok := t.(T); return ok }
