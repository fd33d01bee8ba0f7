// Package tilepasses holds the passes on cuda_tile against the interpreter: a module computes the same before and after each.
package tilepasses

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/internal/tilerun"
	"tileiras/ir"
	"tileiras/passes"
	"tileiras/passes/pass"
	"tileiras/runtime/cases"
)

// roundsOtherwise are the passes that may change the rounding of floats; the corpus says how far.
var roundsOtherwise = map[string]bool{"fuse-fma": true}

// changesNothingHere are the passes that find nothing to do in the corpus as it is.
var changesNothingHere = map[string]bool{"inline": true, "loop-split": true, "test-debuginfo-update-symbol-name": true}

// rewritten is a module after a pass; changed says whether its text is another one. Locations count.
func rewritten(p *pass.Pass, code []byte) (out []byte, changed bool, err error) {
	c := ir.NewContext(cudatile.Dialect)
	m, _, err := bytecode.Read(c, code, bytecode.ReadOptions{})
	if err != nil {
		return nil, false, err
	}
	options := ir.PrintOptions{DebugInfo: true}
	before := ir.Text(m, options)
	manager := pass.Manager{State: &pass.State{Ctx: c, Module: m}, VerifyEach: true}
	if err := manager.Run([]*pass.Pass{p}, ""); err != nil {
		return nil, false, err
	}
	out, err = bytecode.Write(m, bytecode.WriteOptions{})
	return out, ir.Text(m, options) != before, err
}

// TestPassesKeepWhatKernelsOfTheCorpusCompute runs every case before and after every pass: memory and output are the same, bit for
// bit.
func TestPassesKeepWhatKernelsOfTheCorpusCompute(t *testing.T) {
	dir := filepath.Join("..", "corpus", "cases")
	names, err := cases.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	changes := map[string]int{}
	for _, name := range names {
		c, err := cases.Load(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if c.DecodeOnly || c.ExpectError != "" {
			continue
		}
		before := launch(t, c, c.Bytecode)
		for _, p := range passes.OnCudaTile() {
			if p.Name == "test-debuginfo-update-symbol-name" {
				continue // it must be told what to rename
			}
			code, changed, err := rewritten(p, c.Bytecode)
			if err != nil {
				t.Errorf("%s after %s: %v", name, p.Name, err)
			}
			if !changed || err != nil {
				continue
			}
			changes[p.Name]++
			after := launch(t, c, code)
			if roundsOtherwise[p.Name] {
				l, _ := c.NewLaunch()
				if v := cases.Judge(c, l, after, nil); v.Status != cases.Pass {
					t.Errorf("%s after %s: %v", name, p.Name, v)
				}
			} else if d := difference(before, after); d != "" {
				t.Errorf("%s after %s: %s", name, p.Name, d)
			}
		}
	}
	for _, p := range passes.OnCudaTile() {
		if (changes[p.Name] == 0) != changesNothingHere[p.Name] {
			t.Errorf("%s changes %d cases", p.Name, changes[p.Name])
		}
	}
	t.Logf("cases that each pass changes: %v", changes)
}

// launch runs a case's kernel from this code.
func launch(t *testing.T, c *cases.Case, code []byte) *cases.Outcome {
	t.Helper()
	l, err := c.NewLaunch()
	if err != nil {
		t.Fatal(err)
	}
	l.Bytecode = code
	out, err := (&tilerun.Interpreter{}).Launch(context.Background(), l)
	if err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return nil
	}
	return out
}

// difference says how two outcomes differ, or "".
func difference(a, b *cases.Outcome) string {
	switch {
	case a == nil || b == nil:
		return "it does not run"
	case a.AssertFailed != b.AssertFailed:
		return "an assertion fails once only"
	case a.Stdout != b.Stdout:
		return fmt.Sprintf("it prints\n%s\ninstead of\n%s", b.Stdout, a.Stdout)
	}
	for i := range a.Buffers {
		if !bytes.Equal(a.Buffers[i], b.Buffers[i]) {
			return fmt.Sprintf("buffer %d holds something else", i)
		}
	}
	return ""
}
