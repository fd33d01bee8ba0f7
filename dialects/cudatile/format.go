package cudatile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"tileiras/ir"
)

// FormatConversions counts the conversions of a printf format: each % that is not %% runs up to a letter that ends one.
func FormatConversions(format string) (int, error) {
	n := 0
	err := eachConversion(format, func(string) error { n++; return nil }, func(string) {})
	return n, err
}

// eachConversion walks over the conversions of a format and the text between them, where %% is as it stands.
func eachConversion(format string, conversion func(string) error, text func(string)) error {
	start := 0
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		if i+1 < len(format) && format[i+1] == '%' {
			i++
			continue
		}
		end := strings.IndexAny(format[i+1:], "diuoxXeEfFgGaAcsSpn")
		if end < 0 {
			return fmt.Errorf("found unterminated format expression")
		}
		text(format[start:i])
		start = i + end + 2
		if err := conversion(format[i:start]); err != nil {
			return err
		}
		i = start - 1
	}
	text(format[start:])
	return nil
}

// conversionForm is %, flags, width, precision, length, and a letter of those that print a number, a character or an address.
var conversionForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^%([-+ #0]*)(\d*)(?:\.(\d*))?(hh|h|ll|l|j|z|t|L)?([diuoxXcpeEfFgGaA])$`)
})

// maxConversion is how many characters of a conversion C promises.
const maxConversion = 4095

// FitFormat gives a format that prints elements of the given types as C's printf does what is passed to it: integers as int, or long long where they
// have 64 bits, and floats as double. The dialect leaves it open what a conversion prints that does not apply to its operand. The length of an integer
// gives way to that of the type, so %d prints all of an i64, of which NVIDIA's compiler prints the lower half. Others are refused: printf would
// read what was not passed.
func FitFormat(format string, elems []ir.Type) (string, error) {
	var out strings.Builder
	n := 0
	err := eachConversion(format, func(text string) error {
		fitted, err := fitConversion(text, elems[n])
		out.WriteString(fitted)
		n++
		return err
	}, func(text string) { out.WriteString(text) })
	return out.String(), err
}

func fitConversion(text string, elem ir.Type) (string, error) {
	refused := func(why string) (string, error) {
		return "", fmt.Errorf("the conversion %q of a %s: %s", text, ir.ShortType(elem), why)
	}
	m := conversionForm().FindStringSubmatch(text)
	if m == nil {
		return refused("there is flags, width, precision, length and a letter of diuoxXeEfFgGaAcp")
	}
	for _, number := range m[2:4] {
		if n, err := strconv.Atoi(number); number != "" && (err != nil || n > maxConversion) {
			return refused(fmt.Sprintf("a width or precision is at most %d", maxConversion))
		}
	}
	length, letter := m[4], m[5]
	float, wide := false, false
	switch t := elem.(type) {
	case *ir.FloatType:
		float = true
	case *ir.IntegerType:
		wide = t.Width == 64
	default: // a pointer
		wide = true
	}
	switch {
	case float != strings.Contains("eEfFgGaA", letter):
		return refused("integers and pointers have diuoxXcp, floats eEfFgGaA")
	case letter == "p" && !wide:
		return refused("an address has 64 bits")
	case float || letter == "c" || letter == "p":
		length = ""
	case length == "h" || length == "hh":
	case wide:
		length = "ll"
	default:
		length = ""
	}
	head := strings.TrimSuffix(strings.TrimSuffix(text, letter), m[4])
	return head + length + letter, nil
}
