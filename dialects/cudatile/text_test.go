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
