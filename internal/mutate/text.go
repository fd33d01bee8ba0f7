package mutate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Text makes broken texts out of whole ones, token by token, bracket by bracket and line by line, and operations out of their forms.
type Text struct {
	Seed  uint64
	Texts []string // at least one
	// Forms are operations: a name and what follows it, in the language of assembly formats (`literal`, $argument, type($x),
	// attr-dict, custom<...>(...), optional (...)? groups).
	Forms []Form
}

// Form is how an operation is written.
type Form struct{ Name, Format string }

// File is broken text number n, and what was done.
func (x *Text) File(n uint64) (text, how string) {
	m := textMutator{rng: rand.New(rand.NewPCG(x.Seed, n)), source: x}
	i := m.rng.IntN(len(x.Texts))
	m.tokens = tokens(x.Texts[i])
	var names []string
	for k := 1 + m.rng.IntN(8)/5 + m.rng.IntN(8)/7; k > 0; k-- {
		kind := textKinds[m.rng.IntN(len(textKinds))]
		kind.apply(&m)
		names = append(names, kind.name)
	}
	return strings.Join(m.tokens, ""), fmt.Sprintf("text %d: %s", i, strings.Join(names, ", "))
}

type textMutator struct {
	rng    *rand.Rand
	source *Text
	tokens []string // with the white space between them as tokens of its own
}

var textKinds = []struct {
	name  string
	apply func(*textMutator)
}{
	{"replace", (*textMutator).replace},
	{"replace", (*textMutator).replace},
	{"delete", func(m *textMutator) { i := m.at(); m.set(i, i+1) }},
	{"repeat", func(m *textMutator) { i := m.at(); m.set(i, i, m.token(i)) }},
	{"swap", (*textMutator).swap},
	{"group", (*textMutator).group},
	{"line", (*textMutator).line},
	{"operation", (*textMutator).operation},
	{"operation", (*textMutator).operation},
	{"odd", func(m *textMutator) { i := m.at(); m.set(i, i+m.rng.IntN(2), oddTokens[m.rng.IntN(len(oddTokens))]) }},
	{"deep", (*textMutator).deep},
	{"truncate", func(m *textMutator) { m.tokens = m.tokens[:m.at()] }},
	{"byte", (*textMutator).byte},
}

