package ir

import (
	"strings"

	"tileiras/ir/float"
)

// Attr reads an attribute. A number without a type is of type expected, or, when that is nil, of i64 or f64.
func (p *Parser) Attr(expected Type) Attribute {
	if p.err != nil || !p.enter() {
		return nil
	}
	defer p.leave()
	switch p.tok.kind {
	case tokInt, tokFloat:
		return p.number(expected)
	case tokString:
		return StringAttr(p.String())
	case tokAt:
		return SymbolAttr(p.Symbol())
	case tokHash:
		return p.hashAttr()
	case tokExcl:
		return TypeAttr{p.Type()}
	case tokPunct:
		return p.punctAttr(expected)
	case tokBare:
		return p.wordAttr(expected)
	}
	p.failToken("expected attribute value")
	return nil
}

func (p *Parser) punctAttr(expected Type) Attribute {
	switch {
	case p.is("-"):
		return p.number(expected)
	case p.is("["):
		list := ArrayAttr{}
		p.List("[", "]", func() { list = append(list, p.Attr(nil)) })
		return list
	case p.is("{"):
		return p.Dict()
	case p.is("<"):
		return p.Hints()
	case p.is("("):
		return TypeAttr{p.Type()}
	}
	p.failToken("expected attribute value")
	return nil
}

func (p *Parser) wordAttr(expected Type) Attribute {
	switch p.text() {
	case "true", "false":
		v := p.Bool()
		if IsInt(expected, 1) {
			return IntegerAttr{expected, map[bool]uint64{true: 1}[v]}
		}
		return BoolAttr(v)
	case "unit":
		p.next()
		return UnitAttr{}
	case "array":
		return p.denseArray()
	case "dense":
		p.next()
		lit := p.literal()
		p.Expect(":")
		t := p.Type()
		return p.denseAttr(lit, t)
	case "loc":
		return locationAttr{p.Location()}
	}
	return TypeAttr{p.Type()}
}

// Dict reads {name = value, name}.
func (p *Parser) Dict() DictAttr {
	d := DictAttr{}
	seen := map[string]bool{}
	p.List("{", "}", func() {
		at := p.tok.pos
		name := p.KeywordOrString()
		if seen[name] {
			p.fail(at, "duplicate key '%s' in dictionary attribute", name)
			return
		}
		seen[name] = true
		var v Attribute = UnitAttr{}
		if p.Eat("=") {
			v = p.Attr(nil)
		}
		d = append(d, NamedAttr{name, v})
	})
	return d
}

// Hints reads <sm_100 = {latency = 3}>. Integers without a type are of i32 where they fit, as front ends make them.
func (p *Parser) Hints() DictAttr {
	at := p.Pos()
	d := p.hintEntries("<", ">")
	for _, e := range d {
		if _, ok := e.Value.(DictAttr); !ok && p.err == nil {
			p.Errorf(at, "expected dictionary attribute for optimization_hints entry `%s` got value=%s", e.Name, AttrText(e.Value))
		}
	}
	return d
}

func (p *Parser) hintEntries(open, close string) DictAttr {
	d := DictAttr{}
	if !p.enter() {
		return d
	}
	defer p.leave()
	seen := map[string]bool{}
	p.List(open, close, func() {
		at := p.tok.pos
		name := p.KeywordOrString()
		p.Expect("=")
		var v Attribute
		switch {
		case p.is("{"):
			v = p.hintEntries("{", "}")
		case p.AtInteger() && open == "{":
			v = p.hintInteger()
		default:
			v = p.Attr(nil)
		}
		if p.err != nil {
			return
		}
		if seen[name] {
			p.fail(at, "duplicate optimization_hints key `%s`", name)
			return
		}
		seen[name] = true
		d = append(d, NamedAttr{name, v})
	})
	return d
}

func (p *Parser) hintInteger() Attribute {
	at, last := p.tok, p.last
	v := p.Integer()
	if p.tok.kind == tokPunct && p.is(":") || p.err != nil || int64(int32(v)) != v {
		if p.err == nil {
			p.tok, p.last = at, last
		}
		return p.Attr(nil)
	}
	return IntegerAttr{p.Ctx.Int(32), uint64(uint32(v))}
}

