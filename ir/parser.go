package ir

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
)

// Parse reads the text of one op, usually a module, with the aliases around it. Items of a dialect that stand at the top
// level without their module get one. Errors go to the context's diagnostics, as file:line:col; the first one ends the
// parse and is returned. Parsing is not verifying.
func Parse(c *Context, name string, src []byte) (*Op, error) { return ParseAt(c, name, src, 1) }

// ParseAt is Parse for a piece of a file whose first line has the given number there.
func ParseAt(c *Context, name string, src []byte, firstLine int) (*Op, error) {
	p := newParser(c, name, src, firstLine)
	ops := p.topLevel()
	if p.err != nil {
		return nil, p.err
	}
	return p.single(ops)
}

// maxSource is the largest text that is read, in bytes.
const maxSource = 1 << 30

// maxParts is how many types, attributes, locations and ops a text of n bytes may stand for. Aliases stand for what they
// name each time they are used, so a short text could otherwise describe more than any memory holds.
func maxParts(n int) int { return 1<<20 + 16*n }

// maxTextDepth is how deep regions, types, attributes and locations may nest in a text.
const maxTextDepth = 256

// Parser reads the text form. Its methods read what their name says and report when it is not there; after the first
// error the source looks as if it ended, every method returns its zero value, and Err is that error. So hooks need to look
// at Err only where they loop or decide on what they read.
type Parser struct {
	Ctx    *Context
	file   string
	src    []byte
	first  int   // number of the first line
	lines  []int // offsets of line starts
	tok    token
	last   int // end of the token before tok
	err    error
	failed int // place of the error
	depth  int
	parts  int // read so far, aliases expanded; see maxParts

	owner    *Dialect // of the op that is being read
	custom   *OpDef   // the op whose own form is being read; nil inside types and attributes
	dialects []string // default dialects, innermost last
	values   map[string]*valueEntry
	scopes   []scope
	aliases  map[string]*alias
	pending  []string // aliases that are being resolved
}

// Pos is a place in the source: an offset in bytes.
type Pos int

func newParser(c *Context, name string, src []byte, firstLine int) *Parser {
	p := &Parser{Ctx: c, file: name, src: src, first: firstLine, values: map[string]*valueEntry{}}
	if len(src) > maxSource {
		p.src = nil
		p.fail(0, "text of %d bytes is larger than the maximum of %d", len(src), maxSource)
		return p
	}
	p.findAliases()
	p.tok = lex(src, 0)
	p.checkToken()
	return p
}

// Err is the first error, or nil.
func (p *Parser) Err() error { return p.err }

// Failed reports whether there was an error.
func (p *Parser) Failed() bool { return p.err != nil }

// Errorf reports an error at a place, unless there was one before, and returns the first error. As in MLIR the message
// names the op whose own form is being read.
func (p *Parser) Errorf(at Pos, format string, args ...any) error {
	p.fail(int(at), "%s%s", p.opPrefix(), fmt.Sprintf(format, args...))
	return p.err
}

// Also adds what else there is to say at the place of the error that has just been reported.
func (p *Parser) Also(format string, args ...any) {
	if p.err != nil {
		p.Ctx.Diags.Add(Error, p.fileLoc(p.failed), "%s%s", p.opPrefix(), fmt.Sprintf(format, args...))
	}
}

func (p *Parser) opPrefix() string {
	if p.custom == nil {
		return ""
	}
	return "custom op '" + p.custom.Dialect + "." + p.custom.NameAt(p.Ctx.Release) + "' "
}

func (p *Parser) fail(at int, format string, args ...any) *Diagnostic {
	if p.err != nil {
		return &Diagnostic{}
	}
	d := p.Ctx.Diags.Add(Error, p.fileLoc(at), format, args...)
	p.failed = at
	p.err = fmt.Errorf("%s: %s", LocString(d.Loc), d.Msg)
	p.tok = token{tokEOF, len(p.src), len(p.src)}
	return d
}

// failToken reports that the current token is not what should be here. The place is the end of the text before it, so
// that the message names the line that is incomplete.
func (p *Parser) failToken(format string, args ...any) { p.fail(p.wrongTokenPos(), format, args...) }

func (p *Parser) wrongTokenPos() int {
	if p.last > 0 {
		return p.last
	}
	return p.tok.pos
}

func (p *Parser) indexLines() {
	if p.lines != nil {
		return
	}
	p.lines = make([]int, 1, bytes.Count(p.src, []byte{'\n'})+1)
	for at := 0; ; {
		p.Ctx.Step()
		end := bytes.IndexByte(p.src[at:], '\n')
		if end < 0 {
			return
		}
		at += end + 1
		p.lines = append(p.lines, at)
	}
}

// fileLoc is the place of a byte of the source.
func (p *Parser) fileLoc(at int) *FileLoc {
	p.indexLines()
	line := sort.SearchInts(p.lines, at+1)
	return &FileLoc{File: p.file, Line: uint32(line + p.first - 1), Col: uint32(at - p.lines[line-1] + 1)}
}

// Token level.

func (p *Parser) text() string { return string(p.src[p.tok.pos:p.tok.end]) }

