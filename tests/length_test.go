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
	"codegen/ptx.selector.instruction": "one case for each LLVM instruction",
	"codegen/ptxop.init of arith.go":   "rows of instructions",
	"codegen/ptxop.init of memory.go":  "rows of instructions",
	"codegen/ptxop.init of move.go":    "rows of instructions",
	"codegen/ptxop.init of sync.go":    "rows of instructions",
	"codegen/ptxop.init of wgmma.go":   "rows of instructions",
	"dialects/cudatile/def.controlOps": "rows of operations",
	"dialects/cudatile/def.memoryOps":  "rows of operations",
	"dialects/cudatile/def.shapeOps":   "rows of operations",
	"dialects/tileaa.parseType":        "one case for each type",
	"dialects/tileaa/def.Ops":          "rows of operations",
	"internal/lit.tokenize":            "one case for each token",
	"ir.Parser.AttrOf":                 "one case for each kind of attribute",
	"ir.lex":                           "one case for each token",
	"passes/convert.init of table.go":  "rules of operations",
	"passes/facts.init of distinct.go": "rules of operations",
	"passes/facts.init of transfer.go": "rules of operations",
	"runtime/interp.init of rules.go":  "rules of operations",
}

// declared names a function among those of its folder: a method with its type, an init with its file.
func declared(f *ast.FuncDecl, file string) string {
	name := f.Name.Name
	if f.Recv == nil {
		if name == "init" {
			return name + " of " + file
		}
		return name
	}
	of := f.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
			continue
		case *ast.IndexExpr:
			of = t.X
			continue
		case *ast.IndexListExpr:
			of = t.X
			continue
		case *ast.Ident:
			return t.Name + "." + name
		}
		return name
	}
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
				name := dir + "." + declared(f, filepath.Base(path))
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
