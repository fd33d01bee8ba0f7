// Package docs_test runs the programs that the documents show, and holds what the documents quote against the files it comes from.
package docs_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// quote is a piece of a document that says from which file it comes: an HTML comment, then a block of code.
var quote = regexp.MustCompile("(?ms)^<!-- from (\\S+) -->\n```[a-z]*\n(.*?)^```$")

// TestQuotes holds every quoted piece against its file: it is there as it stands, but for its indentation.
func TestQuotes(t *testing.T) {
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quote.FindAllStringSubmatch(string(text), -1) {
			n++
			from, err := os.ReadFile(filepath.Join("../..", m[1]))
			if err != nil {
				t.Errorf("%s: %v", doc, err)
				continue
			}
			if !strings.Contains(plain(string(from)), plain(m[2])) {
				t.Errorf("%s quotes what is not in %s:\n%s", doc, m[1], m[2])
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d quotes in the documents", n)
	}
}

// plain is text without indentation.
func plain(text string) string {
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// tool runs a program in the folder of the project.
func tool(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = "../.."
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
	return string(out)
}

// TestLaunchPrograms runs the programs of docs/launch.md with a driver of our own.
func TestLaunchPrograms(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("skipped: the driver of this test needs Linux and a C compiler (cc)")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	tool(t, nil, "go", "build", "-o", at("tileiras"), "./cmd/tileiras")
	tool(t, nil, cc, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", at("libcuda.so.1"), "tests/docs/testdata/fakecuda.c")
	if err := os.Symlink("libcuda.so.1", at("libcuda.so")); err != nil {
		t.Fatal(err)
	}
	env := []string{"LD_LIBRARY_PATH=" + dir}
	tool(t, nil, at("tileiras"), "examples/launch/add.tileir", "--gpu-name=sm_80", "-o", at("add.ptx"), "--metadata="+at("add.json"))

	t.Run("Python", func(t *testing.T) {
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip("skipped: there is no python3")
		}
		if out := tool(t, env, python, "examples/launch/launch.py", at("add.ptx"), at("add.json")); out != "ok\n" {
			t.Error(out)
		}
	})
	t.Run("C", func(t *testing.T) {
		tool(t, nil, cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-Itests/docs/testdata", "-o", at("launch"), "examples/launch/launch.c", "-L"+dir, "-lcuda")
		if out := tool(t, env, at("launch"), at("add.ptx")); out != "ok\n" {
			t.Error(out)
		}
		// The constants of the program are those of the metadata.
		json, err := os.ReadFile(at("add.json"))
		if err != nil {
			t.Fatal(err)
		}
		program, _ := os.ReadFile("../../examples/launch/launch.c")
		for _, pair := range [][2]string{{`"block":\s*\[\s*(\d+)`, `BLOCK = (\d+)`}, {`"blocks_per_tile":\s*\[\s*(\d+)`, `BLOCKS_PER_TILE = (\d+)`}, {`"shared_dynamic":\s*(\d+)`, `SHARED_DYNAMIC = (\d+)`}} {
			a, b := regexp.MustCompile(pair[0]).FindSubmatch(json), regexp.MustCompile(pair[1]).FindSubmatch(program)
			if a == nil || b == nil || !bytes.Equal(a[1], b[1]) {
				t.Errorf("%s is %s, %s is %s", pair[0], a, pair[1], b)
			}
		}
	})
	t.Run("Go", func(t *testing.T) {
		if out := tool(t, env, "go", "run", "./examples/launch/go"); out != "ok\n" {
			t.Error(out)
		}
	})
}
