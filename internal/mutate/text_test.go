package mutate

import (
	"os"
	"strings"
	"testing"
)

func TestTokensTogetherAreTheText(t *testing.T) {
	data, err := os.ReadFile("../../dialects/cudatile/testdata/ops.tileir")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(data), "", `"a`, `"\`, "%%@#!^$", "a-b -1.5e+3 \"x\\\"y\" \x00\xff"} {
		if got := strings.Join(tokens(text), ""); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestABrokenTextIsAFunctionOfSeedAndNumber(t *testing.T) {
	x := Text{Seed: 1, Texts: []string{"entry @f(%x: tile<i32>) {\n  %y = addi %x, %x : tile<i32>\n  return\n}\n"},
		Forms: []Form{{"addi", "$lhs `,` $rhs custom<Overflow>($overflow) attr-dict (`:` type($result)^)?"}}}
	same, kinds := 0, map[string]bool{}
	for n := range uint64(2000) {
		a, how := x.File(n)
		if b, again := x.File(n); a != b || how != again {
			t.Fatalf("text %d is not the same twice", n)
		}
		if a == x.Texts[0] {
			same++
		}
		_, how, _ = strings.Cut(how, ": ")
		for _, k := range strings.Split(how, ", ") {
			kinds[k] = true
		}
	}
	for _, k := range textKinds {
		if !kinds[k.name] {
			t.Errorf("%s is not used", k.name)
		}
	}
	if same > 400 {
		t.Errorf("%d of 2000 texts are whole", same)
	}
}
