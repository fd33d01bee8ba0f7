package cudatile

import (
	"fmt"

	"tileiras/ir"
)

// WriteAttr writes "div_by<16>" or "div_by<4, every 4 along 1>".
func (a *DivBy) WriteAttr(p *ir.Printer) {
	p.Printf("div_by<%d", a.Divisor)
	if a.Every != nil {
		p.Printf(", every %d", *a.Every)
	}
	if a.Along != nil {
		p.Printf(" along %d", *a.Along)
	}
	p.Str(">")
}

// WriteAttr writes "same_elements<[2, 4]>".
func (a *SameElements) WriteAttr(p *ir.Printer) {
	p.Str("same_elements<[" + list(a.Values) + "]>")
}

// WriteAttr writes "bounded<0, ?>".
func (a *Bounded) WriteAttr(p *ir.Printer) {
	bound := func(v *int64) string {
		if v == nil {
			return "?"
		}
		return fmt.Sprint(*v)
	}
	p.Str("bounded<" + bound(a.Lower) + ", " + bound(a.Upper) + ">")
}

// WriteAttr writes `di_file<"name" in "dir">`.
func (a *DIFile) WriteAttr(p *ir.Printer) {
	p.Str("di_file<")
	p.Quoted(a.Name)
	p.Str(" in ")
	p.Quoted(a.Dir)
	p.Str(">")
}

// WriteAttr writes "di_compile_unit<file = #f>".
func (a *DICompileUnit) WriteAttr(p *ir.Printer) {
	p.Str("di_compile_unit<")
	field(p, "file = ", a.File)
	p.Str(">")
}

// WriteAttr writes the fields that a subprogram has; scopeLine 0 and flags have no text.
func (a *DISubprogram) WriteAttr(p *ir.Printer) {
	p.Str("di_subprogram<")
	if field(p, "file = ", a.File) {
		p.Str(", ")
	}
	p.Printf("line = %d, name = ", a.Line)
	p.Quoted(a.Name)
	p.Str(", linkageName = ")
	p.Quoted(a.LinkageName)
	field(p, ", compileUnit = ", a.Unit)
	if a.ScopeLine != 0 {
		p.Printf(", scopeLine = %d", a.ScopeLine)
	}
	p.Str(">")
}

// WriteAttr writes "di_lexical_block<scope = #s, file = #f, line = 3, column = 4>"; column 0 is left out.
func (a *DILexicalBlock) WriteAttr(p *ir.Printer) {
	p.Str("di_lexical_block<")
	if a.Scope != nil {
		p.Str("scope = ")
		p.Attr(a.Scope)
		p.Str(", ")
	}
	if field(p, "file = ", a.File) {
		p.Str(", ")
	}
	p.Printf("line = %d", a.Line)
	if a.Col != 0 {
		p.Printf(", column = %d", a.Col)
	}
	p.Str(">")
}

// WriteAttr writes `di_loc<loc("file":1:2) in #scope>`; the place is a location of its own, so that it can be an alias.
func (a *DILoc) WriteAttr(p *ir.Printer) {
	p.Str("di_loc<")
	p.Loc(a.place())
	if a.Scope != nil {
		p.Str(" in ")
		p.Attr(a.Scope)
	}
	p.Str(">")
}

// place is the location as a plain one.
func (a *DILoc) place() ir.Location { return &ir.FileLoc{File: a.File, Line: a.Line, Col: a.Col} }

// field writes an attribute that may be unknown, and says whether it did.
func field[T interface {
	*E
	ir.DialectAttr
}, E any](p *ir.Printer, prefix string, a T) bool {
	if a == nil {
		return false
	}
	p.Str(prefix)
	p.Part(a)
	return true
}

// AliasWord names the aliases of debug attributes.
func (*DIFile) AliasWord() string         { return "di_file" }
func (*DICompileUnit) AliasWord() string  { return "di_compile_unit" }
func (*DISubprogram) AliasWord() string   { return "di_subprogram" }
func (*DILexicalBlock) AliasWord() string { return "di_lexical_block" }
