package emu

import (
	"math/bits"
	"strconv"
	"strings"
)

// parser reads one PTX module.
type parser struct {
	scanner
	mod   *Module
	loc   int32 // of the last .loc of the function
	calls bool  // the statement is a call: parentheses are lists
	total int   // bytes of all variables and parameters, each with its record
}

// maxDepth bounds nested braces, brackets and initialisers.
const maxDepth = 200

// Parse reads a PTX module: everything is checked and decoded here, so Run only executes. Malformed text, which no
// compiler should write, is a *SyntaxError; other text that the emulator cannot read is an *UnsupportedError. A well-formed
// instruction that it does not implement is no error: a Report says so if it is ever executed.
func Parse(name, src string) (*Module, error) {
	p := &parser{scanner: scanner{file: name, src: src, line: 1}}
	p.mod = &Module{name: name, root: newScope(nil), files: map[uint64]string{}, locs: make([]location, 1), funcs: map[string]*function{}, entries: map[string]*Entry{}}
	if len(src) > maxPTX {
		p.lacks("the text is larger than %d bytes", maxPTX)
	}
	for p.err == nil && p.peek() != 0 {
		p.topLevel()
	}
	if p.err == nil && p.mod.version == "" {
		p.fail("not a PTX module: no .version directive")
	}
	if p.err != nil {
		return nil, p.err
	}
	p.mod.linkCalls()
	for _, f := range p.mod.order {
		if !f.entry {
			continue
		}
		p.mod.entries[f.name] = compileEntry(p.mod, f)
		p.mod.names = append(p.mod.names, f.name)
	}
	for _, f := range p.mod.order {
		if !f.entry && !f.compiled {
			compileUncalled(p.mod, f)
		}
	}
	if p.mod.malformed != nil {
		return nil, p.mod.malformed
	}
	return p.mod, nil
}

// topLevel reads one directive of the module.
func (p *parser) topLevel() {
	w := p.word(true)
	switch w {
	case ".version":
		p.mod.version = p.word(true)
	case ".target":
		p.mod.target = p.name()
		p.mod.sm, _ = strconv.Atoi(strings.Trim(p.mod.target, "sm_af"))
		for p.accept(',') {
			p.name()
		}
	case ".address_size":
		if a := p.number(); p.err == nil && a.val != 64 {
			p.lacks(".address_size %d", a.val)
		}
	case ".file":
		p.sourceFile()
	case ".pragma":
		p.str()
		p.expect(';')
	case ".section", ".nv_intermediate_source_section":
		p.skipSection()
	case ".alias":
		p.lacks(".alias")
	case "":
		p.fail("expected a directive, found %s", p.found())
	default:
		if !strings.HasPrefix(w, ".") {
			p.fail("expected a directive, found '%s'", w)
			return
		}
		p.declaration(w)
	}
}

// declaration reads [linking directives] .entry, .func or a variable.
func (p *parser) declaration(w string) {
	extern := false
	for p.err == nil {
		switch w {
		case ".extern":
			extern = true
		case ".visible", ".weak", ".common", ".hidden", ".static", ".internal", ".noreturn":
		case ".entry", ".func":
			p.function(w == ".entry")
			return
		default:
			if sp, ok := spaceNames[strings.TrimPrefix(w, ".")]; ok {
				p.variables(p.mod.root, sp, extern)
				return
			}
			p.lacks("unknown directive '%s'", w)
			return
		}
		w = p.word(true)
	}
}

// skipSection passes a debug section with its braces. Tile source between .source_begin and .source_end
// is free text.
func (p *parser) skipSection() {
	for p.peek() != '{' && p.err == nil {
		if p.peek() == 0 {
			p.fail("section has no body")
			return
		}
		p.pos++
	}
	for depth := 0; p.err == nil; {
		switch c := p.peek(); {
		case c == 0:
			p.fail("section is not closed")
		case c == '{':
			depth++
			p.pos++
		case c == '}':
			depth--
			p.pos++
			if depth == 0 {
				return
			}
		case c == '"':
			p.str()
		case c == '.' && p.peekWord(true) == ".source_begin":
			end := strings.Index(p.src[p.pos:], ".source_end")
			if end < 0 {
				p.fail(".source_begin has no .source_end")
				return
			}
			p.advance(end + len(".source_end"))
		default:
			p.pos++
		}
	}
}

