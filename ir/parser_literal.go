package ir

import (
	"fmt"
	"strconv"
	"strings"
)

// scalarLiteral is a number or boolean as written.
type scalarLiteral struct {
	kind tokenKind // tokInt, tokFloat, or tokBare for true and false
	neg  bool
	text string
	pos  int
}

// Literal is the content of a constant as written: one scalar, or nested lists of a shape.
type Literal struct {
	Elem   Type // the type in front of the elements; nil when there is none
	values []scalarLiteral
	bits   []uint64 // of the values, when Elem is known
	shape  []int64
	scalar bool
	pos    int
}

// DenseLiteral reads <f32: elements>. refuse, if not nil, says what is wrong with an element type, which is nil if there is none.
func (p *Parser) DenseLiteral(refuse func(Type) string) Literal {
	p.Expect("<")
	at, word := p.tok.pos, p.PeekKeyword()
	elem := p.Type()
	if refuse != nil && p.err == nil {
		if msg := refuse(elem); msg != "" {
			p.fail(at, "%s%s", p.opPrefix(), msg)
		}
	} else if refuse != nil && word != "" {
		p.Also("%s", refuse(nil))
	}
	p.Expect(":")
	l := p.elements(elem)
	l.Elem, l.pos = elem, at
	p.Expect(">")
	if BitWidth(elem) > 0 {
		for _, v := range l.values {
			l.bits = append(l.bits, p.elementBits(v, elem))
		}
	}
	return l
}

// literal reads <elements>, or <f32: elements> as Dense writes it.
func (p *Parser) literal() Literal {
	open := p.tok
	p.Expect("<")
	if p.tok.kind == tokBare && !p.is("true") && !p.is("false") {
		p.tok = open
		return p.DenseLiteral(nil)
	}
	l := p.elements(nil)
	p.Expect(">")
	return l
}

// elements reads a scalar or nested lists; lists of one level must have one length. elem is their type, if it is known.
func (p *Parser) elements(elem Type) Literal {
	l := Literal{pos: p.tok.pos}
	if !p.is("[") {
		l.scalar = true
		if p.is(">") {
			p.fail(p.tok.pos, "dense attribute cannot be empty")
			return l
		}
		l.values = append(l.values, p.numberOf(elem))
		return l
	}
	p.elementList(&l, 0, elem)
	if p.err == nil && len(l.values) == 0 {
		p.fail(l.pos, "dense attribute cannot be empty")
	}
	return l
}

func (p *Parser) elementList(l *Literal, level int, elem Type) {
	if !p.enter() {
		return
	}
	defer p.leave()
	if level == len(l.shape) {
		if len(l.values) > 0 {
			p.raggedLiteral(l)
			return
		}
		l.shape = append(l.shape, -1)
	}
	at := p.tok.pos
	n := p.List("[", "]", func() {
		if p.is("[") {
			p.elementList(l, level+1, elem)
			return
		}
		if level+1 != len(l.shape) {
			p.raggedLiteral(l)
			return
		}
		p.Ctx.madeValue()
		l.values = append(l.values, p.numberOf(elem))
	})
	switch {
	case l.shape[level] < 0:
		l.shape[level] = int64(n)
	case l.shape[level] != int64(n):
		p.fail(at, "tensor literal is invalid; ranks are not consistent between elements")
	}
}

func (p *Parser) raggedLiteral(l *Literal) {
	p.fail(l.pos, "tensor literal is invalid; ranks are not consistent between elements")
}

// numberOf is numberLiteral for an element of a type: integers wider than a bit are written as numbers.
func (p *Parser) numberOf(elem Type) scalarLiteral {
	if i, ok := elem.(*IntegerType); ok && i.Width > 1 && p.tok.kind == tokBare {
		p.failToken("expected integer value")
		return scalarLiteral{}
	}
	return p.numberLiteral()
}

// numberLiteral reads [-] number, true or false.
func (p *Parser) numberLiteral() scalarLiteral {
	l := scalarLiteral{pos: p.tok.pos}
	l.neg = p.Eat("-")
	l.kind, l.text = p.tok.kind, p.text()
	switch {
	case l.kind == tokInt || l.kind == tokFloat:
	case !l.neg && (l.text == "true" || l.text == "false"):
	default:
		p.failToken("expected element literal of primitive type")
		return l
	}
	p.next()
	return l
}

