// Package def is the rows of the cuda_tile dialect, of all Versions of the bytecode: one row per operation, as data. The bytecode
// codec, the text parser and printer, the verifier and docs/ops.md follow from the rows.
//
// Where a row comes from: the operation pages of the Tile IR specification (docs.nvidia.com/cuda/tile-ir), the operation
// encodings of the bytecode pages, and real bytes. Constraint names stand for the type sets that package cudatile defines.
package def

import "tileiras/ir"

// Versions of the format by name, for rows that say since when something exists.
var (
	V131 = ir.V(13, 1)
	V132 = ir.V(13, 2)
	V133 = ir.V(13, 3)
	V134 = ir.V(13, 4)
	V135 = ir.V(13, 5)
)

// Versions lists them, oldest first. What can be read and written, the values of --release and messages about versions follow from the list.
var Versions = []ir.Version{V131, V132, V133, V134, V135}

// Oldest and Newest bound the list; OpenRelease is the newest version of which NVIDIA has published the source of the tools.
var (
	Oldest, Newest = Versions[0], Versions[len(Versions)-1]
	OpenRelease    = V133
)

// Ops lists every row by family, in the order of the documentation.
func Ops() []*ir.OpDef {
	var ops []*ir.OpDef
	for _, family := range Families() {
		ops = append(ops, family.Ops...)
	}
	return ops
}

// Family is a group of rows under one heading of the documentation.
type Family struct {
	Title string
	Ops   []*ir.OpDef
}

// Families lists the families. Each call makes new rows: a dialect attaches its hooks to its own.
func Families() []Family {
	return []Family{
		{"Floating-point arithmetic and math", floatOps()},
		{"Integer arithmetic and bits", integerOps()},
		{"Matrix multiply", mmaOps()},
		{"Conversions", convertOps()},
		{"Tile construction and shape", shapeOps()},
		{"Reductions", reduceOps()},
		{"Control flow and module items", controlOps()},
		{"Grid and view queries", queryOps()},
		{"Views", viewOps()},
		{"Memory", memoryOps()},
	}
}

// Operands: exactly one value, zero or one, any number. constraint names a set of types.
func in(name, constraint string) ir.ArgDef {
	return ir.ArgDef{Name: name, Constraint: constraint}
}
func opt(name, constraint string) ir.ArgDef {
	return ir.ArgDef{Name: name, Constraint: constraint, Mode: ir.Optional}
}
func many(name, constraint string) ir.ArgDef {
	return ir.ArgDef{Name: name, Constraint: constraint, Mode: ir.Variadic}
}

// Attributes: of a plain kind, of an enumeration, of an enumeration with the case that the text omits, a flag.
func attr(name string, k ir.AttrKind) ir.ArgDef { return ir.ArgDef{Name: name, Attr: k} }
func optAttr(name string, k ir.AttrKind) ir.ArgDef {
	return ir.ArgDef{Name: name, Attr: k, Mode: ir.Optional}
}
func of[E ~uint32](name string, e *ir.Enum[E]) ir.ArgDef {
	return ir.ArgDef{Name: name, Attr: ir.EnumKind, Enum: &e.EnumDef}
}
func ofDefault[E ~uint32](name string, e *ir.Enum[E], dflt E) ir.ArgDef {
	return ir.ArgDef{Name: name, Attr: ir.EnumKind, Enum: &e.EnumDef, Default: e.Of(dflt)}
}
func optOf[E ~uint32](name string, e *ir.Enum[E]) ir.ArgDef {
	return ir.ArgDef{Name: name, Attr: ir.EnumKind, Enum: &e.EnumDef, Mode: ir.Optional}
}
func unit(name string) ir.ArgDef { return optAttr(name, ir.UnitKind) }

// since says that a field exists from version v on only.
func since(v ir.Version, a ir.ArgDef) ir.ArgDef { a.Since = v; return a }

func args(as ...ir.ArgDef) []ir.ArgDef { return as }

// Results: of one constraint each; any number.
func res(name, constraint string) ir.ResultDef {
	return ir.ResultDef{Name: name, Constraint: constraint}
}
func manyRes(name, constraint string) ir.ResultDef {
	return ir.ResultDef{Name: name, Constraint: constraint, Mode: ir.Variadic}
}
func results(rs ...ir.ResultDef) []ir.ResultDef { return rs }

func regions(names ...string) []ir.RegionDef {
	var rs []ir.RegionDef
	for _, n := range names {
		rs = append(rs, ir.RegionDef{Name: n})
	}
	return rs
}

func sameType(names ...string) ir.SameRule { return ir.SameRule{What: ir.SameType, Names: names} }
func sameShape(names ...string) ir.SameRule {
	return ir.SameRule{What: ir.SameShape, Names: names}
}
func sameElem(names ...string) ir.SameRule { return ir.SameRule{What: ir.SameElem, Names: names} }
func sameRank(names ...string) ir.SameRule { return ir.SameRule{What: ir.SameRank, Names: names} }

// says gives a rule a message of its own.
func says(message string, r ir.SameRule) ir.SameRule { r.Message = message; return r }

func rules(rs ...ir.SameRule) []ir.SameRule { return rs }

// Sets of traits.
const (
	// elementwise ops may run anywhere, in any number of copies.
	elementwise = ir.Pure | ir.Speculatable | ir.Elementwise | ir.Replicable
	// trapping ops are undefined for some operands (division by zero), so they do not move above branches.
	trapping = ir.Pure | ir.Elementwise | ir.Replicable
	// movement ops compute nothing and only arrange elements.
	movement = ir.Pure | ir.Speculatable | ir.Replicable
	// indexed ops are undefined for indices out of range.
	indexed = ir.Pure | ir.Replicable

	reads  = ir.Ordered | ir.Reads
	writes = ir.Ordered | ir.Writes
)
