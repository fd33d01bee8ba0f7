package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTypedOperationsAreFresh(t *testing.T) {
	for _, d := range dialects() {
		have, err := os.ReadFile(filepath.Join("..", "..", d.file))
		if err != nil {
			t.Fatal(err)
		}
		want, err := d.generate()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("%s is stale: run make generate", d.file)
		}
	}
}
