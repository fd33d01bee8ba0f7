package executor

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryKindHasAName: what an engine finds has a name, which hosts find in the document; what the Python package makes exceptions of are such names.
func TestEveryKindHasAName(t *testing.T) {
	doc, err := os.ReadFile("../../docs/nogpu.md")
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(interpKinds[:], emuKinds[:])
	for _, kind := range all {
		if kind == "" || !strings.Contains(string(doc), "| `"+string(kind)+"` |") {
			t.Errorf("docs/nogpu.md has no row of %q", kind)
		}
	}
	python, err := os.ReadFile("../../python/tileiras/nogpu/faults.py")
	if err != nil {
		t.Fatal(err)
	}
	_, classes, _ := strings.Cut(string(python), "CLASSES: ")
	classes, _, _ = strings.Cut(classes, "\n}")
	named := regexp.MustCompile(`"([^"]+)": `).FindAllStringSubmatch(classes, -1)
	if len(named) < 5 {
		t.Errorf("%d classes", len(named))
	}
	for _, m := range named {
		if !slices.Contains(all, FaultKind(m[1])) {
			t.Errorf("faults.py: no fault is of kind %q", m[1])
		}
	}
}
