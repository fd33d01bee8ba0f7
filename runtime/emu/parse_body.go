package emu

import (
	"strings"
)

// body reads the statements of a function between its braces. Nested braces open scopes of names.
func (p *parser) body(f *function) {
	p.expect('{')
	sc := f.scope
	for p.err == nil {
		switch c := p.peek(); {
		case c == 0:
			p.fail("function '%s' is not closed", f.name)
		case c == '{':
			p.pos++
			if sc = newScope(sc); sc.depth > maxDepth {
				p.lacks("braces are nested too deeply")
			}
		case c == '}':
			p.pos++
			if sc == f.scope {
				return
			}
			sc = sc.up
		case c == '.':
			p.bodyDirective(sc)
		case c == ';':
			p.pos++
		default:
			p.statement(f, sc)
		}
	}
}

// bodyDirective reads a directive inside a function.
func (p *parser) bodyDirective(sc *scope) {
	w := p.word(true)
	switch w {
	case ".reg":
		p.registers(sc)
	case ".loc":
		p.sourceLine()
	case ".file":
		p.sourceFile()
	case ".loc_intermediate":
		p.skipLine()
	case ".pragma":
		p.str()
		p.expect(';')
	case ".extern", ".weak", ".visible":
		p.bodyVariable(sc, p.word(true), w == ".extern")
	default:
		p.bodyVariable(sc, w, false)
	}
}

// sourceFile reads what follows .file: a number, a name and more that nobody needs.
func (p *parser) sourceFile() {
	n := p.number().val
	p.mod.files[n] = p.str()
	p.skipLine()
}

// sourceLine reads what follows .loc: file, line and column of the instructions after it.
func (p *parser) sourceLine() {
	file, line, column := p.number().val, p.number().val, p.number().val
	p.skipLine()
	p.loc = int32(len(p.mod.locs))
	p.mod.locs = append(p.mod.locs, location{file, int32(line), int32(column)})
}

func (p *parser) bodyVariable(sc *scope, w string, extern bool) {
	sp, ok := spaceNames[strings.TrimPrefix(w, ".")]
	if !ok {
		p.lacks("unknown directive '%s'", w)
		return
	}
	p.variables(sc, sp, extern)
}

// maxRegs bounds the registers of one declaration.
const maxRegs = 1 << 24

