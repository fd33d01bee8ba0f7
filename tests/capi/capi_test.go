// Package capi_test builds the C library, and the examples in C and Python against it, and runs them.
package capi_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tileiras"
)

const kernel = "../corpus/cases/softmax_f32/kernel.tileirbc"

// build makes the library and the header in a folder.
func build(t *testing.T) (dir, library string) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("skipped: the C library needs a C compiler (cc), and there is none")
	}
	if runtime.GOOS == "windows" {
		t.Skip("skipped: this test links as Unix does")
	}
	dir = t.TempDir()
	library = filepath.Join(dir, "libtileiras.so")
	run(t, exec.Command("go", "build", "-buildmode=c-shared", "-o", library, "tileiras/cmd/libtileiras"))
	for _, program := range []string{"../../examples/capi/compile.c", "testdata/threads.c"} {
		name := strings.TrimSuffix(filepath.Base(program), ".c")
		run(t, exec.Command(cc, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I../../cmd/libtileiras", "-o", filepath.Join(dir, name), program,
			"-L"+dir, "-ltileiras", "-Wl,-rpath,"+dir))
	}
	return dir, library
}

func run(t *testing.T, c *exec.Cmd) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", c.Args, err, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// TestLibrary compiles by the examples and holds them against the Go library.
func TestLibrary(t *testing.T) {
	dir, library := build(t)
	src, err := os.ReadFile(kernel)
	if err != nil {
		t.Fatal(err)
	}
	want, err := tileiras.Compile(t.Context(), src, tileiras.Options{Name: kernel, GPU: "sm_90"})
	if err != nil {
		t.Fatal(err)
	}

	t.Run("C", func(t *testing.T) {
		program := filepath.Join(dir, "compile")
		if got, _ := run(t, exec.Command(program, kernel, "sm_90")); got != string(want.Output) {
			t.Errorf("the example gives %d bytes, the Go library %d", len(got), len(want.Output))
		}
		c := exec.Command(program, "capi_test.go", "sm_90")
		var errs bytes.Buffer
		c.Stderr = &errs
		c.Run()
		if code := c.ProcessState.ExitCode(); code != 3 || !strings.Contains(errs.String(), "capi_test.go") {
			t.Errorf("a Go file is no kernel: exit code %d, %s", code, errs.String())
		}
	})
	t.Run("threads", func(t *testing.T) {
		out, _ := run(t, exec.Command(filepath.Join(dir, "threads"), kernel))
		if out != "ok\n" {
			t.Errorf("%s", out)
		}
	})
	t.Run("Python", func(t *testing.T) {
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip("skipped: there is no python3")
		}
		got, launch := run(t, exec.Command(python, "../../examples/capi/compile.py", library, kernel, "sm_90"))
		if got != string(want.Output) || !strings.HasPrefix(launch, want.Kernels[0].Name+" [32, 1, 1]") {
			t.Errorf("the example gives %d bytes and %q, the Go library %d", len(got), launch, len(want.Output))
		}
		c := exec.Command(python, "testdata/package.py", kernel)
		c.Env = append(os.Environ(), "PYTHONPATH=../../python", "TILEIRAS_BIN="+dir)
		if got, _ := run(t, c); got != fmt.Sprintln(want.Kernels[0].Name, len(want.Output)) {
			t.Errorf("the package gives %q, the Go library %d bytes", got, len(want.Output))
		}
		for _, program := range []string{"testdata/misuse.py", "testdata/launch.py", "testdata/driver.py"} {
			out, errs := run(t, exec.Command(python, program, library))
			if out != "ok\n" {
				t.Errorf("%s: %s", program, out)
			}
			if driver := strings.HasSuffix(program, "driver.py"); driver != strings.Contains(errs, "that tileiras_image has not made") {
				t.Errorf("%s says of images that are none: %q", program, errs)
			}
		}
	})
}
