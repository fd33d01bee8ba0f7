package ir

import (
	"bytes"
	"slices"
)

// alias is a definition "#name = attribute" or "!name = type" anywhere at the top level. It is read when first used.
type alias struct {
	at, end int // of the value; end is known once it has been read
	parts   int // what it counts for
	value   Attribute
}

// findAliases notes where each alias is defined: a name after # or ! at the start of a line, followed by "=".
func (p *Parser) findAliases() {
	for at := 0; at < len(p.src); {
		end := bytes.IndexByte(p.src[at:], '\n')
		if end < 0 {
			end = len(p.src) - at
		}
		p.Ctx.Step()
		line := p.src[at : at+end]
		start := at + len(line) - len(bytes.TrimLeft(line, " \t"))
		if start < at+end && (p.src[start] == '#' || p.src[start] == '!') {
			name := lex(p.src, start)
			if eq := lex(p.src, name.end); eq.kind == tokPunct && p.src[eq.pos] == '=' {
				p.noteAlias(name, eq.end)
			}
		}
		at += end + 1
	}
}

func (p *Parser) noteAlias(name token, value int) {
	key := string(p.src[name.pos:name.end])
	if p.aliases == nil {
		p.aliases = map[string]*alias{}
	}
	if p.aliases[key] != nil {
		p.fail(name.pos, "redefinition of symbol alias id '%s'", key[1:])
		return
	}
	p.aliases[key] = &alias{at: value}
}

// aliasDefinition skips a definition at the top level, which findAliases has noted.
func (p *Parser) aliasDefinition() bool {
	if p.tok.kind != tokHash && p.tok.kind != tokExcl {
		return false
	}
	key := p.text()
	a := p.aliases[key]
	if a == nil || lex(p.src, p.tok.end).end != a.at {
		return false
	}
	if p.alias(key); a.value != nil {
		p.seek(a.end)
	}
	return p.err == nil
}

// alias is the value of #name or !name, or nil when there is none or it needs itself.
func (p *Parser) alias(key string) Attribute {
	a := p.aliases[key]
	if a == nil {
		return nil
	}
	if a.value != nil || p.err != nil {
		p.count(a.parts)
		return a.value
	}
	if slices.Contains(p.pending, key) {
		p.fail(a.at, "alias '%s' is defined by itself", key)
		return nil
	}
	tok, last, dialects, owner := p.tok, p.last, p.dialects, p.owner
	p.pending = append(p.pending, key)
	p.dialects = nil
	before := p.parts
	p.seek(a.at)
	a.value = p.Attr(nil)
	a.end, a.parts = p.last, p.parts-before
	p.pending = p.pending[:len(p.pending)-1]
	p.dialects, p.owner = dialects, owner
	if p.err == nil {
		p.tok, p.last = tok, last
	}
	return a.value
}

// Locations.

// trailingLoc reads the optional loc(...) after an op or an argument.
func (p *Parser) trailingLoc() Location {
	if p.err != nil || !p.is("loc") {
		return nil
	}
	return p.Location()
}

// Location reads loc(...), or an alias or attribute that is a location.
func (p *Parser) Location() Location {
	if p.tok.kind == tokHash {
		return p.hashLoc()
	}
	p.Expect("loc")
	p.Expect("(")
	l := p.innerLoc()
	p.Expect(")")
	return l
}

func (p *Parser) hashLoc() Location {
	at := p.tok.pos
	switch a := p.hashAttr().(type) {
	case locationAttr:
		return a.Location
	case Location:
		return a
	}
	p.fail(at, "expected location attribute")
	return UnknownLoc{}
}

func (p *Parser) innerLoc() Location {
	if p.err != nil || !p.enter() {
		return UnknownLoc{}
	}
	defer p.leave()
	switch {
	case p.tok.kind == tokHash:
		return p.hashLoc()
	case p.tok.kind == tokString:
		return p.namedLoc()
	case p.is("loc"):
		return p.Location()
	case p.Eat("unknown"):
		return UnknownLoc{}
	case p.Eat("callsite"):
		p.Expect("(")
		callee := p.innerLoc()
		p.Expect("at")
		caller := p.innerLoc()
		p.Expect(")")
		return &CallSiteLoc{callee, caller}
	case p.Eat("fused"):
		f := &FusedLoc{}
		if p.Eat("<") {
			f.Meta = p.Attr(nil)
			p.Expect(">")
		}
		p.List("[", "]", func() { f.Locs = append(f.Locs, p.innerLoc()) })
		return f
	}
	p.failToken("expected location instance")
	return UnknownLoc{}
}

// namedLoc reads "file":line:col or "name"(child).
func (p *Parser) namedLoc() Location {
	name := p.String()
	if p.Eat(":") {
		line := p.lineNumber("line")
		p.Expect(":")
		return &FileLoc{name, line, p.lineNumber("column")}
	}
	n := &NameLoc{name, UnknownLoc{}}
	if p.Eat("(") {
		n.Child = p.innerLoc()
		p.Expect(")")
	}
	return n
}

func (p *Parser) lineNumber(what string) uint32 {
	at := p.tok.pos
	if p.tok.kind != tokInt {
		p.failToken("expected integer %s number in FileLineColLoc", what)
		return 0
	}
	v := p.Integer()
	if v < 0 || v > 1<<32-1 {
		p.fail(at, "expected integer %s number in FileLineColLoc", what)
	}
	return uint32(v)
}
