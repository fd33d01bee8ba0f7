package emu

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// scanner walks over PTX text character by character: PTX has so few tokens that the parser asks for the
// one it expects.
type scanner struct {
	file string
	src  string
	pos  int
	line int   // 1-based line of pos
	bol  int   // position where that line begins
	err  error // a *SyntaxError or an *UnsupportedError
}

const maxPTX = 256 << 20

// fail ends the text with an error about what stands at the scanner.
func (s *scanner) fail(format string, args ...any) {
	s.end(&SyntaxError{s.file, s.line, s.pos - s.bol + 1, fmt.Sprintf(format, args...)})
}

// lacks ends the text because of something that is not implemented, or above a limit.
func (s *scanner) lacks(format string, args ...any) {
	s.end(&UnsupportedError{s.file, s.line, s.pos - s.bol + 1, fmt.Sprintf(format, args...)})
}

func (s *scanner) end(err error) {
	if s.err == nil {
		s.err = err
		s.pos = len(s.src)
	}
}

// skip passes white space and comments.
func (s *scanner) skip() {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '\n':
			s.pos++
			s.line++
			s.bol = s.pos
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == 0:
			s.pos++
		case c == '/' && strings.HasPrefix(s.src[s.pos:], "//"):
			s.skipLine()
		case c == '/' && strings.HasPrefix(s.src[s.pos:], "/*"):
			end := strings.Index(s.src[s.pos+2:], "*/")
			if end < 0 {
				s.fail("comment is not closed")
				return
			}
			s.advance(end + 4)
		default:
			return
		}
	}
}

// advance passes n characters and counts their lines.
func (s *scanner) advance(n int) {
	for i := 0; i < n && s.pos < len(s.src); i++ {
		if s.src[s.pos] == '\n' {
			s.line++
			s.bol = s.pos + 1
		}
		s.pos++
	}
}

// skipLine passes everything up to the end of the line.
func (s *scanner) skipLine() {
	if i := strings.IndexByte(s.src[s.pos:], '\n'); i >= 0 {
		s.pos += i
	} else {
		s.pos = len(s.src)
	}
}

func (s *scanner) peek() byte {
	s.skip()
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

func (s *scanner) accept(c byte) bool {
	if s.peek() == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) expect(c byte) {
	if !s.accept(c) {
		s.fail("expected '%c', found %s", c, s.found())
	}
}

// found describes what stands at the scanner, for messages.
func (s *scanner) found() string {
	if s.peek() == 0 {
		return "the end of the text"
	}
	if w := s.peekWord(true); w != "" {
		return "'" + w + "'"
	}
	return "'" + string(s.src[s.pos]) + "'"
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '%'
}

// peekWord reads a name; with dots it also takes '.' and '::', as opcodes have. A word that begins with '.', a directive or a type, ends before the next one.
func (s *scanner) peekWord(dots bool) string {
	s.skip()
	i := s.pos
	if dots && i < len(s.src) && s.src[i] == '.' {
		dots = false
		i++
	}
	for i < len(s.src) {
		c := s.src[i]
		if isWord(c) || dots && c == '.' {
			i++
		} else if dots && c == ':' && i+1 < len(s.src) && s.src[i+1] == ':' {
			i += 2
		} else {
			break
		}
	}
	return s.src[s.pos:i]
}

func (s *scanner) word(dots bool) string {
	w := s.peekWord(dots)
	s.pos += len(w)
	return w
}

// name reads an identifier.
func (s *scanner) name() string {
	w := s.word(false)
	if w == "" {
		s.fail("expected a name, found %s", s.found())
	}
	return w
}

// str reads a quoted string.
func (s *scanner) str() string {
	s.expect('"')
	i := s.pos
	for i < len(s.src) && s.src[i] != '"' && s.src[i] != '\n' {
		if s.src[i] == '\\' {
			i++
		}
		i++
	}
	if i >= len(s.src) || s.src[i] != '"' {
		s.fail("string is not closed")
		return ""
	}
	text := s.src[s.pos:i]
	s.pos = i + 1
	return strings.ReplaceAll(text, `\\`, `\`)
}

// number reads an integer or float literal (PTX ISA section 4.5).
func (s *scanner) number() (a arg) {
	s.skip()
	neg := s.accept('-')
	s.skip()
	i := s.pos
	rest := s.src[i:]
	isHex := strings.HasPrefix(rest, "0x") || strings.HasPrefix(rest, "0X")
	isFlt := len(rest) > 1 && rest[0] == '0' && strings.IndexByte("fFdD", rest[1]) >= 0
	for i < len(s.src) {
		c := s.src[i]
		exp := !isHex && !isFlt && (c == '+' || c == '-') && i > s.pos && (s.src[i-1]|0x20) == 'e'
		if !isWord(c) && c != '.' && !exp {
			break
		}
		i++
	}
	text := s.src[s.pos:i]
	a, ok := parseNumber(text)
	if !ok {
		s.fail("'%s' is not a number", text)
		return
	}
	s.pos = i
	if neg {
		return negate(a)
	}
	return a
}

func parseNumber(t string) (arg, bool) {
	if len(t) > 2 && t[0] == '0' {
		hex, size := t[2:], 0
		switch t[1] {
		case 'f', 'F':
			size = 8
		case 'd', 'D':
			size = 16
		}
		if size > 0 {
			v, err := strconv.ParseUint(hex, 16, 64)
			return arg{kind: argFloat, val: v, hex32: size == 8}, err == nil && len(hex) == size
		}
	}
	if strings.ContainsAny(t, ".") || !strings.HasPrefix(strings.ToLower(t), "0x") && strings.ContainsAny(t, "eE") {
		f, err := strconv.ParseFloat(t, 64)
		return arg{kind: argFloat, val: math.Float64bits(f)}, err == nil
	}
	digits := strings.TrimRight(t, "Uu")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || strings.ContainsRune(digits, '_') {
		return arg{}, false
	}
	v, err := strconv.ParseUint(digits, 0, 64)
	return arg{kind: argInt, val: v, unsigned: len(digits) < len(t) || v > math.MaxInt64}, err == nil
}
