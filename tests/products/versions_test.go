package products_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"tileiras/internal/driver"
	"tileiras/ir/float"
	"tileiras/runtime/emu"
)

// anywhereKernel multiplies arrays of which nothing is promised.
const anywhereKernel = "../lit/Inputs/gemm_anywhere.tileir"

// places are where the arrays begin, in bytes after a multiple of 256, and the distances between rows and between elements of a row. Only where all of them
// are multiples of 16 bytes, and elements of a row lie side by side, the loop may copy.
var places = []struct {
	a, b     int
	row, one int
	copies   bool
}{
	{0, 0, 104, 1, true}, {16, 64, 112, 1, true}, {2, 0, 104, 1, false}, {0, 8, 104, 1, false}, {0, 0, 101, 1, false}, {0, 0, 100, 1, false},
	{0, 0, 208, 2, false}, {0, 0, 1, 104, false},
}

// TestVersionsOfALoop runs the kernel in the emulator, under every schedule and with all checks on, a misaligned access among them. What must come out is computed
// here, in integers; the elements between those of the arrays are NaN.
func TestVersionsOfALoop(t *testing.T) {
	text, err := os.ReadFile(anywhereKernel)
	if err != nil {
		t.Fatal(err)
	}
	for _, gpu := range []string{"sm_75", "sm_80", "sm_120"} {
		res, err := driver.Compile(t.Context(), anywhereKernel, text, driver.Options{GPU: gpu, Code: driver.Code{Opt: 3}, Emit: driver.EmitPTX})
		if err != nil {
			t.Fatal(err)
		}
		ptx := string(res.Output)
		m, err := emu.Parse("kernel.ptx", ptx)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range places {
			for k, n := range [][2]int{{100, 64}, {97, 33}, {0, 64}, {32, 64}, {64, 7}} {
				name := fmt.Sprintf("%s place %d extents %v", gpu, i, n)
				r := rand.New(rand.NewPCG(uint64(i), uint64(k)))
				mem := emu.NewMemory()
				at := func(i, j int) int { return i*p.row + j*p.one }
				array := func(name string, f *float.Format, offset, rows, columns int) (addr uint64, numbers [][]int64) {
					size := f.Bits() / 8
					data := make([]byte, offset+size*(at(max(rows-1, 0), max(columns-1, 0))+1))
					for x := offset; x < len(data); x += size {
						put(data[x:], f, f.NaN())
					}
					for i := range rows {
						numbers = append(numbers, make([]int64, columns))
						for j := range columns {
							numbers[i][j] = r.Int64N(9) - 4
							put(data[offset+size*at(i, j):], f, f.Encode(float64(numbers[i][j]), float.NearestEven))
						}
					}
					return mem.Alloc(name, data, 256) + uint64(offset), numbers
				}
				a, left := array("a", float.F16, p.a, 64, n[0])
				b, right := array("b", float.F16, p.b, n[0], n[1])
				c, _ := array("c", float.F32, 0, 64, n[1])
				var args []emu.Arg
				for _, x := range []uint64{a, b, c} {
					args = append(args, binary.LittleEndian.AppendUint64(nil, x))
				}
				for _, x := range []int{n[0], n[1], p.row, p.one} {
					args = append(args, binary.LittleEndian.AppendUint32(nil, uint32(x)))
				}
				out, err := m.Run(t.Context(), "gemm", mem, args, emu.Options{Grid: [3]int{1, 1, 1}, DynShared: dynamicBytes(ptx), Schedule: emu.Schedules[k%len(emu.Schedules)], Stats: true})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				copied := int64(0)
				for op, n := range out.Stats.PerOpcode { // a sum: the order cannot matter
					if strings.HasPrefix(op, "cp.async.c") && !strings.Contains(op, "commit") {
						copied += n
					}
				}
				if want := p.copies && gpu != "sm_75" && n[0] > 0; (copied > 0) != want {
					t.Errorf("%s: %d copies, wanted are some: %v", name, copied, want)
				}
				data := mem.Bytes(c)
				for i := range 64 {
					for j := range n[1] {
						sum := int64(0)
						for k := range n[0] {
							sum += left[i][k] * right[k][j]
						}
						got := float.F32.Decode(uint64(binary.LittleEndian.Uint32(data[4*at(i, j):])))
						if got != float64(sum) {
							t.Fatalf("%s: C[%d, %d] is %g, want %d", name, i, j, got, sum)
						}
					}
				}
			}
		}
	}
}

func put(data []byte, f *float.Format, bits uint64) {
	if f.Bits() == 16 {
		binary.LittleEndian.PutUint16(data, uint16(bits))
	} else {
		binary.LittleEndian.PutUint32(data, uint32(bits))
	}
}

// dynamicBytes is the dynamic shared memory that the head of our PTX asks for.
func dynamicBytes(ptx string) (n int) {
	_, rest, _ := strings.Cut(ptx, "//   shared   ")
	if _, after, both := strings.Cut(strings.SplitN(rest, "\n", 2)[0], "static, "); both {
		rest = after
	}
	fmt.Sscanf(rest, "%d bytes dynamic", &n)
	return n
}
