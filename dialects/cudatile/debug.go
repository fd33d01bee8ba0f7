package cudatile

import "tileiras/ir"

// The debug attributes. They form a tree like DWARF's; nil stands for an entry that is unknown.
type (
	// DIFile is `di_file<"name" in "dir">`.
	DIFile struct {
		Name, Dir string
	}
	// DICompileUnit is `di_compile_unit<file = #f>`.
	DICompileUnit struct {
		File *DIFile
	}
	// DISubprogram is `di_subprogram<file = #f, line = 1, name = "n", linkageName = "n", compileUnit = #cu, scopeLine = 2>`.
	// Flags exist on the wire since 13.5 and have no text.
	DISubprogram struct {
		File              *DIFile
		Line              uint32
		Name, LinkageName string
		Unit              *DICompileUnit
		ScopeLine         uint32
		Flags             uint32
	}
	// DILexicalBlock is `di_lexical_block<scope = #s, file = #f, line = 3, column = 4>`.
	DILexicalBlock struct {
		Scope     Scope
		File      *DIFile
		Line, Col uint32
	}
	// DILoc is `di_loc<loc("file":1:2) in #scope>`, the location of an op.
	DILoc struct {
		ir.DialectLoc
		Scope     Scope
		File      string
		Line, Col uint32
	}
)

// Scope is what a location may lie in: *DISubprogram or *DILexicalBlock.
type Scope interface {
	ir.DialectAttr
	isScope()
}

func (*DISubprogram) isScope()   {}
func (*DILexicalBlock) isScope() {}

// subprogram is the subprogram that a scope belongs to, or nil when a scope on the way is unknown.
func subprogram(s Scope) *DISubprogram {
	for {
		switch x := s.(type) {
		case *DISubprogram:
			return x
		case *DILexicalBlock:
			s = x.Scope
		default:
			return nil
		}
	}
}

// FileLine makes a DILoc a place in a source file for diagnostics.
func (l *DILoc) FileLine() (file string, line, col uint32) { return l.File, l.Line, l.Col }

func (*DIFile) AttrDialect() string         { return Name }
func (*DICompileUnit) AttrDialect() string  { return Name }
func (*DISubprogram) AttrDialect() string   { return Name }
func (*DILexicalBlock) AttrDialect() string { return Name }
func (*DILoc) AttrDialect() string          { return Name }

func (a *DIFile) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*DIFile)
	return ok && same(a, x, func() bool { return *a == *x })
}

func (a *DICompileUnit) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*DICompileUnit)
	return ok && same(a, x, func() bool { return a.File.EqualAttr(x.File) })
}

func (a *DISubprogram) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*DISubprogram)
	return ok && same(a, x, func() bool {
		return a.Line == x.Line && a.Name == x.Name && a.LinkageName == x.LinkageName && a.ScopeLine == x.ScopeLine &&
			a.Flags == x.Flags && a.File.EqualAttr(x.File) && a.Unit.EqualAttr(x.Unit)
	})
}

func (a *DILexicalBlock) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*DILexicalBlock)
	return ok && same(a, x, func() bool {
		return a.Line == x.Line && a.Col == x.Col && a.File.EqualAttr(x.File) && ir.AttrEqual(a.Scope, x.Scope)
	})
}

func (a *DILoc) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*DILoc)
	return ok && same(a, x, func() bool {
		return a.File == x.File && a.Line == x.Line && a.Col == x.Col && ir.AttrEqual(a.Scope, x.Scope)
	})
}

// same compares two pointers, by what they point to if they differ and neither is nil.
func same[T any](a, b *T, deep func() bool) bool {
	return a == b || a != nil && b != nil && deep()
}

// SourceName is the name that a function has in its source, from the location of its entry; else its symbol.
func SourceName(l ir.Location, symbol string) string {
	if d, ok := l.(*DILoc); ok {
		if s := subprogram(d.Scope); s != nil && s.Name != "" {
			return s.Name
		}
	}
	return symbol
}
