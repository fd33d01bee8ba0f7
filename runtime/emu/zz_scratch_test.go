package emu

import (
	"os"
	"path/filepath"
	"testing"
)

func TestScratchParse(t *testing.T) {
	files, _ := filepath.Glob("/tmp/emu/ptx_sm_80/*.ptx")
	more, _ := filepath.Glob("/work/shared/design/snippets/*.ptx")
	un := map[string]int{}
	for _, f := range append(files, more...) {
		b, _ := os.ReadFile(f)
		m, err := Parse(filepath.Base(f), string(b))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, n := range m.Entries() {
			for _, w := range m.Entry(n).Unsupported {
				un[w]++
			}
		}
	}
	for w, n := range un {
		t.Log(n, w)
	}
}
