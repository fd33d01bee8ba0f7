package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tileiras/codegen/nvvm"
	tileaa "tileiras/dialects/tileaa/def"
)

func TestGeneratedDocumentsAreFresh(t *testing.T) {
	for _, d := range documents {
		have, err := os.ReadFile(filepath.Join("..", "..", d.file))
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != d.text() {
			t.Errorf("%s is stale: run make docs", d.file)
		}
	}
}

func TestEveryAttributeKindHasAName(t *testing.T) {
	for _, line := range strings.Split(opsDocument(), "\n") {
		if strings.Contains(line, ": ,") || strings.Contains(line, ":  |") {
			t.Errorf("a field without a kind: %s", line)
		}
	}
}

// TestEveryLimitOfTheCodeIsListed looks for the functions that say "not supported yet" or that a plan cannot be, and holds the list of limits against them.
func TestEveryLimitOfTheCodeIsListed(t *testing.T) {
	var code, listed []string
	for _, dir := range []string{"passes/*", "codegen/nvvm"} {
		code = append(code, complaining(t, dir)...)
	}
	for _, l := range limits {
		listed = append(listed, l.function)
	}
	for _, f := range code {
		if !slices.Contains(listed, f) {
			t.Errorf("%s refuses something as not supported: say in internal/gen/limits.go what", f)
		}
	}
	for _, f := range listed {
		if !slices.Contains(code, f) {
			t.Errorf("internal/gen/limits.go has %s, which refuses nothing any more", f)
		}
	}
}

// complaining lists the functions below dir that make a NotSupported or an ErrPlan, the helpers named unsupported apart.
func complaining(t *testing.T, dir string) []string {
	var found []string
	files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
	if err != nil || files == nil {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name == "unsupported" {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if refuses(n) {
					found = append(found, filepath.Base(filepath.Dir(name))+"."+fn.Name.Name)
				}
				return true
			})
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func refuses(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		s, ok := n.Fun.(*ast.SelectorExpr)
		return ok && s.Sel.Name == "unsupported"
	case *ast.CompositeLit:
		typ := n.Type
		if s, ok := typ.(*ast.SelectorExpr); ok {
			typ = s.Sel
		}
		id, ok := typ.(*ast.Ident)
		return ok && (id.Name == "NotSupported" || id.Name == "ErrPlan")
	}
	return false
}

func TestEveryOperationOfTileAAIsLoweredOrExplained(t *testing.T) {
	lowered := nvvm.Lowered()
	for _, d := range tileaa.Ops {
		if slices.Contains(lowered, d.Name) == (unlowered[d.Name] != "") {
			t.Errorf("%s: has a lowering: %v, is explained in unlowered: %v", d.Name, slices.Contains(lowered, d.Name), unlowered[d.Name] != "")
		}
	}
}
