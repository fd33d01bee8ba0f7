package filecheck

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// kind is the suffix of a directive.
type kind uint8

const (
	plain kind = iota
	next
	same
	not
	dag
	label
	empty
	eof // added after the last directive to hold trailing -NOT and -DAG
)

var kindSuffix = [...]string{plain: "", next: "-NEXT", same: "-SAME", not: "-NOT", dag: "-DAG", label: "-LABEL", empty: "-EMPTY", eof: "-EOF"}

// pattern is one directive.
type pattern struct {
	kind   kind
	prefix string
	count  int // -COUNT-n; 1 otherwise
	start  int // where the directive starts in its source
	offset int // where the pattern starts in its source
	line   int
	source *source
	parts  []part
	fixed  bool // parts is one literal
}

// part is a piece of a pattern.
type part struct {
	kind partKind
	text string // the literal, the translated regex, or the variable's name
	re   string // define: the translated regex
	at   int    // use: where the name stands in the pattern

	groups int // regex, define: capturing groups inside
}

type partKind uint8

const (
	literal partKind = iota
	regex
	define // [[NAME:regex]]
	use    // [[NAME]]
)

// name is the directive as messages call it: CHECK-NEXT, CHECK-COUNT.
func (p *pattern) name() string {
	if p.count > 1 {
		return p.prefix + "-COUNT"
	}
	return p.prefix + kindSuffix[p.kind]
}

func (p *pattern) usesVariables() bool {
	for _, x := range p.parts {
		if x.kind == define || x.kind == use {
			return true
		}
	}
	return false
}

var variableName = regexp.MustCompile(`^\$?[A-Za-z_][A-Za-z0-9_]*$`)
var lineExpr = regexp.MustCompile(`^#?\s*@LINE\s*(?:([+-])\s*([0-9]+))?$`)

// patternError is an error at an offset into the pattern's text.
type patternError struct {
	offset int
	msg    string
}

// parse splits the text of a pattern into parts.
func (p *pattern) parse(text string, literalMatch bool) *patternError {
	if literalMatch {
		p.parts, p.fixed = []part{{kind: literal, text: text}}, true
		return nil
	}
	for i := 0; i < len(text); {
		rest := text[i:]
		switch {
		case strings.HasPrefix(rest, "{{"):
			end := strings.Index(rest, "}}")
			if end < 0 {
				return &patternError{i, "found start of regex string with no end '}}'"}
			}
			re, groups, err := compileERE(rest[2:end])
			if err != nil {
				return &patternError{i + 2, "invalid regex: " + err.Error()}
			}
			p.parts = append(p.parts, part{kind: regex, text: re, groups: groups})
			i += end + 2
		case strings.HasPrefix(rest, "[["):
			end := variableEnd(rest[2:])
			if end < 0 {
				return &patternError{i, "Invalid substitution block, no ]] found"}
			}
			x, err := p.parseVariable(rest[2 : 2+end])
			if err != nil {
				return &patternError{i + 2, err.Error()}
			}
			x.at = i + 2
			p.parts = append(p.parts, x)
			i += end + 4
		default:
			end := len(rest)
			for _, stop := range []string{"{{", "[["} {
				if k := strings.Index(rest, stop); k >= 0 && k < end {
					end = k
				}
			}
			p.parts = append(p.parts, part{kind: literal, text: rest[:end]})
			i += end
		}
	}
	p.fixed = len(p.parts) == 1 && p.parts[0].kind == literal
	return nil
}

// variableEnd finds the "]]" that closes a variable, skipping brackets of its
// regex and whatever a backslash protects.
func variableEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			depth++
		case ']':
			if depth == 0 {
				if strings.HasPrefix(s[i:], "]]") {
					return i
				}
				return -1
			}
			depth--
		}
	}
	return -1
}

