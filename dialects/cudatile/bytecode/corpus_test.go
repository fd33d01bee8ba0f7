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
	if extra := os.Getenv("TILEIRAS_EXTRA_CORPUS"); extra != "" {
		found, err := filepath.Glob(filepath.Join(extra, "*.tileirbc"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no bytecode in %s (%v)", extra, err)
		}
		files = append(files, found...)
	}
	sort.Strings(files)
	return files
}

func load(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(t testing.TB, data []byte) (*ir.Op, *bytecode.Origin) {
	t.Helper()
	m, o, err := bytecode.Read(ir.NewContext(cudatile.Dialect), data, bytecode.ReadOptions{})
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return m, o
}

// name is the case that a file belongs to.
func name(file string) string {
	return strings.TrimSuffix(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), "/kernel.tileirbc")
}

func TestBytesToModuleToBytesIsTheIdentity(t *testing.T) {
	for _, file := range corpusFiles(t) {
		data := load(t, file)
		m, o := read(t, data)
		got, err := bytecode.Write(m, bytecode.WriteOptions{Origin: o})
		if err != nil {
			t.Errorf("%s: %v", name(file), err)
		} else if !bytes.Equal(got, data) {
			t.Errorf("%s: byte %d of %d differs (wrote %d)", name(file), firstDifference(got, data), len(data), len(got))
		}
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
