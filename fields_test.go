package tileiras_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"
)

// TestEveryFieldIsExplained: go doc shows of each type, function, constant and field of the library what it means.
func TestEveryFieldIsExplained(t *testing.T) {
	pkgs, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	wants := func(what string, name *ast.Ident, texts ...*ast.CommentGroup) {
		for _, c := range texts {
			if c.Text() != "" {
				return
			}
		}
		if name.IsExported() {
			t.Errorf("%s %s: no word on what it means", what, name.Name)
		}
	}
	n := 0
	ast.Inspect(pkgs["tileiras"], func(node ast.Node) bool {
		switch d := node.(type) {
		case *ast.FuncDecl:
			wants("func", d.Name, d.Doc)
			return false
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					wants("type", s.Name, d.Doc, s.Doc)
				case *ast.ValueSpec:
					wants("value", s.Names[0], d.Doc, s.Doc, s.Comment)
				}
			}
		case *ast.Field:
			for _, name := range d.Names {
				n++
				wants("field", name, d.Doc, d.Comment)
			}
		}
		return true
	})
	if n < 50 {
		t.Errorf("only %d fields", n)
	}
}