func (p *pattern) parseVariable(s string) (part, error) {
	if m := lineExpr.FindStringSubmatch(s); m != nil {
		line := p.line
		if m[1] != "" {
			n, err := strconv.Atoi(m[1] + m[2])
			if err != nil {
				return part{}, fmt.Errorf("offset %s%s is too large", m[1], m[2])
			}
			line += n
		}
		return part{kind: literal, text: strconv.Itoa(line)}, nil
	}
	if strings.HasPrefix(s, "#") {
		return part{}, fmt.Errorf("numeric variables are not supported")
	}
	name, re, isDefine := strings.Cut(s, ":")
	if !variableName.MatchString(name) {
		return part{}, fmt.Errorf("invalid variable name %q", name)
	}
	if !isDefine {
		return part{kind: use, text: name}, nil
	}
	t, groups, err := compileERE(re)
	if err != nil {
		return part{}, fmt.Errorf("invalid regex: %w", err)
	}
	return part{kind: define, text: name, re: t, groups: groups}, nil
}

// undefined finds a variable that the pattern uses before it exists.
func (p *pattern) undefined(vars map[string]string) *patternError {
	local := map[string]bool{}
	for _, x := range p.parts {
		switch x.kind {
		case define:
			local[x.text] = true
		case use:
			if _, ok := vars[x.text]; !ok && !local[x.text] {
				return &patternError{x.at, "undefined variable: " + x.text}
			}
		}
	}
	return nil
}

// match finds the pattern in text and returns where. A successful match sets
// the variables that the pattern defines. start < 0 means no match.
func (p *pattern) match(text string, vars map[string]string, o *Options) (start, end int, err *patternError) {
	switch {
	case p.kind == eof:
		return len(text), len(text), nil
	case p.kind == empty:
		// An empty line: a newline followed by the end of a line. The match
		// itself begins after the first newline.
		for i := 0; i < len(text); i++ {
			if text[i] == '\n' && (i+1 == len(text) || text[i+1] == '\n') {
				return i + 1, i + 1, nil
			}
		}
		return -1, -1, nil
	case p.fixed && !o.MatchFullLines && !o.IgnoreCase:
		i := strings.Index(text, p.parts[0].text)
		if i < 0 {
			return -1, -1, nil
		}
		return i, i + len(p.parts[0].text), nil
	}
	if err := p.undefined(vars); err != nil {
		return -1, -1, err
	}
	re, defs, refs := p.expression(vars, o)
	at, failure := find(re, refs, text)
	if failure != nil {
		return -1, -1, &patternError{0, p.name() + ": " + failure.Error()}
	}
	if at == nil {
		return -1, -1, nil
	}
	for _, d := range defs {
		vars[d.name] = text[at[2*d.group]:at[2*d.group+1]]
	}
	return at[0], at[1], nil
}

// find returns the positions of the leftmost-longest match and its groups.
func find(re string, refs map[int]int, text string) ([]int, error) {
	if len(refs) > 0 {
		return matchBackrefs(re, refs, text)
	}
	c, err := regexp.Compile(re)
	if err != nil {
		return nil, err
	}
	c.Longest()
	return c.FindStringSubmatchIndex(text), nil
}

// definition says which group of the expression holds a variable.
type definition struct {
	name  string
	group int
}

// expression writes the pattern as one regular expression. refs maps the empty
// groups that stand for back references to the groups that they repeat.
func (p *pattern) expression(vars map[string]string, o *Options) (re string, defs []definition, refs map[int]int) {
	var b strings.Builder
	b.WriteString("(?m)")
	if o.IgnoreCase {
		b.WriteString("(?i)")
	}
	if o.MatchFullLines {
		b.WriteString("^")
		if !o.StrictWhitespace {
			b.WriteString(" *")
		}
	}
	group := 0
	refs = map[int]int{}
	local := map[string]int{}
	for _, x := range p.parts {
		switch x.kind {
		case literal:
			b.WriteString(regexp.QuoteMeta(x.text))
		case regex:
			b.WriteString("(" + x.text + ")")
			group += 1 + x.groups
		case define:
			group++
			defs = append(defs, definition{x.text, group})
			local[x.text] = group
			b.WriteString("(" + x.re + ")")
			group += x.groups
		case use:
			if src, ok := local[x.text]; ok {
				group++
				refs[group] = src
				fmt.Fprintf(&b, "(?P<ref%d>)", group)
			} else {
				b.WriteString(regexp.QuoteMeta(vars[x.text]))
			}
		}
	}
	if o.MatchFullLines {
		if !o.StrictWhitespace {
			b.WriteString(" *")
		}
		b.WriteString("$")
	}
	return b.String(), defs, refs
}
