package ir

import (
	"fmt"
	"strings"
	"sync"
)

// The assembly format of a row is MLIR's declarative language:
//
//	`literal`            keyword or punctuation; `` removes a space, ` ` adds one
//	$name                operand or attribute of the row
//	type($name)          its type; several types for a variadic one
//	functional-type($a, $b)   (types of a) -> types of b; also functional-type(operands, results)
//	operands             all operands
//	(x y $z^ w)? : (v)?  printed when z is there; parsed when its first element is there; the part after ":" otherwise
//	oilist(`a` $a | `b` $b)   clauses in any order
//	attr-dict, attr-dict-with-keyword   the attributes that the format does not name
//	custom<Name>($a, type($b))          a directive of the dialect
//
// It is compiled once per row into a program, a list of elements, that the printer and the parser both run.

// Directive is custom<Name>(...): it prints and reads its arguments itself; those of the form type($x) are only for the reader of the
// format.
type Directive struct {
	Print func(p *Printer, op *Op, args []Arg)
	Parse func(p *Parser, s *ParsedOp, args []Arg)
}

// textForm holds the program of a row.
type textForm struct {
	once sync.Once
	prog *program
}

type elementKind uint8

const (
	elLiteral  elementKind = iota
	elSpace                // ` `
	elOperand              // $operand
	elAttr                 // $attribute
	elTypes                // type(...) of an operand or result
	elFunction             // functional-type(...)
	elOperands             // operands
	elDict                 // attr-dict
	elCustom
	elGroup
	elList // oilist
)

// element is one step of a program.
type element struct {
	kind  elementKind
	space bool   // printed after a space
	text  string // of a literal; name of a directive
	index int    // operand, attribute or (from results on) result index
	of    typeOf // of elTypes and elFunction
	to    typeOf // right side of elFunction
	word  bool   // attr-dict-with-keyword
	args  []Arg

	// Of a group: its two parts, and what decides.
	then, otherwise []element
	anchor          int // index into then
	// Of an oilist: its clauses, each a literal and what follows it.
	clauses [][]element
}

// typeOf names whose types are meant.
type typeOf struct {
	class typeClass
	index int
}

type typeClass uint8

const (
	ofOperand typeClass = iota
	ofResult
	allOperands
	allResults
)

type program struct {
	def      *OpDef
	elements []element
	named    map[string]bool // attributes that the format names
}

// program is the compiled format. A format that does not compile is a mistake in a row, which a test of each dialect finds.
func (d *OpDef) program() *program {
	d.text.once.Do(func() {
		prog, err := compileFormat(d)
		if err != nil {
			panic("BUG: format of " + d.FullName() + ": " + err.Error())
		}
		d.text.prog = prog
	})
	return d.text.prog
}

// CheckFormat reports what is wrong with a row's format, for tests of dialects.
func CheckFormat(d *OpDef) error {
	_, err := compileFormat(d)
	return err
}

// formatCompiler reads a format. The two flags are MLIR's rules for spaces: whether a space is due before the next
// element, and whether punctuation came last.
type formatCompiler struct {
	prog  *program
	rest  string
	space bool
	punct bool
}

func compileFormat(d *OpDef) (*program, error) {
	c := &formatCompiler{prog: &program{def: d, named: map[string]bool{}}, rest: d.Format, space: true}
	els, err := c.elements("")
	if err != nil {
		return nil, fmt.Errorf("%w near %q", err, c.rest)
	}
	c.prog.elements = els
	return c.prog, nil
}

func (c *formatCompiler) skip() { c.rest = strings.TrimLeft(c.rest, " \n\t") }

func (c *formatCompiler) eat(s string) bool {
	c.skip()
	if strings.HasPrefix(c.rest, s) {
		c.rest = c.rest[len(s):]
		return true
	}
	return false
}

func (c *formatCompiler) expect(s string) error {
	if !c.eat(s) {
		return fmt.Errorf("expected %q", s)
	}
	return nil
}

func (c *formatCompiler) word() string {
	c.skip()
	i := 0
	for i < len(c.rest) && (isBareRest(c.rest[i]) || c.rest[i] == '-') {
		i++
	}
	w := c.rest[:i]
	c.rest = c.rest[i:]
	return w
}

// elements reads up to one of the stop characters (not taken) or the end.
func (c *formatCompiler) elements(stop string) ([]element, error) {
	var els []element
	for {
		c.skip()
		if c.rest == "" || strings.IndexByte(stop, c.rest[0]) >= 0 {
			return els, nil
		}
		el, some, err := c.element()
		if err != nil {
			return nil, err
		}
		if some {
			els = append(els, el)
		}
	}
}

func (c *formatCompiler) element() (el element, some bool, err error) {
	switch {
	case c.eat("`"):
		return c.literal()
	case c.eat("$"):
		el, err = c.variable(c.word())
	case c.eat("("):
		el, err = c.group()
	default:
		el, err = c.directive(c.word())
	}
	return el, true, err
}

// literal applies MLIR's rules for spaces around punctuation.
func (c *formatCompiler) literal() (element, bool, error) {
	text, rest, ok := strings.Cut(c.rest, "`")
	if !ok {
		return element{}, false, fmt.Errorf("unterminated literal")
	}
	c.rest = rest
	switch text {
	case "":
		c.space, c.punct = false, true
		return element{}, false, nil
	case " ":
		c.space, c.punct = false, false
		return element{kind: elSpace}, true, nil
	}
	el := element{kind: elLiteral, text: text}
	hugging := "<>(){}[],"
	if c.punct {
		hugging = ">)}],"
	}
	el.space = c.space && (len(text) != 1 || !strings.Contains(hugging, text))
	c.space = len(text) != 1 || !strings.Contains("<({[", text)
	c.punct = text[0] != '_' && !isLetter(text[0])
	return el, true, nil
}

