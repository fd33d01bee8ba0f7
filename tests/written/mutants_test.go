package written_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tileiras/codegen/atom"
)

// mutant is a text with a mutation.
type mutant struct {
	*rand.Rand
	lines []string
}

// mutations are the mutation operators. same: a mutant that compiles computes what the original does.
var mutations = []struct {
	name   string
	weight int
	same   bool
	apply  func(*mutant) bool // false: there is nothing to break
}{
	{"bases of a layout", 5, true, func(m *mutant) bool { return m.mutateBasesOf(`^#l\d+ = `) }},
	{"bases of a buffer", 2, true, func(m *mutant) bool { return m.mutateBasesOf(`^#m\d+ = `) }},
	{"another layout", 4, true, func(m *mutant) bool { return m.replaceLayout(false) }},
	{"a layout written out", 4, true, func(m *mutant) bool { return m.replaceLayout(true) }},
	{"another instruction", 3, true, func(m *mutant) bool { return m.replace(`mma<"([^"]+)"`, m.instruction) }},
	{"another split", 2, true, func(m *mutant) bool { return m.replace(`>*", warps = \[([^\]]+)\]`, m.split) }},
	{"swapped", 1, true, func(m *mutant) bool {
		return m.replace(`mma<"[^"]+", warps = \[[^\]]+\](, swapped|)>`, toggle(", swapped"))
	}},
	{"another number of warps", 2, true, func(m *mutant) bool { return m.replace(`(?:plan<|", )warps = (\d+)`, m.powerOfTwo) }},
	{"an attribute dropped", 3, false, func(m *mutant) bool {
		return m.replace(` (\{[a-z_]+(?: = [^{}]*)?\}) :`, m.dropAttribute)
	}},
	{"another number", 4, false, func(m *mutant) bool { return m.replace(`[^#%\w"](-?\d+)\b`, m.number) }},
	{"another operand", 2, false, func(m *mutant) bool { return m.replace(`(%\w+)`, func(string) string { return m.value() }) }},
	{"an operand dropped", 2, false, func(m *mutant) bool { return m.dropOperand() }},
	{"another symbol", 2, false, func(m *mutant) bool {
		other := func(string) string { return m.symbol() }
		return m.replace(`get_global @(\w+)`, other) || m.replace(`@(\w+)`, other)
	}},
	{"an operation twice", 2, false, func(m *mutant) bool { return m.replace(`^(    .*[^{}])$`, twice) }},
	{"a line dropped", 1, false, func(m *mutant) bool { return m.replace(`^(    .*[^{}])$`, func(string) string { return "" }) }},
}

