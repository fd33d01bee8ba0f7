package nvidia_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/internal/driver"
	"tileiras/ir"
	"tileiras/tests/ptxas"
)

// answer is what a command says.
type answer struct {
	Code           int
	Stdout, Stderr string
}

// disassembler is NVIDIA's tileirdisasm.
func disassembler(t *testing.T) func(args ...string) answer {
	dir := os.Getenv(ptxas.Variable)
	tool := filepath.Join(dir, "tileirdisasm")
	if _, err := os.Stat(tool); dir == "" || err != nil {
		t.Skipf("%s does not name a folder with tileirdisasm", ptxas.Variable)
	}
	return func(args ...string) answer {
		cmd := exec.Command(tool, args...)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatalf("%q: %v", args, err)
		}
		// Its messages call the tool by the path of the program.
		return answer{cmd.ProcessState.ExitCode(), stdout.String(), strings.ReplaceAll(stderr.String(), tool, "tileirdisasm")}
	}
}

// ours is our tileirdisasm.
func ours(args ...string) answer {
	var stdout, stderr strings.Builder
	code := driver.TileIRDisasm(args, strings.NewReader(""), &stdout, &stderr)
	return answer{code, stdout.String(), stderr.String()}
}

// sameAnswer runs both and compares everything.
func sameAnswer(t *testing.T, theirs func(...string) answer, args ...string) answer {
	t.Helper()
	a := theirs(args...)
	if diff := cmp.Diff(a, ours(args...)); diff != "" {
		t.Errorf("tileirdisasm %q (-NVIDIA's +ours):\n%s", args, diff)
	}
	return a
}

// everyFile is the bytecode of the corpus and of the folder TILEIRAS_EXTRA_CORPUS.
func everyFile(t *testing.T) []string {
	files, err := filepath.Glob("../corpus/*/*/kernel.tileirbc")
	if err != nil {
		t.Fatal(err)
	}
	if extra := os.Getenv("TILEIRAS_EXTRA_CORPUS"); extra != "" {
		more, err := filepath.Glob(filepath.Join(extra, "*.tileirbc"))
		if err != nil || len(more) == 0 {
			t.Fatalf("no bytecode in %s (%v)", extra, err)
		}
		files = append(files, more...)
	}
	if len(files) < 398 {
		t.Fatalf("the corpus has %d files", len(files))
	}
	return files
}

// Our text of each corpus file is tileirdisasm's, byte for byte, with and without locations, and what it refuses we refuse
// with the same messages.
func TestTextOfTheCorpusIsTileirdisasms(t *testing.T) {
	disassemble := disassembler(t)
	files := everyFile(t)
	refused := 0
	for _, file := range files {
		a := sameAnswer(t, disassemble, file)
		if sameAnswer(t, disassemble, "-g", file); a.Code != 0 {
			refused++
			t.Logf("refused by both: %s: %s", file, a.Stderr)
		}
	}
	t.Logf("%d files, %d refused", len(files), refused)
	if refused != 1 {
		t.Errorf("tileirdisasm refuses %d files, want one: invalid_unsigned_floordiv", refused)
	}
}

// The command answers like NVIDIA's, whatever it is given: the help and the version are each one's own.
func TestCommandLineOfTileirdisasm(t *testing.T) {
	theirs := disassembler(t)
	kernel := "../corpus/cases/direct_ptr_attr/kernel.tileirbc"
	good, err := os.ReadFile(kernel)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	with := func(at int, b ...byte) []byte { return slices.Replace(slices.Clone(good), at, at+len(b), b...) }
	for _, args := range [][]string{
		{kernel}, {"-g", kernel}, {kernel, "--g"}, {"--print-debug-info", kernel}, {"-print-debug-info=true", kernel}, {"-g=0", kernel},
		{"-g", "-g", kernel}, {"--preview=simt", kernel}, {"-preview", "simt", kernel}, {"--preview=simt,simt", kernel},
		{"--preview=zzz", kernel}, {"--preview=", kernel}, {"--preview=simt", "--preview=zzz", kernel}, {"-g=maybe", kernel},
		{"--nosuch"}, {"-v", kernel}, {"-print-debug-infos", kernel}, {"a", "b"}, {"nosuch"}, {dir},
		{file("empty", nil)}, {file("text", []byte("entry @f() {\n  return\n}\n"))}, {file("magic", good[:8])},
		{file("half", good[:11])}, {file("header", good[:12])}, {file("cut", good[:100])}, {file("tail", append(slices.Clone(good), 0))},
		{file("13.6", with(9, 6))}, {file("13.0", with(9, 0))}, {file("12.1", with(8, 12, 1))}, {file("250.1", with(8, 250, 1))},
		{file("tag1", with(10, 1))}, {file("tag2", with(10, 2))}, {file("tag255", with(10, 255))}, {file("tag256", with(10, 0, 1))},
		{"--preview=simt", file("tag1", with(10, 1))}, {"--preview=simt", file("tag3", with(10, 3))},
		{"--preview=simt", file("13.4.1", with(9, 4, 1))}, {file("13.4.1", with(9, 4, 1))},
	} {
		sameAnswer(t, theirs, args...)
	}
	if a, b := theirs(), ours(); a.Code != b.Code || a.Stderr != b.Stderr {
		t.Errorf("without a file: NVIDIA's says %v, ours %v", a, b)
	}
}

// So is the text of locations of every kind.
func TestTextOfLocationsIsTileirdisasms(t *testing.T) {
	disassemble := disassembler(t)
	throughBytecode(t, "../../dialects/cudatile/testdata/debug/*.tileir", disassemble, func(*ir.Op) {})
}

// So is the text of every form of every operation, which goes to tileirdisasm as bytecode of our writer.
func TestTextOfEveryOpIsTileirdisasms(t *testing.T) {
	disassemble := disassembler(t)
	// Places of the text are no locations that bytecode can hold.
	throughBytecode(t, "../../dialects/cudatile/testdata/*.tileir", disassemble, func(op *ir.Op) { op.SetLoc(ir.UnknownLoc{}) })
}

// throughBytecode compares our text of modules with what tileirdisasm makes of their bytecode.
func throughBytecode(t *testing.T, pattern string, disassemble func(...string) answer, prepare func(*ir.Op)) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no texts: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := ir.NewContext(cudatile.Dialect)
		m, err := ir.Parse(c, file, data)
		if err != nil {
			t.Fatalf("%s", c.Diags.String())
		}
		ir.Walk(m, ir.PreOrder, prepare)
		out, err := bytecode.Write(m, bytecode.WriteOptions{Version: bytecode.Newest})
		if err != nil {
			t.Fatal(err)
		}
		bc := filepath.Join(t.TempDir(), "text.tileirbc")
		if err := os.WriteFile(bc, out, 0o644); err != nil {
			t.Fatal(err)
		}
		sameAnswer(t, disassemble, bc)
		sameAnswer(t, disassemble, "-g", bc)
	}
}
