package emu

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// runText runs a one-entry module on one buffer and gives its content back.
func runText(t *testing.T, ptx string, threads int, buf []byte, o Options, more ...Arg) ([]byte, error) {
	t.Helper()
	m, err := Parse("test.ptx", ptx)
	if err != nil {
		t.Fatal(err)
	}
	mem := NewMemory()
	a := mem.Alloc("buf", buf, 256)
	if o.Block == [3]int{} {
		o.Block = [3]int{threads, 1, 1}
	}
	_, err = m.Run(t.Context(), m.Entries()[0], mem, append([]Arg{le64(a)}, more...), o)
	return mem.Bytes(a), err
}

func le64(v uint64) []byte {
	b := make([]byte, 8)
	writeBytes(b, 0, 8, v)
	return b
}

// header begins a module with one entry k(u64 p).
const header = ".version 8.0\n.target sm_80\n.address_size 64\n"

// on is a text for another .target.
func on(target, text string) string { return strings.Replace(text, "sm_80", target, 1) }

func kernel(body string) string {
	return header + `.visible .entry k(.param .u64 p)
{
	.reg .pred %p<10>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<20>; .reg .f64 %d<20>;
	ld.param.u64 %rd0, [p];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %rd2, %r0, 4;
	add.s64 %rd1, %rd0, %rd2;
` + body + "\n\tret;\n}\n"
}

// TestWordsNeedNoSpace: a directive or a type ends where the next begins, and modifiers may stand apart from their opcode.
func TestWordsNeedNoSpace(t *testing.T) {
	const text = header + `.visible.entry k(.param.u64.ptr.global.align 4 p).reqntid 1
{.reg.b32 a,b;.reg.pred q;.reg.b64 d;
ld .param.u64 d,[p];
{.reg.b32 c;mov /* so */ .u32 a,3;
setp.eq
.u32 q,a,3;
@q st . global.u32 [d],a;}
ret;}`
	got, err := runText(t, strings.Replace(text, "st . global", "st .global", 1), 1, make([]byte, 4), Options{})
	if err != nil || got[0] != 3 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := Parse("t", text); err == nil {
		t.Error("a dot alone is accepted")
	}
}

// TestIndirectCalls: what calls by a register is not supported where it runs; other kernels of the module run, also beside a table of functions.
func TestIndirectCalls(t *testing.T) {
	const table = ".func f() { ret; } .func g() { ret; } .global .b64 table[2] = {f, g};.visible"
	src := strings.Replace(kernel("ld.global.b64 %rd3, [table]; ld.global.b64 %rd4, [table+8]; setp.eq.u64 %p1, %rd3, %rd4; selp.b32 %r1, 1, 2, %p1; st.global.u32 [%rd0], %r1;"),
		".visible", table, 1) + `
.entry calls() { .reg .b64 %d; mov.b64 %d, 0; proto: .callprototype _ (); call %d, (), proto; ret; }`
	got, err := runText(t, src, 1, make([]byte, 4), Options{})
	if err != nil || got[0] != 2 {
		t.Errorf("got %v, %v", got, err)
	}
	m, err := Parse("t", src)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Run(t.Context(), "calls", NewMemory(), nil, Options{Block: [3]int{1, 1, 1}})
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "(indirect call)") {
		t.Errorf("got %v", err)
	}
	if _, err := Parse("t", strings.Replace(src, "call %d", "call %e", 1)); err == nil || !strings.Contains(err.Error(), "undeclared name %e") {
		t.Errorf("a register that nothing declares: %v", err)
	}
}

func TestSyntaxErrorsNameTheirPlace(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", "no .version"},
		{".version 8.0\n.target sm_80\n.foo", "t.ptx:3:5: not supported: unknown directive '.foo'"},
		{header + ".entry k() { bra", "t.ptx:4:17: expected an operand"},
		{header + ".entry k() {", "not closed"},
		{header + ".entry k() { .reg .b33 %r; }", "unknown type '.b33'"},
		{header + ".entry k() { add.s32 %r1, ?; }", "expected an operand, found '?'"},
		{header + ".entry k() { L: L: ret; }", "label 'L' is defined twice"},
		{header + ".entry k() { ret; } .entry k() { ret; }", "'k' is defined twice"},
		{header + "/* open", "comment is not closed"},
		{header + ".global .b8 x[99999999999];", "too large"},
		{header + ".global .b8 x[268000000]; .global .b8 a<65536>;", "t.ptx:4:47: not supported: the variables of the module take more than 268435456 bytes"},
		{header + ".func f(.param .b8 x[268000000], .param .b8 a<65536>);", "the variables of the module take more than"},
		{header + ".entry k() { mov.b32 %r1, 0fZZ; }", "not a number"},
		{".version 8.0\n.address_size 32\n", "t.ptx:2:17: not supported: .address_size 32"},
		{header + ".entry k() {" + strings.Repeat("{", 300), "nested too deeply"},
		{header + ".entry k() { x " + strings.Repeat("[", 300), "nested too deeply"},
	} {
		_, err := Parse("t.ptx", c.src)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: got %v, want %q", c.src, err, c.want)
		}
	}
}

