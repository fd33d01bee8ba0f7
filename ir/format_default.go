package ir

import "slices"

// The form of ops without a format of their own:
//
//	%r, %t = name @symbol %a, %b, mask(%m), indices(%i, %j) <f32: 1.0> {attr = value, unit} : (types) -> types
//	(%x: T) { ... } else { ... }
//
// The symbol is the attribute of that kind. Single operands stand in declared order without their names, optional and
// variadic ones as name(...), except that a variadic operand which is the only one stands alone. A constant of the row
// stands by itself, its type being that of result 0 if there is one. Enum attributes are keywords; defaults are left out.
// When a rule of the row says that all operands and results have one type, that type stands alone; without operands only
// the result types are given; without either nothing. Regions after the first are introduced by their names; rows with
// regions write the word "attributes" before the dictionary, so that it is not taken for a region.

// uniform reports whether one type says everything: a SameType rule over all operands and results, each of them single.
func (d *OpDef) uniform() bool {
	if !d.FixedOperands() || len(d.OperandArgs) == 0 || len(d.Results) == 0 {
		return false
	}
	for _, rule := range d.Same {
		if rule.What != SameType {
			continue
		}
		all := true
		for _, i := range d.OperandArgs {
			all = all && slices.Contains(rule.Names, d.Args[i].Name)
		}
		for _, r := range d.Results {
			all = all && r.Mode == Single && slices.Contains(rule.Names, r.Name)
		}
		if all {
			return true
		}
	}
	return false
}

// positional reports whether operand i stands without its name.
func (d *OpDef) positional(i int) bool {
	return d.OperandDef(i).Mode == Single || len(d.OperandArgs) == 1 && d.OperandDef(i).Mode == Variadic
}

// standsAlone is the index of the attribute of a kind that stands outside the dictionary, or -1.
func (d *OpDef) standsAlone(k AttrKind) int {
	for i := range d.AttrArgs {
		if d.AttrDef(i).Attr == k && d.AttrDef(i).Mode == Single {
			return i
		}
	}
	return -1
}

func (p *Printer) defaultForm(op *Op) {
	d := op.Def
	sym, dense := d.standsAlone(SymbolNameKind), d.standsAlone(DenseKind)
	if sym >= 0 && op.attrs[sym] != nil {
		p.Str(" ")
		p.Attr(op.attrs[sym])
	}
	first := true
	for i := 0; i < d.NumOperandDefs(); i++ {
		vs := op.OperandGroup(i)
		if len(vs) == 0 {
			continue
		}
		if first {
			p.Str(" ")
		} else {
			p.Str(", ")
		}
		first = false
		if d.positional(i) {
			p.Values(vs)
			continue
		}
		p.Str(d.OperandDef(i).Name + "(")
		p.Values(vs)
		p.Str(")")
	}
	if dense >= 0 {
		if a, ok := op.attrs[dense].(*DenseAttr); ok {
			p.Str(" ")
			p.Dense(a)
			if len(d.Results) == 0 {
				p.Str(" : ")
				p.Type(a.Type)
			}
		} else {
			dense = -1
		}
	}
	p.dictOf(op, len(d.Regions) > 0, func(name string) bool {
		return sym >= 0 && name == d.AttrDef(sym).Name || dense >= 0 && name == d.AttrDef(dense).Name
	}, nil)
	p.signature(op)
	for i, r := range op.regions {
		if r.Empty() && d.Regions[i].Optional {
			continue
		}
		p.Str(" ")
		if i > 0 {
			p.Str(d.Regions[i].Name + " ")
		}
		if !r.Empty() && r.Front().NumArgs() > 0 {
			p.Args(r.Front())
			p.Str(" ")
		}
		p.Region(r, RegionStyle{})
	}
}

func (p *Printer) signature(op *Op) {
	switch {
	case op.Def.uniform():
		p.Str(" : ")
		p.Type(op.results[0].typ)
	case len(op.operands) > 0:
		p.Str(" : (")
		p.ValueTypes(op.Operands())
		p.Str(")")
		if len(op.results) > 0 {
			p.Str(" -> ")
			p.ResultTypes(TypesOf(op.results))
		}
	case len(op.results) > 0:
		p.Str(" : ")
		p.ValueTypes(op.results)
	}
}

// defaultForm reads what Printer.defaultForm writes.
func (p *Parser) defaultForm(s *ParsedOp) {
	d := s.Def
	if sym := d.standsAlone(SymbolNameKind); sym >= 0 {
		s.Attrs[sym] = SymbolAttr(p.Symbol())
	}
	p.defaultOperands(s)
	var lit Literal
	dense := d.standsAlone(DenseKind)
	if dense >= 0 {
		lit = p.DenseLiteral(nil)
		if len(d.Results) == 0 {
			p.Expect(":")
			s.Attrs[dense] = p.DenseOf(lit, p.Type())
		}
	}
	if len(d.Regions) == 0 || p.Eat("attributes") {
		p.AttrDict(s)
	}
	types, results := p.defaultSignature(s)
	if p.err != nil {
		return
	}
	if dense >= 0 && s.Attrs[dense] == nil && len(results) > 0 {
		s.Attrs[dense] = p.DenseOf(lit, results[0])
	}
	s.spread(types, results)
	p.defaultRegions(s)
}

