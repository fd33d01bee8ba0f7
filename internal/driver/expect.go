package driver

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"tileiras/ir"
)

// Comments that say which diagnostics a text must give, as MLIR's tools read them:
//
//	// expected-error @below {{text}}           error, warning, note, remark; text is a part of the message
//	// expected-error-re @+1 {{a {{[0-9]+}} b}} a literal with regular expressions in it
//
// @below is the next line without such a comment, @above the last one, @+N and @-N count from here, @unknown is no place,
// and without a designator it is this line.

// expectation is one such comment.
type expectation struct {
	severity ir.Severity
	line     int // in the file; 0 = no place
	text     string
	pattern  *regexp.Regexp // instead of text, for -re
	at       int            // line of the comment
	met      bool
}

var expectComment = pattern(`expected-(error|note|remark|warning)(-re)? *(?:@([+-][0-9]+|above|below|unknown))? *\{\{(.*)\}\}$`)

var expectWords = map[string]ir.Severity{"error": ir.Error, "warning": ir.Warning, "remark": ir.Remark, "note": ir.Note}

// expectations reads the comments of a text whose first line has the given number.
func expectations(src string, firstLine int) ([]*expectation, error) {
	var all, below []*expectation
	above := 0 // the last line without a comment
	for i, line := range strings.Split(src, "\n") {
		n := firstLine + i
		m := expectComment().FindStringSubmatch(strings.TrimRight(line, "\r"))
		if m == nil {
			for _, e := range below {
				e.line = n
			}
			below, above = nil, n
			continue
		}
		e := &expectation{severity: expectWords[m[1]], line: n, text: m[4], at: n}
		if m[2] != "" {
			re, err := expectPattern(m[4])
			if err != nil {
				return nil, fmt.Errorf("line %d: invalid regular expression: %w", n, err)
			}
			e.pattern = re
		}
		switch at := m[3]; at {
		case "":
		case "below":
			below = append(below, e)
		case "above":
			e.line = above
		case "unknown":
			e.line = 0
		default:
			d, err := strconv.Atoi(at)
			if err != nil {
				return nil, fmt.Errorf("line %d: invalid line offset '%s'", n, at)
			}
			e.line = n + d
		}
		all = append(all, e)
	}
	return all, nil
}

// expectPattern compiles literal text with {{regular expressions}} in it.
func expectPattern(text string) (*regexp.Regexp, error) {
	var b strings.Builder
	for {
		literal, rest, island := strings.Cut(text, "{{")
		b.WriteString(regexp.QuoteMeta(literal))
		if !island {
			break
		}
		re, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, fmt.Errorf("'{{' without '}}'")
		}
		b.WriteString("(?:" + re + ")")
		text = after
	}
	return regexp.Compile(b.String())
}

func (e *expectation) matches(d *ir.Diagnostic, line int) bool {
	if e.severity != d.Severity || e.line != line {
		return false
	}
	if e.pattern != nil {
		return e.pattern.MatchString(d.Msg)
	}
	return strings.Contains(d.Msg, e.text)
}

// checkExpected compares the diagnostics of a text with its comments and returns what disagrees, in MLIR's words: every
// diagnostic, notes too, must be expected, and every expectation met; several diagnostics may meet one.
func checkExpected(p piece, list []*ir.Diagnostic) []string {
	want, err := expectations(string(p.src), p.firstLine)
	if err != nil {
		return []string{p.file + ": " + err.Error()}
	}
	var wrong []string
	check := func(d *ir.Diagnostic) {
		place := "<unknown>:0"
		line := 0
		if file, n, _, ok := ir.FileLine(d.Loc); ok && file == p.file {
			line, place = int(n), ir.LocString(d.Loc)
		}
		for _, e := range want {
			if e.matches(d, line) {
				e.met = true
				return
			}
		}
		wrong = append(wrong, fmt.Sprintf("%s: error: unexpected %s: %s", place, d.Severity, d.Msg))
	}
	for _, d := range list {
		check(d)
		for i := range d.Notes {
			check(&d.Notes[i])
		}
	}
	for _, e := range want {
		if !e.met {
			wrong = append(wrong, fmt.Sprintf("%s:%d: error: expected %s \"%s\" was not produced", p.file, e.at, e.severity, e.text))
		}
	}
	return wrong
}
