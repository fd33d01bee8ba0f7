package mutate

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func corpus(t *testing.T) [][]byte {
	t.Helper()
	names, err := filepath.Glob("../../tests/corpus/*/*/kernel.tileirbc")
	if err != nil || len(names) == 0 {
		t.Fatalf("no corpus (%v)", err)
	}
	var files [][]byte
	for _, n := range names {
		data, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	return files
}

func TestAFileInSectionsIsTheFile(t *testing.T) {
	for i, data := range corpus(t) {
		var m mutator
		if m.take(data); !bytes.Equal(m.bytes(), data) || len(m.sections) < 3 {
			t.Errorf("file %d: %d sections, not the same bytes", i, len(m.sections))
		}
		if m.toRaw(); !bytes.Equal(m.bytes(), data) {
			t.Errorf("file %d: not the same bytes without sections", i)
		}
	}
}

func TestABrokenFileIsAFunctionOfSeedAndNumber(t *testing.T) {
	files := corpus(t)
	a, b := Bytecode{1, files}, Bytecode{2, files}
	same, others := 0, 0
	for n := range uint64(1000) {
		x, how := a.File(n)
		y, again := a.File(n)
		if !bytes.Equal(x, y) || how != again {
			t.Fatalf("file %d is not the same twice", n)
		}
		if z, _ := b.File(n); bytes.Equal(x, z) {
			others++
		}
		for _, f := range files {
			if bytes.Equal(x, f) {
				same++
				break
			}
		}
	}
	if same > 150 || others > 50 {
		t.Errorf("of 1000 files %d are whole and %d do not depend on the seed", same, others)
	}
}

func TestEveryKindOfBreakingIsUsed(t *testing.T) {
	b := Bytecode{3, corpus(t)}
	seen := map[string]bool{}
	for n := range uint64(3000) {
		_, how := b.File(n)
		_, how, _ = strings.Cut(how, ": ")
		for _, k := range strings.Split(how, ", ") {
			seen[k] = true
		}
	}
	for _, k := range kinds {
		if !seen[k.name] {
			t.Errorf("%s is not used", k.name)
		}
	}
}

func TestOddFilesCanBeBrokenToo(t *testing.T) {
	whole := corpus(t)[0]
	for _, data := range [][]byte{nil, {0}, whole[:5], whole[:12], whole[:40], bytes.Repeat([]byte{0xFF}, 64)} {
		for seed := range uint64(500) {
			Break(data, seed, [][]byte{whole})
		}
	}
}
