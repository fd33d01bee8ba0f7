package cudatile_test

import (
	"strings"
	"testing"

	"tileiras/ir"
	"tileiras/passes"
	"tileiras/passes/pass"
	"tileiras/passes/passtest"
)

// withDebugInfo runs a pass on a module and prints it with locations, or what is wrong with the module or the options.
func withDebugInfo(t *testing.T, p *pass.Pass, options map[string]string, src string) string {
	t.Helper()
	s := passtest.Parse(t, src)
	p, err := p.With(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(s); err == pass.ErrInvalid {
		return s.Ctx.Diags.String()
	} else if err != nil {
		return err.Error()
	}
	if !ir.Verify(s.Ctx, s.Module) {
		return s.Ctx.Diags.String()
	}
	return ir.Text(s.Module, ir.PrintOptions{DebugInfo: true})
}

// mustHave checks that a text has the lines, in this order.
func mustHave(t *testing.T, text string, lines ...string) {
	t.Helper()
	rest := text
	for _, l := range lines {
		_, after, found := strings.Cut(rest, l)
		if !found {
			t.Fatalf("there is no %q here in\n%s", l, text)
		}
		rest = after
	}
}

func TestSynthesizeDebugInfoScopes(t *testing.T) {
	p := tilePass(t, "synthesize-debug-info-scopes")
	t.Run("a place of its own, of a caller or of a name counts; without one the function's does", func(t *testing.T) {
		text := withDebugInfo(t, p, nil, `cuda_tile.module @m {
			entry @k(%x: tile<i32>) {
				%0 = addi %x, %x : tile<i32> loc("src/k.py":12:4)
				%1 = addi %x, %x : tile<i32> loc(callsite("lib.py":1:1 at "named"("src/k.py":13:5)))
				%2 = addi %x, %x : tile<i32> loc(fused[unknown, "src/k.py":14:6])
				return loc(unknown)
			} loc("src/k.py":10:1)
		} loc("main.py":1:1)`)
		mustHave(t, text,
			`%0 = addi %arg0, %arg0 : tile<i32> loc(#loc6)`,
			`return loc(#loc5)`, `} loc(#loc5)`,
			`#di_file = #cuda_tile.di_file<"k.py" in "src">`, `#di_file1 = #cuda_tile.di_file<"main.py" in "">`,
			`loc1 = loc("src/k.py":10:1)`, `loc2 = loc("src/k.py":12:4)`, `loc("src/k.py":13:5)`, `loc("src/k.py":14:6)`,
			`di_compile_unit<file = #di_file1>`, `di_subprogram<file = #di_file, `,
			`line = 10, name = "k", linkageName = "k"`, `scopeLine = 10`,
			`#loc5 = #cuda_tile.di_loc<#loc1 in #di_subprogram>`, `#loc6 = #cuda_tile.di_loc<#loc2 in #di_subprogram>`)
		if n := strings.Count(text, "#cuda_tile.di_loc<"); n != 4 {
			t.Errorf("%d places, want 4:\n%s", n, text)
		}
	})
	t.Run("without any place there is an unknown file", func(t *testing.T) {
		text := withDebugInfo(t, p, nil, `cuda_tile.module @m {
			entry @k() { return loc(unknown) } loc(unknown)
		} loc(unknown)`)
		mustHave(t, text, `di_file<"<unknown>" in "">`, `line = 1, name = "k", linkageName = "k"`, `scopeLine = 1`)
	})
	t.Run("functions with debug information stay as they are", func(t *testing.T) {
		src := `#f = #cuda_tile.di_file<"k.py" in "">
			#u = #cuda_tile.di_compile_unit<file = #f>
			#s = #cuda_tile.di_subprogram<file = #f, line = 3, name = "kernel", linkageName = "k", compileUnit = #u>
			cuda_tile.module @m {
				entry @k() { return loc(unknown) } loc(#cuda_tile.di_loc<loc("k.py":3:1) in #s>)
			}`
		if got, want := withDebugInfo(t, p, nil, src), ir.Text(passtest.Parse(t, src).Module, ir.PrintOptions{DebugInfo: true}); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func TestUpdateSymbolName(t *testing.T) {
	p := tilePass(t, "test-debuginfo-update-symbol-name")
	const src = `#f = #cuda_tile.di_file<"k.py" in "">
		#u = #cuda_tile.di_compile_unit<file = #f>
		#s = #cuda_tile.di_subprogram<file = #f, line = 3, name = "kernel", linkageName = "k", compileUnit = #u>
		#b = #cuda_tile.di_lexical_block<scope = #s, file = #f, line = 4, column = 2>
		cuda_tile.module @m {
			global @data <i32: [1, 2]> : tile<2xi32>
			entry @k() {
				%0 = get_global @data : tile<ptr<i32>> loc(#cuda_tile.di_loc<loc("k.py":4:2) in #b>)
				return loc(unknown)
			} loc(#cuda_tile.di_loc<loc("k.py":3:1) in #s>)
		}`
	for _, test := range []struct {
		says    string
		options map[string]string
		want    []string
	}{
		{"a function gets its name, and its subprogram the linkage name, in blocks too", map[string]string{
			"symbol-to-rename": "m::k", "new-name": "k_f32"},
			[]string{`entry @k_f32()`, `name = "kernel", linkageName = "k_f32"`}},
		{"uses follow if asked", map[string]string{"symbol-to-rename": "m::data", "new-name": "table", "update-uses": "true"},
			[]string{`@table <i32`, `get_global @table`}},
		{"and stay if not", map[string]string{"symbol-to-rename": "m::data", "new-name": "table"},
			[]string{"'data' does not reference a valid global"}},
		{"the scope must enclose the symbol", map[string]string{"symbol-to-rename": "m::data", "scope": "m::k", "new-name": "table"},
			[]string{"attempted to update symbol names in a scope that did not enclose the symbol itself", "scope defined here"}},
		{"the symbol must be there", map[string]string{"symbol-to-rename": "m::other", "new-name": "table"},
			[]string{"there is no symbol 'm::other'"}},
		{"the name must be there", map[string]string{"symbol-to-rename": "m::k"}, []string{"option new-name is missing"}},
	} {
		t.Run(test.says, func(t *testing.T) {
			mustHave(t, withDebugInfo(t, p, test.options, src), test.want...)
		})
	}
}

// tilePass is a pass of the list.
func tilePass(t *testing.T, name string) *pass.Pass {
	t.Helper()
	for _, p := range passes.OnCudaTile() {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("there is no pass %s", name)
	return nil
}
