package emu

import (
	"strings"
	"testing"
)

// run1 runs a one-entry module on one buffer and gives its content back.
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

func TestSyntaxErrorsNameTheirPlace(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", "no .version"},
		{".version 8.0\n.target sm_80\n.foo", "t.ptx:3:5: unknown directive '.foo'"},
		{header + ".entry k() { bra", "t.ptx:4:17: expected an operand"},
		{header + ".entry k() {", "not closed"},
		{header + ".entry k() { .reg .b33 %r; }", "unknown type '.b33'"},
		{header + ".entry k() { add.s32 %r1, ?; }", "expected an operand, found '?'"},
		{header + ".entry k() { L: L: ret; }", "label 'L' is defined twice"},
		{header + ".entry k() { ret; } .entry k() { ret; }", "'k' is defined twice"},
		{header + "/* open", "comment is not closed"},
		{header + ".global .b8 x[99999999999];", "too large"},
		{header + ".entry k() { mov.b32 %r1, 0fZZ; }", "not a number"},
		{".version 8.0\n.address_size 32\n", "only .address_size 64"},
		{header + ".entry k() {" + strings.Repeat("{", 300), "nested too deeply"},
		{header + ".entry k() { x " + strings.Repeat("[", 300), "nested too deeply"},
	} {
		_, err := Parse("t.ptx", c.src)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: got %v, want %q", c.src, err, c.want)
		}
	}
}

func TestUnknownInstructionsAreReportedOnlyWhenExecuted(t *testing.T) {
	src := kernel("@%p1 bra END; setp.eq.u32 %p1, %r0, %r0;\n END:")
	src = kernel("setp.eq.u32 %p1, %r0, %r0;\n@%p1 bra END;\nwgmma.fence.sync.aligned;\nEND:")
	if _, err := runText(t, src, 32, make([]byte, 128), Options{}); err != nil {
		t.Errorf("not executed, but reported: %v", err)
	}
	for _, text := range []string{"wgmma.fence.sync.aligned", "add.s32.nonsense %r1, %r1, %r1", "add.s32 %r1, %r99, 1", "add.s32 %r1"} {
		_, err := runText(t, kernel(text+";"), 32, make([]byte, 128), Options{})
		rep, ok := err.(*Report)
		if !ok || rep.Kind != Unsupported || !strings.Contains(rep.Msg, "unsupported instruction: "+text) {
			t.Errorf("%s: got %v", text, err)
		}
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
