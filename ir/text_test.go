package ir_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tileiras/ir"
)

// Every text prints as it stands after it has been read, also by way of the generic form, and with locations.
func TestTextReadsAndPrintsTheSame(t *testing.T) {
	for name, lines := range map[string]string{
		"declarative format":     "%0 = add %arg0, %arg1 : i32",
		"default is left out":    "%0 = paint %arg0  : (i32) -> i32",
		"attributes of a format": "%0 = paint %arg0 twice<4> with<green> shiny : (i32) -> f32",
		"discardable attributes": `%0 = add %arg0, %arg1 {a.b = 3 : i32, hot, "with space" = [true, "q\22", @s, {k = 1}, array<i64: 1, 2>]} : i32`,
		"variadic and optional":  "%0:2 = pick %arg2[%arg0, %arg1] or=%arg0 : i32, i32 or i32 -> i32, f32",
		"oilist":                 "pick %arg2[%arg0] a b : i32",
		"constants":              "%0 = constant <i32: 7> : i32\n%1 = constant <f32: 0x7F800000> : f32\n%2 = constant <i1: true> : i1\n%3 = constant <tf32: -1.500000e+00> : tf32",
		"names of results":       "%x, %y = pair : i32, i32\n%x_0, %y_1 = pair : i32, f32\n%0 = add %x, %x_0 : i32",
		"groups of results":      "%0:3 = many : i32, i1, i32\n%1 = add %0#0, %0#2 : i32",
		"default form":           "%0 = group %arg0, more(%arg0, %arg2), last(%arg1) attributes {color = green, dims = [1, -2]} : (i32, i32, i1, i32) -> f16 (%arg3: i32) {\n  end %arg3 : (i32)\n} else {\n  end\n}",
		"regions reuse names":    "%0 = add %arg0, %arg1 : i32\n%1 = add %0, %0 : i32\ngroup %arg0 : (i32) {\n  %2 = add %0, %1 : i32\n  end\n} else {\n  %2 = add %1, %1 : i32\n  end\n}",
	} {
		t.Run(name, func(t *testing.T) {
			text := inFunc(lines)
			_, op := mustParse(t, text)
			if diff := cmp.Diff(text, ir.Text(op, ir.PrintOptions{})); diff != "" {
				t.Errorf("again (-want +got):\n%s", diff)
			}
			generic := ir.Text(op, ir.PrintOptions{Generic: true})
			_, op = mustParse(t, generic)
			if diff := cmp.Diff(text, ir.Text(op, ir.PrintOptions{})); diff != "" {
				t.Errorf("from the generic form (-want +got):\n%s\n%s", diff, generic)
			}
			debug := ir.Text(op, ir.PrintOptions{DebugInfo: true})
			_, op = mustParse(t, debug)
			if diff := cmp.Diff(debug, ir.Text(op, ir.PrintOptions{DebugInfo: true})); diff != "" {
				t.Errorf("with locations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGenericFormSpellsEverythingOut(t *testing.T) {
	_, op := mustParse(t, inFunc("%0 = paint %arg0 with<green> {x = 1 : i8} : (i32) -> i32\npick %arg2[%arg0] : i32"))
	text := ir.Text(op, ir.PrintOptions{Generic: true})
	for _, want := range []string{
		`%0 = "toy.paint"(%arg0) <{with = #toy.color<green>}> {x = 1 : i8} : (i32) -> i32`,
		`"toy.pick"(%arg2, %arg0) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (i1, i32) -> ()`,
		"^bb0(%arg0: i32, %arg1: i32, %arg2: i1):",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("generic form lacks\n%s\n%s", want, text)
		}
	}
}

func TestLocationsAreAliasesByDepth(t *testing.T) {
	_, op := mustParse(t, `
toy.module @m {
  end loc(callsite("a.py":1:2 at #loc7))
  end loc(#loc7)
  end loc(fused<"x">["a.py":1:2, unknown])
  end loc("name"("a.py":1:2))
  end loc("name")
} loc(unknown)
#loc7 = loc("b.py":3:4)
`)
	// "name" has no part, so it is numbered with the plain places.
	want := `toy.module @m {
  end loc(#loc4)
  end loc(#loc2)
  end loc(#loc5)
  end loc(#loc6)
  end loc(#loc3)
} loc(#loc)
#loc = loc(unknown)
#loc1 = loc("a.py":1:2)
#loc2 = loc("b.py":3:4)
#loc3 = loc("name")
#loc4 = loc(callsite(#loc1 at #loc2))
#loc5 = loc(fused<"x">[#loc1, #loc])
#loc6 = loc("name"(#loc1))
`
	if diff := cmp.Diff(want, ir.Text(op, ir.PrintOptions{DebugInfo: true})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestItemsWithoutTheirModuleGetOne(t *testing.T) {
	_, op := mustParse(t, "func @f () {\n  end\n}\ntoy.func @g () {\n  end\n}\n")
	want := "toy.module @top {\n  func @f {\n    end\n  }\n  func @g {\n    end\n  }\n}\n"
	if diff := cmp.Diff(want, ir.Text(op, ir.PrintOptions{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff("func @f {\n  end\n}\nfunc @g {\n  end\n}\n", ir.Text(op, ir.PrintOptions{Unwrapped: true})); diff != "" {
		t.Errorf("unwrapped, -want +got:\n%s", diff)
	}
	_, op = mustParse(t, "module {\n  toy.module @a {\n  }\n  toy.module @b {\n  }\n}\n")
	if diff := cmp.Diff("module {\n  toy.module @a {\n  }\n  toy.module @b {\n  }\n}\n", ir.Text(op, ir.PrintOptions{})); diff != "" {
		t.Errorf("builtin module, -want +got:\n%s", diff)
	}
}

func TestUnknownOpsNeedPermission(t *testing.T) {
	text := "module {\n  %0:2 = \"x.y\"() {a = 1} : () -> (i32, !x.t<a, [b]>)\n  \"x.z\"(%0#1) ({\n  ^bb0(%arg0: i32):\n    \"x.w\"(%arg0) : (i32) -> ()\n  }) : (!x.t<a, [b]>) -> ()\n}\n"
	c := newContext()
	if _, err := ir.Parse(c, "t", []byte(text)); err == nil {
		t.Error("an op of an unknown dialect was accepted")
	}
	c = newContext()
	c.AllowUnregistered = true
	op, err := ir.Parse(c, "t", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, ir.Text(op, ir.PrintOptions{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A text stands for as much as it is long: big ones are read.
func TestBigTexts(t *testing.T) {
	text := "toy.module @m attributes {x = [1" + strings.Repeat(", 1", 1<<20) + "]} {\n}\n"
	if _, err := ir.Parse(newContext(), "t", []byte(text)); err != nil {
		t.Error(err)
	}
}

// What is wrong is said in MLIR's words with the place where it is.
func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{inFunc("%0 = add %arg0, %arg1 : f32"), "t.mlir:3:14: error: use of value '%arg0' expects different type than prior uses: 'f32' vs 'i32'\nt.mlir:2:12: note: prior use here\n"},
		{inFunc("%0 = add %arg0, %nothing : i32"), "t.mlir:3:21: error: use of undeclared SSA value name '%nothing'\n"},
		{inFunc("%0 = add %arg0, %arg1#1 : i32"), "t.mlir:3:21: error: reference to invalid result number\n"},
		{inFunc("%0 = add %arg0 : i32"), "t.mlir:3:19: error: expected ','\n"},
		{inFunc("%0 = add %arg0, : i32"), "t.mlir:3:20: error: expected SSA operand\n"},
		{inFunc("%0, %1 = add %arg0, %arg1 : i32"), "t.mlir:3:5: error: operation defines 1 results but was provided 2 to bind\n"},
		{inFunc("%0:0 = end"), "t.mlir:3:8: error: expected named operation to have at least 1 result\n"},
		{inFunc("%0:65537 = end"), "t.mlir:3:8: error: one name is given 65537 results, 65536 are the most\n"},
		{inFunc("%0 = end"), "t.mlir:3:5: error: cannot name an operation with no results\n"},
		{inFunc("%arg0 = add %arg0, %arg1 : i32"), "t.mlir:3:5: error: redefinition of SSA value '%arg0'\nt.mlir:2:12: note: previously defined here\n"},
		{inFunc("%0 = subtract %arg0"), "t.mlir:3:10: error: custom op 'subtract' is unknown (tried 'toy.subtract' as well)\n"},
		{inFunc("%0 = other.op %arg0"), "t.mlir:3:10: error: custom op 'other.op' is unknown\n"},
		{inFunc("%0 = paint %arg0 with<blue> : (i32) -> i32"), "t.mlir:3:27: error: expected string or keyword containing one of the following enum values for attribute 'with' [red, green]\n"},
		{inFunc("pick %arg2[%arg0] a a : i32"), "t.mlir:3:25: error: `a` clause can appear at most once in the expansion of the oilist directive\n"},
		{inFunc("%0 = add %arg0, %arg1 {x = 1, x = 2} : i32"), "t.mlir:3:35: error: attribute 'x' occurs more than once in the attribute list\n"},
		{inFunc("%0 = constant <i8: 256> : i8"), "t.mlir:3:24: error: integer constant out of range for type\n"},
		{inFunc("%0 = constant <i8: -129> : i8"), "t.mlir:3:24: error: integer constant out of range for type\n"},
		{inFunc("%0 = constant <i8: 1> : i16"), "t.mlir:3:20: error: mismatch between the element type: 'i8' and the tile element type 'i16'\n"},
		{inFunc("%0 = constant <i8: []> : i8"), "t.mlir:3:24: error: dense attribute cannot be empty\n"},
		{inFunc("%0 = constant <i8: [[1], 2]> : i8"), "t.mlir:3:24: error: tensor literal is invalid; ranks are not consistent between elements\n"},
		{inFunc("%0 = constant <i8: [1, 2]> : i8"), "t.mlir:3:20: error: inferred shape of elements literal ([2]) does not match type ([])\n"},
		{inFunc("%0 = constant <f32: 1> : f32"), "t.mlir:3:25: error: unexpected decimal integer literal for a floating point value\nt.mlir:3:25: note: add a trailing dot to make the literal a float\n"},
		{inFunc("end loc(#nowhere)"), "t.mlir:3:13: error: undefined symbol alias id 'nowhere'\n"},
		{"toy.module @m {\n", "t.mlir:1:16: error: expected '}'\n"},
		{"toy.module @m {\n  end\n", "t.mlir:2:6: error: expected '}'\n"},
		{"toy.module {\n}", "t.mlir:1:11: error: expected valid '@'-identifier for symbol name\n"},
		{"toy.module @m { 17 }", "t.mlir:1:16: error: expected operation name in quotes\n"},
		{"#a = #b\n#b = #a\ntoy.module @m {\n  end loc(#a)\n}", "t.mlir:1:5: error: alias '#a' is defined by itself\n"},
		{"#a = 1\n#a = 2\n", "t.mlir:2:1: error: redefinition of symbol alias id 'a'\n"},
		{`toy.module @m attributes {x = "a}` + "\n", "t.mlir:1:31: error: expected '\"' in string literal\n"},
		{`toy.module @m attributes {x = ` + strings.Repeat("[", 1000), "t.mlir:1:286: error: nesting is deeper than 256 levels\n"},
		{"\"toy.add\"() : () -> i32", "t.mlir:1:1: error: 'toy.add' op expected 2 operands, but found 0\n"},
		{"\"toy.pick\"() <{zzz = 1}> : () -> ()", "t.mlir:1:16: error: 'toy.pick' op has no property 'zzz'\n"},
		{"\"x.y\"() : () -> ()", "t.mlir:1:1: error: operation being parsed with an unregistered dialect. If this is intended, please use -allow-unregistered-dialect with the MLIR tool used\n"},
	} {
		c := newContext()
		_, err := ir.Parse(c, "t.mlir", []byte(tt.text))
		if err == nil {
			t.Errorf("no error for\n%s", tt.text)
			continue
		}
		if diff := cmp.Diff(tt.want, c.Diags.String()); diff != "" {
			t.Errorf("-want +got:\n%s\n%s", diff, tt.text)
		}
	}
}

func TestVerify(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{inFunc("%0 = add %arg0, %arg1 : i32"), ""},
		{inFunc(`%0 = "toy.add"(%arg0, %arg2) : (i32, i1) -> i32`), "t.mlir:3:10: error: 'toy.add' op failed to verify that all of {lhs, rhs, result} have same type\n"},
		{inFunc(`%0 = paint %arg0  : (i32) -> ((i32) -> i32)`), "t.mlir:3:10: error: 'toy.paint' op result #0 must be a number, but got '(i32) -> (i32)'\n"},
		{inFunc(`"toy.pick"(%arg0) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()`), "t.mlir:3:5: error: 'toy.pick' op operand #0 must be a bool, but got 'i32'\n"},
		{inFunc(`%0 = "toy.constant"() : () -> i32`), "t.mlir:3:10: error: 'toy.constant' op requires attribute 'value'\n"},
		{inFunc(`%0 = "toy.constant"() <{value = 1}> : () -> i32`), "t.mlir:3:10: error: 'toy.constant' op attribute 'value' failed to satisfy constraint: constant elements\n"},
		{inFunc(`"toy.add"(%arg0, %arg0) : (i32, i32) -> ()`), "t.mlir:3:5: error: 'toy.add' op expected 1 result, but found 0\n"},
		{inFunc("end\nend"), "t.mlir:3:5: error: 'toy.end' op must be the last operation in the parent block\n"},
		{inFunc("group %arg0 : (i32) {\n  %0 = add %arg0, %arg0 : i32\n}"), "t.mlir:4:12: error: block with no terminator, has %0 = toy.add %arg0, %arg0 : i32\n"},
		{inFunc("group %arg0 : (i32) {\n}"), "t.mlir:3:5: error: empty block: expect at least a terminator\n"},
		{inFunc(`"toy.group"(%arg0) <{operandSegmentSizes = array<i32: 1, 0, 0>}> ({ ^bb0: "toy.end"() : () -> () ^bb1: "toy.end"() : () -> () }, {}) : (i32) -> ()`),
			"t.mlir:3:5: error: 'toy.group' op region #0 ('body') failed to verify constraint: region with 1 blocks\n"},
		{"toy.module @m {\n  func @f {\n    end\n  }\n  func @f {\n    end\n  }\n}", "t.mlir:5:3: error: redefinition of symbol named 'f'\nt.mlir:2:3: note: see existing symbol definition here\n"},
	} {
		c, op := mustParse(t, tt.text)
		if got := ir.Verify(c, op); got != (tt.want == "") {
			t.Errorf("Verify = %v\n%s", got, tt.text)
		}
		if diff := cmp.Diff(tt.want, c.Diags.String()); diff != "" {
			t.Errorf("-want +got:\n%s\n%s", diff, tt.text)
		}
	}
}

// Uses that no text can express are found too.
func TestVerifyFindsUsesThatAreNotVisible(t *testing.T) {
	c, op := mustParse(t, inFunc("%0 = add %arg0, %arg1 : i32\n%1 = add %0, %0 : i32"))
	body := op.Body().First().Body()
	first, second := body.First(), body.First().Next()
	toy.VerifyUses = func(*ir.Context, *ir.Op) bool {
		t.Error("uses are checked before it is known that they are visible")
		return true
	}
	defer func() { toy.VerifyUses = nil }()
	second.MoveBefore(first)
	if ir.Verify(c, op) {
		t.Error("a use before its definition was accepted")
	}
	want := "t.mlir:3:10: note: operand defined here\n"
	if got := c.Diags.String(); !strings.Contains(got, "operand #0 does not dominate this use\n") || !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want the note %q", got, want)
	}
	c, op = mustParse(t, "toy.module @m {\n  %0 = constant <i32: 1> : i32\n  func @f {\n    %0 = constant <i32: 1> : i32\n    end %0 : (i32)\n  }\n}")
	end := op.Body().Last().Body().Last()
	end.SetOperand(0, op.Body().First().Result(0))
	if ir.Verify(c, op) {
		t.Error("a use of a value outside an isolated region was accepted")
	}
	if got, want := c.Diags.String(), "t.mlir:3:3: note: required by region isolation constraints\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want the note %q", got, want)
	}
}

func TestFormatsThatDoNotCompile(t *testing.T) {
	for format, want := range map[string]string{
		"$nothing":            `the row has no argument "nothing"`,
		"`open":               "unterminated literal",
		"(`a` $what)?":        "group without anchor",
		"type($result)?":      `unknown directive ""`,
		"custom<Nope>($n)":    `the dialect has no directive "Nope"`,
		"(attr-dict $what^)?": "a group must begin with a literal, an operand or an attribute",
	} {
		row := *toy.Op("paint")
		row.Format = format
		if err := ir.CheckFormat(&row); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", format, err, want)
		}
	}
}

// FuzzParse: no text makes the parser panic, and what it accepts prints to a text that reads back to the same text.
func FuzzParse(f *testing.F) {
	f.Add(inFunc("%0 = paint %arg0 twice<4> with<green> shiny {x = 1 : i8} : (i32) -> f32\n%1:2 = pick %arg2[%arg0, %arg1] or=%arg0 a : i32, i32 or i32 -> i32, f32"))
	f.Add(inFunc("%x, %y = pair : i32, i32\n%0 = constant <f16: 0x7C00> : f16 loc(fused<\"x\">[\"f\":1:2, callsite(\"a\"(\"f\":1:2) at unknown)])"))
	f.Add("#a = [1, 2.5, \"s\", @x, {k, l = unit}, array<i1: true>, dense<[1, 2]> : i32]\n\"toy.end\"() {a = #a} : () -> ()")
	f.Add("\"toy.group\"() ({ ^bb0(%a: i32): \"toy.end\"(%a) : (i32) -> () ^bb1: }, {}) : () -> ()")
	f.Fuzz(func(t *testing.T, text string) {
		c := newContext()
		op, err := ir.Parse(c, "f", []byte(text))
		if err != nil {
			if c.Diags.Errors() == 0 {
				t.Fatalf("error %v without a diagnostic", err)
			}
			return
		}
		for _, o := range []ir.PrintOptions{{}, {Generic: true}, {DebugInfo: true}} {
			once := ir.Text(op, o)
			c2 := newContext()
			again, err := ir.Parse(c2, "f", []byte(once))
			if err != nil {
				t.Fatalf("printed text does not parse: %v\n%s", err, once)
			}
			if twice := ir.Text(again, o); twice != once && !o.DebugInfo {
				t.Fatalf("text changed\n%s\n%s", once, twice)
			}
		}
	})
}

// Short texts that stand for much, or nest deeply, or repeat much, end soon with an error or a module.
func TestHostileTextsEndSoon(t *testing.T) {
	var types, attrs, locs, keys strings.Builder
	types.WriteString("!t0 = i32\n")
	attrs.WriteString("#t0 = [1]\n")
	locs.WriteString("#l0 = loc(unknown)\n")
	for i := 1; i < 100; i++ {
		fmt.Fprintf(&types, "!t%d = (!t%d, !t%d) -> i32\n", i, i-1, i-1)
		fmt.Fprintf(&attrs, "#t%d = [#t%d, #t%d]\n", i, i-1, i-1)
		fmt.Fprintf(&locs, "#l%d = loc(callsite(#l%d at #l%d))\n", i, i-1, i-1)
	}
	for i := range 100_000 {
		fmt.Fprintf(&keys, "k%d, ", i)
	}
	for name, tt := range map[string]struct {
		text, want string
	}{
		"types":      {types.String() + `"toy.end"() {x = !t99} : () -> ()`, "aliases make this text too large"},
		"attributes": {attrs.String() + `"toy.end"() {x = #t99} : () -> ()`, "aliases make this text too large"},
		"locations":  {locs.String() + `toy.module @m { zzz loc(#l99) }`, "aliases make this text too large"},
		"regions":    {strings.Repeat("toy.module @m {", 1000), "nesting is deeper than 256 levels"},
		"parens":     {"!x = " + strings.Repeat("(", 1000), "nesting is deeper than 256 levels"},
		"many keys":  {"module {\n \"toy.end\"() {" + keys.String() + "last} : () -> ()\n}", ""},
	} {
		c := newContext()
		start := time.Now()
		op, err := ir.Parse(c, "t", []byte(tt.text))
		if op != nil {
			ir.Verify(c, op)
			ir.Text(op, ir.PrintOptions{DebugInfo: true})
		}
		if err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		if tt.want != "" && err == nil {
			t.Errorf("%s: no error", name)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
	}
}

// Inlined code has a stack of places, however its call sites nest; what names no file is not on it.
func TestCallStacks(t *testing.T) {
	at := func(file string) ir.Location { return &ir.FileLoc{File: file, Line: 1, Col: 2} }
	call := func(callee, caller ir.Location) ir.Location { return &ir.CallSiteLoc{Callee: callee, Caller: caller} }
	for _, tt := range []struct {
		loc         ir.Location
		text, short string
	}{
		{ir.UnknownLoc{}, "", ""},
		{at("x/a"), "x/a:1:2", "a:1:2"},
		{call(at("a"), at("b")), "a:1:2, called from b:1:2", "b:1:2 (a:1)"},
		{call(at("a"), call(at("b"), at("c"))), "a:1:2, called from b:1:2, called from c:1:2", "c:1:2 (a:1)"},
		{call(call(at("a"), at("b")), at("c")), "a:1:2, called from b:1:2, called from c:1:2", "c:1:2 (a:1)"},
		{call(at("a"), call(ir.UnknownLoc{}, &ir.NameLoc{Name: "n", Child: at("c")})), "a:1:2, called from c:1:2", "c:1:2 (a:1)"},
		{call(ir.UnknownLoc{}, at("b")), "b:1:2", "b:1:2"},
	} {
		if got := ir.CallText(tt.loc); got != tt.text {
			t.Errorf("got %q, want %q", got, tt.text)
		}
		if got := ir.ShortPlace(tt.loc); got != tt.short {
			t.Errorf("got %q, want %q", got, tt.short)
		}
	}
}
