package fuzz_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"tileiras/dialects/cudatile"
	"tileiras/internal/mutate"
	"tileiras/ir"
)

// texts are those of the dialect's own tests and of every eighth file of the corpus, with and without locations.
func texts(t testing.TB) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"../../dialects/cudatile/testdata/*.tileir", "../../dialects/cudatile/testdata/debug/*.tileir", "testdata/*.tileir"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("no texts: %s (%v)", pattern, err)
		}
		for _, n := range names {
			data, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, string(data))
		}
	}
	for i, data := range corpus(t) {
		if i%8 == 0 {
			list = append(list, textOf(t, data, i%16 == 0))
		}
	}
	return list
}

// forms are the operations of the dialect that have a format.
func forms() []mutate.Form {
	var list []mutate.Form
	for _, op := range cudatile.Dialect.Ops {
		if op.Format != "" {
			list = append(list, mutate.Form{Name: op.Name, Format: op.Format})
		}
	}
	return list
}

// useText parses a text. What is a module is verified and printed, and what is a good module prints a text that is the same module.
func useText(text string) (f fate, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	c := ir.NewContext(cudatile.Dialect)
	m, err := ir.Parse(c, "t", []byte(text))
	if err != nil {
		if c.Diags.Errors() == 0 {
			return unread, fmt.Errorf("refused without a word: %v", err)
		}
		return unread, nil
	}
	good := ir.Verify(c, m)
	options := ir.PrintOptions{DebugInfo: true}
	printedText := ir.Text(m, options)
	if !good {
		return unverified, nil
	}
	again := ir.NewContext(cudatile.Dialect)
	back, err := ir.Parse(again, "t", []byte(printedText))
	if err != nil && strings.Contains(again.Diags.String(), "nesting is deeper than") {
		return printed, nil // the module around it, which a text may leave out, is one level more
	}
	if err != nil {
		return printed, fmt.Errorf("what was printed does not parse: %s\n%s", again.Diags.String(), printedText)
	}
	if second := ir.Text(back, options); second != printedText {
		return printed, fmt.Errorf("what was printed is another module:\n%s\n%s", printedText, second)
	}
	return printed, nil
}

func TestMutatedTexts(t *testing.T) {
	source := mutate.Text{Seed: number(t, "TILEIRAS_SEED", 1), Texts: texts(t), Forms: forms()}
	count := number(t, "TILEIRAS_MUTATIONS", 3000)
	var outcomes [fates]int
	var slowest time.Duration
	began := time.Now()
	for n := range count {
		text, how := source.File(n)
		start := time.Now()
		f, err := useText(text)
		took := time.Since(start)
		if took > mostTime/4 { // or was the machine busy?
			took = min(took, timed(func() { useText(text) }))
		}
		if slowest = max(slowest, took); took > mostTime {
			t.Errorf("seed %d, number %d (%s) took %v", source.Seed, n, how, took)
		}
		outcomes[f]++
		if err != nil {
			t.Errorf("seed %d, number %d (%s): %v", source.Seed, n, how, err)
		}
	}
	t.Logf("%d texts in %v: the parser refuses %d, the verifier %d, printed and read again %d; the slowest took %v",
		count, time.Since(began).Round(time.Millisecond), outcomes[unread], outcomes[unverified], outcomes[printed], slowest.Round(time.Microsecond))
	if outcomes[printed] == 0 || outcomes[unverified] == 0 {
		t.Error("the texts do not get past the parser or past the verifier")
	}
}

// FuzzText lets Go's fuzzer choose the text, or the seed that breaks it along the grammar.
func FuzzText(f *testing.F) {
	list, operations := texts(f), forms()
	for i, text := range list {
		f.Add(text, uint64(i))
		f.Add(text, uint64(0))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if seed != 0 {
			source := mutate.Text{Seed: seed, Texts: append([]string{text}, list...), Forms: operations}
			text, _ = source.File(seed)
		}
		if _, err := useText(text); err != nil {
			t.Error(err)
		}
	})
}

// textOf is the text of a file of the corpus.
func textOf(t testing.TB, data []byte, debugInfo bool) string {
	t.Helper()
	var b strings.Builder
	if err := cudatile.Print(&b, module(t, data), ir.PrintOptions{DebugInfo: debugInfo}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
