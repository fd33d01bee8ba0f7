package driver

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// TestReplacedProgram runs a program whose file another one replaces before it asks for its identity, and one that cannot read its file, which
// must leave nothing in a cache.
func TestReplacedProgram(t *testing.T) {
	switch os.Getenv("TILEIRAS_TEST_PROGRAM") {
	case "replaced":
		os.Stdin.Read(make([]byte, 1))
		fmt.Print(BuildVersion())
		os.Exit(0)
	case "unreadable":
		BinaryFile = func() (string, error) { return "", os.ErrPermission }
		dir := t.TempDir()
		for range 2 {
			res := compileFor(t, dir, nil)
			fmt.Printf("%v %d ", res.Cached, len(res.Warnings))
		}
		os.Exit(0)
	}
	if runtime.GOOS != "linux" {
		t.Skip("a program finds its file by its name")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, other := filepath.Join(dir, "program"), filepath.Join(dir, "other")
	for name, data := range map[string][]byte{file: data, other: []byte("#!/bin/sh\n")} {
		if err := os.WriteFile(name, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	start := func(mode string) (*exec.Cmd, io.WriteCloser, *strings.Builder) {
		c, out := exec.Command(file, "-test.run=^TestReplacedProgram$"), &strings.Builder{}
		c.Env, c.Stdout = append(os.Environ(), "TILEIRAS_TEST_PROGRAM="+mode), out
		in, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		return c, in, out
	}
	c, _, out := start("unreadable")
	if err := c.Wait(); err != nil || out.String() != "false 1 false 0 " {
		t.Errorf("a program that cannot read its file: %v, cached and warnings: %s", err, out)
	}
	c, in, out := start("replaced")
	if err := os.Rename(other, file); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := c.Wait(); err != nil || out.String() != BuildVersion() {
		t.Errorf("a program whose file was replaced: %v, it is %q, want %q", err, out, BuildVersion())
	}
}
