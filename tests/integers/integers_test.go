// Package integers_test holds integers that are computed in fewer bits than a program writes against their arithmetic: random expressions of bytes, words and
// constants, by operations that narrow-integers looks through and others, which become floats or bytes at the end.
package integers_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/ir/float"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

const elements = 1024

// expression is a value of 8 to 64 bits: its name in the module, and its elements, of which those bits count.
type expression struct {
	name     string
	width    int
	elems    []uint64
	constant bool
}

func (e expression) typ() string { return fmt.Sprintf("tile<%dxi%d>", elements, e.width) }

func signed(x uint64, width int) int64 { return int64(x<<(64-width)) >> (64 - width) }

type generator struct {
	r    *rand.Rand
	body strings.Builder
	n    int
	vals []expression
}

func (g *generator) define(width int, elem func(i int) uint64, format string, args ...any) expression {
	e := expression{fmt.Sprintf("%%v%d", g.n), width, make([]uint64, elements), strings.HasPrefix(format, "constant")}
	g.n++
	fmt.Fprintf(&g.body, "    %s = %s\n", e.name, fmt.Sprintf(format, args...))
	for i := range e.elems {
		e.elems[i] = elem(i) << (64 - width) >> (64 - width)
	}
	g.vals = append(g.vals, e)
	return e
}

func (g *generator) pick() expression { return g.vals[g.r.IntN(len(g.vals))] }

// wide is a value of more than a byte, often the last one.
func (g *generator) wide() expression {
	for at := len(g.vals) - 1; g.r.IntN(2) == 0 && at >= 0 && at > len(g.vals)-3; at-- {
		if e := g.vals[at]; e.width > 8 && !e.constant {
			return e
		}
	}
	for range 8 {
		if e := g.pick(); e.width > 8 && !e.constant {
			return e
		}
	}
	x := g.pick()
	if x.width > 8 {
		return x
	}
	return g.extended(x, []int{16, 32, 32, 64}[g.r.IntN(4)])
}

func (g *generator) extended(x expression, width int) expression {
	to := fmt.Sprintf("tile<%dxi%d>", elements, width)
	if g.r.IntN(2) == 0 {
		return g.define(width, func(i int) uint64 { return uint64(signed(x.elems[i], x.width)) }, "exti %s signed : %s -> %s", x.name, x.typ(), to)
	}
	return g.define(width, func(i int) uint64 { return x.elems[i] }, "exti %s unsigned : %s -> %s", x.name, x.typ(), to)
}

func (g *generator) constant(width int, c uint64) expression {
	return g.define(width, func(int) uint64 { return c }, "constant <i%d: %d> : tile<%dxi%d>", width, signed(c, width), elements, width)
}

// other is a second operand: a constant, mostly, as masks and zero points are, or a value of the same width.
func (g *generator) other(width int) expression {
	if g.r.IntN(4) == 0 {
		for _, at := range g.r.Perm(len(g.vals)) {
			if e := g.vals[at]; e.width == width {
				return e
			}
		}
	}
	return g.constant(width, []uint64{0, 1, 3, 7, 8, 15, 15, 16, 127, 128, 240, 255, 256, 1<<25 - 1, math.MaxUint64, math.MaxUint64 - 7}[g.r.IntN(16)])
}

func (g *generator) step() {
	x := g.wide()
	switch at := g.r.IntN(9); at {
	case 0, 1, 2:
		y := g.other(x.width)
		name := []string{"andi", "ori", "xori"}[at]
		g.define(x.width, func(i int) uint64 {
			return []uint64{x.elems[i] & y.elems[i], x.elems[i] | y.elems[i], x.elems[i] ^ y.elems[i]}[at]
		}, "%s %s, %s : %s", name, x.name, y.name, x.typ())
	case 3:
		y := g.other(x.width)
		g.define(x.width, func(i int) uint64 { return x.elems[i] + y.elems[i] }, "addi %s, %s : %s", x.name, y.name, x.typ())
	case 4:
		y := g.other(x.width)
		g.define(x.width, func(i int) uint64 { return x.elems[i] - y.elems[i] }, "subi %s, %s : %s", x.name, y.name, x.typ())
	case 5, 6:
		c := g.r.IntN(min(x.width, 12))
		n := g.constant(x.width, uint64(c))
		switch g.r.IntN(3) {
		case 0:
			g.define(x.width, func(i int) uint64 { return x.elems[i] << c }, "shli %s, %s : %s", x.name, n.name, x.typ())
		case 1:
			g.define(x.width, func(i int) uint64 { return x.elems[i] >> c }, "shri %s, %s unsigned : %s", x.name, n.name, x.typ())
		default:
			g.define(x.width, func(i int) uint64 { return uint64(signed(x.elems[i], x.width) >> c) }, "shri %s, %s signed : %s", x.name, n.name, x.typ())
		}
	case 7:
		y := g.constant(x.width, []uint64{15, 7, 3, 127, 255, 200, 1<<25 - 1}[g.r.IntN(7)])
		g.define(x.width, func(i int) uint64 { return x.elems[i] & y.elems[i] }, "andi %s, %s : %s", x.name, y.name, x.typ())
	default:
		if x.width < 64 {
			g.extended(x, 64)
		} else {
			g.define(16, func(i int) uint64 { return x.elems[i] }, "trunci %s : %s -> tile<%dxi16>", x.name, x.typ(), elements)
		}
	}
}

