package tilepasses

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
	"tileiras/passes"
	"tileiras/passes/pass"
	"tileiras/runtime/interp"
)

// program draws the text of a kernel that computes with integers, branches, loops and jumps, and prints what it finds.
type program struct {
	t           *rapid.T
	text        strings.Builder
	names, left int      // names used, statements that may still be drawn
	ints, bools []string // visible values
	loops       []loop   // around, innermost last
}

type loop struct {
	isFor   bool
	carried int
}

var (
	intOps     = []string{"addi", "subi", "muli", "xori", "andi"}
	predicates = []string{"equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"}
	signs      = []string{"signed", "unsigned"}
)

func (p *program) line(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }
func (p *program) write(text string)               { p.text.WriteString(text + "\n") }
func (p *program) name() string                    { p.names++; return fmt.Sprintf("%%v%d", p.names) }
func (p *program) pick(what string, n int) int     { return rapid.IntRange(0, n-1).Draw(p.t, what) }
func (p *program) one(list []string) string        { return list[p.pick("one of", len(list))] }
func (p *program) int() string                     { return p.one(p.ints) }
func (p *program) bool() string                    { return p.one(p.bools) }

func (p *program) newInt(format string, args ...any) {
	n := p.name()
	p.write(n + " = " + fmt.Sprintf(format, args...))
	p.ints = append(p.ints, n)
}

func (p *program) newBool(format string, args ...any) string {
	n := p.name()
	p.write(n + " = " + fmt.Sprintf(format, args...))
	p.bools = append(p.bools, n)
	return n
}

// numbers draws n visible numbers.
func (p *program) numbers(n int) (vs []string) {
	for range n {
		vs = append(vs, p.int())
	}
	return vs
}

func types(ints, bools int) string {
	return strings.Join(append(slices.Repeat([]string{"tile<i32>"}, ints), slices.Repeat([]string{"tile<i1>"}, bools)...), ", ")
}

// operands is " a, b : T, T", of which the first are numbers, or nothing.
func operands(vs []string, ints int) string {
	if len(vs) == 0 {
		return ""
	}
	return " " + strings.Join(vs, ", ") + " : " + types(ints, len(vs)-ints)
}

// region draws statements and what ends them; their values are visible inside only.
func (p *program) region(end func()) {
	ints, bools := len(p.ints), len(p.bools)
	for n := p.pick("statements", 4); n > 0; n-- {
		p.statement()
	}
	end()
	p.ints, p.bools = p.ints[:ints], p.bools[:bools]
}

// jump draws a jump that may end a branch here, or none.
func (p *program) jump() bool {
	kind := p.pick("jump", 6)
	if len(p.loops) > 0 && kind == 0 {
		in := p.loops[len(p.loops)-1]
		p.write(map[bool]string{true: "continue", false: "break"}[in.isFor] + operands(p.numbers(in.carried), in.carried))
		return true
	}
	if kind == 1 && !slices.ContainsFunc(p.loops, func(l loop) bool { return l.isFor }) {
		p.write("return")
		return true
	}
	return false
}

func (p *program) statement() {
	if p.left--; p.left < 0 {
		return
	}
	switch p.pick("statement", 14) {
	case 0:
		p.newInt("%s %s, %s : tile<i32>", p.one(intOps), p.int(), p.int())
	case 1:
		p.newInt("constant <i32: %d> : tile<i32>", p.pick("value", 4)-1)
	case 2:
		p.newBool("constant <i1: %d> : tile<i1>", p.pick("value", 2))
	case 3:
		p.newBool("cmpi %s %s, %s, %s : tile<i32> -> tile<i1>", p.one(predicates), p.int(), p.int(), p.one(signs))
	case 4:
		p.newBool("xori %s, %s : tile<i1>", p.bool(), p.one([]string{"%true", p.bool()}))
	case 5:
		p.newInt("select %s, %s, %s : tile<i1>, tile<i32>", p.bool(), p.int(), p.int())
	case 6:
		p.newBool("select %s, %s, %s : tile<i1>, tile<i1>", p.bool(), p.bool(), p.bool())
	case 7:
		p.print(p.int())
	case 8, 9:
		p.branches()
	case 10:
		p.nested()
	case 11, 12:
		if len(p.loops) < 2 {
			p.forLoop()
		}
	case 13:
		if len(p.loops) < 2 {
			p.openLoop()
		}
	}
}

func (p *program) print(v string) {
	p.line(`%s = print_tko "%%d;", %s : tile<i32> -> token`, p.name(), v)
}

// branches draws an if, and often another one right after it on the same condition or on its opposite.
func (p *program) branches() {
	c := p.bool()
	second := c
	if p.pick("opposite", 3) == 0 {
		second = p.newBool("xori %s, %%true : tile<i1>", c)
	}
	p.branch(c)
	if p.pick("again", 2) == 1 {
		p.branch(second)
	}
}

