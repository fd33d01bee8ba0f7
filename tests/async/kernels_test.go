package async_test

import (
	"encoding/binary"
	"math"
	"os"
	"testing"

	"tileiras/runtime/emu"
)

// The kernels of kernels/ are whole programs of the ways in which fast code works on sm_90. They run with all checks on, as our own
// PTX, and must be silent and give what plain arithmetic gives: products of small integers bit for bit.

// matrix is rows of small integers.
type matrix [][]float64

func integers(rows, cols, seed int) matrix {
	m := make(matrix, rows)
	for r := range m {
		m[r] = make([]float64, cols)
		for c := range m[r] {
			m[r][c] = float64((r*3+c*5+r*c*seed)%7 - 3)
		}
	}
	return m
}

// bf16 and f16 are the bytes of a matrix of small integers.
func (m matrix) bf16() (out []byte) {
	for _, row := range m {
		for _, v := range row {
			out = binary.LittleEndian.AppendUint16(out, bf16(v))
		}
	}
	return out
}

// bf16 rounds to nearest even.
func bf16(v float64) uint16 {
	b := math.Float32bits(float32(v))
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// f16 holds multiples of 1/4 of at most 3.
func (m matrix) f16(scale float64) (out []byte) {
	for _, row := range m {
		for _, v := range row {
			bits, x := uint16(0), v*scale
			if x != 0 {
				fr, e := math.Frexp(math.Abs(x))
				bits = uint16(e+14)<<10 | uint16((2*fr-1)*1024)
			}
			if x < 0 {
				bits |= 0x8000
			}
			out = binary.LittleEndian.AppendUint16(out, bits)
		}
	}
	return out
}

// times is m times the transpose of b.
func (m matrix) times(b matrix) matrix {
	c := make(matrix, len(m))
	for r := range m {
		c[r] = make([]float64, len(b))
		for n := range b {
			for k := range m[r] {
				c[r][n] += m[r][k] * b[n][k]
			}
		}
	}
	return c
}

// device runs a kernel of kernels/ under a schedule; buffers are given by their bytes and come back afterwards.
type device struct {
	t    *testing.T
	mem  *emu.Memory
	args []emu.Arg
	at   []uint64
}

func newDevice(t *testing.T) *device { return &device{t: t, mem: emu.NewMemory()} }

func (d *device) buffer(name string, data []byte) uint64 {
	a := d.mem.Alloc(name, data, 256)
	d.at = append(d.at, a)
	return a
}

func (d *device) pointer(name string, data []byte) {
	d.args = append(d.args, binary.LittleEndian.AppendUint64(nil, d.buffer(name, data)))
}

func (d *device) run(name string, s emu.Schedule, shared int) {
	d.t.Helper()
	text, err := os.ReadFile("kernels/" + name + ".ptx")
	if err != nil {
		d.t.Fatal(err)
	}
	m, err := emu.Parse(name+".ptx", string(text))
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := m.Run(d.t.Context(), name, d.mem, d.args, emu.Options{Schedule: s, Seed: 5, DynShared: shared})
	if err != nil {
		d.t.Fatalf("%v: %v", s, err)
	}
	if len(res.Notes) > 0 {
		d.t.Errorf("%v: %v", s, res.Notes[0].Error())
	}
}

func (d *device) f32(at uint64) (out []float64) {
	b := d.mem.Bytes(at)
	for i := 0; i < len(b); i += 4 {
		out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(b[i:]))))
	}
	return out
}

func eachSchedule(t *testing.T, f func(t *testing.T, s emu.Schedule)) {
	for _, s := range emu.Schedules {
		t.Run(s.String(), func(t *testing.T) { f(t, s) })
	}
}

func same(t *testing.T, got []float64, want matrix) {
	t.Helper()
	for i, v := range got {
		if w := want[i/64][i%64]; v != w {
			t.Fatalf("row %d column %d is %v, want %v", i/64, i%64, v, w)
		}
	}
}

func TestRingsOfCopies(t *testing.T) {
	for _, name := range []string{"wgmma_ring", "wgmma_roles"} {
		for _, k := range []int{64, 128, 192, 448} {
			t.Run(name, func(t *testing.T) {
				eachSchedule(t, func(t *testing.T, s emu.Schedule) {
					a, b := integers(64, k, 1), integers(64, k, 2)
					d := newDevice(t)
					d.pointer("a", a.bf16())
					d.pointer("b", b.bf16())
					d.pointer("c", make([]byte, 4*64*64))
					d.args = append(d.args, binary.LittleEndian.AppendUint32(nil, uint32(k)))
					d.run(name, s, 49152)
					same(t, d.f32(d.at[2]), a.times(b))
				})
			})
		}
	}
}

func TestMapInKernel(t *testing.T) {
	eachSchedule(t, func(t *testing.T, s emu.Schedule) {
		a, b := integers(64, 128, 1), integers(64, 128, 2)
		d := newDevice(t)
		d.pointer("a", a.bf16())
		d.pointer("b", b.bf16())
		d.pointer("c", make([]byte, 4*64*64))
		d.args = append(d.args, binary.LittleEndian.AppendUint32(nil, 128))
		d.args = append(d.args, binary.LittleEndian.AppendUint64(nil, d.mem.AllocUndef("scratch", 256, 256)))
		d.run("map_in_kernel", s, 16384)
		for r := 40; r < 64; r++ {
			clear(a[r])
		}
		same(t, d.f32(d.at[2]), a.times(b))
	})
}

func TestStmatrixEpilogue(t *testing.T) {
	eachSchedule(t, func(t *testing.T, s emu.Schedule) {
		a, b := integers(64, 64, 1), integers(64, 64, 2)
		d := newDevice(t)
		for _, data := range [][]byte{a.bf16(), b.bf16(), make([]byte, 2*64*64)} {
			m := emu.TensorMap{Address: d.buffer("matrix", data), Rank: 2, Dims: [5]uint32{64, 64}, Strides: [4]uint64{128},
				Box: [5]uint16{64, 64}, Steps: [5]uint8{1, 1}, Type: 10, Swizzle: 3}
			d.args = append(d.args, m.Encode())
		}
		d.run("stmatrix_epilogue", s, 16384)
		want, out := a.times(b), d.mem.Bytes(d.at[2])
		for i := range 64 * 64 {
			if got := binary.LittleEndian.Uint16(out[2*i:]); got != bf16(want[i/64][i%64]) {
				t.Fatalf("row %d column %d is %#x, want %#x", i/64, i%64, got, bf16(want[i/64][i%64]))
			}
		}
	})
}

func TestAttention(t *testing.T) {
	eachSchedule(t, func(t *testing.T, s emu.Schedule) {
		const scale = 0.25
		q, k, v := integers(64, 64, 1), integers(128, 64, 2), integers(128, 64, 3)
		d := newDevice(t)
		d.pointer("q", q.f16(scale))
		d.pointer("k", k.f16(scale))
		d.pointer("v", v.f16(scale))
		d.pointer("o", make([]byte, 4*64*64))
		d.run("attention", s, 49152)
		logits := q.times(k)
		for i, got := range d.f32(d.at[3]) {
			r, c := i/64, i%64
			top, sum, want := math.Inf(-1), 0.0, 0.0
			for _, x := range logits[r] {
				top = max(top, x)
			}
			for j, x := range logits[r] {
				e := math.Exp((x - top) * scale * scale / 8)
				sum += e
				want += e * v[j][c] * scale
			}
			if want /= sum; math.Abs(got-want) > 1e-3 {
				t.Fatalf("row %d column %d is %v, want %v", r, c, got, want)
			}
		}
	})
}
