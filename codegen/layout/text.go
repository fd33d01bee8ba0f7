package layout

import (
	"fmt"
	"strconv"
	"strings"
)

// String is the canonical text: the bases of each input dimension that has any, low bit first, as coordinates, then the shape.
//
//	{reg=[[0,1],[8,0]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x8
//
// The shape of a tile without dimensions is written scalar. Parse reads it back.
func (l Layout) String() string {
	if l.IsZero() {
		return ""
	}
	return l.key.get(l.format)
}

func (l Layout) format() string {
	out := append(make([]byte, 0, 256), '{')
	for d, cols := range l.bases {
		if len(cols) == 0 {
			continue
		}
		if len(out) > len("{") {
			out = append(out, ", "...)
		}
		out = append(append(out, Dim(d).String()...), '=')
		out = appendBases(out, l.shape, cols)
	}
	return string(appendShape(append(out, "} : "...), l.shape))
}

func appendBases(out []byte, shape []int, cols []uint64) []byte {
	out = append(out, '[')
	for i, c := range cols {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '[')
		for j, x := range coords(shape, c) {
			if j > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(out, int64(x), 10)
		}
		out = append(out, ']')
	}
	return append(out, ']')
}

func formatShape(shape []int) string { return string(appendShape(nil, shape)) }

func appendShape(out []byte, shape []int) []byte {
	if len(shape) == 0 {
		return append(out, "scalar"...)
	}
	for i, n := range shape {
		if i > 0 {
			out = append(out, 'x')
		}
		out = strconv.AppendInt(out, int64(n), 10)
	}
	return out
}

// Parse reads the text form of a layout.
func Parse(text string) (Layout, error) {
	shape, fields, err := parse(text)
	if err != nil {
		return Layout{}, err
	}
	var bases [NumDims][]uint64
	for _, f := range fields {
		d := NumDims
		for i, name := range dimNames {
			if f.name == name {
				d = Dim(i)
			}
		}
		if d == NumDims {
			return Layout{}, fmt.Errorf("layout: unknown input dimension %q", f.name)
		}
		if bases[d], err = f.flat(shape); err != nil {
			return Layout{}, err
		}
	}
	return New(shape, Bases{bases[Reg], bases[Lane], bases[Warp], bases[Block]})
}

// field is name=[[..],..] of a text form.
type field struct {
	name string
	rows [][]int
}

func (f field) flat(shape []int) ([]uint64, error) {
	var out []uint64
	for _, row := range f.rows {
		if len(row) != len(shape) {
			return nil, fmt.Errorf("layout: basis %v of %s has %d coordinates, the shape %s has %d", row, f.name, len(row), formatShape(shape), len(shape))
		}
		for i, x := range row {
			if x >= shape[i] {
				return nil, fmt.Errorf("layout: basis %v of %s is outside the shape %s", row, f.name, formatShape(shape))
			}
		}
		out = append(out, flatten(shape, row))
	}
	return out, nil
}

// parse reads {name=[[1,2],..], ...} : AxB.
func parse(text string) (shape []int, fields []field, err error) {
	p := &scanner{text: text}
	p.expect('{')
	for p.err == nil && !p.accept('}') {
		if len(fields) > 0 {
			p.expect(',')
		}
		f := field{name: p.word()}
		for _, g := range fields {
			if g.name == f.name {
				p.fail("%s is given twice", f.name)
			}
		}
		p.expect('=')
		p.list(func() {
			var row []int
			p.list(func() { row = append(row, p.number()) })
			f.rows = append(f.rows, row)
		})
		fields = append(fields, f)
	}
	p.expect(':')
	shape = p.shape()
	if p.skip(); p.err == nil && p.pos != len(p.text) {
		p.fail("unexpected text after the shape")
	}
	return shape, fields, p.err
}

// scanner reads text left to right and stops at the first error.
type scanner struct {
	text string
	pos  int
	err  error
}

func (p *scanner) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("layout: at byte %d: %s", p.pos, fmt.Sprintf(format, args...))
	}
}

func (p *scanner) skip() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *scanner) accept(c byte) bool {
	p.skip()
	if p.err == nil && p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *scanner) expect(c byte) {
	if p.err == nil && !p.accept(c) {
		p.fail("%q expected", string(c))
	}
}

// list reads [a, b, ...].
func (p *scanner) list(item func()) {
	p.expect('[')
	for first := true; p.err == nil && !p.accept(']'); first = false {
		if !first {
			p.expect(',')
		}
		item()
	}
}

func (p *scanner) run(in func(byte) bool) string {
	p.skip()
	start := p.pos
	for p.err == nil && p.pos < len(p.text) && in(p.text[p.pos]) {
		p.pos++
	}
	return p.text[start:p.pos]
}

func (p *scanner) word() string {
	w := p.run(func(c byte) bool { return 'a' <= c && c <= 'z' })
	if w == "" {
		p.fail("a name is expected")
	}
	return w
}

func (p *scanner) number() int {
	digits := p.run(func(c byte) bool { return '0' <= c && c <= '9' })
	n, err := strconv.Atoi(digits)
	if err != nil {
		p.fail("a number is expected")
	}
	return n
}

func (p *scanner) shape() []int {
	p.skip()
	if strings.HasPrefix(p.text[p.pos:], "scalar") {
		p.pos += len("scalar")
		return nil
	}
	shape := []int{p.number()}
	for p.accept('x') {
		shape = append(shape, p.number())
	}
	return shape
}
