package testing_test

import (
	"strings"
	"testing"

	"tileiras/dialects/cudatile"
	testops "tileiras/dialects/testing"
	"tileiras/ir"
)

func parse(t *testing.T, text string) (*ir.Context, *ir.Op) {
	t.Helper()
	c := ir.NewContext(cudatile.Dialect, testops.Extension)
	m, err := ir.Parse(c, "t", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c, m
}

// TestTextComesBack prints the text of each operation again, in its own form and by way of the generic one.
func TestTextComesBack(t *testing.T) {
	const text = `cuda_tile.module @m {
  testing$func @f(%arg0: tile<8xi32>) -> tile<8xi32> {
    testing$bytecode_test_new_attribute
    testing$bytecode_test_new_attribute new_flag new_param = 7
    %0 = testing$bytecode_test_evolution(%arg0 : !cuda_tile.tile<8xi32>) -> token
    %1 = testing$bytecode_test_evolution(%arg0, %arg0 : !cuda_tile.tile<8xi32>, !cuda_tile.tile<8xi32>) new_attr = 3 token = %0 : token -> token
    return %arg0 : tile<8xi32>
  }
}
`
	c, m := parse(t, text)
	if !ir.Verify(c, m) {
		t.Fatal(c.Diags.String())
	}
	if got := ir.Text(m, ir.PrintOptions{}); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
	_, again := parse(t, ir.Text(m, ir.PrintOptions{Generic: true}))
	if got := ir.Text(again, ir.PrintOptions{}); got != text {
		t.Errorf("by way of the generic form:\n%s", got)
	}
}

func TestFormatsCompile(t *testing.T) {
	for _, d := range testops.Extension.Ops {
		if err := ir.CheckFormat(d); d.Format != "" && err != nil {
			t.Errorf("%s: %v", d.FullName(), err)
		}
	}
}

// TestFunctionsWithoutAName are refused and print in the generic form.
func TestFunctionsWithoutAName(t *testing.T) {
	c, m := parse(t, `cuda_tile.module @m { "cuda_tile.testing$func"() ({ "cuda_tile.return"() : () -> () }) : () -> () }`)
	if got := ir.Text(m, ir.PrintOptions{}); !strings.Contains(got, `"cuda_tile.testing$func"() ({`) {
		t.Errorf("printed as\n%s", got)
	}
	if ir.Verify(c, m) || !strings.Contains(c.Diags.String(), "'cuda_tile.testing$func' op requires attribute 'sym_name'") {
		t.Errorf("got %s", c.Diags.String())
	}
}

// TestTheDialectAloneDoesNotKnowThem: they are for tests only.
func TestTheDialectAloneDoesNotKnowThem(t *testing.T) {
	c := ir.NewContext(cudatile.Dialect)
	if _, err := ir.Parse(c, "t", []byte("cuda_tile.module @m { testing$func @f() { return } }")); err == nil ||
		!strings.Contains(err.Error(), "custom op 'testing$func' is unknown") {
		t.Errorf("got %v", err)
	}
}