func (p *Parser) defaultOperands(s *ParsedOp) {
	d := s.Def
	k := 0 // next positional operand
	for first := true; p.err == nil; first = false {
		switch {
		case p.AtOperand():
			for k < d.NumOperandDefs() && !d.positional(k) {
				k++
			}
			if k == d.NumOperandDefs() && first {
				return // an op without operands: what follows is the next line
			}
			if k == d.NumOperandDefs() {
				p.failToken("too many operands for '%s'", d.FullName())
				return
			}
			s.Refs[k] = append(s.Refs[k], p.Operand())
			if d.OperandDef(k).Mode == Single {
				k++
			}
		case p.tok.kind == tokBare && d.OperandIndex(p.text()) >= 0:
			i := d.OperandIndex(p.text())
			if len(s.Refs[i]) > 0 {
				p.failToken("operand '%s' is given twice", p.text())
				return
			}
			p.next()
			s.Refs[i] = p.Operands("(", ")")
		case !first:
			p.failToken("expected SSA operand")
			return
		default:
			return
		}
		if !p.Eat(",") {
			return
		}
	}
}

// defaultSignature reads the types; operands is nil when the row gives them.
func (p *Parser) defaultSignature(s *ParsedOp) (operands, results []Type) {
	n := 0
	for i, refs := range s.Refs {
		if d := s.Def.OperandDef(i); len(refs) != 1 && d.Mode == Single || len(refs) > 1 && d.Mode == Optional {
			p.failToken("expected one operand '%s', but found %d", d.Name, len(refs))
		}
		n += len(refs)
	}
	switch {
	case s.Def.uniform():
		p.Expect(":")
		t := p.Type()
		for range n {
			operands = append(operands, t)
		}
		for range s.Def.Results {
			results = append(results, t)
		}
	case n > 0:
		p.Expect(":")
		at := p.Pos()
		operands = p.TypeList("(", ")")
		if len(operands) != n {
			p.fail(int(at), "number of operands and types do not match: got %d operands and %d types", n, len(operands))
		}
		if p.Eat("->") {
			results = p.ResultTypes()
		}
	case p.Eat(":"):
		results = p.TypeList("", "")
	}
	return operands, results
}

// spread gives flat lists of types to the operands and results of the row.
func (s *ParsedOp) spread(operands, results []Type) {
	at := 0
	for i, refs := range s.Refs {
		s.OperandTypes[i] = operands[at : at+len(refs)]
		if s.OperandTypes[i] == nil {
			s.OperandTypes[i] = []Type{}
		}
		at += len(refs)
	}
	for i, r := range s.Def.Results {
		switch {
		case r.Mode == Variadic:
			s.Types[i], results = append([]Type{}, results...), nil
		case r.Mode == Optional && len(results) == 0:
			s.Types[i] = []Type{}
		case len(results) == 0:
			s.p.fail(int(s.Pos), "expected %d results, but the types name fewer", len(s.Def.Results))
			return
		default:
			s.Types[i], results = results[:1], results[1:]
		}
	}
	if len(results) > 0 {
		s.p.fail(int(s.Pos), "expected %d results, but the types name more", len(s.Def.Results))
	}
}

func (p *Parser) defaultRegions(s *ParsedOp) {
	s.CheckOperands()
	for i, rd := range s.Def.Regions {
		if p.err != nil {
			return
		}
		if rd.Optional && !(i > 0 && p.is(rd.Name)) && !p.is("{") && !p.is("(") {
			s.Regions = append(s.Regions, &Region{})
			continue
		}
		if i > 0 {
			p.Expect(rd.Name)
		}
		var args []BlockArg
		if p.is("(") {
			args = p.BlockArgs()
		}
		s.Regions = append(s.Regions, p.Region(s, args, ""))
	}
}

// CheckOperands reports what is wrong with the operands whose types are known. It is called before regions are read, so that
// the first error in the text is the one that is reported.
func (s *ParsedOp) CheckOperands() {
	for i, refs := range s.Refs {
		for k, r := range refs {
			if k < len(s.OperandTypes[i]) {
				s.p.Resolve(r, s.OperandTypes[i][k])
			}
		}
	}
}

// AttrDict reads the optional {name = value, ...}. Attributes of the row are read as it declares them.
func (p *Parser) AttrDict(s *ParsedOp) {
	if !p.is("{") {
		return
	}
	p.List("{", "}", func() {
		at := p.Pos()
		name := p.KeywordOrString()
		var a Attribute = UnitAttr{}
		if p.Eat("=") {
			if i := s.Def.AttrIndex(name); i >= 0 {
				a = p.AttrOf(s.Def.AttrDef(i), nil)
			} else {
				a = p.Attr(nil)
			}
		}
		if p.err == nil {
			s.SetAttr(at, name, a)
		}
	})
}
