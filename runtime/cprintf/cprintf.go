// Package cprintf writes values as printf of C does (C17, 7.21.6.1), with the letters of glibc where the standard leaves a choice. What a GPU prints
// goes through printf of the host.
package cprintf

import (
	"fmt"
	"strconv"
	"strings"
)

// Widths and precisions that are no number.
const (
	None = -1
	Star = -2 // the argument before the value
)

// maxNumber is the biggest width or precision: C promises no more characters of one conversion.
const maxNumber = 4095

// Piece is a part of a format: text, or a conversion.
type Piece struct {
	Text string // where Verb is 0

	Minus, Plus, Space, Alt, Zero bool // flags
	Width, Precision              int
	Length                        string // "hh", "h", "l", "ll", "j", "z", "t", "L" or ""
	Verb                          byte   // of diuoxXeEfFgGaAcsp
}

// Parse splits a format.
func Parse(format string) (pieces []Piece, err error) {
	text := ""
	for rest := format; ; {
		before, after, found := strings.Cut(rest, "%")
		text += before
		switch {
		case found && strings.HasPrefix(after, "%"):
			text, rest = text+"%", after[1:]
			continue
		case text != "":
			pieces, text = append(pieces, Piece{Text: text}), ""
		}
		if !found {
			return pieces, nil
		}
		var p Piece
		if p, rest, err = conversion(after); err != nil {
			return nil, fmt.Errorf("the format %q: %w", format, err)
		}
		pieces = append(pieces, p)
	}
}

// conversion reads what stands behind a percent sign.
func conversion(s string) (p Piece, rest string, err error) {
	all := s
	flags := map[byte]*bool{'-': &p.Minus, '+': &p.Plus, ' ': &p.Space, '#': &p.Alt, '0': &p.Zero}
	for s != "" && flags[s[0]] != nil {
		*flags[s[0]] = true
		s = s[1:]
	}
	p.Width, p.Precision = None, None
	if p.Width, s, err = number(s); err != nil {
		return p, "", err
	}
	if after, ok := strings.CutPrefix(s, "."); ok {
		if p.Precision, s, err = number(after); err != nil {
			return p, "", err
		}
		if p.Precision == None {
			p.Precision = 0
		}
	}
	for _, l := range []string{"hh", "h", "ll", "l", "j", "z", "t", "L"} {
		if after, ok := strings.CutPrefix(s, l); ok {
			p.Length, s = l, after
			break
		}
	}
	if s == "" || strings.IndexByte("diuoxXeEfFgGaAcsp", s[0]) < 0 {
		return p, "", fmt.Errorf("%q is no conversion", "%"+all[:len(all)-len(s)+min(len(s), 1)])
	}
	p.Verb = s[0]
	return p, s[1:], nil
}

// number reads a width or a precision.
func number(s string) (n int, rest string, err error) {
	if after, ok := strings.CutPrefix(s, "*"); ok {
		return Star, after, nil
	}
	digits := s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
	if digits == "" {
		return None, s, nil
	}
	if n, err = strconv.Atoi(digits); err != nil || n > maxNumber {
		return 0, "", fmt.Errorf("a width or precision of more than %d", maxNumber)
	}
	return n, s[len(digits):], nil
}

// SetWidth gives a width of Star its value: a negative one is a flag and a width.
func (p *Piece) SetWidth(n int) {
	p.Minus = p.Minus || n < 0
	p.Width = max(n, -n)
}

// SetPrecision gives a precision of Star its value: a negative one is none.
func (p *Piece) SetPrecision(n int) { p.Precision = max(n, None) }

// IsFloat reports whether a conversion takes a double.
func (p *Piece) IsFloat() bool { return strings.IndexByte("eEfFgGaA", p.Verb) >= 0 }

// Size is how many bytes the argument has, as it is passed.
func (p *Piece) Size() int {
	switch {
	case p.Verb == 'c':
		return 4
	case p.IsFloat(), p.Verb == 's', p.Verb == 'p', strings.ContainsAny(p.Length, "ljztL"):
		return 8
	}
	return 4
}

// Value is what a conversion of a number, a character or an address writes; bits are those of the argument as it is passed.
func (p *Piece) Value(bits uint64) string {
	switch {
	case p.IsFloat():
		return p.float(bits)
	case p.Verb == 'c':
		return p.pad("", string([]byte{byte(bits)}), false)
	case p.Verb == 'p' && bits == 0:
		return p.pad("", "(nil)", false)
	case p.Verb == 'p':
		q := *p
		q.Verb, q.Length, q.Alt = 'x', "ll", true
		return q.Value(bits)
	}
	return p.integer(bits)
}

// String is what a conversion of a string writes.
func (p *Piece) String(s string) string {
	if p.Precision >= 0 && p.Precision < len(s) {
		s = s[:p.Precision]
	}
	return p.pad("", s, false)
}

// integer writes an integer: a length says how many bits of the argument count.
func (p *Piece) integer(bits uint64) string {
	unused := 64 - 8*p.Size()
	switch p.Length {
	case "hh":
		unused = 56
	case "h":
		unused = 48
	}
	bits = bits << unused >> unused
	sign := ""
	if p.Verb == 'd' || p.Verb == 'i' {
		v := int64(bits<<unused) >> unused
		bits, sign = uint64(max(v, -v)), p.sign(v < 0) // of the least number, which is its own negative, too
	}
	base := 10
	switch p.Verb {
	case 'o':
		base = 8
	case 'x', 'X':
		base = 16
	}
	digits := strconv.FormatUint(bits, base)
	if bits == 0 && p.Precision == 0 {
		digits = ""
	}
	digits = strings.Repeat("0", max(p.Precision-len(digits), 0)) + digits
	switch {
	case p.Alt && base == 8 && !strings.HasPrefix(digits, "0"):
		digits = "0" + digits
	case p.Alt && base == 16 && bits != 0:
		sign = "0x"
	}
	if p.Verb == 'X' {
		sign, digits = strings.ToUpper(sign), strings.ToUpper(digits)
	}
	return p.pad(sign, digits, p.Precision < 0)
}

func (p *Piece) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case p.Plus:
		return "+"
	case p.Space:
		return " "
	}
	return ""
}

// pad fills up to the width: behind the text, between sign and digits with zeros if those may stand there, or in front.
func (p *Piece) pad(sign, digits string, zeros bool) string {
	n := max(p.Width-len(sign)-len(digits), 0)
	switch {
	case p.Minus:
		return sign + digits + strings.Repeat(" ", n)
	case p.Zero && zeros:
		return sign + strings.Repeat("0", n) + digits
	}
	return strings.Repeat(" ", n) + sign + digits
}
