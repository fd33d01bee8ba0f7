package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// byName are the rooms that still read operations by the names of the rows, with the number of places. Every other room uses the typed
// operations that internal/opgen writes; a number here may only fall.
var byName = map[string]int{
	"passes/cudatile": 1,
}

var namedAccess = regexp.MustCompile(`^(Operand|OperandGroup|Attr|SetAttr|Enum|Int|Bool|String)Named$`)

// TestOperationsAreReadByType counts the places that name an operand, an attribute or an operation by a string.
func TestOperationsAreReadByType(t *testing.T) {
	found := map[string]int{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../")))
		if dir == "ir" || strings.HasPrefix(dir, "tests") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if places(n) {
				found[dir]++
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, n := range found {
		if n > byName[dir] {
			t.Errorf("%s names operands, attributes or operations in %d places, %d are known: use the typed operations", dir, n, byName[dir])
		}
	}
	for dir, n := range byName {
		if found[dir] < n {
			t.Errorf("%s is down to %d places from %d: write that down here", dir, found[dir], n)
		}
	}
}

// places reports whether a node reads or sets by name, or compares the name of an operation.
func places(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		s, ok := n.Fun.(*ast.SelectorExpr)
		return ok && namedAccess.MatchString(s.Sel.Name)
	case *ast.BinaryExpr:
		return (n.Op == token.EQL || n.Op == token.NEQ) && (isDefName(n.X) || isDefName(n.Y))
	case *ast.SwitchStmt:
		return isDefName(n.Tag)
	case *ast.IndexExpr:
		return isDefName(n.Index)
	}
	return false
}

// isDefName reports whether an expression is x.Def.Name.
func isDefName(e ast.Expr) bool {
	name, ok := e.(*ast.SelectorExpr)
	if !ok || name.Sel.Name != "Name" {
		return false
	}
	def, ok := name.X.(*ast.SelectorExpr)
	return ok && def.Sel.Name == "Def"
}
