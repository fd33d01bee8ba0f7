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

// longest is how many lines a function may have that is no table.
const longest = 60

// tables are functions that may be longer, because they are lists: one entry after the other, each read alone.
var tables = map[string]string{
	"codegen/ptx.instruction":          "one case for each LLVM instruction",
	"codegen/ptxop.init":               "rows of instructions",
	"dialects/cudatile/def.controlOps": "rows of operations",
	"dialects/cudatile/def.memoryOps":  "rows of operations",
	"dialects/cudatile/def.shapeOps":   "rows of operations",
	"dialects/tileaa.parseType":        "one case for each type",
	"internal/lit.tokenize":            "one case for each token",
	"ir.AttrOf":                        "one case for each kind of attribute",
	"ir.lex":                           "one case for each token",
	"runtime/interp.init":              "rules of operations",
}

// tooLong are functions that are no tables and still longer, with their lines; a number may only fall.
var tooLong = map[string]int{
	"codegen/layout.LdMatrix":    68,
	"codegen/layout.offsets":     69,
	"codegen/nvvm.dotOperand":    82,
	"codegen/nvvm.matrixProduct": 74,
	"codegen/nvvm.scanLanes":     67,
	"codegen/ptx.combine":        62,
	"codegen/ptx.destruct":       64,
	"codegen/ptx.layout":         71,
	"codegen/ptx.newLiveness":    98,
	"codegen/ptx.ranges":         84,
	"codegen/ptx.sequence":       63,
	"codegen/ptx.rowCall":        75,
}

// free are the rooms that the rule does not reach yet.
var free = regexp.MustCompile(`^(passes|runtime/emu|internal/driver|tests)(/|$)`)

// TestFunctionsFitAScreen holds the lengths of functions in all other rooms, but not those of tests and of generated files.
func TestFunctionsFitAScreen(t *testing.T) {
	found := map[string]int{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../")))
		if free.MatchString(dir) {
			return nil
		}
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
		if _, table := tables[name]; !table && lines > max(tooLong[name], longest) {
			t.Errorf("%s has %d lines, %d are the most of a function that is no table", name, lines, max(tooLong[name], longest))
		}
	}
	for name, lines := range tooLong {
		if found[name] < lines {
			t.Logf("%s is down to %d lines from %d: write that down here", name, found[name], lines)
		}
	}
}
