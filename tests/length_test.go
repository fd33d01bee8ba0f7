package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// longest is how many lines a function may have that is no table.
const longest = 60

// tables are functions that may be longer, because they are lists: one entry after the other, each read alone.
var tables = map[string]string{
	"codegen/local.parts":              "one case for each LLVM instruction",
	"codegen/ptx.instruction":          "one case for each LLVM instruction",
	"codegen/ptxop.init":               "rows of instructions",
	"dialects/cudatile/def.controlOps": "rows of operations",
	"dialects/cudatile/def.memoryOps":  "rows of operations",
	"dialects/cudatile/def.shapeOps":   "rows of operations",
	"dialects/tileaa/def.Ops":          "rows of operations",
	"dialects/tileaa.parseType":        "one case for each type",
	"internal/lit.tokenize":            "one case for each token",
	"ir.AttrOf":                        "one case for each kind of attribute",
	"ir.lex":                           "one case for each token",
	"passes/convert.init":              "rules of operations",
	"passes/facts.init":                "rules of operations",
	"runtime/interp.init":              "rules of operations",
}

// TestFunctionsFitAScreen holds the lengths of functions, but not those of tests and of generated files.
func TestFunctionsFitAScreen(t *testing.T) {
	found := map[string]int{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../")))
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				name := dir + "." + f.Name.Name
				found[name] = max(found[name], files.Position(f.End()).Line-files.Position(f.Pos()).Line+1)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, lines := range found { // each on its own: the order cannot matter
		if _, table := tables[name]; !table && lines > longest {
			t.Errorf("%s has %d lines, %d are the most of a function that is no table", name, lines, longest)
		}
	}
	for name := range tables {
		if found[name] <= longest {
			t.Errorf("%s has %d lines: it needs no place in the list of tables", name, found[name])
		}
	}
}
