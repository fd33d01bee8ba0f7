package tileaa_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// Each text prints as it stands, parses to the same op and so on for ever.
func TestTextRoundTrip(t *testing.T) {
	for name, text := range map[string]string{
		"a kernel": `
tileaa.module @m {
  entry @k (%arg0: tile<ptr<f32>>, %arg1: tile<i32>) {
    %pid = program_id {axis = 0} : tile<i32>
    %cst_0_i32 = constant <i32: 0> : tile<i32>
    %cst_f32 = constant <f32: [1.000000e+00, -2.500000e+00]> : tile<2xf32>
    %assume = assume %arg1 {predicate = div_by<16>} : tile<i32>
    %memref = make_memref %arg0, shape(%assume) : (tile<ptr<f32>>, tile<i32>) -> memref<?xf32, strides=[1]>
    %block = block_tile %memref, indices(%pid) {traversal = [2], dim_map = [0], padding = neg_inf} : (memref<?xf32, strides=[1]>, tile<i32>) -> block<2xf32>
    %tile, %token = tiled_load %block {order = relaxed, scope = device, masked = [true]} : (block<2xf32>) -> (tile<2xf32>, token)
    %0 = addf %tile, %cst_f32 {rounding = zero, flush_to_zero} : tile<2xf32>
    %token_0 = tiled_store %0, %block, token(%token) : (tile<2xf32>, block<2xf32>, token) -> token
    %1 = cmpi %pid, %arg1 {predicate = less_than} : (tile<i32>, tile<i32>) -> tile<i1>
    %for, %token_1 = for %cst_0_i32, %arg1, %pid, inits(%0, %token_0) : (tile<i32>, tile<i32>, tile<i32>, tile<2xf32>, token) -> (tile<2xf32>, token) (%arg2: tile<i32>, %arg3: tile<2xf32>, %arg4: token) {
      if %1 : (tile<i1>) {
        return
      } else {
        yield
      }
      continue %arg3, %arg4 : (tile<2xf32>, token)
    }
    return
  }
}
`,
		"layouts as aliases": `
#l0 = #tileaa.layout<{reg=[[1]], lane=[[2]]} : 4>
#l1 = #tileaa.layout<{lane=[[1],[2]]} : 4>
#m0 = #tileaa.mem<{offset=[[1],[2]]} : 4>
tileaa.module @m {
  entry @k (%arg0: tile<i32>) {
    %splat = splat %arg0 : (tile<i32>) -> tile<4xi32, #l0>
    %0 = convert_layout %splat : (tile<4xi32, #l0>) -> tile<4xi32, #l1>
    %buf = alloc_shared {offset = 128} : buffer<4xi32, #m0>
    buffer_store %0, %buf : (tile<4xi32, #l1>, buffer<4xi32, #m0>)
    return
  }
}
`,
		"globals and strings": `
tileaa.module @"a module" attributes {producer = "say \22hi\22\0A"} {
  global @g <i8: [1, 2, -3]> : tile<3xi8> {alignment = 4, constant}
  entry @k attributes {hints = <default = {}, sm_100 = {occupancy = 2}>} (%arg0: tile<i32>) {
    %0 = get_global {name = @g} : tile<ptr<i8>>
    %token = print values(%arg0) {format = "%d"} : (tile<i32>) -> token
    return
  }
}
`,
	} {
		t.Run(name, func(t *testing.T) {
			text = strings.TrimPrefix(text, "\n")
			if diff := cmp.Diff(text, print(parse(t, text))); diff != "" {
				t.Errorf("printed again (-want +got):\n%s", diff)
			}
			op := parse(t, text)
			generic := ir.Text(op, ir.PrintOptions{Generic: true})
			if diff := cmp.Diff(text, print(parse(t, generic))); diff != "" {
				t.Errorf("through the generic form (-want +got):\n%s\n%s", diff, generic)
			}
			debug := ir.Text(op, ir.PrintOptions{DebugInfo: true})
			if diff := cmp.Diff(debug, ir.Text(parse(t, debug), ir.PrintOptions{DebugInfo: true})); diff != "" {
				t.Errorf("with locations (-want +got):\n%s", diff)
			}
		})
	}
}

func parse(t *testing.T, text string) *ir.Op {
	t.Helper()
	c := ir.NewContext(tileaa.Dialect)
	op, err := ir.Parse(c, "t.tileir", []byte(text))
	if err != nil {
		t.Fatalf("%s\n%s", c.Diags.String(), text)
	}
	return op
}

func print(op *ir.Op) string { return ir.Text(op, ir.PrintOptions{}) }
