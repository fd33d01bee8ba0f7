package tileaa

import (
	"strings"
	"testing"

	"tileiras/ir"
)

// kernel is a module with one entry of this body.
func kernel(attrs, body string) string {
	return `tileaa.module @m {
  entry @k ` + attrs + `(%x: tile<i32>, %f: tile<f32>, %c: tile<i1>, %p: tile<ptr<f32>>, %v: tile<8xi32>, %vf: tile<8xf32>,
      %vp: tile<8xptr<f32>>, %vc: tile<8xi1>, %m: tile<4x8xf32>) {
` + body + `
    return
  }
}`
}

func TestVerifierSaysWhatIsWrong(t *testing.T) {
	const array = "%a = make_memref %p : (tile<ptr<f32>>) -> memref<16x16xf32, strides=[16,1]>\n"
	const block = array + "%b = block_tile %a, indices(%x, %x) {traversal = [8, 8], dim_map = [0, 1]} : (memref<16x16xf32, strides=[16,1]>, tile<i32>, tile<i32>) -> block<8x8xf32>\n"
	const bufferType = "buffer<4xi32, #tileaa.mem<{offset=[[1],[2]]} : 4>>"
	const buffer = "%s = alloc_shared : " + bufferType + "\n"
	tests := []struct{ body, want string }{
		{"%0 = addf %x, %x : tile<i32>", "operand #0 must be tile of floats"},
		{"%0 = addi %f, %f : tile<f32>", "operand #0 must be tile of integers"},
		{"%0 = exti %x : (tile<i32>) -> tile<i16>", "needs a result that is wider than the source"},
		{"%0 = iota : tile<4x8xi32>", "needs a rank-1 tile of integers as result"},
		{"%0 = splat %v : (tile<8xi32>) -> tile<4x8xi32>", "operand #0 must be rank-0 tile of any element"},
		{"%0 = reshape %m : (tile<4x8xf32>) -> tile<16xf32>", "needs shapes that fit and one element type"},
		{"%0 = permute %m {permutation = array<i32: 1, 1>} : (tile<4x8xf32>) -> tile<8x8xf32>", "needs shapes that fit and one element type"},
		{"%0 = cat %v, %v {dim = 1} : (tile<8xi32>, tile<8xi32>) -> tile<16xi32>", "dimension 1 is not one of 1"},
		{"%0 = dot %m, %m, %m : (tile<4x8xf32>, tile<4x8xf32>, tile<4x8xf32>) -> tile<4x8xf32>", "needs shapes MxK, KxN and MxN"},
		{"%0, %1 = load %vp {scope = device} : (tile<8xptr<f32>>) -> (tile<8xf32>, token)", "is weak and must have no scope"},
		{"%0, %1 = load %vp {order = relaxed} : (tile<8xptr<f32>>) -> (tile<8xf32>, token)", "is not weak and must have a scope"},
		{"%0, %1 = load %vp : (tile<8xptr<f32>>) -> (tile<8xi32>, token)", "needs a result of the pointed-to elements"},
		{"%0, %1 = load %vp, mask(%c) : (tile<8xptr<f32>>, tile<i1>) -> (tile<8xf32>, token)", "needs a mask of i1 in the shape of the pointers"},
		{"%0 = make_memref %p : (tile<ptr<f32>>) -> memref<?xf32, strides=[1]>", "needs one operand for each dynamic extent and stride"},
		{"%0 = make_memref %p : (tile<ptr<f32>>) -> memref<8xi32, strides=[1]>", "needs a pointer to the elements of the memref"},
		{array + "%0 = block_tile %a, indices(%x) {traversal = [8], dim_map = [0]} : (memref<16x16xf32, strides=[16,1]>, tile<i32>) -> block<8xf32>", "needs one index, traversal stride and array dimension for each dimension of the block"},
		{array + "%0 = block_tile %a, indices(%x, %x) {traversal = [8, 8], dim_map = [1, 1]} : (memref<16x16xf32, strides=[16,1]>, tile<i32>, tile<i32>) -> block<8x8xf32>", "needs a dim_map that is a permutation"},
		{block + "%0, %1 = tiled_load %b : (block<8x8xf32>) -> (tile<8xf32>, token)", "needs a result of the shape and elements of the block"},
		{"%0 = reduce %v attributes {dim = 0, identities = [0 : i32]} : (tile<8xi32>) -> tile<8xi32> (%e: tile<i32>, %acc: tile<i32>) {\nyield %e : (tile<i32>)\n}", "needs results of shape []"},
		{"%0 = if %c : (tile<i1>) -> tile<i32> {\nyield %x : (tile<i32>)\n}", "has results and needs an else branch"},
		{"if %c : (tile<i1>) -> () {\ncontinue\n}", "has no loop around it"},
		{"for %x, %x, %f : (tile<i32>, tile<i32>, tile<f32>) (%i: tile<i32>) {\ncontinue\n}", "operand #2 must be rank-0 tile of integers"},
		{"%0 = loop : tile<i32> {\nbreak\n}", "needs values of the types of the loop's results"},
		{buffer + "%0 = for %x, %x, %x, inits(%s) : (tile<i32>, tile<i32>, tile<i32>, " + bufferType + ") -> " + bufferType +
			" (%i: tile<i32>, %a: " + bufferType + ") {\ncontinue %a : (" + bufferType + ")\n}", "must be variadic of tile or token"},
		{buffer + "%0 = if %c : (tile<i1>) -> " + bufferType + " {\nyield %s : (" + bufferType + ")\n} else {\nyield %s : (" + bufferType + ")\n}", "must be variadic of tile or token"},
		{buffer + "loop inits(%s) : (" + bufferType + ") -> () (%a: " + bufferType + ") {\ncontinue %a : (" + bufferType + ")\n}", "must be variadic of tile or token"},
	}
	for _, tt := range tests {
		refused(t, tt.body, tt.want)
	}
}