// registers reads ".reg .b32 a, b, %r<10>;".
func (p *parser) registers(sc *scope) {
	t, vec, _ := p.varType()
	if vec != 1 {
		p.lacks("vector registers")
	}
	for p.err == nil {
		d := &regDecl{typ: t, count: -1}
		name := p.name()
		if p.accept('<') {
			n := p.number()
			if n.kind != argInt || n.val > maxRegs {
				p.lacks("too many registers")
			}
			p.expect('>')
			d.count = int(n.val)
		}
		if !sc.declare(name, d) {
			p.fail("register '%s' is declared twice", name)
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect(';')
}

// statement reads a label or an instruction.
func (p *parser) statement(f *function, sc *scope) {
	start := p.pos
	st := stmt{line: p.line, col: p.pos - p.bol + 1, loc: p.loc, scope: sc}
	if p.accept('@') {
		st.guardNeg = p.accept('!')
		st.guard = p.name()
	}
	st.op = p.word(true)
	if st.op == "" {
		p.fail("expected an instruction, found %s", p.found())
		return
	}
	for p.peek() == '.' { // modifiers may stand apart
		st.op += p.word(true)
	}
	if st.guard == "" && p.accept(':') {
		if p.peek() == '.' && p.labelList(sc, st.op) {
			return
		}
		if _, ok := sc.labels[st.op]; ok {
			p.fail("label '%s' is defined twice", st.op)
			return
		}
		put(&sc.labels, st.op, len(f.body))
		f.body = append(f.body, stmt{line: st.line, col: st.col, label: st.op, scope: sc})
		return
	}
	p.calls = strings.HasPrefix(st.op, "call")
	for p.err == nil && p.peek() != ';' {
		a := p.operand(0)
		st.args = append(st.args, a)
		if !p.accept(',') {
			// call (ret), f, (args): commas everywhere; anything else ends the statement
			break
		}
	}
	end := p.pos
	p.expect(';')
	if p.err == nil {
		st.text = p.src[start:end]
		f.body = append(f.body, st)
	}
}

// labelList reads "name: .branchtargets a, b;" and passes prototypes of indirect calls.
func (p *parser) labelList(sc *scope, name string) bool {
	switch p.peekWord(true) {
	case ".branchtargets":
		p.word(true)
		var l []string
		for p.err == nil {
			l = append(l, p.name())
			if !p.accept(',') {
				break
			}
		}
		p.expect(';')
		put(&sc.lists, name, l)
		return true
	case ".calltargets", ".callprototype":
		put(&sc.lists, name, nil)
		for p.err == nil && !p.accept(';') {
			if p.peek() == 0 {
				p.fail("prototype is not closed")
			}
			p.pos++
		}
		return true
	}
	return false
}

// operand reads one operand; pairs p|q included.
func (p *parser) operand(depth int) (a arg) {
	if depth > maxDepth {
		p.lacks("operand is nested too deeply")
		return
	}
	switch c := p.peek(); {
	case c == '{':
		p.pos++
		a = arg{kind: argVec, list: p.operands('}', depth)}
	case c == '(' && p.calls:
		p.pos++
		a = arg{kind: argList, list: p.operands(')', depth)}
	case c == '[':
		p.pos++
		a = p.address(depth)
	case p.atConstant():
		a = p.expression(depth + 1)
	case c == '!' || c == '-' || c == '+':
		p.pos++
		a = arg{kind: argName, name: p.nameDots(), neg: c != '+'}
	case isWord(c):
		a = arg{kind: argName, name: p.nameDots()}
		if a.off = p.addend(depth); p.peek() == '[' {
			p.lacks("an operand with an index")
		}
	default:
		p.fail("expected an operand, found %s", p.found())
		return
	}
	if p.accept('|') {
		b := p.operand(depth + 1)
		a.pair = &b
	}
	return a
}

// atConstant tells whether a constant expression begins at the scanner, and no name with a sign.
func (p *parser) atConstant() bool {
	switch c := p.peek(); {
	case c >= '0' && c <= '9' || c == '(' || c == '~':
		return true
	case c == '-' || c == '+' || c == '!':
		rest := strings.TrimLeft(p.src[p.pos:], "+-~! \t")
		return rest != "" && (rest[0] >= '0' && rest[0] <= '9' || rest[0] == '(')
	case c == 'W':
		return p.peekWord(false) == "WARP_SZ"
	}
	return false
}

// nameDots reads a register, symbol or special register such as %tid.x.
func (p *parser) nameDots() string {
	if w := p.peekWord(true); strings.Contains(w, ".") && !strings.HasSuffix(w, ".") {
		p.pos += len(w)
		return w
	}
	return p.name()
}

// addend reads "+4" or "-4" after a name.
func (p *parser) addend(depth int) int64 {
	switch {
	case p.accept('+'):
		return int64(p.expression(depth + 1).val)
	case p.accept('-'):
		return -int64(p.number().val)
	}
	return 0
}

func (p *parser) operands(end byte, depth int) (l []arg) {
	for p.err == nil && p.peek() != end {
		l = append(l, p.operand(depth+1))
		if !p.accept(',') {
			break
		}
	}
	p.expect(end)
	return l
}

// address reads what follows '[': base, base+imm, imm, then further coordinates.
func (p *parser) address(depth int) arg {
	base := p.operand(depth + 1)
	a := arg{kind: argAddr, base: &base, off: base.off}
	base.off = 0
	for p.err == nil && p.accept(',') {
		a.list = append(a.list, p.operand(depth+1))
	}
	p.expect(']')
	return a
}

func negate(a arg) arg {
	switch {
	case a.kind == argInt:
		a.val = -a.val
	case a.hex32:
		a.val ^= 1 << 31
	default:
		a.val ^= 1 << 63
	}
	return a
}
