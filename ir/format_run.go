package ir

// print runs the program on an op whose name has been printed.
func (g *program) print(p *Printer, op *Op) { g.printAll(p, op, g.elements) }

func (g *program) printAll(p *Printer, op *Op, els []element) {
	for i := range els {
		g.printOne(p, op, &els[i])
	}
}

func (g *program) printOne(p *Printer, op *Op, el *element) {
	if el.space {
		p.Str(" ")
	}
	switch el.kind {
	case elLiteral:
		p.Str(el.text)
	case elSpace:
		p.Str(" ")
	case elOperand:
		p.Values(op.OperandGroup(el.index))
	case elAttr:
		if a := op.attrs[el.index]; a != nil && g.def.AttrDef(el.index).Attr != UnitKind {
			p.AttrOf(g.def.AttrDef(el.index), a)
		}
	case elTypes:
		p.ValueTypes(g.values(op, el.of))
	case elFunction:
		p.FunctionalType(g.values(op, el.of), g.values(op, el.to))
	case elOperands:
		p.Values(op.Operands())
	case elDict:
		p.dictOf(op, el.word, func(name string) bool { return g.named[name] }, p.Attr)
	case elCustom:
		g.def.Owner.Directives[el.text].Print(p, op, el.args)
	case elGroup:
		if g.present(op, &el.then[el.anchor]) {
			g.printAll(p, op, el.then)
		} else {
			g.printAll(p, op, el.otherwise)
		}
	case elList:
		for _, clause := range el.clauses {
			if g.present(op, &clause[1]) {
				g.printAll(p, op, clause)
			}
		}
	}
}

// present reports whether an anchor is there: an operand with values, an attribute that is not its default.
func (g *program) present(op *Op, el *element) bool {
	switch el.kind {
	case elOperand:
		return len(op.OperandGroup(el.index)) > 0
	case elAttr:
		a, d := op.attrs[el.index], g.def.AttrDef(el.index)
		if b, ok := a.(BoolAttr); ok && d.Attr == UnitKind {
			return bool(b)
		}
		return a != nil && !d.IsDefault(a)
	case elTypes:
		return len(g.values(op, el.of)) > 0
	}
	return true
}

func (g *program) values(op *Op, of typeOf) []*Value {
	switch of.class {
	case ofOperand:
		return op.OperandGroup(of.index)
	case allOperands:
		return op.Operands()
	case allResults:
		return op.results
	}
	lo, hi := op.resultGroup(of.index)
	return op.results[lo:hi]
}

// resultGroup is the range of results that result i of the row stands for; only the last may be other than single.
func (op *Op) resultGroup(i int) (lo, hi int) {
	if i < len(op.Def.Results)-1 {
		return min(i, len(op.results)), min(i+1, len(op.results))
	}
	return min(i, len(op.results)), len(op.results)
}

// parse runs the program on the text after an op's name.
func (g *program) parse(p *Parser, s *ParsedOp) { g.parseAll(p, s, g.elements) }

func (g *program) parseAll(p *Parser, s *ParsedOp, els []element) {
	for i := range els {
		if p.err != nil {
			return
		}
		g.parseOne(p, s, &els[i])
	}
}

func (g *program) parseOne(p *Parser, s *ParsedOp, el *element) {
	switch el.kind {
	case elLiteral:
		p.Expect(el.text)
	case elOperand:
		s.Refs[el.index] = g.parseOperand(p, el.index)
	case elAttr:
		d := g.def.AttrDef(el.index)
		if d.Attr == UnitKind {
			s.Attrs[el.index] = UnitAttr{}
		} else {
			s.Attrs[el.index] = p.AttrOf(d, nil)
		}
	case elTypes:
		g.parseTypes(p, s, el.of)
	case elFunction:
		g.give(s, el.of, p.TypeList("(", ")"))
		p.Expect("->")
		g.give(s, el.to, p.ResultTypes())
	case elOperands:
		for i := range s.Refs {
			if i > 0 {
				p.Expect(",")
			}
			s.Refs[i] = g.parseOperand(p, i)
		}
	case elDict:
		if !el.word || p.Eat("attributes") {
			p.AttrDict(s)
		}
	case elCustom:
		g.def.Owner.Directives[el.text].Parse(p, s, el.args)
	case elGroup:
		if g.starts(p, &el.then[0]) {
			g.parseAll(p, s, el.then)
		} else {
			g.parseAll(p, s, el.otherwise)
		}
	case elList:
		g.parseList(p, s, el)
	}
}