// nested draws an if alone in an if.
func (p *program) nested() {
	inner, first, second := p.name(), p.name(), p.name()
	same, c, d := p.int(), p.bool(), p.bool()
	p.line("%s, %s = if %s -> (%s) {\n%s = if %s -> (tile<i32>) {", first, second, c, types(2, 0), inner, d)
	p.region(func() {
		if !p.jump() {
			p.write("yield" + operands(p.numbers(1), 1))
		}
	})
	p.line("} else {\nyield%s\n}\nyield%s", operands([]string{same}, 1), operands([]string{inner, p.int()}, 2))
	p.line("} else {\nyield%s\n}", operands([]string{p.one([]string{same, p.int()}), p.int()}, 2))
	p.ints = append(p.ints, first, second)
}

func (p *program) branch(condition string) {
	ints, bools := p.pick("results", 3), p.pick("truths", 2)
	var results []string
	for range ints + bools {
		results = append(results, p.name())
	}
	head := "if " + condition
	if len(results) > 0 {
		head = strings.Join(results, ", ") + " = " + head + " -> (" + types(ints, bools) + ")"
	}
	end := func() {
		if p.jump() {
			return
		}
		values := p.numbers(ints)
		for range bools {
			values = append(values, p.bool())
		}
		if len(values) > 0 {
			p.write("yield" + operands(values, ints))
		}
	}
	p.write(head + " {")
	p.region(end)
	if len(results) > 0 || p.pick("else", 2) == 1 {
		p.write("} else {")
		p.region(end)
	}
	p.write("}")
	p.ints, p.bools = append(p.ints, results[:ints]...), append(p.bools, results[ints:]...)
}

// carry draws what a loop carries: n results, arguments of the body, and the text "arg = init, ...".
func (p *program) carry(n int) (results, args []string, inits string) {
	var pairs []string
	for _, init := range p.numbers(n) {
		results, args = append(results, p.name()), append(args, p.name())
		pairs = append(pairs, args[len(args)-1]+" = "+init)
	}
	return results, args, strings.Join(pairs, ", ")
}

// forLoop draws a for from %lo to %hi, most often with an if on its counter in it.
func (p *program) forLoop() {
	n, counter := p.pick("carried", 3), p.name()
	results, args, inits := p.carry(n)
	head := fmt.Sprintf("for %s in (%%lo to %%hi, step %%by) : tile<i32>", counter)
	if n > 0 {
		head = strings.Join(results, ", ") + " = " + head + " iter_values(" + inits + ") -> (" + types(n, 0) + ")"
	}
	bound := p.one([]string{"%s", p.int()})
	outer := len(p.ints)
	p.write(head + " {")
	p.loops = append(p.loops, loop{true, n})
	p.ints = append(append(p.ints, counter), args...)
	p.region(func() {
		if p.pick("compared", 4) > 0 {
			sides := []string{counter, bound}
			if p.pick("mirrored", 2) == 1 {
				slices.Reverse(sides)
			}
			p.branch(p.newBool("cmpi %s %s, signed : tile<i32> -> tile<i1>", p.one(predicates), strings.Join(sides, ", ")))
		}
		p.statement()
		p.print(p.int())
		p.write("continue" + operands(p.numbers(n), n))
	})
	p.loops = p.loops[:len(p.loops)-1]
	p.write("}")
	p.ints = append(p.ints[:outer], results...)
}

// openLoop draws a loop that a break ends, in its third round at the latest.
func (p *program) openLoop() {
	n, counter := 1+p.pick("carried", 2), p.name()
	results, args, inits := p.carry(n)
	outer := len(p.ints)
	p.line("%s = loop iter_values(%s = %%zero, %s) : %s -> %s {", strings.Join(results, ", "), counter, inits, types(n+1, 0), types(n, 0))
	p.loops = append(p.loops, loop{false, n})
	p.ints = append(append(p.ints, counter), args...)
	done, next := p.name(), p.name()
	p.line("%s = cmpi greater_than %s, %%one, signed : tile<i32> -> tile<i1>", done, counter)
	p.line("if %s {\nbreak%s\n}", done, operands(p.numbers(n), n))
	p.region(func() {
		p.line("%s = addi %s, %%one : tile<i32>", next, counter)
		p.write("continue" + operands(append([]string{next}, p.numbers(n)...), n+1))
	})
	p.loops = p.loops[:len(p.loops)-1]
	p.write("}")
	p.ints = append(p.ints[:outer], results...)
}

// inputs are the arguments of a program. The loops of it begin anywhere, at the ends of the range too, and make few rounds.
type inputs struct{ x, y, lo, hi, by, s, c int64 }

