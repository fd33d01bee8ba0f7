// Package builtin is MLIR's builtin dialect as far as Tile IR text needs it: the module op around anything. Locations and
// operations of unknown dialects are part of package ir.
//
// It may import ir only.
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
		Hooks:   ir.Hooks{Print: printModule, Parse: parseModule},
	}},
}).Init()

// Module makes an empty module.
func Module(c *ir.Context) *ir.Op {
	m := ir.NewOp(ir.State{Def: Dialect.Op("module")})
	m.Region(0).AddBlock()
	return m
}

// Wrap puts an op into a module of its own.
func Wrap(op *ir.Op, loc ir.Location) *ir.Op {
	m := ir.NewOp(ir.State{Def: Dialect.Op("module"), Loc: loc})
	m.Region(0).AddBlock().Append(op)
	return m
}

// IsModule reports whether the op is a builtin module.
func IsModule(op *ir.Op) bool { return op.Is("builtin.module") }

// printModule writes module @name attributes {...} { ops }.
func printModule(p *ir.Printer, op *ir.Op) {
	if name := op.StringNamed("sym_name"); name != "" {
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
