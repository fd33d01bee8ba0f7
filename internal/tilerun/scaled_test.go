package tilerun_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tileiras/internal/driver"
	"tileiras/ir/float"
)

// scaledProduct is a product of blocks with scales: of tiles MxNxK over arrays of the given extents, in a loop along K. A is an array of rows, B one
// of columns; of f4E2M1FN two elements lie in a byte, and so do the scales of both beside them.
type scaledProduct struct {
	elem, scale string
	block       int
	tile, array [3]int // M, N, K
	batch       int    // 0: none
	aligned     bool   // the kernel is told that arrays begin at multiples of 16 bytes
	views       bool   // of f4E2M1FN, not of bytes that the kernel unpacks
}

func (p scaledProduct) String() string {
	return fmt.Sprintf("%s %s %d %v of %v, %d batches, aligned %t, views %t", p.elem, p.scale, p.block, p.tile, p.array, p.batch, p.aligned, p.views)
}

// text is the kernel: the grid is the tiles of the result.
func (p scaledProduct) text() string {
	m, n, k := p.tile[0], p.tile[1], p.tile[2]
	var b strings.Builder
	in := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	dims := func(x ...int) string {
		if p.batch > 0 {
			x = append([]int{p.batch}, x...)
		}
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(x), " ", "x"), "[]")
	}
	in("cuda_tile.module @m { entry @k(%%a: tile<ptr<%[1]s>>, %%b: tile<ptr<%[1]s>>, %%sa: tile<ptr<%[2]s>>, %%sb: tile<ptr<%[2]s>>, %%o: tile<ptr<f32>>) {", p.stored(), p.scale)
	in("%%0 = constant <i32: 0> : tile<i32>\n%%1 = constant <i32: 1> : tile<i32>\n%%steps = constant <i32: %d> : tile<i32>", (p.array[2]+k-1)/k)
	in("%%i, %%j, %%z = get_tile_block_id : tile<i32>")
	view := func(name, elem string, rows, cols, tileRows, tileCols int) (partition string) {
		shape, strides, tile := []int{rows, cols}, []int{cols, 1}, []int{tileRows, tileCols}
		if p.batch > 0 {
			shape, strides, tile = append([]int{p.batch}, shape...), append([]int{rows * cols}, strides...), append([]int{p.batch}, tile...)
		}
		list := func(x []int, by string) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(x), " ", by), "[]") }
		tensor := fmt.Sprintf("tensor_view<%sx%s, strides=[%s]>", list(shape, "x"), elem, list(strides, ","))
		partition = fmt.Sprintf("partition_view<tile=(%s), padding_value = zero, %s>", list(tile, "x"), tensor)
		base := "%" + name
		if p.aligned {
			in("%%base%[1]s = assume div_by<16>, %%%[1]s : tile<ptr<%[2]s>>", name, elem)
			base = "%base" + name
		}
		in("%%v%[1]s = make_tensor_view %[5]s, shape = [%[2]s], strides = [%[3]s] : %[4]s", name, list(shape, ", "), list(strides, ", "), tensor, base)
		in("%%p%[1]s = make_partition_view %%v%[1]s : %[2]s", name, partition)
		return partition
	}
	per := p.perByte()
	if p.views {
		per = 1
	}
	pa := view("a", p.stored(), p.array[0], p.array[2]/per, m, k/per)
	pb := view("b", p.stored(), p.array[1], p.array[2]/per, n, k/per)
	psa := view("sa", p.scale, p.array[0], p.blocks(), m, k/p.block)
	psb := view("sb", p.scale, p.array[1], p.blocks(), n, k/p.block)
	po := view("o", "f32", p.array[0], p.array[1], m, n)
	zero, turn := "", "[1, 0]"
	if p.batch > 0 {
		zero, turn = "%0, ", "[0, 2, 1]"
	}
	acc, index := "tile<"+dims(m, n)+"xf32>", "tile<i32>"
	in("%%zero = constant <f32: 0.0> : %s", acc)
	in("%%r = for %%s in (%%0 to %%steps, step %%1) : tile<i32> iter_values(%%c = %%zero) -> (%s) {", acc)
	load := func(name, partition, at, elem string, rows, cols int) {
		in("%%x%[1]s, %%token%[1]s = load_view_tko weak %%p%[1]s[%[2]s%%%[3]s, %%s] : %[4]s, %[5]s -> tile<%[6]sx%[7]s>, token", name, zero, at, partition, index, dims(rows, cols), elem)
	}
	load("a", pa, "i", p.stored(), m, k/per)
	load("b", pb, "j", p.stored(), n, k/per)
	load("sa", psa, "i", p.scale, m, k/p.block)
	load("sb", psb, "j", p.scale, n, k/p.block)
	left, right := "%xa", "%xb"
	if per == 2 {
		left, right = "%ya", "%yb"
		for i, name := range []string{"a", "b"} {
			rows := p.tile[i]
			all := max(1, p.batch) * rows * k
			in("%%f%[1]s = reshape %%x%[1]s : tile<%[2]sxi8> -> tile<%[3]dxi8>", name, dims(rows, k/2), all/2)
			in("%%u%[1]s = unpack %%f%[1]s : tile<%[2]dxi8> -> tile<%[3]dxf4E2M1FN>", name, all/2, all)
			in("%%y%[1]s = reshape %%u%[1]s : tile<%[2]dxf4E2M1FN> -> tile<%[3]sxf4E2M1FN>", name, all, dims(rows, k))
		}
	}
	in("%%tb = permute %s %s : tile<%sx%s> -> tile<%sx%s>", right, turn, dims(n, k), p.elem, dims(k, n), p.elem)
	in("%%tsb = permute %%xsb %s : tile<%sx%s> -> tile<%sx%s>", turn, dims(n, k/p.block), p.scale, dims(k/p.block, n), p.scale)
	in("%%d = mmaf_scaled %s, %%tb, %%c, %%xsa, %%tsb : tile<%sx%s>, tile<%sx%s>, %s, tile<%sx%s>, tile<%sx%s>",
		left, dims(m, k), p.elem, dims(k, n), p.elem, acc, dims(m, k/p.block), p.scale, dims(k/p.block, n), p.scale)
	in("continue %%d : %s\n}", acc)
	in("%%t = store_view_tko weak %%r, %%po[%s%%i, %%j] : %s, %s, %s -> token\nreturn\n} }", zero, acc, po, index)
	return b.String()
}