func (p *Parser) denseArray() Attribute {
	p.next()
	p.Expect("<")
	at := p.tok.pos
	elem := p.Keyword()
	p.Eat(":")
	var ints []int64
	var bools BoolArray
	if !p.is(">") {
		p.List("", "", func() {
			if elem == "i1" {
				bools = append(bools, p.Bool())
			} else {
				ints = append(ints, p.Integer())
			}
		})
	}
	p.Expect(">")
	switch elem {
	case "i32":
		return toI32(p, at, ints)
	case "i64":
		return I64Array(ints)
	case "i1":
		return bools
	}
	p.fail(at, "array of %s is not supported", elem)
	return nil
}

func toI32(p *Parser, at int, ints []int64) I32Array {
	out := I32Array{}
	for _, v := range ints {
		if int64(int32(v)) != v {
			p.fail(at, "integer constant out of range for attribute")
		}
		out = append(out, int32(v))
	}
	return out
}

// number reads an integer or float with its optional type.
func (p *Parser) number(expected Type) Attribute {
	l := p.numberLiteral()
	t := expected
	if p.err == nil && p.is(":") && expected == nil {
		p.next()
		t = p.Type()
	}
	if t == nil {
		if l.kind == tokFloat {
			t = p.Ctx.Float(float.F64)
		} else {
			t = p.Ctx.Int(64)
		}
	}
	if p.err != nil {
		return nil
	}
	bits := p.elementBits(l, t)
	if _, ok := t.(*FloatType); ok {
		return FloatAttr{t, bits}
	}
	if _, ok := t.(*IntegerType); !ok {
		p.fail(l.pos, "integer literal not valid for specified type")
		return nil
	}
	return IntegerAttr{t, bits}
}

// hashAttr reads #dialect.name<body> or the alias #name.
func (p *Parser) hashAttr() Attribute {
	at := p.tok.pos
	name, mnemonic, dotted := strings.Cut(p.text()[1:], ".")
	if !dotted {
		a := p.alias(p.text())
		if a == nil {
			p.fail(at, "undefined symbol alias id '%s'", name)
			return nil
		}
		p.next()
		return a
	}
	d := p.Ctx.Dialect(name)
	if d == nil {
		p.fail(at, "dialect namespace '%s' in attribute is unknown", name)
		return nil
	}
	p.next()
	return p.DialectAttr(d, mnemonic, at)
}

// DialectAttr reads the rest of an attribute of a dialect after its mnemonic: a case of an enumeration, or what the
// dialect's hook reads.
func (p *Parser) DialectAttr(d *Dialect, mnemonic string, at int) Attribute {
	if e := d.enum(mnemonic); e != nil {
		p.Expect("<")
		v := p.EnumCase(e)
		p.Expect(">")
		return e.Of(v)
	}
	p.dialects = append(p.dialects, d.Name)
	owner, custom := p.owner, p.custom
	p.owner, p.custom = d, nil
	var a Attribute
	var err error
	if d.ParseAttr != nil {
		a, err = d.ParseAttr(p, mnemonic)
	}
	p.owner, p.custom = owner, custom
	p.dialects = p.dialects[:len(p.dialects)-1]
	if err != nil && p.err == nil {
		p.fail(at, "%s", err)
	}
	if p.err != nil {
		return nil
	}
	if a == nil {
		p.fail(at, "unknown attribute `%s` in dialect `%s`", mnemonic, d.Name)
	}
	return a
}

// enum finds an enumeration of the rows by its name, or nil.
func (d *Dialect) enum(name string) *EnumDef {
	for _, op := range d.Ops {
		for i := range op.Args {
			if e := op.Args[i].Enum; e != nil && e.Name == name {
				return e
			}
		}
	}
	return nil
}

// EnumCase reads the keyword of a case.
func (p *Parser) EnumCase(e *EnumDef) uint32 {
	at := p.wrongTokenPos()
	word := p.Keyword()
	if p.err != nil {
		return 0
	}
	v, ok := e.Lookup(word)
	if !ok {
		var names []string
		for _, c := range e.Cases {
			names = append(names, c.Keyword)
		}
		p.fail(at, "%sexpected '%s' to be one of: {'%s'}", p.opPrefix(), e.Name, strings.Join(names, "', '"))
	}
	return v
}

