package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTypedOperationsAreFresh(t *testing.T) {
	for _, d := range dialects() {
		files, err := d.files()
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range files {
			have, err := os.ReadFile(filepath.Join("..", "..", path))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(have, want) {
				t.Errorf("%s is stale: run make generate", path)
			}
		}
	}
}
