package nvidia_test

import (
	"encoding/binary"
	"math"
	"testing"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	"tileiras/tests/regress"
)

// expApprox takes exp rounding<approx> of 1024 floats in every tile block.
const expApprox = `cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n = constant <i32: 1024> : tile<i32>
  %first = muli %b, %n : tile<i32>
  %r = reshape %first : tile<i32> -> tile<1xi32>
  %s = broadcast %r : tile<1xi32> -> tile<1024xi32>
  %i = iota : tile<1024xi32>
  %at = addi %i, %s : tile<1024xi32>
  %pr = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %pb = broadcast %pr : tile<1xptr<f32>> -> tile<1024xptr<f32>>
  %from = offset %pb, %at : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
  %x, %t = load_ptr_tko weak %from : tile<1024xptr<f32>> -> tile<1024xf32>, token
  %e = exp %x rounding<approx> : tile<1024xf32>
  %qr = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %qb = broadcast %qr : tile<1xptr<f32>> -> tile<1024xptr<f32>>
  %to = offset %qb, %at : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
  %u = store_ptr_tko weak %to, %e : tile<1024xptr<f32>>, tile<1024xf32> -> token
  return
} }`

// TestExpApproxIsNvidiasToTheBit holds exp rounding<approx>, whose error docs/accuracy.md gives, against NVIDIA's PTX of the same text: equal
// bits at every point, so the error is no larger than theirs.
func TestExpApproxIsNvidiasToTheBit(t *testing.T) {
	tool(t, "tileiras")
	const blocks, n = 256, 256 * 1024
	points := make([]byte, 0, 4*n)
	for i := range n { // over all that is not 0 or infinity, the neighbourhood of 0 denser
		x := float32(-104 + 193*float64(i)/n)
		if i%4 == 0 {
			x = float32(math.Ldexp(x64(i), -(i/4)%40))
		}
		points = binary.LittleEndian.AppendUint32(points, math.Float32bits(x))
	}
	for _, target := range []string{"sm_80", "sm_89"} {
		theirs, err := nvidiaPTXOfText(t, &regress.Test{Case: &cases.Case{Name: "exp_approx", Bytecode: []byte(expApprox)}}, target)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := driver.Compile(t.Context(), "exp_approx", []byte(expApprox), driver.Options{GPU: target, Code: driver.Code{Opt: 3}, Emit: driver.EmitPTX})
		if err != nil {
			t.Fatal(err)
		}
		got, want := onFloats(t, string(ours.Output), points, blocks), onFloats(t, theirs, points, blocks)
		worst, differ := 0.0, 0
		for i := range n {
			g, w := binary.LittleEndian.Uint32(got[4*i:]), binary.LittleEndian.Uint32(want[4*i:])
			if g != w {
				differ++
			}
			x := float64(math.Float32frombits(binary.LittleEndian.Uint32(points[4*i:])))
			if e := math.Exp(x); e > 0x1p-126 && e < math.MaxFloat32 {
				worst = max(worst, math.Abs(float64(math.Float32frombits(g))-e)/math.Ldexp(1, math.Ilogb(e)-23))
			}
		}
		t.Logf("%s: %d points, %d differ from NVIDIA's; both are wrong by up to %.1f units in the last place", target, n, differ, worst)
		if differ > 0 {
			t.Errorf("%s: %d of %d points differ from NVIDIA's", target, differ, n)
		}
	}
}

// x64 is a number from 1 to 88, of either sign.
func x64(i int) float64 { return float64(1+i%88) * float64(1-i/4%2*2) }

// onFloats runs @k of PTX on an array and a second one of the same size, which it gives.
func onFloats(t *testing.T, ptx string, data []byte, blocks int) []byte {
	mod, err := emu.Parse("exp_approx.ptx", ptx)
	if err != nil {
		t.Fatal(err)
	}
	mem := emu.NewMemory()
	from, to := mem.Alloc("from", data, 256), mem.AllocUndef("to", len(data), 256)
	var args []emu.Arg
	for _, a := range []uint64{from, to} {
		args = append(args, binary.LittleEndian.AppendUint64(nil, a))
	}
	if _, err := mod.Run(t.Context(), "k", mem, args, emu.Options{Grid: [3]int{blocks}, Foreign: true}); err != nil {
		t.Fatal(err)
	}
	return mem.Bytes(to)
}
