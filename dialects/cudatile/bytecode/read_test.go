package bytecode_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// file assembles a bytecode file from sections, so that each test shows the bytes that are wrong.
type file struct {
	version  byte
	sections []section
}

type section struct {
	id, align byte
	payload   []byte
}

func (f file) bytes() []byte {
	out := append([]byte("\x7FTileIR\x00"), 13, f.version, 0, 0)
	for _, s := range f.sections {
		head := s.id
		if s.align > 0 {
			head |= 0x80
		}
		out = append(out, head)
		out = binary.AppendUvarint(out, uint64(len(s.payload)))
		if s.align > 0 {
			out = append(out, s.align)
			for len(out)%int(s.align) != 0 {
				out = append(out, 0xCB)
			}
		}
		out = append(out, s.payload...)
	}
	return append(out, 0)
}

// strings, types: tables of few short entries.
func table(id byte, entries ...[]byte) section {
	p := []byte{byte(len(entries))}
	for len(p)%4 != 0 {
		p = append(p, 0xCB)
	}
	at := 0
	for _, e := range entries {
		p = binary.LittleEndian.AppendUint32(p, uint32(at))
		at += len(e)
	}
	for _, e := range entries {
		p = append(p, e...)
	}
	return section{id, 4, p}
}

func texts(ss ...string) section {
	var es [][]byte
	for _, s := range ss {
		es = append(es, []byte(s))
	}
	return table(1, es...)
}

// kernel is a file with one entry "k" of these types; type 0 is its signature, () -> ().
func kernel(version byte, body []byte, types ...[]byte) file {
	fn := []byte{1, 0, 0, 2, 0}
	if version >= 5 {
		fn = append(fn, 0x0B, 0, 0x06, 0)
	}
	fn = append(fn, byte(len(body)))
	fn = append(fn, body...)
	all := append([][]byte{{0x10, 0, 0}}, types...)
	return file{version, []section{{2, 8, fn}, table(5, all...), texts("k", "m")}}
}

var (
	i1, i32, f32 = []byte{0}, []byte{3}, []byte{7}
	token        = []byte{0x11}
	ret          = []byte{0x5C, 0, 0}
)

// scalar is the tile of rank 0 of the element type at an index.
func scalar(elem byte) []byte { return []byte{0x0D, elem, 0} }

