package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"tileiras/codegen/options"
	"tileiras/passes"
)

// TestEveryPassHasATextTest wants a folder of text tests for each pass, or a RUN line in which it is the last that runs; and for each pass
// on cuda_tile alone a RUN line with its name.
func TestEveryPassHasATextTest(t *testing.T) {
	var lines strings.Builder
	err := filepath.WalkDir("lit", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".tileir") {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "// RUN:") {
				lines.WriteString(line)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range passes.List {
		name, by := p.Name, regexp.MustCompile(`--passes=(\S*,)?`+p.Name+`\s`)
		if name == "" {
			name, by = p.OnCudaTile, regexp.MustCompile(`--`+p.OnCudaTile+`[=\s]|[(,]`+p.OnCudaTile+`[{,)]`)
		}
		if d, err := os.Stat(filepath.Join("lit", name)); (err != nil || !d.IsDir()) && !by.MatchString(lines.String()) {
			t.Errorf("pass %s has no text test: there is no folder tests/lit/%s, and no RUN line runs it last", name, name)
		}
	}
}

// TestEveryPassStandsInTheRowOfItsRoom holds the table of rooms against the list: a row names the passes of its room.
func TestEveryPassStandsInTheRowOfItsRoom(t *testing.T) {
	text, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range passes.Pipeline() {
		room, _, _ := strings.Cut(strings.TrimPrefix(runtime.FuncForPC(reflect.ValueOf(p.Run).Pointer()).Name(), "tileiras/"), ".")
		row := regexp.MustCompile("(?m)^\\| `" + room + "` \\|.*[ (]" + p.Name + "[ ,;:)]")
		if !row.Match(text) {
			t.Errorf("pass %s is of the room %s, whose row in docs/architecture.md does not name it", p.Name, room)
		}
	}
}

// TestEveryOptionOfCodeIsRead finds fields of options.Code that no pass and no code generator reads, by itself or by a method of Code.
func TestEveryOptionOfCodeIsRead(t *testing.T) {
	read := map[string]bool{}
	for _, room := range []string{"passes", "codegen"} {
		for name := range selected(t, "../"+room, func(*ast.FuncDecl) bool { return true }) {
			read[name] = true
		}
	}
	for name := range selected(t, "../codegen/options", func(f *ast.FuncDecl) bool { return read[f.Name.Name] }) {
		read[name] = true
	}
	code := reflect.TypeFor[options.Code]()
	for i := range code.NumField() {
		if name := code.Field(i).Name; !read[name] {
			t.Errorf("nothing in passes and codegen reads %s of options.Code", name)
		}
	}
}

// selected are the names that functions of a folder read of values. Package options is looked at by itself only.
func selected(t *testing.T, root string, wanted func(*ast.FuncDecl) bool) map[string]bool {
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "options" && path != root {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && wanted(f) {
				ast.Inspect(f, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok {
						names[s.Sel.Name] = true
					}
					return true
				})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
