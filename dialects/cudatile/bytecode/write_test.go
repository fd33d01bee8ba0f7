package bytecode_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// maker builds a module with one kernel whose parameters have the given types.
type maker struct {
	c      *ir.Context
	module *ir.Op
	b      *ir.Builder
}

func newMaker(params ...func(*ir.Context) ir.Type) *maker {
	c := ir.NewContext(cudatile.Dialect)
	m := &maker{c: c, b: ir.NewBuilder(c)}
	m.module = ir.NewOp(ir.State{Def: c.OpDef("cuda_tile.module"), Attrs: []ir.Attribute{ir.SymbolAttr("kernels")}})
	m.b.AtEnd(m.module.Region(0).AddBlock())
	var types []ir.Type
	for _, p := range params {
		types = append(types, p(c))
	}
	entry := m.op("entry", nil, nil, ir.SymbolAttr("k"), ir.TypeAttr{Type: c.Func(types, nil)})
	m.b.AtEnd(entry.Region(0).AddBlock(types...))
	return m
}

func (m *maker) arg(i int) *ir.Value { return m.module.Body().First().Body().Arg(i) }

// op adds an operation; operands are one per declared operand, and a nil value is an absent one.
func (m *maker) op(name string, operands []*ir.Value, results []ir.Type, attrs ...ir.Attribute) *ir.Op {
	d := m.c.OpDef("cuda_tile." + name)
	s := ir.State{Def: d, Types: results, Attrs: attrs}
	for i := range d.NumOperandDefs() {
		n := int32(0)
		if i < len(operands) && operands[i] != nil {
			n = 1
			s.Operands = append(s.Operands, operands[i])
		}
		s.Groups = append(s.Groups, n)
	}
	if d.FixedOperands() {
		s.Groups = nil
	}
	return m.b.Create(s)
}

func i32Tile(c *ir.Context) ir.Type { return cudatile.Scalar(c, c.Int(32)) }
func f32Tile(c *ir.Context) ir.Type { return cudatile.Scalar(c, c.Float(float.F32)) }

func TestAnOlderVersionRefusesWhatItCannotSay(t *testing.T) {
	tests := []struct {
		name string
		to   ir.Version
		make func(*maker)
		want string
	}{
		{"an op", def.V131, func(m *maker) {
			m.op("atan2", []*ir.Value{m.arg(1), m.arg(1)}, []ir.Type{f32Tile(m.c)})
		}, "operation 'cuda_tile.atan2' is not available in bytecode version 13.1"},
		{"a required attribute that is not the default", def.V131, func(m *maker) {
			m.op("negi", []*ir.Value{m.arg(0)}, []ir.Type{i32Tile(m.c)}, def.OverflowEnum.Of(def.NoSignedWrap))
		}, "attribute 'overflow' requires bytecode version 13.2+, but targeting 13.1"},
		{"a flag", def.V132, func(m *maker) {
			m.op("mmaf", []*ir.Value{m.arg(1), m.arg(1), m.arg(1)}, []ir.Type{f32Tile(m.c)}, ir.UnitAttr{})
		}, "optional attribute 'fast_acc' is provided but requires bytecode version 13.3, targeting 13.2"},
		{"an optional operand", def.V131, func(m *maker) {
			tok := m.op("make_token", nil, []ir.Type{cudatile.Token(m.c)})
			m.op("print_tko", []*ir.Value{nil, tok.Result(0)}, []ir.Type{cudatile.Token(m.c)}, ir.StringAttr("x"))
		}, "optional operand 'token' is provided but requires bytecode version 13.2, targeting 13.1"},
		{"a result that is used", def.V131, func(m *maker) {
			p := m.op("print_tko", nil, []ir.Type{cudatile.Token(m.c)}, ir.StringAttr("x"))
			m.op("join_tokens", []*ir.Value{p.Result(0)}, []ir.Type{cudatile.Token(m.c)})
		}, "result 'result_token' requires bytecode version 13.2 but is being used and targeting 13.1."},
		{"a type", def.V131, func(m *maker) {
			m.op("bitcast", []*ir.Value{m.arg(0)}, []ir.Type{cudatile.Scalar(m.c, m.c.Float(float.F8E8M0FNU))})
		}, "type 'Float8E8M0FNU' requires bytecode version 13.2+, targeting 13.1"},
		{"a pointer attribute", def.V133, func(m *maker) {
			p, _ := cudatile.Ptr(m.c, m.c.Int(32), cudatile.Some(def.PtrNone))
			m.op("int_to_ptr", []*ir.Value{m.arg(0)}, []ir.Type{cudatile.Scalar(m.c, p)})
		}, "parameter 'ptrAttr' requires bytecode version 13.4+, but targeting 13.3"},
		{"an enum case", def.V133, func(m *maker) {
			m.op("ftof", []*ir.Value{m.arg(1)}, []ir.Type{f32Tile(m.c)}, def.RoundingEnum.Of(def.RoundNearestAway))
		}, "enum value 7 is not available in bytecode version 13.3"},
		{"an index that is in bounds", def.V133, func(m *maker) {
			tv, _ := cudatile.TensorView(m.c, m.c.Int(32), []int64{8}, []int64{1}, cudatile.Absent)
			pv, _ := cudatile.PartitionView(m.c, []int64{4}, tv, []int{0}, cudatile.Absent)
			v := m.op("make_partition_view", []*ir.Value{m.arg(0)}, []ir.Type{pv})
			m.op("load_view_tko", []*ir.Value{v.Result(0), m.arg(0)}, []ir.Type{pv.Tile, cudatile.Token(m.c)},
				def.MemOrderEnum.Of(def.Weak), nil, nil, ir.BoolArray{true})
		}, "attribute 'inbounds' requires bytecode version 13.4+, but targeting 13.3"},
		{"no version at all", ir.V(12, 9), func(*maker) {}, fmt.Sprintf("unsupported version requested 12.9, must be in range [%v, %v]", def.Oldest, def.Newest)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newMaker(i32Tile, f32Tile)
			test.make(m)
			m.op("return", nil, nil)
			if _, err := bytecode.Write(m.module, bytecode.WriteOptions{Version: test.to}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if test.to.AtLeast(def.V131) {
				if _, err := bytecode.Write(m.module, bytecode.WriteOptions{Version: def.V134}); err != nil {
					t.Errorf("13.4 refuses it, too: %v", err)
				}
			}
		})
	}
}

