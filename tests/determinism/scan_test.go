// Package determinism_test shows that the same bytes in give the same bytes out: by a look at the source, where nothing may follow
// the order of a map or a clock, and by compiling twice with different numbers of processors.
package determinism_test

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rooms are where a decision of the compiler can be made, and where its remarks are.
var rooms = []string{"./ir/...", "./dialects/...", "./passes/...", "./codegen/...", "./internal/explain", "./internal/remark"}

// allowance ends the comment, on the line of the loop or just above it, that says why the order of a map does not reach the output:
// the loop asks a question of a set, fills another map, or what it collects is sorted.
const allowance = ": the order cannot matter"

// allowanceReason is the length of the shortest comment that gives a reason too.
const allowanceReason = len("// a set") + len(allowance)

// forbidden are functions whose answer differs from run to run, or packages with nothing else.
var forbidden = map[string]bool{
	"time.Now": true, "time.Since": true, "time.Until": true,
	"math/rand": true, "math/rand/v2": true, "crypto/rand": true,
	"os.Getenv": true, "os.LookupEnv": true, "os.Environ": true, "os.ExpandEnv": true,
	"os.Getpid": true, "os.Getwd": true, "os.Hostname": true, "runtime.NumCPU": true, "runtime.GOMAXPROCS": true, "runtime.NumGoroutine": true,
}

// pkg is a package as `go list` tells.
type pkg struct {
	path, dir, export string
	files             []string
	ours              bool
}

// TestNothingFollowsTheOrderOfAMap type-checks the rooms and looks at every range over a map and every clock.
func TestNothingFollowsTheOrderOfAMap(t *testing.T) {
	packages := list(t)
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.path] = p.export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("no export data of " + path)
		}
		return os.Open(exports[path])
	})
	looked := 0
	for _, p := range packages {
		if !p.ours {
			continue
		}
		var files []*ast.File
		for _, name := range p.files {
			f, err := parser.ParseFile(fset, filepath.Join(p.dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
		if _, err := (&types.Config{Importer: imports}).Check(p.path, fset, files, info); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			looked++
			check(fset, f, info, func(at token.Pos, what string) {
				t.Errorf("%v: %s; sort it, or say why the order does not matter in a comment %q", fset.Position(at), what, "// reason"+allowance)
			})
		}
	}
	if looked < 50 {
		t.Errorf("only %d files were looked at", looked)
	}
}

// check reports each place of a file that may differ from run to run and has no allowance.
func check(fset *token.FileSet, f *ast.File, info *types.Info, report func(token.Pos, string)) {
	allowed := map[int]bool{}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if strings.HasSuffix(c.Text, allowance) && len(c.Text) >= allowanceReason {
				allowed[fset.Position(c.Pos()).Line] = true
				allowed[fset.Position(group.End()).Line+1] = true
			}
		}
	}
	sorted := map[ast.Node]bool{} // calls whose result is sorted at once
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			return true
		}
		line := fset.Position(n.Pos()).Line
		switch n := n.(type) {
		case *ast.RangeStmt:
			if tv, ok := info.Types[n.X]; ok && isMap(tv.Type) && !allowed[line] {
				report(n.Pos(), "a loop follows the order of a map")
			}
		case *ast.CallExpr:
			name := calledFunction(n, info)
			if strings.HasPrefix(name, "slices.Sorted") {
				for _, a := range n.Args {
					sorted[a] = true
				}
			}
			if (name == "maps.Keys" || name == "maps.Values" || name == "maps.All") && !sorted[n] && !allowed[line] {
				report(n.Pos(), name+" follows the order of a map")
			}
			if (forbidden[name] || forbidden[packageOf(name)]) && !allowed[line] {
				report(n.Pos(), name+" decides something")
			}
		}
		return true
	})
}

func isMap(t types.Type) bool {
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// calledFunction is "package.Function" of a call of a package's function.
func calledFunction(call *ast.CallExpr, info *types.Info) string {
	fun := call.Fun
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	f, ok := info.Uses[sel.Sel].(*types.Func)
	if !ok || f.Pkg() == nil || f.Signature().Recv() != nil {
		return ""
	}
	return f.Pkg().Path() + "." + f.Name()
}

// packageOf is the package of "package.Function".
func packageOf(function string) string { return function[:max(0, strings.LastIndex(function, "."))] }

// list asks the go command for the rooms and everything that they import.
func list(t *testing.T) []pkg {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", `{{.ImportPath}}|{{.Dir}}|{{.Export}}|{{.DepOnly}}|{{range .GoFiles}}{{.}} {{end}}`}, rooms...)...)
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var ps []pkg
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		f := strings.Split(line, "|")
		ps = append(ps, pkg{f[0], f[1], f[2], strings.Fields(f[4]), f[3] == "false"})
	}
	return ps
}

// TestTheScanFindsWhatItLooksFor shows each kind of finding, and each way to be allowed.
func TestTheScanFindsWhatItLooksFor(t *testing.T) {
	const source = `package p

import (
	"math/rand/v2"
	"os"
)

func f(m map[string]int) (n int) {
	for range m { // line 9: found
		n++
	}
	// counts a set: the order cannot matter
	for range m {
		n++
	}
	for range m { // counts a set: the order cannot matter
		n++
	}
	for range []int{1} {
		n++
	}
	// : the order cannot matter
	for range m { // line 23: found, no reason is given
		n++
	}
	n += rand.IntN(4) // line 26: found
	if _, ok := os.LookupEnv("N"); ok { // line 27: found
		n++
	}
	return n
}
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: importer.ForCompiler(fset, "source", nil)}).Check("p", fset, []*ast.File{f}, info); err != nil {
		t.Fatal(err)
	}
	var lines []int
	check(fset, f, info, func(at token.Pos, _ string) { lines = append(lines, fset.Position(at).Line) })
	if want := []int{9, 23, 26, 27}; !slices.Equal(lines, want) {
		t.Errorf("found lines %v, want %v", lines, want)
	}
}
