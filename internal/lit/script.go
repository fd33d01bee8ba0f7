package lit

import (
	"fmt"
	"path/filepath"
	"strings"
)

// A command line is a small part of the shell's language:
//
//	list     = pipeline { ("&&" | ";") pipeline }
//	pipeline = command { "|" command }
//	command  = word { word | redirection }
//	redirection = ("<" | ">" | ">>" | "2>" | "2>>" | "&>") word | "2>&1" | "|&" (as 2>&1 |)
//
// Words may have '…', "…" and backslashes. There are no variables, globs or
// substitutions.

type pipeline struct {
	commands []command
	always   bool // comes after ";": runs whatever came before
}

type command struct {
	args           []string
	stdin          string
	stdout, stderr target
	merge          bool // 2>&1
}

// target is a file for an output; no path means the pipe or the log.
type target struct {
	path  string
	trunc bool
}

// token is a word or an operator.
type token struct {
	text string
	op   bool
}

// operators, longest first.
var operators = []string{"2>&1", "2>>", "&&", "|&", "&>", ">>", "2>", "||", "|", "<", ">", ";", "&"}

// tokenize splits a command line. An operator that starts with a digit counts
// only at the start of a word.
func tokenize(line string) ([]token, error) {
	var tokens []token
	var word strings.Builder
	inWord := false
	flush := func() {
		if inWord {
			tokens = append(tokens, token{text: word.String()})
			word.Reset()
			inWord = false
		}
	}
	for i := 0; i < len(line); {
		c := line[i]
		if c == ' ' || c == '\t' {
			flush()
			i++
			continue
		}
		if op := operatorAt(line[i:], inWord); op != "" {
			flush()
			tokens = append(tokens, token{op, true})
			i += len(op)
			continue
		}
		inWord = true
		switch c {
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("unclosed ' in %q", line)
			}
			word.WriteString(line[i+1 : i+1+end])
			i += end + 2
		case '"':
			for i++; ; i++ {
				if i >= len(line) {
					return nil, fmt.Errorf("unclosed \" in %q", line)
				}
				if line[i] == '"' {
					i++
					break
				}
				if line[i] == '\\' && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0 {
					i++
				}
				word.WriteByte(line[i])
			}
		case '\\':
			if i+1 == len(line) {
				return nil, fmt.Errorf("trailing backslash in %q", line)
			}
			word.WriteByte(line[i+1])
			i += 2
		default:
			word.WriteByte(c)
			i++
		}
	}
	flush()
	return tokens, nil
}

func operatorAt(s string, inWord bool) string {
	for _, op := range operators {
		if strings.HasPrefix(s, op) && !(inWord && op[0] == '2') {
			return op
		}
	}
	return ""
}

// parseLine reads a command line into pipelines.
func parseLine(line string) ([]pipeline, error) {
	tokens, err := tokenize(line)
	if err != nil {
		return nil, err
	}
	lines := []pipeline{{}}
	cmd := command{}
	endCommand := func() error {
		if len(cmd.args) == 0 {
			return fmt.Errorf("empty command in %q", line)
		}
		p := &lines[len(lines)-1]
		p.commands = append(p.commands, cmd)
		cmd = command{}
		return nil
	}
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if !t.op {
			cmd.args = append(cmd.args, t.text)
			continue
		}
		switch t.text {
		case "|", "|&", "&&", ";":
			cmd.merge = cmd.merge || t.text == "|&"
			if err := endCommand(); err != nil {
				return nil, err
			}
			if t.text == "&&" || t.text == ";" {
				lines = append(lines, pipeline{always: t.text == ";"})
			}
		case "2>&1":
			cmd.merge = true
		case "<", ">", ">>", "2>", "2>>", "&>":
			if i++; i == len(tokens) || tokens[i].op {
				return nil, fmt.Errorf("%s needs a file in %q", t.text, line)
			}
			file := tokens[i].text
			if !filepath.IsAbs(file) {
				return nil, fmt.Errorf("%s %s is relative to nothing in particular: use %%t or %%S", t.text, file)
			}
			switch t.text {
			case "<":
				cmd.stdin = file
			case ">", ">>":
				cmd.stdout = target{file, t.text == ">"}
			case "2>", "2>>":
				cmd.stderr = target{file, t.text == "2>"}
			case "&>":
				cmd.stdout, cmd.merge = target{file, true}, true
			}
		default:
			return nil, fmt.Errorf("%s is not supported in %q", t.text, line)
		}
	}
	return lines, endCommand()
}