func (p scaledProduct) perByte() int {
	if p.elem == "f4E2M1FN" {
		return 2
	}
	return 1
}

// stored is the type of the elements of A and B in memory.
func (p scaledProduct) stored() string {
	if p.perByte() == 2 && !p.views {
		return "i8"
	}
	return p.elem
}

// blocks is how many scales a row has.
func (p scaledProduct) blocks() int { return (p.array[2] + p.block - 1) / p.block }

// run holds emulator, interpreter and plain arithmetic against each other. All sums are exact.
func (p scaledProduct) run(t *testing.T, gpu string) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, uint64(p.array[0]*p.array[1]+p.array[2])))
	batches, per := max(1, p.batch), p.perByte()
	choose := func(n int, format *float.Format, values ...float64) (codes []byte, v []float64) {
		for range n {
			x := values[r.IntN(len(values))]
			codes, v = append(codes, byte(format.Encode(x, float.NearestEven))), append(v, x)
		}
		return codes, v
	}
	operand := func(rows int) ([]byte, []float64) {
		codes, v := choose(batches*rows*p.array[2], float.ByName(p.elem), -3, -1, -0.5, 0, 0.5, 1, 1.5, 2)
		if per == 2 {
			packed := make([]byte, len(codes)/2)
			for i, c := range codes {
				packed[i/2] |= c << (4 * (i % 2))
			}
			codes = packed
		}
		return codes, v
	}
	scales := func(rows int) ([]byte, []float64) {
		return choose(batches*rows*p.blocks(), float.ByName(p.scale), 0.25, 0.5, 1, 2, 4)
	}
	m, n, k := p.array[0], p.array[1], p.array[2]
	a, va := operand(m)
	b, vb := operand(n)
	sa, vsa := scales(m)
	sb, vsb := scales(n)
	out := make([]byte, 4*batches*m*n)
	for i := range out {
		out[i] = 0xA5
	}
	grid := [3]int{(m + p.tile[0] - 1) / p.tile[0], (n + p.tile[1] - 1) / p.tile[1], 1}
	got := agreeOn(t, gpu, p.text(), grid, [][]byte{a, b, sa, sb, out})[4]
	for z := range batches {
		for i := range m {
			for j := range n {
				want := 0.0
				for x := range k {
					s := vsa[(z*m+i)*p.blocks()+x/p.block] * vsb[(z*n+j)*p.blocks()+x/p.block]
					want += va[(z*m+i)*k+x] * vb[(z*n+j)*k+x] * s
				}
				if g := math.Float32frombits(binary.LittleEndian.Uint32(got[4*((z*m+i)*n+j):])); float64(g) != want {
					t.Fatalf("batch %d, row %d, column %d is %v, want %v", z, i, j, g, want)
				}
			}
		}
	}
}

