package mutants

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Site is a place that can be broken in one way.
type Site struct {
	File string // below the root
	Func string // the function it is in
	Line int
	Kind string
	From string // the text there, and what stands there instead
	To   string
	// The bytes [start, end) of the file become text, in which #N# is the number of the mutant.
	start, end int
	text       string
	order      uint64 // decides which sites are chosen
}

// Key names a site in a way that changes of other code keep.
func (s *Site) Key() string {
	return fmt.Sprintf("%s %s: %s: %s => %s", s.File, s.Func, s.Kind, s.From, s.To)
}

func (s *Site) String() string {
	return fmt.Sprintf("%s:%d (%s): %s: %s => %s", s.File, s.Line, s.Func, s.Kind, s.From, s.To)
}

// Sites lists the places of the packages in some folders, file by file, in the order of the text.
func Sites(root string, folders []string) ([]*Site, error) {
	imports, err := exports(root, folders)
	if err != nil {
		return nil, err
	}
	var out []*Site
	for _, folder := range folders {
		list, err := packageSites(root, folder, imports)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		out = append(out, list...)
	}
	return out, nil
}

// exports finds the compiled packages that the packages in the folders import.
func exports(root string, folders []string) (map[string]string, error) {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, f := range folders {
		args = append(args, "./"+f)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	files := map[string]string{}
	for _, line := range strings.Split(string(out), "\n") {
		if path, file, ok := strings.Cut(line, " "); ok {
			files[path] = file
		}
	}
	return files, nil
}

func packageSites(root, folder string, imports map[string]string) ([]*Site, error) {
	set := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	var texts [][]byte
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files, texts = append(files, f), append(texts, text)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(imports[path]) }
	conf := types.Config{Importer: importer.ForCompiler(set, "gc", lookup)}
	if _, err := conf.Check(folder, set, files, info); err != nil {
		return nil, err
	}
	var out []*Site
	for i, f := range files {
		rel, err := filepath.Rel(root, set.Position(f.Pos()).Filename)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(rel, "_gen.go") { // a test holds it against its rows
			continue
		}
		c := &collector{set: set, info: info, text: texts[i], file: filepath.ToSlash(rel), seen: map[string]int{}}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Body != nil {
					c.fn = funcName(d)
					c.walk(d.Body)
				}
			case *ast.GenDecl:
				c.rules(d)
			}
		}
		out = append(out, c.sites...)
	}
	return out, nil
}

func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	if s, ok := t.(*ast.IndexExpr); ok {
		t = s.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// collector gathers the sites of one file.
type collector struct {
	set   *token.FileSet
	info  *types.Info
	text  []byte
	file  string
	fn    string
	sites []*Site
	seen  map[string]int
}

func (c *collector) source(n ast.Node) string {
	return string(c.text[c.set.Position(n.Pos()).Offset:c.set.Position(n.End()).Offset])
}

// add makes a site of a node. In the text #N# is the number of the mutant.
func (c *collector) add(n ast.Node, kind, to, text string) {
	s := &Site{File: c.file, Func: c.fn, Line: c.set.Position(n.Pos()).Line, Kind: kind, From: line(c.source(n)), To: line(to),
		start: c.set.Position(n.Pos()).Offset, end: c.set.Position(n.End()).Offset, text: text}
	// Equal sites of one function are told apart by their number.
	c.seen[s.Key()]++
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", s.Key(), c.seen[s.Key()])
	if k := c.seen[s.Key()]; k > 1 {
		s.To += fmt.Sprintf(" (%d)", k)
	}
	s.order = h.Sum64()
	c.sites = append(c.sites, s)
}

// line is a text on one line, cut where it is long.
func line(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 80 {
		s = s[:77] + "..."
	}
	return s
}

// Choose takes n sites, as evenly over the files as they have them; no two overlap. Which of a file, a hash of each site decides, so a
// change of one function leaves the choice in others as it was.
func Choose(sites []*Site, n int) []*Site {
	byFile := map[string][]*Site{}
	var files []string
	for _, s := range sites {
		if byFile[s.File] == nil {
			files = append(files, s.File)
		}
		byFile[s.File] = append(byFile[s.File], s)
	}
	slices.Sort(files)
	for _, f := range files {
		slices.SortFunc(byFile[f], func(a, b *Site) int {
			if a.order < b.order {
				return -1
			}
			return 1
		})
	}
	var out []*Site
	chosen := map[string][]*Site{}
	for again := true; again; {
		again = false
		for _, f := range files {
			for len(byFile[f]) > 0 && len(out) < n {
				s := byFile[f][0]
				byFile[f] = byFile[f][1:]
				if !slices.ContainsFunc(chosen[f], func(t *Site) bool { return s.start < t.end && t.start < s.end }) {
					chosen[f], out, again = append(chosen[f], s), append(out, s), true
					break
				}
			}
		}
	}
	return out
}

// Rewrite gives the text of a file with mutants behind switches; numbers says which number each site has.
func Rewrite(text []byte, sites []*Site, numbers []int) []byte {
	order := make([]int, len(sites))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return sites[a].start - sites[b].start })
	var out bytes.Buffer
	at := 0
	for _, i := range order {
		s := sites[i]
		out.Write(text[at:s.start])
		out.WriteString(strings.ReplaceAll(s.text, "#N#", fmt.Sprint(numbers[i])))
		at = s.end
	}
	out.Write(text[at:])
	return importSwitch(out.Bytes())
}

// importSwitch adds an import on the line of the package clause, so that no line changes its number.
func importSwitch(text []byte) []byte {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, parser.PackageClauseOnly)
	if err != nil {
		return text
	}
	at := set.Position(f.Name.End()).Offset
	return slices.Concat(text[:at], []byte(`; import mutant "`+switchPath+`"`), text[at:])
}
