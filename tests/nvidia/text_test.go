package nvidia_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/ir"
	"tileiras/tests/ptxas"
)

// disassembler is NVIDIA's tileirdisasm.
func disassembler(t *testing.T) func(file string, debug bool) string {
	dir := os.Getenv(ptxas.Variable)
	tool := filepath.Join(dir, "tileirdisasm")
	if _, err := os.Stat(tool); dir == "" || err != nil {
		t.Skipf("%s does not name a folder with tileirdisasm", ptxas.Variable)
	}
	return func(file string, debug bool) string {
		args := []string{file}
		if debug {
			args = append(args, "-g")
		}
		out, err := exec.Command(tool, args...).Output()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		return string(out)
	}
}

func sameText(t *testing.T, file string, m *ir.Op, disassemble func(string, bool) string) {
	t.Helper()
	for _, debug := range []bool{false, true} {
		var b strings.Builder
		if err := cudatile.Print(&b, m, debug); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(disassemble(file, debug), b.String()); diff != "" {
			t.Errorf("%s, locations %t (-tileirdisasm +ours):\n%s", file, debug, diff)
		}
	}
}

// refusedByNVIDIA names the corpus files that tileirdisasm does not print because its verifier refuses them.
var refusedByNVIDIA = map[string]bool{"invalid_unsigned_floordiv": true}

// Our text of each corpus file is tileirdisasm's, byte for byte, with and without locations.
func TestTextOfTheCorpusIsTileirdisasms(t *testing.T) {
	disassemble := disassembler(t)
	files, err := filepath.Glob("../corpus/*/*/kernel.tileirbc")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		if refusedByNVIDIA[filepath.Base(filepath.Dir(file))] {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := bytecode.Read(ir.NewContext(cudatile.Dialect), data, bytecode.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		sameText(t, file, m, disassemble)
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
func throughBytecode(t *testing.T, pattern string, disassemble func(string, bool) string, prepare func(*ir.Op)) {
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
		sameText(t, bc, m, disassemble)
	}
}
