package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const corpus = "../../tests/corpus"

// oracle is a machine that knows the answers: it returns what the case expects.
// Tests make it wrong on purpose.
type oracle struct {
	c    *Case
	warp func(*Outcome)
	err  error
}

func (o oracle) Launch(_ context.Context, l *Launch) (*Outcome, error) {
	if o.err != nil {
		return nil, o.err
	}
	out := &Outcome{Stdout: strings.Join(o.c.StdoutContains, "\n")}
	for i, b := range l.Buffers {
		out.Buffers = append(out.Buffers, slices.Clone(b.Bytes))
		out.Addresses = append(out.Addresses, uint64(0x7000_0000+i*0x10000))
	}
	l.StorePointers(out.Buffers, out.Addresses)
	for _, x := range o.c.Expect {
		for i, b := range o.c.Buffers {
			if b.Name == x.Buffer {
				out.Buffers[i] = slices.Clone(x.Data)
			}
		}
	}
	if o.c.ExpectAssert != "" {
		out.AssertFailed, out.Message = true, "k.py:3: "+o.c.ExpectAssert
	}
	if o.warp != nil {
		o.warp(out)
	}
	return out, nil
}

func (o oracle) Decode(context.Context, string, []byte) error { return o.err }

func load(t *testing.T, name string) *Case {
	t.Helper()
	c, err := Load(filepath.Join(corpus, name))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryCaseOfTheCorpusLoadsAndAcceptsItsOwnAnswers(t *testing.T) {
	names, err := List(filepath.Join(corpus, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	core := 0
	for _, name := range names {
		c := load(t, "cases/"+name)
		if c.Name != name || len(c.Bytecode) == 0 || c.Kernel == "" {
			t.Errorf("%s: incomplete", name)
		}
		if c.Core {
			core++
		}
		m := oracle{c: c}
		if c.ExpectError != "" {
			m.err = fmt.Errorf("kernel:1:1: error: %s", c.ExpectError)
		}
		if v := Run(context.Background(), m, c); v.Status != Pass {
			t.Errorf("%s: %s", name, v)
		}
	}
	if len(names) != 391 || core != 161 {
		t.Errorf("%d cases, %d of them core; the corpus has 391 and 161", len(names), core)
	}
}

func TestEveryOutputOfTheCorpusIsJudged(t *testing.T) {
	names, err := List(filepath.Join(corpus, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		c := load(t, "cases/"+name)
		if c.ExpectError != "" || c.ExpectAssert != "" || c.DecodeOnly {
			continue
		}
		for i, b := range c.Buffers {
			if len(b.Data) == 0 {
				continue
			}
			// 0x55 in the top byte is outside every tolerance of the corpus.
			last := func(o *Outcome) { o.Buffers[i][len(b.Data)-1] ^= 0x55 }
			if v := Run(context.Background(), oracle{c: c, warp: last}, c); v.Status != Fail || !strings.Contains(v.Reason, b.Name) {
				t.Errorf("%s: a changed byte of %s is judged %q", name, b.Name, v)
			}
		}
	}
}

func TestEveryBenchmarkLoadsAndHasALaunch(t *testing.T) {
	names, err := List(filepath.Join(corpus, "perf"))
	if err != nil || len(names) != 37 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		c := load(t, "perf/"+name)
		c.ResolveGrid(132)
		if c.Grid[0] < 1 || len(c.Params) == 0 || c.Flops+c.Bytes == 0 {
			t.Errorf("%s: incomplete: grid %v", name, c.Grid)
		}
	}
	c := load(t, "perf/gemm_bf16_8192_128x256x64_persistent")
	if _, err := c.NewLaunch(); err == nil || !strings.Contains(err.Error(), "ResolveGrid") {
		t.Errorf("a launch without a grid: %v", err)
	}
	c.ResolveGrid(132)
	if c.Grid != [3]int{132, 1, 1} {
		t.Errorf("grid on 132 multiprocessors: %v", c.Grid)
	}
	d := &device{}
	if v := Run(t.Context(), d, load(t, "perf/softmax_f32_8192x4096")); v.Status != Fail || d.grid != [3]int{4 * 20, 1, 1} {
		t.Errorf("grid on a device: %v, %v", d.grid, v)
	}
}

// device has twenty multiprocessors and notes what it is to launch.
type device struct{ grid [3]int }

func (*device) Multiprocessors() int { return 20 }

func (d *device) Launch(_ context.Context, l *Launch) (*Outcome, error) {
	d.grid = l.Grid
	return nil, errors.New("no kernel runs here")
}

func TestVerdictsNameTheFirstWrongElement(t *testing.T) {
	for _, tt := range []struct {
		name, kase string
		warp       func(*Outcome)
		err        error
		want       string
	}{
		{"a wrong integer", "abs_i32", func(o *Outcome) { o.Buffers[1][4*18]++ }, nil,
			"FAIL: out[2] (element 18): got "},
		{"a stray write", "abs_i32", func(o *Outcome) { o.Buffers[1][0]++ }, nil,
			"FAIL: out (outside the array, element 0): got "},
		{"a changed input", "abs_i32", func(o *Outcome) { o.Buffers[0][4*16+1]++ }, nil,
			"FAIL: x[0] (element 16): got "},
		{"a missing buffer", "abs_i32", func(o *Outcome) { o.Buffers = o.Buffers[:1] }, nil,
			"FAIL: the machine returned 1 buffers of 2"},
		{"a short buffer", "abs_i32", func(o *Outcome) { o.Buffers[1] = o.Buffers[1][:8] }, nil,
			"FAIL: buffer out has 384 bytes, got 8, want 384"},
		{"an overwritten pointer", "list_arg", func(o *Outcome) { o.Buffers[4][8*5]++ }, nil,
			"FAIL: table[5] (element 5): got "},
		{"an assertion that must hold", "abs_i32", func(o *Outcome) { o.AssertFailed, o.Message = true, "oops" }, nil,
			"FAIL: assertion failed: oops"},
		{"an assertion that must fail", "assert_fails", func(o *Outcome) { o.AssertFailed = false }, nil,
			`FAIL: no assertion failed, expected "n is wrong"`},
		{"another assertion", "assert_fails", func(o *Outcome) { o.Message = "m is wrong" }, nil,
			`FAIL: the failed assertion says "m is wrong", expected "n is wrong"`},
		{"a silent print", "python_print", func(o *Outcome) { o.Stdout = "" }, nil,
			`FAIL: printed "", expected it to contain `},
		{"a refusal", "abs_i32", nil, errors.New("no"), "FAIL: no"},
		{"a refusal as unsupported", "abs_i32", nil, fmt.Errorf("not supported yet: absi: %w", errors.ErrUnsupported), "UNSUPPORTED: not supported yet: absi"},
		{"an invalid module accepted", "invalid_unsigned_floordiv", nil, nil, "FAIL: the module was accepted, expected the error "},
		{"an invalid module refused for another reason", "invalid_unsigned_floordiv", nil, errors.New("bad magic"), `FAIL: expected the error "'cuda_tile.divi'`},
	} {
		c := load(t, "cases/"+tt.kase)
		if v := Run(context.Background(), oracle{c, tt.warp, tt.err}, c).String(); !strings.HasPrefix(v, tt.want) {
			t.Errorf("%s: got %q, want %q…", tt.name, v, tt.want)
		}
	}
}

func TestCompareFollowsTheRulesOfTheCorpus(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	f64 := func(v float64) uint64 { return math.Float64bits(v) }
	for _, c := range []struct {
		dtype      string
		got, want  uint64
		rtol, atol float64
		same       bool
	}{
		{"f64", f64(1), f64(1.5), 0, 0.5, true},
		{"f64", f64(1), f64(1.5), 0, 0.49, false},
		{"f64", f64(110), f64(100), 0.1, 0, true},
		{"f64", f64(100), f64(111), 0.1, 0, true},
		{"f64", f64(111), f64(100), 0.1, 0, false},
		{"f64", f64(nan), 0x7ff8000000000001, 0, 0, true},
		{"f64", f64(nan), f64(1), 1, 1, false},
		{"f64", f64(inf), f64(inf), 0, 0, true},
		{"f64", f64(inf), f64(-inf), 1, 1, false},
		{"f64", f64(1e308), f64(inf), 1, 1, false},
		{"f64", f64(math.Copysign(0, -1)), 0, 0, 0, false},
		{"f64", f64(math.Copysign(0, -1)), 0, 0, 1e-300, true},
		{"f16", 0, 0x8000, 0, 0, false},
		{"bf16", 0x8000, 0, 1e-9, 0, true},
		{"f8e5m2", 0x80, 0, 0, 0, false},
		{"f16", 0x3C01, 0x3C00, 0, 0, false},
		{"f16", 0x3C01, 0x3C00, 0.001, 0, true},
		{"bf16", 0x3F81, 0x3F80, 0.01, 0, true},
		{"f8e4m3fn", 0x7F, 0xFF, 0, 0, true},
		{"i64", 1 << 62, 1<<62 + 1, 0, 0, false},
		{"u64", 1 << 63, 1<<63 + 1, 1e-9, 0, true},
		{"i8", 0xFF, 0x01, 0, 2, true},
		{"i8", 0xFF, 0x02, 0, 2, false},
		{"bool", 1, 0, 0, 0, false},
	} {
		d, err := DTypeByName(c.dtype)
		if err != nil {
			t.Fatal(err)
		}
		b := &Buffer{Name: "b", DType: d, Shape: []int{1}}
		got, want := make([]byte, d.Size), make([]byte, d.Size)
		d.setBits(got, 0, c.got)
		d.setBits(want, 0, c.want)
		if err := Compare(b, got, want, c.rtol, c.atol); (err == nil) != c.same {
			t.Errorf("%s: %#x and %#x within %g, %g: %v", c.dtype, c.got, c.want, c.rtol, c.atol, err)
		}
	}
}

func TestViewsNameElements(t *testing.T) {
	v := &View{Offset: 16, Shape: []int{3, 4}, Strides: []int{8, 1}}
	for _, c := range []struct {
		element int
		want    string
	}{{16, "[0 0]"}, {19, "[0 3]"}, {24, "[1 0]"}, {35, "[2 3]"}, {15, "-"}, {20, "-"}, {36, "-"}, {40, "-"}} {
		got := "-"
		if at, ok := v.coordinates(c.element); ok {
			got = fmt.Sprint(at)
		}
		if got != c.want {
			t.Errorf("element %d: got %s, want %s", c.element, got, c.want)
		}
	}
	if at, ok := (&View{Shape: []int{4, 3}, Strides: []int{1, 10}}).coordinates(23); !ok || fmt.Sprint(at) != "[3 2]" {
		t.Errorf("a transposed view: %v %v", at, ok)
	}
}

func TestResizeShrinksABenchmarkWithItsParameters(t *testing.T) {
	c := load(t, "perf/gemm_bf16_4096_128x128x32")
	name := c.Buffers[0].Name
	if err := c.Resize(name, 128, 192); err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, p := range c.Params[1:5] {
		got = append(got, p.Bits)
	}
	if !slices.Equal(got, []uint64{128, 192, 192, 1}) || c.Buffers[0].Size() != 128*192*2 {
		t.Errorf("parameters %v, %d bytes", got, c.Buffers[0].Size())
	}
	c = load(t, "perf/group_gemm_bf16_8_128x128x64")
	if err := c.Resize("a1", 64, 32); err != nil {
		t.Fatal(err)
	}
	if v := c.Buffer("aa").Init.Values[5:10]; fmt.Sprint(v) != "[0 64 32 32 1]" {
		t.Errorf("table %v", v)
	}
	for _, bad := range []error{c.Resize("zz", 1), c.Resize("a1", 64), c.Resize("aa", 40), load(t, "cases/abs_i32").Resize("x", 4)} {
		if bad == nil {
			t.Error("an impossible Resize succeeded")
		}
	}
}

func TestDescribedBuffers(t *testing.T) {
	fill := func(dtype, init string, n int) (*Buffer, error) {
		d, err := DTypeByName(dtype)
		if err != nil {
			t.Fatal(err)
		}
		b := &Buffer{Name: "b", DType: d, Shape: []int{n}, Init: &Init{}}
		if err := json.Unmarshal([]byte(init), b.Init); err != nil {
			t.Fatal(err)
		}
		return b, b.Fill()
	}
	b, err := fill("f16", `{"kind":"ones"}`, 3)
	if err != nil || string(b.Data) != "\x00\x3C\x00\x3C\x00\x3C" {
		t.Errorf("ones: %x %v", b.Data, err)
	}
	b, err = fill("i32", `{"kind":"uniform_int","lo":-2,"hi":3,"seed":1}`, 1000)
	seen := map[float64]bool{}
	for i := range 1000 {
		seen[b.DType.value(b.DType.bits(b.Data, i))] = true
	}
	if err != nil || len(seen) != 5 || !seen[-2] || !seen[2] {
		t.Errorf("uniform_int: %v %v", seen, err)
	}
	b, err = fill("f32", `{"kind":"normal","std":2,"seed":7}`, 10000)
	sum, squares := 0.0, 0.0
	for i := range 10000 {
		v := b.DType.value(b.DType.bits(b.Data, i))
		sum, squares = sum+v, squares+float64(v*v)
	}
	if mean, dev := sum/1e4, math.Sqrt(squares/1e4); err != nil || math.Abs(mean) > 0.1 || math.Abs(dev-2) > 0.1 {
		t.Errorf("normal: mean %g, deviation %g, %v", mean, dev, err)
	}
	again, _ := fill("f32", `{"kind":"normal","std":2,"seed":7}`, 10000)
	other, _ := fill("f32", `{"kind":"normal","std":2,"seed":8}`, 10000)
	if string(again.Data) != string(b.Data) || string(other.Data) == string(b.Data) {
		t.Error("the seed must decide the content, and alone")
	}
	b, err = fill("i64", `{"values":[1,-9223372036854775808]}`, 2)
	if err != nil || b.DType.bits(b.Data, 1) != 1<<63 {
		t.Errorf("values: %x %v", b.Data, err)
	}
	for _, bad := range []string{`{"kind":"noise"}`, `{"values":[1]}`, `{"kind":"uniform_int","lo":3,"hi":3}`, `{"values":[1,2.5]}`} {
		if _, err := fill("i32", bad, 2); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestNpyRoundTripsAndRejectsWhatItCannotRead(t *testing.T) {
	for _, shape := range [][]int{{}, {5}, {2, 3}, {0, 4}} {
		n, _ := byteSize(shape, 4)
		a := &Array{Descr: "<f4", Shape: shape, Data: make([]byte, n)}
		file := WriteNpy(a)
		if len(file)%64 != n%64 {
			t.Errorf("%v: data is not aligned", shape)
		}
		b, err := ReadNpy(file)
		if err != nil || b.Descr != a.Descr || !slices.Equal(b.Shape, shape) || len(b.Data) != n {
			t.Errorf("%v: %+v %v", shape, b, err)
		}
	}
	file, err := os.ReadFile(filepath.Join(corpus, "cases/abs_i32/x.npy"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := ReadNpy(file)
	if err != nil || string(WriteNpy(a)[10:118]) != string(file[10:118]) {
		t.Errorf("header differs from NumPy's: %q, %v", WriteNpy(a)[:128], err)
	}
	v2 := append([]byte("\x93NUMPY\x02\x00\x76\x00\x00\x00"), file[10:]...)
	if b, err := ReadNpy(v2); err != nil || len(b.Data) != len(a.Data) {
		t.Errorf("version 2: %v", err)
	}
	header := func(dict string) []byte {
		return append([]byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, byte(len(dict)), 0}, dict...)
	}
	for _, bad := range [][]byte{
		nil, []byte("hello, world"), file[:9], file[:40], file[:len(file)-1],
		header("{}"),
		header("{'descr': '>f4', 'fortran_order': False, 'shape': (0,), }"),
		header("{'descr': '<f4', 'fortran_order': True, 'shape': (0, 0), }"),
		header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"),
		header("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0), }"),
		[]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"),
		[]byte("\x93NUMPY\x09\x00\x00\x00\x00\x00"),
	} {
		if _, err := ReadNpy(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestLoadExplainsBadCases(t *testing.T) {
	good := `{"name":"n","bytecode":"k","kernel":"k","grid":[1,1,1],"buffers":{"b":{"dtype":"i64","shape":[4],"init":{"kind":"zeros"}}},"params":[{"buffer":"b"}]}`
	for _, c := range []struct{ old, new, want string }{
		{``, ``, ""},
		{`"name"`, `"nam"`, `unknown field "nam"`},
		{`[1,1,1]`, `[1,1]`, "grid must be three numbers"},
		{`"grid":[1,1,1],`, ``, `the case has no "grid"`},
		{`"zeros"}}}`, `"zeros"}},"b":{}}`, `"b" stands there twice`},
		{`"params"`, `"grid":[2,1,1],"params"`, `"grid" stands there twice`},
		{`"params"`, `"GRID":[2,1,1],"params"`, `unknown field "GRID"`},
		{`"shape":[4]`, `"shape":[4],"Shape":[4]`, `unknown field "Shape"`},
		{`"shape":[4]`, `"shape":[4],"pointers":[{"Index":0,"buffer":"b"}]`, `unknown field "Index"`},
		{`"kind":"zeros"`, `"kind":"zeros","Kind":"ones"`, `unknown field "Kind"`},
		{`{"buffer":"b"}`, `{"buffer":"b","buffer":"b"}`, `"buffer" stands there twice`},
		{`"params"`, `"tags":{"a":1,"A":[{"x":2}]},"params"`, ""},
		{`"params"`, `"tags":[{"a":1,"a":2}],"params"`, `"a" stands there twice`},
		{`}]}`, `}]} {}`, "more text behind the object"},
		{`}]}`, `}]}]garbage`, "more text behind the object"},
		{`[1,1,1]`, `"persistent"`, "needs a grid_rule"},
		{`"i64"`, `"i7"`, `buffer "b": unknown dtype "i7"`},
		{`"kind":"zeros"`, `"knd":"zeros"`, `unknown field "knd"`},
		{`{"kind":"zeros"}`, `"b.npy"`, "no such file"},
		{`{"kind":"zeros"}`, `"../b.npy"`, "leads out of the case"},
		{`"shape":[4]`, `"shape":[-1]`, "negative extent"},
		{`"shape":[4]`, `"shape":[1099511627776]`, "takes more than"},
		{`"shape":[4]`, `"shape":[4],"pointers":[{"index":4,"buffer":"b","offset_bytes":0}]`, "pointer word 4 lies outside"},
		{`"shape":[4]`, `"shape":[4],"view":{"shape":[2],"strides":[]}`, "view has 1 extents and 0 strides"},
		{`{"buffer":"b"}`, `{"buffer":"c"}`, `parameter 0: no buffer "c"`},
		{`{"buffer":"b"}`, `{"buffer":"b","offset_bytes":33}`, "offset 33 lies outside"},
		{`{"buffer":"b"}`, `{"buffer":"b","offset_bytes":"x"}`, "is not an integer"},
		{`{"buffer":"b"}`, `{"i8":200}`, "parameter 0: i8:"},
		{`{"buffer":"b"}`, `{"f16":65520}`, "65520 is beyond f16, which has numbers from -65504 to 65504"},
		{`{"buffer":"b"}`, `{"f8e4m3fn":1e10}`, "1e10 is beyond f8e4m3fn, which has numbers from -448 to 448"},
		{`{"buffer":"b"}`, `{"f8e8m0fnu":-1}`, "-1 is beyond f8e8m0fnu"},
		{`{"buffer":"b"}`, `{"u16":65536}`, "65536 is beyond u16, which has 16 bits"},
		{`{"buffer":"b"}`, `{"i8":1,"i16":2}`, "expected a buffer or one scalar"},
		{`"params"`, `"expect":{"c":{"file":"c.npy"}},"params"`, `expect "c": no such buffer`},
		{`"bytecode":"k"`, `"bytecode":"/etc/passwd"`, "leads out of the case"},
		{`"bytecode":"k",`, ``, `the case has no "bytecode"`},
		{`{"kind":"zeros"}`, `""`, `buffer "b": the name of a file is empty`},
		{`"params"`, `"expect":{"b":{}},"params"`, `expect "b": it has no "file"`},
		{`"params"`, `"expect":{"b":{"file":"b.npy","rtol":-1}},"params"`, `expect "b": rtol -1, atol 0: a tolerance is not negative`},
		{`"params"`, `"expect":{"b":{"file":"b.npy","atol":-0.5}},"params"`, `expect "b": rtol 0, atol -0.5: a tolerance is not negative`},
	} {
		dir := t.TempDir()
		text := strings.Replace(good, c.old, c.new, 1)
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "k"), []byte("x"), 0o644), os.WriteFile(filepath.Join(dir, "case.json"), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		_, err := Load(dir)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "case.json")) {
			t.Errorf("%s -> %s: got %v, want %q", c.old, c.new, err, c.want)
		}
	}
}

// A launch record says what it lacks, and its case is named: after the folder, or after the record where that has no name.
func TestLaunchRecords(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("k.ptx", "")
	for _, c := range []struct{ text, want string }{
		{`{}`, `no "entry"`},
		{`{"entry":"k"}`, `"grid" must be three numbers from 1`},
		{`{"entry":"k","grid":[1,0,1]}`, `"grid" must be three numbers from 1`},
		{`{"entry":"k","grid":[1,1]}`, `"grid" must be three numbers from 1`},
		{`{"entry":"k","grid":[1,1,1],"shared":-1}`, "a size is negative"},
	} {
		write("k.json", c.text)
		if _, err := LoadLaunch("k.ptx", "k.json"); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "k.json") {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
	for record, want := range map[string]string{"k.json": "k", "./k.json": "k", "add/launch.json": "add"} {
		write(record, `{"entry":"k","grid":[1,1,1]}`)
		if c, err := LoadLaunch("k.ptx", record); err != nil || c.Name != want {
			t.Errorf("%s: got %v, %v, want the name %s", record, c, err, want)
		}
	}
}

// TestArraysForPointers: an array goes to a pointer to its own elements, to integers of the other sign, or as the bits of what .npy lacks.
func TestArraysForPointers(t *testing.T) {
	for _, c := range []struct {
		array, elem string
		fits        bool
	}{
		{"f32", "f32", true}, {"i32", "i32", true}, {"u32", "i32", true}, {"u16", "bf16", true}, {"bf16", "bf16", true}, {"u8", "f8e4m3fn", true}, {"u8", "i1", true},
		{"i1", "i1", true}, {"bool", "i1", true}, {"u8", "f4e2m1fn", true}, {"u64", "ptr<f32>", true},
		{"i64", "i32", false}, {"i16", "i32", false}, {"f64", "f32", false}, {"i32", "f32", false}, {"f32", "i32", false}, {"f16", "bf16", false}, {"u16", "f16", false},
		{"i8", "f8e4m3fn", false}, {"f32", "ptr<f32>", false}, {"f8e5m2", "f8e4m3fn", false},
	} {
		d, err := DTypeByName(c.array)
		if err != nil {
			t.Fatal(err)
		}
		if d.Stores(c.elem) != c.fits {
			t.Errorf("an array of %s for a pointer to %s: want %v", c.array, c.elem, c.fits)
		}
	}
}
