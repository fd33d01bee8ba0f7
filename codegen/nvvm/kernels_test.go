package nvvm_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"tileiras/ir/float"
)

func floats(vals ...float32) []byte {
	var b []byte
	for _, v := range vals {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func floatAt(b []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
}

func wordAt(b []byte, i int) int32 { return int32(binary.LittleEndian.Uint32(b[4*i:])) }

func words(vals ...int32) []byte {
	var b []byte
	for _, v := range vals {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func count(n int, f func(i int) float32) []byte {
	v := make([]float32, n)
	for i := range v {
		v[i] = f(i)
	}
	return floats(v...)
}

// A block of an array is loaded with padding outside and stored without what lies outside; the index counts tiles.
func TestTiledLoadAndStoreMaskTheEdges(t *testing.T) {
	for name, attrs := range map[string]string{"64-bit offsets": "", "32-bit offsets": "narrow, "} {
		for _, vec := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s vec %d", name, vec), func(t *testing.T) {
				const rows, cols, ld, tm, tn = 13, 40, 44, 8, 32
				text := fmt.Sprintf(`
#L = #tileaa.layout<{reg=[[0,1],[0,2],[4,0]], lane=[[0,4],[0,8],[0,16],[1,0],[2,0]]} : 8x32>
tileaa.module @m {
  entry @k attributes {plan = #tileaa.plan<warps = 1>} (%%in: tile<ptr<f32>>, %%out: tile<ptr<f32>>, %%m: tile<i32>, %%n: tile<i32>, %%ld: tile<i64>) {
    %%x = program_id {axis = 0} : tile<i32>
    %%c2 = constant <i32: 2> : tile<i32>
    %%i = divi %%x, %%c2 : tile<i32>
    %%j = remi %%x, %%c2 : tile<i32>
    %%a = make_memref %%in, shape(%%m, %%n), strides(%%ld) : (tile<ptr<f32>>, tile<i32>, tile<i32>, tile<i64>) -> memref<?x?xf32, strides=[?,1]>
    %%b = block_tile %%a, indices(%%i, %%j) {traversal = [8, 32], dim_map = [0, 1], padding = neg_inf} : (memref<?x?xf32, strides=[?,1]>, tile<i32>, tile<i32>) -> block<8x32xf32>
    %%v, %%t = tiled_load %%b {%[1]svec = %[2]d, fast = 1, masked = [true, true]} : (block<8x32xf32>) -> (tile<8x32xf32, #L>, token)
    %%d = make_memref %%out, shape(%%m, %%n), strides(%%ld) : (tile<ptr<f32>>, tile<i32>, tile<i32>, tile<i64>) -> memref<?x?xf32, strides=[?,1]>
    %%e = block_tile %%d, indices(%%i, %%j) {traversal = [8, 32], dim_map = [0, 1]} : (memref<?x?xf32, strides=[?,1]>, tile<i32>, tile<i32>) -> block<8x32xf32>
    %%w = addf %%v, %%v : tile<8x32xf32, #L>
    %%u = tiled_store %%w, %%e {%[1]svec = %[2]d, fast = 1, masked = [true, true]} : (tile<8x32xf32, #L>, block<8x32xf32>) -> token
    %%inf = constant <f32: 0xFF800000> : tile<8x32xf32, #L>
    %%p = cmpf %%v, %%inf {predicate = equal} : (tile<8x32xf32, #L>, tile<8x32xf32, #L>) -> tile<8x32xi1, #L>
    return
  }
}`, attrs, vec)
				in := count(rows*ld, func(i int) float32 { return float32(i) })
				out, _ := launch(t, "sm_80", text, 4, in, make([]byte, len(in)), int32(rows), int32(cols), int64(ld))
				for i := range rows * ld {
					want := float32(0)
					if i%ld < cols {
						want = 2 * float32(i)
					}
					if got := floatAt(out[1], i); got != want {
						t.Fatalf("row %d column %d is %v, want %v", i/ld, i%ld, got, want)
					}
				}
			})
		}
	}
}

// Elements outside the array are the padding, of each kind.
func TestPadding(t *testing.T) {
	for padding, want := range map[string]uint16{"zero": 0, "neg_zero": 0x8000, "nan": 0x7FC0, "pos_inf": 0x7F80, "neg_inf": 0xFF80} {
		text := fmt.Sprintf(`
#L = #tileaa.layout<{reg=[[1],[2],[4]], lane=[[8],[16],[32],[64],[128]]} : 256>
tileaa.module @m {
  entry @k attributes {plan = #tileaa.plan<warps = 1>} (%%in: tile<ptr<bf16>>, %%out: tile<ptr<bf16>>) {
    %%z = constant <i32: 0> : tile<i32>
    %%a = make_memref %%in : (tile<ptr<bf16>>) -> memref<88xbf16, strides=[1]>
    %%b = block_tile %%a, indices(%%z) {traversal = [256], dim_map = [0], padding = %s} : (memref<88xbf16, strides=[1]>, tile<i32>) -> block<256xbf16>
    %%v, %%t = tiled_load %%b {vec = 8, fast = 0, masked = [true]} : (block<256xbf16>) -> (tile<256xbf16, #L>, token)
    %%d = make_memref %%out : (tile<ptr<bf16>>) -> memref<256xbf16, strides=[1]>
    %%e = block_tile %%d, indices(%%z) {traversal = [256], dim_map = [0]} : (memref<256xbf16, strides=[1]>, tile<i32>) -> block<256xbf16>
    %%u = tiled_store %%v, %%e {vec = 8, fast = 0, masked = [false]} : (tile<256xbf16, #L>, block<256xbf16>) -> token
    return
  }
}`, padding)
		in := make([]byte, 2*88)
		for i := range in {
			in[i] = byte(i)
		}
		out, _ := launch(t, "sm_90", text, 1, in, make([]byte, 512))
		for i := range 256 {
			w := want
			if i < 88 {
				w = binary.LittleEndian.Uint16(in[2*i:])
			}
			if got := binary.LittleEndian.Uint16(out[1][2*i:]); got != w {
				t.Errorf("%s: element %d is %#x, want %#x", padding, i, got, w)
			}
		}
	}
}

// Loops carry tiles of every width in registers; the trip count does not wrap at the end of the range.
func TestLoops(t *testing.T) {
	const text = `
#L = #tileaa.layout<{reg=[[1],[2]], lane=[[4],[8],[16],[32],[64]]} : 128>
tileaa.module @m {
  entry @k attributes {plan = #tileaa.plan<warps = 1>} (%out: tile<ptr<i32>>, %lo: tile<i32>, %hi: tile<i32>, %by: tile<i32>) {
    %z = constant <i32: 0> : tile<128xi32, #L>
    %h = constant <f16: 0.000000e+00> : tile<128xf16, #L>
    %one = constant <f16: 1.000000e+00> : tile<128xf16, #L>
    %i = iota : tile<128xi32, #L>
    %n, %f = for %lo, %hi, %by, inits(%z, %h) : (tile<i32>, tile<i32>, tile<i32>, tile<128xi32, #L>, tile<128xf16, #L>) -> (tile<128xi32, #L>, tile<128xf16, #L>) (%iv: tile<i32>, %a: tile<128xi32, #L>, %g: tile<128xf16, #L>) {
      %s = addi %a, %i : tile<128xi32, #L>
      %g2 = addf %g, %one : tile<128xf16, #L>
      %lim = constant <i32: 100> : tile<i32>
      %c = cmpi %iv, %lim {predicate = equal} : (tile<i32>, tile<i32>) -> tile<i1>
      if %c : (tile<i1>) {
        continue %a, %g : (tile<128xi32, #L>, tile<128xf16, #L>)
      }
      continue %s, %g2 : (tile<128xi32, #L>, tile<128xf16, #L>)
    }
    %fi = ftoi %f : (tile<128xf16, #L>) -> tile<128xi32, #L>
    %k = constant <i32: 1000> : tile<128xi32, #L>
    %r1 = muli %fi, %k : tile<128xi32, #L>
    %r = addi %r1, %n : tile<128xi32, #L>
    %p = splat %out : (tile<ptr<i32>>) -> tile<128xptr<i32>, #L>
    %q = offset %p, %i : (tile<128xptr<i32>, #L>, tile<128xi32, #L>) -> tile<128xptr<i32>, #L>
    %t = store %q, %r {vec = 4, fast = 0} : (tile<128xptr<i32>, #L>, tile<128xi32, #L>) -> token
    return
  }
}`
	for _, c := range []struct{ lo, hi, by, trips int32 }{
		{0, 5, 1, 5}, {3, 3, 1, 0}, {5, 0, 1, 0}, {98, 103, 1, 4}, {0, 10, 3, 4}, {math.MaxInt32 - 5, math.MaxInt32, 3, 2}, {math.MinInt32, math.MinInt32 + 7, 5, 2},
	} {
		out, _ := launch(t, "sm_80", text, 1, make([]byte, 512), c.lo, c.hi, c.by)
		for i := range int32(128) {
			if got, want := wordAt(out[0], int(i)), c.trips*1000+c.trips*i; got != want {
				t.Fatalf("%+v: element %d is %d, want %d", c, i, got, want)
			}
		}
	}
}

// loop with break and values of other types than it carries; return inside an if; if with results.
func TestBreakReturnAndIf(t *testing.T) {
	const text = `
tileaa.module @m {
  entry @k attributes {plan = #tileaa.plan<warps = 1>} (%out: tile<ptr<i32>>, %n: tile<i32>) {
    %z = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %pid = program_id {axis = 0} : tile<i32>
    %early = cmpi %pid, %one {predicate = equal} : (tile<i32>, tile<i32>) -> tile<i1>
    if %early : (tile<i1>) {
      return
    }
    %r, %b = loop %z, %one : (tile<i32>, tile<i32>) -> (tile<i32>, tile<i1>) (%i: tile<i32>, %x: tile<i32>) {
      %stop = cmpi %i, %n {predicate = greater_than_or_equal} : (tile<i32>, tile<i32>) -> tile<i1>
      if %stop : (tile<i1>) {
        break %x, %stop : (tile<i32>, tile<i1>)
      }
      %j = addi %i, %one : tile<i32>
      %y = addi %x, %x : tile<i32>
      continue %j, %y : (tile<i32>, tile<i32>)
    }
    %v = if %b : (tile<i1>) -> tile<i32> {
      %w = addi %r, %pid : tile<i32>
      yield %w : (tile<i32>)
    } else {
      yield %z : (tile<i32>)
    }
    %q = offset %out, %pid : (tile<ptr<i32>>, tile<i32>) -> tile<ptr<i32>>
    %t = store %q, %v : (tile<ptr<i32>>, tile<i32>) -> token
    return
  }
}`
	out, _ := launch(t, "sm_80", text, 3, words(-1, -1, -1), int32(7))
	for i, want := range []int32{128, -1, 130} {
		if got := wordAt(out[0], i); got != want {
			t.Errorf("block %d wrote %d, want %d", i, got, want)
		}
	}
}

// reduction and scan kernels over a 8x32 tile in one warp; %x is loaded row-major, the body makes %r of shape S.
func rowKernel(layout, result, resultLayout, body string, elem string) string {
	return strings.NewReplacer("LAYOUT", layout, "RESULT", result, "RL", resultLayout, "BODY", body, "ELEM", elem, "STRIDES", map[bool]string{true: "[1]", false: "[32,1]"}[!strings.Contains(result, "x")],
		"INDICES", map[bool]string{true: "%z", false: "%z, %z"}[!strings.Contains(result, "x")],
		"INDEXTYPES", map[bool]string{true: "tile<i32>", false: "tile<i32>, tile<i32>"}[!strings.Contains(result, "x")],
		"TRAV", map[bool]string{true: "[1]", false: "[1, 1]"}[!strings.Contains(result, "x")],
		"MAP", map[bool]string{true: "[0]", false: "[0, 1]"}[!strings.Contains(result, "x")],
		"NOMASK", map[bool]string{true: "[false]", false: "[false, false]"}[!strings.Contains(result, "x")],
	).Replace(`
#L = #tileaa.layout<LAYOUT>
#R = #tileaa.layout<RL>
tileaa.module @m {
  entry @k attributes {plan = #tileaa.plan<warps = 2>} (%in: tile<ptr<ELEM>>, %out: tile<ptr<ELEM>>) {
    %z = constant <i32: 0> : tile<i32>
    %a = make_memref %in : (tile<ptr<ELEM>>) -> memref<16x32xELEM, strides=[32,1]>
    %b = block_tile %a, indices(%z, %z) {traversal = [16, 32], dim_map = [0, 1]} : (memref<16x32xELEM, strides=[32,1]>, tile<i32>, tile<i32>) -> block<16x32xELEM>
    %x, %t = tiled_load %b {vec = 1, fast = 1, masked = [false, false]} : (block<16x32xELEM>) -> (tile<16x32xELEM, #L>, token)
    BODY
    %d = make_memref %out : (tile<ptr<ELEM>>) -> memref<RESULTxELEM, strides=STRIDES>
    %e = block_tile %d, indices(INDICES) {traversal = TRAV, dim_map = MAP} : (memref<RESULTxELEM, strides=STRIDES>, INDEXTYPES) -> block<RESULTxELEM>
    %u = tiled_store %r, %e {vec = 1, fast = 0, masked = NOMASK} : (tile<RESULTxELEM, #R>, block<RESULTxELEM>) -> token
    return
  }
}`)
}

const rowLayout = "{reg=[[0,1],[0,2],[4,0]], lane=[[0,4],[0,8],[0,16],[1,0],[2,0]], warp=[[8,0]]} : 16x32"

func ints16x32() []byte {
	var v []int32
	for i := range int32(512) {
		v = append(v, (i*7919)%1000-500)
	}
	return words(v...)
}

// A commutative reduction, one that is associative only (the element with the largest index), in both dimensions and both lane orders.
func TestReduce(t *testing.T) {
	combine := map[string]string{
		"sum": "%s = addi %p, %q : tile<i32>\n yield %s : (tile<i32>)",
		"max": "%s = maxi %p, %q : tile<i32>\n yield %s : (tile<i32>)",
	}
	for name, region := range combine {
		text := rowKernel(rowLayout, "16", "{reg=[[4]], lane=[[0],[0],[0],[1],[2]], warp=[[8]]} : 16",
			"%r = reduce %x attributes {dim = 1, identities = [0 : i32]} : (tile<16x32xi32, #L>) -> tile<16xi32, #R> (%p: tile<i32>, %q: tile<i32>) {\n"+region+"\n}", "i32")
		in := ints16x32()
		out, _ := launch(t, "sm_80", text, 1, in, make([]byte, 64))
		for r := range 16 {
			want := wordAt(in, 32*r)
			for c := 1; c < 32; c++ {
				if name == "sum" {
					want += wordAt(in, 32*r+c)
				} else {
					want = max(want, wordAt(in, 32*r+c))
				}
			}
			if got := wordAt(out[1], r); got != want {
				t.Errorf("%s of row %d is %d, want %d", name, r, got, want)
			}
		}
	}
}

// Two operands reduce together: the largest value and its place; the smaller place wins among equals.
func TestReduceOfPairs(t *testing.T) {
	text := rowKernel(rowLayout, "16", "{reg=[[4]], lane=[[0],[0],[0],[1],[2]], warp=[[8]]} : 16", `
    %li = iota : tile<32xi32, #tileaa.layout<{reg=[[1],[2]], lane=[[4],[8],[16],[0],[0]], warp=[[0]]} : 32>>
    %l2 = reshape %li : (tile<32xi32, #tileaa.layout<{reg=[[1],[2]], lane=[[4],[8],[16],[0],[0]], warp=[[0]]} : 32>>) -> tile<1x32xi32, #tileaa.layout<{reg=[[0,1],[0,2]], lane=[[0,4],[0,8],[0,16],[0,0],[0,0]], warp=[[0,0]]} : 1x32>>
    %l3 = broadcast %l2 : (tile<1x32xi32, #tileaa.layout<{reg=[[0,1],[0,2]], lane=[[0,4],[0,8],[0,16],[0,0],[0,0]], warp=[[0,0]]} : 1x32>>) -> tile<16x32xi32, #L>
    %hundred = constant <i32: 100> : tile<16x32xi32, #L>
    %y = divi %x, %hundred : tile<16x32xi32, #L>
    %m, %r = reduce %y, %l3 attributes {dim = 1, identities = [0 : i32, 0 : i32]} : (tile<16x32xi32, #L>, tile<16x32xi32, #L>) -> (tile<16xi32, #R>, tile<16xi32, #R>) (%p: tile<i32>, %q: tile<i32>, %i: tile<i32>, %j: tile<i32>) {
      %gt = cmpi %p, %q {predicate = greater_than} : (tile<i32>, tile<i32>) -> tile<i1>
      %eq = cmpi %p, %q {predicate = equal} : (tile<i32>, tile<i32>) -> tile<i1>
      %lt = cmpi %i, %j {predicate = less_than} : (tile<i32>, tile<i32>) -> tile<i1>
      %el = andi %eq, %lt : tile<i1>
      %c = ori %gt, %el : tile<i1>
      %v = select %c, %p, %q : (tile<i1>, tile<i32>, tile<i32>) -> tile<i32>
      %w = select %c, %i, %j : (tile<i1>, tile<i32>, tile<i32>) -> tile<i32>
      yield %v, %w : (tile<i32>, tile<i32>)
    }`, "i32")
	in := ints16x32()
	out, _ := launch(t, "sm_80", text, 1, in, make([]byte, 64))
	for r := range 16 {
		best := 0
		for c := range 32 {
			if wordAt(in, 32*r+c)/100 > wordAt(in, 32*r+best)/100 {
				best = c
			}
		}
		if got := wordAt(out[1], r); got != int32(best) {
			t.Errorf("row %d: largest at %d, want %d", r, got, best)
		}
	}
}

// A reduction of f16 works on packed words until one word is left.
func TestReduceHalves(t *testing.T) {
	text := rowKernel(rowLayout, "16", "{reg=[[4]], lane=[[0],[0],[0],[1],[2]], warp=[[8]]} : 16",
		"%r = reduce %x attributes {dim = 1, identities = [0.000000e+00 : f16]} : (tile<16x32xf16, #L>) -> tile<16xf16, #R> (%p: tile<f16>, %q: tile<f16>) {\n%s = addf %p, %q : tile<f16>\n yield %s : (tile<f16>)\n}", "f16")
	in := make([]byte, 1024)
	for i := range 512 {
		binary.LittleEndian.PutUint16(in[2*i:], uint16(float.F16.Encode(float64(i%7), float.NearestEven)))
	}
	out, _ := launch(t, "sm_80", text, 1, in, make([]byte, 32))
	for r := range 16 {
		want := 0.0
		for c := range 32 {
			want += float64((32*r + c) % 7)
		}
		if got := float.F16.Decode(uint64(binary.LittleEndian.Uint16(out[1][2*r:]))); got != want {
			t.Errorf("row %d sums to %v, want %v", r, got, want)
		}
	}
	if code := lowered(t, "sm_80", text); !strings.Contains(code, "add.rn.f16x2") {
		t.Errorf("no packed additions:\n%s", code)
	}
}

// Scans run both ways over registers and lanes.
func TestScan(t *testing.T) {
	for _, reverse := range []string{"", ", reverse"} {
		text := rowKernel(rowLayout, "16x32", rowLayout,
			"%r = scan %x attributes {dim = 1, identities = [0 : i32]"+reverse+"} : (tile<16x32xi32, #L>) -> tile<16x32xi32, #L> (%p: tile<i32>, %q: tile<i32>) {\n%s = addi %p, %q : tile<i32>\n yield %s : (tile<i32>)\n}", "i32")
		in := ints16x32()
		out, _ := launch(t, "sm_80", text, 1, in, make([]byte, 2048))
		for r := range 16 {
			sum := int32(0)
			for k := range 32 {
				c := k
				if reverse != "" {
					c = 31 - k
				}
				sum += wordAt(in, 32*r+c)
				if got := wordAt(out[1], 32*r+c); got != sum {
					t.Fatalf("%s row %d column %d is %d, want %d", reverse, r, c, got, sum)
				}
			}
		}
	}
}
