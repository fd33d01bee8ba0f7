package filecheck

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// checks is read by two tests: ours against want, and LLVM's FileCheck against
// ours. want is empty for success, else the first error without its place.
var checks = []struct {
	name  string
	check string
	input string
	flags []string
	want  string
}{
	{name: "a plain string", check: "CHECK: foo", input: "a foo b"},
	{name: "a missing string", check: "CHECK: foo", input: "bar", want: "CHECK: expected string not found in input"},
	{name: "strings in order", check: "CHECK: one\nCHECK: two", input: "one\ntwo"},
	{name: "strings out of order", check: "CHECK: two\nCHECK: one", input: "one\ntwo", want: "CHECK: expected string not found in input"},
	{name: "two strings on a line", check: "CHECK: one\nCHECK: two", input: "one two"},
	{name: "a match is used up", check: "CHECK: aa\nCHECK: aa", input: "aaa", want: "CHECK: expected string not found in input"},
	{name: "blanks are folded", check: "CHECK: a   b", input: "a \t b"},
	{name: "strict blanks", check: "CHECK: a   b", input: "a b", flags: []string{"--strict-whitespace"}, want: "CHECK: expected string not found in input"},
	{name: "a comment is no directive", check: "CHECK foo\nCHECK: bar", input: "bar"},
	{name: "part of a word is no directive", check: "MYCHECK: foo\nX-CHECK: foo\nCHECK: bar", input: "bar"},
	{name: "COM hides a directive", check: "COM: CHECK: foo\nCHECK: bar", input: "bar"},
	{name: "RUN hides a directive", check: "RUN: x | CHECK: foo\nCHECK: bar", input: "bar"},
	{name: "no directives", check: "nothing", input: "bar", want: "no check strings found with prefix 'CHECK:'"},
	{name: "an empty input", check: "CHECK: a", input: "", want: "FileCheck error: '<stdin>' is empty."},
	{name: "an empty input that is allowed", check: "CHECK-NOT: a", input: "", flags: []string{"--allow-empty"}},
	{name: "an empty pattern", check: "CHECK:  ", input: "a", want: "found empty check string with prefix 'CHECK:'"},

	{name: "a regex", check: "CHECK: x{{[0-9]+}}y", input: "x123y"},
	{name: "a regex that fails", check: "CHECK: x{{[0-9]+}}y", input: "xabcy", want: "CHECK: expected string not found in input"},
	{name: "a dot stays on its line", check: "CHECK: a{{.*}}b", input: "a\nb", want: "CHECK: expected string not found in input"},
	{name: "a negated class stays on its line", check: "CHECK: a{{[^x]*}}b", input: "a\nb", want: "CHECK: expected string not found in input"},
	{name: "alternatives are longest", check: "CHECK: {{a|ab}}\nCHECK-SAME: c", input: "abc"},
	{name: "escaped brackets", check: `CHECK: {{\[[0-9]+\]}}`, input: "[12]"},
	{name: "a backslash in a class", check: `CHECK: {{[\n]}}x`, input: `n\x`},
	{name: "a bracket first in a class", check: `CHECK: {{[]x]+}}y`, input: `]x]y`},
	{name: "a named class", check: `CHECK: {{[[:alpha:]_]+}}!`, input: `ab_c!`},
	{name: "a backslash means literally", check: `CHECK: {{\d}}`, input: `1`, want: "CHECK: expected string not found in input"},
	{name: "an interval", check: `CHECK: {{^a{2}b}}`, input: `aab`},
	{name: "an interval cut off by the braces", check: `CHECK: {{a{2}}}b`, input: `aab`, want: "invalid regex"},
	{name: "anchors", check: "CHECK: {{^b$}}", input: "ab\nb\nbc"},
	{name: "special characters outside a regex", check: "CHECK: a.b*(c)[d]", input: "a.b*(c)[d]"},
	{name: "braces without a number", check: "CHECK: {{a{b|c}}} {{{x}}}", input: "c} {x}"},
	{name: "an unclosed regex", check: "CHECK: {{a", input: "a", want: "found start of regex string with no end '}}'"},
	{name: "a bad regex", check: "CHECK: {{(}}", input: "a", want: "invalid regex"},

	{name: "NEXT on the next line", check: "CHECK: a\nCHECK-NEXT: b", input: "a\nb"},
	{name: "NEXT two lines on", check: "CHECK: a\nCHECK-NEXT: b", input: "a\nx\nb", want: "CHECK-NEXT: is not on the line after the previous match"},
	{name: "NEXT on the same line", check: "CHECK: a\nCHECK-NEXT: b", input: "a b", want: "CHECK-NEXT: is on the same line as previous match"},
	{name: "NEXT first", check: "CHECK-NEXT: b", input: "a b", want: "found 'CHECK-NEXT' without previous 'CHECK: line"},
	{name: "SAME on the same line", check: "CHECK: a\nCHECK-SAME: b", input: "a b"},
	{name: "SAME on the next line", check: "CHECK: a\nCHECK-SAME: b", input: "a\nb", want: "CHECK-SAME: is not on the same line as the previous match"},
	{name: "EMPTY", check: "CHECK: a\nCHECK-EMPTY:\nCHECK-NEXT: b", input: "a\n\nb\n"},
	{name: "EMPTY without an empty line", check: "CHECK: a\nCHECK-EMPTY:\nCHECK: b", input: "a\nb\n\nc", want: "CHECK-EMPTY: is not on the line after the previous match"},
	{name: "EMPTY with a pattern", check: "CHECK: a\nCHECK-EMPTY: x", input: "a\n\n", want: "found non-empty check string for empty check with prefix 'CHECK:'"},

	{name: "NOT holds", check: "CHECK: a\nCHECK-NOT: x\nCHECK: b", input: "a\nb\nx"},
	{name: "NOT fails between", check: "CHECK: a\nCHECK-NOT: x\nCHECK: b", input: "a\nx\nb", want: "CHECK-NOT: excluded string found in input"},
	{name: "NOT fails before the first", check: "CHECK-NOT: x\nCHECK: b", input: "x\nb", want: "CHECK-NOT: excluded string found in input"},
	{name: "NOT fails after the last", check: "CHECK: a\nCHECK-NOT: x", input: "a\nx", want: "CHECK-NOT: excluded string found in input"},
	{name: "NOT combined", check: "CHECK-NOT-NEXT: x", input: "a", want: "unsupported -NOT combo on prefix 'CHECK'"},
	{name: "implicit NOT", check: "CHECK: a\nCHECK: b", input: "a\nwarning\nb", flags: []string{"--implicit-check-not=warning"}, want: "CHECK-NOT: excluded string found in input"},

	{name: "DAG in any order", check: "CHECK-DAG: a\nCHECK-DAG: b\nCHECK: c", input: "b\na\nc"},
	{name: "DAG does not overlap", check: "CHECK-DAG: ab\nCHECK-DAG: b\n", input: "ab\n", want: "CHECK-DAG: expected string not found in input"},
	{name: "DAG takes the next when overlapping", check: "CHECK: top\nCHECK-DAG: {{x.}}\nCHECK-DAG: {{x.}}\nCHECK-NEXT: end", input: "top x1 x2\nend"},
	{name: "CHECK after DAG starts after all", check: "CHECK-DAG: a\nCHECK-DAG: b\nCHECK: b", input: "a\nb\n", want: "CHECK: expected string not found in input"},
	{name: "NOT separates DAG groups", check: "CHECK-DAG: a\nCHECK-NOT: x\nCHECK-DAG: b", input: "a\nx\nb", want: "CHECK-NOT: excluded string found in input"},
	{name: "a DAG of the second group before", check: "CHECK-DAG: a\nCHECK-NOT: x\nCHECK-DAG: b", input: "b\na\n", want: "CHECK-DAG: expected string not found in input"},
	{name: "DAG with variables", check: "CHECK-DAG: [[A:%[0-9]+]] = one\nCHECK-DAG: [[B:%[0-9]+]] = two\nCHECK: add [[A]], [[B]]", input: "%4 = two\n%7 = one\nadd %7, %4"},

	{name: "COUNT", check: "CHECK-COUNT-3: a\nCHECK-NOT: a", input: "a a\na"},
	{name: "COUNT too few", check: "CHECK-COUNT-3: a", input: "a a", want: "CHECK-COUNT: expected string not found in input (3 out of 3)"},
	{name: "COUNT of nothing", check: "CHECK-COUNT-0: a", input: "a a", want: "invalid count in -COUNT specification on prefix 'CHECK'"},
	{name: "COUNT without a number", check: "CHECK-COUNT-x: a", input: "a a", want: "invalid count in -COUNT specification on prefix 'CHECK'"},

	{name: "LABEL cuts sections", check: "CHECK-LABEL: @f\nCHECK: x\nCHECK-LABEL: @g\nCHECK: y", input: "@f\nx\n@g\ny"},
	{name: "LABEL stops a search", check: "CHECK-LABEL: @f\nCHECK: y\nCHECK-LABEL: @g\nCHECK: y", input: "@f\nx\n@g\ny", want: "CHECK: expected string not found in input"},
	{name: "LABEL missing", check: "CHECK-LABEL: @f\nCHECK-LABEL: @h", input: "@f\n@g", want: "CHECK-LABEL: expected string not found in input"},
	{name: "LABEL with a variable", check: "CHECK-LABEL: [[X:a]]", input: "a", want: "found 'CHECK-LABEL:' with variable definition or use"},

	{name: "a variable", check: "CHECK: [[X:%[0-9]+]] = a\nCHECK: use [[X]]", input: "%12 = a\nuse %12"},
	{name: "a variable that differs", check: "CHECK: [[X:%[0-9]+]] = a\nCHECK: use [[X]].", input: "%12 = a\nuse %13.", want: "CHECK: expected string not found in input"},
	{name: "a variable with special characters", check: "CHECK: [[X:.*]] = a\nCHECK: use [[X]];", input: "p.q* = a\nuse p.q*;"},
	{name: "an undefined variable", check: "CHECK: use [[X]]", input: "use 1", want: "undefined variable: X"},
	{name: "a variable used on its own line", check: "CHECK: [[X:[a-z]+]] [[X]] end", input: "ab cd end\nab ab end"},
	{name: "a variable used on its own line, differing", check: "CHECK: {{^}}[[X:[a-z]+]]:[[X]]{{$}}", input: "ab:abc", want: "CHECK: expected string not found in input"},
	{name: "a variable used on its own line must backtrack", check: "CHECK: [[X:.*]]-[[X]]!", input: "a-b-b!"},
	{name: "two variables with groups between", check: "CHECK: [[A:(x)y]] {{(u)(v)}} [[B:.]] [[A]] [[B]]", input: "xy uv z xy z"},
	{name: "a variable redefined", check: "CHECK: [[X:a|b]]\nCHECK: [[X:c|d]]\nCHECK: [[X]]", input: "a\nc\nc"},
	{name: "a defined variable", check: "CHECK: [[X]]", input: "hello", flags: []string{"-DX=hello"}},
	{name: "a local variable is forgotten", check: "CHECK-LABEL: f\nCHECK: [[X:a]]\nCHECK-LABEL: g\nCHECK: [[X]]", input: "f\na\ng\na", flags: []string{"--enable-var-scope"}, want: "undefined variable: X"},
	{name: "a global variable is kept", check: "CHECK-LABEL: f\nCHECK: [[$X:a]]\nCHECK-LABEL: g\nCHECK: [[$X]]", input: "f\na\ng\na", flags: []string{"--enable-var-scope"}},
	{name: "the line number", check: "\nCHECK: line [[@LINE]]\nCHECK: line [[@LINE-1]]\nCHECK: line [[#@LINE+1]]", input: "line 2\nline 2\nline 5"},
	{name: "an unclosed variable", check: "CHECK: [[X", input: "a", want: "Invalid substitution block, no ]] found"},
	{name: "brackets in a variable's regex", check: "CHECK: [[X:[a-z]+\\[[0-9]\\]]] = [[X]]", input: "ab[3] = ab[3]"},

	{name: "another prefix", check: "CHECK: no\nFOO: yes", input: "yes", flags: []string{"--check-prefix=FOO"}},
	{name: "two prefixes", check: "A: one\nB: two", input: "one\ntwo", flags: []string{"--check-prefixes=A,B"}},
	{name: "an unused prefix", check: "A: one", input: "one\ntwo", flags: []string{"--check-prefixes=A,B"}, want: "no check strings found with prefix 'B:'"},
	{name: "an unused prefix that is allowed", check: "A: one", input: "one\ntwo", flags: []string{"--check-prefixes=A,B", "--allow-unused-prefixes"}},
	{name: "a prefix that begins another", check: "AB: two\nA: one", input: "two\none", flags: []string{"--check-prefixes=A,AB"}},
	{name: "a prefix with a hyphen", check: "CHECK-X: one\nCHECK: two", input: "one\ntwo", flags: []string{"--check-prefixes=CHECK,CHECK-X"}},
	{name: "a prefix given twice", check: "A: one", input: "one", flags: []string{"--check-prefixes=A,A"}, want: "supplied check prefix must be unique"},

	{name: "full lines", check: "CHECK: abc", input: " abc ", flags: []string{"--match-full-lines"}},
	{name: "part of a line", check: "CHECK: abc", input: "abcd", flags: []string{"--match-full-lines"}, want: "CHECK: expected string not found in input"},
	{name: "any case", check: "CHECK: aBc{{[x]}}", input: "AbCX", flags: []string{"--ignore-case"}},
	{name: "literal", check: "CHECK{LITERAL}: {{a}} [[b]]\nCHECK-NEXT{LITERAL}: [[", input: "{{a}} [[b]]\n[["},
}

