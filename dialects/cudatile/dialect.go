package cudatile

import (
	"sync"

	"tileiras/ir"
)

// Name is the name of the dialect.
const Name = "cuda_tile"

// dialectID is the high half of the codes of the operations.
const dialectID = 1

// Dialect is the cuda_tile dialect.
var Dialect = &dialect

// The rows are static data that points here, and hooks ask the rows: so it is filled in later.
var dialect ir.Dialect

func init() {
	dialect = ir.Dialect{
		Name:        Name,
		ID:          dialectID,
		Ops:         opRows[:],
		Constraints: sync.OnceValue(constraints),
		Top:         "module",
		TopName:     "kernels",
		ParseType:   parseType,
		ParseAttr:   parseAttr,
		Directives: map[string]ir.Directive{
			"Rounding":        {Print: printRounding, Parse: parseRounding},
			"AssumePredicate": {Print: printPredicate, Parse: parsePredicate},
			"Dense":           {Print: printDense, Parse: parseDense},
		},
		ShapeOf:     shapeOf,
		ElementOf:   elementOf,
		Materialize: materialize,
		VerifyOp:    verifyHints,
		NameResult:  nameResult,
		NameArg:     nameArg,
	}
	for i, f := range forms {
		if f.print != nil {
			opRows[i-1].Hooks.Print, opRows[i-1].Hooks.Parse = f.print, f.parse
		}
	}
	for i, f := range printable {
		if f != nil {
			opRows[i-1].Hooks.Printable = f
		}
	}
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