func join(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func TestTheSmallestKernelReads(t *testing.T) {
	for version := byte(1); version <= 5; version++ {
		m, _ := read(t, kernel(version, ret).bytes())
		if n := len(m.Body().Ops()); n != 1 || ir.Cast[cudatile.Entry](m.Body().First()).SymName() != "k" {
			t.Errorf("13.%d: got %d ops", version, n)
		}
	}
}

func TestBadInputIsRefusedWithThePlaceAndTheReason(t *testing.T) {
	good := kernel(1, ret).bytes()
	truncated := func(n int) []byte { return good[:n] }
	with := func(at int, b byte) []byte {
		c := append([]byte(nil), good...)
		c[at] = b
		return c
	}
	tests := []struct {
		name string
		data []byte
		want string // the innermost line
	}{
		{"an empty file", nil, "invalid magic number: the file ends after 0 bytes"},
		{"a wrong magic", []byte("MLIR text"), "invalid magic number at position 0, got 77 expected 127"},
		{"a newer version", with(9, def.Newest.Minor+1), fmt.Sprintf("error at offset 12: unsupported Tile version 13.%d.0, this reader supports versions [%v - %v]", def.Newest.Minor+1, def.Oldest, def.Newest)},
		{"an older version", with(8, 12), fmt.Sprintf("error at offset 12: unsupported Tile version 12.1.0, this reader supports versions [%v - %v]", def.Oldest, def.Newest)},
		{"a header alone", truncated(12), "error at offset 12: unexpected end of data while reading section header"},
		{"a truncated section", truncated(20), "error at offset 14: section length 9 exceeds remaining data size 6"},
		{"a section whose padding ends the file", join(truncated(12), []byte{0x81, 3, 4, 0xCB, 0}), "error at offset 16: section length 3 exceeds remaining bytecode data. 1"},
		{"bytes after the end", append(append([]byte(nil), good...), 0), "end section is not the last section"},
		{"an unknown section", with(12, 0x88), "error at offset 13: unknown section ID: 8"},
		{"a producer section of 13.3 in 13.1", file{1, []section{{7, 0, []byte{0}}}}.bytes(), "unknown section ID: 7"},
		{"no sections", file{version: 1}.bytes(), "error at offset 13: string section is mandatory"},
		{"no functions", file{1, []section{texts("k")}}.bytes(), "function section is mandatory"},
		{"a section twice", file{1, []section{texts("k"), texts("k")}}.bytes(), "duplicate string section"},
		{"an unaligned string section", file{1, []section{{1, 0, []byte{0}}}}.bytes(),
			"section 1 must have alignment that is a multiple of 4 bytes, but has no alignment flag set"},
		{"a string section aligned to 2", file{1, []section{{1, 2, []byte{0}}}}.bytes(),
			"section 1 must have alignment that is a multiple of 4 bytes, but has alignment of 2"},
		{"an alignment of 3", file{1, []section{{1, 3, []byte{0}}}}.bytes(), "invalid alignment value: 3"},
		{"padding that is none", with(15, 0), "invalid padding byte: expected 0xCB, got 0x00"},
		{"a huge string count", file{1, []section{{1, 4, []byte{0xFF, 0xFF, 0xFF, 0x7F}}, {2, 8, []byte{0}}}}.bytes(),
			"error at offset 4: number of strings (268435455) exceeds the maximum of 0 that can fit in the remaining payload of 0 bytes."},
		{"a huge function count", file{1, []section{texts("k"), {2, 8, []byte{0x7F, 0}}}}.bytes(),
			"number of functions (127) exceeds payload size (2)"},
		{"a name after the strings", file{1, []section{{1, 4, []byte{1, 0xCB, 0xCB, 0xCB, 9, 0, 0, 0, 'k'}},
			{2, 8, []byte{1, 0, 0, 2, 0, 0}}, table(5, []byte{0x10, 0, 0})}}.bytes(), "function name at index 0 is empty"},
		{"type offsets that go back", file{1, []section{texts("k"), {2, 8, []byte{0}}, {5, 4, join([]byte{2, 0xCB, 0xCB, 0xCB}, make([]byte, 4),
			[]byte{9, 0, 0, 0, 1})}}}.bytes(), "type 0 extends beyond available data: size=9, start=0, total data size=1"},
		{"a function name out of range", file{1, []section{{2, 8, []byte{1, 9, 0, 2, 0, 0}}, table(5, []byte{0x10, 0, 0}), texts("k")}}.bytes(),
			"string index 9 out of bounds"},
		{"a signature out of range", file{1, []section{{2, 8, []byte{1, 0, 9, 2, 0, 0}}, table(5, []byte{0x10, 0, 0}), texts("k")}}.bytes(),
			"function signature index 9 out of bounds for function 'k'"},
		{"a signature that is no function", file{1, []section{{2, 8, []byte{1, 0, 0, 2, 0, 0}}, table(5, i32), texts("k")}}.bytes(),
			"function signature index 0 does not refer to a function type for function 'k', got type: 'i32'"},
		{"a function that is no entry", file{1, []section{{2, 8, []byte{1, 0, 0, 0, 0, 0}}, table(5, []byte{0x10, 0, 0}), texts("k")}}.bytes(),
			"uses preview feature 'simt', which is not enabled"},
		{"a body longer than the section", file{1, []section{{2, 8, []byte{1, 0, 0, 2, 0, 9}}, table(5, []byte{0x10, 0, 0}), texts("k")}}.bytes(),
			"function body length 9 exceeds remaining bytecode data (0 bytes)"},
		{"a global without a name", globals([]byte{1, 2, 2, 0, 0}, 4, 1, 0, 0, 0), "global symbol name at index 0 is empty"},
		{"an empty body", kernel(1, nil).bytes(), "block is expected to have a terminator operation, but it is empty"},
		{"a body without terminator", kernel(1, []byte{0x44, 1}, token).bytes(),
			"block is expected to have a terminator operation, but the last operation 'cuda_tile.make_token' is not a terminator."},
		{"an unknown opcode in a gap", kernel(1, []byte{0x19}).bytes(), "unknown or unimplemented opcode: 25"},
		{"atan2 in 13.1", kernel(1, []byte{0x6E}).bytes(), "unsupported opcode 110 for bytecode version 13.1"},
		{"an entry inside a body", kernel(1, []byte{0x16}).bytes(), "unknown or unimplemented opcode: 22"},
		{"a preview op", kernel(5, []byte{0x82, 0x80, 0x01}).bytes(), "uses preview feature 'simt', which is not enabled"},
		{"an operand out of range", kernel(1, join([]byte{0x5C, 0, 1, 5})).bytes(), "error at offset 4: operand index 5 out of bounds (size=0) for operand 0"},
		{"a missing result type", kernel(1, []byte{0x44}).bytes(), "error at offset 1: failed to get result type 0 for MakeTokenOp"},
		{"a type out of range", kernel(1, []byte{0x44, 9}).bytes(), "error at offset 2: failed to get result type 0 for MakeTokenOp"},
		{"a type that contains itself", kernel(1, []byte{0x44, 1}, []byte{0x0D, 1, 0}).bytes(), "error at offset 1: failed to get elementType type"},
		{"an unknown type tag", kernel(1, []byte{0x44, 1}, []byte{0x63}).bytes(), "unknown type tag: 99"},
		{"an f8E8M0FNU of 13.2 in 13.1", kernel(1, []byte{0x44, 1}, []byte{18}).bytes(),
			"type 'Float8E8M0FNU' requires bytecode version 13.2+, file version is 13.1"},
		{"a tile of three elements", kernel(1, []byte{0x44, 2}, i32, []byte{0x0D, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0}).bytes(),
			"all dimensions must be powers of two, got 3"},
		{"a tile of tokens", kernel(1, []byte{0x44, 2}, token, scalar(1)).bytes(), "failed to verify 'elementType': f16 or bf16"},
		{"bytes after a type", kernel(1, []byte{0x44, 1}, []byte{0x11, 0}).bytes(), "1 unused bytes after type"},
		{"a constant out of range", kernel(1, []byte{0x10, 2, 0}, i32, scalar(1)).bytes(), "constant index 0 out of bounds"},
		{"an enum value out of range", kernel(1, []byte{0x30, 2, 2, 2, 3, 2, 9, 0, 1}, i32, scalar(1)).bytes(), "invalid integer value for enum type: 9"},
		{"nearest_away before 13.4", kernel(3, []byte{0x30, 2, 2, 2, 3, 2, 9, 0, 1}, i32, scalar(1)).bytes(), "invalid integer value for enum type: 9"},
		{"a token flag of 13.2 in 13.1 print", kernel(1, join([]byte{0x55, 1, 1, 0, 0}, ret), token).bytes(),
			"result count mismatch for PrintTkoOp: expected 0, got 1"},
		{"an unknown flag", kernel(2, join([]byte{0x55, 1, 1, 2, 0, 0}, ret), token).bytes(), "malformed bytecode: unknown flag bits 0x2 for PrintTkoOp"},
		{"one region for an if", kernel(1, []byte{0x30, 2, 2, 2, 0x32, 0, 0, 1}, i32, scalar(1)).bytes(), "cuda_tile.if op expected 2 regions, got 1"},
		{"two blocks in a region", kernel(1, []byte{0x30, 2, 2, 2, 0x32, 0, 0, 2, 2}, i32, scalar(1)).bytes(), "region 0 of cuda_tile.if has 2 blocks"},
		{"a varint of eleven bytes", kernel(1, join(make11(), ret)).bytes(), "failed to read opcode"},
		{"a hint that is no dictionary", file{1, []section{{2, 8, []byte{1, 0, 0, 6, 0, 0x0B, 1, 1, 0x03, 1, 3, 0x5C, 0, 0}},
			table(5, []byte{0x10, 0, 0}), texts("k", "sm_80")}}.bytes(),
			"expected dictionary attribute for optimization_hints entry `sm_80` got value=true"},
		{"a hint twice", file{1, []section{{2, 8, []byte{1, 0, 0, 6, 0, 0x0B, 2, 1, 0x0A, 0, 1, 0x0A, 0, 3, 0x5C, 0, 0}},
			table(5, []byte{0x10, 0, 0}), texts("k", "sm_80")}}.bytes(),
			"failed to parse DictionaryAttr, duplicate key found: sm_80"},
		{"a debug slot out of range", file{1, []section{{2, 8, []byte{1, 0, 0, 2, 1, 3, 0x5C, 0, 0}}, table(5, []byte{0x10, 0, 0}), texts("k")}}.bytes(),
			"failed to read function location for 'k'"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := bytecode.Read(ir.NewContext(cudatile.Dialect), test.data, bytecode.ReadOptions{})
			var e *bytecode.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if !strings.Contains(e.Lines[0], test.want) {
				t.Errorf("got  %s\nwant %s", e.Lines[0], test.want)
			}
		})
	}
}

