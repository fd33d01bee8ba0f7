package planted_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestACrashLeavesAReproducer makes stages panic: the exit code is 70, the message names the stage, no output is left, and the command that the message
// gives, as a shell reads it, fails in the same way. It is the command line that was given, but for the input and the output.
func TestACrashLeavesAReproducer(t *testing.T) {
	dir := t.TempDir()
	for _, tool := range []string{"tileiras", "tile-opt", "tilerun"} {
		if out, err := exec.Command("go", "build", "-tags", "planted", "-o", filepath.Join(dir, tool), "tileiras/cmd/"+tool).CombinedOutput(); err != nil {
			t.Fatalf("go build -tags planted: %v\n%s", err, out)
		}
	}
	kernel, err := os.ReadFile("../corpus/cases/saxpy/kernel.tileirbc")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"k.tileirbc": string(kernel), "k.tileir": "entry @k() {\n  return\n}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(stage, command string) (code int, stderr string) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TILEIRAS_PLANT=crash-"+stage, "PATH="+dir+":"+os.Getenv("PATH"))
		var text strings.Builder
		cmd.Stderr = &text
		if err := cmd.Run(); err != nil {
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatal(err)
			}
			code = exit.ExitCode()
		}
		return code, text.String()
	}
	const bug = 70
	if code, text := run("", "tileiras k.tileir -o k.ll"); code != 0 {
		t.Fatal(text)
	}
	for _, stage := range []string{"read", "verify"} { // before the interpreter has the module
		if code, text := run(stage, "tilerun k.tileir --grid 1"); code != bug || !strings.HasPrefix(text, "BUG: pass "+stage+": planted") {
			t.Errorf("tilerun, %s: exit code %d:\n%s", stage, code, text)
		}
	}
	for _, c := range []struct{ stage, command, again string }{
		{"assign-layouts", "tileiras k.tileirbc --gpu-name sm_90 -O0 -o out.ptx",
			"tileiras tileiras-bug-assign-layouts-XXXXXXXX.tileirbc --gpu-name=sm_90 --emit=ptx --opt-level=0 -o /dev/null"},
		{"assign-layouts", "tileiras k.tileirbc --lineinfo --stop-after=insert-barriers --verify-each -o out.tileir",
			"tileiras tileiras-bug-assign-layouts-XXXXXXXX.tileirbc --emit=tileaa --lineinfo --verify-each --stop-after=insert-barriers -o /dev/null"},
		{"emit-ptx", "tileiras k.tileir --reproducer-dir=\"it's here\" --abi=tile -o out.ptx",
			`tileiras 'it'\''s here/tileiras-bug-emit-ptx-XXXXXXXX.tileir' --emit=ptx --abi=tile -o /dev/null`},
		{"read", "tileiras k.tileir -o out.tileirbc", "tileiras tileiras-bug-read-XXXXXXXX.tileir --emit=bytecode -o /dev/null"},
		{"write", "tileiras k.tileir -o out.tileirbc", "tileiras tileiras-bug-write-XXXXXXXX.tileir --emit=bytecode -o /dev/null"},
		{"plan-kernel", "tile-opt k.tileirbc --passes=convert-to-tileaa,canonicalize --passes plan-kernel -gpu-name sm_120 -o out.tileir",
			"tile-opt tileiras-bug-plan-kernel-XXXXXXXX.tileirbc --passes=convert-to-tileaa,canonicalize,plan-kernel --gpu-name=sm_120 -o /dev/null"},
		{"read", "tile-opt k.tileir --split-input-file -o out.tileir", "tile-opt tileiras-bug-read-XXXXXXXX.tileir --split-input-file=true -o /dev/null"},
		{"canonicalize", "tile-opt k.tileir --cse --canonicalize -o out.tileir", "tile-opt tileiras-bug-canonicalize-XXXXXXXX.tileir --cse=true --canonicalize=true -o /dev/null"},
		{"emit-ptx", "tile-opt k.ll --from=llvm --passes=emit-ptx -o out.ptx", "tile-opt tileiras-bug-emit-ptx-XXXXXXXX.ll --passes=emit-ptx --from=llvm -o /dev/null"},
	} {
		message := "BUG: pass " + c.stage + ": planted"
		code, text := run(c.stage, c.command)
		if code != bug || !strings.HasPrefix(text, message) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s", c.command, code, bug, message, text)
			continue
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "out.*")); len(left) > 0 {
			t.Errorf("%s: %v was left", c.command, left)
		}
		again := regexp.MustCompile(`run it again with: (.*)`).FindStringSubmatch(text)
		if again == nil {
			t.Errorf("%s: the message gives no command:\n%s", c.command, text)
			continue
		}
		if got := regexp.MustCompile(`-[0-9a-f]{8}\.`).ReplaceAllString(again[1], "-XXXXXXXX."); got != c.again {
			t.Errorf("%s: run it again with\n%s\nnot\n%s", c.command, got, c.again)
		}
		if code, text = run(c.stage, again[1]); code != bug || !strings.HasPrefix(text, message) {
			t.Errorf("%s: gives exit code %d, want %d with %q:\n%s", again[1], code, bug, message, text)
		}
		if code, text = run("", again[1]); code != 0 {
			t.Errorf("%s: without the fault: exit code %d\n%s", again[1], code, text)
		}
	}
}
