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

// unlike are the files that a module does not give back without their Origin, and why. A module holds neither debug entries
// that no op reaches nor the bits that cuTile Python writes beyond 64, and the order of types is a convention.
var unlike = map[string]string{
	"cast_from_i16":   "debug entries that no op reaches",
	"cast_from_u32":   "debug entries that no op reaches",
	"cast_from_u8":    "debug entries that no op reaches",
	"dropout":         "debug entries that no op reaches",
	"foreign_array":   "debug entries that no op reaches",
	"legacy_branches": "debug entries that no op reaches",
	"legacy_gather":   "debug entries that no op reaches",
	"legacy_matmul":   "debug entries that no op reaches",
	"legacy_softmax":  "debug entries that no op reaches",
	"legacy_vadd":     "debug entries that no op reaches",
	"reduce_f64":      "an f64 identity of 65 bits",
	"direct_ptr_attr": "unusual order of types",
}

func TestWithoutAnOriginTheOrderIsThatOfCuTilePython(t *testing.T) {
	for _, file := range corpusFiles(t) {
		data := load(t, file)
		m, o := read(t, data)
		got, err := bytecode.Write(m, bytecode.WriteOptions{Version: o.Version()})
		if err != nil {
			t.Errorf("%s: %v", name(file), err)
			continue
		}
		why, excused := unlike[name(file)]
		switch same := bytes.Equal(got, data); {
		case same && excused:
			t.Errorf("%s: is the same now, in spite of %s", name(file), why)
		case !same && !excused:
			t.Errorf("%s: byte %d of %d differs (wrote %d)", name(file), firstDifference(got, data), len(data), len(got))
		}
		if again := rewrite(t, got); !bytes.Equal(again, got) {
			t.Errorf("%s: writing again gives other bytes", name(file))
		}
	}
}

// rewrite reads bytes and writes them without their Origin.
func rewrite(t *testing.T, data []byte) []byte {
	t.Helper()
	m, o := read(t, data)
	got, err := bytecode.Write(m, bytecode.WriteOptions{Version: o.Version()})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
