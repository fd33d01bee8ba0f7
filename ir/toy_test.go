package ir_test

import (
	"strings"
	"testing"

	"tileiras/dialects/builtin"
	"tileiras/ir"
)

// The toy dialect has one op for each thing that the text forms can say.

var color = &ir.EnumDef{Name: "color", Cases: []ir.EnumCase{{Keyword: "red"}, {Keyword: "green", Value: 1}}}

func operand(name string, m ir.Mode) ir.ArgDef {
	return ir.ArgDef{Name: name, Mode: m, Constraint: "Number"}
}

func attr(name string, k ir.AttrKind, m ir.Mode) ir.ArgDef {
	return ir.ArgDef{Name: name, Attr: k, Mode: m}
}

func result(names ...string) []ir.ResultDef {
	var rs []ir.ResultDef
	for _, n := range names {
		rs = append(rs, ir.ResultDef{Name: n, Constraint: "Number"})
	}
	return rs
}

var toy = (&ir.Dialect{
	Name: "toy",
	Top:  "module", TopName: "top",
	NameResult: func(op *ir.Op, i int) string {
		if op.Def.Name == "pair" {
			return [2]string{"x", "y"}[i]
		}
		return ""
	},
	Constraints: func() map[string]*ir.TypeConstraint {
		return map[string]*ir.TypeConstraint{
			"Number": {Name: "Number", Text: func() string { return "a number" }, Check: func(t ir.Type) bool { return ir.IsInt(t) || ir.IsFloat(t) }},
			"Bool": {Name: "Bool", Text: func() string { return "a bool" }, Check: func(t ir.Type) bool { return ir.IsInt(t, 1) },
				Build: func(c *ir.Context) ir.Type { return c.Int(1) }},
		}
	},
	Directives: map[string]ir.Directive{"Twice": {
		Print: func(p *ir.Printer, op *ir.Op, args []ir.Arg) {
			if a, ok := args[0].AttrOf(op).(ir.IntegerAttr); ok && a.SInt() != 0 {
				p.Printf("twice<%d>", 2*a.SInt())
			}
		},
		Parse: func(p *ir.Parser, s *ir.ParsedOp, args []ir.Arg) {
			if at := p.Pos(); p.Eat("twice") {
				p.Expect("<")
				n := p.Integer()
				p.Expect(">")
				s.SetAttr(at, args[0].Name, ir.IntegerAttr{Type: p.Ctx.Int(64), Bits: uint64(n / 2)})
			}
		},
	}},
	Ops: []*ir.OpDef{
		{Name: "module", Args: []ir.ArgDef{attr("name", ir.SymbolNameKind, ir.Single)}, Regions: []ir.RegionDef{{Name: "body"}},
			Traits: ir.Isolated | ir.SymbolTable},
		{Name: "func", Args: []ir.ArgDef{attr("name", ir.SymbolNameKind, ir.Single)}, Regions: []ir.RegionDef{{Name: "body"}},
			Traits: ir.Isolated | ir.Symbol},
		{Name: "constant", Args: []ir.ArgDef{attr("value", ir.DenseKind, ir.Single)}, Results: result("result")},
		{Name: "add", Args: []ir.ArgDef{operand("lhs", ir.Single), operand("rhs", ir.Single)}, Results: result("result"),
			Same:   []ir.SameRule{{What: ir.SameType, Names: []string{"lhs", "rhs", "result"}}},
			Format: "$lhs `,` $rhs attr-dict `:` type($result)"},
		{Name: "paint", Args: []ir.ArgDef{operand("what", ir.Single), {Name: "with", Attr: ir.EnumKind, Enum: color, Default: color.Of(0)},
			attr("shiny", ir.UnitKind, ir.Optional), attr("n", ir.I64Kind, ir.Optional)}, Results: result("result"),
			Format: "$what custom<Twice>($n) (`with` `<` $with^ `>`)? (`shiny` $shiny^)? attr-dict `:` functional-type($what, results)"},
		{Name: "pick", Args: []ir.ArgDef{{Name: "cond", Constraint: "Bool"}, operand("list", ir.Variadic), operand("other", ir.Optional),
			attr("a", ir.UnitKind, ir.Optional), attr("b", ir.UnitKind, ir.Optional)},
			Results: []ir.ResultDef{{Name: "results", Mode: ir.Variadic}}, Traits: ir.Segmented,
			Format: "$cond `[` $list `]` (`or` `` `=` `` $other^)? oilist(`a` $a | `b` $b) attr-dict " +
				"`:` type($list) (`or` type($other)^)? (`->` type($results)^)?"},
		{Name: "group", Args: []ir.ArgDef{operand("first", ir.Single), operand("more", ir.Variadic), operand("last", ir.Optional),
			{Name: "color", Attr: ir.EnumKind, Enum: color, Mode: ir.Optional}, attr("dims", ir.I32ArrayKind, ir.Optional)},
			Results: []ir.ResultDef{{Name: "results", Mode: ir.Variadic}},
			Regions: []ir.RegionDef{{Name: "body"}, {Name: "else", Optional: true}}},
		{Name: "pair", Results: result("a", "b")},
		{Name: "many", Results: []ir.ResultDef{{Name: "results", Mode: ir.Variadic}}},
		{Name: "end", Args: []ir.ArgDef{operand("values", ir.Variadic)}, Traits: ir.Terminator},
	},
}).Init()

func newContext() *ir.Context { return ir.NewContext(builtin.Dialect, toy) }

// inFunc puts lines into a function with %a, %b : i32 and %c : i1.
func inFunc(lines string) string {
	var b strings.Builder
	b.WriteString("toy.module @m {\n  func @f (%arg0: i32, %arg1: i32, %arg2: i1) {\n")
	for _, l := range strings.Split(strings.Trim(lines, "\n"), "\n") {
		b.WriteString("    " + l + "\n")
	}
	b.WriteString("    end\n  }\n}\n")
	return b.String()
}

func mustParse(t *testing.T, text string) (*ir.Context, *ir.Op) {
	t.Helper()
	c := newContext()
	op, err := ir.Parse(c, "t.mlir", []byte(text))
	if err != nil {
		t.Fatalf("%s\n%s", c.Diags.String(), text)
	}
	return c, op
}
