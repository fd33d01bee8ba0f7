package ir

import "strconv"

// Eat takes the current token if it is this punctuation or keyword.
func (p *Parser) Eat(s string) bool {
	if p.err != nil || !p.is(s) {
		return false
	}
	p.next()
	return true
}

// Is reports whether the current token is this punctuation or keyword.
func (p *Parser) Is(s string) bool { return p.err == nil && p.is(s) }

// Expect takes this punctuation or keyword, or reports that it is expected.
func (p *Parser) Expect(s string) bool {
	if p.Eat(s) {
		return true
	}
	p.failToken("expected '%s'", s)
	return false
}

// Pos is the place of the current token.
func (p *Parser) Pos() Pos { return Pos(p.tok.pos) }

// Keyword reads a bare identifier.
func (p *Parser) Keyword() string {
	if p.tok.kind != tokBare {
		p.fail(p.tok.pos, "%sexpected valid keyword", p.opPrefix())
		return ""
	}
	s := p.text()
	p.next()
	return s
}

// PeekKeyword is the bare identifier that comes next, or "".
func (p *Parser) PeekKeyword() string {
	if p.err != nil || p.tok.kind != tokBare {
		return ""
	}
	return p.text()
}

// KeywordOrString reads a bare identifier or a quoted string.
func (p *Parser) KeywordOrString() string {
	if p.tok.kind == tokString {
		return p.String()
	}
	if p.tok.kind != tokBare {
		p.failToken("%sexpected valid keyword or string", p.opPrefix())
	}
	return p.Keyword()
}

// AtOperand, AtSymbol, AtString and AtInteger report what comes next.
func (p *Parser) AtOperand() bool { return p.err == nil && p.tok.kind == tokPercent }
func (p *Parser) AtSymbol() bool  { return p.err == nil && p.tok.kind == tokAt }
func (p *Parser) AtString() bool  { return p.err == nil && p.tok.kind == tokString }
func (p *Parser) AtInteger() bool { return p.err == nil && (p.tok.kind == tokInt || p.is("-")) }

// AtEnd reports whether the source is at its end.
func (p *Parser) AtEnd() bool { return p.tok.kind == tokEOF }

// String reads a quoted string.
func (p *Parser) String() string {
	if p.tok.kind != tokString {
		p.failToken("expected string")
		return ""
	}
	s, ok := unquote(p.src[p.tok.pos:p.tok.end])
	if !ok {
		p.fail(p.tok.pos, "unknown escape in string literal")
		return ""
	}
	p.next()
	return s
}

// Symbol reads @name.
func (p *Parser) Symbol() string {
	if p.tok.kind != tokAt {
		p.failToken("expected valid '@'-identifier for symbol name")
		return ""
	}
	raw := p.src[p.tok.pos+1 : p.tok.end]
	s, ok := string(raw), true
	if raw[0] == '"' {
		s, ok = unquote(raw)
	}
	if !ok {
		p.fail(p.tok.pos, "unknown escape in string literal")
	}
	p.next()
	return s
}

// Integer reads a decimal or hexadecimal integer of 64 bits, signed or unsigned, with an optional minus.
func (p *Parser) Integer() int64 {
	at := p.tok.pos
	neg := p.Eat("-")
	if p.tok.kind != tokInt {
		p.failToken("expected integer value")
		return 0
	}
	v, err := strconv.ParseUint(p.text(), 0, 64)
	if p.src[p.tok.pos] == '0' && p.tok.end-p.tok.pos > 1 && p.src[p.tok.pos+1] != 'x' { // leading zeros are decimal
		v, err = strconv.ParseUint(p.text(), 10, 64)
	}
	if err != nil || neg && v > 1<<63 {
		p.fail(at, "integer value too large")
		return 0
	}
	p.next()
	if neg {
		return -int64(v)
	}
	return int64(v)
}

// Bool reads true or false.
func (p *Parser) Bool() bool {
	if p.Eat("true") {
		return true
	}
	if !p.Eat("false") {
		p.failToken("expected 'true' or 'false'")
	}
	return false
}

// List reads open item, item, ... close; an open of "" reads items up to where no comma follows. It returns the number.
func (p *Parser) List(open, close string, item func()) int {
	n := 0
	if open != "" {
		if !p.Expect(open) || p.Eat(close) {
			return 0
		}
	}
	for p.err == nil {
		p.Ctx.Step()
		item()
		n++
		if !p.Eat(",") {
			break
		}
	}
	if open != "" {
		p.Expect(close)
	}
	return n
}

