package bytecode_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/ir"
)

// corpusFiles lists the bytecode of the corpus that the project carries.
func corpusFiles(t testing.TB) []string {
	t.Helper()
	var files []string
	root := filepath.Join("..", "..", "..", "tests", "corpus")
	for _, dir := range []string{"cases", "perf"} {
		found, err := filepath.Glob(filepath.Join(root, dir, "*", "*.tileirbc"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 398 {
		t.Fatalf("found %d corpus files under %s, want 361 cases and 37 perf entries", len(files), root)
	}
	sort.Strings(files)
	return files
}

func read(t testing.TB, data []byte) (*ir.Context, *ir.Op, *bytecode.Origin) {
	t.Helper()
	c := ir.NewContext(cudatile.Dialect)
	m, o, err := bytecode.Read(c, data, bytecode.ReadOptions{})
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return c, m, o
}

func TestEveryCorpusFileReads(t *testing.T) {
	for _, file := range corpusFiles(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = bytecode.Read(ir.NewContext(cudatile.Dialect), data, bytecode.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", name(file), err)
		}
	}
}

func name(file string) string {
	return filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".tileirbc")
}

var _ = bytes.Equal
