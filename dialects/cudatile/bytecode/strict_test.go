package bytecode_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// hinted is a 13.1 kernel with the hints of an entry: key (string 1) has one hint (string 2) with an i32 value.
func hinted(key, hint string, value byte) []byte {
	hints := []byte{0x0B, 1, 1, 0x0A, 1, 2, 1, 1, value}
	fn := join([]byte{1, 0, 0, 6, 0}, hints, []byte{3}, ret)
	return file{1, []section{{2, 8, fn}, table(5, []byte{0x10, 0, 0}, i32), texts("k", key, hint)}}.bytes()
}

// loadHinted is a 13.1 kernel that reads one f32 through a pointer with a hint of latency 3 under "sm_80".
func loadHinted(hint string) []byte {
	load := []byte{0x3D, 2, 5, 2, 0, 1, 1, 0x0A, 1, 2, 1, 6, 3, 0}
	fn := join([]byte{1, 0, 4, 2, 0}, []byte{byte(len(load) + len(ret))}, load, ret)
	return file{1, []section{{2, 8, fn},
		table(5, f32, []byte{0x0C, 0}, scalar(0), scalar(1), []byte{0x10, 1, 3, 0}, token, i32), texts("k", "sm_80", hint)}}.bytes()
}

// assumed is a 13.1 kernel that assumes something of its i32 parameter; dense elements may name the string "m".
func assumed(predicate ...byte) []byte {
	body := join([]byte{0x06, 2}, predicate, ret)
	fn := join([]byte{1, 0, 1, 2, 0, byte(len(body))}, body)
	return file{1, []section{{2, 8, fn}, table(5, i32, []byte{0x10, 1, 2, 0}, scalar(0)), texts("k", "m")}}.bytes()
}

// with changes one byte.
func with(data []byte, at int, b byte) []byte {
	c := bytes.Clone(data)
	c[at] = b
	return c
}