// run runs a check through the command.
func run(t *testing.T, check, input string, flags []string) (status int, stderr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "check.txt")
	if err := os.WriteFile(file, []byte(check), 0o644); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	status = Main(append([]string{file}, flags...), strings.NewReader(input), &bytes.Buffer{}, &errs)
	return status, errs.String()
}

func TestDirectives(t *testing.T) {
	for _, c := range checks {
		status, got := run(t, c.check, c.input, c.flags)
		if c.want == "" && status != 0 || c.want != "" && (status == 0 || !strings.Contains(strings.SplitN(got, "\n", 2)[0], c.want)) {
			t.Errorf("%s: status %d, got %q, want %q", c.name, status, got, c.want)
		}
	}
}

// place is "line:col" of the first message.
var place = regexp.MustCompile(`^[^:]*:(\d+:\d+): error`)

// differs are cases where the words of LLVM 14 are not ours.
var differs = map[string]string{
	"a bad regex":                       "the regex library's own words",
	"an interval cut off by the braces": "the regex library's own words",
	"a prefix given twice":              "older words",
}

func llvmFileCheck(t *testing.T) string {
	for _, name := range []string{"FileCheck-14", "FileCheck"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("LLVM's FileCheck is not installed: only our own expectations were tested")
	return ""
}

func runLLVM(t *testing.T, tool, check, input string, flags []string) (status int, out string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "check.txt")
	if err := os.WriteFile(file, []byte(check), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool, append([]string{file, "--dump-input=never"}, flags...)...)
	cmd.Stdin = strings.NewReader(input)
	text, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(text)
}

