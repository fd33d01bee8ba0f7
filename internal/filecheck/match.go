package filecheck

import (
	"slices"
	"strings"
)

// run matches all steps. -LABEL directives first cut the input into sections,
// so that one failure does not hide those in the next section:
//
//	labels:    |---- A ----| L1 |---- B ----| L2 |--- C ---|
//	sections:  [ A and L1      ][ B and L2      ][ C       ]
func (c *checker) run(steps []step) {
	from := 0 // position in the input
	for i := 0; i < len(steps); {
		j := i
		for j < len(steps) && steps[j].at.kind != label {
			j++
		}
		end := len(c.input.text)
		if j < len(steps) {
			start, stop, ok := c.matchCount(steps[j].at, from, end)
			if !ok {
				return
			}
			_, end = start, stop
			j++
		}
		if i != 0 && c.o.EnableVarScope {
			c.forgetLocals()
		}
		pos := from
		for ; i < j; i++ {
			var ok bool
			if pos, ok = c.matchStep(steps[i], pos, end); !ok {
				i = j
				break
			}
		}
		from = end
	}
}

func (c *checker) forgetLocals() {
	for name := range c.vars {
		if !strings.HasPrefix(name, "$") {
			delete(c.vars, name)
		}
	}
}

// matchStep matches one directive and those in front of it in
// input[pos:end]; it returns the position after the match.
func (c *checker) matchStep(s step, pos, end int) (int, bool) {
	afterDags, nots, ok := c.matchDags(s.before, pos, end)
	if !ok {
		return 0, false
	}
	start, stop, ok := c.matchCount(s.at, afterDags, end)
	if !ok {
		return 0, false
	}
	if !c.lineRule(s.at, afterDags, start) || !c.absent(nots, afterDags, start) {
		return 0, false
	}
	return stop, true
}

// matchCount matches a pattern count times in a row.
func (c *checker) matchCount(p *pattern, pos, end int) (start, stop int, ok bool) {
	stop = pos
	for n := 1; n <= p.count; n++ {
		a, b, err := p.match(c.input.text[stop:end], c.vars, c.o)
		if a < 0 || err != nil {
			c.notFound(p, n, stop, err)
			return 0, 0, false
		}
		if n == 1 {
			start = stop + a
		}
		stop += b
	}
	return start, stop, true
}

func (c *checker) notFound(p *pattern, n, pos int, err *patternError) {
	if err != nil {
		c.error(p.source, p.offset+err.offset, "%s", err.msg)
		return
	}
	if p.count > 1 {
		c.error(p.source, p.offset, "%s: expected string not found in input (%d out of %d)", p.name(), n, p.count)
	} else {
		c.error(p.source, p.offset, "%s: expected string not found in input", p.name())
	}
	// Skip to the first thing that a reader would look at.
	scan := pos
	for scan < len(c.input.text) && strings.IndexByte(" \t\n", c.input.text[scan]) >= 0 {
		scan++
	}
	if scan == len(c.input.text) {
		scan = pos
	}
	c.note(&c.input, scan, "scanning from here")
	c.describeVariables(p, scan)
}

// describeVariables tells what the variables of a pattern stood for.
func (c *checker) describeVariables(p *pattern, at int) {
	for _, x := range p.parts {
		if v, ok := c.vars[x.text]; ok && x.kind == use {
			c.note(&c.input, at, "with \"%s\" equal to \"%s\"", x.text, v)
		}
	}
}

// lineRule checks the distance in lines between the last match and this one.
func (c *checker) lineRule(p *pattern, last, start int) bool {
	newlines := strings.Count(c.input.text[last:start], "\n")
	switch {
	case p.kind == same && newlines != 0:
		c.error(p.source, p.offset, "%s: is not on the same line as the previous match", p.name())
	case (p.kind == next || p.kind == empty) && newlines == 0:
		c.error(p.source, p.offset, "%s: is on the same line as previous match", p.name())
	case (p.kind == next || p.kind == empty) && newlines > 1:
		c.error(p.source, p.offset, "%s: is not on the line after the previous match", p.name())
	default:
		return true
	}
	c.note(&c.input, start, "'%s' match was here", strings.ToLower(strings.TrimPrefix(kindSuffix[p.kind], "-")))
	c.note(&c.input, last, "previous match ended here")
	if newlines > 1 && p.kind != same {
		c.note(&c.input, last+strings.IndexByte(c.input.text[last:], '\n')+1, "non-matching line after previous match is here")
	}
	return false
}

// absent checks that no -NOT pattern occurs in input[pos:end].
func (c *checker) absent(nots []*pattern, pos, end int) bool {
	ok := true
	for _, p := range nots {
		a, _, err := p.match(c.input.text[pos:end], c.vars, c.o)
		if err != nil {
			c.error(p.source, p.offset+err.offset, "%s", err.msg)
			ok = false
		}
		if a < 0 {
			continue
		}
		c.error(p.source, p.offset, "%s: excluded string found in input", p.name())
		c.note(&c.input, pos+a, "found here")
		ok = false
	}
	return ok
}

// span is a piece of the input that a -DAG has taken.
type span struct{ start, end int }

// matchDags matches the -DAG patterns before a directive. The patterns of a
// group may match in any order but not overlap; a -NOT between two groups must
// be absent between the end of the first and the start of the second. It
// returns where the last group ends and the -NOT patterns after it.
func (c *checker) matchDags(pats []*pattern, pos, end int) (int, []*pattern, bool) {
	var nots []*pattern
	var taken []span // of this group, sorted, without overlap
	for i, p := range pats {
		if p.kind == not {
			nots = append(nots, p)
			continue
		}
		at, k := pos, 0
		for {
			a, b, err := p.match(c.input.text[at:end], c.vars, c.o)
			if a < 0 || err != nil {
				c.notFound(p, 1, at, err)
				return 0, nil, false
			}
			m := span{at + a, at + b}
			for k < len(taken) && m.start >= taken[k].end {
				k++
			}
			if k == len(taken) || m.end <= taken[k].start {
				taken = slices.Insert(taken, k, m)
				break
			}
			at = taken[k].end
			k++
		}
		if i+1 == len(pats) || pats[i+1].kind == not {
			if !c.absent(nots, pos, taken[0].start) {
				return 0, nil, false
			}
			nots = nil
			pos = taken[len(taken)-1].end
			taken = nil
		}
	}
	return pos, nots, true
}
