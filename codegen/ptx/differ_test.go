package ptx_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/llir/llvm/asm"

	"tileiras/codegen/ptx"
	"tileiras/codegen/target"
	"tileiras/runtime/emu"
)

// Random kernels over LLVM's own instructions, translated by this package and by
// LLVM's back end, must store the same values in the emulator.

// program writes the body of one random kernel.
type program struct {
	out    strings.Builder
	r      *rand.Rand
	values map[string][]string // type -> values that may be used here
	n      int
}

var scalarTypes = []string{"i1", "i8", "i16", "i32", "i64", "float", "double"}

var widthOf = map[string]int{"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64}

func (p *program) line(format string, args ...any) { fmt.Fprintf(&p.out, "  "+format+"\n", args...) }

// fresh names a new value.
func (p *program) fresh() string {
	p.n++
	return fmt.Sprintf("%%v%d", p.n)
}

// define makes a new value of type t from the text of an instruction.
func (p *program) define(t, format string, args ...any) string {
	v := p.fresh()
	p.line("%s = %s", v, fmt.Sprintf(format, args...))
	p.values[t] = append(p.values[t], v)
	return v
}

// pick returns a value or a constant of type t.
func (p *program) pick(t string) string {
	if all := p.values[t]; len(all) > 0 && p.r.IntN(5) > 0 {
		return all[p.r.IntN(len(all))]
	}
	switch t {
	case "i1":
		return []string{"true", "false"}[p.r.IntN(2)]
	case "float", "double":
		if p.r.IntN(8) == 0 { // a quiet NaN or an infinity
			return map[string][]string{
				"float":  {"bitcast (i32 2143289344 to float)", "bitcast (i32 -8388608 to float)"},
				"double": {"bitcast (i64 9221120237041090560 to double)", "bitcast (i64 9218868437227405312 to double)"},
			}[t][p.r.IntN(2)]
		}
	}
	switch t {
	case "float":
		return fmt.Sprintf("bitcast (i32 %d to float)", int32(math.Float32bits(float32(p.r.IntN(64)-32)/4)))
	case "double":
		return fmt.Sprintf("bitcast (i64 %d to double)", int64(math.Float64bits(float64(p.r.IntN(64)-32)/4)))
	}
	return fmt.Sprint(p.r.IntN(200) - 100)
}

func (p *program) choose(list ...string) string { return list[p.r.IntN(len(list))] }

// operation appends one random instruction. Nothing undefined: distances are
// masked, divisors are positive, floats stay where conversions are defined.
func (p *program) operation() {
	integer := p.choose("i8", "i16", "i32", "i64")
	float := p.choose("float", "double")
	switch p.r.IntN(15) {
	case 14: // what becomes mul.wide and mad
		a := p.define("i64", "%s i32 %s to i64", p.choose("zext", "sext"), p.pick("i32"))
		b := p.pick("i64")
		if p.r.IntN(2) == 0 {
			b = p.define("i64", "%s i32 %s to i64", p.choose("zext", "sext"), p.pick("i32"))
		}
		m := p.fresh()
		p.line("%s = %s", m, p.choose("mul i64 "+a+", "+b, "shl i64 "+a+", 3", "mul i64 "+a+", 3000000000", "mul i64 "+a+", -5"))
		p.define("i64", "add i64 %s, %s", p.pick("i64"), m)
		m = p.fresh()
		p.line("%s = mul i32 %s, %s", m, p.pick("i32"), p.pick("i32"))
		p.define("i32", "add i32 %s, %s", m, p.pick("i32"))
	case 0, 1, 2:
		p.define(integer, "%s %s %s, %s", p.choose("add", "sub", "mul", "and", "or", "xor"), integer, p.pick(integer), p.pick(integer))
	case 3:
		d := p.define(integer, "and %s %s, %d", integer, p.pick(integer), widthOf[integer]-1)
		p.define(integer, "%s %s %s, %s", p.choose("shl", "lshr", "ashr"), integer, p.pick(integer), d)
	case 4:
		d := p.define(integer, "and %s %s, 63", integer, p.pick(integer))
		d = p.define(integer, "or %s %s, 1", integer, d)
		p.define(integer, "%s %s %s, %s", p.choose("udiv", "sdiv", "urem", "srem"), integer, p.pick(integer), d)
	case 5:
		p.define("i1", "icmp %s %s %s, %s", p.choose("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"), integer, p.pick(integer), p.pick(integer))
	case 6:
		p.define("i1", "fcmp %s %s %s, %s", p.choose("oeq", "one", "olt", "ole", "ogt", "oge", "ueq", "une", "ult", "ule", "ugt", "uge", "ord", "uno"), float, p.pick(float), p.pick(float))
	case 7:
		t := scalarTypes[p.r.IntN(len(scalarTypes))]
		p.define(t, "select i1 %s, %s %s, %s %s", p.pick("i1"), t, p.pick(t), t, p.pick(t))
	case 8:
		p.define(float, "%s %s %s, %s", p.choose("fadd", "fsub", "fmul", "fdiv"), float, p.pick(float), p.pick(float))
	case 9:
		p.define("i1", "%s i1 %s, %s", p.choose("and", "or", "xor"), p.pick("i1"), p.pick("i1"))
	case 10:
		from, to := scalarTypes[p.r.IntN(5)], scalarTypes[p.r.IntN(5)]
		switch {
		case widthOf[from] < widthOf[to]:
			p.define(to, "%s %s %s to %s", p.choose("zext", "sext"), from, p.pick(from), to)
		case widthOf[from] > widthOf[to]:
			p.define(to, "trunc %s %s to %s", from, p.pick(from), to)
		}
	case 11:
		p.define(float, "%s %s %s to %s", p.choose("sitofp", "uitofp"), integer, p.pick(integer), float)
	case 12:
		// Only the low bits of an exactly known integer go back.
		small := p.define("i16", "and i16 %s, 127", p.pick("i16"))
		f := p.define(float, "uitofp i16 %s to %s", small, float)
		p.define(integer, "%s %s %s to %s", p.choose("fptosi", "fptoui"), float, f, integer)
	case 13:
		switch p.r.IntN(4) {
		case 0:
			p.define("double", "fpext float %s to double", p.pick("float"))
		case 1:
			p.define("float", "fptrunc double %s to float", p.pick("double"))
		case 2:
			p.define(float, "fneg %s %s", float, p.pick(float))
		case 3:
			// Which NaN an operation returns is open: LLVM folds to another one.
			f := p.pick("float")
			c := p.define("i1", "fcmp ord float %s, 0.0", f)
			f = p.define("float", "select i1 %s, float %s, float 1.0", c, f)
			p.define("i32", "bitcast float %s to i32", f)
		}
	}
}

// scope runs f and forgets the values that f defined.
func (p *program) scope(f func()) {
	saved := map[string][]string{}
	for _, t := range scalarTypes {
		saved[t] = p.values[t]
	}
	f()
	for _, t := range scalarTypes {
		p.values[t] = saved[t][:len(saved[t]):len(saved[t])]
	}
}

// branch appends an if with a value that comes from both sides, and returns the
// label of the block after it.
func (p *program) branch(depth int) string {
	p.n++
	id := p.n
	c := p.pick("i1")
	t := scalarTypes[p.r.IntN(len(scalarTypes))]
	var a, b string
	p.line("br i1 %s, label %%then%d, label %%else%d", c, id, id)
	p.scope(func() {
		fmt.Fprintf(&p.out, "then%d:\n", id)
		a = p.pick(t)
		p.statements(depth-1, fmt.Sprintf("then%d", id))
		if p.r.IntN(2) == 0 {
			a = p.pick(t)
		}
		p.line("br label %%from%d", id)
		fmt.Fprintf(&p.out, "from%d:\n", id)
		p.line("br label %%join%d", id)
	})
	p.scope(func() {
		fmt.Fprintf(&p.out, "else%d:\n", id)
		p.statements(depth-1, fmt.Sprintf("else%d", id))
		b = p.pick(t)
		p.line("br label %%other%d", id)
		fmt.Fprintf(&p.out, "other%d:\n", id)
		p.line("br label %%join%d", id)
	})
	fmt.Fprintf(&p.out, "join%d:\n", id)
	p.define(t, "phi %s [ %s, %%from%d ], [ %s, %%other%d ]", t, a, id, b, id)
	return fmt.Sprintf("join%d", id)
}

// loop appends a loop of a few rounds whose values rotate.
func (p *program) loop(depth int, block string) string {
	p.n++
	id := p.n
	t := scalarTypes[p.r.IntN(len(scalarTypes))]
	first := []string{p.pick(t), p.pick(t), p.pick(t)}
	names := []string{p.fresh(), p.fresh(), p.fresh()}
	next := p.fresh()
	p.line("br label %%head%d", id)
	fmt.Fprintf(&p.out, "head%d:\n", id)
	at := p.out.Len()
	text := p.out.String()
	p.values["i32"] = append(p.values["i32"], fmt.Sprintf("%%i%d", id))
	p.values[t] = append(p.values[t], names...)
	var last string
	p.scope(func() {
		p.statements(depth-1, fmt.Sprintf("head%d", id))
		last = p.pick(t)
		p.line("%s = add i32 %%i%d, 1", next, id)
		p.line("%%more%d = icmp ult i32 %s, %d", id, next, 1+p.r.IntN(4))
		p.line("br label %%latch%d", id)
		fmt.Fprintf(&p.out, "latch%d:\n", id)
		p.line("br i1 %%more%d, label %%head%d, label %%exit%d", id, id, id)
	})
	rest := p.out.String()[at:]
	p.out.Reset()
	p.out.WriteString(text)
	p.line("%%i%d = phi i32 [ 0, %%%s ], [ %s, %%latch%d ]", id, block, next, id)
	for k, from := range []string{names[1], names[2], last} {
		p.line("%s = phi %s [ %s, %%%s ], [ %s, %%latch%d ]", names[k], t, first[k], block, from, id)
	}
	p.out.WriteString(rest)
	fmt.Fprintf(&p.out, "exit%d:\n", id)
	return fmt.Sprintf("exit%d", id)
}

// statements appends a few random statements and returns the label of the block
// that control is in after them.
func (p *program) statements(depth int, block string) string {
	for range 2 + p.r.IntN(6) {
		switch k := p.r.IntN(12); {
		case depth > 0 && k == 0:
			block = p.branch(depth)
		case depth > 0 && k == 1:
			block = p.loop(depth, block)
		default:
			p.operation()
		}
	}
	return block
}

const stored = 16 // bytes per value and thread

// kernel writes a whole kernel and returns the types of the values that each
// threadJumps stores.
func kernel(name string, r *rand.Rand) (text string, types []string) {
	p := &program{r: r, values: map[string][]string{}}
	p.define("i32", "call i32 asm \"mov.u32 $0, %%tid.x;\", \"=r\"()")
	tid := p.values["i32"][0]
	p.define("i64", "mul i64 %%l, 7")
	p.define("i8", "trunc i32 %s to i8", tid)
	p.define("i16", "add i16 %%h, 3")
	p.values["float"] = append(p.values["float"], "%x")
	p.values["double"] = append(p.values["double"], "%y")
	p.values["i8"] = append(p.values["i8"], "%b")
	p.define("float", "uitofp i32 %s to float", tid)
	p.statements(3, "entry")
	p.statements(2, p.branch(1))

	for _, t := range scalarTypes {
		for _, v := range p.values[t] {
			if r.IntN(2) == 0 {
				continue // read by others only, or by nobody
			}
			values := len(types)
			at := values * stored * 32
			p.line("%%at%d = mul i32 %s, %d", values, tid, stored)
			p.line("%%to%d = zext i32 %%at%d to i64", values, values)
			p.line("%%q%d = getelementptr i8, i8 addrspace(1)* %%p, i64 %%to%d", values, values)
			row, letter := map[string]string{"i1": "b32", "i8": "b16", "i16": "b16", "i32": "b32", "i64": "b64", "float": "f32", "double": "f64"}[t], ""
			letter = map[string]string{"b16": "h", "b32": "r", "b64": "l", "f32": "f", "f64": "d"}[row]
			typ := t
			if t == "i1" || t == "i8" {
				typ = map[string]string{"i1": "i32", "i8": "i16"}[t]
				p.line("%%e%d = sext %s %s to %s", values, t, v, typ)
				v = fmt.Sprintf("%%e%d", values)
			}
			p.line("call void asm sideeffect \"st.global.%s [$0+$1], $2;\", \"l,n,%s\"(i8 addrspace(1)* %%q%d, i32 %d, %s %s)", row, letter, values, at, typ, v)
			types = append(types, t)
		}
	}
	return fmt.Sprintf("define ptx_kernel void @%s(i8 addrspace(1)* %%p, i8 %%b, i16 %%h, i64 %%l, float %%x, double %%y) {\nentry:\n%s  ret void\n}\n", name, p.out.String()), types
}

// results runs a kernel on 32 threads and returns what it stored.
func results(t *testing.T, m *emu.Module, name string, values int) []byte {
	t.Helper()
	mem := emu.NewMemory()
	at := mem.Alloc("out", make([]byte, values*stored*32), 256)
	word := func(n int, v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v)[:n] }
	args := []emu.Arg{word(8, at), word(1, 0x9c), word(2, 0xfedc), word(8, 0x123456789abcdef0),
		word(4, uint64(math.Float32bits(1.5))), word(8, math.Float64bits(-2.25))}
	if _, err := m.Run(context.Background(), name, mem, args, emu.Options{Block: [3]int{32, 1, 1}, MaxSteps: 1 << 22}); err != nil {
		t.Fatalf("@%s: %v", name, err)
	}
	return mem.Bytes(at)
}

