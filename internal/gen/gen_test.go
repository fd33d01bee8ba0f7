package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheTableOfOperationsIsFresh(t *testing.T) {
	have, err := os.ReadFile(filepath.Join("..", "..", opsFile))
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != opsDocument() {
		t.Errorf("%s is stale: run go run ./internal/gen", opsFile)
	}
}

func TestEveryAttributeKindHasAName(t *testing.T) {
	for _, line := range strings.Split(opsDocument(), "\n") {
		if strings.Contains(line, ": ,") || strings.Contains(line, ":  |") {
			t.Errorf("a field without a kind: %s", line)
		}
	}
}