// globals is a file with the constant 1 and a global of 13.1 that names it: string 2 is empty.
func globals(section6 []byte, constant ...byte) []byte {
	k := kernel(1, ret, i32, []byte{0x0D, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0})
	k.sections[2] = texts("k", "m", "")
	k.sections = append(k.sections, section{6, 0, section6},
		section{4, 8, join([]byte{1, 0xCB, 0xCB, 0xCB, 0xCB, 0xCB, 0xCB, 0xCB}, make([]byte, 8), constant)})
	return k.bytes()
}

// make11 is a varint that does not end within ten bytes.
func make11() []byte {
	b := make([]byte, 11)
	for i := range 10 {
		b[i] = 0x80
	}
	return b
}

func TestAnErrorInAFunctionNamesWhatCouldNotBeReadBecauseOfIt(t *testing.T) {
	data := kernel(1, []byte{0x44}).bytes()
	_, _, err := bytecode.Read(ir.NewContext(cudatile.Dialect), data, bytecode.ReadOptions{})
	want := fmt.Sprintf("error at offset 1: failed to get result type 0 for MakeTokenOp\n"+
		"error at offset %[1]d: failed to parse function body for function 'k'\n"+
		"error at offset %[1]d: failed to create function from bytecode", len(data))
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestDeepNestingIsAnErrorNotAStackOverflow(t *testing.T) {
	// if %c { if %c { ... : each level takes seven bytes.
	var body []byte
	for range 2000 {
		body = append(body, 0x32, 0, 0, 2, 1, 0, 1)
	}
	fn := join([]byte{1, 0, 1, 2, 0}, binary.AppendUvarint(nil, uint64(len(body))), body)
	data := file{1, []section{{2, 8, fn}, table(5, i1, []byte{0x10, 1, 2, 0}, scalar(0)), texts("k")}}.bytes()
	_, _, err := bytecode.Read(ir.NewContext(cudatile.Dialect), data, bytecode.ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), "regions nest deeper than 256 levels") {
		t.Errorf("got %v", err)
	}
}

