package tileiras_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"tileiras"
	"tileiras/internal/driver"
	"tileiras/internal/library"
	"tileiras/internal/mutate"
)

// TestEveryFieldGetsToTheDriver changes one field after the other, a new one too, and wants other options of internal/driver.
func TestEveryFieldGetsToTheDriver(t *testing.T) {
	options := func(o tileiras.Options) driver.Options {
		d, err := library.Driver(&o)
		if err != nil {
			t.Fatal(err)
		}
		d.Called = nil
		return d
	}
	unchanged := options(tileiras.Options{})
	for i, field := range reflect.VisibleFields(reflect.TypeFor[tileiras.Options]()) {
		if !field.IsExported() || field.Name == "Name" { // the name goes with the source
			continue
		}
		var o tileiras.Options
		f := reflect.ValueOf(&o).Elem().Field(i)
		switch {
		case field.Name == "BytecodeVersion":
			f.SetString("13.1")
		case field.Name == "Log":
			o.Log = t.Output()
		case !mutate.Field(f):
			t.Fatalf("this test cannot change %s, a %s", field.Name, field.Type)
		}
		if reflect.DeepEqual(options(o), unchanged) {
			t.Errorf("Options.%s goes nowhere", field.Name)
		}
	}
}

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
