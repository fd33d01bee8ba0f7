package cudatile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/ir"
)

// corpus lists the bytecode files that the project carries.
func corpus(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../../tests/corpus/*/*/kernel.tileirbc")
	if err != nil || len(files) < 398 {
		t.Fatalf("found %d files of 398 in the corpus: %v", len(files), err)
	}
	return files
}

// notThroughText names the files whose bytes do not come back through text, because they hold what no module has.
var notThroughText = map[string]string{
	"cast_from_i16":   "debug entries that no op reaches",
	"cast_from_u32":   "debug entries that no op reaches",
	"cast_from_u8":    "debug entries that no op reaches",
	"dropout":         "debug entries that no op reaches",
	"foreign_array":   "debug entries that no op reaches",
	"legacy_branches": "debug entries that no op reaches",
	"legacy_gather":   "debug entries that no op reaches",
	"legacy_matmul":   "debug entries that no op reaches",
	"legacy_softmax":  "debug entries that no op reaches",
	"legacy_vadd":     "debug entries that no op reaches",
	"direct_ptr_attr": "an order of types that no writer makes",
	"reduce_f64":      "identities in varints with bits above the 64th",
}

// Each file of the corpus goes bytes -> text with locations -> bytes. The text reads back to the same text; the bytes are
// those that the module itself gives; and but for the files named above they are those of the file.
func TestCorpusThroughText(t *testing.T) {
	same := 0
	for _, file := range corpus(t) {
		name := filepath.Base(filepath.Dir(file))
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := ir.NewContext(cudatile.Dialect)
		m, origin, err := bytecode.Read(c, data, bytecode.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		direct := write(t, m, origin.Version())
		reread, _, err := bytecode.Read(ir.NewContext(cudatile.Dialect), direct, bytecode.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for form, o := range map[string]ir.PrintOptions{"own form": {DebugInfo: true}, "generic form": {DebugInfo: true, Generic: true}} {
			text := ir.Text(m, o)
			_, again := parse(t, name, text)
			if diff := cmp.Diff(text, ir.Text(again, o)); diff != "" {
				t.Errorf("%s: the %s is read as another module (-want +got):\n%s", name, form, diff)
			}
			if !bytes.Equal(direct, write(t, again, origin.Version())) {
				t.Errorf("%s: the %s loses something that bytecode has", name, form)
			}
			if diff := cmp.Diff(text, ir.Text(reread, o)); diff != "" {
				t.Errorf("%s: text, bytes, text in the %s is no fixed point (-want +got):\n%s", name, form, diff)
			}
		}
		identical := bytes.Equal(direct, data)
		if identical {
			same++
		}
		if _, named := notThroughText[name]; identical == named {
			t.Errorf("%s: bytes through text are those of the file: %t", name, identical)
		}
	}
	t.Logf("%d files of %d are identical through text", same, len(corpus(t)))
}

func write(t *testing.T, m *ir.Op, v ir.Version) []byte {
	t.Helper()
	out, err := bytecode.Write(m, bytecode.WriteOptions{Version: v})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzParse: no text makes the parser, the verifier or the printer panic, and what the verifier accepts prints to a text
// that reads back to the same text.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.tileir")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, entry := range strings.SplitAfter(string(data), "\n}\n") {
			f.Add(entry)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := ir.NewContext(cudatile.Dialect)
		c.AllowUnregistered = true
		op, err := ir.Parse(c, "f", []byte(text))
		if err != nil {
			if c.Diags.Errors() == 0 {
				t.Fatalf("error %v without a diagnostic", err)
			}
			return
		}
		once := ir.Text(op, ir.PrintOptions{DebugInfo: true})
		if !ir.Verify(c, op) {
			return
		}
		again, err := ir.Parse(c, "f", []byte(once))
		if err != nil {
			t.Fatalf("printed text does not parse: %v\n%s", err, once)
		}
		if twice := ir.Text(again, ir.PrintOptions{DebugInfo: true}); twice != once {
			t.Fatalf("text changed\n%s\n%s", once, twice)
		}
	})
}
