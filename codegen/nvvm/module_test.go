package nvvm_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/value"

	"tileiras/codegen/nvvm"
	"tileiras/codegen/options"
	"tileiras/codegen/ptx"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/budget"
	"tileiras/runtime/emu"
)

// A failed assertion prints the element's place and traps; one that holds does neither.
func TestAssert(t *testing.T) {
	const text = `
#L = #tileaa.layout<{reg=[[1]], lane=[[2],[4],[8],[16],[32]], warp=[[0]]} : 64>
tileaa.module @m {
  entry @k attributes {plan = #tileaa.plan<warps = 2>} (%n: tile<i32>) {
    %i = iota : tile<64xi32, #L>
    %s = splat %n : (tile<i32>) -> tile<64xi32, #L>
    %c = cmpi %i, %s {predicate = not_equal} : (tile<64xi32, #L>, tile<64xi32, #L>) -> tile<64xi1, #L>
    assert %c {message = "100% wrong"} : (tile<64xi1, #L>)
    return
  }
}`
	code := lowered(t, "sm_80", text)
	m, err := emu.Parse("test.ptx", code)
	if err != nil {
		t.Fatal(err)
	}
	for n, fails := range map[byte]bool{5: true, 70: false} {
		var out strings.Builder
		_, err := m.Run(context.Background(), "k", emu.NewMemory(), []emu.Arg{{n, 0, 0, 0}}, emu.Options{Stdout: &out})
		if (err != nil) != fails {
			t.Errorf("with %d: %v", n, err)
		}
		if want := "tile block: [0, 0, 0], position: [5]: 100% wrong\n"; fails && !strings.HasSuffix(out.String(), want) || !fails && out.String() != "" {
			t.Errorf("with %d it printed %q", n, out.String())
		}
	}
}

// Memory of the tile block's own and the arrays of the caller are reached through the same pointers.
func TestAlloca(t *testing.T) {
	const text = `
#L = #tileaa.layout<{lane=[[1],[2],[4],[8],[16]]} : 32>
tileaa.module @m {
  entry @k attributes {plan = #tileaa.plan<warps = 1>, shared_bytes = 144} (%out: tile<ptr<i32>>) {
    %a = alloca {num_elem = 32, alignment = 16, offset = 16} : tile<ptr<i32>>
    %i = iota : tile<32xi32, #L>
    %s = splat %a : (tile<ptr<i32>>) -> tile<32xptr<i32>, #L>
    %p = offset %s, %i : (tile<32xptr<i32>, #L>, tile<32xi32, #L>) -> tile<32xptr<i32>, #L>
    %t0 = store %p, %i : (tile<32xptr<i32>, #L>, tile<32xi32, #L>) -> token
    "tileaa.barrier"() {warp} : () -> ()
    %c = constant <i32: 31> : tile<32xi32, #L>
    %j = subi %c, %i : tile<32xi32, #L>
    %q = offset %s, %j : (tile<32xptr<i32>, #L>, tile<32xi32, #L>) -> tile<32xptr<i32>, #L>
    %v, %t1 = load %q : (tile<32xptr<i32>, #L>) -> (tile<32xi32, #L>, token)
    %so = splat %out : (tile<ptr<i32>>) -> tile<32xptr<i32>, #L>
    %po = offset %so, %i : (tile<32xptr<i32>, #L>, tile<32xi32, #L>) -> tile<32xptr<i32>, #L>
    %t2 = store %po, %v : (tile<32xptr<i32>, #L>, tile<32xi32, #L>) -> token
    return
  }
}`
	out, _ := launch(t, "sm_80", text, 1, make([]byte, 128))
	for i := range 32 {
		if got := wordAt(out[0], i); got != int32(31-i) {
			t.Errorf("element %d is %d", i, got)
		}
	}
}

// Globals have their content and alignment; a constant whose elements lie in different threads is read from a table.
func TestGlobalsAndTables(t *testing.T) {
	const text = `
#L = #tileaa.layout<{reg=[[1]], lane=[[2],[4],[0],[0],[0]]} : 8>
tileaa.module @m {
  global @g <f32: [1.500000e+00, -2.000000e+00, 3.000000e+00, 4.000000e+00]> : tile<4xf32> {alignment = 64}
  entry @k attributes {plan = #tileaa.plan<warps = 1>} (%out: tile<ptr<f32>>) {
    %g = get_global {name = @g} : tile<ptr<f32>>
    %c = constant <f32: [1.000000e+01, 2.000000e+01, 3.000000e+01, 4.000000e+01, 5.000000e+01, 6.000000e+01, 7.000000e+01, 8.000000e+01]> : tile<8xf32, #L>
    %i = iota : tile<8xi32, #L>
    %four = constant <i32: 4> : tile<8xi32, #L>
    %m = remi %i, %four : tile<8xi32, #L>
    %s = splat %g : (tile<ptr<f32>>) -> tile<8xptr<f32>, #L>
    %p = offset %s, %m : (tile<8xptr<f32>, #L>, tile<8xi32, #L>) -> tile<8xptr<f32>, #L>
    %v, %t = load %p : (tile<8xptr<f32>, #L>) -> (tile<8xf32, #L>, token)
    %r = addf %v, %c : tile<8xf32, #L>
    %so = splat %out : (tile<ptr<f32>>) -> tile<8xptr<f32>, #L>
    %po = offset %so, %i : (tile<8xptr<f32>, #L>, tile<8xi32, #L>) -> tile<8xptr<f32>, #L>
    %t2 = store %po, %r : (tile<8xptr<f32>, #L>, tile<8xf32, #L>) -> token
    return
  }
}`
	out, _ := launch(t, "sm_80", text, 1, make([]byte, 32))
	global := []float32{1.5, -2, 3, 4}
	for i := range 8 {
		if got, want := floatAt(out[0], i), global[i%4]+float32(10*(i+1)); got != want {
			t.Errorf("element %d is %v, want %v", i, got, want)
		}
	}
	if code := lowered(t, "sm_80", text); !strings.Contains(code, ".visible .global .align 64 .b64 g[2] = {0xc00000003fc00000, 0x4080000040400000};") {
		t.Errorf("the global is not declared as asked:\n%s", code)
	}
}

