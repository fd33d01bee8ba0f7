// Package filecheck is LLVM's FileCheck in Go: it verifies that a text contains
// what the directives of a check file ask for. Directives, matching order and
// messages follow the LLVM manual (llvm.org/docs/CommandGuide/FileCheck.html);
// numeric variables other than @LINE are not supported, and say so.
//
// It imports the standard library only.
package filecheck

import (
	"fmt"
	"strings"
)

// Options select and change directives; the zero value is FileCheck without
// flags.
type Options struct {
	Prefixes            []string // directive names; none: CHECK
	CommentPrefixes     []string // what hides a line; none: COM and RUN
	AllowUnusedPrefixes bool     // else each prefix must occur
	AllowEmpty          bool     // the input may be empty
	StrictWhitespace    bool     // else runs of blanks and tabs are one blank
	MatchFullLines      bool     // a pattern covers whole lines
	IgnoreCase          bool
	EnableVarScope      bool              // -LABEL forgets variables without $
	ImplicitNot         []string          // patterns excluded between all directives
	Defines             map[string]string // variables set beforehand
	CheckName           string            // file names for messages
	InputName           string
}

// Error is a failed check or a malformed check file, with LLVM's text: the
// place, the line and a caret, and notes.
type Error struct {
	Usage bool // the check file or the options are at fault (exit status 2)
	Text  string
}

func (e *Error) Error() string { return e.Text }

// Check verifies input against the directives in check. It returns nil or an
// *Error with every failed directive (one per -LABEL section).
func Check(check, input string, o Options) error {
	if len(o.Prefixes) == 0 {
		o.Prefixes = []string{"CHECK"}
	}
	if len(o.CommentPrefixes) == 0 {
		o.CommentPrefixes = []string{"COM", "RUN"}
	}
	if o.CheckName == "" {
		o.CheckName = "check"
	}
	if o.InputName == "" {
		o.InputName = "<stdin>"
	}
	if input == "" && !o.AllowEmpty {
		return &Error{Usage: true, Text: fmt.Sprintf("FileCheck error: '%s' is empty.\n", o.InputName)}
	}
	c := &checker{
		o:     &o,
		check: source{o.CheckName, canonical(check, o.StrictWhitespace)},
		input: source{o.InputName, canonical(input, o.StrictWhitespace)},
		vars:  map[string]string{},
	}
	for k, v := range o.Defines {
		c.vars[k] = v
	}
	steps, err := c.read()
	if err != nil {
		return err
	}
	c.run(steps)
	if c.report.Len() > 0 {
		return &Error{Text: c.report.String()}
	}
	return nil
}

// canonical turns runs of blanks and tabs into one blank, and CRLF into LF.
func canonical(s string, strict bool) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if strict {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == ' ' || c == '\t' {
			if i > 0 && (s[i-1] == ' ' || s[i-1] == '\t') {
				continue
			}
			b.WriteByte(' ')
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// source is a text with a name.
type source struct {
	name, text string
}

// message prints "file:line:col: severity: text" with the line and a caret.
func (s *source) message(offset int, severity, text string) string {
	offset = min(offset, len(s.text))
	start := strings.LastIndexByte(s.text[:offset], '\n') + 1
	line := s.text[start:]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	col := offset - start
	return fmt.Sprintf("%s:%d:%d: %s: %s\n%s\n%s^\n", s.name, s.line(offset), col+1, severity, text, line, strings.Repeat(" ", col))
}

func (s *source) line(offset int) int { return strings.Count(s.text[:offset], "\n") + 1 }

// checker is the state of one run.
type checker struct {
	o      *Options
	check  source
	input  source
	vars   map[string]string
	report strings.Builder
}

func (c *checker) error(s *source, offset int, format string, args ...any) {
	c.report.WriteString(s.message(offset, "error", fmt.Sprintf(format, args...)))
}

func (c *checker) note(s *source, offset int, format string, args ...any) {
	c.report.WriteString(s.message(offset, "note", fmt.Sprintf(format, args...)))
}
