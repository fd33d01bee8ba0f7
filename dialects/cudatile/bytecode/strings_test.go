package bytecode_test

import (
	"bytes"
	"fmt"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/dialects/cudatile/def"
	testops "tileiras/dialects/testing"
	"tileiras/ir"
)

// TestOverlappingStringsAreReadAndWrittenOnce: the offsets of strings need not be in order, so few bytes can stand for many
// strings. The module is what they say; written again, it has only the strings that it uses.
func TestOverlappingStringsAreReadAndWrittenOnce(t *testing.T) {
	const n = 120
	payload := []byte{n, 0xCB, 0xCB, 0xCB}
	for range n {
		payload = append(payload, 0, 0, 0, 0) // every string begins at 0; all but the last are empty or run to the end
	}
	payload[4] = 2 // the first begins after the second: it runs to the end of the data
	payload = append(payload, "abkernel"...)
	file := kernel(1, ret)
	file.sections = append([]section{{1, 4, payload}}, file.sections[:len(file.sections)-1]...)
	c := ir.NewContext(cudatile.Dialect)
	m, origin, err := bytecode.Read(c, file.bytes(), bytecode.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if name, _ := m.Body().First().SymbolName(); name != "kernel" {
		t.Errorf("the entry is called %q", name)
	}
	out, err := bytecode.Write(m, bytecode.WriteOptions{Origin: origin})
	if err != nil || bytes.Count(out, []byte("kernel")) != 1 {
		t.Errorf("wrote %d bytes: %v", len(out), err)
	}
}

func TestAnExtensionAddsOperationsAndVersions(t *testing.T) {
	c := ir.NewContext(cudatile.Dialect, testops.Extension)
	m, err := ir.Parse(c, "t", []byte("cuda_tile.module @m { entry @k() { testing$bytecode_test_new_attribute new_param = 7\n return } }"))
	if err != nil {
		t.Fatal(err)
	}
	ext := &bytecode.Extension{Ops: testops.Extension.Ops, Versions: []ir.Version{testops.V250, testops.V2501}}
	for _, test := range []struct {
		version ir.Version
		ext     *bytecode.Extension
		want    string
	}{
		{testops.V2501, ext, ""},
		{testops.V250, ext, "t:1:36: attribute 'new_param' requires bytecode version 250.1+, but targeting 250.0"},
		{testops.V2501, nil, fmt.Sprintf("unsupported version requested 250.1, must be in range [%v, %v]", def.Oldest, def.Newest)},
		{def.Newest, ext, "t:1:36: operation 'cuda_tile.testing$bytecode_test_new_attribute' is not available in bytecode version " + def.Newest.String()},
	} {
		data, err := bytecode.Write(m, bytecode.WriteOptions{Version: test.version, Extension: test.ext})
		switch {
		case err != nil:
			if err.Error() != test.want {
				t.Errorf("%v: got %v, want %s", test.version, err, test.want)
			}
		case test.want != "":
			t.Errorf("%v: written, want %s", test.version, test.want)
		default:
			back, _, err := bytecode.Read(c, data, bytecode.ReadOptions{Extension: ext})
			if err != nil || !ir.AttrEqual(back.Body().First().Body().First().Attrs()[1], ir.IntegerAttr{Type: c.Int(32), Bits: 7}) {
				t.Errorf("%v does not come back: %v", test.version, err)
			}
			if _, _, err := bytecode.Read(c, data, bytecode.ReadOptions{}); err == nil {
				t.Errorf("%v is read without the extension", test.version)
			}
		}
	}
}
