package tests

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
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
	code := reflect.TypeFor[options.Code]()
	read := map[string]bool{}
	of := selected(t, code.PkgPath(), "../passes/...", "../codegen/...")
	for function, names := range of {
		if !strings.HasPrefix(function, code.PkgPath()+".") {
			maps.Copy(read, names)
		}
	}
	for function, names := range of {
		if name, own := strings.CutPrefix(function, code.PkgPath()+"."); own && read[name] {
			maps.Copy(read, names)
		}
	}
	for i := range code.NumField() {
		if name := code.Field(i).Name; !read[name] {
			t.Errorf("nothing in passes and codegen reads %s of options.Code", name)
		}
	}
}

// selected are the fields and methods of a package that functions of some packages take of values, by package and function.
func selected(t *testing.T, of string, packages ...string) map[string]map[string]bool {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}|{{.Export}}|{{.DepOnly}}|{{.Dir}}|{{join .GoFiles \" \"}}"}, packages...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports, names := map[string]string{}, map[string]map[string]bool{}
	set := token.NewFileSet()
	conf := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	for line := range strings.Lines(string(out)) { // what a package imports stands before it
		p := strings.Split(strings.TrimSpace(line), "|")
		if exports[p[0]] = p[1]; p[2] == "true" {
			continue
		}
		var files []*ast.File
		for _, name := range strings.Fields(p[4]) {
			file, err := parser.ParseFile(set, filepath.Join(p[3], name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
		if _, err := conf.Check(p[0], set, files, info); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				key := p[0] + "." + f.Name.Name
				if names[key] == nil {
					names[key] = map[string]bool{}
				}
				ast.Inspect(f, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok && info.Selections[s] != nil && info.Selections[s].Obj().Pkg() != nil && info.Selections[s].Obj().Pkg().Path() == of {
						names[key][s.Sel.Name] = true
					}
					return true
				})
			}
		}
	}
	return names
}
