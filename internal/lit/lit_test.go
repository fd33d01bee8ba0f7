package lit

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// suite has tools that show what they get.
var suite = &Suite{
	Tools: map[string]Tool{
		"upper": func(_ []string, stdin io.Reader, stdout, _ io.Writer) int {
			b, _ := io.ReadAll(stdin)
			stdout.Write(bytes.ToUpper(b))
			return 0
		},
		"args": func(args []string, _ io.Reader, stdout, _ io.Writer) int {
			for _, a := range args {
				fmt.Fprintf(stdout, "<%s>", a)
			}
			fmt.Fprintln(stdout)
			return 0
		},
		"fails": func(_ []string, _ io.Reader, stdout, stderr io.Writer) int {
			fmt.Fprintln(stdout, "to stdout")
			fmt.Fprintln(stderr, "to stderr")
			return 3
		},
		"panics": func([]string, io.Reader, io.Writer, io.Writer) int { panic("oh no") },
	},
	Substitutions: map[string]string{"%upper": "upper", "%upper_twice": "upper | upper"},
	Features:      []string{"gpu"},
	External:      []string{"true", "surely-not-installed"},
}

func TestRunLines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Status
		log        string
	}{
		{"a pipe", "// RUN: echo hello | upper | FileCheck %s\n// CHECK: HELLO", Pass, ""},
		{"a failed check", "// RUN: echo hello | upper | FileCheck %s\n// CHECK: HELLA", Fail, "CHECK: expected string not found in input"},
		{"a failing tool", "// RUN: fails", Fail, "exit status 3\nRUN: fails\n$ fails\nstderr:\nto stderr\nstdout:\nto stdout\n"},
		{"a failing tool in front of a pipe", "// RUN: fails | cat", Fail, "exit status 3"},
		{"not", "// RUN: not fails", Pass, ""},
		{"not of success", "// RUN: not cat %s", Fail, "exit status 1"},
		{"not not", "// RUN: not not cat %s", Pass, ""},
		{"a panic", "// RUN: panics", Fail, "panics: panic: oh no"},
		{"not does not hide a panic", "// RUN: not panics", Fail, "oh no"},
		{"not --crash", "// RUN: not --crash panics", Pass, ""},
		{"not --crash of a failure", "// RUN: not --crash fails", Fail, "exit status 3"},
		{"not does not hide a missing tool", "// RUN: not nosuch", Fail, "nosuch: no such tool in this suite"},
		{"stderr into the pipe", "// RUN: not fails 2>&1 | FileCheck %s\n// CHECK: to stdout\n// CHECK: to stderr", Pass, ""},
		{"stderr stays out of the pipe", "// RUN: not fails | FileCheck %s\n// CHECK-NOT: to stderr\n// CHECK: to stdout\n// CHECK-NOT: to stderr", Pass, ""},
		{"stderr into a file", "// RUN: not fails 2> %t && FileCheck %s --input-file=%t\n// CHECK-NOT: stdout\n// CHECK: to stderr", Pass, ""},
		{"both into a file", "// RUN: not fails &> %t && FileCheck %s < %t\n// CHECK: to stdout\n// CHECK: to stderr", Pass, ""},
		{"a file", "// RUN: echo one > %t\n// RUN: echo two >> %t\n// RUN: FileCheck %s < %t\n// CHECK: one\n// CHECK-NEXT: two", Pass, ""},
		{"a missing file", "// RUN: cat < %t", Fail, "no such file"},
		{"and", "// RUN: cat %s && fails", Fail, "exit status 3"},
		{"and stops", "// RUN: fails && panics", Fail, "exit status 3"},
		{"semicolon goes on", "// RUN: fails ; cat %s", Pass, ""},
		{"a continued line", "// RUN: echo a b | \\\n// RUN:   upper | FileCheck %s\n// CHECK: A B", Pass, ""},
		{"a continued last line", "// RUN: echo \\", Fail, "ends in a backslash"},
		{"quotes", `// RUN: args 'a b' "c \"d" e\ f '' g"h"'i' | FileCheck %s` + "\n// CHECK: <a b><c \"d><e f><><ghi>", Pass, ""},
		{"operators in quotes", "// RUN: args 'a|b' \"c>d\" 'x && y' | FileCheck %s\n// CHECK: <a|b><c>d><x && y>", Pass, ""},
		{"a digit in front of an operator", "// RUN: args 12> %t && FileCheck %s < %t\n// CHECK: <12>", Pass, ""},
		{"substitutions", "// RUN: args %S %T 100%% %upper | FileCheck %s -DS=%S -DT=%T\n// CHECK: <[[S]]><[[T]]><100%><upper>", Pass, ""},
		{"the longest substitution", "// RUN: echo a | %upper_twice | FileCheck %s\n// CHECK: A", Pass, ""},
		{"cmp of equals", "// RUN: cat %s > %t && cmp %s %t", Pass, ""},
		{"cmp of others", "// RUN: cat %s %s > %t && cmp %s %t", Fail, "differ at byte"},
		{"an unclosed quote", "// RUN: echo 'a", Fail, "unclosed '"},
		{"an operator without a file", "// RUN: echo a >", Fail, "> needs a file"},
		{"a relative file", "// RUN: echo a > out", Fail, "use %t or %S"},
		{"or", "// RUN: fails || cat %s", Fail, "|| is not supported"},
		{"an empty command", "// RUN: | cat", Fail, "empty command"},
		{"no RUN line", "// CHECK: a", Fail, "no RUN line"},
		{"requires what exists", "// REQUIRES: gpu\n// RUN: cat %s", Pass, ""},
		{"requires what is missing", "// REQUIRES: gpu, tpu\n// RUN: cat %s", Unsupported, "requires tpu"},
		{"unsupported", "// UNSUPPORTED: gpu\n// RUN: cat %s", Unsupported, "unsupported with gpu"},
		{"expected to fail", "// XFAIL: *\n// RUN: fails", XFail, "exit status 3"},
		{"expected to fail but passes", "// XFAIL: gpu\n// RUN: cat %s", XPass, "the test passes"},
		{"expected to fail elsewhere", "// XFAIL: tpu\n// RUN: fails", Fail, "exit status 3"},
		{"an external program", "// RUN: true && not fails", Pass, ""},
		{"a missing external program", "// RUN: echo a | not surely-not-installed", Unsupported, "surely-not-installed is not installed"},
	} {
		dir, tmp := t.TempDir(), t.TempDir()
		path := filepath.Join(dir, "test.txt")
		if err := os.WriteFile(path, []byte(c.text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := suite.Run(path, tmp); r.Status != c.want || !strings.Contains(r.Log, c.log) {
			t.Errorf("%s: got %s %q, want %s %q", c.name, r.Status, r.Log, c.want, c.log)
		}
	}
}

func TestFindSkipsInputs(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"b.tileir", "a/c.tileir", "a/Inputs/d.tileir", "a/e.txt"} {
		path := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("// RUN: cat %s\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := find(dir, ".tileir")
	if got := fmt.Sprint(files); err != nil || got != "[a/c.tileir b.tileir]" {
		t.Errorf("found %v, %v", got, err)
	}
	suite.Test(t, dir, ".tileir")
}
