package cudatile

import (
	"math"

	"tileiras/ir"
)

// debugReaders read the debug attributes between < and >.
var debugReaders map[string]func(*ir.Parser) ir.Attribute

func init() {
	debugReaders = map[string]func(*ir.Parser) ir.Attribute{
		"di_file":          func(p *ir.Parser) ir.Attribute { return readFile(p) },
		"di_compile_unit":  func(p *ir.Parser) ir.Attribute { return readUnit(p) },
		"di_subprogram":    readSubprogram,
		"di_lexical_block": readLexicalBlock,
		"di_loc":           readLoc,
	}
}

func readFile(p *ir.Parser) *DIFile {
	f := &DIFile{Name: p.String()}
	p.Expect("in")
	f.Dir = p.String()
	return f
}

func readUnit(p *ir.Parser) *DICompileUnit {
	u := &DICompileUnit{}
	readFields(p, []string{"file"}, map[string]func(){"file": func() { u.File = part(p, "di_file", readFile) }})
	return u
}

func readSubprogram(p *ir.Parser) ir.Attribute {
	s := &DISubprogram{}
	readFields(p, []string{"file", "line", "name", "linkageName", "compileUnit"}, map[string]func(){
		"file":        func() { s.File = part(p, "di_file", readFile) },
		"line":        func() { s.Line = readUint32(p) },
		"name":        func() { s.Name = p.String() },
		"linkageName": func() { s.LinkageName = p.String() },
		"compileUnit": func() { s.Unit = part(p, "di_compile_unit", readUnit) },
		"scopeLine":   func() { s.ScopeLine = readUint32(p) },
	})
	return s
}

func readLexicalBlock(p *ir.Parser) ir.Attribute {
	b := &DILexicalBlock{}
	readFields(p, []string{"scope", "file", "line"}, map[string]func(){
		"scope":  func() { b.Scope = readScope(p) },
		"file":   func() { b.File = part(p, "di_file", readFile) },
		"line":   func() { b.Line = readUint32(p) },
		"column": func() { b.Col = readUint32(p) },
	})
	return b
}

// readLoc reads loc("file":1:2) in #scope.
func readLoc(p *ir.Parser) ir.Attribute {
	at := p.Pos()
	place, ok := p.Location().(*ir.FileLoc)
	if !ok {
		p.Errorf(at, "expected a file location")
		return nil
	}
	l := &DILoc{File: place.File, Line: place.Line, Col: place.Col}
	if p.Eat("in") {
		l.Scope = readScope(p)
	}
	return l
}

func readScope(p *ir.Parser) Scope {
	at := p.Pos()
	s, ok := p.Attr(nil).(Scope)
	if !ok {
		p.Errorf(at, "expected a di_subprogram or di_lexical_block")
		return nil
	}
	return s
}

// part reads an attribute of one kind: whole, as an alias, or only its <body>.
func part[T any](p *ir.Parser, kind string, read func(*ir.Parser) *T) *T {
	if p.Eat("<") {
		a := read(p)
		p.Expect(">")
		return a
	}
	at := p.Pos()
	a, ok := any(p.Attr(nil)).(*T)
	if !ok {
		p.Errorf(at, "expected a %s", kind)
		return nil
	}
	return a
}

// readFields reads name = value, ... in any order; the required ones must be there.
func readFields(p *ir.Parser, required []string, fields map[string]func()) {
	seen := map[string]bool{}
	begin := p.Pos()
	if p.PeekKeyword() == "" {
		p.Errorf(begin, "expected a parameter name in struct")
		return
	}
	p.List("", "", func() {
		at := p.Pos()
		name := p.Keyword()
		p.Expect("=")
		if p.Failed() {
			return
		}
		if fields[name] == nil || seen[name] {
			p.Errorf(at, "unexpected or repeated field '%s'", name)
			return
		}
		seen[name] = true
		fields[name]()
	})
	for _, name := range required {
		if !seen[name] {
			p.Errorf(begin, "struct is missing required parameter: %s", name)
			return
		}
	}
}

func readUint32(p *ir.Parser) uint32 {
	at := p.Pos()
	v := p.Integer()
	if v < 0 || v > math.MaxUint32 {
		p.Errorf(at, "expected an unsigned 32-bit integer")
	}
	return uint32(v)
}
