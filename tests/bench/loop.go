package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tileiras/tests/ptxas"
)

// mix is what a stretch of machine code holds.
type mix struct {
	instructions int
	flops        float64 // of matrix instructions, for one warp
}

// instruction is a line of nvdisasm.
type instruction struct {
	op, modifiers string
	target        string // label of a branch
	conditional   bool   // it may do nothing
}

var (
	label  = regexp.MustCompile(`^(\.L_x_\d+):`)
	line   = regexp.MustCompile(`^\s+/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(@!?U?P\w+\s+)?([A-Z]\w*)([.\w]*)(.*)`)
	jump   = regexp.MustCompile(`\(?(\.L_x_\d+)\)?`)
	choice = regexp.MustCompile(`^\s*!?U?P\d`) // a branch that takes its predicate as an operand
)

// loopOf disassembles a cubin with one kernel and measures its hottest loop: of the innermost loops that with most flops, else with
// most instructions; without a loop the whole kernel. A loop with matrix instructions counts as innermost when the loops inside it
// have none. Loops that only wait for an mbarrier are left out.
func loopOf(tools *ptxas.Tools, cubin string) (mix, error) {
	out, err := exec.Command(filepath.Join(tools.Dir, "nvdisasm"), "-c", cubin).Output()
	if err != nil {
		return mix{}, fmt.Errorf("nvdisasm: %w", err)
	}
	var code []instruction
	labels := map[string]int{}
	for _, l := range strings.Split(string(out), "\n") {
		if m := label.FindStringSubmatch(l); m != nil {
			labels[m[1]] = len(code)
		}
		m := line.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		in := instruction{op: m[2], modifiers: m[3], conditional: m[1] != ""}
		if t := jump.FindStringSubmatch(m[4]); t != nil && m[2] == "BRA" {
			in.target = t[1]
			in.conditional = in.conditional || choice.MatchString(m[4])
		}
		code = append(code, in)
	}
	return hottest(code, labels), nil
}

func hottest(code []instruction, labels map[string]int) mix {
	g := newGraph(code, labels)
	loops := g.loops()
	best, found := mix{}, false
	for i, l := range loops {
		m := g.measure(l)
		inner := slices.ContainsFunc(loops, func(o map[int]bool) bool {
			return len(o) < len(l) && isSubset(o, l) && (m.flops == 0 || g.measure(o).flops > 0)
		})
		if inner {
			continue
		}
		if !found || m.flops > best.flops || m.flops == best.flops && m.instructions > best.instructions {
			best, found = g.measure(loops[i]), true
		}
	}
	if !found {
		return measure(code)
	}
	return best
}

func measure(code []instruction) mix {
	m := mix{instructions: len(code)}
	for _, in := range code {
		m.flops += flops(in)
	}
	return m
}

// shapes are the m, n and k that the digits of a warp's matrix instruction mean (HMMA.16816).
var shapes = map[string][3]float64{
	"884": {8, 8, 4}, "1684": {16, 8, 4}, "1688": {16, 8, 8}, "16816": {16, 8, 16}, "16832": {16, 8, 32}, "16864": {16, 8, 64},
	"8816": {8, 8, 16}, "8832": {8, 8, 32},
}

var (
	warpShape  = regexp.MustCompile(`^\.(\d+)`)
	groupShape = regexp.MustCompile(`(\d+)x(\d+)x(\d+)`)
)

// flops is what a matrix instruction computes for one warp; a warpgroup's counts for each of its four warps in equal parts.
func flops(in instruction) float64 {
	switch {
	case strings.HasSuffix(in.op, "GMMA"):
		if m := groupShape.FindStringSubmatch(in.modifiers); m != nil {
			n := 2.0
			for _, d := range m[1:] {
				v, _ := strconv.Atoi(d)
				n *= float64(v)
			}
			return n / 4
		}
	case strings.HasSuffix(in.op, "MMA"):
		if m := warpShape.FindStringSubmatch(in.modifiers); m != nil {
			s := shapes[m[1]]
			return 2 * s[0] * s[1] * s[2]
		}
	}
	return 0
}
