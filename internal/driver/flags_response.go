package driver

import "strings"

// maxResponseDepth bounds response files that name response files, maxResponseArgs what they hold together.
const (
	maxResponseDepth = 8
	maxResponseArgs  = 1 << 16
)

// expandResponseFiles puts the words of FILE where @FILE stands. What is no file that can be read stays as it is, as with LLVM's
// tools: it is then the name of an input.
func expandResponseFiles(args []string, depth int) ([]string, error) {
	var out []string
	for _, a := range args {
		if len(a) < 2 || a[0] != '@' || depth >= maxResponseDepth {
			out = append(out, a)
			continue
		}
		text, err := readFile(a[1:])
		if err != nil {
			out = append(out, a)
			continue
		}
		inner, err := expandResponseFiles(splitWords(string(text)), depth+1)
		if err != nil {
			return nil, err
		}
		if out = append(out, inner...); len(out) > maxResponseArgs {
			return nil, fail(ExitUsage, "response files hold more than %d arguments", maxResponseArgs)
		}
	}
	return out, nil
}

// splitWords splits the text of a response file as GNU tools do: at white space; quotes of both kinds keep it together, a backslash
// takes the next character as it is.
func splitWords(text string) []string {
	var out []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			inWord = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, inWord = c, true
		case quote == 0 && strings.IndexByte(" \t\r\n\v\f", c) >= 0:
			if inWord {
				out = append(out, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		out = append(out, word.String())
	}
	return out
}
