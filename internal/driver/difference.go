package driver

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
)

// unifiedDiff is what changed from a to b, line by line; "" when nothing did. Lines that each text has once hold it in place, so that its
// work is about that of sorting them, and it does not depend on the machine.
func unifiedDiff(a, b string) string {
	out := diff.Diff("", []byte(a), "", []byte(b))
	for range 3 { // the names of the files
		_, out, _ = bytes.Cut(out, []byte("\n"))
	}
	return string(out)
}
