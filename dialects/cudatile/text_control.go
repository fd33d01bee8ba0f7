package cudatile

import (
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// printModule writes @name attributes {producer = "x"} { items }.
func printModule(p *ir.Printer, op *ir.Op) {
	p.Str(" ")
	p.Symbol(Module{op}.SymName())
	p.AttrDictWithKeyword(op, "sym_name")
	p.Str(" ")
	p.Region(op.Region(0), ir.RegionStyle{})
}

func parseModule(p *ir.Parser, s *ir.ParsedOp) error {
	s.SetAttr(p.Pos(), "sym_name", ir.SymbolAttr(p.Symbol()))
	if p.Eat("attributes") {
		p.AttrDict(s)
	}
	s.Regions = append(s.Regions, p.Region(s, nil, ""))
	return p.Err()
}

// printEntry writes @name(%a: T, ...) optimization_hints=<...> { ops }.
func printEntry(p *ir.Printer, op *ir.Op) {
	entry := Entry{op}
	p.Str(" ")
	p.Symbol(entry.SymName())
	if op.Body() != nil {
		p.Args(op.Body())
	}
	if h := entry.OptimizationHints(); len(h) > 0 {
		p.Str(" optimization_hints=")
		p.Hints(h)
	}
	p.Str(" ")
	p.Region(op.Region(0), ir.RegionStyle{})
	p.AttrDict(op, "sym_name", "function_type", "optimization_hints", "arg_attrs", "res_attrs")
}

func parseEntry(p *ir.Parser, s *ir.ParsedOp) error {
	s.SetAttr(p.Pos(), "sym_name", ir.SymbolAttr(p.Symbol()))
	args := p.BlockArgs()
	var results []ir.Type // the verifier refuses them
	if p.Eat("->") {
		results = p.ResultTypes()
	}
	if at := p.Pos(); p.Eat("optimization_hints") {
		p.Expect("=")
		s.SetAttr(at, "optimization_hints", p.Hints())
	}
	inputs := make([]ir.Type, len(args))
	for i, a := range args {
		inputs[i] = a.Type
	}
	if p.Failed() {
		return p.Err()
	}
	s.SetAttr(s.Pos, "function_type", ir.TypeAttr{Type: p.Ctx.Func(inputs, results)})
	s.Regions = append(s.Regions, p.Region(s, args, "return"))
	p.AttrDict(s)
	return p.Err()
}

// printGlobal writes private constant @name alignment = 16 <f32: elements> : type. The two words leave their spaces.
func printGlobal(p *ir.Printer, op *ir.Op) {
	global := Global{op}
	if global.SymbolVisibility() == def.Private {
		p.Str(" private")
	}
	p.Str(" ")
	if global.Constant() {
		p.Str(" constant")
	}
	p.Str(" ")
	p.Symbol(global.SymName())
	if n := global.Alignment(); n != 0 {
		p.Printf(" alignment = %d", n)
	}
	p.AttrDict(op, "sym_name", "value", "alignment", "symbol_visibility", "constant")
	p.Str(" ")
	printConstant(p, global.Value())
}

func parseGlobal(p *ir.Parser, s *ir.ParsedOp) error {
	if p.Eat("private") {
		s.SetAttr(s.Pos, "symbol_visibility", def.VisibilityEnum.Of(def.Private))
	} else {
		p.Eat("public")
		s.SetAttr(s.Pos, "symbol_visibility", def.VisibilityEnum.Of(def.Public))
	}
	if p.Eat("constant") {
		s.SetAttr(s.Pos, "constant", ir.UnitAttr{})
	}
	s.SetAttr(p.Pos(), "sym_name", ir.SymbolAttr(p.Symbol()))
	alignment := ir.IntegerAttr{Type: p.Ctx.Int(64)}
	if p.Eat("alignment") {
		p.Expect("=")
		alignment.Bits = uint64(p.Integer())
	}
	s.SetAttr(s.Pos, "alignment", alignment)
	p.AttrDict(s)
	at := p.Pos()
	lit := p.DenseLiteral(refuseElement)
	p.Expect(":")
	t := p.Type()
	if p.Failed() {
		return p.Err()
	}
	s.SetAttr(at, "value", p.DenseOf(lit, t))
	return p.Err()
}

// printIf writes %c -> (types) { ops } else { ops }. A yield without values is left out.
func printIf(p *ir.Printer, op *ir.Op) {
	p.Str(" ")
	p.Value(op.Operand(0))
	if op.NumResults() > 0 {
		p.Str(" -> (")
		p.ValueTypes(op.Results())
		p.Str(")")
	}
	p.Str(" ")
	p.Region(op.Region(0), ir.RegionStyle{Elide: "yield"})
	if !op.Region(1).Empty() {
		p.Str(" else ")
		p.Region(op.Region(1), ir.RegionStyle{Elide: "yield"})
	}
	p.AttrDict(op)
}

func parseIf(p *ir.Parser, s *ir.ParsedOp) error {
	s.SetOperands("condition", []ir.OperandRef{p.Operand()}, []ir.Type{Scalar(p.Ctx, p.Ctx.Int(1))})
	results := []ir.Type{}
	if p.Eat("->") {
		results = p.TypeList("(", ")")
	}
	s.SetResults("results", results...)
	s.CheckOperands()
	s.Regions = append(s.Regions, p.Region(s, nil, "yield"))
	otherwise := &ir.Region{}
	if p.Eat("else") {
		otherwise = p.Region(s, nil, "yield")
	}
	s.Regions = append(s.Regions, otherwise)
	p.AttrDict(s)
	return p.Err()
}

// printFor writes %i in (%a to %b, step %c) : type iter_values(%v = %init, ...) -> (types) { ops }.
func printFor(p *ir.Printer, op *ir.Op) {
	loop, body := For{op}, op.Body()
	p.Str(" ")
	if loop.UnsignedCmp() {
		p.Str("unsigned ")
	}
	p.Value(body.Arg(0))
	p.Str(" in (")
	p.Value(loop.LowerBound())
	p.Str(" to ")
	p.Value(loop.UpperBound())
	p.Str(", step ")
	p.Value(loop.Step())
	p.Str(") : ")
	p.Type(body.Arg(0).Type())
	p.Str(" ")
	if inits := loop.InitValues(); len(inits) > 0 {
		printIterValues(p, body.Args()[1:], inits)
		p.Str(" -> (")
		p.ValueTypes(op.Results())
		p.Str(") ")
	}
	p.Region(op.Region(0), ir.RegionStyle{Elide: "continue"})
	p.AttrDict(op, "unsignedCmp")
}

func printIterValues(p *ir.Printer, args, inits []*ir.Value) {
	p.Str("iter_values(")
	for i, v := range inits {
		if i > 0 {
			p.Str(", ")
		}
		p.Value(args[i])
		p.Str(" = ")
		p.Value(v)
	}
	p.Str(")")
}

// parseIterValues reads the optional iter_values(%v = %init, ...).
func parseIterValues(p *ir.Parser) (args []ir.BlockArg, inits []ir.OperandRef) {
	if p.Eat("iter_values") {
		p.List("(", ")", func() {
			args = append(args, p.Argument())
			p.Expect("=")
			inits = append(inits, p.Operand())
		})
	}
	return args, inits
}

func parseFor(p *ir.Parser, s *ir.ParsedOp) error {
	if at := p.Pos(); p.Eat("unsigned") {
		s.SetAttr(at, "unsignedCmp", ir.UnitAttr{})
	}
	args := []ir.BlockArg{p.Argument()}
	p.Expect("in")
	p.Expect("(")
	lower := p.Operand()
	p.Expect("to")
	upper := p.Operand()
	p.Expect(",")
	p.Expect("step")
	step := p.Operand()
	p.Expect(")")
	p.Expect(":")
	t := p.Type()
	args[0].Type = t
	s.SetOperands("lowerBound", []ir.OperandRef{lower}, []ir.Type{t})
	s.SetOperands("upperBound", []ir.OperandRef{upper}, []ir.Type{t})
	s.SetOperands("step", []ir.OperandRef{step}, []ir.Type{t})
	carried, inits := parseIterValues(p)
	types := []ir.Type{}
	if len(inits) > 0 {
		p.Expect("->")
		at := p.Pos()
		types = p.TypeList("(", ")")
		if len(types) != len(inits) && !p.Failed() {
			return p.Errorf(at, "mismatch in number of loop-carried values and defined values")
		}
	}
	if p.Failed() {
		return p.Err()
	}
	for i := range carried {
		carried[i].Type = types[i]
	}
	s.SetOperands("initValues", inits, types)
	s.SetResults("resultValues", types...)
	s.CheckOperands()
	s.Regions = append(s.Regions, p.Region(s, append(args, carried...), "continue"))
	p.AttrDict(s)
	return p.Err()
}

// printLoop writes iter_values(%v = %init, ...) : init types -> result types { ops }.
func printLoop(p *ir.Printer, op *ir.Op) {
	p.Str(" ")
	inits := op.Operands()
	if len(inits) > 0 {
		printIterValues(p, op.Body().Args(), inits)
		p.Str(" ")
	}
	if len(inits) > 0 || op.NumResults() > 0 {
		p.Str(": ")
		p.ValueTypes(inits)
		if len(inits) > 0 && op.NumResults() > 0 {
			p.Str(" -> ")
		}
		p.ValueTypes(op.Results())
		p.Str(" ")
	}
	p.Region(op.Region(0), ir.RegionStyle{Elide: "continue"})
	p.AttrDict(op)
}

func parseLoop(p *ir.Parser, s *ir.ParsedOp) error {
	args, inits := parseIterValues(p)
	types, results := []ir.Type{}, []ir.Type{}
	if at := p.Pos(); p.Eat(":") {
		types = p.TypeList("", "")
		switch {
		case len(inits) == 0:
			types, results = []ir.Type{}, types
		case p.Eat("->"):
			results = p.TypeList("", "")
		}
		if len(types) != len(inits) && !p.Failed() {
			return p.Errorf(at, "found different number of iter_values and types")
		}
	} else if len(inits) > 0 {
		p.Expect(":")
	}
	if p.Failed() {
		return p.Err()
	}
	for i := range args {
		args[i].Type = types[i]
	}
	s.SetOperands("initValues", inits, types)
	s.SetResults("resultValues", results...)
	s.CheckOperands()
	s.Regions = append(s.Regions, p.Region(s, args, "continue"))
	p.AttrDict(s)
	return p.Err()
}

// printReduction writes reduce and scan: operands, attributes, types, and on the next line the region with its arguments.
func printReduction(p *ir.Printer, op *ir.Op) {
	p.Str(" ")
	p.Values(op.Operands())
	aggregate := AggregateOp{op}
	p.Printf(" dim=%d", aggregate.Dim())
	if scan, ok := ir.As[Scan](op); ok {
		p.Printf(" reverse=%t", scan.Reverse())
	}
	p.Str(" identities=")
	p.Attr(aggregate.Identities())
	p.AttrDict(op, "dim", "reverse", "identities")
	p.Str(" : ")
	p.ValueTypes(op.Operands())
	p.Str(" -> ")
	p.ValueTypes(op.Results())
	p.Str(" ")
	p.Newline()
	p.Args(op.Body())
	p.Str(" ")
	p.Region(op.Region(0), ir.RegionStyle{})
}

func parseReduction(p *ir.Parser, s *ir.ParsedOp) error {
	refs := p.Operands("", "")
	for _, name := range []string{"dim", "reverse", "identities"} {
		if i := s.Def.AttrIndex(name); i >= 0 {
			at := p.Pos()
			p.Expect(name)
			p.Expect("=")
			s.SetAttr(at, name, p.AttrOf(s.Def.AttrDef(i), nil))
		}
	}
	p.AttrDict(s)
	p.Expect(":")
	s.SetOperands("operands", refs, p.TypeList("", ""))
	p.Expect("->")
	s.SetResults("results", p.TypeList("", "")...)
	s.CheckOperands()
	args := p.BlockArgs()
	body := p.Region(s, args, "")
	if len(args) == 0 && !body.Empty() && body.Front().Empty() { // () {} has no block
		body = &ir.Region{}
	}
	s.Regions = append(s.Regions, body)
	return p.Err()
}
