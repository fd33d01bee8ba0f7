package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// laws says which packages of this module, and which modules of others, a room may import. Rooms are folders; the longest that
// contains a package is its room. std is free everywhere. docs/architecture.md has the same table with the reasons.
var laws = map[string][]string{
	".":                     {"internal/driver", "internal/cache/remote", "internal/library", "internal/remark", "codegen/options", "ir"},
	"cmd/tileiras":          {"internal/driver"},
	"cmd/libtileiras":       {".", "internal/driver", "internal/library", "runtime/executor", "codegen/target"},
	"cmd/tile-opt":          {"internal/driver", "github.com/llir/llvm"},
	"cmd/tile-translate":    {"internal/driver"},
	"cmd/tileirdisasm":      {"internal/driver"},
	"cmd/tilerun":           {"internal/tilerun"},
	"internal/driver":       {"ir/budget", "internal/cache", "codegen/planted", "internal/remark", "internal/explain", "internal/native", "internal/ptxas", "ir", "dialects", "passes", "codegen", "github.com/llir/llvm/ir", "github.com/spf13/pflag", "github.com/sergi/go-diff"},
	"internal/library":      {"internal/driver"},
	"internal/native":       {},
	"internal/ptxas":        {},
	"internal/tilerun":      {"internal/cache/remote", "internal/driver", "codegen/target", "runtime", "golang.org/x/term"},
	"internal/gen":          {"ir", "dialects", "passes", "internal/driver", "internal/tilerun", "codegen/target", "codegen/atom", "codegen/nvvm"},
	"internal/opgen":        {"ir", "dialects/cudatile/def", "dialects/tileaa/def"},
	"internal/filecheck":    {},
	"internal/lit":          {"internal/filecheck"},
	"codegen/planted":       {},
	"ir/budget":             {},
	"internal/cache":        {},
	"internal/cache/remote": {"internal/cache"},
	"internal/remark":       {"ir"},
	"internal/explain":      {"internal/remark", "ir", "dialects/cudatile", "dialects/tileaa", "passes/facts", "codegen/layout", "codegen/atom", "codegen/target", "codegen/cost"},
	"internal/mutate":       {},
	"ir":                    {"ir/budget", "ir/float"},
	"ir/float":              {},
	"ir/printf":             {"ir"},
	"dialects/builtin":      {"ir"},
	"dialects/cudatile":     {"ir", "dialects/cudatile/def", "codegen/target"},
	"dialects/cudatile/def": {"ir"},
	"dialects/testing":      {"ir", "dialects/cudatile"},
	"dialects/tileaa":       {"ir", "dialects/tileaa/def", "codegen/layout", "codegen/atom", "codegen/target"},
	"dialects/tileaa/def":   {"ir"},
	"passes":                {"dialects/tileaa", "passes/convert", "passes/cleanup", "passes/plan", "passes/slice", "passes/layouts", "passes/overlap", "passes/memory", "passes/sync", "passes/cudatile", "passes/pass"},
	"passes/convert":        {"ir", "dialects", "codegen/target", "passes/pass"},
	"passes/cleanup":        {"ir", "dialects", "codegen/planted", "passes/facts", "passes/pass"},
	"passes/plan":           {"ir", "dialects/tileaa", "codegen/layout", "codegen/atom", "codegen/cost", "passes/slice", "passes/kernel", "passes/facts", "passes/pass"},
	"passes/slice":          {"ir", "dialects/tileaa", "codegen/layout", "codegen/atom", "codegen/cost", "passes/kernel", "passes/facts", "passes/pass"},
	"passes/layouts":        {"ir", "dialects/tileaa", "codegen/layout", "codegen/atom", "codegen/target", "codegen/cost", "passes/kernel", "passes/facts", "passes/pass"},
	"passes/overlap":        {"codegen/planted", "ir", "dialects/tileaa", "codegen/layout", "codegen/atom", "codegen/cost", "passes/memory", "passes/kernel", "passes/pass"},
	"passes/memory":         {"codegen/planted", "ir", "dialects/tileaa", "codegen/layout", "codegen/atom", "codegen/cost", "passes/kernel", "passes/facts", "passes/pass"},
	"passes/sync":           {"codegen/planted", "ir", "dialects/tileaa", "codegen/layout", "codegen/atom", "codegen/cost", "passes/memory", "passes/facts", "passes/kernel", "passes/pass"},
	"passes/cudatile":       {"ir", "dialects", "passes/cleanup", "passes/pass"},
	"passes/kernel":         {"ir", "dialects/tileaa", "codegen/layout", "codegen/atom", "codegen/target", "codegen/cost", "passes/facts", "passes/pass"},
	"passes/facts":          {"ir", "dialects"},
	"passes/passtest":       {"ir", "dialects", "codegen/options", "codegen/target", "passes/pass"},
	"passes/pass":           {"ir/budget", "codegen/planted", "ir", "dialects", "codegen/options", "codegen/target"},
	"codegen/layout":        {},
	"codegen/options":       {},
	"codegen/target":        {},
	"codegen/ptxop":         {"codegen/target"},
	"codegen/atom":          {"codegen/planted", "codegen/layout", "codegen/target", "codegen/ptxop"},
	"codegen/cost":          {"codegen/layout", "codegen/atom", "codegen/target"},
	"codegen/local":         {"github.com/llir/llvm/ir"},
	"codegen/nvvm":          {"ir/budget", "codegen/planted", "ir", "dialects/tileaa", "codegen/layout", "codegen/atom", "codegen/cost", "codegen/options", "codegen/target", "codegen/ptxop", "codegen/local", "github.com/llir/llvm/ir"},
	"codegen/ptx":           {"ir/budget", "codegen/planted", "codegen/options", "codegen/target", "codegen/ptxop", "codegen/local", "github.com/llir/llvm/ir"},
	"runtime/exact":         {"ir/float"},
	"runtime/cprintf":       {},
	"runtime/interp":        {"ir", "dialects/cudatile", "runtime/exact", "runtime/cprintf"},
	"runtime/emu":           {"runtime/cprintf"},
	"runtime/executor":      {"internal/driver", "ir", "dialects/cudatile", "runtime/interp", "runtime/emu"},
	"runtime/cuda":          {"runtime/cases", "github.com/ebitengine/purego"},
	"runtime/cases":         {"ir/float"},
	"examples":              {".", "runtime/cuda"},
	"tests":                 {"", "golang.org/x/sync", "github.com/ebitengine/purego"},
}

