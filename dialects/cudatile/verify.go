package cudatile

import (
	"strings"

	"tileiras/ir"
)

// Verifiers are the rules that the rows cannot say. The generic verifier calls them after it has checked an operation
// against its row: the number of operands, results and regions, the type constraints, the kinds of the attributes.
// Messages are those of the official verifier.
//
// rule attaches one to operations; each family's file lists its own.
func rule(f func(*ir.Context, *ir.Op) bool, codes ...ir.Code) {
	for _, c := range codes {
		row := Dialect.Row(c)
		if row.Hooks.Verify != nil {
			panic("BUG: second verifier for " + row.Name)
		}
		row.Hooks.Verify = f
	}
}

func init() {
	integerRules()
	mmaRules()
	convertRules()
	shapeRules()
	reduceRules()
	controlRules()
	moduleRules()
	viewRules()
	memoryRules()
	multimemRules()
	floatRules() // behind the others: it takes the rows that are left
}

// tile is the type of a value that its row says is a tile; elem its element type.
func tile(v *ir.Value) *TileType { return v.Type().(*TileType) }
func elem(v *ir.Value) ir.Type   { return tile(v).Elem }

// pointee is what the pointers of a tile point to.
func pointee(v *ir.Value) ir.Type { return elem(v).(*PtrType).Elem }

// quoted is a type as messages show it.
func quoted(t ir.Type) string { return "'" + ir.TypeString(t) + "'" }

func quotedAll(vs []*ir.Value) string {
	names := make([]string, len(vs))
	for i, v := range vs {
		names[i] = quoted(v.Type())
	}
	return strings.Join(names, ", ")
}

func sameTypes(as, bs []*ir.Value) bool {
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		if as[i].Type() != bs[i].Type() {
			return false
		}
	}
	return true
}

// keywords lists cases of an enumeration as messages do.
func keywords[E ~uint32](e *ir.Enum[E], values []E) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = e.Keyword(v)
	}
	return strings.Join(names, ", ")
}

// shapeText is a shape as messages show it, "4, 8".
func shapeText(t *TileType) string { return list(t.Shape) }
