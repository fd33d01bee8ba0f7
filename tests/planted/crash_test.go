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

// TestACrashNamesThePassAndLeavesAReproducer makes a pass panic: the exit code is 70, the message names the pass, no output is left,
// and the command that the message gives fails in the same way.
func TestACrashNamesThePassAndLeavesAReproducer(t *testing.T) {
	dir := t.TempDir()
	tileiras := filepath.Join(dir, "tileiras")
	if out, err := exec.Command("go", "build", "-tags", "planted", "-o", tileiras, "tileiras/cmd/tileiras").CombinedOutput(); err != nil {
		t.Fatalf("go build -tags planted: %v\n%s", err, out)
	}
	kernel, err := filepath.Abs("../corpus/cases/saxpy/kernel.tileirbc")
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (code int, stderr string) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, tileiras, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TILEIRAS_PLANT=crash-assign-layouts")
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
	const bug, message = 70, "BUG: pass assign-layouts: planted"
	code, text := run(kernel, "--gpu-name", "sm_80", "-o", "out.ptx")
	if code != bug || !strings.HasPrefix(text, message) {
		t.Fatalf("exit code %d, want %d with %q:\n%s", code, bug, message, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "out.ptx")); !os.IsNotExist(err) {
		t.Errorf("out.ptx was left: %v", err)
	}
	again := regexp.MustCompile(`run it again with: tileiras (.*)`).FindStringSubmatch(text)
	if again == nil {
		t.Fatalf("the message gives no command:\n%s", text)
	}
	code, text = run(strings.Fields(again[1])...)
	if code != bug || !strings.HasPrefix(text, message) {
		t.Errorf("the reproducer gives exit code %d, want %d with %q:\n%s", code, bug, message, text)
	}
}