func TestSameVerdictsAsLLVM(t *testing.T) {
	tool := llvmFileCheck(t)
	for _, c := range checks {
		theirs, out := runLLVM(t, tool, c.check, c.input, c.flags)
		ours, text := run(t, c.check, c.input, c.flags)
		if ours != theirs {
			t.Errorf("%s: status %d, LLVM's %d:\n%s", c.name, ours, theirs, out)
			continue
		}
		if differs[c.name] != "" || theirs == 0 {
			continue
		}
		if !strings.Contains(out, c.want) {
			t.Errorf("%s: LLVM says\n%s", c.name, out)
		}
		a, b := place.FindStringSubmatch(text), place.FindStringSubmatch(out)
		if (a == nil) != (b == nil) || a != nil && a[1] != b[1] {
			t.Errorf("%s: placed at %v, by LLVM at %v:\n%s", c.name, a, b, out)
		}
	}
}

func TestSameVerdictsAsLLVMOnRandomChecks(t *testing.T) {
	tool := llvmFileCheck(t)
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	passed := 0
	for range 300 {
		var input, check strings.Builder
		for range 3 + rng.IntN(6) {
			input.WriteString(pick("a", "b", "c", "ab", "a b", "b a", "x a x", "") + "\n")
		}
		for range 1 + rng.IntN(5) {
			check.WriteString("CHECK" + pick("", "", "", "-NEXT", "-SAME", "-NOT", "-DAG", "-DAG", "-LABEL", "-COUNT-2") + ": " +
				pick("a", "b", "c", "x", "{{a|b}}", "{{[ab]+}}", "{{^.}}", "{{a.*a}}", "a b", "{{b$}}") + "\n")
			if rng.IntN(8) == 0 {
				check.WriteString("CHECK-EMPTY:\n")
			}
			if rng.IntN(5) == 0 {
				check.WriteString(pick("CHECK: [[V:[abx]+]]\n", "CHECK-DAG: [[V:.]]\n", "CHECK: [[V]]\n", "CHECK-NOT: [[V]]\n", "CHECK: [[V:.]] [[V]]\n"))
			}
		}
		theirs, out := runLLVM(t, tool, check.String(), input.String(), nil)
		ours, text := run(t, check.String(), input.String(), nil)
		if theirs != ours {
			t.Errorf("check\n%sinput\n%sstatus %d, LLVM's %d:\n%s\n%s", check.String(), input.String(), ours, theirs, text, out)
		}
		if theirs == 0 {
			passed++
		}
	}
	if passed < 10 || passed > 290 {
		t.Errorf("%d of 300 checks pass: the sample says little", passed)
	}
}

