package ptxas

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// alone hides what this machine has.
func alone(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the tests make programs of shell scripts")
	}
	for _, v := range []string{variable, "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX"} {
		t.Setenv(v, "")
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
}

// fake makes a program.
func fake(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func find(t *testing.T, named, want string) {
	t.Helper()
	if got, err := Find(named, "--ptxas"); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// Each place is looked at before those after it.
func TestPlacesInTheirOrder(t *testing.T) {
	alone(t)
	venv := t.TempDir()
	t.Setenv("VIRTUAL_ENV", venv)
	fake(t, venv, "lib/python3.11/site-packages/nvidia/cu12/bin/ptxas")
	newest := fake(t, venv, "lib/python3.11/site-packages/nvidia/cu13/bin/ptxas")
	if _, err := os.Stat("/usr/local/cuda/bin/ptxas"); err != nil {
		find(t, "", newest)
	}
	onPath := fake(t, os.Getenv("PATH"), "ptxas")
	find(t, "", onPath)
	for _, v := range []string{"CUDA_ROOT", "CUDA_PATH", "CUDA_HOME"} {
		root := t.TempDir()
		t.Setenv(v, root)
		find(t, "", onPath) // it has none
		onPath = fake(t, root, "bin/ptxas")
		find(t, "", onPath)
	}
	byVariable := fake(t, t.TempDir(), "my-ptxas")
	t.Setenv(variable, byVariable)
	find(t, "", byVariable)
	byFlag := fake(t, t.TempDir(), "another")
	find(t, byFlag, byFlag)
}

// A program in the bin of an environment finds what was installed there, before what the python3 on PATH has.
func TestOwnEnvironment(t *testing.T) {
	alone(t)
	if _, err := os.Stat("/usr/local/cuda/bin/ptxas"); err == nil {
		t.Skip("this machine has a ptxas in /usr/local/cuda")
	}
	own, other := t.TempDir(), t.TempDir()
	t.Setenv("PATH", filepath.Join(other, "bin"))
	fake(t, other, "bin/python3")
	theirs := fake(t, other, "lib/python3.11/site-packages/nvidia/cu13/bin/ptxas")
	t.Cleanup(func() { executable = os.Executable })
	executable = func() (string, error) { return filepath.Join(own, "bin", "tileiras"), nil }
	find(t, "", theirs)
	find(t, "", fake(t, own, "lib/python3.12/site-packages/nvidia/cu13/bin/ptxas"))
}

// A name without a folder is a file of the working folder before it is a program on PATH.
func TestNamedFileInTheWorkingFolder(t *testing.T) {
	alone(t)
	onPath := fake(t, os.Getenv("PATH"), "my-ptxas")
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	find(t, "my-ptxas", onPath)
	file := fake(t, here, "my-ptxas")
	find(t, "my-ptxas", file)
	t.Setenv(variable, "my-ptxas")
	find(t, "", file)
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, named := range []string{"my-ptxas", "./my-ptxas", ""} {
		if _, err := Find(named, "--ptxas"); err == nil || !strings.HasSuffix(err.Error(), "my-ptxas': this file cannot be executed: permission denied") {
			t.Errorf("%q: got %v, want that the file cannot be executed", named, err)
		}
	}
}

func TestNoPtxasSaysHowToGetIt(t *testing.T) {
	alone(t)
	for _, p := range append(packages(), "/usr/local/cuda/bin") {
		if _, err := os.Stat(filepath.Join(p, "ptxas")); err == nil {
			t.Skip("this machine has a ptxas at " + p)
		}
	}
	_, err := Find("", "--ptxas")
	var m *Missing
	if !errors.As(err, &m) || !strings.Contains(err.Error(), "pip install nvidia-cuda-nvcc") || !strings.Contains(err.Error(), "name it with --ptxas or TILEIRAS_PTXAS; or write PTX") {
		t.Errorf("got %v", err)
	}
	want := "the folder of tileiras, CUDA_HOME, CUDA_PATH, CUDA_ROOT, PATH, /usr/local/cuda, Python packages"
	if m != nil && strings.Join(m.Tried, ", ") != want {
		t.Errorf("looked at %v", m.Tried)
	}
}

// TestUsages reads what ptxas 13.5 says with -v of two kernels, one of which calls a function.
func TestUsages(t *testing.T) {
	got := Usages(parse(`ptxas info    : 64 bytes gmem
ptxas info    : Compiling entry function 'k$2' for 'sm_80'
ptxas info    : Function properties for k$2
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 8 bytes cumulative stack size, 32768 bytes smem, 516 bytes cmem[0]
ptxas info    : Compile time = 4463.824 ms
ptxas info    : Compiling entry function 'softmax_rows' for 'sm_80'
ptxas info    : Function properties for softmax_rows
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 16 registers, used 1 barriers, 8 bytes smem
ptxas info    : Function properties for helper
    16 bytes stack frame, 1 bytes spill stores, 1 bytes spill loads
`))
	want := map[string]Usage{"k$2": {255, 4, 12, 8}, "softmax_rows": {Registers: 16}}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMessages(t *testing.T) {
	got := parse(`ptxas info    : 64 bytes gmem
ptxas /tmp/a b.ptx, line 137; error   : Not a name of any known instruction: 'retx'
ptxas error   : Entry function 'k' uses too much shared data (0x493e0 bytes, 0x38c00 max)
ptxas warning : something
ptxas fatal   : Ptx assembly aborted due to errors
Segmentation fault
`)
	want := []Message{{"info", 0, "64 bytes gmem"}, {"error", 137, "Not a name of any known instruction: 'retx'"},
		{"error", 0, "Entry function 'k' uses too much shared data (0x493e0 bytes, 0x38c00 max)"}, {"warning", 0, "something"},
		{"fatal", 0, "Ptx assembly aborted due to errors"}, {"error", 0, "Segmentation fault"}}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got[i], want[i])
		}
	}
	if s := serious(got); len(s) != 3 || s[0] != want[1] || s[1] != want[2] || s[2] != want[5] {
		t.Errorf("serious: %v", s)
	}
	if s := serious(got[4:5]); len(s) != 1 {
		t.Errorf("serious: %v", s)
	}
}

