package driver

import (
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// contextLines is how many unchanged lines a diff shows around a change.
const contextLines = 3

// unifiedDiff is what changed from a to b, line by line; "" when nothing did. The diff is exact however long it takes, so that
// it does not depend on the machine.
func unifiedDiff(a, b string) string {
	if a == b {
		return ""
	}
	d := diffmatchpatch.New()
	d.DiffTimeout = 0
	x, y, lines := d.DiffLinesToChars(a, b)
	diffs := d.DiffCharsToLines(d.DiffMain(x, y, false), lines)
	var out strings.Builder
	for i, df := range diffs {
		ls := strings.SplitAfter(strings.TrimSuffix(df.Text, "\n"), "\n")
		mark := " "
		switch df.Type {
		case diffmatchpatch.DiffDelete:
			mark = "-"
		case diffmatchpatch.DiffInsert:
			mark = "+"
		}
		for k, l := range ls {
			if mark == " " {
				head, tail := k < contextLines && i > 0, len(ls)-k <= contextLines && i < len(diffs)-1
				if !head && !tail {
					if k == contextLines || k == 0 {
						out.WriteString("@@\n")
					}
					continue
				}
			}
			out.WriteString(mark + strings.TrimSuffix(l, "\n") + "\n")
		}
	}
	return out.String()
}
