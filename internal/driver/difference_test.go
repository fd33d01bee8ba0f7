package driver

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// common is the length of a longest common subsequence, by the table of all prefixes.
func common(a, b []string) int {
	before := make([]int, len(b)+1)
	for _, x := range a {
		row := make([]int, len(b)+1)
		for j, y := range b {
			row[j+1] = max(row[j], before[j+1])
			if x == y {
				row[j+1] = before[j] + 1
			}
		}
		before = row
	}
	return before[len(b)]
}

// TestDifferencesAreShortest compares random texts: what stays and is gone is the first, what stays and is new the second, and as much stays as can.
func TestDifferencesAreShortest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		text := func() (lines []string) {
			for range r.IntN(12) {
				lines = append(lines, string(rune('a'+r.IntN(3))))
			}
			return lines
		}
		a, b := text(), text()
		var d difference
		d.compare(a, b)
		d.flush()
		var old, made []string
		stayed := 0
		for i, c := range d.changes {
			if i > 0 && d.changes[i-1].mark == c.mark {
				t.Fatalf("%v to %v: two changes of a kind in %+v", a, b, d.changes)
			}
			switch c.mark {
			case ' ':
				stayed += len(c.lines)
				old, made = append(old, c.lines...), append(made, c.lines...)
			case '-':
				old = append(old, c.lines...)
			case '+':
				made = append(made, c.lines...)
			}
		}
		if strings.Join(old, "") != strings.Join(a, "") || strings.Join(made, "") != strings.Join(b, "") || stayed != common(a, b) {
			t.Fatalf("%v to %v is %+v: %d lines stay, %d can", a, b, d.changes, stayed, common(a, b))
		}
	}
}

func TestDiffsShowChangesWithContext(t *testing.T) {
	lines := strings.Split("a b c d e f g h i j k l m n", " ")
	a := strings.Join(lines, "\n") + "\n"
	b := strings.NewReplacer("e\n", "E\n", "m\n", "").Replace(a)
	want := "@@\n b\n c\n d\n-e\n+E\n f\n g\n h\n@@\n j\n k\n l\n-m\n n\n"
	if got := unifiedDiff(a, b); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := unifiedDiff(a, a); got != "" {
		t.Errorf("no change is %q", got)
	}
}