// TestRoomsImportWhatTheirLawAllows holds every import of every package against the table, and the table against the imports: a permission that
// nothing uses is none.
func TestRoomsImportWhatTheirLawAllows(t *testing.T) {
	seen := map[string]bool{}
	used := map[string]map[string]bool{} // room -> what its law lists and its code imports
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != ".." || d.Name() == "testdata" || d.Name() == "corpus") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../")))
		room := roomOf(dir)
		if room == "" {
			t.Errorf("%s belongs to no room of the table", dir)
			return nil
		}
		if !seen[room] {
			seen[room], used[room] = true, map[string]bool{}
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(file.Comments[:min(1, len(file.Comments))], func(c *ast.CommentGroup) bool { return strings.Contains(c.List[0].Text, "go:build deps") }) {
			return nil
		}
		for _, imp := range file.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			free, by := permission(room, p)
			if !free && by == nil {
				t.Errorf("%s imports %s, which the law of room %s does not allow", path, p, room)
			}
			for _, l := range by {
				used[room][l] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range laws {
		if !seen[room] && room != "tests" && room != "." {
			t.Logf("room %s has no code yet", room)
		}
		for _, l := range laws[room] {
			if !used[room][l] {
				t.Errorf("room %s may import %q and does not", room, l)
			}
		}
	}
}

func roomOf(dir string) string {
	for d := dir; ; d = filepath.ToSlash(filepath.Dir(d)) {
		if _, ok := laws[d]; ok && (d != "." || dir == ".") {
			return d
		}
		if d == "." {
			return ""
		}
	}
}

// permission says by what a room may import a package: free, as std and the room itself are, or by what its law lists with everything below it.
func permission(room, path string) (free bool, by []string) {
	own := path == "tileiras" || strings.HasPrefix(path, "tileiras/")
	if !own && !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
		return true, nil
	}
	local := strings.TrimPrefix(strings.TrimPrefix(path, "tileiras"), "/")
	if own && local == "" {
		local = "."
	}
	if own && roomOf(local) == room {
		return true, nil
	}
	if !own {
		local = path
	}
	for _, l := range laws[room] {
		if l == "" && own || local == l || l != "." && l != "" && strings.HasPrefix(local, l+"/") {
			by = append(by, l)
		}
	}
	return false, by
}
