package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// laws says which packages of this module, and which modules of others, a room may import: the table of docs/architecture.md. Rooms are
// folders; the longest that contains a package is its room. std is free everywhere.
type laws map[string][]string

const anyRoom = "any room" // what a law lists that allows every package of the module

var lawRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\|([^|]*)\\|$")

// readLaws reads the table of rooms.
func readLaws(t *testing.T) laws {
	t.Helper()
	doc, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(doc), "\n| folder | what lives there | may import |\n| --- | --- | --- |\n")
	if !found {
		t.Fatal("docs/architecture.md has no table of rooms")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	all := laws{}
	for line := range strings.Lines(table + "\n") {
		row := lawRow.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if row == nil {
			t.Fatalf("docs/architecture.md: not a row of the table of rooms: %s", line)
		}
		if _, twice := all[row[1]]; twice {
			t.Errorf("docs/architecture.md: room %s has two rows", row[1])
		}
		all[row[1]] = packagesOf(row[2])
	}
	return all
}

// packagesOf reads a cell: a/{b,c}, d is a/b, a/c and d.
func packagesOf(cell string) []string {
	var list []string
	for cell = strings.TrimSpace(cell); cell != ""; {
		end := strings.Index(cell+", ", ", ")
		name := cell[:end]
		cell = strings.TrimPrefix(cell[end:], ", ")
		folder, rest, braces := strings.Cut(name, "{")
		if !braces {
			list = append(list, name)
			continue
		}
		for _, last := range strings.Split(strings.TrimSuffix(rest, "}"), ",") {
			list = append(list, folder+last)
		}
	}
	return list
}

// TestRoomsImportWhatTheirLawAllows holds every import of every package against the table, and the table against the imports: a permission that
// nothing uses is none.
func TestRoomsImportWhatTheirLawAllows(t *testing.T) {
	laws := readLaws(t)
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
		room := laws.roomOf(dir)
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
			by, ok := laws.permission(room, p)
			if !ok {
				t.Errorf("%s imports %s, which the law of room %s does not allow", path, p, room)
			}
			used[room][by] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room, law := range laws {
		if _, err := os.Stat("../" + room); err != nil {
			t.Errorf("room %s is no folder: %v", room, err)
		}
		for _, l := range law {
			if !used[room][l] {
				t.Errorf("room %s may import %q and does not, or another of its permissions covers it", room, l)
			}
		}
	}
}

func (ls laws) roomOf(dir string) string {
	for d := dir; ; d = filepath.ToSlash(filepath.Dir(d)) {
		if _, ok := ls[d]; ok && (d != "." || dir == ".") {
			return d
		}
		if d == "." {
			return ""
		}
	}
}

// permission says by which entry of its law a room may import a package; by none what is free, as std and the room itself are.
func (ls laws) permission(room, path string) (by string, ok bool) {
	local, own := path, path == "tileiras" || strings.HasPrefix(path, "tileiras/")
	switch {
	case path == "tileiras":
		local = "."
	case own:
		local = strings.TrimPrefix(path, "tileiras/")
	case !strings.Contains(strings.SplitN(path, "/", 2)[0], "."):
		return "", true
	}
	if own && ls.roomOf(local) == room {
		return "", true
	}
	for _, l := range ls[room] {
		if l == anyRoom && own || local == l || l != "." && strings.HasPrefix(local, l+"/") {
			return l, true
		}
	}
	return "", false
}
