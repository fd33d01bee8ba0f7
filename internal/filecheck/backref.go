package filecheck

import (
	"fmt"
	"regexp/syntax"
	"unicode/utf8"
)

// A variable that is used on the line that defines it is a back reference:
//
//	CHECK: add [[X:%[0-9]+]], [[X]]
//
// Go's regexp package has none, by design, so such patterns are matched by
// backtracking over the same compiled program. A back reference is written as
// an empty named group, (?P<refN>), which compares with group N.
type backtracker struct {
	prog  *syntax.Prog
	refs  map[int]int // group number of an empty group -> group it repeats
	text  string
	caps  []int
	best  []int
	steps int
}

// maxSteps and maxDepth bound the work and the stack for one pattern, far
// beyond what lines of code need.
const (
	maxSteps = 20_000_000
	maxDepth = 100_000
)

// matchBackrefs finds the leftmost-longest match of re in text. It returns the
// positions of all groups, or nil.
func matchBackrefs(re string, refs map[int]int, text string) ([]int, error) {
	parsed, err := syntax.Parse(re, syntax.Perl)
	if err != nil {
		return nil, err
	}
	groups := parsed.MaxCap()
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	b := backtracker{prog: prog, refs: refs, text: text}
	for start := 0; start <= len(text); start++ {
		b.caps = make([]int, 2*(groups+1))
		for i := range b.caps {
			b.caps[i] = -1
		}
		b.walk(prog.Start, start, start, 0)
		if b.steps > maxSteps {
			return nil, fmt.Errorf("matching takes too long: make the variable's regex more precise")
		}
		if b.best != nil {
			return b.best, nil
		}
	}
	return nil, nil
}

// walk follows every path from pc and keeps the longest match.
func (b *backtracker) walk(pc, pos, start, depth int) {
	if depth > maxDepth {
		b.steps = maxSteps
	}
	for {
		if b.steps++; b.steps > maxSteps {
			return
		}
		in := &b.prog.Inst[pc]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			b.walk(int(in.Out), pos, start, depth+1)
			pc = int(in.Arg)
			continue
		case syntax.InstCapture:
			group := int(in.Arg) / 2
			if src, ok := b.refs[group]; ok {
				if in.Arg%2 == 1 { // the end of the empty group
					pc = int(in.Out)
					continue
				}
				lo, hi := b.caps[2*src], b.caps[2*src+1]
				if lo < 0 || hi < 0 || len(b.text)-pos < hi-lo || b.text[pos:pos+hi-lo] != b.text[lo:hi] {
					return
				}
				pos += hi - lo
				pc = int(in.Out)
				continue
			}
			old := b.caps[in.Arg]
			b.caps[in.Arg] = pos
			b.walk(int(in.Out), pos, start, depth+1)
			b.caps[in.Arg] = old
			return
		case syntax.InstEmptyWidth:
			if !b.holds(syntax.EmptyOp(in.Arg), pos) {
				return
			}
		case syntax.InstMatch:
			if b.best == nil || pos > b.best[1] {
				b.best = append([]int{}, b.caps...)
				b.best[0], b.best[1] = start, pos
			}
			return
		case syntax.InstFail:
			return
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			r, size := utf8.DecodeRuneInString(b.text[pos:])
			if size == 0 || !in.MatchRune(r) {
				return
			}
			pos += size
		}
		pc = int(in.Out)
	}
}

func (b *backtracker) holds(op syntax.EmptyOp, pos int) bool {
	before, after := rune(-1), rune(-1)
	if pos > 0 {
		before = rune(b.text[pos-1])
	}
	if pos < len(b.text) {
		after = rune(b.text[pos])
	}
	return op&^syntax.EmptyOpContext(before, after) == 0
}
