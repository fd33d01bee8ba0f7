// Package commandline_test runs the commands as processes, as people and frontends do: what is wrong with an invocation or an input gets an exit
// code and a message and leaves nothing half-written; every command of the documents works; command lines answer as NVIDIA's do.
package commandline_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tileiras/internal/driver"
	"tileiras/internal/ptxas"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cuda"
)

// command makes main of a tool.
func command(t driver.Tool) func() {
	return func() { os.Exit(t(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tileiras":       func() { driver.TidyOnSignals(); command(driver.Tileiras)() },
		"tileirdisasm":   command(driver.TileIRDisasm),
		"tile-translate": command(driver.TileTranslate),
		"tile-opt":       command(driver.TileOpt(nil)),
		"tilerun":        command(tilerun.Run),
	})
}

func corpus(t *testing.T) string {
	dir, err := filepath.Abs("../corpus")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestBadInvocations runs testdata/script/*.txtar. Besides the commands of testscript there are "code N COMMAND ARGS...", which wants that exit
// code, "only FILES...", which wants nothing else in the folder, and "signal NAME WHEN-THIS-FILE-IS-THERE COMMAND ARGS...", which sends a signal
// to the command once the file exists and wants the command to end by it.
func TestBadInvocations(t *testing.T) {
	dir := corpus(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("KERNEL", filepath.Join(dir, "cases/softmax_f32/kernel.tileirbc"))
			e.Setenv("CORPUS", dir)
			e.Setenv("DRIVER", filepath.Join(dir, "../../runtime/cuda/testdata/driver.c"))
			e.Setenv("BASE", e.Getenv("PATH"))
			for _, v := range []string{"TILEIRAS_PTXAS", "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX"} {
				e.Setenv(v, "")
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": code, "only": only, "signal": send},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Geteuid() == 0, nil
			case "gpu":
				_, err := cuda.Open("")
				return err == nil, nil
			case "ptxas": // one is found without being named
				_, err := ptxas.Find("", "")
				return err == nil, nil
			case "tmpfs": // a file system of our own can be mounted
				return exec.Command("unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=4k tmpfs /mnt").Run() == nil, nil
			}
			return false, errors.New("unknown condition " + name)
		},
	})
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("%s ended with %d, not %s", strings.Join(args[1:], " "), got, args[0])
	}
}

func only(ts *testscript.TestScript, neg bool, args []string) {
	want := map[string]bool{".tmp": true}
	for _, a := range args {
		want[a] = true
	}
	entries, err := os.ReadDir(ts.MkAbs("."))
	ts.Check(err)
	for _, e := range entries {
		if !want[e.Name()] {
			ts.Fatalf("%s was left", e.Name())
		}
		delete(want, e.Name())
	}
	delete(want, ".tmp")
	for name := range want {
		ts.Fatalf("%s is not there", name)
	}
}

var signals = map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP}

func send(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: signal NAME FILE COMMAND ARGS...")
	}
	path, err := exec.LookPath(args[2])
	if err != nil { // of the script's own PATH
		for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
			if p, perr := exec.LookPath(filepath.Join(dir, args[2])); perr == nil {
				path, err = p, nil
				break
			}
		}
	}
	ts.Check(err)
	cmd := exec.Command(path, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, v := range []string{"PATH", "TILEIRAS_PTXAS", "TMPDIR", "HOME", "WORK"} {
		cmd.Env = append(cmd.Env, v+"="+ts.Getenv(v))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	ts.Check(cmd.Start())
	for range 3000 {
		if _, err := os.Stat(ts.MkAbs(args[1])); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Check(cmd.Process.Signal(signals[args[0]]))
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		ts.Fatalf("%v: %v\n%s", args[2:], err, out.String())
	}
	if st, ok := exit.Sys().(syscall.WaitStatus); !ok || !st.Signaled() || st.Signal() != signals[args[0]] {
		ts.Fatalf("%v ended by %v, not by the signal\n%s", args[2:], exit, out.String())
	}
}