// show prints a stored value; all NaN are one.
func show(t string, b []byte) string {
	v := binary.LittleEndian.Uint64(b)
	switch f := math.Float32frombits(uint32(v)); {
	case t == "float" && f != f, t == "double" && math.Float64frombits(v) != math.Float64frombits(v):
		return "NaN"
	}
	return fmt.Sprintf("%#x", v)
}

func TestRandomKernelsStoreWhatLLVMsBackEndStores(t *testing.T) {
	llc, err := exec.LookPath("llc-16")
	if err != nil {
		t.Skip("not run: llc-16 is not installed")
	}
	const kernels = 250
	var text strings.Builder
	types := make([][]string, kernels)
	for k := range kernels {
		var one string
		one, types[k] = kernel(fmt.Sprintf("k%d", k), rand.New(rand.NewPCG(uint64(k), 7)))
		text.WriteString(one)
	}
	module, err := asm.ParseString("random.ll", text.String())
	if err != nil {
		t.Fatal(err)
	}
	sm80, _ := target.ByName("sm_80")
	ours, err := ptx.Emit(module, ptx.Options{Target: sm80})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(llc, "-mtriple=nvptx64-nvidia-cuda", "-mcpu=sm_80", "-opaque-pointers=0", "-o", "-")
	cmd.Stdin = strings.NewReader(text.String())
	var said strings.Builder
	cmd.Stderr = &said
	theirs, err := cmd.Output()
	if err != nil {
		t.Fatalf("llc: %v\n%.2000s", err, said.String())
	}
	a, err := emu.Parse("ours.ptx", string(ours))
	if err != nil {
		t.Fatal(err)
	}
	b, err := emu.Parse("llc.ptx", string(theirs))
	if err != nil {
		t.Fatal(err)
	}
	for k := range kernels {
		name := fmt.Sprintf("k%d", k)
		x, y := results(t, a, name, len(types[k])), results(t, b, name, len(types[k]))
		for i := 0; i < len(x); i += stored {
			n, thread := i/stored/32, i/stored%32
			if got, want := show(types[k][n], x[i:]), show(types[k][n], y[i:]); got != want {
				t.Errorf("@%s: value %d of thread %d, %s: %s, LLVM's back end has %s", name, n, thread, types[k][n], got, want)
				break
			}
		}
	}
}
