package driver

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileIdentity holds what --version ends with against what the go command says of a program, and asks that another program is another one.
func TestFileIdentity(t *testing.T) {
	dir := t.TempDir()
	build := func(name, text string, env []string, flags ...string) string {
		t.Helper()
		source, out := filepath.Join(dir, name+".go"), filepath.Join(dir, name)
		if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(\""+text+"\") }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("go", append(append([]string{"build", "-o", out}, flags...), source)...)
		c.Env = append(os.Environ(), append([]string{"CGO_ENABLED=0"}, env...)...)
		if msg, err := c.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, msg)
		}
		return out
	}
	said := func(file string) string {
		t.Helper()
		id, err := exec.Command("go", "tool", "buildid", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(id))
	}
	programs := []string{build("one", "1", nil), build("two", "2", nil), build("mac", "1", []string{"GOOS=darwin", "GOARCH=arm64"})}
	seen := map[string]string{}
	for _, file := range programs {
		got := fileIdentity(file)
		if want := "go:" + said(file); got != want || got == "go:" {
			t.Errorf("%s: %q, but go tool buildid says %q", file, got, want)
		}
		if other := seen[got]; other != "" {
			t.Errorf("%s and %s are both %s", file, other, got)
		}
		seen[got] = file
	}
	bare := build("bare", "1", nil, "-ldflags=-buildid=")
	data, err := os.ReadFile(bare)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fileIdentity(bare), fmt.Sprintf("sha256:%x", sha256.Sum256(data)); got != want {
		t.Errorf("without an ID: %q, want %q", got, want)
	}
	if got := fileIdentity(filepath.Join(dir, "nothing")); got != "unknown" {
		t.Errorf("of no file: %q", got)
	}
}
