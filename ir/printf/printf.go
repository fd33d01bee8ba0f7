// Package printf knows the formats of printing operations: where their conversions begin and end, and which ones print what operands have.
package printf

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"tileiras/ir"
)

// Piece is a conversion and the text in front of it, in which %% is as it stands.
type Piece struct{ Text, Conversion string }

// Split takes a format apart; the text behind the last conversion is the rest. Each % that is not %% runs up to a letter that ends a conversion.
func Split(format string) (pieces []Piece, rest string, err error) {
	start := 0
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		if i+1 < len(format) && format[i+1] == '%' {
			i++
			continue
		}
		length := strings.IndexAny(format[i+1:], "diuoxXeEfFgGaAcsSpn")
		if length < 0 {
			return nil, "", fmt.Errorf("found unterminated format expression")
		}
		end := i + length + 2
		pieces = append(pieces, Piece{format[start:i], format[i:end]})
		start, i = end, end-1
	}
	return pieces, format[start:], nil
}

// TakesInt reports whether printf reads an int for a conversion that Fit gave an integer, and prints its low bits, however wide the integer is.
func (p Piece) TakesInt() bool { return strings.ContainsAny(p.Conversion, "hc") }

// conversionForm is %, flags, width, precision, length, and a letter of those that print something.
var conversionForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^%([-+ #0]*)(\d*)(\.\d*)?(hh|h|ll|l|j|z|t|L)?([diuoxXcspeEfFgGaA])$`)
})

// maxConversion is how many characters of a conversion C promises.
const maxConversion = 4095

// Fit gives a format that prints elements of the given types as C's printf does what is passed to it: integers as int, or long long where they
// have 64 bits, and floats as double. The dialects leave it open what a conversion prints that does not apply to its operand; NVIDIA's compiler passes
// the operand all the same, and printf reads half of it, or what nobody passed. Here it prints the operand: the length gives way to that of the type, so
// %d prints all of an i64, and so does a letter, so %d of an f32 is %f. What no letter mends is refused.
func Fit(format string, elems []ir.Type) (string, error) {
	pieces, rest, err := Split(format)
	if err != nil {
		return "", err
	}
	if len(pieces) != len(elems) {
		return "", fmt.Errorf("%d conversions for %d operands", len(pieces), len(elems))
	}
	var out strings.Builder
	for i, p := range pieces {
		fitted, err := fit(p.Conversion, elems[i])
		if err != nil {
			return "", err
		}
		out.WriteString(p.Text + fitted)
	}
	return out.String() + rest, nil
}

// class is what printf can be passed.
type class struct {
	letters string // that print it, all that it has
	plain   byte   // the one that stands for letters that do not
	length  string // of conversions of integers
}

func classOf(elem ir.Type) class {
	switch t := elem.(type) {
	case *ir.FloatType:
		return class{letters: "eEfFgGaA", plain: 'f'}
	case *ir.IntegerType:
		if t.Width < 64 {
			return class{letters: "diuoxXc", plain: 'd'}
		}
		return class{letters: "diuoxXcp", plain: 'd', length: "ll"}
	}
	return class{letters: "diuoxXcp", plain: 'p', length: "ll"} // a pointer
}

func fit(conversion string, elem ir.Type) (string, error) {
	refused := func(why string) (string, error) {
		return "", fmt.Errorf("the conversion %q of a %s: %s", conversion, ir.ShortType(elem), why)
	}
	m := conversionForm().FindStringSubmatch(conversion)
	if m == nil {
		return refused("there is flags, width, precision, length and a letter of diuoxXeEfFgGaAcsp")
	}
	flags, width, precision, length, letter := m[1], m[2], m[3], m[4], m[5][0]
	for _, number := range []string{width, strings.TrimPrefix(precision, ".")} {
		if n, err := strconv.Atoi(number); number != "" && (err != nil || n > maxConversion) {
			return refused(fmt.Sprintf("a width or precision is at most %d", maxConversion))
		}
	}
	c := classOf(elem)
	if strings.IndexByte(c.letters, letter) < 0 { // # and a precision may mean nothing to the other letter, or something else
		flags, precision, length, letter = strings.ReplaceAll(flags, "#", ""), "", "", c.plain
	}
	switch {
	case strings.IndexByte("diuoxX", letter) < 0:
		length = ""
	case length != "h" && length != "hh":
		length = c.length
	}
	return "%" + flags + width + precision + length + string(letter), nil
}