// varType reads the part of a declaration before the names: [.align n] [.ptr ...] [.v2|.v4] .type.
func (p *parser) varType() (t typ, vec, align int) {
	vec = 1
	pointee := false // after .ptr, space and alignment are those of what is pointed to
	for p.err == nil && p.peek() == '.' {
		w := p.word(true)
		switch w {
		case ".align":
			a := p.number()
			if pointee {
				continue
			}
			align = int(a.val)
			if a.kind != argInt || align < 1 || align > 1<<20 || align&(align-1) != 0 {
				p.fail("alignment must be a power of two")
			}
		case ".v2", ".v4", ".v8":
			vec = int(w[2] - '0')
		case ".ptr":
			pointee = true
		case ".global", ".shared", ".local", ".param", ".const":
		case ".attribute":
			p.expect('(')
			for p.err == nil && !p.accept(')') {
				p.skip()
				p.pos++
				if p.pos >= len(p.src) {
					p.fail("attribute is not closed")
				}
			}
		default:
			x, ok := types[w[1:]]
			if !ok {
				p.fail("unknown type '%s'", w)
				return
			}
			if t.named != "" {
				p.fail("two types in one declaration: .%s %s", t.named, w)
			}
			t = x
		}
	}
	if p.err == nil && t.named == "" {
		p.fail("declaration has no type, found %s", p.found())
	}
	return t, vec, align
}

