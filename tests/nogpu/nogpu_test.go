// Package nogpu_test runs cuTile programs through the Python package, without a GPU.
package nogpu_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// environment is a Python that has what the package needs, and the folder of our library and commands.
type environment struct {
	python, bin string
}

// newEnvironment skips, in words, where something is missing. TILEIRAS_PYTHON names another Python than python3.
func newEnvironment(t *testing.T) *environment {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: this test builds the library as Unix does")
	}
	python := os.Getenv("TILEIRAS_PYTHON")
	if python == "" {
		python = "python3"
	}
	if _, err := exec.LookPath(python); err != nil {
		t.Skip("skipped: there is no python3")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("skipped: the library needs a C compiler (cc), and there is none")
	}
	if out, err := exec.Command(python, "-c", "import importlib.util as u, sys; sys.exit(sys.version_info < (3, 10) or not (u.find_spec('numpy') and u.find_spec('cuda') and u.find_spec('cuda.tile')))").CombinedOutput(); err != nil {
		t.Skipf("skipped: %s has no numpy or no cuda-tile (pip install numpy cuda-tile), or is older than 3.10 %s", python, out)
	}
	bin := t.TempDir()
	for _, args := range [][]string{{"-buildmode=c-shared", "-o", filepath.Join(bin, "libtileiras.so"), "tileiras/cmd/libtileiras"}, {"-o", bin + "/", "tileiras/cmd/tileiras", "tileiras/cmd/tilerun"}} {
		if out, err := exec.Command("go", append([]string{"build"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return &environment{python, bin}
}

// run runs Python in the folder of the package; settings are NAME=VALUE.
func (e *environment) run(t *testing.T, settings []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, e.python, args...)
	c.Dir = "../../python"
	c.Env = append(os.Environ(), append([]string{"TILEIRAS_BIN=" + e.bin, "CUDA_TILE_CACHE_DIR=0", "PYTHONDONTWRITEBYTECODE=1"}, settings...)...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	c.Run()
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

func TestPrograms(t *testing.T) {
	e := newEnvironment(t)
	t.Run("samples", func(t *testing.T) { samples(t, e) })
	t.Run("faults", func(t *testing.T) { faults(t, e) })
	t.Run("checks", func(t *testing.T) {
		for _, script := range []string{"units.py", "launches.py"} {
			for _, setting := range []string{"TILEIRAS_ENGINE=interp", "TILEIRAS_ENGINE=emu", "TILEIRAS_TUNING=first"} {
				path, _ := filepath.Abs(filepath.Join("testdata", script))
				out, errs, code := e.run(t, []string{setting}, "-m", "tileiras.nogpu", "-q", path)
				if code != 0 || out != "ok\n" {
					t.Errorf("%s with %s: exit code %d\n%s%s", script, setting, code, out, errs)
				}
			}
		}
	})
}

// Processes that a program forks run kernels when it has run none itself, and never hang.
func TestForks(t *testing.T) {
	e := newEnvironment(t)
	path, _ := filepath.Abs("testdata/forks.py")
	if out, errs, code := e.run(t, nil, "-m", "tileiras.nogpu", "-q", path); code != 0 || out != "ok\n" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// What cannot work says so.
func TestRefusals(t *testing.T) {
	e := newEnvironment(t)
	if exec.Command(e.python, "-c", "import torch").Run() != nil {
		t.Skip("skipped: there is no torch (pip install torch)")
	}
	path, _ := filepath.Abs("testdata/refusals.py")
	for _, gpu := range []string{"sm_86", "sm_90"} {
		if out, errs, code := e.run(t, []string{"TILEIRAS_GPU=" + gpu}, "-m", "tileiras.nogpu", "-q", path); code != 0 || out != "ok\n" {
			t.Errorf("%s: exit code %d\n%s%s", gpu, code, out, errs)
		}
	}
}

// A GPU that there is not is a wrong setting, for the interpreter too.
func TestGPUs(t *testing.T) {
	e := newEnvironment(t)
	for _, gpu := range []string{"sm_999", "sm_90a", "H100"} {
		_, errs, code := e.run(t, nil, "-m", "tileiras.nogpu", "--gpu", gpu, "-m", "tileiras.samples.vector_add")
		if code != 2 || !strings.Contains(errs, "error: --gpu is '"+gpu+"'") || !strings.Contains(errs, "names are sm_75") {
			t.Errorf("%s: exit code %d\n%s", gpu, code, errs)
		}
	}
}

// A setting that cannot be is a line of usage, not a traceback; the most workers are those that the library takes.
func TestSettings(t *testing.T) {
	e := newEnvironment(t)
	for setting, want := range map[string]string{
		"TILEIRAS_GPU=native":     "error: TILEIRAS_GPU is 'native': tileiras.nogpu has no GPU to ask",
		"TILEIRAS_WORKERS=-1":     "error: TILEIRAS_WORKERS is -1: it must be from 1 to 1023",
		"TILEIRAS_WORKERS=1024":   "error: TILEIRAS_WORKERS is 1024: it must be from 1 to 1023",
		"TILEIRAS_WORKERS=100000": "error: TILEIRAS_WORKERS is 100000: it must be from 1 to 1023",
	} {
		_, errs, code := e.run(t, []string{setting}, "-m", "tileiras.nogpu", "-m", "tileiras.samples.vector_add")
		if code != 2 || !strings.Contains(errs, want) || strings.Contains(errs, "Traceback") {
			t.Errorf("%s: exit code %d\n%s", setting, code, errs)
		}
	}
	if out, errs, code := e.run(t, []string{"TILEIRAS_WORKERS=1023"}, "-m", "tileiras.nogpu", "-q", "-m", "tileiras.samples.vector_add"); code != 0 {
		t.Errorf("1023 workers: exit code %d\n%s%s", code, out, errs)
	}
}

// A program that is not there is a line of usage, without a traceback or a report.
func TestMissingPrograms(t *testing.T) {
	e := newEnvironment(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "error: the following arguments are required: program\n"},
		{[]string{"nofile.py"}, "error: there is no file nofile.py\n"},
		{[]string{"."}, "error: . is a folder without a __main__.py\n"},
		{[]string{"-m", "no.module"}, "error: there is no module no.module\n"},
	} {
		out, errs, code := e.run(t, nil, append([]string{"-m", "tileiras.nogpu"}, tt.args...)...)
		if code != 2 || out != "" || !strings.HasSuffix(errs, tt.want) || strings.Contains(errs, "Traceback") {
			t.Errorf("%v: exit code %d\n%s%s", tt.args, code, out, errs)
		}
	}
}

// counts is the first line of the report, in which numbers agree with their words.
var counts = regexp.MustCompile(`: (1 kernel|([02-9]|\d\d+) kernels), (1 launch|([02-9]|\d\d+) launches), (1 tile block|([02-9]|\d\d+) tile blocks), [\d.]+ s, 0 faults`)

// Every sample checks its result against numpy; the report says what ran.
func samples(t *testing.T, e *environment) {
	for _, engine := range []string{"interp", "emu"} {
		for _, name := range []string{"vector_add", "softmax", "gemm", "attention", "layer_norm"} {
			out, errs, code := e.run(t, []string{"TILEIRAS_ENGINE=" + engine}, "-m", "tileiras.nogpu", "-m", "tileiras.samples."+name)
			if code != 0 || !strings.HasPrefix(out, name+": right") || !counts.MatchString(errs) {
				t.Errorf("%s on %s: exit code %d\n%s%s", name, engine, code, out, errs)
			}
		}
	}
}

// ourFrame is where the package lies, in the line of a traceback.
var ourFrame = regexp.MustCompile(`File "[^"]*/tileiras/nogpu/`)

// transcript holds the one of docs/find-a-race.md against what a run prints.
func transcript(t *testing.T, e *environment) {
	doc, err := os.ReadFile("../../docs/find-a-race.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "-q race.py\n")
	block, _, found := strings.Cut(rest, "\n\n")
	if !found {
		t.Fatal("docs/find-a-race.md has no transcript")
	}
	want := ourFrame.ReplaceAllString(strings.ReplaceAll("\n"+block, "\n    ", "\n"), "ours/")
	folder, _ := filepath.Abs("../../python")
	c := exec.Command("sh", "-c", "cd tileiras/samples/faults && exec "+e.python+" -m tileiras.nogpu -q race.py")
	c.Dir = folder
	c.Env = append(os.Environ(), "TILEIRAS_BIN="+e.bin, "TILEIRAS_ENGINE=emu", "PYTHONPATH="+folder, "PYTHONDONTWRITEBYTECODE=1")
	got, _ := c.CombinedOutput()
	if g := "\n" + strings.TrimSpace(ourFrame.ReplaceAllString(string(got), "ours/")); g != want {
		t.Errorf("a run prints\n%s\nand the document\n%s", g, want)
	}
}

// dumped is the path of a kernel that cuTile has kept.
var dumped = regexp.MustCompile(`\S*/dump/(add\.vector_add\.ln\d+)\.\w+\.tileirbc`)

// The commands of docs/frontends.md get the bytecode of a kernel and run it, and print what stands there.
func TestBytecodeOfAKernel(t *testing.T) {
	e := newEnvironment(t)
	doc, err := os.ReadFile("../../docs/frontends.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "### The bytecode of a kernel\n")
	_, rest, _ = strings.Cut(rest, "\n    $ ")
	block, _, found := strings.Cut(rest, "\n\n")
	if !found {
		t.Fatal("docs/frontends.md has no transcript")
	}
	packages, _ := filepath.Abs("../../python")
	dir := t.TempDir()
	shell := func(command string) string {
		c := exec.Command("sh", "-c", `python() { "$TILEIRAS_PYTHON" "$@"; }; `+command)
		c.Dir = dir
		c.Env = append(os.Environ(), "TILEIRAS_PYTHON="+e.python, "TILEIRAS_BIN="+e.bin, "PATH="+e.bin+":"+os.Getenv("PATH"), "PYTHONPATH="+packages,
			"CUDA_TILE_CACHE_DIR=0", "PYTHONDONTWRITEBYTECODE=1")
		out, _ := c.CombinedOutput()
		return strings.TrimSpace(string(out))
	}
	shell(`python -c "import numpy as np; np.save('a.npy', np.arange(320, dtype=np.float32))"`)
	for _, step := range strings.Split(block, "\n    $ ") {
		command, want, _ := strings.Cut(step, "\n")
		want = strings.TrimSpace(strings.ReplaceAll("\n"+want, "\n    ", "\n"))
		if got := shell(command); dumped.ReplaceAllString(got, "$1") != dumped.ReplaceAllString(want, "$1") {
			t.Errorf("%s prints\n%s\nand the document\n%s", command, got, want)
		}
	}
	if got := shell(`python -c "import numpy as np; print(np.array_equal(np.load('c.npy'), 2 * np.load('a.npy')))"`); got != "True" {
		t.Errorf("the sum: %s", got)
	}
}

// A planted fault is an exception of its class whose last frame is the line of the kernel, found here by its text.
func faults(t *testing.T, e *environment) {
	for _, f := range []struct{ name, engines, class, line, says string }{
		{"race", "emu", "Race", "before = ct.load(out, (0,), (1,))", "ct.store(out, (0,), before + s)"},
		{"out_of_bounds", "interp emu", "OutOfBounds", "ct.scatter(out, at, ct.load(values, (ct.bid(0),), (16,)), check_bounds=False)", "tile block 1 0 0"},
		{"undefined", "interp", "UndefinedValue", "ct.store(y, (ct.bid(0),), t * 2.0)", "whose element [36] lies outside 'x', and which names no padding\n"},
	} {
		source, err := os.ReadFile("../../python/tileiras/samples/faults/" + f.name + ".py")
		if err != nil {
			t.Fatal(err)
		}
		before, _, found := strings.Cut(string(source), f.line)
		if !found {
			t.Fatalf("%s.py has no line %q", f.name, f.line)
		}
		line := strings.Count(before, "\n") + 1
		for engine := range strings.FieldsSeq(f.engines) {
			_, errs, code := e.run(t, []string{"TILEIRAS_ENGINE=" + engine}, "-m", "tileiras.nogpu", "-q", "tileiras/samples/faults/"+f.name+".py")
			frame := `faults/` + f.name + `.py", line ` + strconv.Itoa(line) + ", in "
			if code != 1 || !strings.Contains(errs, "nogpu.faults."+f.class+": ") || !strings.Contains(errs, frame) || !strings.Contains(errs, f.says) {
				t.Errorf("%s on %s: exit code %d, want %s at line %d\n%s", f.name, engine, code, f.class, line, errs)
			}
		}
	}
	transcript(t, e)
	out, errs, code := e.run(t, nil, "-m", "tileiras.nogpu", "-q", "--undefined=zero", "tileiras/samples/faults/undefined.py")
	if code != 0 || !strings.Contains(out, "0.") {
		t.Errorf("undefined values as zeros: exit code %d\n%s%s", code, out, errs)
	}
}
