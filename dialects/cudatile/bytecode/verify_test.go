package bytecode_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/ir"
)

// TestTheVerifierRefusesExactlyWhatTheCasesSay checks every module of the corpus: a case says which message it expects.
func TestTheVerifierRefusesExactlyWhatTheCasesSay(t *testing.T) {
	refused := 0
	for _, file := range corpusFiles(t) {
		var c struct {
			ExpectError string `json:"expect_error"`
		}
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "case.json")); err == nil {
			if err := json.Unmarshal(text, &c); err != nil {
				t.Fatal(err)
			}
		}
		ctx := ir.NewContext(cudatile.Dialect)
		m, _, err := bytecode.Read(ctx, load(t, file), bytecode.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ok := ir.Verify(ctx, m)
		switch {
		case ok && c.ExpectError != "":
			t.Errorf("%s: accepted, want %q", name(file), c.ExpectError)
		case !ok && c.ExpectError == "":
			t.Errorf("%s: refused:\n%s", name(file), ctx.Diags.String())
		case !ok:
			refused++
			if !strings.Contains(ctx.Diags.String(), c.ExpectError) {
				t.Errorf("%s: got %s, want %q", name(file), ctx.Diags.String(), c.ExpectError)
			}
		}
	}
	if refused != 1 {
		t.Errorf("%d modules refused, want 1 (invalid_unsigned_floordiv)", refused)
	}
}