func (g *program) parseOperand(p *Parser, i int) []OperandRef {
	switch g.def.OperandDef(i).Mode {
	case Variadic:
		return p.Operands("", "")
	case Optional:
		if !p.AtOperand() {
			return nil
		}
	}
	return []OperandRef{p.Operand()}
}

// starts reports whether the text goes on with the first element of a group.
func (g *program) starts(p *Parser, el *element) bool {
	switch el.kind {
	case elLiteral:
		return p.Is(el.text)
	case elOperand:
		return p.AtOperand()
	case elAttr:
		d := g.def.AttrDef(el.index)
		if d.Attr == EnumKind {
			_, ok := d.Enum.Lookup(p.PeekKeyword())
			return ok
		}
		return !p.Failed() && (p.AtInteger() || p.AtString() || p.Is("<") || p.Is("[") || p.Is("{"))
	}
	return false
}

func (g *program) parseTypes(p *Parser, s *ParsedOp, of typeOf) {
	mode := Variadic
	switch of.class {
	case ofOperand:
		mode = g.def.OperandDef(of.index).Mode
	case ofResult:
		mode = g.def.Results[of.index].Mode
	}
	if mode == Variadic {
		g.give(s, of, p.TypeList("", ""))
		return
	}
	g.give(s, of, []Type{p.Type()})
}

func (g *program) give(s *ParsedOp, of typeOf, ts []Type) {
	switch of.class {
	case ofOperand:
		s.OperandTypes[of.index] = ts
	case ofResult:
		s.Types[of.index] = ts
	case allOperands:
		at := 0
		for i, refs := range s.Refs {
			hi := min(at+len(refs), len(ts))
			s.OperandTypes[i] = append([]Type{}, ts[at:hi]...)
			at = hi
		}
	case allResults:
		for i := range s.Types {
			if i < len(s.Types)-1 {
				s.Types[i], ts = append([]Type{}, ts[:min(1, len(ts))]...), ts[min(1, len(ts)):]
			} else {
				s.Types[i] = ts
			}
		}
	}
}

func (g *program) parseList(p *Parser, s *ParsedOp, el *element) {
	seen := make([]bool, len(el.clauses))
	for p.err == nil {
		found := -1
		for i, clause := range el.clauses {
			if p.is(clause[0].text) {
				found = i
			}
		}
		if found < 0 {
			return
		}
		if seen[found] {
			p.fail(p.tok.pos, "`%s` clause can appear at most once in the expansion of the oilist directive", el.clauses[found][0].text)
			return
		}
		seen[found] = true
		g.parseAll(p, s, el.clauses[found])
	}
}

// dictOf prints the attributes that skip does not name, each by value.
func (p *Printer) dictOf(op *Op, keyword bool, skip func(string) bool, value func(Attribute)) {
	first := true
	item := func(name string, a Attribute, write func(Attribute)) {
		switch {
		case !first:
			p.Str(", ")
		case keyword:
			p.Str(" attributes {")
		default:
			p.Str(" {")
		}
		first = false
		p.Str(keyText(name))
		if _, unit := a.(UnitAttr); !unit {
			p.Str(" = ")
			write(a)
		}
	}
	for i, a := range op.attrs {
		d := op.Def.AttrDef(i)
		if a == nil || skip(d.Name) || d.IsDefault(a) {
			continue
		}
		if value != nil {
			item(d.Name, a, value)
		} else {
			item(d.Name, a, func(a Attribute) { p.AttrOf(d, a) })
		}
	}
	for _, e := range op.extra {
		item(e.Name, e.Value, p.Attr)
	}
	if !first {
		p.Str("}")
	}
}
