package tilerun_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
)

// axpyText stores x * k + y, negated if %neg, over arrays of %n elements.
const axpyText = `cuda_tile.module @m { entry @axpy(%x: tile<ptr<f32>>, %n: tile<i32>, %k: tile<f32>, %neg: tile<i1>, %y: tile<ptr<f32>>) {
  %i, %j, %l = get_tile_block_id : tile<i32>
  %vx = make_tensor_view %x, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %vy = make_tensor_view %y, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %px = make_partition_view %vx : partition_view<tile=(4), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %py = make_partition_view %vy : partition_view<tile=(4), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %a, %t1 = load_view_tko weak %px[%i] : partition_view<tile=(4), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<4xf32>, token
  %b, %t2 = load_view_tko weak %py[%i] : partition_view<tile=(4), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<4xf32>, token
  %ks = reshape %k : tile<f32> -> tile<1xf32>
  %kb = broadcast %ks : tile<1xf32> -> tile<4xf32>
  %p = mulf %a, %kb : tile<4xf32>
  %s = addf %p, %b : tile<4xf32>
  %m = negf %s : tile<4xf32>
  %ns = reshape %neg : tile<i1> -> tile<1xi1>
  %nb = broadcast %ns : tile<1xi1> -> tile<4xi1>
  %r = select %nb, %m, %s : tile<4xi1>, tile<4xf32>
  %t3 = store_view_tko weak %r, %py[%i] token = %t2 : tile<4xf32>, partition_view<tile=(4), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
} }`

func run(args ...string) (int, string) {
	var out bytes.Buffer
	code := tilerun.Run(args, nil, &out, &out)
	return code, out.String()
}

