package commandline_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// elsewhere are the commands of the documents that this test does not run, with what does, or why nothing can.
var elsewhere = map[string]string{
	"make run":                              "the lead target of the Makefile; builds, then runs examples/run.sh",
	"make test":                             "runs this test",
	"make build":                            "builds the commands that TestMain runs",
	"CGO_ENABLED=0 go install ./cmd/...":    "writes into Go's folder of programs",
	"git clone URL tileiras":                "wants a network",
	"python3 -m venv cuda":                  "wants a network with the next line: scripts/nvidia-tools.sh does the same for make nvidia",
	"cuda/bin/pip install nvidia-cuda-nvcc": "wants a network: scripts/nvidia-tools.sh does the same",
	"pip uninstall nvidia-cuda-tileiras":    "make frontends has an environment without it",
	"VIRTUAL_ENV=cuda tileiras kernel.tileirbc --gpu-name sm_90 -o kernel.cubin":                         "internal/ptxas finds it there: TestPlacesInTheirOrder",
	"ptxas -arch sm_90a --opt-level 3 --enable-extended-smem=true -uumn kernel.ptx -o kernel.cubin":      "what tileiras calls: testdata/script/ptxas.txtar",
	"tilerun K.tileirbc --grid 4,1,1 --arg a.npy --arg i32:1000 --arg f32:inf --arg c.npy --out new.npy": "internal/tilerun's tests run a kernel so",
	"python -m tileiras.nogpu program.py":                                                                "tests/nogpu runs the samples so",
	"python -m tileiras.nogpu program.py arguments":                                                      "tests/nogpu runs the samples so",
	"python -m tileiras.nogpu -m tileiras.samples.attention":                                             "tests/nogpu runs it",
	"python -m tileiras.nogpu -q -m tileiras.samples.faults.out_of_bounds":                               "tests/nogpu runs it",
	"TILEIRAS_ENGINE=emu python -m tileiras.nogpu -q race.py":                                            "tests/nogpu holds the transcript against a run",
	"CUDA_TILE_DUMP_BYTECODE=dump python -m tileiras.nogpu -q -m tileiras.samples.vector_add":            "tests/nogpu holds the transcript against a run, with the next three",
	"tileiras dump/add.*.tileirbc --gpu-name=sm_90 -o add.ptx --metadata=add.json":                       "tests/nogpu",
	"tilerun dump/add.*.tileirbc --grid 2":                                                               "tests/nogpu",
	"tilerun dump/add.*.tileirbc --grid 2 --arg a.npy --arg i32:320 --arg i32:1 --arg a.npy --arg i32:320 --arg i32:1 --arg 'f32[320]' --arg i32:320 --arg i32:1 --out c.npy": "tests/nogpu",
	"pip install build/tileiras-*.whl cuda-tile":                           "wants a network: make wheel has built it",
	"go test ./dialects/cudatile/bytecode -run 'Strict|Addition|Spell' -v": "a part of make test",
}

// documents are the texts whose indented commands are run. docs/flags.md has usages, which are no commands.
func documents(t *testing.T) []string {
	list, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"../../README.md", "../../CONTRIBUTING.md"}, list...)
}

var docCommand = regexp.MustCompile(`^    (\$ )?((?:[A-Z_]+=\S+ )*(?:tileiras|tile-opt|tile-translate|tileirdisasm|tilerun|make|go|python3?|pip|cuda/bin/pip|git|head|ptxas|cc|curl) .*)$`)

// TestCommandsOfTheDocuments runs every command that README, CONTRIBUTING and docs show, in a folder with a kernel.tileirbc and the tests of the repository,
// one document after the other. What a transcript ("$ command") shows below a command is what it must print.
func TestCommandsOfTheDocuments(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, name := range []string{"tileiras", "tile-opt", "tile-translate", "tileirdisasm", "tilerun"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	met := map[string]bool{}
	for _, doc := range documents(t) {
		if filepath.Base(doc) == "flags.md" {
			continue
		}
		data, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		stage(t, dir)
		if err := os.Rename(filepath.Join(dir, "k.tileirbc"), filepath.Join(dir, "kernel.tileirbc")); err != nil {
			t.Fatal(err)
		}
		os.Symlink(filepath.Join(root, "tests"), filepath.Join(dir, "tests"))
		os.Symlink(filepath.Join(root, "examples"), filepath.Join(dir, "examples"))
		lines := strings.Split(string(data), "\n")
		for i, l := range lines {
			m := docCommand.FindStringSubmatch(l)
			if m == nil || strings.Contains(l, " = ") { // a line of a file
				continue
			}
			command := strings.TrimSpace(regexp.MustCompile(`\s{2,}#.*`).ReplaceAllString(m[2], ""))
			if _, ok := elsewhere[command]; ok || strings.HasPrefix(command, "make ") && target(root, command) {
				met[command] = true
				continue
			}
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil {
				t.Errorf("%s:%d: %s: %v\n%s", doc, i+1, command, err, errs.String())
			}
			if m[1] == "" {
				continue
			}
			var want []string
			for _, w := range lines[i+1:] {
				if !strings.HasPrefix(w, "    ") || strings.HasPrefix(w, "    $ ") {
					break
				}
				want = append(want, strings.TrimRight(strings.TrimPrefix(w, "    "), " "))
			}
			var got []string
			for _, g := range strings.Split(strings.TrimRight(out.String(), "\n"), "\n") {
				got = append(got, strings.TrimSpace(g))
			}
			for j := range want {
				want[j] = strings.TrimSpace(want[j])
			}
			if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
				t.Errorf("%s:%d: %s prints\n%s\nnot\n%s", doc, i+1, command, g, w)
			}
		}
	}
	for c := range elsewhere {
		if !met[c] {
			t.Errorf("no document has the command %q any more", c)
		}
	}
}

// target reports whether a make command names a target of the Makefile.
func target(root, command string) bool {
	data, err := os.ReadFile(filepath.Join(root, "Makefile"))
	return err == nil && regexp.MustCompile(`(?m)^(?:[\w-]+ )*`+regexp.QuoteMeta(strings.Fields(command)[1])+`(?: [\w-]+)*:`).Match(data)
}

// TestTheCommandThatTheProjectIsFor is the first command of README, as it stands there.
func TestTheCommandThatTheProjectIsFor(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil || !strings.Contains(string(readme), "\n    $ tileiras kernel.tileirbc -o kernel.ptx\n") {
		t.Error("README does not show it: ", err)
	}
	dir := t.TempDir()
	stage(t, dir)
	self, _ := os.Executable()
	link := filepath.Join(dir, "tileiras")
	if err := os.Symlink(self, link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	os.Rename(filepath.Join(dir, "k.tileirbc"), filepath.Join(dir, "kernel.tileirbc"))
	cmd := exec.Command(link, "kernel.tileirbc", "-o", "kernel.ptx")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	ptx, err := os.ReadFile(filepath.Join(dir, "kernel.ptx"))
	if err != nil || !bytes.Contains(ptx, []byte("\n.target sm_80\n")) || !bytes.Contains(ptx, []byte("\n.visible .entry softmax_rows(")) {
		t.Errorf("%v\n%s", err, ptx)
	}
}
