package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOperationsAreReadByType finds code that asks an operation for its name to learn what it is: ir.As, ir.Is and switches over codes do
// that. Operands and attributes have no readers by name. What prints names, or looks them up for a text, is package ir and the tests.
func TestOperationsAreReadByType(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../")))
		if dir == "ir" || strings.HasPrefix(dir, "tests") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if n != nil && asksName(n) {
				t.Errorf("%s: an operation is told by its name: use ir.As, ir.Is or its code", files.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// readsText are the packages whose functions compare texts, look for them or take them apart.
var readsText = map[string]bool{"strings": true, "slices": true, "cmp": true, "regexp": true}

// asksName reports whether a node compares the name of an operation, looks something up by it, or takes it apart.
func asksName(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		return (n.Op == token.EQL || n.Op == token.NEQ) && (isOpName(n.X) || isOpName(n.Y))
	case *ast.SwitchStmt:
		return isOpName(n.Tag)
	case *ast.IndexExpr:
		return isOpName(n.Index)
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		pkg, ok := f.X.(*ast.Ident)
		return ok && readsText[pkg.Name] && slices.ContainsFunc(n.Args, isOpName)
	}
	return false
}

// isOpName reports whether an expression is x.Def.Name.
func isOpName(e ast.Expr) bool {
	name, ok := e.(*ast.SelectorExpr)
	if !ok || name.Sel.Name != "Name" {
		return false
	}
	def, ok := name.X.(*ast.SelectorExpr)
	return ok && def.Sel.Name == "Def"
}
