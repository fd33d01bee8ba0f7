package nvvm_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tileiras/codegen/nvvm"
	"tileiras/codegen/ptx"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/runtime/emu"
)

// lowered is the PTX of a module of TileAA text in the form that codegen takes.
func lowered(t *testing.T, sm, text string) string {
	t.Helper()
	tgt, ok := target.ByName(sm)
	if !ok {
		t.Fatalf("no target %s", sm)
	}
	c := ir.NewContext(tileaa.Dialect)
	op, err := ir.Parse(c, "test.tileir", []byte(text))
	if err != nil {
		t.Fatalf("%s\n%s", c.Diags.String(), text)
	}
	m, err := nvvm.Lower(c, op, nvvm.Options{Target: tgt})
	if err != nil {
		t.Fatal(err)
	}
	out, err := ptx.Emit(m, ptx.Options{Target: tgt})
	if err != nil {
		t.Fatalf("%v\n%s", err, m)
	}
	return string(out)
}

// launch runs kernel @k of a text on the emulator under every schedule. Arguments are []byte for arrays, which the kernel may change,
// and integers. It returns the arrays as they are afterwards, and what was printed.
func launch(t *testing.T, sm, text string, grid int, args ...any) (arrays [][]byte, printed string) {
	t.Helper()
	code := lowered(t, sm, text)
	m, err := emu.Parse("test.ptx", code)
	if err != nil {
		t.Fatalf("%v\n%s", err, code)
	}
	dynamic := 0
	if strings.Contains(code, ".extern .shared") {
		dynamic = 96 << 10 // more than any has here
	}
	for _, schedule := range emu.Schedules {
		mem := emu.NewMemory()
		var params []emu.Arg
		var addresses []uint64
		for i, a := range args {
			switch a := a.(type) {
			case []byte:
				at := mem.Alloc(fmt.Sprintf("argument %d", i), a, 256)
				addresses = append(addresses, at)
				params = append(params, binary.LittleEndian.AppendUint64(nil, at))
			case int32:
				params = append(params, binary.LittleEndian.AppendUint32(nil, uint32(a)))
			case uint16:
				params = append(params, binary.LittleEndian.AppendUint16(nil, a))
			case int64:
				params = append(params, binary.LittleEndian.AppendUint64(nil, uint64(a)))
			default:
				t.Fatalf("argument %d is a %T", i, a)
			}
		}
		var stdout bytes.Buffer
		_, err = m.Run(context.Background(), "k", mem, params, emu.Options{Grid: [3]int{grid, 1, 1}, Schedule: schedule, Stdout: &stdout, MaxSteps: 1 << 24, DynShared: dynamic})
		if err != nil {
			t.Fatalf("%s: %v\n%s\n%s", schedule, err, stdout.String(), code)
		}
		var now [][]byte
		for _, at := range addresses {
			now = append(now, bytes.Clone(mem.Bytes(at)))
		}
		if arrays != nil && fmt.Sprint(now) != fmt.Sprint(arrays) {
			t.Fatalf("%s gives another result\n%s", schedule, code)
		}
		arrays, printed = now, stdout.String()
	}
	return arrays, printed
}

// numElements is the size of the tile of elementwise tests, over two warps.
const numElements = 512

// layouts of that tile: vectors of eight, and single registers.
var testLayouts = map[string]string{
	"vectors": "{reg=[[1],[2],[4]], lane=[[8],[16],[32],[64],[128]], warp=[[256]]} : 512",
	"strided": "{reg=[[64],[128],[256]], lane=[[1],[2],[4],[8],[16]], warp=[[32]]} : 512",
}

// elementwise is a kernel that loads tiles %0, %1, ... of the given element types, runs body, which makes %r, and stores it. L in the
// body stands for the layout and N for the number of elements: "tile<NxF, #L>" of an elementwise type F.
func elementwise(layout, body, result string, operands ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#L = #tileaa.layout<%s>\ntileaa.module @m {\n  entry @k attributes {plan = #tileaa.plan<warps = 2>} (", layout)
	for i, e := range operands {
		fmt.Fprintf(&b, "%%p%d: tile<ptr<%s>>, ", i, e)
	}
	fmt.Fprintf(&b, "%%po: tile<ptr<%s>>) {\n    %%i = iota : tile<512xi32, #L>\n", result)
	pointers := func(name, e string) {
		fmt.Fprintf(&b, "    %%s%[1]s = splat %%p%[1]s : (tile<ptr<%[2]s>>) -> tile<512xptr<%[2]s>, #L>\n", name, e)
		fmt.Fprintf(&b, "    %%q%[1]s = offset %%s%[1]s, %%i : (tile<512xptr<%[2]s>, #L>, tile<512xi32, #L>) -> tile<512xptr<%[2]s>, #L>\n", name, e)
	}
	vec := 1
	if strings.Contains(layout, "reg=[[1]") {
		vec = 16
		for _, e := range append(operands, result) {
			vec = min(vec, 16/elemBytes(e), 8)
		}
	}
	for i, e := range operands {
		name := fmt.Sprint(i)
		pointers(name, e)
		fmt.Fprintf(&b, "    %%v%[1]s, %%t%[1]s = load %%q%[1]s {vec = %[3]d, fast = 0} : (tile<512xptr<%[2]s>, #L>) -> (tile<512x%[2]s, #L>, token)\n", name, e, vec)
	}
	pointers("o", result)
	for _, line := range strings.Split(strings.TrimSpace(body), "\n") {
		fmt.Fprintf(&b, "    %s\n", strings.TrimSpace(line))
	}
	fmt.Fprintf(&b, "    %%tk = store %%qo, %%r {vec = %[2]d, fast = 0} : (tile<512xptr<%[1]s>, #L>, tile<512x%[1]s, #L>) -> token\n    return\n  }\n}\n", result, vec)
	return b.String()
}

func elemBytes(e string) int {
	if f := float.ByName(e); f != nil {
		return max(1, f.StorageBits()/8)
	}
	switch e {
	case "i16":
		return 2
	case "i32":
		return 4
	case "i64":
		return 8
	}
	return 1
}

// unary, binary and ternary op texts on one element type, with attributes.
func opText(name, attrs, elem, result string, operands int) string {
	var vs, ts []string
	for i := range operands {
		vs = append(vs, fmt.Sprintf("%%v%d", i))
		ts = append(ts, fmt.Sprintf("tile<512x%s, #L>", elem))
	}
	if attrs != "" {
		attrs = " {" + attrs + "}"
	}
	return fmt.Sprintf("%%r = \"tileaa.%s\"(%s)%s : (%s) -> tile<512x%s, #L>", name, strings.Join(vs, ", "), attrs, strings.Join(ts, ", "), result)
}

// data is numElements elements of n bytes: interesting patterns first, the rest random.
func data(seed uint64, bits int, special ...uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	bytes := max(1, bits/8)
	var out []byte
	for i := range numElements {
		v := r.Uint64()
		if i < len(special)*len(special) {
			if seed%2 == 0 {
				v = special[i%len(special)]
			} else {
				v = special[i/len(special)%len(special)]
			}
		}
		if bits < 64 {
			v &= 1<<bits - 1
		}
		for b := range bytes {
			out = append(out, byte(v>>(8*b)))
		}
	}
	return out
}

func element(b []byte, i, bytes int) uint64 {
	var w [8]byte
	copy(w[:], b[i*bytes:(i+1)*bytes])
	return binary.LittleEndian.Uint64(w[:])
}
