package ir

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// PrintOptions choose the text form of a module.
type PrintOptions struct {
	// Generic prints every op as "dialect.op"(operands) <{attributes}> : (types) -> types.
	Generic bool
	// DebugInfo prints the location of every op, as aliases that are defined after the module.
	DebugInfo bool
	// Unwrapped prints the ops in the body of the given op at the left margin, without the op itself, and sorts hints, as
	// NVIDIA's tileirdisasm does.
	Unwrapped bool
	// Release is the release whose names of operations are printed; zero is the newest.
	Release Version
	// Ctx is the context whose budget printing counts against; nil counts nothing.
	Ctx *Context
	// Place is called for every op that was printed, in the order of the text, with the offset at which it begins.
	Place func(op *Op, offset int)
}

// Print writes the text of an op and everything inside it. The text ends in a line end and parses back to an equal op
// (with DebugInfo, locations included).
func Print(w io.Writer, op *Op, o PrintOptions) error {
	_, err := io.WriteString(w, Text(op, o))
	return err
}

// Text is what Print writes.
func Text(op *Op, o PrintOptions) string {
	p := &Printer{opts: o}
	if o.DebugInfo {
		p.debug = collectDebugAliases(op, o)
	}
	p.nameAll(op)
	if o.Unwrapped && op.Body() != nil {
		p.dialects = append(p.dialects, op.Def.Dialect)
		for _, inner := range op.Body().Ops() {
			p.line(inner)
		}
		if op.Body().Empty() {
			p.Str("\n")
		}
	} else {
		p.line(op)
	}
	var out strings.Builder
	out.Grow(p.b.Len())
	p.top.define(&out)
	for _, b := range p.begun {
		o.Place(b.op, out.Len()+b.at)
	}
	out.WriteString(p.b.String())
	if p.debug != nil {
		out.WriteString(p.debug.definitions())
	}
	return out.String()
}

// OpText is the text of one op for messages and remarks, with the names that it has in the text of everything around it.
func OpText(op *Op) string {
	root := op
	for p := op.ParentOp(); p != nil; p = p.ParentOp() {
		root = p
	}
	p := &Printer{full: true}
	p.nameAll(root)
	p.op(op)
	return p.b.String()
}

// ValueNames tells the names of values inside an op as its text has them.
func ValueNames(op *Op) func(*Value) string {
	p := &Printer{}
	p.nameAll(op)
	return p.name
}

// Printer writes the text form. Hooks and attributes get one; what they write goes through its methods, so that names,
// aliases and default dialects are right.
type Printer struct {
	opts     PrintOptions
	b        strings.Builder
	indent   int
	names    map[*Value]string
	groups   map[*Op][]int // first results of the groups, where there is more than one group
	dialects []string      // default dialects of the ops around, innermost last
	top      topAliases
	debug    *debugAliases // nil without debug information
	full     bool          // no aliases at all
	owner    *Dialect      // of the op that is printed
	begun    []begun       // for PrintOptions.Place
	counted  int           // bytes of text that the budget knows of
}

// begun is an op and where its text begins.
type begun struct {
	op *Op
	at int
}

// Str writes text as it is.
func (p *Printer) Str(s string) { p.b.WriteString(s) }

