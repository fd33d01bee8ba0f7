package driver

import (
	"regexp"
	"strings"
	"testing"

	"tileiras/ir"
)

// cuTile Python 1.7.0 finds places in our messages with these patterns (cuda/tile/_compile.py).
var (
	simple   = regexp.MustCompile(`(?i)loc\("([^"]+)"(?::(\d+):(\d+))?\):\s*error:\s*(.*)`)
	anyError = regexp.MustCompile(`(?i)^\s*error:\s*(.*)`)
)

func TestMessagesAreReadByCuTilePython(t *testing.T) {
	in := &Input{name: "other.tileir", source: []byte("text")}
	got := in.message(&ir.Diagnostic{Loc: &ir.FileLoc{File: `/a "b"/k.py`, Line: 7, Col: 3}, Msg: "no good"})
	if m := simple.FindStringSubmatch(got[0]); len(got) != 1 || m == nil || m[1] != `/a \22b\22/k.py` || m[2] != "7" || m[3] != "3" || m[4] != "no good" {
		t.Errorf("got %q, read as %q", got, m)
	}
	got = in.message(&ir.Diagnostic{Loc: ir.UnknownLoc{}, Msg: "no good"})
	if m := anyError.FindStringSubmatch(got[0]); len(got) != 1 || m == nil || m[1] != "no good" {
		t.Errorf("got %q, read as %q", got, m)
	}
}

// What is wrong with a big text is said without a search of all of it.
func TestPTXIsKnownByItsFirstLines(t *testing.T) {
	for comments, want := range map[int]bool{0: true, 1000: true, maxPTXHeader: false} {
		text := strings.Repeat("// PTX\n", comments) + "\n.version 9.0\n.target sm_80\n"
		_, err := Compile(t.Context(), "k", []byte(text), Options{})
		if got := err != nil && strings.Contains(err.Error(), "note: this is PTX"); got != want {
			t.Errorf("behind %d lines of comments: %v", comments, err)
		}
	}
}

func TestExcerpts(t *testing.T) {
	long := strings.Repeat("x", 150) + "é" + strings.Repeat("y", 300)
	for _, c := range []struct {
		text      string
		line, col int
		want      []string
	}{
		{"a\nbcd\ne", 2, 2, []string{"bcd", " ^"}},
		{"a\n\tb\r\n", 2, 2, []string{"\tb", "\t^"}},
		{"é b", 1, 4, []string{"é b", "  ^"}},
		{"a\xffb", 1, 3, []string{"a?b", "  ^"}},
		{"ab", 1, 3, []string{"ab", "  ^"}},
		{"ab", 1, 4, nil},
		{"ab", 2, 1, nil},
		{"ab", 0, 0, nil},
		{long, 1, 151, []string{"... " + strings.Repeat("x", 100) + "é" + strings.Repeat("y", 98) + " ...", strings.Repeat(" ", 104) + "^"}},
		{long, 1, 252, []string{"... " + strings.Repeat("y", 199) + " ...", strings.Repeat(" ", 103) + "^"}},
	} {
		got := excerpt([]byte(c.text), c.line, c.col)
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%.20q at %d:%d: got\n%s\nwant\n%s", c.text, c.line, c.col, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