// TestFloodOfMessages: of any number of errors so many are kept as somebody may read, and memory for them is bounded.
func TestFloodOfMessages(t *testing.T) {
	said := &limited{max: maxOutput}
	for range 100_000 {
		n, err := said.Write([]byte("ptxas error   : an error that is said again and again\n"))
		if n == 0 || err != nil {
			t.Fatal(n, err)
		}
	}
	if said.Len() != maxOutput {
		t.Errorf("%d bytes are kept, want %d", said.Len(), maxOutput)
	}
	s := serious(parse(said.String()))
	if len(s) != maxMessages+1 || !strings.HasSuffix(s[maxMessages].Text, " more errors") {
		t.Errorf("%d messages, the last %v", len(s), s[len(s)-1])
	}
}

// TestTurns: no more run at once than there are processors, and who waits for a turn ends with his context.
func TestTurns(t *testing.T) {
	alone(t)
	path := fake(t, t.TempDir(), "ptxas")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/usr/bin:/bin")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var ended atomic.Int32
	for range 4 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			if _, _, err := (&Job{Path: path}).Run(ctx, nil); errors.Is(err, context.Canceled) {
				ended.Add(1)
			}
		})
	}
	most := 0
	for range 20 {
		time.Sleep(5 * time.Millisecond)
		children.Lock()
		most = max(most, len(children.dirs))
		children.Unlock()
	}
	cancel()
	wg.Wait()
	if most == 0 || most > runtime.GOMAXPROCS(0) || int(ended.Load()) != 4*runtime.GOMAXPROCS(0) {
		t.Errorf("%d ran at once on %d processors; %d ended with the context", most, runtime.GOMAXPROCS(0), ended.Load())
	}
}