// oddTokens are tokens at the edge of what there is.
var oddTokens = []string{"0", "-1", "1", "18446744073709551616", "-9223372036854775808", "9223372036854775807", "16777217", "0x", "0xFFFFFFFFFFFFFFFFFF",
	"1e999", "-1.0e-999", "1.", "0x7FC00000", `"`, `"\`, `"\zz"`, `"\FF\00"`, "\xff\xfe", "\x00", "//", "/*", "%", "%0#", "%0#4294967296", "@", `@""`, "#", "!", "^",
	"^bb0", "!cuda_tile.", "#cuda_tile.", "loc(", "loc(#loc)", "...", "->", "::", "?", "tile<>", "tile<x>", "tile<0xi32>", "tile<2x2x2x2x2x2x2x2x2xi1>",
	"tile<16777216x16777216xf32>", "ptr<ptr<f32>>", "tensor_view<?x?xf32>", "partition_view<", "i4294967296", "i0", "unit", "true", "{-#", "#-}"}

// at is the place of a token.
func (m *textMutator) at() int { return m.rng.IntN(len(m.tokens) + 1) }

func (m *textMutator) token(i int) string {
	if i < len(m.tokens) {
		return m.tokens[i]
	}
	return ""
}

// set puts tokens in the place of those from i to j.
func (m *textMutator) set(i, j int, with ...string) {
	i, j = min(i, len(m.tokens)), min(j, len(m.tokens))
	m.tokens = slices.Replace(m.tokens, i, j, with...)
}

// other is the tokens of any of the texts.
func (m *textMutator) other() []string {
	return tokens(m.source.Texts[m.rng.IntN(len(m.source.Texts))])
}

// replace puts a token of the same class there, which may come from another text.
func (m *textMutator) replace() {
	i := m.at()
	from := m.tokens
	if m.rng.IntN(2) == 0 {
		from = m.other()
	}
	for range 64 {
		if t := from[m.rng.IntN(len(from)+1)%max(1, len(from)):]; len(t) > 0 && class(t[0]) == class(m.token(i)) && t[0] != m.token(i) {
			m.set(i, i+1, t[0])
			return
		}
	}
}

func (m *textMutator) swap() {
	if i, j := m.at(), m.at(); i < len(m.tokens) && j < len(m.tokens) {
		m.tokens[i], m.tokens[j] = m.tokens[j], m.tokens[i]
	}
}

var closing = map[string]string{"(": ")", "<": ">", "[": "]", "{": "}"}

// group deletes, repeats or moves what stands between brackets.
func (m *textMutator) group() {
	i := m.at()
	for ; i < len(m.tokens) && closing[m.tokens[i]] == ""; i++ {
	}
	if i >= len(m.tokens) {
		return
	}
	depth, j := 0, i
	for ; j < len(m.tokens); j++ {
		switch m.tokens[j] {
		case m.tokens[i]:
			depth++
		case closing[m.tokens[i]]:
			depth--
		}
		if depth == 0 {
			break
		}
	}
	j = min(j+1, len(m.tokens))
	inside := slices.Clone(m.tokens[i:j])
	switch m.rng.IntN(3) {
	case 0:
		m.set(i, j)
	case 1:
		m.set(j, j, inside...)
	case 2:
		k := m.at()
		m.set(k, k, inside...)
	}
}

// line puts a line of any text somewhere, or takes one away.
func (m *textMutator) line() {
	i := m.lineStart()
	if m.rng.IntN(4) == 0 {
		j := i + 1
		for j < len(m.tokens) && m.tokens[j] != "\n" {
			j++
		}
		m.set(i, j)
		return
	}
	lines := strings.Split(strings.Join(m.other(), ""), "\n")
	m.set(i, i, tokens(lines[m.rng.IntN(len(lines))]+"\n")...)
}

// lineStart is the place of the first token of a line.
func (m *textMutator) lineStart() int {
	i := m.at()
	for i > 0 && m.token(i-1) != "\n" {
		i--
	}
	return i
}

// deep nests brackets, operations or types, most of them not very deep.
func (m *textMutator) deep() {
	n := 1 << m.rng.IntN(12)
	units := [][2]string{{"(", ")"}, {"[", "]"}, {"{", "}"}, {"<", ">"}, {"if %c {\n", "\n}"}, {"tile<ptr<", ">>"}, {"loop {\n", "\n}\n"}, {"loc(callsite(", " at unknown))"},
		{"{a = ", "}"}, {"\"x\"() ({\n", "\n}) : () -> ()\n"}, {"cuda_tile.module @m {\n", "}"}}
	u := units[m.rng.IntN(len(units))]
	i := m.at()
	if m.rng.IntN(2) == 0 {
		i = m.lineStart()
	}
	m.set(i, i, strings.Repeat(u[0], n)+strings.Repeat(u[1], n*m.rng.IntN(2)))
}

func (m *textMutator) byte() {
	b := []byte(strings.Join(m.tokens, ""))
	if len(b) > 0 {
		b[m.rng.IntN(len(b))] = byte(m.rng.IntN(256))
	}
	m.tokens = tokens(string(b))
}

// operation writes one from its form, with values and types of the text.
func (m *textMutator) operation() {
	if len(m.source.Forms) == 0 {
		return
	}
	f := m.source.Forms[m.rng.IntN(len(m.source.Forms))]
	var b strings.Builder
	if m.rng.IntN(4) > 0 {
		fmt.Fprintf(&b, "%%new%d = ", m.rng.IntN(4))
	}
	b.WriteString(f.Name + " ")
	m.write(&b, tokens(f.Format))
	i := m.lineStart()
	m.set(i, i, tokens(b.String()+"\n")...)
}

// write writes the elements of a form, each as the form says but for one in twenty.
func (m *textMutator) write(b *strings.Builder, form []string) {
	for i := 0; i < len(form); i++ {
		t := form[i]
		if m.rng.IntN(20) == 0 {
			b.WriteString(oddTokens[m.rng.IntN(len(oddTokens))] + " ")
			continue
		}
		switch {
		case t == "`":
			for i++; i < len(form) && form[i] != "`"; i++ {
				b.WriteString(form[i])
			}
			b.WriteString(" ")
		case strings.HasPrefix(t, "$"):
			b.WriteString(m.like(func(s string) bool { return strings.HasPrefix(s, "%") }) + " ")
		case t == "type" || t == "functional-type":
			b.WriteString(m.like(func(s string) bool { return s == "tile" || s == "token" || s == "tensor_view" }) + "<f32> ")
			i = m.skip(form, i+1)
		case t == "custom":
			i = m.skip(form, m.skip(form, i+1)+1)
			b.WriteString(m.like(func(s string) bool { return class(s) == 'a' }) + " ")
		case t == "(" && m.rng.IntN(2) == 0:
			i = m.skip(form, i)
		}
	}
}

// skip is the end of the group that begins at i, or i-1 when none does.
func (m *textMutator) skip(form []string, i int) int {
	if i >= len(form) || closing[form[i]] == "" {
		return i - 1
	}
	depth := 0
	for j := i; j < len(form); j++ {
		switch form[j] {
		case form[i]:
			depth++
		case closing[form[i]]:
			if depth--; depth == 0 {
				return j
			}
		}
	}
	return len(form)
}

// like is some token of the text that is so.
func (m *textMutator) like(so func(string) bool) string {
	for range 64 {
		if t := m.token(m.at()); so(t) {
			return t
		}
	}
	return "%0"
}

// class is the kind of a token: its first byte for sigils and punctuation, a for words, 0 for numbers, " for strings.
func class(t string) byte {
	switch {
	case t == "":
		return ' '
	case isWord(t[0]) && (t[0] < '0' || t[0] > '9'):
		return 'a'
	case '0' <= t[0] && t[0] <= '9':
		return '0'
	}
	return t[0]
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-'
}

// tokens cuts a text; together the tokens are the text.
func tokens(s string) (list []string) {
	for i := 0; i < len(s); {
		j := i + 1
		switch c := s[i]; {
		case c == '"':
			for j < len(s) && s[j] != '"' && s[j] != '\n' {
				if s[j] == '\\' {
					j++
				}
				j++
			}
			j = min(j+1, len(s))
		case c == ' ':
			for j < len(s) && s[j] == ' ' {
				j++
			}
		case strings.IndexByte("%@#!^$", c) >= 0 || isWord(c) && c != '-' && c != '.':
			for j < len(s) && isWord(s[j]) {
				j++
			}
		}
		list = append(list, s[i:j])
		i = j
	}
	return list
}