func TestErrorsShowThePlaces(t *testing.T) {
	_, got := run(t, "; CHECK: one\n; CHECK-NEXT: three", "one\ntwo\nthree\n", nil)
	want := `check.txt:2:15: error: CHECK-NEXT: is not on the line after the previous match
; CHECK-NEXT: three
              ^
<stdin>:3:1: note: 'next' match was here
three
^
<stdin>:1:4: note: previous match ended here
one
   ^
<stdin>:2:1: note: non-matching line after previous match is here
two
^
`
	if i := strings.Index(got, "check.txt"); i < 0 || got[i:] != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, got = run(t, "CHECK: [[A:x+]]\nCHECK: [[A]]", "xx\nyy\n", nil)
	for _, part := range []string{`with "A" equal to "xx"`, "<stdin>:2:1: note: scanning from here\nyy\n^"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
}

func TestEverySectionReportsItsFailure(t *testing.T) {
	_, got := run(t, "CHECK-LABEL: f\nCHECK: a\nCHECK-LABEL: g\nCHECK: b\nCHECK-LABEL: h\nCHECK: c", "f\ng\nb\nh\n", nil)
	if n := strings.Count(got, "error:"); n != 2 {
		t.Errorf("%d errors in\n%s", n, got)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--nonsense", "f"}, "unknown option --nonsense"},
		{[]string{"--check-prefix"}, "needs a value"},
		{[]string{}, "expected one check file, got 0"},
		{[]string{"--allow-empty=maybe", "f"}, "takes no value"},
		{[]string{filepath.Join(t.TempDir(), "absent")}, "could not open check file"},
	} {
		var errs bytes.Buffer
		if status := Main(c.args, strings.NewReader("x"), &bytes.Buffer{}, &errs); status != 2 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%v: status %d, %q", c.args, status, errs.String())
		}
	}
	if status, got := run(t, "CHECK: [[#X:]]", "1", nil); status != 2 || !strings.Contains(got, "numeric variables are not supported") {
		t.Errorf("numeric variable: %d %q", status, got)
	}
}

func TestHopelessBackReferencesEnd(t *testing.T) {
	line := strings.Repeat("a", 3000)
	status, got := run(t, "CHECK: [[X:(a*)*]]b[[X]]", line, nil)
	if status != 1 || !strings.Contains(got, "expected string not found") && !strings.Contains(got, "takes too long") {
		t.Errorf("status %d, %s", status, got[:min(len(got), 200)])
	}
}
