package nvvm_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"

	"tileiras/codegen/ptxop"
)

// TestAskedRowsExist: a PTX instruction that lowering asks for by name has a row. Without one no target would have it, and what stands in for it would always be taken.
func TestAskedRowsExist(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || method.Sel.Name != "has" && method.Sel.Name != "op" {
				return true
			}
			if text, ok := call.Args[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
				asked++
				if row, err := strconv.Unquote(text.Value); err != nil || ptxop.Lookup(row) == nil {
					t.Errorf("%s: no row for %s", name, text.Value)
				}
			}
			return true
		})
	}
	if asked < 20 {
		t.Errorf("%d names found", asked)
	}
}