func TestLocationsThatTheFormatLacks(t *testing.T) {
	m := newMaker(f32Tile)
	file := &cudatile.DIFile{Name: "f.py", Dir: "d"}
	scope := &cudatile.DISubprogram{File: file, Name: "k", LinkageName: "k", Unit: &cudatile.DICompileUnit{File: file}}
	place := &cudatile.DILoc{Scope: scope, File: "f.py", Line: 3, Col: 4}
	m.op("ceil", []*ir.Value{m.arg(0)}, []ir.Type{f32Tile(m.c)}).SetLoc(&ir.NameLoc{Name: "n", Child: place})
	m.op("return", nil, nil)
	want := "f.py:3:4: unsupported location, got NameLoc, expected DILocAttr or CallSiteLoc"
	if _, err := bytecode.Write(m.module, bytecode.WriteOptions{Version: def.V132}); err == nil || err.Error() != want {
		t.Errorf("13.2: got %v, want %s", err, want)
	}
	data, err := bytecode.Write(m.module, bytecode.WriteOptions{Version: def.V131})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := read(t, data)
	if l, ok := got.Body().First().Body().First().Loc().(*cudatile.DILoc); !ok || !l.EqualAttr(place) {
		t.Errorf("13.1 keeps the place inside a name; got %v", l)
	}
	place.Scope = nil
	if _, err := bytecode.Write(m.module, bytecode.WriteOptions{Version: def.V131}); err == nil || !strings.Contains(err.Error(), "without a scope") {
		t.Errorf("a place without a scope: got %v", err)
	}
}

func TestGlobalsLoseNothingSilently(t *testing.T) {
	for _, test := range []struct {
		name  string
		extra []ir.Attribute
		want  string
	}{
		{"constant", []ir.Attribute{nil, ir.UnitAttr{}},
			"constant global `g` cannot be encoded in bytecode version 13.2 (the `constant` attribute requires bytecode 13.3+)"},
		{"private", []ir.Attribute{def.VisibilityEnum.Of(def.Private)},
			"global `g` uses non-public symbol visibility, which cannot be encoded in bytecode version 13.2 (requires bytecode 13.3+)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMaker()
			m.op("return", nil, nil)
			m.b.AtEnd(m.module.Body())
			typ := cudatile.MustTile(m.c, m.c.Int(8), 1)
			attrs := append([]ir.Attribute{ir.SymbolAttr("g"), &ir.DenseAttr{Type: typ, Data: []byte{7}, Splat: true}, nil}, test.extra...)
			m.op("global", nil, nil, attrs...)
			if _, err := bytecode.Write(m.module, bytecode.WriteOptions{Version: def.V132}); err == nil || err.Error() != test.want {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
			data, err := bytecode.Write(m.module, bytecode.WriteOptions{Version: def.V133})
			if err != nil {
				t.Fatal(err)
			}
			got, _ := read(t, data)
			g, ok := ir.As[cudatile.Global](got.Body().First())
			if !ok || g.Constant() != (test.name == "constant") || (g.SymbolVisibility() == def.Private) != (test.name == "private") {
				t.Errorf("%s did not survive: %v", test.name, got.Body().First().Attrs())
			}
		})
	}
}

// TestEveryVersionReadsWhatItWrites moves each corpus module through all versions that can express it.
func TestEveryVersionReadsWhatItWrites(t *testing.T) {
	written := 0
	for _, file := range corpusFiles(t) {
		m, _ := read(t, load(t, file))
		for minor := uint8(1); minor <= 5; minor++ {
			v := ir.V(13, minor)
			data, err := bytecode.Write(m, bytecode.WriteOptions{Version: v})
			if err != nil {
				continue
			}
			written++
			if again := rewrite(t, data); !bytes.Equal(again, data) {
				t.Errorf("%s at %v: reading and writing gives other bytes", name(file), v)
			}
		}
	}
	if written < 4*398 {
		t.Errorf("%d files written, want four versions of most modules at least", written)
	}
}

func TestAnEditedModuleKeepsTheRestOfItsOrigin(t *testing.T) {
	data := load(t, "../../../tests/corpus/cases/dropout/kernel.tileirbc")
	m, o := read(t, data)
	entry := m.Body().First()
	ret := entry.Body().Last()
	c := ir.NewContext(cudatile.Dialect)
	ir.NewBuilder(c).Before(ret).Create(ir.State{Def: c.OpDef("cuda_tile.print_tko"), Types: []ir.Type{cudatile.Token(c)},
		Groups: []int32{0, 0}, Attrs: []ir.Attribute{ir.StringAttr("a string that is new")}})
	got, err := bytecode.Write(m, bytecode.WriteOptions{Origin: o})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(got, []byte("a string that is new")) || !bytes.Contains(got, []byte("astype@_stub")) {
		t.Error("want the new string and the old one that no op reaches")
	}
	if again, _ := read(t, got); ir.Cast[cudatile.PrintTko](again.Body().First().Body().Last().Prev()).Str() != "a string that is new" {
		t.Error("the new op is not where it was put")
	}
}