// refused checks that the verifier says what is wrong with the body of a kernel.
func refused(t *testing.T, body, want string) {
	t.Helper()
	c := ir.NewContext(Dialect)
	m, err := ir.Parse(c, "test", []byte(kernel("", body)))
	if err != nil {
		t.Errorf("%s does not parse: %v", body, err)
		return
	}
	if ir.Verify(c, m) {
		t.Errorf("%s verifies, want %q", body, want)
	} else if got := c.Diags.String(); !strings.Contains(got, want) {
		t.Errorf("%s: got %swant %q", body, got, want)
	}
}

func TestStagesSayWhatIsNotLegal(t *testing.T) {
	const plan = "attributes {plan = #tileaa.plan<warps = 4>} "
	tests := []struct {
		form              Form
		attrs, body, want string
	}{
		{Explicit, "", "%0 = addi %x, %x : tile<i32>", ""},
		{Explicit, "", "barrier", "is not legal yet"},
		{Planned, "", "%0 = addi %x, %x : tile<i32>", "has no plan"},
		{Planned, plan, "%0 = addi %x, %x : tile<i32>", ""},
		{Selected, plan, "%0, %1 = load %vp : (tile<8xptr<f32>>) -> (tile<8xf32>, token)", "has no vec"},
		{Selected, plan, "%0, %1 = load %vp {vec = 4} : (tile<8xptr<f32>>) -> (tile<8xf32>, token)", ""},
		{LaidOut, plan, "%0 = iota : tile<8xi32>", "without a layout"},
		{Allocated, plan, "", "without a layout"},
		{AnyForm, "", "barrier", ""},
	}
	for _, tt := range tests {
		c := ir.NewContext(Dialect)
		m, err := ir.Parse(c, "test", []byte(kernel(tt.attrs, tt.body)))
		if err != nil {
			t.Fatalf("%s: %v", tt.body, err)
		}
		err = CheckForm(m, tt.form)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s %s: %v", tt.form.Noun(), tt.body, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s %s: got %v, want %q", tt.form.Noun(), tt.body, err, tt.want)
		}
	}
}

func TestPlansReadBack(t *testing.T) {
	want := &PlanAttr{Warps: 8, MaxReg: 128, Occupancy: 2, Stages: 3, Sliced: true, Target: "sm_90", Remark: `a "b"`}
	c := ir.NewContext(Dialect)
	m, err := ir.Parse(c, "test", []byte(kernel("", "")))
	if err != nil {
		t.Fatal(err)
	}
	ir.Cast[Entry](m.Body().First()).SetPlan(want)
	text := ir.Text(m, ir.PrintOptions{})
	back, err := ir.Parse(ir.NewContext(Dialect), "test", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got := ir.Cast[Entry](back.Body().First()).Plan(); !ir.AttrEqual(got, want) {
		t.Errorf("%s reads back as %+v", text, got)
	}
	_, err = ir.Parse(c, "test", []byte(strings.Replace(text, "warps", "wraps", 1)))
	if err == nil || !strings.Contains(err.Error(), "a plan has no field 'wraps'") {
		t.Errorf("a misspelt field gives %v", err)
	}
}
