package cudatile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

func parse(t testing.TB, name, text string) (*ir.Context, *ir.Op) {
	t.Helper()
	c := ir.NewContext(cudatile.Dialect)
	op, err := ir.Parse(c, name, []byte(text))
	if err != nil {
		t.Fatalf("%s", c.Diags.String())
	}
	return c, op
}

func printed(op *ir.Op) string {
	var b strings.Builder
	if err := cudatile.Print(&b, op, false); err != nil {
		panic(err)
	}
	return b.String()
}

// The files hold each operation in each form that it has, as tileirdisasm writes it.
func TestEveryOpReadsAndPrintsTheSame(t *testing.T) {
	files, err := filepath.Glob("testdata/*.tileir")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in testdata: %v", err)
	}
	seen := map[string]bool{"cuda_tile.module": true}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ := strings.Cut(string(data), "\n") // the first line says what the file is
		c, op := parse(t, file, string(data))
		if !ir.Verify(c, op) {
			t.Errorf("%s", c.Diags.String())
		}
		if diff := cmp.Diff(want, printed(op)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
		for _, o := range []ir.PrintOptions{{Generic: true}, {DebugInfo: true}, {}} {
			_, again := parse(t, file, ir.Text(op, o))
			if diff := cmp.Diff(want, printed(again)); diff != "" {
				t.Errorf("%s by way of %+v (-want +got):\n%s", file, o, diff)
			}
		}
		ir.Walk(op, ir.PreOrder, func(op *ir.Op) { seen[op.Name()] = true })
	}
	for _, d := range cudatile.Dialect.Ops {
		if !seen[d.FullName()] && d.Name != "mmaf_scaled" {
			t.Errorf("no file has %s", d.FullName())
		}
	}
}

func TestLocationsReadAndPrintTheSame(t *testing.T) {
	file := "testdata/debug/locations.tileir"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := strings.Cut(string(data), "\n")
	c, op := parse(t, file, string(data))
	if !ir.Verify(c, op) {
		t.Errorf("%s", c.Diags.String())
	}
	var b strings.Builder
	if err := cudatile.Print(&b, op, true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The end of a loop body that has a place of its own is written in the wrapped form, which loses nothing.
func TestTheImpliedEndOfABodyKeepsItsPlace(t *testing.T) {
	text := `cuda_tile.module @m {
  entry @f() {
    loop {
      continue loc(#loc1)
    } loc(#loc2)
    loop {
    } loc(#loc2)
    return loc(#loc2)
  } loc(#loc2)
} loc(#loc)
#loc = loc(unknown)
#loc1 = loc("a.py":2:2)
#loc2 = loc("a.py":1:1)
`
	_, op := parse(t, "t", text)
	got := ir.Text(op, ir.PrintOptions{DebugInfo: true})
	if !strings.Contains(got, "continue loc(") || strings.Count(got, "continue") != 1 {
		t.Errorf("the first continue alone should be written:\n%s", got)
	}
	_, again := parse(t, "t", got)
	if diff := cmp.Diff(got, ir.Text(again, ir.PrintOptions{DebugInfo: true})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFormatsCompile(t *testing.T) {
	for _, d := range cudatile.Dialect.Ops {
		if err := ir.CheckFormat(d); err != nil {
			t.Errorf("%s: %v", d.FullName(), err)
		}
		if d.Format == "" && d.Hooks.Print == nil {
			t.Errorf("%s has neither a format nor a hand-written form", d.FullName())
		}
	}
}
