package driver

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDifferenceShowsLinesWithTheirSurroundings(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"a\nb\n", "a\nb\n", ""},
		{"a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		{"", "a\n", "@@ -0,0 +1,1 @@\n+a\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n6\n7\n8\n9\n", "@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n"},
	} {
		if got := unifiedDiff(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: got\n%swant\n%s", c.a, c.b, got, c.want)
		}
	}
}

// TestDifferenceOfEveryLine: where work grew with the square of the changes, this one would not end.
func TestDifferenceOfEveryLine(t *testing.T) {
	const lines = 1 << 17
	var a, b strings.Builder
	for i := range lines {
		fmt.Fprintf(&a, "%%%d = addi\n}\n", i)
		fmt.Fprintf(&b, "%%%d = muli\n}\n", i)
	}
	got := unifiedDiff(a.String(), b.String())
	if n := strings.Count(got, "\n-%"); n != lines {
		t.Errorf("%d lines are gone, not %d", n, lines)
	}
	if n := strings.Count(got, "\n+%"); n != lines {
		t.Errorf("%d lines are new, not %d", n, lines)
	}
}

// What stays and goes is the old text, what stays and comes the new one, whatever the texts are.
func TestDifferenceIsOfBothTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c", "d", "}"}), 0, 30)
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		var gone, come []string
		for _, e := range lineEdits(a, b) {
			if e.mark != '+' {
				gone = append(gone, e.text)
			}
			if e.mark != '-' {
				come = append(come, e.text)
			}
		}
		if !slices.Equal(gone, a) || !slices.Equal(come, b) {
			t.Errorf("from %q to %q: %q and %q", a, b, gone, come)
		}
	})
}
