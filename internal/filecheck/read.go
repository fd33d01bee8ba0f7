package filecheck

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// step is a directive that moves forward in the input, with the -DAG and -NOT
// directives in front of it.
type step struct {
	before []*pattern
	at     *pattern
}

var validPrefix = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// read finds the directives of the check file.
func (c *checker) read() ([]step, error) {
	usage := func(format string, args ...any) error {
		return &Error{Usage: true, Text: fmt.Sprintf(format, args...)}
	}
	for i, p := range c.o.Prefixes {
		if !validPrefix.MatchString(p) {
			return nil, usage("error: supplied check prefix must start with a letter and contain only alphanumeric characters, hyphens, and underscores: '%s'\n", p)
		}
		if slices.Contains(c.o.Prefixes[:i], p) || slices.Contains(c.o.CommentPrefixes, p) {
			return nil, usage("error: supplied check prefix must be unique among check and comment prefixes: '%s'\n", p)
		}
	}
	implicit, err := c.implicitNots()
	if err != nil {
		return nil, err
	}
	// Longest first: of CHECK and CHECK-X, the text CHECK-X: means the second.
	prefixes := append(slices.Clone(c.o.Prefixes), c.o.CommentPrefixes...)
	slices.SortStableFunc(prefixes, func(a, b string) int { return cmp.Compare(len(b), len(a)) })

	var steps []step
	pending := slices.Clone(implicit)
	used := map[string]bool{}
	offset := 0
	for _, line := range strings.SplitAfter(c.check.text, "\n") {
		start := offset
		offset += len(line)
		p, text, perr := c.directive(strings.TrimSuffix(line, "\n"), prefixes)
		if p == nil && perr == nil {
			continue
		}
		if perr == nil {
			used[p.prefix] = true
			p.line = c.check.line(start)
			perr = c.finish(p, text, len(steps) == 0)
		}
		if perr != nil {
			return nil, usage("%s", c.check.message(start+perr.offset, "error", perr.msg))
		}
		p.start, p.offset, p.source = start+p.start, start+p.offset, &c.check
		if p.kind == not || p.kind == dag {
			pending = append(pending, p)
			continue
		}
		steps = append(steps, step{pending, p})
		pending = slices.Clone(implicit)
	}
	if err := c.unused(used); err != nil {
		return nil, err
	}
	if len(pending) > 0 {
		steps = append(steps, step{pending, &pattern{kind: eof, prefix: c.o.Prefixes[0], count: 1}})
	}
	return steps, nil
}

// unused complains about prefixes that no directive has.
func (c *checker) unused(used map[string]bool) error {
	var missing []string
	for _, p := range c.o.Prefixes {
		if !used[p] {
			missing = append(missing, "'"+p+":'")
		}
	}
	if len(missing) == 0 || c.o.AllowUnusedPrefixes && len(missing) < len(c.o.Prefixes) {
		return nil
	}
	noun := "prefix"
	if len(missing) > 1 {
		noun = "prefixes"
	}
	return &Error{Usage: true, Text: fmt.Sprintf("error: no check strings found with %s %s\n", noun, strings.Join(missing, ", "))}
}

func (c *checker) implicitNots() (all []*pattern, err error) {
	for _, text := range c.o.ImplicitNot {
		const flag = "-implicit-check-not='"
		p := &pattern{kind: not, prefix: "CHECK", count: 1, offset: len(flag), source: &source{"command line", flag + text + "'"}}
		if perr := p.parse(text, false); perr != nil {
			return nil, &Error{Usage: true, Text: p.source.message(p.offset+perr.offset, "error", perr.msg)}
		}
		all = append(all, p)
	}
	return all, nil
}

