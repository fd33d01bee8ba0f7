package driver

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestEveryFailureHasAKind: no place in the driver makes a failure without saying what kind it is.
func TestEveryFailureHasAKind(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(x ast.Node) bool {
			lit, ok := x.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if of, ok := lit.Type.(*ast.Ident); !ok || of.Name != "Failure" {
				return true
			}
			n++
			for _, e := range lit.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == "Kind" {
					return true
				}
			}
			t.Errorf("%s: a Failure without a Kind", set.Position(lit.Pos()))
			return true
		})
	}
	if n < 20 {
		t.Errorf("only %d failures were found", n)
	}
}
