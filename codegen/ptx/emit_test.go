package ptx

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llir/llvm/asm"
	"github.com/llir/llvm/ir"

	"tileiras/codegen/options"
	"tileiras/codegen/target"
)

var update = flag.Bool("update", false, "write the golden files of testdata instead of comparing with them")

// A text test is a file of LLVM IR with lines that say what must come of it:
//
//	; emit FILE TARGET ABI [lineinfo]     the PTX in FILE
//	; error TARGET ABI TEXT               an error that contains TEXT
type textTest struct {
	golden string // file, "" when an error is wanted
	err    string
	opts   Options
}

func readTests(t *testing.T, file string) (source string, tests []textTest) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(string(data), "\n") {
		words := strings.Fields(l)
		if len(words) < 4 || words[0] != ";" || words[1] != "emit" && words[1] != "error" {
			continue
		}
		var test textTest
		words, kind := words[2:], words[1]
		if kind == "emit" {
			test.golden, words = words[0], words[1:]
		}
		sm, ok := target.ByName(words[0])
		if !ok {
			t.Fatalf("%s: no target %s", file, words[0])
		}
		test.opts.Target = sm
		if words[1] == "tile" {
			test.opts.ABI = options.Tile
		}
		if kind == "error" {
			test.err = strings.Join(words[2:], " ")
		} else {
			test.opts.LineInfo = len(words) > 2 && words[2] == "lineinfo"
		}
		tests = append(tests, test)
	}
	if len(tests) == 0 {
		t.Fatalf("%s asks for nothing", file)
	}
	return string(data), tests
}

func parse(t *testing.T, name, source string) *ir.Module {
	t.Helper()
	m, err := parseText(name, source)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

func eachTest(t *testing.T, f func(t *testing.T, file, source string, test textTest)) {
	files, _ := filepath.Glob("testdata/*.ll")
	if len(files) == 0 {
		t.Fatal("no test files")
	}
	for _, file := range files {
		source, tests := readTests(t, file)
		for _, test := range tests {
			name := filepath.Base(file) + " " + test.golden + test.opts.Target.Name
			t.Run(name, func(t *testing.T) { f(t, file, source, test) })
		}
	}
}

func TestTextBecomesTheExpectedPTX(t *testing.T) {
	eachTest(t, func(t *testing.T, file, source string, test textTest) {
		got, err := Emit(parse(t, file, source), test.opts)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", test.golden)
		if *update {
			if err := os.WriteFile(golden, got, 0o666); err != nil {
				t.Fatal(err)
			}
			return
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", golden, d)
		}
	})
}

// The module that llir prints and parses again gives the same PTX: nothing that
// the back end needs is lost in the text.
func TestPTXSurvivesThePrintedModule(t *testing.T) {
	eachTest(t, func(t *testing.T, file, source string, test textTest) {
		if test.err != "" {
			t.Skip("no PTX here")
		}
		m := parse(t, file, source)
		first, err := Emit(m, test.opts)
		if err != nil {
			t.Fatal(err)
		}
		text := m.String()
		again, err := Emit(parse(t, file, text), test.opts)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, again) {
			t.Errorf("(-first +again)\n%s", cmp.Diff(string(first), string(again)))
		}
		if m.String() != text {
			t.Error("Emit changed the module")
		}
	})
}

// toolFolder is the environment variable that names the folder of ptxas.
const toolFolder = "TILEIRAS_NVIDIA_BIN"

func TestPtxasAcceptsThePTX(t *testing.T) {
	dir := os.Getenv(toolFolder)
	if dir == "" {
		t.Skipf("not run: ptxas is judge here; set %s to its folder", toolFolder)
	}
	eachTest(t, func(t *testing.T, file, source string, test textTest) {
		if test.err != "" {
			t.Skip("no PTX here")
		}
		out, err := Emit(parse(t, file, source), test.opts)
		if err != nil {
			t.Fatal(err)
		}
		ptx := filepath.Join(t.TempDir(), "k.ptx")
		if err := os.WriteFile(ptx, out, 0o666); err != nil {
			t.Fatal(err)
		}
		name := test.opts.Target.Name
		if test.opts.ABI == options.Tile {
			name = test.opts.Target.ArchName()
		}
		said, err := exec.Command(filepath.Join(dir, "ptxas"), "-arch", name, ptx, "-o", os.DevNull).CombinedOutput()
		if err != nil || len(said) > 0 {
			t.Errorf("%v\n%s", err, said)
		}
	})
}

// The same LLVM IR passes LLVM's assembler and, being nothing but PTX rows and
// plain instructions, LLVM's own PTX back end.
func TestLLVMAcceptsTheText(t *testing.T) {
	for _, tool := range [][]string{
		{"llvm-as-14", "-o", os.DevNull},
		{"llc-16", "-mtriple=nvptx64-nvidia-cuda", "-mcpu=sm_80", "-opaque-pointers=0", "-o", os.DevNull},
	} {
		path, err := exec.LookPath(tool[0])
		if err != nil {
			t.Logf("not run: %s is not installed", tool[0])
			continue
		}
		files, _ := filepath.Glob("testdata/*.ll")
		for _, file := range files {
			source, tests := readTests(t, file)
			if tests[0].err != "" {
				continue
			}
			cmd := exec.Command(path, tool[1:]...)
			cmd.Stdin = strings.NewReader(parse(t, file, source).String())
			if said, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(said), "warning") {
				t.Errorf("%s: %s: %v\n%s", tool[0], file, err, said)
			}
		}
	}
}

func parseText(name, source string) (*ir.Module, error) { return asm.ParseString(name, source) }