// directive finds the first directive of a line and its pattern text; offsets
// count from the start of the line. It returns nil if there is none, or if a
// comment prefix hides it.
func (c *checker) directive(line string, prefixes []string) (p *pattern, text string, err *patternError) {
	for i := 0; i < len(line); {
		prefix := ""
		for _, x := range prefixes {
			if strings.HasPrefix(line[i:], x) {
				prefix = x
				break
			}
		}
		if prefix == "" {
			i++
			continue
		}
		after := i + len(prefix)
		if i > 0 && isWordByte(line[i-1]) {
			i = skipWord(line, after)
			continue
		}
		rest := line[after:]
		if slices.Contains(c.o.CommentPrefixes, prefix) {
			if strings.HasPrefix(rest, ":") {
				return nil, "", nil
			}
			i = skipWord(line, after)
			continue
		}
		p = &pattern{prefix: prefix, count: 1, start: i}
		text, ok, err := p.suffix(rest)
		if err != nil {
			err.offset += after
			return nil, "", err
		}
		if ok {
			if !c.o.StrictWhitespace || !c.o.MatchFullLines {
				text = strings.TrimLeft(text, " \t")
			}
			p.offset = len(line) - len(text)
			return p, text, nil
		}
		i = skipWord(line, after)
	}
	return nil, "", nil
}

func isWordByte(b byte) bool {
	return b == '-' || b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

func skipWord(line string, i int) int {
	for i < len(line) && isWordByte(line[i]) {
		i++
	}
	return i
}

// badNot are the suffixes that -NOT cannot be combined with.
var badNot = []string{"DAG-NOT:", "NOT-DAG:", "NEXT-NOT:", "NOT-NEXT:", "SAME-NOT:", "NOT-SAME:", "EMPTY-NOT:", "NOT-EMPTY:"}

// suffix reads what follows the prefix up to the colon: -NEXT and its like,
// -COUNT-n, {LITERAL}. ok is false if this is no directive after all.
func (p *pattern) suffix(rest string) (tail string, ok bool, err *patternError) {
	if s, found := strings.CutPrefix(rest, "-"); found {
		for _, bad := range badNot {
			if strings.HasPrefix(s, bad) {
				return "", false, &patternError{1, fmt.Sprintf("unsupported -NOT combo on prefix '%s'", p.prefix)}
			}
		}
		if s, found := strings.CutPrefix(s, "COUNT-"); found {
			digits := s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
			tail := s[len(digits):]
			n, err := strconv.ParseInt(digits, 10, 32)
			if err != nil || n <= 0 || tail == "" || tail[0] != ':' && tail[0] != '{' {
				return "", false, &patternError{len(rest) - len(tail), fmt.Sprintf("invalid count in -COUNT specification on prefix '%s'", p.prefix)}
			}
			p.count = int(n)
			rest = tail
		} else {
			for k := next; k <= empty; k++ {
				if t, found := strings.CutPrefix(rest, kindSuffix[k]); found {
					p.kind, rest = k, t
					break
				}
			}
		}
	}
	if t, found := strings.CutPrefix(rest, "{LITERAL}"); found {
		tail, ok = strings.CutPrefix(t, ":")
		p.fixed = ok
		return tail, ok, nil
	}
	tail, ok = strings.CutPrefix(rest, ":")
	return tail, ok, nil
}

// finish parses the pattern text of a directive and checks its place.
func (c *checker) finish(p *pattern, text string, first bool) *patternError {
	if !c.o.StrictWhitespace || !c.o.MatchFullLines {
		text = strings.TrimRight(text, " \t")
	}
	switch {
	case p.kind == empty && text != "":
		return &patternError{p.offset, fmt.Sprintf("found non-empty check string for empty check with prefix '%s:'", p.prefix)}
	case p.kind != empty && text == "":
		return &patternError{p.offset, fmt.Sprintf("found empty check string with prefix '%s:'", p.prefix)}
	case first && (p.kind == next || p.kind == same || p.kind == empty):
		return &patternError{p.start, fmt.Sprintf("found '%s%s' without previous '%s: line", p.prefix, kindSuffix[p.kind], p.prefix)}
	}
	if err := p.parse(text, p.fixed); err != nil {
		err.offset += p.offset
		return err
	}
	if p.kind == label && p.usesVariables() {
		return &patternError{p.start, fmt.Sprintf("found '%s-LABEL:' with variable definition or use", p.prefix)}
	}
	return nil
}