// strictClaims are what is known of the 13.1 reader, by the name of the row in docs/bytecode-13.1.md, and what our two readers say;
// "" is that they take the file.
var strictClaims = []struct {
	name           string
	data           []byte
	strict, modern string
}{
	{"version 13.1", kernel(1, ret).bytes(), "", ""},
	{"version 13.1, any tag", with(kernel(1, ret).bytes(), 11, 7), "", "header has unrecognized version tag bits (0x700);"},
	{"version 13.2", kernel(2, ret).bytes(), "unsupported Tile version 13.2.0, this reader supports versions [13.1, 13.1]", ""},
	{"a version to come", with(kernel(1, ret).bytes(), 9, def.Newest.Minor+1), fmt.Sprintf("unsupported Tile version 13.%d.0, this reader supports versions [13.1, 13.1]", def.Newest.Minor+1),
		fmt.Sprintf("unsupported Tile version 13.%d.0, this reader supports versions [13.1 - %v]", def.Newest.Minor+1, def.Newest)},
	{"opcode 110", kernel(1, []byte{0x6E}).bytes(), "unknown or unimplemented opcode: 110", "unsupported opcode 110 for bytecode version 13.1"},
	{"opcode 25, a gap", kernel(1, []byte{0x19}).bytes(), "unknown or unimplemented opcode: 25", "unknown or unimplemented opcode: 25"},
	{"opcode 200", kernel(1, []byte{0xC8, 1}).bytes(), "unknown or unimplemented opcode: 200", "unsupported opcode 200 for bytecode version 13.1"},
	{"print without token", kernel(1, join([]byte{0x55, 0, 1, 0}, ret)).bytes(), "", ""},
	{"print with a result", kernel(1, join([]byte{0x55, 1, 1, 1, 0}, ret), token).bytes(),
		"result count mismatch for PrintTkoOp: expected 0, got 1", "result count mismatch for PrintTkoOp: expected 0, got 1"},
	{"type tag 18", kernel(1, []byte{0x44, 1}, []byte{18}).bytes(), "unknown type tag: 18",
		"type 'Float8E8M0FNU' requires bytecode version 13.2+, file version is 13.1"},
	{"type tag 99", kernel(1, []byte{0x44, 1}, []byte{99}).bytes(), "unknown type tag: 99", "unknown type tag: 99"},
	{"the elements of a tile", kernel(1, []byte{0x44, 2}, token, scalar(1)).bytes(),
		"failed to verify 'elementType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or i1 or i8 or i16 or i32 or i64 or Pointer type",
		"failed to verify 'elementType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN or i1"},
	{"a hint", hinted("sm_100", "occupancy", 4), "", ""},
	{"hints for an unknown architecture", hinted("sm_75", "occupancy", 4), "unallowed key sm_75", ""},
	{"hints for every architecture, of 13.3", hinted("default", "occupancy", 4), "unallowed key default", ""},
	{"an unknown hint", hinted("sm_100", "num_worker_warps_per_cta", 4), "unknown param num_worker_warps_per_cta for sm_100", ""},
	{"a hint of another operation", hinted("sm_100", "latency", 4), "latency is not allowed for current Operation", ""},
	{"a hint out of range", hinted("sm_90", "num_cta_in_cga", 3), "expected power-of-two ≤ 16 for sm_90.num_cta_in_cga", ""},
	{"a hint of a load", loadHinted("latency"), "", ""},
	{"a hint of an entry on a load", loadHinted("occupancy"), "occupancy is not allowed for current Operation", ""},
	{"a hint of views on a load through pointers", loadHinted("allow_tma"), "allow_tma is not allowed for current Operation", ""},
	{"attribute tag 13", assumed(13), "unsupported AttributeTag 13 for self-contained attribute", "unsupported AttributeTag 13 for self-contained attribute"},
	{"dense elements without a type", assumed(7), "failed to read valid MLIR Type for self-contained DenseElementsAttr", "failed to read valid MLIR Type for self-contained DenseElementsAttr"},
	{"string out of range", assumed(5, 9), "string index 9 out of bounds", "string index 9 out of bounds"},
	{"type out of range", assumed(4, 9), "failed to get referenced type for TypeAttr", "failed to get referenced type for TypeAttr"},
	{"a float of no float type", assumed(2, 0), "failed to read valid FloatType for FloatAttr", "failed to read valid FloatType for FloatAttr"},
	{"an array value that stands for another", assumed(9, 1, 0, 0, 0, 0, 0, 0, 0, 0x80), "array contains unsupported value -9223372036854775808",
		"array contains unsupported value -9223372036854775808"},
}

