package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	firstWord = regexp.MustCompile(`^[\w-]+`)
	codeWord  = regexp.MustCompile(`^[A-Z]?[a-z0-9]+[A-Z]\w*$|^[a-z]+-[a-z-]+$|_`) // a word with capitals inside, a pass, a name with underscores
	article   = regexp.MustCompile(`^(An?|The)$`)
)

// TestCommentsBeginWithTheirName: the comment of an exported function begins with its name or an article, and no other one with the name of something else.
func TestCommentsBeginWithTheirName(t *testing.T) {
	set := token.NewFileSet()
	for _, path := range projectFiles(t, "../..") {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			for _, c := range commentsOf(d) {
				first := firstWord.FindString(c.text)
				if first != "" && !slices.Contains(c.names, first) && (codeWord.MatchString(first) || c.exported && !article.MatchString(first)) {
					t.Errorf("%s: the comment of %v begins with %s", path, c.names, first)
				}
			}
		}
	}
}

// comment is that of a declaration of some names; exported: of an exported function.
type comment struct {
	text     string
	names    []string
	exported bool
}

// commentsOf are the comments of a declaration and of the lines of its list.
func commentsOf(d ast.Decl) (list []comment) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return []comment{{d.Doc.Text(), []string{d.Name.Name}, d.Name.IsExported()}}
	case *ast.GenDecl:
		whole := comment{text: d.Doc.Text()}
		for _, s := range d.Specs {
			var c comment
			switch s := s.(type) {
			case *ast.TypeSpec:
				c = comment{text: s.Doc.Text(), names: []string{s.Name.Name}}
			case *ast.ValueSpec:
				c.text = s.Doc.Text()
				for _, n := range s.Names {
					c.names = append(c.names, n.Name)
				}
			}
			list, whole.names = append(list, c), append(whole.names, c.names...)
		}
		list = append(list, whole)
	}
	return list
}
