package ir

import (
	"strconv"
	"strings"

	"tileiras/ir/float"
)

// Type reads a type: an integer or float type, a function type, !dialect.type, or a type of the default dialect without
// its prefix.
func (p *Parser) Type() Type {
	if p.err != nil || !p.enter() {
		return nil
	}
	defer p.leave()
	switch p.tok.kind {
	case tokBare:
		return p.bareType()
	case tokExcl:
		return p.prefixedType()
	}
	if p.is("(") {
		return p.functionType()
	}
	p.failType()
	return nil
}

// failType reports that there is no type. A dialect's types begin with a keyword where they may be short.
func (p *Parser) failType() {
	if d := p.Ctx.Dialect(p.dialect()); d != nil && d.ParseType != nil {
		p.fail(p.tok.pos, "%sexpected valid keyword", p.opPrefix())
		return
	}
	p.failToken("expected type")
}

func (p *Parser) bareType() Type {
	name := p.text()
	if t := p.scalar(name); t != nil {
		p.next()
		return t
	}
	if name == "tensor" && lex(p.src, p.tok.end).is(p.src, "<") {
		p.next()
		p.next()
		return p.Ctx.Opaque("tensor<" + p.Raw('>') + ">")
	}
	if d := p.Ctx.Dialect(p.dialect()); d != nil && d.ParseType != nil {
		return p.dialectType(d, name, p.tok.pos)
	}
	p.failType()
	return nil
}

// scalar is the integer or float type of a name, or nil.
func (p *Parser) scalar(name string) Type {
	if f := float.ByName(name); f != nil {
		return p.Ctx.Float(f)
	}
	if len(name) > 1 && name[0] == 'i' && strings.Trim(name[1:], "0123456789") == "" && name[1] != '0' {
		if w, err := strconv.Atoi(name[1:]); err == nil && w <= 64 {
			return p.Ctx.Int(w)
		}
	}
	return nil
}

func (p *Parser) prefixedType() Type {
	at := p.tok.pos
	name, mnemonic, dotted := strings.Cut(p.text()[1:], ".")
	if !dotted {
		a := p.alias(p.text())
		if t, ok := a.(TypeAttr); ok {
			p.next()
			return t.Type
		}
		p.fail(at, "undefined symbol alias id '%s'", name)
		return nil
	}
	d := p.Ctx.Dialect(name)
	if d == nil || d.ParseType == nil {
		if !p.Ctx.AllowUnregistered {
			p.fail(at, "dialect namespace '%s' in type is unknown", name)
			return nil
		}
		p.next()
		text := "!" + name + "." + mnemonic
		if p.Eat("<") {
			text += "<" + p.Raw('>') + ">"
		}
		return p.Ctx.Opaque(text)
	}
	return p.dialectType(d, mnemonic, at)
}

func (p *Parser) dialectType(d *Dialect, mnemonic string, at int) Type {
	p.next()
	p.dialects = append(p.dialects, d.Name)
	owner, custom := p.owner, p.custom
	p.owner, p.custom = d, nil
	t, err := d.ParseType(p, mnemonic)
	p.owner, p.custom = owner, custom
	p.dialects = p.dialects[:len(p.dialects)-1]
	if err != nil && p.err == nil {
		p.fail(at, "%s", err)
	}
	if p.err != nil {
		return nil
	}
	if t == nil {
		p.fail(at, "%sunknown type: %s", p.opPrefix(), mnemonic)
	}
	return t
}

func (p *Parser) functionType() Type {
	in := p.TypeList("(", ")")
	p.Expect("->")
	out := p.ResultTypes()
	if p.err != nil {
		return nil
	}
	return p.Ctx.Func(in, out)
}

// TypeList reads types with brackets around, or bare ones if open is "".
func (p *Parser) TypeList(open, close string) []Type {
	ts := []Type{}
	p.List(open, close, func() { ts = append(ts, p.Type()) })
	return ts
}

// ResultTypes reads the right side of a function type: one type, or several in parentheses.
func (p *Parser) ResultTypes() []Type {
	if p.is("(") {
		return p.TypeList("(", ")")
	}
	return []Type{p.Type()}
}