// Every pair of types and every block size that mmaf_scaled takes, on tiles that fill the instruction and on those that do not, whole and ragged.
func TestScaledProducts(t *testing.T) {
	types := []struct {
		elem, scale string
		block       int
		instruction string // of sm_120 and sm_121
	}{
		{"f8E4M3FN", "f8E8M0FNU", 32, "kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0"},
		{"f8E5M2", "f8E8M0FNU", 32, "kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e5m2.f32.ue8m0"},
		{"f4E2M1FN", "f8E8M0FNU", 32, "kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"},
		{"f4E2M1FN", "f8E8M0FNU", 16, "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0"},
		{"f4E2M1FN", "f8E4M3FN", 16, "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"},
	}
	shapes := []struct {
		tile, array [3]int
		batch       int
		aligned     bool
		gpus        string
	}{
		{[3]int{64, 64, 128}, [3]int{64, 64, 128}, 0, true, "sm_120 sm_121 sm_80"},
		{[3]int{64, 64, 256}, [3]int{128, 64, 1024}, 0, true, "sm_120"}, // copies run ahead
		{[3]int{64, 64, 128}, [3]int{80, 90, 480}, 0, true, "sm_120"},
		{[3]int{64, 32, 64}, [3]int{100, 50, 200}, 0, false, "sm_120 sm_100"}, // ragged in M, N and K
		{[3]int{16, 16, 256}, [3]int{16, 24, 512}, 0, true, "sm_120"},
		{[3]int{32, 16, 32}, [3]int{32, 16, 96}, 0, true, "sm_120"},      // less of K than an instruction of f4E2M1FN takes
		{[3]int{8, 32, 64}, [3]int{8, 64, 128}, 0, true, "sm_120"},       // transposed
		{[3]int{4, 8, 64}, [3]int{4, 8, 64}, 0, true, "sm_120"},          // too small for a matrix instruction
		{[3]int{32, 16, 64}, [3]int{32, 16, 192}, 2, true, "sm_120"},     // batched
		{[3]int{256, 256, 64}, [3]int{256, 256, 128}, 0, true, "sm_120"}, // too many accumulators for the registers
		{[3]int{64, 32, 4096}, [3]int{64, 32, 4096}, 0, true, "sm_120"},  // operands too big for shared memory
	}
	for _, y := range types {
		for _, s := range shapes {
			p := scaledProduct{y.elem, y.scale, y.block, s.tile, s.array, s.batch, s.aligned, false}
			for _, gpu := range strings.Fields(s.gpus) {
				p.views = p.perByte() == 2 && len(s.gpus) == len("sm_120") && s.tile[0]%32 == 0
				t.Run(gpu+" "+p.String(), func(t *testing.T) {
					res, err := driver.Compile(context.Background(), "k.tileir", []byte(p.text()), driver.Options{GPU: gpu, Code: driver.Code{Opt: 3}, Emit: driver.EmitPTX})
					if err != nil {
						t.Fatal(err)
					}
					want := y.instruction
					switch {
					case !strings.HasPrefix(gpu, "sm_12") || max(p.tile[0], p.tile[1]) < 16:
						want = ""
					case p.tile[2] < 64 && p.perByte() == 2: // as bytes, where these have such blocks
						want = map[int]string{32: types[0].instruction}[p.block]
					}
					if has := strings.Contains(string(res.Output), "block_scale"); has != (want != "") || !strings.Contains(string(res.Output), want) {
						t.Errorf("scales in the instruction: %t; not %q", has, want)
					}
					p.run(t, gpu)
				})
			}
		}
	}
}