// pick is a random line that matches; -1 without one.
func (m *mutant) pick(re *regexp.Regexp) int {
	var at []int
	for i, l := range m.lines {
		if re.MatchString(l) {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return -1
	}
	return at[m.IntN(len(at))]
}

// replace writes another text for the group of a match.
func (m *mutant) replace(pattern string, to func(old string) string) bool {
	re := regexp.MustCompile(pattern)
	i := m.pick(re)
	if i < 0 {
		return false
	}
	line := m.lines[i]
	all := re.FindAllStringSubmatchIndex(line, -1)
	at := all[m.IntN(len(all))]
	m.lines[i] = line[:at[2]] + to(line[at[2]:at[3]]) + line[at[3]:]
	return true
}

var basis = regexp.MustCompile(`\[[\d,]+\]`)

// mutateBasesOf mutates the bases of the layout in a line.
func (m *mutant) mutateBasesOf(pattern string) bool {
	i := m.pick(regexp.MustCompile(pattern))
	if i < 0 {
		return false
	}
	line, ok := m.mutateBases(m.lines[i])
	m.lines[i] = line
	return ok
}

// mutateBases exchanges, repeats, drops, doubles or adds two bases of a layout.
func (m *mutant) mutateBases(line string) (string, bool) {
	at := basis.FindAllStringIndex(line, -1)
	if len(at) < 2 {
		return line, false
	}
	a := m.IntN(len(at) - 1)
	b := a + 1 + m.IntN(len(at)-1-a)
	x, y := line[at[a][0]:at[a][1]], line[at[b][0]:at[b][1]]
	before, between, after := line[:at[a][0]], line[at[a][1]:at[b][0]], line[at[b][1]:]
	switch m.IntN(7) {
	case 0:
		return before + x + between + x + after, true
	case 1:
		return strings.ReplaceAll(before+strings.TrimPrefix(between, ",")+y+after, ",]", "]"), true
	case 2:
		return before + x + "," + x + between + y + after, true
	case 3:
		return before + sum(x, y) + between + y + after, true
	}
	return before + y + between + x + after, true
}

// sum adds two bases over F2.
func sum(a, b string) string {
	x, y := strings.Split(strings.Trim(a, "[]"), ","), strings.Split(strings.Trim(b, "[]"), ",")
	for i := range x {
		if i < len(y) {
			x[i] = strconv.Itoa(atoi(x[i]) ^ atoi(y[i]))
		}
	}
	return "[" + strings.Join(x, ",") + "]"
}

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

var aliased = regexp.MustCompile(`#l\d+\b`)

// replaceLayout gives tiles of a line another layout of their shape: in one type, in all types of that layout, or wherever a
// value of the line is named. The layout is another of the text, or a new one written where it is used.
func (m *mutant) replaceLayout(own bool) bool {
	i := m.pick(regexp.MustCompile(`^ .*#l\d+\b`))
	if i < 0 {
		return false
	}
	at := aliased.FindAllStringIndex(m.lines[i], -1)
	p := at[m.IntN(len(at))]
	name := m.lines[i][p[0]:p[1]]
	to, ok := m.otherLayout(name, own)
	all := regexp.MustCompile(name + `\b`)
	switch value := regexp.MustCompile(`%\w+`).FindString(m.lines[i]); m.IntN(3) {
	case 0:
		m.lines[i] = m.lines[i][:p[0]] + to + m.lines[i][p[1]:]
	case 1:
		m.lines[i] = all.ReplaceAllLiteralString(m.lines[i], to)
	default:
		named := regexp.MustCompile(regexp.QuoteMeta(value) + `\b`)
		for k, l := range m.lines {
			if named.MatchString(l) {
				m.lines[k] = all.ReplaceAllLiteralString(l, to)
			}
		}
	}
	return ok
}

// otherLayout is another layout of the shape of one.
func (m *mutant) otherLayout(name string, own bool) (string, bool) {
	shape := func(l string) string { return l[strings.LastIndex(l, " : "):] }
	i := slices.IndexFunc(m.lines, func(l string) bool { return strings.HasPrefix(l, name+" = ") })
	if own {
		l, ok := m.mutateBases(m.lines[i])
		return strings.TrimPrefix(l, name+" = "), ok
	}
	var others []string
	for _, l := range m.lines {
		if n, _, _ := strings.Cut(l, " = "); strings.HasPrefix(l, "#l") && n != name && shape(l) == shape(m.lines[i]) {
			others = append(others, n)
		}
	}
	if len(others) == 0 {
		return name, false
	}
	return others[m.IntN(len(others))], true
}

// instruction is another matrix instruction, mostly one for the same elements.
func (m *mutant) instruction(old string) string {
	all, was := atom.MMAs(), atom.MMAByName(old)
	for range 200 {
		n := all[m.IntN(len(all))]
		if n != was && (n.A == was.A && n.B == was.B && n.C == was.C || m.IntN(400) == 0) {
			return n.Name
		}
	}
	return all[m.IntN(len(all))].Name
}

func (m *mutant) split(old string) string {
	n := strings.Split(old, ", ")
	a, b := m.IntN(len(n)), m.IntN(len(n))
	n[a], n[b] = n[b], n[a]
	if m.IntN(2) == 0 {
		n[a] = m.powerOfTwo("")
	}
	return strings.Join(n, ", ")
}

// toggle inserts a text where it is missing, and removes it where it is.
func toggle(text string) func(old string) string {
	return func(old string) string { return strings.TrimPrefix(text, old) }
}

func (m *mutant) powerOfTwo(string) string { return strconv.Itoa(1 << m.IntN(6)) }

func (m *mutant) number(old string) string {
	n := atoi(old)
	near := []int{n + 1, n - 1, 2 * n, n / 2, 0, -1, 1 << m.IntN(12), 1 << 16, 1<<31 - 1, 1 << 32, 1<<32 + 1, 1 << 61, 1 << 62, 1<<63 - 1, -1 << 63}
	return strconv.Itoa(near[m.IntN(len(near))])
}

// value is a random value that some line names.
func (m *mutant) value() string {
	re := regexp.MustCompile(`%\w+`)
	all := re.FindAllString(m.lines[m.pick(re)], -1)
	return all[m.IntN(len(all))]
}

// symbol is one of the text, or one that nothing defines.
func (m *mutant) symbol() string {
	all := []string{"nothing"}
	for _, s := range regexp.MustCompile(`@(\w+)`).FindAllStringSubmatch(strings.Join(m.lines, "\n"), -1) {
		all = append(all, s[1])
	}
	return all[m.IntN(len(all))]
}

// dropOperand removes a use of a value, with the comma beside it; behind continue, break, yield and the like all operands may go, with their types.
func (m *mutant) dropOperand() bool {
	const uses = `(%\w+(?:, )?|, %\w+)`
	if m.IntN(2) == 0 {
		return m.replace(`^ +(?:continue|break|yield|return)( %.*)$`, func(string) string { return "" }) || m.replace(`= .*`+uses, func(string) string { return "" })
	}
	return m.replace(`= .*?`+uses, func(string) string { return "" })
}

// twice repeats an operation, with results of its own.
func twice(line string) string {
	results, op, found := strings.Cut(line, " = ")
	if !found || !strings.HasPrefix(strings.TrimLeft(results, " "), "%") {
		return line + "\n" + line
	}
	return line + "\n" + regexp.MustCompile(`%\w+`).ReplaceAllString(results, "${0}_again") + " = " + op
}

// dropAttribute removes one attribute of a list in braces; commas inside brackets do not separate.
func (m *mutant) dropAttribute(old string) string {
	var list []string
	depth, from := 0, 1
	for i, c := range old {
		switch {
		case strings.ContainsRune("{[<(", c):
			depth++
		case strings.ContainsRune("}])>", c):
			depth--
		}
		if c == ',' && depth == 1 || depth == 0 {
			list = append(list, strings.TrimSpace(old[from:i]))
			from = i + 1
		}
	}
	i := m.IntN(len(list))
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		return ""
	}
	return "{" + strings.Join(list, ", ") + "}"
}
