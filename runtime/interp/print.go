package interp

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// piece is a part of a format string: literal text, or a conversion of C with its argument.
type piece struct {
	text      string // literal
	flags     string // of a conversion: any of "-+ #0", then width and precision
	precision bool
	verb      byte // 0 for literal text
}

// parseFormat splits a format string. A conversion is '%', flags, width, precision, a length that does not matter here,
// and one of diuoxXeEfFgGaAcp.
func parseFormat(s string) ([]piece, error) {
	var out []piece
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, piece{text: text.String()})
			text.Reset()
		}
	}
	for i := 0; i < len(s); {
		if s[i] != '%' {
			text.WriteByte(s[i])
			i++
			continue
		}
		if i++; i < len(s) && s[i] == '%' {
			text.WriteByte('%')
			i++
			continue
		}
		start := i
		for i < len(s) && strings.IndexByte("-+ #0", s[i]) >= 0 {
			i++
		}
		for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.') {
			i++
		}
		p := piece{flags: s[start:i], precision: strings.Contains(s[start:i], ".")}
		for i < len(s) && strings.IndexByte("hlzjtqL", s[i]) >= 0 {
			i++
		}
		if i == len(s) || strings.IndexByte("diuoxXeEfFgGaAcp", s[i]) < 0 {
			return nil, fmt.Errorf("not supported yet: the format %q: %w", s, errors.ErrUnsupported)
		}
		p.verb = s[i]
		i++
		flush()
		out = append(out, p)
	}
	flush()
	return out, nil
}

// printTKO prints at once, in the order of execution. A tile that is no scalar prints as nested lists.
func printTKO(c *compiler, op *ir.Op) (action, error) {
	pieces, err := parseFormat(ir.Cast[cudatile.PrintTko](op).Str())
	if err != nil {
		return nil, err
	}
	args, tok := c.slotsOf(ir.Cast[cudatile.PrintTko](op).Args()), -1
	if op.NumResults() > 0 {
		tok = c.slot(op.Result(0))
	}
	return func(m *machine) (signal, error) {
		var b strings.Builder
		k := 0
		for _, p := range pieces {
			if p.verb == 0 {
				b.WriteString(p.text)
				continue
			}
			if k == len(args) {
				return 0, m.fail(Internal, "the format has more conversions than the %d arguments", len(args))
			}
			t := m.tile(args[k])
			if m.opts.Strict {
				if err := m.exact(t); err != nil {
					return 0, err
				}
			}
			if err := p.tile(&b, t); err != nil {
				return 0, m.fail(Undefined, "%v", err)
			}
			k++
		}
		if m.opts.Stdout != nil {
			if _, err := m.opts.Stdout.Write([]byte(b.String())); err != nil {
				return 0, err
			}
		}
		if tok >= 0 {
			m.vals[tok] = token{}
		}
		return next, nil
	}, nil
}

// tile writes the elements as nested lists.
func (p *piece) tile(b *strings.Builder, t *tile) error {
	i := 0
	var list func(shape []int64) error
	list = func(shape []int64) error {
		if len(shape) == 0 {
			s, err := p.element(t, i)
			b.WriteString(s)
			i++
			return err
		}
		b.WriteByte('[')
		for k := range shape[0] {
			if k > 0 {
				b.WriteString(", ")
			}
			if err := list(shape[1:]); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	}
	return list(t.typ.Shape)
}

// element is one element as C's printf writes it.
func (p *piece) element(t *tile, i int) (string, error) {
	if t.flag(i)&undef != 0 {
		return "undef", nil
	}
	v := t.bits[i]
	ft, isFloat := t.typ.Elem.(*ir.FloatType)
	wantsFloat := strings.IndexByte("eEfFgGaA", p.verb) >= 0
	if isFloat != wantsFloat {
		return "", fmt.Errorf("the conversion %%%c does not fit a %s", p.verb, ir.ShortType(t.typ.Elem))
	}
	if isFloat {
		return p.float(ft.Format.Decode(v)), nil
	}
	// C promotes what is narrower than an int; Tile IR's integers take their sign along.
	if it, ok := t.typ.Elem.(*ir.IntegerType); ok && it.Width > 1 && it.Width < 32 {
		v = uint64(uint32(signExtend(v, it.Width)))
	}
	switch p.verb {
	case 'd', 'i':
		s := int64(v)
		if it, ok := t.typ.Elem.(*ir.IntegerType); ok && it.Width > 1 {
			s = signExtend(v, it.Width)
		}
		return fmt.Sprintf("%"+p.flags+"d", s), nil
	case 'u':
		return fmt.Sprintf("%"+p.flags+"d", v), nil
	case 'p':
		return fmt.Sprintf("%#x", v), nil
	case 'c':
		return string([]byte{byte(v)}), nil
	}
	return fmt.Sprintf("%"+p.flags+string(p.verb), v), nil // o, x, X
}

// float is a float as C writes it: six digits unless the format says otherwise, and "inf" and "nan" in words.
func (p *piece) float(x float64) string {
	upper := p.verb < 'a'
	var s string
	if math.IsInf(x, 0) || math.IsNaN(x) {
		s = strings.ToLower(strconv.FormatFloat(x, 'g', -1, 64))
		if !strings.Contains(p.flags, "+") {
			s = strings.TrimPrefix(s, "+")
		}
		if upper {
			s = strings.ToUpper(s)
		}
		width := strings.TrimLeft(p.flags, "+ #0")
		width, _, _ = strings.Cut(width, ".")
		return fmt.Sprintf("%"+width+"s", s)
	}
	flags := p.flags
	if !p.precision && p.verb != 'a' && p.verb != 'A' {
		flags += ".6"
	}
	switch p.verb {
	case 'F':
		return fmt.Sprintf("%"+flags+"f", x)
	case 'a', 'A':
		verb := map[bool]string{false: "x", true: "X"}[upper]
		s = fmt.Sprintf("%"+flags+verb, x)
		// Go writes at least two digits of the exponent, C as many as it needs.
		mark := strings.LastIndexAny(s, "pP")
		if mark >= 0 && mark+3 < len(s) && s[mark+2] == '0' {
			s = s[:mark+2] + s[mark+3:]
		}
		return s
	}
	return fmt.Sprintf("%"+flags+string(p.verb), x)
}
