package nogpu_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is what docs/ci/github-actions.yml uses of GitHub's workflow syntax.
type workflow struct {
	Name string
	On   []string
	Jobs map[string]struct {
		RunsOn   string `yaml:"runs-on"`
		Strategy struct {
			FailFast bool `yaml:"fail-fast"`
			Matrix   map[string][]string
		}
		Steps []step
	}
}

type step struct {
	Name, Uses, Run string
	With, Env       map[string]string
}

// readWorkflow gives the steps of the only job and the engines of its matrix. A key that the type lacks is an error.
func readWorkflow(t *testing.T) (steps []step, engines []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/ci/github-actions.yml")
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&w); err != nil {
		t.Fatal(err)
	}
	if len(w.On) == 0 || len(w.Jobs) != 1 {
		t.Fatalf("on %v, %d jobs", w.On, len(w.Jobs))
	}
	for name, job := range w.Jobs {
		if job.RunsOn != "ubuntu-latest" || job.Strategy.FailFast {
			t.Errorf("job %s: %+v", name, job)
		}
		steps, engines = job.Steps, job.Strategy.Matrix["engine"]
	}
	return steps, engines
}

func TestWorkflowIsOne(t *testing.T) {
	steps, engines := readWorkflow(t)
	if !slices.Equal(engines, []string{"interp", "emu"}) {
		t.Errorf("engines %q", engines)
	}
	var uses []string
	for _, s := range steps {
		if (s.Uses == "") == (s.Run == "") {
			t.Errorf("step %+v has to use an action or to run commands", s)
		}
		if name, version, ok := strings.Cut(s.Uses, "@v"); ok && version != "" {
			uses = append(uses, name)
		}
	}
	if !slices.Equal(uses, []string{"actions/checkout", "actions/setup-python"}) {
		t.Errorf("actions %q", uses)
	}
}

// The commands of the workflow, as GitHub runs them (bash -e), in a new environment of Python and a project that has the wheel in wheels/: they
// install, tests of kernels pass on both engines, and a race that is planted makes the job fail on the engine that finds races.
func TestWorkflowRuns(t *testing.T) {
	if os.Getenv("TILEIRAS_WORKFLOW") == "" {
		t.Skip("skipped: TILEIRAS_WORKFLOW=1 installs from PyPI and runs the commands of docs/ci/github-actions.yml")
	}
	steps, engines := readWorkflow(t)
	project := newProject(t)
	for _, s := range steps {
		if s.Run == "" {
			continue
		}
		if len(s.Env) == 0 { // the same for every engine
			if out, err := project.step(t, s, "", nil); err != nil {
				t.Fatalf("%s: %v\n%s", s.Name, err, out)
			}
			continue
		}
		for _, engine := range engines {
			out, err := project.step(t, s, engine, nil)
			if err != nil || !strings.Contains(out, " passed") {
				t.Errorf("%s on %s: %v\n%s", s.Name, engine, err, out)
			}
		}
		out, err := project.step(t, s, "emu", []string{"PLANTED=1"})
		if !errors.As(err, new(*exec.ExitError)) || !strings.Contains(out, "1 failed") || !strings.Contains(out, "nogpu.faults.Race: race: ") {
			t.Errorf("%s with a race: %v\n%s", s.Name, err, out)
		}
	}
}

// project is a folder with tests and a wheel, and an environment of Python that has nothing yet.
type project struct{ folder, python string }

func newProject(t *testing.T) project {
	t.Helper()
	python := os.Getenv("TILEIRAS_PYTHON")
	if python == "" {
		python = "python3"
	}
	folder := t.TempDir()
	p := project{folder, filepath.Join(folder, "env", "bin")}
	bin := filepath.Join(t.TempDir(), "bin") + "/"
	commands := [][]string{
		{python, "-m", "venv", filepath.Join(folder, "env")},
		{"go", "build", "-buildmode=c-shared", "-o", bin + "libtileiras.so", "tileiras/cmd/libtileiras"},
		{"go", "build", "-o", bin, "tileiras/cmd/tileiras", "tileiras/cmd/tileirdisasm", "tileiras/cmd/tilerun"},
		{python, "../../python/wheel.py", bin, filepath.Join(folder, "wheels")},
	}
	for _, c := range commands {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", c, err, out)
		}
	}
	if err := os.CopyFS(folder, os.DirFS("testdata/project")); err != nil {
		t.Fatal(err)
	}
	return p
}

// step runs the commands of a step. Of what it installs, torch is left out where PyTorch's own index cannot be reached.
func (p project) step(t *testing.T, s step, engine string, more []string) (string, error) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(s.Run) {
		if strings.Contains(line, "download.pytorch.org") && exec.Command("curl", "-sfI", "-m", "20", "https://download.pytorch.org/whl/cpu/torch/").Run() != nil {
			t.Logf("left out, because the index cannot be reached: %s", line)
			continue
		}
		lines = append(lines, line)
	}
	c := exec.CommandContext(t.Context(), "bash", "-e", "-c", strings.Join(lines, ""))
	c.Dir = p.folder
	c.Env = append(os.Environ(), "PATH="+p.python+":"+os.Getenv("PATH"), "PYTHONPATH=", "TILEIRAS_BIN=")
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		c.Env = append(c.Env, name+"="+strings.ReplaceAll(s.Env[name], "${{ matrix.engine }}", engine))
	}
	c.Env = append(c.Env, more...)
	out, err := c.CombinedOutput()
	return string(out), err
}