// Printf writes formatted text.
func (p *Printer) Printf(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

// Value writes the name of a value, Values a list of them.
func (p *Printer) Value(v *Value) { p.Str(p.name(v)) }
func (p *Printer) Values(vs []*Value) {
	for i, v := range vs {
		if i > 0 {
			p.Str(", ")
		}
		p.Value(v)
	}
}

// Quoted writes a string in quotes, Symbol a symbol name after "@".
func (p *Printer) Quoted(s string) { p.Str(quote(s)) }
func (p *Printer) Symbol(name string) {
	if isBareID(name) {
		p.Str("@" + name)
	} else {
		p.Str("@" + quote(name))
	}
}

// TypePrinter is a type whose text depends on the text around it: it has parts that print as aliases.
type TypePrinter interface {
	// PrintType writes the body of the type, as WriteType does.
	PrintType(p *Printer)
}

// Type writes a type; types of the default dialect have no prefix.
func (p *Printer) Type(t Type) {
	if t == nil {
		p.Str("<<null type>>")
		return
	}
	if f, ok := t.(*FunctionType); ok {
		p.Str("(")
		p.Types(f.Inputs)
		p.Str(") -> ")
		p.ResultTypes(f.Results)
		return
	}
	if d := t.TypeDialect(); d != "" && d != p.dialect() {
		p.Str("!" + d + ".")
	}
	p.ShortType(t)
}

// ShortType writes a type without prefix, for places that imply the dialect.
func (p *Printer) ShortType(t Type) {
	if tp, ok := t.(TypePrinter); ok {
		tp.PrintType(p)
		return
	}
	t.WriteType(&p.b)
}

// Types writes a list of types, ValueTypes those of values.
func (p *Printer) Types(ts []Type) {
	for i, t := range ts {
		if i > 0 {
			p.Str(", ")
		}
		p.Type(t)
	}
}
func (p *Printer) ValueTypes(vs []*Value) {
	for i, v := range vs {
		if i > 0 {
			p.Str(", ")
		}
		p.Type(v.Type())
	}
}

// ResultTypes writes the right side of a function type: one type alone, others in parentheses.
func (p *Printer) ResultTypes(ts []Type) {
	if len(ts) == 1 {
		if _, fn := ts[0].(*FunctionType); !fn {
			p.Type(ts[0])
			return
		}
	}
	p.Str("(")
	p.Types(ts)
	p.Str(")")
}

// FunctionalType writes (operand types) -> result types.
func (p *Printer) FunctionalType(operands, results []*Value) {
	p.Str("(")
	p.ValueTypes(operands)
	p.Str(") -> ")
	p.ResultTypes(TypesOf(results))
}

// dialect is the dialect whose prefix may be left out.
func (p *Printer) dialect() string {
	if n := len(p.dialects); n > 0 {
		return p.dialects[n-1]
	}
	return ""
}

// opName writes the name of an op as the text around it asks for.
func (p *Printer) opName(op *Op) {
	switch d := op.Def.Dialect; {
	case op.Def == Unregistered:
		p.Str(op.UnregisteredName)
	case d == p.dialect() || d == builtinDialect:
		p.Str(op.Def.NameAt(p.opts.Release))
	default:
		p.Str(d + "." + op.Def.NameAt(p.opts.Release))
	}
}

// builtinDialect is the dialect whose ops need no prefix anywhere.
const builtinDialect = "builtin"

// Newline starts a line at the current depth.
func (p *Printer) Newline() {
	p.Str("\n")
	for i := 0; i < p.indent; i++ {
		p.Str("  ")
	}
}

// line prints one op on lines of its own.
func (p *Printer) line(op *Op) {
	for i := 0; i < p.indent; i++ {
		p.Str("  ")
	}
	p.op(op)
	p.Str("\n")
}

// textCopies is how many times a text that grows is in memory, about, until it is written.
const textCopies = 4

// step counts a piece of text, an operation, an argument or an element, and what was written since the last one.
func (p *Printer) step() {
	c := p.opts.Ctx
	if c == nil || c.Budget == nil {
		return
	}
	c.Budget.Step()
	if n := p.b.Len(); n > p.counted {
		c.Budget.Hold(textCopies * int64(n-p.counted))
		p.counted = n
	}
}

func (p *Printer) op(op *Op) {
	p.step()
	owner := p.owner
	p.owner = op.Def.Owner
	defer func() { p.owner = owner }()
	if p.opts.Place != nil {
		p.begun = append(p.begun, begun{op, p.b.Len()})
	}
	p.results(op)
	switch {
	case p.opts.Generic || op.Def == Unregistered || !op.printable():
		p.generic(op)
	case op.Def.Hooks.Print != nil:
		p.opName(op)
		op.Def.Hooks.Print(p, op)
	case op.Def.Format != "":
		p.opName(op)
		op.Def.program().print(p, op)
	default:
		p.opName(op)
		p.defaultForm(op)
	}
	if p.opts.DebugInfo {
		p.Str(" ")
		p.trailingLoc(op.loc)
	}
}

// printable reports whether the op can be printed in its own form.
func (op *Op) printable() bool {
	return op.structure() == "" && (op.Def.Hooks.Printable == nil || op.Def.Hooks.Printable(op))
}

// results prints "%a, %b:2 = ".
func (p *Printer) results(op *Op) {
	n := len(op.results)
	if n == 0 {
		return
	}
	starts := p.groups[op]
	if starts == nil {
		starts = []int{0}
	}
	for g, lo := range starts {
		hi := n
		if g+1 < len(starts) {
			hi = starts[g+1]
		}
		if g > 0 {
			p.Str(", ")
		}
		p.Str("%" + p.names[op.results[lo]])
		if hi-lo > 1 {
			p.Printf(":%d", hi-lo)
		}
	}
	p.Str(" = ")
}

// RegionStyle says how a region prints inside the text of its op.
type RegionStyle struct {
	// Elide is the short name of a terminator that is left out when it is last, has no operand and no attribute.
	Elide string
}

// Region writes { ops }. The arguments of the first block are the hook's to print (see Args).
func (p *Printer) Region(r *Region, s RegionStyle) {
	p.Str("{")
	p.enter(r)
	p.indent++
	p.Str("\n")
	for i, b := range r.Blocks() {
		if i > 0 {
			p.label(b, i)
		}
		for o := b.First(); o != nil; o = o.Next() {
			if o == b.Last() && s.Elide == o.Def.Name && p.implied(o) {
				continue
			}
			p.line(o)
		}
	}
	p.leave(r)
	p.indent--
	for i := 0; i < p.indent; i++ {
		p.Str("  ")
	}
	p.Str("}")
}

// implied reports whether the parser would put a terminator that is not written back as it is: without operands and
// attributes, at the location of the op around it. Only the wrapped form cares about locations that are lost.
func (p *Printer) implied(o *Op) bool {
	if o.NumOperands() > 0 || len(o.extra) > 0 {
		return false
	}
	return p.debug == nil || p.opts.Unwrapped || p.debug.find(o.loc) == p.debug.find(o.ParentOp().loc)
}

// enter and leave bracket a region for the default dialect: the body of an op that is a symbol table speaks its dialect.
func (p *Printer) enter(r *Region) {
	d := p.dialect()
	if r.op != nil && r.op.Def.Traits.Has(SymbolTable) && !p.opts.Generic {
		d = r.op.Def.Dialect
	}
	p.dialects = append(p.dialects, d)
}
func (p *Printer) leave(*Region) { p.dialects = p.dialects[:len(p.dialects)-1] }

// Args writes the arguments of a block with their types, "(%x: T, %y: U)".
func (p *Printer) Args(b *Block) {
	p.Str("(")
	for i, a := range b.Args() {
		p.step()
		if i > 0 {
			p.Str(", ")
		}
		p.Value(a)
		p.Str(": ")
		p.Type(a.Type())
	}
	p.Str(")")
}

func (p *Printer) label(b *Block, i int) {
	for k := 1; k < p.indent; k++ {
		p.Str("  ")
	}
	p.Printf("^bb%d", i)
	if b.NumArgs() > 0 {
		p.Args(b)
	}
	p.Str(":\n")
}

// AttrDict writes " {name = value, ...}" of the attributes that are not named in skip and differ from the row's defaults,
// nothing if there is none.
func (p *Printer) AttrDict(op *Op, skip ...string) {
	p.dictOf(op, false, func(name string) bool { return slices.Contains(skip, name) }, p.Attr)
}

// AttrDictWithKeyword is AttrDict after the word "attributes".
func (p *Printer) AttrDictWithKeyword(op *Op, skip ...string) {
	p.dictOf(op, true, func(name string) bool { return slices.Contains(skip, name) }, p.Attr)
}

func keyText(name string) string {
	if isBareID(name) {
		return name
	}
	return quote(name)
}
