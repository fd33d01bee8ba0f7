// Package builtin is MLIR's builtin dialect as far as Tile IR text needs it: the module op around anything. Locations and
// operations of unknown dialects are part of package ir.
package builtin

import "tileiras/ir"

// Dialect is the builtin dialect.
var Dialect = (&ir.Dialect{
	Name: "builtin",
	Ops: []*ir.OpDef{{
		Name: "module", NoOpcode: true,
		Args:    []ir.ArgDef{{Name: "sym_name", Attr: ir.SymbolNameKind, Mode: ir.Optional}},
		Regions: []ir.RegionDef{{Name: "body"}},
		Traits:  ir.Isolated | ir.SymbolTable,
		Summary: "A container of top-level operations of any dialect.",
		Hooks:   &ir.Hooks{Print: printModule, Parse: parseModule},
	}},
}).Init()

// Wrap puts an op into a module of its own.
func Wrap(op *ir.Op, loc ir.Location) *ir.Op {
	m := ir.NewOp(ir.State{Def: Dialect.Ops[0], Loc: loc})
	m.Region(0).AddBlock().Append(op)
	return m
}

// IsModule reports whether the op is a builtin module.
func IsModule(op *ir.Op) bool { return op.Def == Dialect.Ops[0] }

// printModule writes module @name attributes {...} { ops }.
func printModule(p *ir.Printer, op *ir.Op) {
	if name, _ := op.SymbolName(); name != "" {
		p.Str(" ")
		p.Symbol(name)
	}
	p.AttrDictWithKeyword(op, "sym_name")
	p.Str(" ")
	p.Region(op.Region(0), ir.RegionStyle{})
}

func parseModule(p *ir.Parser, s *ir.ParsedOp) error {
	if p.AtSymbol() {
		s.SetAttr(p.Pos(), "sym_name", ir.SymbolAttr(p.Symbol()))
	}
	if p.Eat("attributes") {
		p.AttrDict(s)
	}
	s.Regions = append(s.Regions, p.Region(s, nil, ""))
	return p.Err()
}
