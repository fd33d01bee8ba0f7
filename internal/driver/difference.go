package driver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

const (
	// contextLines is how many unchanged lines a diff shows around a change.
	contextLines = 3
	// exactLines is how many lines between two anchors are compared one by one: the work for them grows with their square. More of them are
	// shown as replaced.
	exactLines = 2000
)

// unifiedDiff is what changed from a to b, line by line, in hunks; "" when nothing did. Lines that each text has once, in the same order, are
// anchors (Bram Cohen's patience diff); the shortest edit is found between them only, so that its work is about that of sorting lines. It
// does not depend on the machine.
func unifiedDiff(a, b string) string {
	if a == b {
		return ""
	}
	edits := lineEdits(splitLines(a), splitLines(b))
	changed := func(e lineEdit) bool { return e.mark != ' ' }
	var out strings.Builder
	oldLine, newLine := 1, 1
	for i := 0; i < len(edits); {
		next := slices.IndexFunc(edits[i:], changed)
		if next < 0 {
			break
		}
		// A hunk goes on while changes are so near that their surroundings meet.
		from, to := max(i, i+next-contextLines), i+next
		for {
			for to < len(edits) && changed(edits[to]) {
				to++
			}
			gap := slices.IndexFunc(edits[to:], changed)
			if gap < 0 || gap > 2*contextLines {
				break
			}
			to += gap
		}
		to = min(len(edits), to+contextLines)
		oldLine, newLine = oldLine+from-i, newLine+from-i
		gone, added := 0, 0
		for _, e := range edits[from:to] {
			if e.mark != '+' {
				gone++
			}
			if e.mark != '-' {
				added++
			}
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", lineRange(oldLine, gone), lineRange(newLine, added))
		for _, e := range edits[from:to] {
			out.WriteByte(e.mark)
			out.WriteString(e.text + "\n")
		}
		oldLine, newLine, i = oldLine+gone, newLine+added, to
	}
	return out.String()
}

// lineRange is so many lines from one on, as hunks name them: what is empty stands behind the line before.
func lineRange(first, n int) string {
	if n == 0 {
		first--
	}
	return fmt.Sprintf("%d,%d", first, n)
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// lineEdit is a line that stays (' '), goes ('-') or comes ('+').
type lineEdit struct {
	mark byte
	text string
}

// lineEdits turns a into b.
func lineEdits(a, b []string) (edits []lineEdit) {
	i, j := 0, 0
	for _, at := range append(anchors(a, b), anchor{len(a), len(b)}) {
		for ; i < at.a && j < at.b && a[i] == b[j]; i, j = i+1, j+1 {
			edits = append(edits, lineEdit{' ', a[i]})
		}
		end := 0
		for end < at.a-i && end < at.b-j && a[at.a-1-end] == b[at.b-1-end] {
			end++
		}
		edits = append(edits, editsBetween(a[i:at.a-end], b[j:at.b-end])...)
		for _, l := range a[at.a-end : at.a] {
			edits = append(edits, lineEdit{' ', l})
		}
		i, j = at.a, at.b
	}
	return edits
}

// editsBetween turns a into b by the fewest edits, or by all of them if there are many lines.
func editsBetween(a, b []string) (edits []lineEdit) {
	add := func(mark byte, lines []string) {
		for _, l := range lines {
			edits = append(edits, lineEdit{mark, l})
		}
	}
	if len(a) == 0 || len(b) == 0 || len(a)+len(b) > exactLines {
		add('-', a)
		add('+', b)
		return edits
	}
	d := diffmatchpatch.New()
	d.DiffTimeout = 0
	x, y, lines := d.DiffLinesToRunes(strings.Join(a, "\n")+"\n", strings.Join(b, "\n")+"\n")
	for _, e := range d.DiffCharsToLines(d.DiffMainRunes(x, y, false), lines) {
		mark := map[diffmatchpatch.Operation]byte{diffmatchpatch.DiffEqual: ' ', diffmatchpatch.DiffDelete: '-', diffmatchpatch.DiffInsert: '+'}[e.Type]
		add(mark, splitLines(e.Text))
	}
	return edits
}

// anchor is a line of a that stays as a line of b.
type anchor struct{ a, b int }

// anchors are the longest list of lines that both texts have, each once, and in the same order.
func anchors(a, b []string) []anchor {
	type places struct {
		anchor
		inA, inB int
	}
	at := map[string]*places{}
	for i, l := range a {
		if at[l] == nil {
			at[l] = &places{}
		}
		at[l].a = i
		at[l].inA++
	}
	for j, l := range b {
		if p := at[l]; p != nil {
			p.b = j
			p.inB++
		}
	}
	// The longest increasing subsequence of their places in b: piles[n] is the list of n+1 lines that ends earliest there.
	var list []anchor
	var before, piles []int
	for i, l := range a {
		p := at[l]
		if p.inA != 1 || p.inB != 1 {
			continue
		}
		n, _ := slices.BinarySearchFunc(piles, p.b, func(k, b int) int { return list[k].b - b })
		last := -1
		if n > 0 {
			last = piles[n-1]
		}
		list, before = append(list, anchor{i, p.b}), append(before, last)
		if n == len(piles) {
			piles = append(piles, 0)
		}
		piles[n] = len(list) - 1
	}
	var out []anchor
	if len(piles) > 0 {
		for k := piles[len(piles)-1]; k >= 0; k = before[k] {
			out = append(out, list[k])
		}
	}
	slices.Reverse(out)
	return out
}