// is compares the text of the current token; strings and symbols never match.
func (p *Parser) is(s string) bool {
	t := p.tok
	return (t.kind == tokPunct || t.kind == tokBare) && t.end-t.pos == len(s) && string(p.src[t.pos:t.end]) == s
}

func (p *Parser) next() {
	if p.err != nil {
		return
	}
	p.last = p.tok.end
	p.tok = lex(p.src, p.tok.end)
	p.checkToken()
}

func (p *Parser) checkToken() {
	if p.tok.kind != tokBad {
		return
	}
	switch p.src[p.tok.pos] {
	case '"':
		p.fail(p.tok.pos, "expected '\"' in string literal")
	case '%':
		p.fail(p.tok.pos, "invalid SSA name")
	case '#', '!':
		p.fail(p.tok.pos, "invalid attribute or type name")
	case '@':
		p.fail(p.tok.pos, "@ identifier expected to start with letter or '_'")
	default:
		p.fail(p.tok.pos, "unexpected character")
	}
}

// seek continues at an offset of the source.
func (p *Parser) seek(at int) {
	if p.err != nil {
		return
	}
	p.tok = lex(p.src, at)
	p.checkToken()
}

// enter counts one part and one level of nesting; it reports and returns false when there are too many. Call leave after
// it.
func (p *Parser) enter() bool {
	if !p.count(1) {
		return false
	}
	if p.depth >= maxTextDepth {
		p.fail(p.tok.pos, "nesting is deeper than %d levels", maxTextDepth)
		return false
	}
	p.depth++
	return true
}
func (p *Parser) leave() { p.depth-- }

func (p *Parser) count(parts int) bool {
	p.parts += parts
	if p.parts > maxParts(len(p.src)) {
		p.fail(p.tok.pos, "aliases make this text too large")
		return false
	}
	return true
}

// dialect is the dialect whose prefix may be left out, or "".
func (p *Parser) dialect() string {
	if n := len(p.dialects); n > 0 {
		return p.dialects[n-1]
	}
	return ""
}

// Ops and regions.

// topLevel reads ops and alias definitions up to the end of the source.
func (p *Parser) topLevel() []*Op {
	var ops []*Op
	for p.err == nil && p.tok.kind != tokEOF {
		if p.aliasDefinition() {
			continue
		}
		if d := p.topDialect(); d != "" {
			p.dialects = []string{d}
		}
		if op := p.op(); op != nil {
			ops = append(ops, op)
		}
		p.dialects = nil
	}
	return ops
}

// topDialect is the dialect of a module item that stands at the top level without its module.
func (p *Parser) topDialect() string {
	name := p.text()
	if p.tok.kind != tokBare || p.Ctx.OpDef(builtinDialect+"."+name) != nil {
		return ""
	}
	prefix, short, dotted := strings.Cut(name, ".")
	for _, d := range p.Ctx.dialects {
		switch {
		case d.Top == "":
		case !dotted && p.Ctx.OpDef(d.Name+"."+name) != nil, dotted && prefix == d.Name && short != d.Top:
			return d.Name
		}
	}
	return ""
}

// single makes one op of what stood at the top level: the op itself, the module of a dialect around its items, or the
// built-in module around anything else.
func (p *Parser) single(ops []*Op) (*Op, error) {
	var top *OpDef
	if len(ops) > 0 {
		if d := ops[0].Def.Owner; d != nil && d.Top != "" && ops[0].Def.Name != d.Top {
			top = p.Ctx.OpDef(d.Name + "." + d.Top)
		}
	}
	if top == nil && len(ops) == 1 {
		return ops[0], nil
	}
	if top == nil {
		top = p.Ctx.OpDef(builtinDialect + ".module")
	}
	if top == nil {
		p.fail(0, "expected one top-level operation, but found %d", len(ops))
		return nil, p.err
	}
	m := NewOp(State{Def: top, Loc: p.fileLoc(0)})
	if i := top.standsAlone(SymbolNameKind); i >= 0 {
		m.attrs[i] = SymbolAttr(top.Owner.TopName)
	}
	body := m.regions[0].AddBlock()
	for _, op := range ops {
		body.Append(op)
	}
	return m, nil
}

// op reads one operation; nil after an error.
func (p *Parser) op() *Op {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	binds := p.binds()
	s := &ParsedOp{Pos: Pos(p.tok.pos), p: p}
	for _, b := range binds {
		s.NumBound += b.count
	}
	owner, custom := p.owner, p.custom
	p.custom = nil
	switch p.tok.kind {
	case tokString:
		p.generic(s)
	case tokBare:
		p.ownForm(s)
	default:
		p.failToken("expected operation name in quotes")
	}
	p.owner, p.custom = owner, custom
	if p.err != nil {
		return nil
	}
	op := s.make()
	if l := p.trailingLoc(); l != nil {
		op.loc = l
	}
	for _, r := range op.regions {
		if r.implied != nil {
			r.implied.loc, r.implied = op.loc, nil
		}
	}
	p.bind(op, binds)
	if p.err != nil {
		return nil
	}
	return op
}

