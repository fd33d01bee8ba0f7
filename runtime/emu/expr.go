package emu

import "strings"

// precedences are those of the binary operators of constant expressions (section 4.5): higher ones bind first.
var precedences = map[string]int{"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
	"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}

// expression reads a constant expression: of integers of 64 bits, or a float with a sign.
func (p *parser) expression(depth int) arg {
	a := p.binary(1, depth)
	if !p.accept('?') {
		return a
	}
	yes := p.expression(depth + 1)
	p.expect(':')
	no := p.expression(depth + 1)
	if p.err != nil || a.kind != argInt || yes.kind != no.kind {
		p.fail("a choice is by an integer, between constants of one kind")
		return a
	}
	yes.unsigned = yes.unsigned || no.unsigned
	if a.val == 0 {
		no.unsigned = yes.unsigned
		return no
	}
	return yes
}

// operator gives the binary operator at the scanner, or "". A '%' at a name or a number is part of that.
func (p *parser) operator() string {
	if strings.IndexByte("|&^=!<>+-*/%", p.peek()) < 0 {
		return ""
	}
	rest := p.src[p.pos:]
	if len(rest) > 1 && precedences[rest[:2]] > 0 {
		return rest[:2]
	}
	if rest[0] == '%' && len(rest) > 1 && isWord(rest[1]) || precedences[rest[:1]] == 0 {
		return ""
	}
	return rest[:1]
}

// binary reads operands and the operators between them that bind at least so strongly.
func (p *parser) binary(least, depth int) arg {
	a := p.unary(depth)
	for p.err == nil {
		op := p.operator()
		if op == "" || precedences[op] < least {
			break
		}
		p.pos += len(op)
		b := p.binary(precedences[op]+1, depth+1)
		if p.err == nil && (a.kind != argInt || b.kind != argInt) {
			p.fail("'%s' of a float in a constant expression", op)
		}
		if p.err == nil && b.val == 0 && (op == "/" || op == "%") {
			p.fail("a constant expression divides by zero")
		}
		if p.err == nil {
			a = compute(op, a, b)
		}
	}
	return a
}

// unary reads a literal, an expression in parentheses or a cast, with the signs before it.
func (p *parser) unary(depth int) (a arg) {
	if depth > maxDepth {
		p.lacks("a constant expression is nested too deeply")
		return
	}
	switch c := p.peek(); c {
	case '+', '-', '~', '!':
		p.pos++
		a = p.unary(depth + 1)
		switch {
		case c == '-':
			a = negate(a)
		case c == '+':
		case a.kind != argInt:
			p.fail("'%c' of a float in a constant expression", c)
		case c == '~':
			a.val = ^a.val
		default:
			a = truth(a.val == 0)
		}
		return a
	case '(':
		p.pos++
		if p.peek() != '.' {
			a = p.expression(depth + 1)
			p.expect(')')
			return a
		}
		to := p.word(true)
		p.expect(')')
		a = p.unary(depth + 1)
		if a.kind != argInt || to != ".s64" && to != ".u64" {
			p.fail("a cast is of an integer, to .s64 or .u64")
		}
		a.unsigned = to == ".u64"
		return a
	}
	if p.peekWord(false) == "WARP_SZ" {
		p.name()
		return arg{kind: argInt, val: 32}
	}
	return p.number()
}

func truth(b bool) arg {
	a := arg{kind: argInt}
	if b {
		a.val = 1
	}
	return a
}

// compute is a binary operation. Operands are unsigned if one of them is; a shift, by the low 6 bits, has the type of the first.
func compute(op string, a, b arg) arg {
	x, y := a.val, b.val
	sx, sy := int64(x), int64(y)
	unsigned := a.unsigned || b.unsigned
	less := sx < sy
	if unsigned {
		less = x < y
	}
	switch op {
	case "||":
		return truth(x != 0 || y != 0)
	case "&&":
		return truth(x != 0 && y != 0)
	case "==", "!=":
		return truth((x == y) == (op == "=="))
	case "<", ">=":
		return truth(less == (op == "<"))
	case ">", "<=":
		return truth((less || x == y) == (op == "<="))
	case "<<":
		a.val = x << (y & 63)
		return a
	case ">>":
		if a.val = x >> (y & 63); !a.unsigned {
			a.val = uint64(sx >> (y & 63))
		}
		return a
	}
	out := arg{kind: argInt, unsigned: unsigned}
	switch op {
	case "|":
		out.val = x | y
	case "^":
		out.val = x ^ y
	case "&":
		out.val = x & y
	case "+":
		out.val = x + y
	case "-":
		out.val = x - y
	case "*":
		out.val = x * y
	case "/":
		if out.val = uint64(sx / sy); unsigned {
			out.val = x / y
		}
	case "%":
		if out.val = uint64(sx % sy); unsigned {
			out.val = x % y
		}
	}
	return out
}