// read131 reads and says what is wrong, innermost first.
func read131(data []byte, strict bool) string {
	_, _, err := bytecode.Read(ir.NewContext(cudatile.Dialect), data, bytecode.ReadOptions{Strict131: strict})
	if err == nil {
		return ""
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

func TestTheStrictReaderDoesAsTheToolsOf131Did(t *testing.T) {
	page, err := os.ReadFile("../../../docs/bytecode-13.1.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, claim := range strictClaims {
		t.Run(claim.name, func(t *testing.T) {
			for _, reader := range []struct {
				name   string
				strict bool
				want   string
			}{{"strict", true, claim.strict}, {"modern", false, claim.modern}} {
				got := read131(claim.data, reader.strict)
				if (got == "") != (reader.want == "") || !strings.Contains(got, reader.want) {
					t.Errorf("the %s reader says %q, want %q", reader.name, got, reader.want)
				}
			}
			if !strings.Contains(string(page), "| "+claim.name+" |") {
				t.Error("docs/bytecode-13.1.md has no such row")
			}
		})
	}
}

// A file of 13.1 that the strict reader takes means the same to both readers, and is written with the same bytes.
func TestStrictAndModernReadersAgreeOnTheCorpus(t *testing.T) {
	taken := 0
	for _, file := range corpusFiles(t) {
		data := load(t, file)
		c := ir.NewContext(cudatile.Dialect)
		m, o, err := bytecode.Read(c, data, bytecode.ReadOptions{Strict131: true})
		if data[9] != 1 {
			if err == nil {
				t.Errorf("%s: a file of 13.%d was read", name(file), data[9])
			}
			continue
		}
		if err != nil {
			if !strings.Contains(err.Error(), "unallowed key") {
				t.Errorf("%s: %v", name(file), err)
			}
			continue
		}
		taken++
		modern, _ := read(t, data)
		if ir.Text(m, ir.PrintOptions{DebugInfo: true}) != ir.Text(modern, ir.PrintOptions{DebugInfo: true}) {
			t.Errorf("%s: the readers disagree", name(file))
		}
		if out, err := bytecode.Write(m, bytecode.WriteOptions{Origin: o}); err != nil || !bytes.Equal(out, data) {
			t.Errorf("%s: written otherwise (%v)", name(file), err)
		}
	}
	if taken == 0 {
		t.Error("no file of 13.1 was read")
	}
}

// An addition of values 4 and 5 is five bytes: opcode, type, overflow, two operands. The seven bytes that some pages show are no
// encoding.
func TestAnAdditionIsFiveBytes(t *testing.T) {
	m := newMaker(i32Tile, i32Tile, i32Tile, i32Tile, i32Tile, i32Tile)
	m.op("addi", []*ir.Value{m.arg(4), m.arg(5)}, []ir.Type{i32Tile(m.c)}, def.OverflowEnum.Of(def.NoOverflowFlag))
	m.op("return", nil, nil)
	out, err := bytecode.Write(m.module, bytecode.WriteOptions{Version: def.V131})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := read(t, out)
	index := out[bytes.Index(out, []byte{0x5C, 0, 0})-4]
	if want := []byte{0x03, index, 0x00, 0x04, 0x05, 0x5C, 0, 0}; !bytes.Contains(out, want) || bytes.Contains(out, []byte{3, 0x7F, 3, 2, 4, 5, 0}) {
		t.Errorf("no % x in % x", want, out)
	}
	if ir.Text(got, ir.PrintOptions{}) != ir.Text(m.module, ir.PrintOptions{}) {
		t.Error("reads back otherwise")
	}
}

// The op of 0x55 is spelled print for 13.1, and both spellings parse.
func TestPrintIsSpelledAsTheReleaseDoes(t *testing.T) {
	m, _ := read(t, kernel(1, join([]byte{0x55, 0, 1, 0}, ret)).bytes())
	for release, want := range map[ir.Version]string{def.V131: ` print "m"`, def.V135: ` print_tko "m"`} { // order-free: independent checks
		text := ir.Text(m, ir.PrintOptions{Release: release})
		if !strings.Contains(text, want) {
			t.Errorf("%v: no %q in\n%s", release, want, text)
		}
		if _, err := ir.Parse(ir.NewContext(cudatile.Dialect), "t", []byte(text)); err != nil {
			t.Errorf("%v does not parse back: %v", release, err)
		}
	}
}

// Descriptions of the first tools have spellings that the tools never had.
func TestSpellingsOfNoToolDoNotParse(t *testing.T) {
	const kernel = `entry @f(%p: tile<ptr<f32>>, %c: tile<i1>) {
		%v, %u = load_ptr_tko acquire device %p : tile<ptr<f32>> -> tile<f32>, token
		if %c {
		}
		return
	}`
	parses := func(text string) bool {
		_, err := ir.Parse(ir.NewContext(cudatile.Dialect), "t", []byte(text))
		return err == nil
	}
	if !parses(kernel) {
		t.Fatal("the kernel itself does not parse")
	}
	for _, change := range [][2]string{
		{"device", "gpu"}, {"device", "cluster"}, {"acquire", "seq_cst"}, {"load_ptr_tko", "load_ptr"},
	} {
		if parses(strings.Replace(kernel, change[0], change[1], 1)) {
			t.Errorf("%q in the place of %q parses", change[1], change[0])
		}
	}
}