// DenseOf makes the constant of type t from what was written.
func (p *Parser) DenseOf(l Literal, t Type) Attribute {
	if p.err != nil {
		return nil
	}
	if t == nil {
		p.fail(l.pos, "the type of the constant is not known")
		return nil
	}
	return p.denseAttr(l, t)
}

func (p *Parser) denseAttr(l Literal, t Type) Attribute {
	if p.err != nil {
		return nil
	}
	d := p.Ctx.Dialect(t.TypeDialect())
	shape, elem := shapeOf(d, t)
	size := DenseElementBytes(elem)
	switch {
	case size == 0:
		p.fail(l.pos, "expected integer or floating point elements, but got '%s'", TypeString(elem))
		return nil
	case l.Elem != nil && l.Elem != elem:
		p.fail(l.pos, "mismatch between the element type: '%s' and the tile element type '%s'", TypeString(l.Elem), TypeString(elem))
		return nil
	case !l.scalar && !sameDims(l.shape, shape):
		p.fail(l.pos, "inferred shape of elements literal (%s) does not match type (%s)", dimsText(l.shape), dimsText(shape))
		return nil
	}
	a := &DenseAttr{Type: t, Splat: l.scalar, Data: make([]byte, 0, size*len(l.values))}
	for k, v := range l.values {
		var bits uint64
		if l.bits != nil {
			bits = l.bits[k]
		} else {
			bits = p.elementBits(v, elem)
		}
		for i := 0; i < size; i++ {
			a.Data = append(a.Data, byte(bits>>(8*i)))
		}
	}
	return a
}

func sameDims(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func dimsText(dims []int64) string {
	return "[" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(dims)), ", "), "[]") + "]"
}

// elementBits is the bit pattern of a literal as an element of type t. Integers may be written signed or unsigned, floats
// in decimal or as hexadecimal bits.
func (p *Parser) elementBits(l scalarLiteral, t Type) uint64 {
	if p.err != nil {
		return 0
	}
	p.Ctx.Step()
	switch t := t.(type) {
	case *FloatType:
		return p.floatBits(l, t)
	case *IntegerType:
		return p.integerBits(l, t.Width)
	}
	p.fail(l.pos, "expected integer or floating point type")
	return 0
}

func (p *Parser) floatBits(l scalarLiteral, t *FloatType) uint64 {
	f := t.Format
	switch {
	case l.kind == tokInt && strings.HasPrefix(l.text, "0x"):
		v, err := strconv.ParseUint(l.text[2:], 16, 64)
		switch {
		case l.neg:
			p.fail(l.pos, "hexadecimal float literal should not have a leading minus")
		case err != nil || f.Bits() < 64 && v>>f.Bits() != 0:
			p.fail(l.pos, "hexadecimal float constant out of range for type")
		}
		return v
	case l.kind == tokInt:
		p.fail(l.pos, "unexpected decimal integer literal for a floating point value").
			Note(p.fileLoc(l.pos), "add a trailing dot to make the literal a float")
		return 0
	case l.kind != tokFloat:
		p.fail(l.pos, "expected floating point literal")
		return 0
	}
	text := l.text
	if l.neg {
		text = "-" + text
	}
	bits, ok := f.ParseDecimal(text)
	if !ok {
		p.fail(l.pos, "floating point value is not well formed")
	}
	return bits
}

func (p *Parser) integerBits(l scalarLiteral, width int) uint64 {
	switch {
	case l.kind == tokFloat:
		p.fail(l.pos, "expected integer elements, but parsed floating-point")
		return 0
	case l.kind != tokInt && width != 1:
		p.fail(l.pos, "expected i1 type for 'true' or 'false' values")
		return 0
	case l.kind != tokInt:
		return map[string]uint64{"true": 1}[l.text]
	}
	base, digits := 10, l.text
	if strings.HasPrefix(digits, "0x") {
		base, digits = 16, digits[2:]
	}
	v, err := strconv.ParseUint(digits, base, 64)
	mask := uint64(1)<<(width-1)<<1 - 1
	switch {
	case err != nil || v > mask, l.neg && v > 1<<(width-1):
		p.fail(l.pos, "integer constant out of range for type")
		return 0
	case l.neg:
		return -v & mask
	}
	return v
}
