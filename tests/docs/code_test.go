package docs_test

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var name = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)

// code has the identifiers of the project, and its strings, among which are the names of operations, flags and instructions.
func code(t *testing.T, root string) map[string]bool {
	words := map[string]bool{}
	for _, full := range projectFiles(t, root) {
		if !strings.HasSuffix(full, ".go") || filepath.Base(full) == "code_test.go" {
			continue
		}
		text, err := os.ReadFile(full)
		if err != nil {
			t.Fatal(err)
		}
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile(full, -1, len(text)), text, nil, 0)
		for kind := token.ILLEGAL; kind != token.EOF; {
			var word string
			switch _, kind, word = s.Scan(); kind {
			case token.IDENT:
				words[word] = true
			case token.STRING:
				words[strings.Trim(word, "\"`")] = true
			}
		}
	}
	return words
}

// examples are what pages name that is not in the code: it is made from a number, or the page tells how it would be added.
var examples = map[string]bool{"fdim": false, "Fdim": false, "sm_121a": false, "sm_122": false}

// TestNamesOfCodeInPages: the names that the pages about adding something quote are in the code.
func TestNamesOfCodeInPages(t *testing.T) {
	words := code(t, "../..")
	pages, _ := filepath.Glob("../../docs/add-*.md")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			if !name.MatchString(m[1]) || file.MatchString(m[1]) || words[m[1]] {
				continue
			}
			for _, part := range strings.Split(m[1], ".") {
				if _, ok := examples[part]; ok {
					examples[part] = true
				} else if !words[part] {
					t.Errorf("%s names %s, which is not in the code", filepath.Base(page), m[1])
				}
			}
		}
	}
	for n, met := range examples {
		if !met {
			t.Errorf("no page names %s any more", n)
		}
	}
}