// view stores or loads a whole array.
func view(b *strings.Builder, array, elem string) (kind, at string) {
	v := fmt.Sprintf("tensor_view<%dx%s, strides=[1]>", elements, elem)
	kind = fmt.Sprintf("partition_view<tile=(%d), %s>", elements, v)
	fmt.Fprintf(b, "    %%a%s = make_tensor_view %%%s, shape = [%d], strides = [1] : %s\n", array, array, elements, v)
	fmt.Fprintf(b, "    %%p%s = make_partition_view %%a%s : %s\n", array, array, kind)
	return kind, fmt.Sprintf("%%p%s[%%z]", array)
}

// module is a kernel of an array of bytes and one of words, with what it makes of them.
func module(seed uint64) (l *cases.Launch, want [][]byte) {
	g := &generator{r: rand.New(rand.NewPCG(seed, 7))}
	inputs := [][]byte{make([]byte, elements), make([]byte, 4*elements)}
	for _, b := range inputs {
		for i := range b {
			b[i] = byte(g.r.Uint32())
		}
	}
	params := []string{"%x: tile<ptr<i8>>", "%y: tile<ptr<i32>>"}
	for i, name := range []string{"x", "y"} {
		width := 8 << (2 * i)
		kind, at := view(&g.body, name, fmt.Sprintf("i%d", width))
		fmt.Fprintf(&g.body, "    %%l%s, %%t%s = load_view_tko weak %s : %s, tile<i32> -> tile<%dxi%d>, token\n", name, name, at, kind, elements, width)
		e := expression{"%l" + name, width, make([]uint64, elements), false}
		for k := range e.elems {
			var word [8]byte
			copy(word[:], inputs[i][k*width/8:(k+1)*width/8])
			e.elems[k] = binary.LittleEndian.Uint64(word[:])
		}
		g.vals = append(g.vals, e)
	}
	for range 1 + g.r.IntN(2) {
		g.extended(g.vals[0], []int{16, 32, 32, 64}[g.r.IntN(4)])
	}
	for range 1 + g.r.IntN(10) {
		g.step()
	}
	for k := range 3 {
		x := g.wide()
		name, elem := fmt.Sprintf("o%d", k), "i8"
		var out []byte
		if k == 0 {
			g.define(8, func(i int) uint64 { return x.elems[i] }, "trunci %s : %s -> tile<%dxi8>", x.name, x.typ(), elements)
			for _, e := range g.vals[len(g.vals)-1].elems {
				out = append(out, byte(e))
			}
		} else {
			f := []*float.Format{float.F32, float.F16, float.BF16}[g.r.IntN(3)]
			elem = f.Name()
			sign := []string{"signed", "unsigned"}[g.r.IntN(2)]
			g.define(64, func(i int) uint64 {
				if sign == "signed" {
					return f.FromInt(signed(x.elems[i], x.width), float.NearestEven)
				}
				return f.FromUint(x.elems[i], float.NearestEven)
			}, "itof %s %s : %s -> tile<%dx%s>", x.name, sign, x.typ(), elements, elem)
			for _, e := range g.vals[len(g.vals)-1].elems {
				out = append(out, binary.LittleEndian.AppendUint64(nil, e)[:f.StorageBits()/8]...)
			}
		}
		result := g.vals[len(g.vals)-1].name
		g.vals = g.vals[:len(g.vals)-1]
		kind, at := view(&g.body, name, elem)
		fmt.Fprintf(&g.body, "    %%s%d = store_view_tko weak %s, %s : tile<%dx%s>, %s, tile<i32> -> token\n", k, result, at, elements, elem, kind)
		params, want = append(params, fmt.Sprintf("%%%s: tile<ptr<%s>>", name, elem)), append(want, out)
	}
	text := fmt.Sprintf("cuda_tile.module @m {\n  entry @k(%s) {\n    %%z = constant <i32: 0> : tile<i32>\n%s    return\n  }\n}\n", strings.Join(params, ", "), &g.body)
	l = &cases.Launch{Bytecode: []byte(text), Kernel: "k", Grid: [3]int{1, 1, 1}}
	for i := range params {
		b := cases.LaunchBuffer{Name: fmt.Sprint(i), Align: 256}
		if i < len(inputs) {
			b.Bytes = inputs[i]
		} else {
			b.Bytes = make([]byte, len(want[i-len(inputs)]))
		}
		l.Buffers, l.Params = append(l.Buffers, b), append(l.Params, cases.LaunchParam{Buffer: i})
	}
	return l, want
}

// TestIntegersMean compiles random modules; TILEIRAS_INTEGERS says how many.
func TestIntegersMean(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("TILEIRAS_INTEGERS"))
	if err != nil {
		n = 600
	}
	targets := []string{"sm_75", "sm_80", "sm_90", "sm_120"}
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			launch, want := module(uint64(seed))
			machines := []cases.Machine{&tilerun.Emulator{GPU: targets[seed%len(targets)], Code: driver.Code{Opt: 3}, Schedule: emu.Schedules[0]}}
			if seed%5 == 0 {
				machines = append(machines, &tilerun.Interpreter{})
			}
			for _, m := range machines {
				out, err := m.Launch(t.Context(), launch)
				if err != nil {
					t.Fatalf("%s: %v\n%s", m, err, launch.Bytecode)
				}
				for k, w := range want {
					if got := out.Buffers[2+k]; string(got) != string(w) {
						t.Fatalf("%s: result %d differs\n%s", m, k, launch.Bytecode)
					}
				}
			}
		})
	}
}
