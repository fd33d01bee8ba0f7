package tileaa_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/float"
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

// Every row, bare and with everything that it may have, reads back from its own form and from the generic one.
func TestEveryRowReadsAndPrintsTheSame(t *testing.T) {
	for _, d := range tileaa.Dialect.Ops {
		for _, full := range []bool{false, true} {
			m := sample(d, full)
			for _, o := range []ir.PrintOptions{{}, {Generic: true}, {DebugInfo: true}} {
				text := ir.Text(m, o)
				if diff := cmp.Diff(text, ir.Text(parse(t, text), o)); diff != "" {
					t.Errorf("%s, full %t (-want +got):\n%s\n%s", d.Name, full, diff, text)
				}
			}
		}
	}
}

// sample is a module with one op of a row. Types are of no concern to the text, so everything is a rank-0 tile<i32>.
func sample(d *ir.OpDef, full bool) *ir.Op {
	c := ir.NewContext(tileaa.Dialect)
	i32 := tileaa.Tile(c, c.Int(32))
	item := func(code ir.Code, symbol string) *ir.Op {
		op := ir.NewOp(ir.State{Def: tileaa.Dialect.Row(code)})
		tileaa.SymbolOp{Op: op}.SetSymName(symbol)
		op.Region(0).AddBlock()
		return op
	}
	m, entry := item(tileaa.OpModule, "m"), item(tileaa.OpEntry, "x y")
	m.Body().Append(entry)
	if d.Name == "module" || d.Name == "entry" {
		return m
	}
	s := ir.State{Def: d, Attrs: make([]ir.Attribute, d.NumAttrDefs()), Loc: &ir.FileLoc{File: "a", Line: 1, Col: 2}}
	for i := range d.NumOperandDefs() {
		n := map[ir.Mode]int{ir.Single: 1, ir.Optional: 0, ir.Variadic: 0}[d.OperandDef(i).Mode]
		if full {
			n = map[ir.Mode]int{ir.Single: 1, ir.Optional: 1, ir.Variadic: 2}[d.OperandDef(i).Mode]
		}
		for range n {
			s.Operands = append(s.Operands, entry.Body().AddArg(i32))
		}
		s.Groups = append(s.Groups, int32(n))
	}
	if d.FixedOperands() {
		s.Groups = nil
	}
	for _, r := range d.Results {
		s.Types = append(s.Types, i32)
		if full && r.Mode == ir.Variadic {
			s.Types = append(s.Types, i32)
		}
	}
	for i := range s.Attrs {
		if a := d.AttrDef(i); full || a.Mode == ir.Single {
			s.Attrs[i] = sampleAttr(c, a, i32)
		}
	}
	if full {
		s.Extra = []ir.NamedAttr{{Name: "a.b", Value: ir.ArrayAttr{ir.StringAttr("s"), ir.BoolAttr(true)}}, {Name: "hot", Value: ir.UnitAttr{}}}
	}
	op := ir.NewOp(s)
	for i, r := range op.Regions() {
		if !full && d.Regions[i].Optional {
			continue
		}
		b := r.AddBlock()
		if full {
			b.AddArg(i32)
		}
		b.Append(ir.NewOp(ir.State{Def: tileaa.Dialect.Op("yield"), Groups: []int32{0}}))
	}
	if d.Name == "global" {
		m.Body().Append(op)
	} else {
		entry.Body().Append(op)
	}
	return m
}

func sampleAttr(c *ir.Context, d *ir.ArgDef, t ir.Type) ir.Attribute {
	lower := int64(-3)
	return map[ir.AttrKind]ir.Attribute{
		ir.I32Kind: ir.IntegerAttr{Type: c.Int(32), Bits: 7}, ir.I64Kind: ir.IntegerAttr{Type: c.Int(64), Bits: 1 << 40},
		ir.UnitKind: ir.UnitAttr{}, ir.StringKind: ir.StringAttr("a \"b\"\n"), ir.SymbolNameKind: ir.SymbolAttr("g"),
		ir.SymbolRefKind: ir.SymbolAttr("other g"), ir.DenseKind: &ir.DenseAttr{Type: t, Data: []byte{5, 0, 0, 0}, Splat: true},
		ir.I32ArrayKind: ir.I32Array{1, -2}, ir.I64ArrayKind: ir.I64Array{}, ir.BoolArrayKind: ir.BoolArray{true, false},
		ir.ArrayKind:     ir.ArrayAttr{ir.FloatAttr{Type: c.Float(float.F32), Bits: 0x7F800000}, ir.IntegerAttr{Type: c.Int(8), Bits: 255}},
		ir.HintsKind:     ir.DictAttr{{Name: "sm_90", Value: ir.DictAttr{{Name: "occupancy", Value: ir.IntegerAttr{Type: c.Int(32), Bits: 2}}}}},
		ir.PredicateKind: &tileaa.BoundedAttr{Lower: &lower}, ir.AnyKind: ir.StringAttr("anything"),
		ir.EnumKind: enumAttr(d),
	}[d.Attr]
}

// enumAttr is the last case of an enumeration, or nil of other attributes.
func enumAttr(d *ir.ArgDef) ir.Attribute {
	if d.Enum == nil {
		return nil
	}
	return d.Enum.Of(d.Enum.Cases[len(d.Enum.Cases)-1].Value)
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

// A swizzle of rows of 32 bytes repeats after 256 bytes, of 64 after 512, of 128 after 1024 (PTX ISA, "Swizzling modes"): it must begin there.
func TestBuffersAreAlignedForTheirSwizzle(t *testing.T) {
	c := ir.NewContext(tileaa.Dialect)
	for _, b := range []struct {
		shape []int64
		align int
	}{{[]int64{8, 16}, 256}, {[]int64{16, 16}, 512}, {[]int64{16, 32}, 1024}, {[]int64{64, 64}, 1024}, {[]int64{4, 4}, 128}} {
		shape := []int{int(b.shape[0]), int(b.shape[1])}
		mem := layout.Swizzled(shape, []int{1, 0}, 2, min(128, 2*shape[1]))
		if got := tileaa.Buffer(c, c.Float(float.F16), mem, b.shape...).Align(); got != b.align {
			t.Errorf("%v: %d, want %d", b.shape, got, b.align)
		}
	}
}
