package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEverySentenceOfAVerifierIsSeen wants what the verifiers say in a test: in a text of tests/lit, or in a Go test of the dialect.
func TestEverySentenceOfAVerifierIsSeen(t *testing.T) {
	for _, dialect := range []string{"../dialects/cudatile/", "../dialects/tileaa/"} {
		var seen strings.Builder
		for _, pattern := range []string{"lit/*/*.tileir", dialect + "*_test.go"} {
			files, _ := filepath.Glob(pattern)
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				seen.Write(text)
			}
		}
		files, _ := filepath.Glob(dialect + "verify*.go")
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, s := range sentences(t, file) {
				if !strings.Contains(seen.String(), s) {
					t.Errorf("%s: no test has %q", file, s)
				}
			}
		}
	}
}

var verb = regexp.MustCompile(`%[a-z]`)

// sentences are the literals of a file that have several words, each as the longest of its parts between the verbs of a format.
func sentences(t *testing.T, file string) (list []string) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" {
				return false
			}
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		longest := ""
		for _, part := range verb.Split(text, -1) {
			if part = strings.TrimSpace(part); len(part) > len(longest) {
				longest = part
			}
		}
		if strings.Contains(longest, " ") {
			list = append(list, longest)
		}
		return true
	})
	return list
}