// ownForm reads an op that begins with its bare name.
func (p *Parser) ownForm(s *ParsedOp) {
	name := p.text()
	def, full := p.lookupOp(name)
	if def == nil {
		if full != name {
			p.fail(int(s.Pos), "custom op '%s' is unknown (tried '%s' as well)%s", name, full, didYouMean(name, p.opNames()))
		} else {
			p.fail(int(s.Pos), "custom op '%s' is unknown%s", name, didYouMean(name, p.opNames()))
		}
		return
	}
	p.next()
	s.begin(def)
	p.custom = def
	if p.dialect() == "" && def.Owner != nil && def.Owner.ParseType != nil { // outside of a module types may be short, too
		p.dialects = append(p.dialects, def.Dialect)
		defer func() { p.dialects = p.dialects[:len(p.dialects)-1] }()
	}
	switch {
	case def.Hooks.Parse != nil:
		if err := def.Hooks.Parse(p, s); err != nil && p.err == nil {
			p.Errorf(s.Pos, "%s", err)
		}
	case def.Format != "":
		def.program().parse(p, s)
	default:
		p.defaultForm(s)
	}
	if p.err == nil {
		s.infer()
	}
}

// lookupOp finds the row of a name as written: with its dialect, of the default dialect, or built in.
func (p *Parser) lookupOp(name string) (def *OpDef, full string) {
	full = name
	if d := p.dialect(); d != "" {
		if def = p.Ctx.OpDef(d + "." + name); def != nil {
			return def, d + "." + name
		}
	}
	if def = p.Ctx.OpDef(name); def != nil {
		return def, name
	}
	if def = p.Ctx.OpDef(builtinDialect + "." + name); def != nil {
		return def, builtinDialect + "." + name
	}
	if d := p.dialect(); d != "" && !strings.Contains(name, ".") {
		full = d + "." + name
	}
	return nil, full
}

// BlockArg is an argument of a region's first block, as written.
type BlockArg struct {
	Name string
	Pos  Pos
	Type Type
}

// Region reads { ops } with the given arguments of the first block. implied, if not "", is the short name of the
// terminator that the text may leave out; its location is that of the op around it.
func (p *Parser) Region(s *ParsedOp, args []BlockArg, implied string) *Region {
	r, _ := p.region(s, args, implied)
	return r
}

// region is Region; labelled says that the text names the first block.
func (p *Parser) region(s *ParsedOp, args []BlockArg, implied string) (r *Region, labelled bool) {
	r = &Region{}
	isolated := s.Def.Traits.Has(Isolated)
	p.pushScope(isolated)
	defer p.popScope()
	d := p.dialect()
	if s.Def.Traits.Has(SymbolTable) {
		d = s.Def.Dialect
	}
	p.dialects = append(p.dialects, d)
	defer func() { p.dialects = p.dialects[:len(p.dialects)-1] }()

	if !p.Expect("{") {
		return r, false
	}
	labelled = p.tok.kind == tokCaret
	b := r.AddBlock()
	for _, a := range args {
		p.Ctx.madeValue()
		v := b.AddArg(a.Type)
		p.define(a.Name, int(a.Pos), []*Value{v})
		if s.Def.Traits.Has(Isolated) {
			p.Ctx.nameParam(v, a.Name)
		}
	}
	reuse := labelled && len(args) == 0
	for p.err == nil && !p.is("}") {
		if p.tok.kind == tokCaret {
			b = p.label(r, b, reuse)
			reuse = false
			continue
		}
		if p.tok.kind == tokEOF {
			p.failToken("expected '}'")
			break
		}
		if op := p.op(); op != nil {
			b.Append(op)
		}
	}
	p.Expect("}")
	if p.err != nil {
		return r, labelled
	}
	if implied != "" && (b.last == nil || !b.last.Def.Traits.Has(Terminator)) {
		def := p.Ctx.OpDef(s.Def.Dialect + "." + implied)
		r.implied = NewOp(State{Def: def, Groups: make([]int32, def.NumOperandDefs())})
		b.Append(r.implied)
	}
	return r, labelled
}

// label reads ^bb0(%a: T): and makes the block, or with reuse takes the empty first one.
func (p *Parser) label(r *Region, b *Block, reuse bool) *Block {
	p.next()
	if !reuse {
		b = r.AddBlock()
	}
	if p.is("(") {
		for _, a := range p.BlockArgs() {
			p.Ctx.madeValue()
			v := b.AddArg(a.Type)
			p.define(a.Name, int(a.Pos), []*Value{v})
		}
	}
	p.Expect(":")
	return b
}

// Argument reads the name of a block argument.
func (p *Parser) Argument() BlockArg {
	a := BlockArg{Pos: Pos(p.tok.pos), Name: p.text()}
	if p.tok.kind != tokPercent {
		p.failToken("expected SSA operand")
		return a
	}
	p.next()
	return a
}

// BlockArgs reads (%a: T, %b: T).
func (p *Parser) BlockArgs() []BlockArg {
	var args []BlockArg
	p.List("(", ")", func() {
		a := p.Argument()
		p.Expect(":")
		a.Type = p.Type()
		p.trailingLoc()
		args = append(args, a)
	})
	return args
}
