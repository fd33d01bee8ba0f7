package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tileiras/codegen/nvvm"
	"tileiras/dialects/tileaa"
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
	for _, l := range slices.Concat(limits, limitsOfStages, limitsOfPlans) {
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

// TestEveryOtherLimitIsListed looks for the functions outside of conversions and lowerings that say "not supported yet", and holds the list of those
// against them.
func TestEveryOtherLimitIsListed(t *testing.T) {
	var code, listed []string
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "tests" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			code = append(code, saying(t, name)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range elsewhere {
		listed = append(listed, l.function)
	}
	slices.Sort(code)
	slices.Sort(listed)
	if code = slices.Compact(code); !slices.Equal(code, listed) {
		t.Errorf("the code says \"not supported yet\" in\n%s\ninternal/gen/limits.go lists\n%s", strings.Join(code, "\n"), strings.Join(listed, "\n"))
	}
}

// saying lists the functions of a file that have a text that begins with "not supported yet", but for the text of the errors whose makers complaining
// finds.
func saying(t *testing.T, name string) (found []string) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name == "Message" {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.HasPrefix(lit.Value, "\"not supported yet: ") {
				found = append(found, filepath.Base(filepath.Dir(name))+"."+fn.Name.Name)
			}
			return true
		})
	}
	return found
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
	for _, d := range tileaa.Dialect.Ops {
		if slices.Contains(lowered, d.Name) == (unlowered[d.Name] != "") {
			t.Errorf("%s: has a lowering: %v, is explained in unlowered: %v", d.Name, slices.Contains(lowered, d.Name), unlowered[d.Name] != "")
		}
	}
}
