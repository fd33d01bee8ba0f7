package ir

// tokenKind is the lexical class of a token of the text form, which is MLIR's.
type tokenKind uint8

const (
	tokEOF     tokenKind = iota
	tokBare              // bare-id: letters, digits, "_$."
	tokPercent           // %name or %12
	tokAt                // @name or @"any string"
	tokHash              // #name
	tokExcl              // !name
	tokCaret             // ^bb0
	tokInt               // 12 or 0x1F
	tokFloat             // 1.5e-3
	tokString            // "..."
	tokPunct             // one of ( ) [ ] { } < > : , = + - * ? / | -> ::
	tokBad               // anything else
)

// token is a piece of the source between two byte offsets.
type token struct {
	kind     tokenKind
	pos, end int
}

// is compares the text of a token.
func (t token) is(src []byte, s string) bool { return string(src[t.pos:t.end]) == s }

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

// isBareStart and isBareRest are the characters of a bare identifier, isSuffix those of a suffix identifier (after %).
func isBareStart(c byte) bool { return isLetter(c) || c == '_' }
func isBareRest(c byte) bool  { return isLetter(c) || isDigit(c) || c == '_' || c == '$' || c == '.' }
func isSuffix(c byte) bool    { return isBareRest(c) || c == '-' }

// isBareID reports whether s is a bare identifier of the text form.
func isBareID(s string) bool {
	if s == "" || !isBareStart(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !isBareRest(s[i]) {
			return false
		}
	}
	return true
}

// skipSpace is the offset of the first byte at or after pos that is neither white space nor part of a comment.
func skipSpace(src []byte, pos int) int {
	for pos < len(src) {
		switch c := src[pos]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			pos++
		case c == '/' && pos+1 < len(src) && src[pos+1] == '/':
			for pos < len(src) && src[pos] != '\n' {
				pos++
			}
		default:
			return pos
		}
	}
	return pos
}

// lex reads the token at or after pos.
func lex(src []byte, pos int) token {
	pos = skipSpace(src, pos)
	if pos >= len(src) {
		return token{tokEOF, len(src), len(src)}
	}
	run := func(at int, in func(byte) bool) int {
		for at < len(src) && in(src[at]) {
			at++
		}
		return at
	}
	// suffix reads what follows % # ! ^: digits, or an identifier.
	suffix := func(kind tokenKind) token {
		at := pos + 1
		if at < len(src) && isDigit(src[at]) {
			return token{kind, pos, run(at, isDigit)}
		}
		end := run(at, isSuffix)
		if end == at {
			return token{tokBad, pos, at}
		}
		return token{kind, pos, end}
	}
	c := src[pos]
	switch {
	case isBareStart(c):
		return token{tokBare, pos, run(pos, isBareRest)}
	case isDigit(c):
		return lexNumber(src, pos, run)
	}
	switch c {
	case '%':
		return suffix(tokPercent)
	case '#':
		return suffix(tokHash)
	case '^':
		return suffix(tokCaret)
	case '!':
		end := run(pos+1, isBareRest)
		if end == pos+1 {
			return token{tokBad, pos, end}
		}
		return token{tokExcl, pos, end}
	case '@':
		if pos+1 < len(src) && src[pos+1] == '"' {
			s := lexString(src, pos+1)
			if s.kind == tokBad {
				return token{tokBad, pos, s.end}
			}
			return token{tokAt, pos, s.end}
		}
		if pos+1 < len(src) && isBareStart(src[pos+1]) {
			return token{tokAt, pos, run(pos+1, isBareRest)}
		}
		return token{tokBad, pos, pos + 1}
	case '"':
		return lexString(src, pos)
	case '-':
		if pos+1 < len(src) && src[pos+1] == '>' {
			return token{tokPunct, pos, pos + 2}
		}
		return token{tokPunct, pos, pos + 1}
	case ':':
		if pos+1 < len(src) && src[pos+1] == ':' {
			return token{tokPunct, pos, pos + 2}
		}
		return token{tokPunct, pos, pos + 1}
	case '(', ')', '[', ']', '{', '}', '<', '>', ',', '=', '+', '*', '?', '/', '|':
		return token{tokPunct, pos, pos + 1}
	}
	return token{tokBad, pos, pos + 1}
}

func lexNumber(src []byte, pos int, run func(int, func(byte) bool) int) token {
	if src[pos] == '0' && pos+2 < len(src) && src[pos+1] == 'x' && isHex(src[pos+2]) {
		return token{tokInt, pos, run(pos+2, isHex)}
	}
	end := run(pos, isDigit)
	if end >= len(src) || src[end] != '.' {
		return token{tokInt, pos, end}
	}
	end = run(end+1, isDigit)
	if end < len(src) && (src[end] == 'e' || src[end] == 'E') {
		exp := end + 1
		if exp < len(src) && (src[exp] == '+' || src[exp] == '-') {
			exp++
		}
		if exp < len(src) && isDigit(src[exp]) {
			end = run(exp, isDigit)
		}
	}
	return token{tokFloat, pos, end}
}

// lexString reads a quoted string; the quotes belong to the token. A line end inside makes it bad.
func lexString(src []byte, pos int) token {
	for at := pos + 1; at < len(src); at++ {
		switch src[at] {
		case '"':
			return token{tokString, pos, at + 1}
		case '\n':
			return token{tokBad, pos, at}
		case '\\':
			at++
		}
	}
	return token{tokBad, pos, len(src)}
}

// unquote undoes the escapes of a quoted string: \" \\ \n \t and two hexadecimal digits; ok is false for others.
func unquote(s []byte) (string, bool) {
	s = s[1 : len(s)-1]
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		i++
		if i >= len(s) {
			return "", false
		}
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, c)
		case c == 'n':
			out = append(out, '\n')
		case c == 't':
			out = append(out, '\t')
		case isHex(c) && i+1 < len(s) && isHex(s[i+1]):
			out = append(out, hexValue(c)<<4|hexValue(s[i+1]))
			i++
		default:
			return "", false
		}
	}
	return string(out), true
}

func hexValue(c byte) byte {
	switch {
	case isDigit(c):
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	}
	return c - 'A' + 10
}

// quote is the quoted form of a string: printable ASCII as it is, the rest escaped as MLIR does.
func quote(s string) string {
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(s)+2)
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			out = append(out, '\\', '\\')
		case c >= 0x20 && c < 0x7F && c != '"':
			out = append(out, c)
		default:
			out = append(out, '\\', digits[c>>4], digits[c&15])
		}
	}
	return string(append(out, '"'))
}
