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
	if err := cudatile.Print(&b, op, ir.PrintOptions{}); err != nil {
		panic(err)
	}
	return b.String()
}

// withoutHeader is a file without the comments at its top, which say what it is.
func withoutHeader(data []byte) string {
	text := string(data)
	for strings.HasPrefix(text, "//") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
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
		want := withoutHeader(data)
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
	want := withoutHeader(data)
	c, op := parse(t, file, string(data))
	if !ir.Verify(c, op) {
		t.Errorf("%s", c.Diags.String())
	}
	var b strings.Builder
	if err := cudatile.Print(&b, op, ir.PrintOptions{DebugInfo: true}); err != nil {
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

// An op that lacks what its form shows prints in the generic form.
func TestMalformedOpsPrintInTheGenericForm(t *testing.T) {
	text := `"cuda_tile.module"() <{sym_name = @m}> ({
  "cuda_tile.entry"() <{sym_name = @f, function_type = () -> ()}> ({
    "cuda_tile.loop"() ({
    ^bb0(%a: !cuda_tile.tile<i32>):
      "cuda_tile.for"(%a, %a, %a) ({
      ^bb0:
      }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> ()
      %0 = "cuda_tile.make_tensor_view"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!cuda_tile.tile<i32>) -> !cuda_tile.tile<i32>
      "cuda_tile.if"(%a) ({}, {}) : (!cuda_tile.tile<i32>) -> ()
      "cuda_tile.addf"(%a, %a) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> ()
      "cuda_tile.global"() : () -> ()
    }) : () -> ()
    "cuda_tile.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
`
	_, op := parse(t, "t", text)
	got := ir.Text(op, ir.PrintOptions{})
	for _, want := range []string{`"cuda_tile.loop"()`, `"cuda_tile.for"(%arg0`, `"cuda_tile.make_tensor_view"(%arg0)`, `"cuda_tile.if"(%arg0)`, `"cuda_tile.addf"(%arg0`, `"cuda_tile.global"()`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	_, again := parse(t, "t", got)
	if diff := cmp.Diff(got, ir.Text(again, ir.PrintOptions{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestParseErrors(t *testing.T) {
	for lines, want := range map[string]string{
		"%0 = addf %f, %f rounding<odd> : tile<f32>":                                                           "t:2:27: error: custom op 'cuda_tile.addf' expected rounding mode to be one of: 'nearest_even', 'zero', 'negative_inf', 'positive_inf', got: 'odd'",
		"%0 = mulf %f, %f rounding<full> : tile<f32>":                                                          "custom op 'cuda_tile.mulf' expected rounding mode to be one of: 'nearest_even', 'zero', 'negative_inf', 'positive_inf', got: 'full'",
		"%0 = cmpi lesser %i, %i, signed : tile<i32> -> tile<i1>":                                              "custom op 'cuda_tile.cmpi' expected 'comparison_predicate' to be one of: {'equal', 'not_equal', 'less_than', 'less_than_or_equal', 'greater_than', 'greater_than_or_equal'}",
		"%0 = constant <i32: 1> : tile<3xi32>":                                                                 "t:2:26: error: all dimensions must be powers of two, got ",
		"%0 = constant <i32: [1, 2]> : tile<4xi32>":                                                            "t:2:16: error: inferred shape of elements literal ([2]) does not match type ([4])",
		"%0 = make_tensor_view %p, shape = [1], strides = [] : tensor_view<1xf32, strides=[1]>":                "t:2:50: error: custom op 'cuda_tile.make_tensor_view' expected stride declaration to contain 1 elements due to tensor_view type, but 0 were provided",
		"%0 = make_tensor_view %p, shape = [%i], strides = [1] : tile<i32> -> tensor_view<1xf32, strides=[1]>": "input shape dimension 0 does not match tensor_view type (expected 1, got dynamic)",
		"%0 = make_partition_view %p : tile<i32>":                                                              "t:2:31: error: custom op 'cuda_tile.make_partition_view' expected 'partition_view' type, but got '!cuda_tile.tile<i32>'",
		"%0, %1 = load_ptr_tko relaxed world %p : tile<ptr<f32>> -> tile<f32>, token":                          "expected SSA operand",
		"%0, %1 = load_view_tko weak device %p[%i] : tile<f32>, tile<i32> -> tile<f32>, token":                 "operation specifies weak memory ordering semantics, but then provides \"device\" scope, expected no memory scope.",
		"%0, %1 = load_view_tko relaxed world %p[%i] : tile<f32>, tile<i32> -> tile<f32>, token":               "invalid memory_scope attribute specification. Got \"world\" but expect one of: tl_blk, device, sys",
		"%0 = assume even<2>, %i : tile<i32>":                                                                  "unknown assume predicate attribute: even (expected 'div_by', 'same_elements', or 'bounded')",
		"%0 = get_tensor_shape %i : tile<i32> -> tile<i32>":                                                    "expected tensor_view, got '!cuda_tile.tile<i32>'",
		"if %i {\n}": "t:2:4: error: use of value '%i' expects different type than prior uses: '!cuda_tile.tile<i1>' vs '!cuda_tile.tile<i32>'\nt:1:31: note: prior use here",
		"for %k in (%i to %i, step %n) : tile<i32> {\n}": "t:2:27: error: use of undeclared SSA value name '%n'",
		"%0 = iota : tile<8xi32, 3>":                     "t:2:23: error: expected '>'",
		"%0 = iota : matrix<8xi32>":                      "t:2:13: error: custom op 'cuda_tile.iota' unknown type: matrix",
		"%0 = constant <f32: 1.0> : !cuda_tile.partition_view<tile=(4), padding_value = one, tensor_view<8xf32, strides=[1]>>": "invalid padding_value attribute specification. Got \"one\" but expect one of: zero, neg_zero, nan, pos_inf, neg_inf",
	} {
		c := ir.NewContext(cudatile.Dialect)
		text := "entry @f(%p: tile<ptr<f32>>,  %i: tile<i32>, %f: tile<f32>) {\n" + lines + "\n}"
		if _, err := ir.Parse(c, "t", []byte(text)); err == nil || !strings.Contains(c.Diags.String(), want) {
			t.Errorf("%s\n got %s want %s", lines, c.Diags.String(), want)
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