func TestWhatIsNotSupportedIsReportedOnlyWhenExecuted(t *testing.T) {
	src := kernel("setp.eq.u32 %p1, %r0, %r0;\n@%p1 bra END;\nfrobnicate.sync.aligned;\nEND:")
	if _, err := runText(t, src, 32, make([]byte, 128), Options{}); err != nil {
		t.Errorf("not executed, but reported: %v", err)
	}
	for _, text := range []string{"frobnicate.sync.aligned", "add.s32.nonsense %r1, %r1, %r1", "add.s32.nonsense %r1, [%r1], 3", "mov.u32 %r1, %pm3",
		"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%r1, %r2}, {%r1, %r2, %r3, %r4}, %r5, 0"} {
		_, err := runText(t, kernel(text+";"), 32, make([]byte, 128), Options{})
		rep, ok := err.(*Report)
		if !ok || rep.Kind != Unsupported || !strings.HasPrefix(rep.Error(), "not supported: "+text) || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// TestMalformedInstructionsAreErrorsOfTheText: in every function of a module, reached or not, of an instruction that is known or not.
func TestMalformedInstructionsAreErrorsOfTheText(t *testing.T) {
	for text, want := range map[string]string{
		"add.s32 %r1, %r99, 1":                                       "undeclared name %r99",
		"add.s32 %r1":                                                "wrong number of operands",
		"add.s32 %r1, %r2, %r3, %r4":                                 "wrong number of operands",
		"add.b32 %r1, %r2, %r3":                                      "type .b32",
		"add.s32 %p1, %r2, %r3":                                      "destination %p1 is a predicate",
		"add.s32 %r1, %p1, %r3":                                      "predicate %p1 as a value",
		"add.s32 %r1, [%rd1], %r3":                                   "unexpected operand",
		"add.s32 3, %r2, %r3":                                        "destination must be a register",
		"setp.lt.s32 %r1, %r2, %r3":                                  "destination must be a predicate",
		"selp.b32 %r1, %r2, %r3, %r4":                                "operand must be a predicate",
		"@%p99 add.s32 %r1, %r2, %r3":                                "undeclared predicate %p99",
		"mul.s32 %r1, %r2, %r3":                                      "mul needs .lo, .hi or .wide",
		"bra NOWHERE":                                                "undeclared name NOWHERE",
		"call nobody":                                                "undeclared name nobody",
		"ld.global.u32 %r1, %rd1":                                    "expected an address in brackets",
		"ld.global.v2.u32 {%r1}, [%rd1]":                             "vector of 2 elements expected",
		"ld.acquire.global.u32 %r1, [%rd1]":                          ".acquire needs a scope",
		"cvt.f16.f32 %h1, %f1":                                       "a narrowing conversion needs a rounding mode",
		"shfl.down.b32 %r1, %r2, 1, 31":                              "wrong number of operands",
		"frobnicate.sync.aligned %r1, [%r99]":                        "undeclared name %r99",
		"add.s32.nonsense %r1, %r1, %r99":                            "undeclared name %r99",
		"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2}, [%r1]": "vector of 4 registers expected",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r0, %r1, %r2, %r99}, %rd1, %rd1, 1, 1, 1, 0, 0": "undeclared name %r99",
	} {
		for _, src := range []string{kernel("bra END;\n" + text + ";\nEND:"), strings.Replace(kernel("ld.param.u64 %rd0, [p];\n"+text+";"), ".visible .entry", ".func", 1)} {
			_, err := Parse("t.ptx", src)
			var e *SyntaxError
			if !errors.As(err, &e) || e.Line != 12 || e.Col != 1 || e.Msg != want+" in '"+text+"'" {
				t.Errorf("%s: got %v, want %q", text, err, want)
			}
		}
	}
	_, err := Parse("t.ptx", kernel("add.s32 %r1;\nadd.s32 %r2;\n"))
	if err == nil || !strings.Contains(err.Error(), "t.ptx:11:1:") {
		t.Errorf("not the first error: %v", err)
	}
}

// TestRegistersHaveTheTypeOfTheInstruction: the same width, or with loads, stores and conversions a greater one, and none of the other class.
func TestRegistersHaveTheTypeOfTheInstruction(t *testing.T) {
	for text, want := range map[string]string{
		"add.s32 %r1, %rd1, %r2":               "%rd1 is a .b64, not a .s32",
		"add.s32 %rd1, %r1, %r2":               "%rd1 is a .b64, not a .s32",
		"add.s32 %r1, %f1, %r2":                "%f1 is a .f32, not a .s32",
		"add.f32 %f1, %r1, %f2":                "",
		"add.f32 %d1, %f1, %f2":                "%d1 is a .f64, not a .f32",
		"add.s32 %r1, %r2, 0f3F800000":         "float literal for an integer operand",
		"mul.wide.u32 %rd1, %r1, %r2":          "",
		"mul.wide.u32 %r1, %r2, %r3":           "%r1 is a .b32, not a .u64",
		"mad.wide.s16 %r1, %h1, %h2, %r2":      "",
		"mad.wide.s32 %rd1, %r1, %r2, %r3":     "%r3 is a .b32, not a .s64",
		"popc.b64 %r1, %rd1":                   "",
		"popc.b64 %rd1, %rd1":                  "%rd1 is a .b64, not a .b32",
		"shl.b64 %rd1, %rd1, %r1":              "",
		"shl.b64 %rd1, %rd1, %rd1":             "%rd1 is a .b64, not a .b32",
		"mov.b64 {%r1, %r2}, %rd1":             "",
		"mov.b32 {%r1, %r2}, %r3":              "%r1 is a .b32, not a .b16",
		"mov.b64 %rd1, {%r1, %h1}":             "%h1 is a .b16, not a .b32",
		"setp.lt.s32 %p1, %r1, %rd1":           "%rd1 is a .b64, not a .s32",
		"selp.f64 %d1, %d2, %f1, %p1":          "%f1 is a .f32, not a .f64",
		"ld.global.u8 %r1, [%rd1]":             "",
		"ld.global.v2.u64 {%rd1, %r1}, [%rd0]": "%r1 is a .b32, not a .u64",
		"st.global.b16 [%rd1], %r1":            "",
		"st.global.b64 [%rd1], %r1":            "%r1 is a .b32, not a .b64",
		"cvt.u32.u8 %r1, %h1":                  "",
		"cvt.u64.u32 %r1, %r2":                 "%r1 is a .b32, not a .u64",
		"atom.global.add.u32 %rd2, [%rd1], 1":  "%rd2 is a .b64, not a .u32",
		"fma.rn.f16x2 %r1, %r2, %r3, %r4":      "",
		"fma.rn.f16x2 %h1, %r2, %r3, %r4":      "%h1 is a .b16, not a .f16x2",
	} {
		_, err := Parse("t.ptx", kernel(text+";"))
		if said := fmt.Sprint(err); (err != nil) != (want != "") || !strings.Contains(said, want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// TestInstructionsNeedTheirTarget: an opcode, a modifier and a type may have come later than .target.
func TestInstructionsNeedTheirTarget(t *testing.T) {
	for _, c := range []struct {
		target, text string
		needs        int
	}{
		{"sm_75", "tanh.approx.f32 %f1, %f2", 0},
		{"sm_75", "redux.sync.add.s32 %r1, %r2, -1", 80},
		{"sm_80", "redux.sync.add.s32 %r1, %r2, -1", 0},
		{"sm_80", "elect.sync %r1|%p1, -1", 90},
		{"sm_90a", "elect.sync %r1|%p1, -1", 0},
		{"sm_90a", "tcgen05.wait::ld.sync.aligned", 100},
		{"sm_100f", "tcgen05.wait::ld.sync.aligned", 0},
		{"sm_80", "fence.acq_rel.cluster", 90},
		{"sm_90", "add.rn.f32x2 %rd1, %rd2, %rd3", 100},
		{"sm_80", "min.u16x2 %r1, %r2, %r3", 90},
		{"sm_75", "fma.rn.bf16x2 %r1, %r2, %r3, %r4", 80},
	} {
		_, err := Parse("t.ptx", on(c.target, kernel(c.text+";")))
		want := fmt.Sprintf("t.ptx:11:1: sm_%d or later is needed, .target is %s in '%s'", c.needs, c.target, c.text)
		if said := fmt.Sprint(err); (err != nil) != (c.needs > 0) || err != nil && said != want {
			t.Errorf("%s on %s: got %v, want %q", c.text, c.target, err, want)
		}
	}
}

// TestOneFunctionOfTwoEntries: what two kernels call is decoded for each of them.
func TestOneFunctionOfTwoEntries(t *testing.T) {
	src := on("sm_90", header) + `.func f(.param .u64 p) {
	.reg .b64 %rd<3>; .reg .b32 %r<3>;
	ld.param.u64 %rd1, [p];
	cp.async.bulk.prefetch.L2.global [%rd1], 16;
	cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd1], [%r1], 16, %rd2;
	ret;
}
.entry a() { ret; }
.entry b() { call f, (x); ret; }
`
	src = strings.ReplaceAll(strings.ReplaceAll(src, ".entry a() { ret; }", ".entry a() { .param .u64 x; call f, (x); ret; }"), ".entry b() { call", ".entry b() { .param .u64 x; call")
	m, err := Parse("t.ptx", src)
	if err != nil || m.Entry("a").Unsupported != nil || m.Entry("b").Unsupported != nil {
		t.Errorf("%v", err)
	}
}

func TestAddThroughMemory(t *testing.T) {
	out, err := runText(t, kernel("ld.global.u32 %r1, [%rd1];\nadd.s32 %r1, %r1, %r0;\nst.global.u32 [%rd1], %r1;"), 64, make([]byte, 256), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 64 {
		if got := readBytes(out, 4*i, 4); got != uint64(i) {
			t.Fatalf("word %d is %d", i, got)
		}
	}
}

// TestWholeModule reads what compilers write around the instructions: debug lines and sections, linking,
// hints, initialised variables, vector elements, tile source.
func TestWholeModule(t *testing.T) {
	src := `//
// a comment, /* another */
.version 9.4
.target sm_80, debug
.address_size 64
	.file	1 "/dir/k.py", 1700000000, 1024
.visible .global .align 8 .b8 meta[64];
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.func helper (.param .b64 x);
.global .align 4 .b32 table[2][2] = {{1, 2}, {-3, 0x10}};
.const .align 4 .f32 half = 0f3F000000;
.global .align 8 .u64 where[1] = {generic(table)+4};
.extern .shared .align 16 .b8 dynamic[];
.weak .entry k(
	.param .u64 .ptr .global .align 1 k_param_0,
	.param .u8 k_param_1,
	.param .align 2 .b8 k_param_2[2]
)
.reqntid 32, 1, 1
.minnctapersm 1
.maxnreg 64
.language 7
{
	.reg .pred %p<3>;
	.reg .b32 %r<9>, %x;
	.reg .b64 %rd<9>;
	.loc	1 12 7, function_name $str, inlined_at 1 3 4
	.loc_intermediate 2 4 5
	.pragma "nounroll";
	ld.param.b64 %rd1, [k_param_0];
	ld.param.u8 %r1, [k_param_1+0];
	ld.param.b16 %r8, [k_param_2];
	ld.global.v2.b32 {%r2, %r3}, [table+8];
	ld.global.b64 %rd2, [where];
	ld.b32 %r4, [%rd2];
	ld.const.b32 %r5, [half];
	mov.b32 %r6, dynamic;
	mov.u32 %x, %tid.x;
	setp.ne.u32 %p1, %x, 0; @%p1 bra $L__end_1;
	st.global.v4.b32 [%rd1], {%r1, %r2, %r3, %r4};
	st.global.v2.b32 [%rd1+16], {%r5, %r6};
$L__end_1:
	ret;
}
	.section .debug_abbrev { .b8 1, 2 .b8 3 }
.nv_intermediate_source_section { .code_block { .ir_name: "tile ir" .sourceFileName: 2 .source_begin
entry @k(%a: tile<ptr<f32>>) { } }}} "
.source_end } }
`
	m, err := Parse("whole.ptx", src)
	if err != nil {
		t.Fatal(err)
	}
	e := m.Entry("k")
	if e.ReqNTID != [3]int{32, 1, 1} || len(e.Params) != 3 || e.Params[1].Size != 1 || e.Params[2].Align != 2 || !e.Dynamic || e.Unsupported != nil || m.Target() != "sm_80" {
		t.Fatalf("%+v", e)
	}
	mem := NewMemory()
	a := mem.Alloc("out", make([]byte, 24), 16)
	if _, err := m.Run(t.Context(), "k", mem, []Arg{le64(a), {200}, {1, 2}}, Options{DynShared: 64}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{200, 0xfffffffd, 16, 2, 0x3f000000, 0} {
		if got := readBytes(mem.Bytes(a), 4*i, 4); got != want {
			t.Errorf("word %d: got %#x, want %#x", i, got, want)
		}
	}
}

// FuzzRun looks for texts that break the parser or the machine: whatever the text, there is an error or a
// result, never a panic, and it ends.
func FuzzRun(f *testing.F) {
	f.Add(kernel("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd0];"))
	f.Add(loopKernel)
	f.Add(mmaKernel)
	f.Add(sharedKernel(messageText("st.release.cta.shared.u32", "ld.acquire.cta.shared.u32")))
	f.Add(kernel("{ .param .b32 a; st.param.b32 [a], %r0; bar.red.popc.u32 %r1, 0, %p1; atom.global.cas.b32 %r1, [%rd0], 5, %r2; }"))
	f.Add(kernel("shfl.sync.up.b32 %r1|%p1, %r1, 2, 0, -1; prmt.b32 %r1, %r2, %r3, %r4; bfi.b32 %r1, %r2, %r3, 4, 5; cvt.rn.f16x2.f32 %r1, %f1, %f2;"))
	f.Fuzz(func(t *testing.T, src string) {
		m, err := Parse("fuzz.ptx", src)
		if err != nil {
			return
		}
		for _, name := range m.Entries() {
			mem := NewMemory()
			var args []Arg
			for _, p := range m.Entry(name).Params {
				if p.Size > 1<<16 {
					return
				}
				b := make([]byte, max(8, p.Size))
				writeBytes(b, 0, 8, mem.Alloc("buf", make([]byte, 256), 256))
				args = append(args, b[:p.Size])
			}
			m.Run(t.Context(), name, mem, args, Options{Block: atLeast1(m.Entry(name).ReqNTID), MaxSteps: 20000, Checks: Checks{NoUndefined: true}, Stats: true})
		}
	})
}

// TestScopesOfNames: braces hold names of their own, and name<n> declares name0 to name<n-1>, not name
// (sections 5.5 and 7.1).
func TestScopesOfNames(t *testing.T) {
	body := `
	.reg .b32 a;
	mov.b32 a, 1;
	{
		.reg .b32 a;
		.reg .b16 a<2>;
		mov.b32 a, 0x00070005;
		mov.b32 {a0, a1}, a;
		{ .reg .b64 a; mov.b64 a, 9; bra L; mov.b32 %r0, 99; L: cvt.u32.u64 %r3, a; }
		{ .reg .b64 a; mov.b64 a, 20; bra L; mov.b32 %r0, 99; L: cvt.u32.u64 %r4, a; }
		cvt.u32.u16 %r2, a1;
	}
	add.s32 a, a, %r2;
	add.s32 a, a, %r3;
	add.s32 a, a, %r4;
	st.global.u32 [%rd1], a;`
	out, err := runText(t, kernel(body), 32, make([]byte, 128), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := readBytes(out, 0, 4); got != 1+7+9+20 {
		t.Errorf("got %d, want 37", got)
	}
	for _, c := range []struct{ regs, want string }{
		{".reg .b32 a, a;", "register 'a' is declared twice"},
		{".reg .b32 a<2>; .reg .b32 a1;", "register 'a1' is declared twice"},
		{".reg .b32 a1; .reg .b32 a<2>;", "register 'a' is declared twice"},
		{".reg .b32 a<2>; .reg .b32 a<4>;", "register 'a' is declared twice"},
		{".reg .b32 a2; .reg .b32 a<2>;", ""},
		{".reg .b32 a<2>; .reg .b32 a2;", ""},
		{"{ .reg .b32 a1; } .reg .b32 a<2>;", ""},
	} {
		_, err := Parse("t.ptx", header+".entry k() { "+c.regs+" }")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.regs, err, c.want)
		}
	}
}
