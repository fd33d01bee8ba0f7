// Package testing extends the cuda_tile dialect by operations that only tests of the tools need: a function with results, and
// two operations that gain fields from bytecode version 250.0 to 250.1, which show what the format does when it evolves.
// NVIDIA's test tools know the same. A context knows them after the cuda_tile dialect has been registered in it.
package testing

import (
	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// Versions of the bytecode that only these operations need.
var (
	V250  = ir.V(250, 0)
	V2501 = ir.V(250, 1)
)

// Extension is the cuda_tile dialect's tables around the rows of this package.
var Extension = newExtension()

func newExtension() *ir.Dialect {
	d := *cudatile.Dialect
	d.ID, d.Ops = 0, rows()
	d.Directives = map[string]ir.Directive{"LongType": {Print: printLongType, Parse: parseLongType}}
	return d.Init()
}

func rows() []*ir.OpDef {
	optional := func(name string, kind ir.AttrKind) ir.ArgDef {
		return ir.ArgDef{Name: name, Attr: kind, Mode: ir.Optional, Since: V2501}
	}
	return []*ir.OpDef{
		{Name: "testing$func", Opcode: 0x100, Since: V250,
			Args: []ir.ArgDef{
				{Name: "sym_name", Attr: ir.SymbolNameKind}, {Name: "function_type", Attr: ir.TypeKind},
				{Name: "arg_attrs", Attr: ir.ArrayKind, Mode: ir.Optional}, {Name: "res_attrs", Attr: ir.ArrayKind, Mode: ir.Optional}},
			Regions: []ir.RegionDef{{Name: "body"}},
			Traits:  ir.Isolated | ir.Symbol | ir.Function | ir.ImplicitTerminator | ir.Ordered,
			Summary: "A function with results.",
			Hooks:   &ir.Hooks{Print: printFunc, Parse: parseFunc, Verify: verifyFunc, Printable: printable}},
		{Name: "testing$bytecode_test_new_attribute", Opcode: 0x101, Since: V250,
			Args: []ir.ArgDef{
				optional("new_flag", ir.UnitKind),
				{Name: "new_param", Attr: ir.I32Kind, Since: V2501, Default: ir.IntegerAttr{Bits: 42}}},
			Traits:  ir.Ordered,
			Format:  "(`new_flag` $new_flag^)? (`new_param` `=` $new_param^)? attr-dict",
			Summary: "Gains an attribute with a default."},
		{Name: "testing$bytecode_test_evolution", Opcode: 0x102, Since: V250,
			Args: []ir.ArgDef{
				{Name: "inputs", Constraint: "Tile", Mode: ir.Variadic},
				optional("new_attr", ir.I32Kind),
				{Name: "optional_token", Constraint: "Token", Mode: ir.Optional, Since: V2501}},
			Results: []ir.ResultDef{{Name: "result_token", Constraint: "Token", Since: V2501}},
			Traits:  ir.Segmented | ir.Ordered,
			Format: "`(` $inputs `:` custom<LongType>($inputs) `)` (`new_attr` `=` $new_attr^)? " +
				"(`token` `=` $optional_token^ `:` type($optional_token))? `->` type($result_token) attr-dict",
			Summary: "Gains an operand and a result."},
	}
}

// printable reports whether an op has what its form shows.
func printable(op *ir.Op) bool { _, named := op.SymbolName(); return named }

// printFunc writes @name(%a: T, ...) -> results { ops }.
func printFunc(p *ir.Printer, op *ir.Op) {
	name, _ := op.SymbolName()
	p.Str(" ")
	p.Symbol(name)
	p.Args(op.Body())
	if ft := op.Signature(); ft != nil && len(ft.Results) > 0 {
		p.Str(" -> ")
		p.ResultTypes(ft.Results)
	}
	p.Str(" ")
	p.Region(op.Region(0), ir.RegionStyle{})
	p.AttrDict(op, "sym_name", "function_type", "arg_attrs", "res_attrs")
}

func parseFunc(p *ir.Parser, s *ir.ParsedOp) error {
	s.SetAttr(p.Pos(), "sym_name", ir.SymbolAttr(p.Symbol()))
	args := p.BlockArgs()
	results := []ir.Type{}
	if p.Eat("->") {
		results = p.ResultTypes()
	}
	inputs := make([]ir.Type, len(args))
	for i, a := range args {
		inputs[i] = a.Type
	}
	if p.Failed() {
		return p.Err()
	}
	s.SetAttr(s.Pos, "function_type", ir.TypeAttr{Type: p.Ctx.Func(inputs, results)})
	if p.Eat("attributes") {
		p.AttrDict(s)
	}
	s.Regions = append(s.Regions, p.Region(s, args, "return"))
	p.AttrDict(s)
	return p.Err()
}

func verifyFunc(c *ir.Context, op *ir.Op) bool {
	ft := op.Signature()
	if ft == nil || op.Body() == nil || op.Body().NumArgs() != len(ft.Inputs) {
		return c.Error(op, "requires a function type that agrees with its arguments")
	}
	return cudatile.VerifyScopes(c, op)
}

// printLongType writes types with their prefix even where it may be left out.
func printLongType(p *ir.Printer, op *ir.Op, args []ir.Arg) {
	for i, v := range args[0].ValuesOf(op) {
		if i > 0 {
			p.Str(", ")
		}
		p.Str("!" + v.Type().TypeDialect() + ".")
		p.ShortType(v.Type())
	}
}

func parseLongType(p *ir.Parser, s *ir.ParsedOp, args []ir.Arg) {
	i := s.Def.OperandIndex(args[0].Name)
	s.OperandTypes[i] = p.TypeList("", "")
}