// Integers reads a bracketed list of integers.
func (p *Parser) Integers(open, close string) []int64 {
	vs := []int64{}
	p.List(open, close, func() { vs = append(vs, p.Integer()) })
	return vs
}

// Dims reads the dimensions of a shape, each followed by "x": 4x8x in 4x8xf32. With dynamic, "?" is a dimension and
// reads as that value. A dimension that does not fit becomes an error.
func (p *Parser) Dims(dynamic *int64) []int64 {
	dims := []int64{}
	for p.err == nil {
		at := p.tok.pos
		end, value := at, int64(0)
		switch {
		case p.tok.kind == tokInt:
			for end < len(p.src) && isDigit(p.src[end]) {
				end++
			}
			v, err := strconv.ParseInt(string(p.src[at:end]), 10, 64)
			if err != nil {
				p.fail(at, "invalid dimension")
				return dims
			}
			value = v
		case dynamic != nil && p.is("?"):
			end, value = at+1, *dynamic
		case p.is("?"):
			p.fail(at, "expected static shape")
			return dims
		default:
			return dims
		}
		if end >= len(p.src) || p.src[end] != 'x' {
			p.fail(end, "expected 'x' in dimension list")
			return dims
		}
		dims = append(dims, value)
		p.last = end + 1
		p.seek(end + 1)
	}
	return dims
}

// Dim reads one dimension of a list like 4x8 that nothing follows; last says that no "x" came after it.
func (p *Parser) Dim() (value int64, last bool) {
	at := p.tok.pos
	neg := p.Eat("-")
	if p.err != nil || p.tok.kind != tokInt {
		p.failToken("expected integer value")
		return 0, true
	}
	begin := p.tok.pos
	end := begin
	for end < len(p.src) && isDigit(p.src[end]) {
		end++
	}
	v, err := strconv.ParseInt(string(p.src[begin:end]), 10, 64)
	if err != nil {
		p.fail(at, "integer value too large")
		return 0, true
	}
	if neg {
		v = -v
	}
	last = end >= len(p.src) || p.src[end] != 'x'
	if !last {
		end++
	}
	p.last = end
	p.seek(end)
	return v, last
}

// Raw reads the source up to the bracket that closes an already taken open one, balancing all brackets, and takes that
// too. It is for text that another package parses.
func (p *Parser) Raw(close byte) string {
	at := p.tok.pos
	depth := 0
	for p.err == nil {
		if p.tok.kind == tokEOF {
			p.failToken("expected '%c'", close)
			return ""
		}
		if p.tok.kind == tokPunct && p.tok.end == p.tok.pos+1 {
			switch c := p.src[p.tok.pos]; c {
			case '<', '(', '[', '{':
				depth++
			case '>', ')', ']', '}':
				if depth == 0 {
					if c != close {
						p.failToken("expected '%c'", close)
						return ""
					}
					s := string(p.src[at:p.tok.pos])
					p.next()
					return s
				}
				depth--
			}
		}
		p.next()
	}
	return ""
}

// OperandRef is a use of a value as written, "%x" or "%x#1", before its type is known.
type OperandRef struct {
	Name string
	Num  int
	Pos  Pos
}

// Operand reads a use of a value.
func (p *Parser) Operand() OperandRef {
	r := OperandRef{Name: p.text(), Pos: p.Pos()}
	if p.tok.kind != tokPercent {
		p.failToken("expected SSA operand")
		return r
	}
	p.next()
	if p.tok.kind == tokHash && p.tok.pos == p.last && isDigit(p.src[p.tok.pos+1]) {
		n, err := strconv.Atoi(p.text()[1:])
		if err != nil {
			p.fail(p.tok.pos, "invalid SSA value result number")
			return r
		}
		r.Num = n
		p.next()
	}
	return r
}

// Operands reads a list of uses, of the form %a, %b with brackets around if open is not "".
func (p *Parser) Operands(open, close string) []OperandRef {
	var rs []OperandRef
	if open == "" && !p.AtOperand() {
		return nil
	}
	p.List(open, close, func() { rs = append(rs, p.Operand()) })
	return rs
}