// variables reads "type name[dims] = init, name...;" and declares them in sc.
func (p *parser) variables(sc *scope, sp space, extern bool) {
	t, vec, align := p.varType()
	for p.err == nil {
		for _, v := range p.declarator(t, vec, align, sp) {
			if old := sc.vars[v.name]; old != nil && !(old.extern || extern) {
				p.fail("'%s' is declared twice", v.name)
				return
			}
			v.extern = extern
			if p.accept('=') {
				if sp != spGlobal && sp != spConst {
					p.fail(".%s variables have no initialiser", sp)
					return
				}
				p.initialiser(v)
			}
			put(&sc.vars, v.name, v)
			if sp == spGlobal || sp == spConst {
				p.mod.globals = append(p.mod.globals, v)
			}
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect(';')
}

// Bounds of what a module declares, so that a bad text cannot ask for unbounded memory.
const (
	maxVar    = 1 << 28 // bytes of all variables and parameters together, each with its record
	varRecord = 256     // bytes
)

// charge counts bytes of variables, before these are made, and tells whether they are within bounds.
func (p *parser) charge(bytes int) bool {
	if p.total += bytes; p.total > maxVar {
		p.lacks("the variables of the module take more than %d bytes", maxVar)
	}
	return p.err == nil
}

// declarator reads name, name<n> or name[n][m].
func (p *parser) declarator(t typ, vec, align int, sp space) []*variable {
	name := p.name()
	size, dims := t.bytes()*vec, 0
	if align == 0 {
		align = size
	}
	if p.accept('<') {
		n := p.number()
		p.expect('>')
		if p.err != nil || n.val > 1<<16 {
			p.lacks("too many variables")
			return nil
		}
		if !p.charge(int(n.val) * (varRecord + size)) {
			return nil
		}
		var vs []*variable
		for i := range int(n.val) {
			vs = append(vs, &variable{name: name + itoa(i), space: sp, elem: t, size: size, align: align})
		}
		return vs
	}
	for p.err == nil && p.accept('[') {
		dims++
		if p.accept(']') {
			size = 0 // sized by its initialiser, or dynamic
			continue
		}
		n := p.number()
		p.expect(']')
		if n.kind != argInt || n.val > maxVar || size*int(n.val) > maxVar {
			p.lacks("variable '%s' is too large", name)
			return nil
		}
		size *= int(n.val)
	}
	if !p.charge(varRecord + size) {
		return nil
	}
	return []*variable{{name: name, space: sp, elem: t, size: size, align: align}}
}

// initialiser reads a value or nested lists of values after '='.
func (p *parser) initialiser(v *variable) {
	unsized := v.size == 0
	data := make([]byte, 0, v.size)
	var list func(depth int)
	list = func(depth int) {
		if depth > maxDepth {
			p.lacks("initialiser is nested too deeply")
			return
		}
		if p.accept('{') {
			for p.err == nil && p.peek() != '}' {
				list(depth + 1)
				if !p.accept(',') {
					break
				}
			}
			p.expect('}')
			return
		}
		if len(data)+v.elem.bytes() > maxVar || !unsized && len(data)+v.elem.bytes() > v.size {
			p.fail("too many initial values for '%s'", v.name)
			return
		}
		val := p.initValue(v, len(data))
		for i := range v.elem.bytes() {
			data = append(data, byte(val>>(8*i)))
		}
	}
	list(0)
	if unsized {
		v.size = len(data)
		p.charge(v.size)
	}
	v.init = data
}

// initValue reads one number or address.
func (p *parser) initValue(v *variable, at int) uint64 {
	r := initRef{at: at, size: v.elem.bytes()}
	if p.atConstant() {
		a := p.expression(0)
		switch {
		case a.kind == argFloat:
			return floatLiteral(a, v.elem)
		case !p.accept('('):
			return a.val
		}
		r.shift = bits.TrailingZeros64(a.val) // 0xff00(x): one byte of an address
		if r.oneByte = true; a.val != 0xff<<r.shift || r.shift%8 != 0 || a.val == 0 {
			p.fail("the mask of an address is one byte")
		}
	}
	if r.name = p.name(); r.name == "generic" && p.accept('(') {
		r.name = p.name()
		p.expect(')')
	}
	if p.accept('+') {
		r.add = int64(p.expression(0).val)
	}
	if r.oneByte {
		p.expect(')')
	}
	v.refs = append(v.refs, r)
	return 0
}

// function reads what follows .entry or .func: a prototype, or a definition with its body.
func (p *parser) function(entry bool) {
	f := &function{entry: entry, line: p.line}
	p.loc = 0
	f.scope = newScope(p.mod.root)
	if !entry && p.peek() == '(' {
		f.rets = p.formals(f)
	}
	f.name = p.name()
	if p.peek() == '(' {
		f.params = p.formals(f)
	}
	p.functionDirectives(f)
	if p.peek() == '{' {
		if old := p.mod.funcs[f.name]; old != nil && old.defined {
			p.fail("'%s' is defined twice", f.name)
			return
		}
		f.defined = true
		p.body(f)
	} else {
		p.expect(';')
		if p.mod.funcs[f.name] != nil {
			return
		}
	}
	p.mod.funcs[f.name] = f
	if f.defined {
		p.mod.order = append(p.mod.order, f)
	}
}

// functionDirectives reads what stands between the parameters and the body: only the sizes of block and
// cluster matter here.
func (p *parser) functionDirectives(f *function) {
	for p.err == nil && p.peek() == '.' {
		w := p.word(true)
		switch w {
		case ".reqntid":
			f.reqntid = p.triple()
		case ".maxntid":
			f.maxntid = p.triple()
		case ".reqnctapercluster":
			f.cluster = p.triple()
		case ".maxnreg":
			f.maxnreg = p.triple()[0]
		case ".minnctapersm":
			f.minctas = p.triple()[0]
		case ".maxclusterrank", ".maxnctapersm", ".language", ".abi_preserve", ".abi_preserve_control":
			p.triple()
		case ".blocksareclusters":
			f.clusters = true
		case ".explicitcluster", ".noreturn":
		case ".pragma":
			p.str()
			p.expect(';')
		default:
			p.lacks("unknown directive '%s'", w)
		}
	}
}

func (p *parser) triple() [3]int {
	t := [3]int{1, 1, 1}
	for i := range t {
		a := p.number()
		if a.kind != argInt || a.val > 1<<31 {
			p.fail("expected a count")
		}
		t[i] = int(a.val)
		if !p.accept(',') {
			break
		}
	}
	return t
}

// formals reads "(.param .u64 a, .param .align 2 .b8 b[2])".
func (p *parser) formals(f *function) []*variable {
	var vs []*variable
	p.expect('(')
	for p.err == nil && p.peek() != ')' {
		w := p.word(true)
		for w == ".hidden" {
			w = p.word(true)
		}
		if w == ".reg" {
			p.lacks(".reg parameters")
			return nil
		}
		if w != ".param" {
			p.fail("expected .param, found '%s'", w)
			return nil
		}
		t, vec, align := p.varType()
		for _, v := range p.declarator(t, vec, align, spParam) {
			if f.scope.vars[v.name] != nil {
				p.fail("parameter '%s' is declared twice", v.name)
			}
			put(&f.scope.vars, v.name, v)
			vs = append(vs, v)
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return vs
}