func drawInputs(t *rapid.T) inputs {
	clamp := func(n int64) int64 { return min(max(n, math.MinInt32), math.MaxInt32) }
	small := rapid.Int64Range(-3, 3)
	in := inputs{x: small.Draw(t, "x"), y: small.Draw(t, "y"), c: rapid.Int64Range(0, 1).Draw(t, "c")}
	in.lo = rapid.SampledFrom([]int64{0, -2, 5, math.MinInt32, math.MaxInt32 - 4, math.MaxInt32}).Draw(t, "lo")
	in.by = rapid.SampledFrom([]int64{1, 2, 3, math.MaxInt32}).Draw(t, "by")
	in.hi = clamp(in.lo + rapid.Int64Range(-1, 6).Draw(t, "hi"))
	if in.by == math.MaxInt32 {
		in.hi = rapid.SampledFrom([]int64{in.hi, math.MaxInt32}).Draw(t, "hi")
	}
	in.s = rapid.SampledFrom([]int64{clamp(in.lo + rapid.Int64Range(-2, 7).Draw(t, "s")), math.MinInt32, math.MaxInt32}).Draw(t, "bound")
	return in
}

// drawProgram draws a kernel and its arguments. What a loop runs between may be known or not.
func drawProgram(t *rapid.T) (text string, args []uint64) {
	p := &program{t: t, left: 24, ints: []string{"%x", "%y", "%s", "%zero", "%one"}, bools: []string{"%c", "%true"}}
	in := drawInputs(t)
	p.write("cuda_tile.module @m {\nentry @k(%x: tile<i32>, %y: tile<i32>, %a: tile<i32>, %b: tile<i32>, %d: tile<i32>, %e: tile<i32>, %c: tile<i1>) {")
	p.write("%zero = constant <i32: 0> : tile<i32>\n%one = constant <i32: 1> : tile<i32>\n%true = constant <i1: 1> : tile<i1>")
	for _, v := range []struct {
		name, arg string
		n         int64
	}{{"%lo", "%a", in.lo}, {"%hi", "%b", in.hi}, {"%by", "%d", in.by}, {"%s", "%e", in.s}} {
		if p.pick("known", 2) == 1 {
			p.line("%s = constant <i32: %d> : tile<i32>", v.name, v.n)
		} else {
			p.line("%s = addi %s, %%zero : tile<i32>", v.name, v.arg)
		}
		args = append(args, uint64(uint32(v.n)))
	}
	for range 6 {
		p.statement()
	}
	for _, v := range p.ints {
		p.print(v)
	}
	for _, v := range p.bools {
		p.newInt("exti %s unsigned : tile<i1> -> tile<i32>", v)
		p.print(p.ints[len(p.ints)-1])
	}
	p.write("return\n}\n}")
	args = append([]uint64{uint64(uint32(in.x)), uint64(uint32(in.y))}, append(args, uint64(in.c))...)
	return p.text.String(), args
}

// run is what a program prints.
func run(t *rapid.T, m *ir.Op, args []uint64) string {
	prog, err := interp.New(m)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := prog.Run(context.Background(), "k", interp.NewMemory(), args, interp.Options{Stdout: &out, MaxSteps: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestPassesKeepWhatRandomProgramsPrint runs random programs before and after every pass, and after all of them in a random order.
func TestPassesKeepWhatRandomProgramsPrint(t *testing.T) {
	changes := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		text, args := drawProgram(t)
		parse := func() (*ir.Context, *ir.Op) {
			c := ir.NewContext(cudatile.Dialect)
			m, err := ir.Parse(c, "random", []byte(text))
			if err != nil || !ir.Verify(c, m) {
				t.Fatalf("%v\n%s\n%s", err, c.Diags.String(), text)
			}
			return c, m
		}
		_, m := parse()
		want := run(t, m, args)
		all := rapid.Permutation(slices.DeleteFunc(passes.OnCudaTile(), func(p *pass.Pass) bool {
			return p.Name == "test-debuginfo-update-symbol-name"
		})).Draw(t, "order")
		try := func(list ...*pass.Pass) {
			c, m := parse()
			before := ir.Text(m, ir.PrintOptions{})
			manager := pass.Manager{State: &pass.State{Ctx: c, Module: m}, VerifyEach: true}
			if err := manager.Run(list, ""); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if got := run(t, m, args); got != want {
				var names []string
				for _, p := range list {
					names = append(names, p.Name)
				}
				t.Fatalf("after %s it prints\n%s\ninstead of\n%s\nfor %v\n%s\nnow\n%s", strings.Join(names, ", "), got, want, args, text, ir.Text(m, ir.PrintOptions{}))
			}
			if ir.Text(m, ir.PrintOptions{}) != before {
				changes[list[0].Name]++
			}
		}
		for _, p := range all {
			try(p)
		}
		try(all...)
	})
	for _, name := range []string{"canonicalize", "cse", "loop-invariant-code-motion", "dce", "loop-split"} {
		if changes[name] == 0 {
			t.Errorf("%s changes none of the programs", name)
		}
	}
}
