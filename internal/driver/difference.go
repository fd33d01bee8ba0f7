package driver

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// unifiedDiff is what changed from a to b, line by line, with some unchanged lines around it; "" when nothing did.
func unifiedDiff(a, b string) string {
	d := string(diff.Diff("", []byte(a), "", []byte(b)))
	return d[max(0, strings.Index(d, "@@")):] // without names of the sides
}
