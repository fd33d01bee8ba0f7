package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
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
}

var (
	label = regexp.MustCompile(`^(\.L_x_\d+):`)
	line  = regexp.MustCompile(`^\s+/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z]\w*)([.\w]*)(.*)`)
	jump  = regexp.MustCompile(`\(?(\.L_x_\d+)\)?`)
)

// loopOf disassembles a cubin with one kernel and measures its hottest loop: of the innermost stretches that a branch closes
// backward, that with most flops, else with most instructions; without a loop the whole kernel. A loop with matrix instructions
// counts as innermost when the loops inside it have none.
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
		in := instruction{op: m[1], modifiers: m[2]}
		if t := jump.FindStringSubmatch(m[3]); t != nil && m[1] == "BRA" {
			in.target = t[1]
		}
		code = append(code, in)
	}
	return hottest(code, labels), nil
}

// maxPoll is the length of a loop that only waits for an mbarrier.
const maxPoll = 24

func hottest(code []instruction, labels map[string]int) mix {
	var loops [][2]int // first instruction, one past the last
	for i, in := range code {
		if first, ok := labels[in.target]; ok && first <= i && !polls(code[first:i+1]) {
			loops = append(loops, [2]int{first, i + 1})
		}
	}
	best := mix{}
	found := false
	for _, l := range loops {
		m := measure(code[l[0]:l[1]])
		if containsLoop(l, loops, func(inner mix) bool { return inner.flops > 0 || m.flops == 0 }, code) {
			continue
		}
		if !found || m.flops > best.flops || m.flops == best.flops && m.instructions > best.instructions {
			best, found = m, true
		}
	}
	if !found {
		return measure(code)
	}
	return best
}

// containsLoop reports whether one of the loops that lie inside l counts.
func containsLoop(l [2]int, loops [][2]int, counts func(mix) bool, code []instruction) bool {
	for _, o := range loops {
		if o != l && o[0] >= l[0] && o[1] <= l[1] && counts(measure(code[o[0]:o[1]])) {
			return true
		}
	}
	return false
}

func polls(code []instruction) bool {
	if len(code) >= maxPoll {
		return false
	}
	for _, in := range code {
		if in.op == "SYNCS" || in.op == "NANOSLEEP" {
			return true
		}
	}
	return len(code) == 1 // the trap behind the end of a kernel
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
