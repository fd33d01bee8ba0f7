package first

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestNeedsHardlyAnyPackage(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			switch path, _ := strconv.Unquote(i.Path.Value); path {
			case "iter", "runtime", "syscall", "unsafe":
			default:
				t.Errorf("%s imports %s, whose tables are made before the heap is ready", name, path)
			}
		}
	}
}