// Registers that replicate others are loaded and stored once, wherever their bits stand.
func TestRegisterReplicas(t *testing.T) {
	for _, l := range []string{
		"{reg=[[1],[0],[2]], lane=[[4],[8],[16],[32],[64]], warp=[[128]]} : 256",
		"{reg=[[0],[1],[2]], lane=[[4],[8],[16],[32],[64]], warp=[[128]]} : 256",
		"{reg=[[1],[2],[2]], lane=[[4],[8],[16],[32],[64]], warp=[[128]]} : 256",
		"{reg=[[1],[2]], lane=[[4],[8],[16],[0],[4]], warp=[[32]]} : 64",
	} {
		text := elementwise(l, opText("addf", "", "f16", "f16", 2), "f16", "f16", "f16")
		n := "256"
		if strings.HasSuffix(l, ": 64") {
			n = "64"
		}
		text = strings.ReplaceAll(text, "tile<512x", "tile<"+n+"x")
		text = strings.ReplaceAll(text, "vec = 8", "vec = 2")
		one := encode("f16", 256, func(i int) float64 { return float64(i % 100) })
		out, _ := launch(t, "sm_80", text, 1, one, one, make([]byte, 512))
		size := map[string]int{"256": 256, "64": 64}[n]
		for i := range size {
			if got := decode("f16", out[2], i); got != float64(2*(i%100)) {
				t.Fatalf("%s: element %d is %v", l, i, got)
			}
		}
		stores := strings.Count(lowered(t, "sm_80", text), "st.global")
		if stores > 4 {
			t.Errorf("%s: %d stores", l, stores)
		}
	}
}

// Line information follows the operations into the PTX.
func TestLineInformation(t *testing.T) {
	const text = `
tileaa.module @m {
  entry @k attributes {plan = #tileaa.plan<warps = 1>} (%p: tile<ptr<i32>>, %n: tile<i32>) {
    %s = muli %n, %n : tile<i32> loc("/src/kernel.py":17:3)
    %t = store %p, %s : (tile<ptr<i32>>, tile<i32>) -> token loc("/src/kernel.py":18:5)
    return
  }
}`
	c := ir.NewContext(tileaa.Dialect)
	op, err := ir.Parse(c, "t", []byte(text))
	if err != nil {
		t.Fatal(c.Diags.String())
	}
	tgt, _ := target.ByName("sm_80")
	m, err := nvvm.Lower(c, op, nvvm.Options{Target: tgt, Code: options.Code{LineInfo: true}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := ptx.Emit(m, ptx.Options{Target: tgt, Code: options.Code{LineInfo: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"/src/kernel.py"`, ".loc 1 17 3", ".loc 1 18 5"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// What is not supported is said with the operation, the type and the place, as an error and not as a crash.
func TestNotSupported(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`%a = alloca {num_elem = 8, alignment = 4, global} : tile<ptr<f32>> loc("/src/k.py":3:1)`,
			"/src/k.py:3:1: not supported yet: alloca on memory that other tile blocks see"},
	} {
		text := "tileaa.module @m {\n  entry @k attributes {plan = #tileaa.plan<warps = 1>} (%p: tile<ptr<f32>>) {\n    " + c.body + "\n    return\n  }\n}"
		ctx := ir.NewContext(tileaa.Dialect)
		op, err := ir.Parse(ctx, "t", []byte(text))
		if err != nil {
			t.Fatal(ctx.Diags.String())
		}
		tgt, _ := target.ByName("sm_80")
		_, err = nvvm.Lower(ctx, op, nvvm.Options{Target: tgt})
		var not *ir.NotSupported
		if !errors.As(err, &not) || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// Every instruction counts against the memory of the compile, and all of one row share its assembly.
func TestInstructionsAreCountedAndShareTheirRow(t *testing.T) {
	body := "%r = \"tileaa.addf\"(%v0, %v0) : (tile<512xf32, #L>, tile<512xf32, #L>) -> tile<512xf32, #L>"
	lower := func(limit int64) (m *llvm.Module, err error) {
		defer budget.Catch(&err)
		c := ir.NewContext(tileaa.Dialect)
		op, err := ir.Parse(c, "test.tileir", []byte(elementwise(testLayouts["strided"], body, "f32", "f32")))
		if err != nil {
			t.Fatal(err)
		}
		c.Budget = budget.New(t.Context(), limit)
		sm, _ := target.ByName("sm_80")
		return nvvm.Lower(c, op, nvvm.Options{Target: sm})
	}
	m, err := lower(0)
	if err != nil {
		t.Fatal(err)
	}
	instructions, rows := 0, map[string]value.Value{}
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			instructions += len(b.Insts)
			for _, inst := range b.Insts {
				if call, ok := inst.(*llvm.InstCall); ok {
					row := call.Callee.String()
					if old := rows[row]; old != nil && old != call.Callee {
						t.Errorf("%s stands twice in memory", row)
					}
					rows[row] = call.Callee
				}
			}
		}
	}
	if _, err := lower(int64(instructions-1) * budget.InstructionBytes); instructions < 20 || !errors.Is(err, budget.ErrMemory) {
		t.Errorf("memory for one instruction less than the %d that there are: %v", instructions, err)
	}
}
