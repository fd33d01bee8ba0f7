package driver

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"tileiras/ir"
)

// Messages have one form, `loc("FILE":LINE:COLUMN): error: TEXT`, which is how MLIR writes places and what cuTile Python reads
// (its patterns LOC_RE_SIMPLE and ERROR_RE); "error: TEXT" where there is no place. For a place in the text that was read, the
// line and a caret follow.

// errors are the errors that the context of an input holds.
func (in *Input) errors() []string { return in.messages(ir.Error) }

// messages are the diagnostics of an input, those that are at least as bad as the given severity.
func (in *Input) messages(worst ir.Severity) []string {
	var lines []string
	for _, d := range in.Ctx.Diags.List {
		if d.Severity <= worst {
			lines = append(lines, in.message(d)...)
		}
	}
	if n := in.Ctx.Diags.Dropped; n > 0 {
		lines = append(lines, fmt.Sprintf("note: %d more messages", n))
	}
	return lines
}

// message is the lines of a diagnostic and of all its notes.
func (in *Input) message(d *ir.Diagnostic) []string {
	lines := in.format(d)
	for _, n := range d.AllNotes() {
		lines = append(lines, in.format(&n)...)
	}
	return lines
}

func (in *Input) format(d *ir.Diagnostic) []string {
	text := fmt.Sprintf("%s: %s", d.Severity, strings.TrimRight(d.Msg, "\n"))
	file, line, col, ok := ir.FileLine(d.Loc)
	if !ok {
		return strings.Split(text, "\n")
	}
	lines := strings.Split(fmt.Sprintf("loc(%s:%d:%d): %s", quoted(file), line, col, text), "\n")
	if file == in.name && in.Origin == nil {
		lines = append(lines, excerpt(in.source, int(line), int(col))...)
	}
	return lines
}

// quoted is a file name between quotes; what would end it early is written as MLIR does.
func quoted(file string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(file) {
		if c < ' ' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, "\\%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// shown is how many bytes of a long line an excerpt shows on each side of the place.
const shown = 100

// excerpt is the given line of a text, counted from 1, with a caret below the given byte, counted from 1. A long line is cut.
func excerpt(text []byte, line, col int) []string {
	for ; line > 1; line-- {
		at := bytes.IndexByte(text, '\n')
		if at < 0 {
			return nil
		}
		text = text[at+1:]
	}
	if at := bytes.IndexByte(text, '\n'); at >= 0 {
		text = text[:at]
	}
	text = bytes.TrimRight(text, "\r")
	if line < 1 || col < 1 || col > len(text)+1 {
		return nil
	}
	before, after := text[:col-1], text[col-1:]
	if len(before) > shown {
		before = append([]byte("... "), whole(before[len(before)-shown:])...)
	}
	if len(after) > shown {
		after = append(bytes.ToValidUTF8(after[:shown:shown], nil), " ..."...)
	}
	head := printable(before)
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, head)
	return []string{head + printable(after), pad + "^"}
}

// printable is a text that is safe to show on a terminal.
func printable(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return '?'
		}
		return r
	}, string(bytes.ToValidUTF8(b, []byte("?"))))
}

// whole cuts the rest of a character off the front.
func whole(b []byte) []byte {
	for len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return b
}
