package stages_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tileiras/internal/driver"
	"tileiras/passes"
)

// TestEveryPassOnEveryStage hands every pass every form of a kernel, as somebody does who names passes: each pair compiles, or ends in
// one error that blames the order of the passes; what compiles goes on to the PTX that the whole pipeline gives.
func TestEveryPassOnEveryStage(t *testing.T) {
	for _, name := range []string{"attention_f16", "direct_pointers"} {
		src, err := os.ReadFile(filepath.Join("..", "corpus", "cases", name, "kernel.tileirbc"))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { everyPair(t, src) })
	}
}

func everyPair(t *testing.T, src []byte) {
	all := driver.StageNames()
	pairs, misplaced := 0, 0
	for i := 0; i <= len(passes.Pipeline()); i++ {
		text, err := named(src, all[:i])
		if err != nil {
			t.Fatalf("the first %d passes: %v", i, err)
		}
		after := "the reader"
		if i > 0 {
			after = all[i-1]
		}
		for _, p := range all[:len(all)-1] { // emit-ptx works on LLVM IR
			pairs++
			out, err := named([]byte(text), []string{p})
			var f *driver.Failure
			switch {
			case err == nil && p != "lower-to-llvm":
				if _, err := named([]byte(out), nil); err != nil {
					t.Errorf("%s after %s makes what is no module: %v", p, after, err)
				}
			case err == nil:
			case !errors.As(err, &f) || f.Code != driver.ExitInput || strings.Count(err.Error(), "error: pass "+p) != 1:
				t.Errorf("%s after %s: %v", p, after, err)
			default:
				misplaced++
			}
		}
	}
	if misplaced < pairs/8 || misplaced > pairs*7/8 {
		t.Errorf("%d of %d pairs are said to be misplaced", misplaced, pairs)
	}
	t.Logf("%d pairs, %d misplaced", pairs, misplaced)
}

// named runs passes that somebody named.
func named(src []byte, names []string) (string, error) {
	o := driver.Options{GPU: gpu, Code: driver.Code{Opt: 3}, VerifyEach: true}
	res, err := driver.RunPasses(context.Background(), "kernel", src, o, names)
	if err != nil {
		return "", err
	}
	return string(res.Output), nil
}
