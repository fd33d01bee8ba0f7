package filecheck

import (
	"fmt"
	"regexp"
	"strings"
)

// translateERE rewrites a POSIX extended regular expression, as LLVM's regex
// library reads it in newline-sensitive mode, for Go's regexp package:
//
//   - a backslash makes the next character literal, whatever it is (no \d);
//     inside brackets it is an ordinary character;
//   - "." and negated brackets do not match a newline ("." in Go does not either);
//   - "{" without a number is an ordinary character;
//   - "(?" is an error, since a repetition must follow something.
//
// Back references by number are not supported.
func translateERE(re string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(re); i++ {
		switch c := re[i]; {
		case c == '\\':
			if i++; i == len(re) {
				return "", fmt.Errorf("trailing backslash")
			}
			if re[i] >= '1' && re[i] <= '9' {
				return "", fmt.Errorf("back reference \\%c is not supported", re[i])
			}
			out.WriteString(regexp.QuoteMeta(re[i : i+1]))
		case c == '[':
			end := bracketEnd(re, i)
			if end < 0 {
				return "", fmt.Errorf("brackets ([ ]) not balanced")
			}
			out.WriteString(translateBracket(re[i:end]))
			i = end - 1
		case c == '(' && strings.HasPrefix(re[i:], "(?"):
			return "", fmt.Errorf("repetition-operator operand invalid")
		case c == '{':
			if i+1 == len(re) || re[i+1] < '0' || re[i+1] > '9' {
				out.WriteString(`\{`)
				continue
			}
			bound := interval.FindString(re[i:])
			if bound == "" {
				return "", fmt.Errorf("braces not balanced")
			}
			out.WriteString(bound)
			i += len(bound) - 1
		case c == '}':
			out.WriteString(`\}`)
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), nil
}

var interval = regexp.MustCompile(`^\{[0-9]+(,[0-9]*)?\}`)

// bracketEnd returns the position after the bracket expression that starts at
// i, or -1. A "]" right after "[" or "[^" is an element, and so is anything
// inside [:class:], [=x=] and [.x.].
func bracketEnd(re string, i int) int {
	i++
	if i < len(re) && re[i] == '^' {
		i++
	}
	for first := true; i < len(re); first = false {
		switch {
		case re[i] == ']' && !first:
			return i + 1
		case re[i] == '[' && i+1 < len(re) && strings.IndexByte(":=.", re[i+1]) >= 0:
			end := strings.Index(re[i+2:], re[i+1:i+2]+"]")
			if end < 0 {
				return -1
			}
			i += end + 4
		default:
			i++
		}
	}
	return -1
}

func translateBracket(b string) string {
	var out strings.Builder
	out.WriteByte('[')
	body := b[1 : len(b)-1]
	if strings.HasPrefix(body, "^") {
		out.WriteString(`^\n`)
		body = body[1:]
	}
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '[' && i+1 < len(body) && body[i+1] == ':':
			end := strings.Index(body[i:], ":]") + 2
			out.WriteString(body[i : i+end])
			i += end - 1
		case c == '-': // a range, unless first or last
			if i == 0 || i == len(body)-1 {
				out.WriteByte('\\')
			}
			out.WriteByte('-')
		case strings.IndexByte(`\]^[&~`, c) >= 0:
			out.WriteByte('\\')
			out.WriteByte(c)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte(']')
	return out.String()
}

// compileERE translates an expression and counts its capturing groups.
func compileERE(re string) (translated string, groups int, err error) {
	if translated, err = translateERE(re); err != nil {
		return "", 0, err
	}
	c, err := regexp.Compile(translated)
	if err != nil {
		return "", 0, err
	}
	return translated, c.NumSubexp(), nil
}