func TestI1ConstantsArePackedOrSplat(t *testing.T) {
	tests := []struct {
		name  string
		n     byte
		data  []byte
		want  []byte
		splat bool
	}{
		{"one byte for more than eight elements is a splat", 16, []byte{0xFF}, []byte{1}, true},
		{"zero is a splat", 4, []byte{0}, []byte{0}, true},
		{"one byte for up to eight elements is packed", 4, []byte{0x05}, []byte{1, 0, 1, 0}, false},
		{"two bytes for sixteen elements are packed", 16, []byte{0x01, 0x80}, append(append([]byte{1}, make([]byte, 14)...), 1), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, _ := read(t, boolConstant(test.n, test.data))
			value := ir.Cast[cudatile.Constant](m.Body().First().Body().First()).Value()
			if string(value.Data) != string(test.want) || value.Splat != test.splat {
				t.Errorf("got % x splat %v, want % x splat %v", value.Data, value.Splat, test.want, test.splat)
			}
		})
	}
}

// boolConstant is a file with a constant of n i1 elements.
func boolConstant(n byte, data []byte) []byte {
	f := kernel(1, join([]byte{0x10, 2, 0}, ret), i1, []byte{0x0D, 1, 1, n, 0, 0, 0, 0, 0, 0, 0})
	p := append([]byte{1, 0xCB, 0xCB, 0xCB, 0xCB, 0xCB, 0xCB, 0xCB}, make([]byte, 8)...)
	p = append(append(p, byte(len(data))), data...)
	f.sections = append(f.sections, section{4, 8, p})
	return f.bytes()
}

// TestAByteForEachI1IsRefused has the words of NVIDIA's tileirdisasm 13.5.
func TestAByteForEachI1IsRefused(t *testing.T) {
	_, _, err := bytecode.Read(ir.NewContext(cudatile.Dialect), boolConstant(16, make([]byte, 16)), bytecode.ReadOptions{})
	if want := "i1 dense attribute payload size 16 is not a recognized encoding for 16 elements"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAMutatedFileNeverPanics flips every byte of small files to a few values; whatever reads must write again.
func TestAMutatedFileNeverPanics(t *testing.T) {
	seed := load(t, "../../../tests/corpus/cases/direct_for_unsigned/kernel.tileirbc")
	data := make([]byte, len(seed))
	for at := range seed {
		for _, b := range []byte{0, 1, 0x7F, 0x80, 0xFF, seed[at] + 1} {
			copy(data, seed)
			data[at] = b
			readAndUse(t, data)
		}
	}
	for n := range seed {
		readAndUse(t, seed[:n])
	}
}

// readAndUse reads bytes that may be bad; what reads is verified and written.
func readAndUse(t testing.TB, data []byte) {
	c := ir.NewContext(cudatile.Dialect)
	m, o, err := bytecode.Read(c, data, bytecode.ReadOptions{})
	if err != nil {
		var e *bytecode.Error
		if !errors.As(err, &e) || len(e.Lines) == 0 {
			t.Fatalf("an error without a line: %v", err)
		}
		return
	}
	out, err := bytecode.Write(m, bytecode.WriteOptions{Origin: o})
	if err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	if _, _, err := bytecode.Read(ir.NewContext(cudatile.Dialect), out, bytecode.ReadOptions{}); err != nil {
		t.Fatalf("what was written cannot be read: %v", err)
	}
	ir.Verify(c, m)
}
