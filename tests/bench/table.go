package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tileiras/tests/ptxas"
)

// tableTargets are the architectures of docs/benchmarks.md, with ptxas's names for them.
var tableTargets = []struct{ gpu, arch string }{{"sm_80", "sm_80"}, {"sm_90", "sm_90a"}}

// row is one kernel on one architecture; nil where a compiler does not take it.
type row struct {
	kernel       string
	ours, theirs *side
	why          string // we do not compile it
}

// side is what one compiler makes of a kernel.
type side struct {
	ptxas.Kernel
	code mix
}

const tableHead = `# Benchmarks

The performance corpus beside NVIDIA's compiler, judged without a GPU. Both columns are what ptxas -v reports of PTX: ours, compiled
with ` + "`--abi=tile`" + ` so that shared memory is static and is reported, and the PTX that NVIDIA's tileiras puts into its cubins
(the same text gives the same code). A cell is "ours / theirs". The loop is the innermost loop with most matrix instructions, else
with most instructions; its count is machine instructions for 8192 floating-point operations of matrix instructions where both loops
have such, else instructions of the loop. Ratios are ours by theirs: above 1 is worse for registers, shared memory and the loop.

These numbers are the base line: one stage, no roles, mma.sync on every target. Written by ` + "`go run ./tests/bench -table`" + `.
`

func writeTable(tileiras string, kernels []string, scratch, out string) error {
	tools, ok := ptxas.Find(scratch)
	if !ok {
		return fmt.Errorf("%s is not set: it names the folder with NVIDIA's tools (make nvidia)", ptxas.Variable)
	}
	var b strings.Builder
	b.WriteString(tableHead)
	for _, t := range tableTargets {
		var rows []row
		for _, k := range kernels {
			r := row{kernel: k}
			var err error
			if r.ours, err = ours(tools, tileiras, k, t.gpu, t.arch, scratch); err != nil {
				r.why = firstLine(err)
			}
			if r.theirs, err = theirs(tools, k, t.gpu, t.arch); err != nil {
				fmt.Fprintf(os.Stderr, "%s, %s: %v\n", k, t.gpu, firstLine(err))
			}
			rows = append(rows, r)
			fmt.Fprintf(os.Stderr, "%s %s\n", t.gpu, k)
		}
		section(&b, t.gpu, rows)
	}
	return os.WriteFile(out, []byte(b.String()), 0o644)
}

func ours(tools *ptxas.Tools, tileiras, kernel, gpu, arch, scratch string) (*side, error) {
	file := filepath.Join(scratch, "ours.ptx")
	cmd := exec.Command(tileiras, input(kernel), "--gpu-name", gpu, "--abi=tile", "-o", file)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("tileiras: %w\n%s", err, text)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return assemble(tools, kernel, string(text), arch)
}

func theirs(tools *ptxas.Tools, kernel, gpu, arch string) (*side, error) {
	text, err := tools.Nvidia(context.Background(), input(kernel), gpu)
	if err != nil {
		return nil, err
	}
	return assemble(tools, kernel, text, arch, ptxas.KnobOption)
}

func assemble(tools *ptxas.Tools, kernel, text, arch string, options ...string) (*side, error) {
	r, err := tools.Assemble(context.Background(), kernel, text, arch, options...)
	if err != nil {
		return nil, err
	}
	if len(r.Kernels) != 1 {
		return nil, errors.New("not one kernel in the PTX of " + kernel)
	}
	code, err := loopOf(tools, r.Cubin)
	if err != nil {
		return nil, err
	}
	return &side{r.Kernels[0], code}, nil
}

// section writes the table of one architecture.
func section(b *strings.Builder, gpu string, rows []row) {
	mine, his := 0, 0
	for _, r := range rows {
		if r.ours != nil {
			mine++
		}
		if r.theirs != nil {
			his++
		}
	}
	fmt.Fprintf(b, "\n## %s\n\nOf %d kernels we compile %d, NVIDIA's compiler %d.\n\n", gpu, len(rows), mine, his)
	b.WriteString("| kernel | registers | spilled bytes | shared bytes | warps | loop | registers ratio | shared ratio | warps ratio | loop ratio |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	var refused []row
	for _, r := range rows {
		if r.ours == nil {
			refused = append(refused, r)
			continue
		}
		o, t := r.ours, r.theirs
		warps := func(s *side) int { return (s.Threads + 31) / 32 }
		cell := func(f func(*side) int) string {
			if t == nil {
				return fmt.Sprintf("%d / -", f(o))
			}
			return fmt.Sprintf("%d / %d", f(o), f(t))
		}
		ratio := func(f func(*side) int) string {
			if t == nil || f(t) == 0 {
				return "-"
			}
			return fmt.Sprintf("%.2f", float64(f(o))/float64(f(t)))
		}
		registers := func(s *side) int { return s.Registers }
		memory := func(s *side) int { return s.Shared }
		loop, loopRatio := compareLoops(o, t)
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.kernel, cell(registers), cell(func(s *side) int { return s.Spills() }),
			cell(memory), cell(warps), loop, ratio(registers), ratio(memory), ratio(warps), loopRatio)
	}
	for _, r := range refused {
		fmt.Fprintf(b, "\n`%s` does not compile: %s\n", r.kernel, strings.TrimPrefix(r.why, "error: "))
	}
}

// work is the unit in which loops with matrix instructions are compared, in floating-point operations of a warp.
const work = 8192

func compareLoops(o, t *side) (cell, ratio string) {
	if t == nil || t.code.instructions == 0 || o.code.instructions == 0 {
		return fmt.Sprintf("%d / -", o.code.instructions), "-"
	}
	x, y := float64(o.code.instructions), float64(t.code.instructions)
	if o.code.flops > 0 && t.code.flops > 0 {
		x, y = x*work/o.code.flops, y*work/t.code.flops
		return fmt.Sprintf("%.2f / %.2f", x, y), fmt.Sprintf("%.2f", x/y)
	}
	return fmt.Sprintf("%.0f / %.0f", x, y), "-"
}