// A kernel runs on arrays and scalars of the command line on both machines, and what it stores is written.
func TestOwnKernel(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put := func(name string, data []byte) string {
		if err := os.WriteFile(at(name), data, 0o644); err != nil {
			t.Fatal(err)
		}
		return at(name)
	}
	floats := func(values ...float32) (b []byte) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		return b
	}
	kernel := put("axpy.tileir", []byte(axpyText))
	x := put("x.npy", cases.WriteNpy(&cases.Array{Descr: "<f4", Shape: []int{2, 3}, Data: floats(1, 2, 3, 4, 5, 6)}))
	y := put("y.npy", cases.WriteNpy(&cases.Array{Descr: "<f4", Shape: []int{6}, Data: floats(10, 20, 30, 40, 50, 60)}))
	inf := float32(math.Inf(1))
	for _, on := range []string{"interp", "emu"} {
		for _, c := range []struct {
			k, neg, y string
			want      []float32
		}{
			{"f32:0.5", "i1:false", y, []float32{10.5, 21, 31.5, 42, 52.5, 63}},
			{"f32:2", "i1:1", "f32[6]", []float32{-2, -4, -6, -8, -10, -12}},
			{"f32:inf", "bool:0", y, []float32{inf, inf, inf, inf, inf, inf}},
		} {
			code, out := run("--on", on, "--grid", "2,1,1", "-j", "1", kernel, "--arg", x, "--arg", "i32:6", "--arg", c.k, "--arg", c.neg, "--arg", c.y, "--out", at("z.npy"), "--out", "0:"+at("w.npy"))
			if code != 0 || out != "" {
				t.Errorf("%s %v: exit code %d: %s", on, c, code, out)
				continue
			}
			got, _ := os.ReadFile(at("z.npy"))
			if want := cases.WriteNpy(&cases.Array{Descr: "<f4", Shape: []int{6}, Data: floats(c.want...)}); !bytes.Equal(got, want) {
				t.Errorf("%s %v: wrong output", on, c)
			}
			if before, _ := os.ReadFile(x); !bytes.Equal(before, must(os.ReadFile(at("w.npy")))) {
				t.Errorf("%s: parameter 0 is not what it was, in shape or values", on)
			}
		}
	}
	good := []string{"--grid", "2", kernel, "--arg", x, "--arg", "i32:6", "--arg", "f32:1", "--arg", "i1:0", "--arg", y}
	for want, change := range map[string][]string{ // the argument that is replaced, and by what
		`"0" is no number from 1 to 16777215`:                {"2", "0"},
		"has more than three extents":                        {"2", "1,1,1,1"},
		"the parameter has type i32, not f32":                {"i32:6", "f32:6"},
		`"six" is no i32`:                                    {"i32:6", "i32:six"},
		"the parameter is of type i32: give a scalar":        {"i32:6", x},
		"the parameter is of type ptr<f32>: give an array":   {x, "f32:1"},
		`unknown dtype "f33"`:                                {y, "f33[6]"},
		`"2" is no truth value`:                              {"i1:0", "i1:2"},
		"no such file":                                       {y, at("none.npy")},
		"not a .npy file":                                    {y, kernel},
		"unable to read input file":                          {kernel, at("none.tileir")},
		"axpy.tileir has no kernel sub, but axpy":            {"--grid", "--kernel=sub"},
		"got 4 --arg: axpy(ptr<f32>, i32, f32, i1, ptr<f32>": {"--arg", "--notes"},
	} {
		args := append([]string(nil), good...)
		for i := range args {
			if args[i] != change[0] {
				continue
			}
			if change[0] == "--arg" { // one less
				args = append(args[:i:i], args[i+2:]...)
			} else if change[0] == "--grid" {
				args = append([]string{change[1]}, args...)
			} else {
				args[i] = change[1]
			}
			break
		}
		if code, out := run(args...); code != 1 || !strings.Contains(out, want) || !strings.HasPrefix(out, "error: ") {
			t.Errorf("%q: exit code %d: %s", want, code, out)
		}
	}
	// A table of arguments that cannot be meant: the error begins with the argument. Parameters are x, n, k, neg and y.
	put("wide.npy", cases.WriteNpy(&cases.Array{Descr: "<f8", Shape: []int{1}, Data: make([]byte, 8)}))
	put("pairs.npy", cases.WriteNpy(&cases.Array{Descr: "<c8", Shape: []int{1}, Data: make([]byte, 8)}))
	put("a,b.npy", must(os.ReadFile(x)))
	for _, c := range []struct {
		param     int
		arg, want string
	}{
		{0, at("wide.npy"), "the parameter is of type ptr<f32>, the elements of the array are f64"},
		{0, at("pairs.npy"), "elements of type <c8 are not known here"},
		{0, at("a,b.npy"), ""},
		{0, "i32[6]", "the parameter is of type ptr<f32>, the elements of the array are i32"},
		{0, "f32[4294967296x4294967296]", "an array has 17179869184 bytes at most"},
		{0, "f32[3,2]", "no such file or directory; an argument is FILE.npy, TYPE[SHAPE] such as f32[10x20], TYPE:VALUE such as i32:64, or the bytes of a struct"},
		{0, "F32[6]", "no such file or directory; an argument is"},
		{0, "", "no such file or directory; an argument is"},
		{0, dir, "is a directory; an argument is"},
		{1, "6", "the parameter is of type i32: give a scalar, i32:VALUE"},
		{1, "i32[6]", "the parameter is of type i32: give a scalar, i32:VALUE"},
		{1, "i32:", `"" is no i32`},
		{1, "i32:6.5", `"6.5" is no i32`},
		{1, "i32:2147483648", "2147483648 is beyond i32, which has 32 bits"},
		{1, "u32:4294967296", "4294967296 is beyond u32, which has 32 bits"},
		{1, "i64:6", "the parameter has type i32, not i64"},
		{2, "f32:1e400", "1e400 is beyond f32, which has numbers from -3.40282e+38 to 3.40282e+38"},
		{2, "f32:-1e39", "-1e39 is beyond f32"},
		{2, "f32: 1", `" 1" is no f32`},
		{2, "f31:1", `unknown dtype "f31"; there are bool i1`},
		{3, "i1:-1", `"-1" is no truth value`},
	} {
		args := append([]string(nil), good...)
		args[4+2*c.param] = c.arg
		code, out := run(args...)
		if want := fmt.Sprintf("error: --arg %s (parameter %d): %s", c.arg, c.param, c.want); c.want != "" && (code != 1 || !strings.HasPrefix(out, want)) || c.want == "" && code != 0 {
			t.Errorf("%q: exit code %d: %s", c.arg, code, out)
		}
	}
	for flags, want := range map[string]string{
		"--shared -5":       "tilerun: for the --shared option: '-5' value invalid for uint argument!",
		"--jobs=-1":         "tilerun: for the --jobs option: '-1' value invalid for uint argument!",
		"--shared 64":       "error: --shared is of PTX: the compiler decides it for Tile IR",
		"--block 128":       "error: --block is of PTX",
		"--launch l.json":   "error: --launch says the grid and the arguments: leave out --grid, --arg and --out",
		"--runs 3":          "error: --runs times launches on a GPU: add --on gpu",
		"--out -1:z.npy":    "error: --out -1:z.npy: parameter -1 is no array",
		"--out 1:z.npy":     "error: --out 1:z.npy: parameter 1 is no array",
		"--grid 1,16777216": `error: --grid: "16777216" is no number from 1 to 16777215`,
		"--jobs=a":          "tilerun: for the --jobs option: 'a' value invalid for uint argument!",
	} {
		if code, out := run(append(good, strings.Fields(flags)...)...); code != 1 || !strings.HasPrefix(out, want) {
			t.Errorf("%s: exit code %d: %s", flags, code, out)
		}
	}
	// Standard output is one array's: what the kernel would print goes to standard error then.
	var stdout, stderr bytes.Buffer
	if code := tilerun.Run(append(good, "--stats", "--out", "-"), nil, &stdout, &stderr); code != 0 || !bytes.HasPrefix(stdout.Bytes(), []byte("\x93NUMPY")) || stderr.Len() == 0 {
		t.Errorf("an array on standard output: exit code %d: %q, %s", code, stdout.Bytes(), &stderr)
	}
	// A fault is told with its place, and nothing is written.
	os.Remove(at("z.npy"))
	for _, on := range []string{"interp", "emu"} {
		code, out := run("--on", on, "--grid", "2", kernel, "--arg", x, "--arg", "i32:60", "--arg", "f32:1", "--arg", "i1:0", "--arg", y, "--out", at("z.npy"))
		if code != 1 || !strings.Contains(out, "out of bounds") || !strings.HasPrefix(out, "error: "+kernel+":7:") {
			t.Errorf("%s: beyond the array: exit code %d: %s", on, code, out)
		}
	}
	if _, err := os.Stat(at("z.npy")); err == nil {
		t.Error("the output of a launch that failed was written")
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// A flag whose value is a file reads or writes it.
func TestFlagsOfFilesSaySo(t *testing.T) {
	for _, f := range tilerun.Command.Flags {
		if f.Meta == "file" && f.Reads == nil && f.Writes == nil {
			t.Errorf("--%s reads or writes a file: its row must say which", f.Name)
		}
	}
}

// A case that cannot be meant is refused in words.
func TestBadCases(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("k.tileir", `cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %n: tile<i32>, %b: tile<i1>) {
  if %b { %t = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token }
  return
} }`)
	put("y.expect.npy", string(cases.WriteNpy(&cases.Array{Descr: "<i4", Shape: []int{1, 2}, Data: []byte{7, 0, 0, 0, 0, 0, 0, 0}})))
	const good = `{"name": "k", "bytecode": "k.tileir", "kernel": "k", "grid": [1, 1, 1], "buffers": {"y": {"dtype": "i32", "shape": [1, 2], "init": {"kind": "zeros"}}},
 "params": [{"buffer": "y"}, {"i32": 7}, {"i1": 1}], "expect": {"y": {"file": "y.expect.npy", "rtol": 0, "atol": 0}}}`
	for _, on := range []string{"interp", "emu"} {
		if code, out := run("--on", on, put("case.json", good)); code != 0 {
			t.Errorf("%s: exit code %d: %s", on, code, out)
		}
		beyond := put("case.json", strings.Replace(good, `"buffer": "y"}, {`, `"buffer": "y", "offset_bytes": 8}, {`, 1))
		if code, out := run("--on", on, beyond); code != 1 || !strings.HasPrefix(out, "FAIL k: "+filepath.Join(dir, "k.tileir")+":2:") {
			t.Errorf("%s: the place of a fault: exit code %d: %s", on, code, out)
		}
	}
	for want, change := range map[string][2]string{
		"grid [0 1 1]: each extent is 1 or more":                              {"[1, 1, 1]", "[0, 1, 1]"},
		`the case has no "name"`:                                              {`"name": "k", `, ""},
		`the case has no "kernel"`:                                            {`"kernel": "k", `, ""},
		`there is no kernel "q"; there are ["k"]`:                             {`"kernel": "k"`, `"kernel": "q"`},
		"parameter 1 of kernel k is of type i32, the launch gives a f32":      {`{"i32": 7}`, `{"f32": 7}`},
		"parameter 0 of kernel k is of type ptr<i32>, the launch gives a i32": {`{"buffer": "y"}`, `{"i32": 7}`},
		"kernel k has 3 parameters, the launch gives 2":                       {`, {"i1": 1}`, ""},
		"y[0, 0] (element 0): got 6, want 7":                                  {`{"i32": 7}`, `{"i32": 6}`},
	} {
		if code, out := run(put("case.json", strings.Replace(good, change[0], change[1], 1))); code != 1 || !strings.Contains(out, want) {
			t.Errorf("%q: exit code %d: %s", want, code, out)
		}
	}
}

// The first block fails if it is not among the first four to run: of eight, in reverse order it is not, so the launch fails, though in others it does not.
func TestEveryScheduleCounts(t *testing.T) {
	kernel := filepath.Join(t.TempDir(), "k.tileir")
	text := `cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %r, %t = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %zero = constant <i32: 0> : tile<i32>
  %other = cmpi not_equal %x, %zero, signed : tile<i32> -> tile<i1>
  %early = cmpi less_than %r, %four, signed : tile<i32> -> tile<i1>
  %ok = ori %other, %early : tile<i1>
  assert %ok, "block 0 is not among the first" : tile<i1>
  return
} }`
	if err := os.WriteFile(kernel, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for schedule, want := range map[string]int{"reverse": 1, "round-robin": 0, "random": 0, "all": 1} {
		if code, out := run(kernel, "--on", "emu", "--grid", "8", "--arg", "i32[1]", "--schedule", schedule); code != want {
			t.Errorf("--schedule %s: code %d, want %d: %s", schedule, code, want, out)
		}
	}
}