// enumOf reads the keyword of a case in an operation's own form.
func (p *Parser) enumOf(d *ArgDef) uint32 {
	e, at := d.Enum, p.wrongTokenPos()
	if e.Expected != "" {
		word := p.Keyword()
		v, ok := e.Lookup(word)
		switch {
		case ok:
		case p.err != nil && word == "":
			p.Also("%s", e.Expected)
		default:
			p.fail(at, "%s%s", p.opPrefix(), e.Expected)
		}
		return v
	}
	if p.tok.kind == tokBare || p.tok.kind == tokString {
		word := p.KeywordOrString()
		if v, ok := e.Lookup(word); ok {
			return v
		}
	}
	var names []string
	for _, c := range e.Cases {
		names = append(names, c.Keyword)
	}
	p.fail(at, "expected string or keyword containing one of the following enum values for attribute '%s' [%s]", d.Name, strings.Join(names, ", "))
	return 0
}

// AttrOf reads an attribute as its declaration says.
func (p *Parser) AttrOf(d *ArgDef, expected Type) Attribute {
	switch d.Attr {
	case EnumKind:
		if p.custom != nil && p.tok.kind != tokHash {
			return d.Enum.Of(p.enumOf(d))
		}
		if p.tok.kind == tokBare {
			return d.Enum.Of(p.EnumCase(d.Enum))
		}
	case I32Kind, I64Kind:
		return p.typedInteger(map[AttrKind]int{I32Kind: 32, I64Kind: 64}[d.Attr])
	case BoolKind:
		return BoolAttr(p.Bool())
	case UnitKind:
		if p.Eat("unit") {
			return UnitAttr{}
		}
	case StringKind:
		if p.tok.kind != tokString {
			p.failToken("expected attribute value")
			return nil
		}
		return StringAttr(p.String())
	case SymbolNameKind, SymbolRefKind:
		if p.tok.kind == tokString {
			return SymbolAttr(p.String())
		}
		return SymbolAttr(p.Symbol())
	case TypeKind:
		return TypeAttr{p.Type()}
	case DenseKind:
		if p.is("<") {
			lit := p.DenseLiteral(nil)
			if p.Eat(":") {
				expected = p.Type()
			}
			return p.DenseOf(lit, expected)
		}
	case I32ArrayKind:
		if at := p.tok.pos; p.is("[") {
			return toI32(p, at, p.Integers("[", "]"))
		}
	case I64ArrayKind:
		if p.is("[") {
			return I64Array(p.Integers("[", "]"))
		}
	case BoolArrayKind:
		if p.is("[") {
			list := BoolArray{}
			p.List("[", "]", func() { list = append(list, p.Bool()) })
			return list
		}
	case HintsKind:
		return p.Hints()
	case PredicateKind:
		return p.ShortAttr(p.Ctx.Dialect(p.dialect()))
	}
	at := p.tok.pos
	a := p.Attr(expected)
	if p.err == nil && !d.Accepts(a) {
		p.fail(at, "attribute '%s' is of another kind than expected", d.Name)
	}
	return a
}

// ShortAttr reads an attribute of a dialect with or without its prefix.
func (p *Parser) ShortAttr(d *Dialect) Attribute {
	if p.tok.kind == tokBare && d != nil {
		at, mnemonic := p.tok.pos, p.text()
		p.next()
		return p.DialectAttr(d, mnemonic, at)
	}
	return p.Attr(nil)
}

// typedInteger reads an integer of a width; its own type may follow.
func (p *Parser) typedInteger(width int) Attribute {
	at := p.tok.pos
	v := p.Integer()
	t := p.Ctx.Int(width)
	if p.is(":") && p.integerTypeFollows() {
		p.next()
		if p.Type() != t {
			p.fail(at, "expected an integer of type 'i%d'", width)
		}
	}
	if width == 32 && int64(int32(v)) != v && int64(uint32(v)) != v {
		p.fail(at, "integer constant out of range for attribute")
	}
	return IntegerAttr{t, uint64(v) & (1<<(width-1)<<1 - 1)}
}

// integerTypeFollows looks after the current token, a colon, which may belong to the op.
func (p *Parser) integerTypeFollows() bool {
	t := lex(p.src, p.tok.end)
	return t.kind == tokBare && IsInt(p.scalar(string(p.src[t.pos:t.end])))
}
