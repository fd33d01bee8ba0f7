package driver

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRemarksNameInstructionsOfTheCode: what the remark of an access calls its instruction stands in the PTX.
func TestRemarksNameInstructionsOfTheCode(t *testing.T) {
	files, err := filepath.Glob("../../tests/corpus/cases/*/kernel.tileirbc")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d kernels, %v", len(files), err)
	}
	strong, err := filepath.Glob("../../tests/regress/testdata/*.tileir")
	if err != nil || len(strong) == 0 {
		t.Fatalf("no texts, %v", err)
	}
	n := 0
	for _, file := range append(files, strong...) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Compile(t.Context(), file, src, Options{GPU: "sm_90", Code: Code{Opt: 3}, Remarks: true})
		if err != nil {
			continue
		}
		for _, r := range res.Remarks {
			name := r.Arg("Instruction")
			if r.ID != "RemarkAccessWidth" || strings.HasPrefix(name, "atomic ") {
				continue
			}
			if copied := regexp.MustCompile(`^(cp\.async\.c.\.shared\.global)\.(\d+)$`).FindStringSubmatch(name); copied != nil {
				if !regexp.MustCompile(regexp.QuoteMeta(copied[1]) + `[^;]*, ` + copied[2] + `[,;]`).Match(res.Output) {
					t.Errorf("%s: there is no %s", file, name)
				}
			} else if !strings.Contains(string(res.Output), name+" ") {
				t.Errorf("%s: there is no %q", file, name)
			}
			n++
		}
	}
	if n < 100 {
		t.Errorf("%d accesses only", n)
	}
}