// spaced marks an element that prints something of its own.
func (c *formatCompiler) spaced(el element) element {
	el.space = c.space || !c.punct
	c.space, c.punct = true, false
	return el
}

func (c *formatCompiler) variable(name string) (element, error) {
	d := c.prog.def
	if i := d.OperandIndex(name); i >= 0 {
		return c.spaced(element{kind: elOperand, index: i}), nil
	}
	if i := d.AttrIndex(name); i >= 0 {
		c.prog.named[name] = true
		if d.AttrDef(i).Attr == UnitKind { // its presence is all; the literal beside it prints
			return element{kind: elAttr, index: i}, nil
		}
		return c.spaced(element{kind: elAttr, index: i}), nil
	}
	return element{}, fmt.Errorf("the row has no argument %q", name)
}

func (c *formatCompiler) directive(name string) (element, error) {
	switch name {
	case "attr-dict", "attr-dict-with-keyword":
		c.punct = false
		return element{kind: elDict, word: name != "attr-dict"}, nil
	case "operands":
		return c.spaced(element{kind: elOperands}), nil
	case "type":
		if err := c.expect("("); err != nil {
			return element{}, err
		}
		of, err := c.typeOf()
		if err == nil {
			err = c.expect(")")
		}
		return c.spaced(element{kind: elTypes, of: of}), err
	case "functional-type":
		return c.functionalType()
	case "oilist":
		return c.list()
	case "custom":
		return c.custom()
	}
	return element{}, fmt.Errorf("unknown directive %q", name)
}

func (c *formatCompiler) typeOf() (typeOf, error) {
	if !c.eat("$") {
		switch w := c.word(); w {
		case "operands":
			return typeOf{class: allOperands}, nil
		case "results":
			return typeOf{class: allResults}, nil
		default:
			return typeOf{}, fmt.Errorf("no type of %q", w)
		}
	}
	name := c.word()
	if i := c.prog.def.OperandIndex(name); i >= 0 {
		return typeOf{ofOperand, i}, nil
	}
	for i, r := range c.prog.def.Results {
		if r.Name == name {
			return typeOf{ofResult, i}, nil
		}
	}
	return typeOf{}, fmt.Errorf("the row has no operand or result %q", name)
}

func (c *formatCompiler) functionalType() (element, error) {
	el := element{kind: elFunction}
	err := c.expect("(")
	if err == nil {
		el.of, err = c.typeOf()
	}
	if err == nil {
		err = c.expect(",")
	}
	if err == nil {
		el.to, err = c.typeOf()
	}
	if err == nil {
		err = c.expect(")")
	}
	return c.spaced(el), err
}

func (c *formatCompiler) custom() (element, error) {
	el := element{kind: elCustom}
	if err := c.expect("<"); err != nil {
		return el, err
	}
	el.text = c.word()
	if err := c.expect(">"); err != nil {
		return el, err
	}
	if err := c.expect("("); err != nil {
		return el, err
	}
	for first := true; !c.eat(")"); first = false {
		if !first {
			if err := c.expect(","); err != nil {
				return el, err
			}
		}
		if c.eat("$") {
			name := c.word()
			c.prog.named[name] = true
			arg, ok := c.prog.def.arg(name)
			if !ok {
				return el, fmt.Errorf("the row has no argument %q", name)
			}
			el.args = append(el.args, arg)
			continue
		}
		arg := c.word()
		if arg != "type" || c.expect("(") != nil || !c.eat("$") {
			return el, fmt.Errorf("bad argument of custom<%s>", el.text)
		}
		c.word()
		if err := c.expect(")"); err != nil {
			return el, err
		}
	}
	if d := c.prog.def.Owner; d == nil || d.Directives[el.text].Print == nil || d.Directives[el.text].Parse == nil {
		return el, fmt.Errorf("the dialect has no directive %q", el.text)
	}
	return c.spaced(el), nil
}

// group reads the rest of (then)? or (then) : (otherwise)?.
func (c *formatCompiler) group() (element, error) {
	el := element{kind: elGroup, anchor: -1}
	for !c.eat(")") {
		inner, some, err := c.element()
		if err != nil {
			return el, err
		}
		if some {
			el.then = append(el.then, inner)
		}
		if c.eat("^") {
			el.anchor = len(el.then) - 1
		}
		if c.rest == "" {
			return el, fmt.Errorf("unterminated group")
		}
	}
	if c.eat(":") {
		if err := c.expect("("); err != nil {
			return el, err
		}
		var err error
		if el.otherwise, err = c.elements(")"); err != nil {
			return el, err
		}
		if err := c.expect(")"); err != nil {
			return el, err
		}
	}
	if err := c.expect("?"); err != nil {
		return el, err
	}
	if el.anchor < 0 || len(el.then) == 0 {
		return el, fmt.Errorf("group without anchor")
	}
	switch el.then[0].kind {
	case elLiteral, elOperand, elAttr:
		return el, nil
	}
	return el, fmt.Errorf("a group must begin with a literal, an operand or an attribute")
}

func (c *formatCompiler) list() (element, error) {
	el := element{kind: elList}
	if err := c.expect("("); err != nil {
		return el, err
	}
	for {
		clause, err := c.elements("|)")
		if err != nil {
			return el, err
		}
		if len(clause) < 2 || clause[0].kind != elLiteral {
			return el, fmt.Errorf("a clause of oilist must be a literal and an argument")
		}
		el.clauses = append(el.clauses, clause)
		if !c.eat("|") {
			return el, c.expect(")")
		}
	}
}
