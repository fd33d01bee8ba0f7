package cudatile

import (
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// Name is the name of the dialect.
const Name = "cuda_tile"

// dialectID is the high half of the codes of the operations.
const dialectID = 1

// Dialect is the cuda_tile dialect.
var Dialect = newDialect()

func newDialect() *ir.Dialect {
	d := &ir.Dialect{
		Name:        Name,
		ID:          dialectID,
		Ops:         def.Ops(),
		Constraints: constraints(),
		ShapeOf:     shapeOf,
		ElementOf:   elementOf,
		Materialize: materialize,
		VerifyOp:    verifyHints,
	}
	return d.Init()
}

// shapeOf is the shape of a tile.
func shapeOf(t ir.Type) ([]int64, bool) {
	if t, ok := t.(*TileType); ok {
		return t.Shape, true
	}
	return nil, false
}

// elementOf is the element type of a tile or of an array.
func elementOf(t ir.Type) (ir.Type, bool) {
	switch t := t.(type) {
	case *TileType:
		return t.Elem, true
	case *TensorViewType:
		return t.Elem, true
	}
	return nil, false
}

// materialize makes a constant.
func materialize(b *ir.Builder, loc ir.Location, value ir.Attribute, t ir.Type) *ir.Op {
	return b.Create(ir.State{Def: opRows[OpConstant.Index()-1], Loc: loc, Types: []ir.Type{t}, Attrs: []ir.Attribute{value}})
}
