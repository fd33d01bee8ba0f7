package emu

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// tensorTrip loads from a tensor of 16-bit elements 1, 2, .. to shared memory, stores that to another tensor of zeros, and gives the bytes of
// shared memory, of the first tensor and of the second.
func tensorTrip(t *testing.T, m TensorMap, bytes int, load, store string) (raw, data, back []byte) {
	t.Helper()
	out, err := tensorRun(t, m, bytes, load, store)
	if err != nil {
		t.Fatal(err)
	}
	return out[0], out[1], out[2]
}

func tensorRun(t *testing.T, m TensorMap, bytes int, load, store string) (out [3][]byte, err error) {
	t.Helper()
	src := strings.Replace(header, "sm_80", "sm_100a", 1) + `.visible .entry k(.param .u64 p, .param .align 64 .b8 a[128], .param .align 64 .b8 b[128])
{
	.reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
	.shared .align 1024 .b8 box[8192];
	.shared .align 8 .b64 bar;
	mov.b64 %rd1, a; cvta.param.u64 %rd1, %rd1; mov.b64 %rd2, b; cvta.param.u64 %rd2, %rd2; ld.param.u64 %rd3, [p];
	mov.u32 %r1, box; mov.u32 %r2, bar;
	mbarrier.init.shared::cta.b64 [%r2], 1;
	mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], ` + strconv.Itoa(bytes) + `;
	cp.async.bulk.tensor.` + load + `;
W:
	mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
	@!%p1 bra W;
	cp.async.bulk.tensor.` + store + `;
	cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r1], ` + strconv.Itoa(bytes) + `;
	cp.async.bulk.commit_group;
	cp.async.bulk.wait_group 0;
	ret;
}
`
	mod, err := Parse("t.ptx", src)
	if err != nil {
		return out, err
	}
	mem := NewMemory()
	data := make([]byte, 4096)
	for i := range 2048 {
		binary.LittleEndian.PutUint16(data[2*i:], uint16(i+1))
	}
	to := mem.Alloc("raw", make([]byte, bytes), 256)
	other := m
	m.Address, other.Address = mem.Alloc("from", data, 256), mem.Alloc("to", make([]byte, 4096), 256)
	_, err = mod.Run(t.Context(), "k", mem, []Arg{le64(to), m.Encode(), other.Encode()}, Options{Block: [3]int{1, 1, 1}})
	return [3][]byte{mem.Bytes(to), data, mem.Bytes(other.Address)}, err
}

// Four rows of a matrix, one of them beyond its end and one twice: .tile::gather4 puts them one after the other, .tile::scatter4 puts them
// back where they came from.
func TestFourRows(t *testing.T) {
	m := TensorMap{Rank: 2, Dims: [5]uint32{64, 12}, Strides: [4]uint64{128}, Box: [5]uint16{32, 1}, Steps: [5]uint8{1, 1}, Type: 10, Swizzle: 2}
	rows := []int{7, 12, 0, 7}
	raw, _, back := tensorTrip(t, m, 4*64, "2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd1, {40, 7, 12, 0, 7}], [%r2]",
		"2d.global.shared::cta.tile::scatter4.bulk_group [%rd2, {40, 7, 12, 0, 7}], [%r1]")
	want := make([]byte, 4096)
	for k, row := range rows {
		for j := range 32 {
			v := uint16(0)
			if row < 12 && 40+j < 64 {
				v = uint16(64*row + 40 + j + 1)
				binary.LittleEndian.PutUint16(want[128*row+2*(40+j):], v)
			}
			if got := uint16(readBytes(raw, swizzle(64*k+2*j, 64), 2)); got != v {
				t.Fatalf("row %d, element %d is %d, want %d", k, j, got, v)
			}
		}
	}
	if string(back) != string(want) {
		t.Error("the rows come back elsewhere")
	}
}

// convolution is a tensor of images for .im2col, whose pixels are those under one place of a filter.
type convolution struct {
	extents []int // W, H, D
	images  int
	filter  int // extent in all dimensions
	pad     int
	step    int
	start   int   // number of the first output pixel
	offsets []int // the place in the filter, W first
	fill    uint8
}

// Pixels by .im2col are those that a convolution reads: output pixel p at position o of the filter reads element step*p + o - pad.
func TestImagesToColumns(t *testing.T) {
	for _, c := range []convolution{
		{extents: []int{6, 5}, images: 2, filter: 3, pad: 1, step: 1, start: 2, offsets: []int{0, 0}},
		{extents: []int{6, 5}, images: 2, filter: 3, pad: 1, step: 1, start: 33, offsets: []int{2, 1}, fill: 1},
		{extents: []int{6, 5}, images: 3, filter: 3, pad: 1, step: 2, start: 1, offsets: []int{1, 2}},
		{extents: []int{9}, images: 4, filter: 5, pad: 2, step: 1, start: 7, offsets: []int{4}},
		{extents: []int{4, 3, 2}, images: 2, filter: 2, pad: 0, step: 1, start: 0, offsets: []int{1, 0, 1}},
		{extents: []int{4, 3, 2}, images: 3, filter: 2, pad: 1, step: 2, start: 3, offsets: []int{0, 1, 1}},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) { c.run(t) })
	}
}

func (c *convolution) run(t *testing.T) {
	const channels, first, width = 24, 8, 16 // of a pixel: in memory, the first one loaded, how many of them
	n := len(c.extents)
	m := TensorMap{Rank: n + 2, Dims: [5]uint32{channels}, Box: [5]uint16{width}, Steps: [5]uint8{1}, Type: 10, Swizzle: 1, Fill: c.fill, Pixels: 40}
	stride, counts, coords := uint64(2*channels), make([]int, n), []string{strconv.Itoa(first)}
	rest := c.start
	for i, extent := range c.extents {
		m.Dims[1+i], m.Strides[i], m.Steps[1+i] = uint32(extent), stride, uint8(c.step)
		m.Lower[i], m.Upper[i] = int16(-c.pad), int16(c.pad-c.filter+1)
		stride *= uint64(extent)
		counts[i] = (extent+2*c.pad-c.filter)/c.step + 1
		coords = append(coords, strconv.Itoa(rest%counts[i]*c.step-c.pad))
		rest /= counts[i]
	}
	m.Dims[n+1], m.Strides[n], m.Steps[n+1] = uint32(c.images), stride, 1
	coords = append(coords, strconv.Itoa(rest))
	at, offsets := "{"+strings.Join(coords, ", ")+"}", strings.Trim(strings.ReplaceAll(fmt.Sprint(c.offsets), " ", ", "), "[]")
	rank := strconv.Itoa(n+2) + "d"
	raw, data, back := tensorTrip(t, m, m.boxBytes(), rank+".shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, "+at+"], [%r2], {"+offsets+"}",
		rank+".global.shared::cta.im2col_no_offs.bulk_group [%rd2, "+at+"], [%r1]")
	want := make([]byte, 4096)
	for p := range 40 {
		rest, element, place, inside, whole := c.start+p, 0, 0, true, true
		size := 1
		for i, extent := range c.extents {
			x := rest%counts[i]*c.step - c.pad
			rest /= counts[i]
			whole = whole && x >= 0 && x < extent // the store has no offsets
			place += x * size
			x += c.offsets[i]
			inside = inside && x >= 0 && x < extent
			element += x * size
			size *= extent
		}
		for j := range width {
			v := uint16(0)
			if inside && rest < c.images {
				v = binary.LittleEndian.Uint16(data[2*(channels*(rest*size+element)+first+j):])
			} else if c.fill == 1 {
				v = 0x7fff
			}
			if whole && rest < c.images {
				binary.LittleEndian.PutUint16(want[2*(channels*(rest*size+place)+first+j):], v)
			}
			if got := uint16(readBytes(raw, swizzle(2*(width*p+j), 32), 2)); got != v {
				t.Fatalf("pixel %d, channel %d is %d, want %d", p, j, got, v)
			}
		}
	}
	if string(back) != string(want) {
		t.Error("the store brings something else back")
	}
}

// Copies whose mode, map and operands do not fit are refused in words.
func TestTensorModesRefused(t *testing.T) {
	boxes := TensorMap{Rank: 2, Dims: [5]uint32{64, 12}, Strides: [4]uint64{128}, Box: [5]uint16{32, 2}, Steps: [5]uint8{1, 1}, Type: 10}
	images := TensorMap{Rank: 3, Dims: [5]uint32{8, 4, 2}, Strides: [4]uint64{16, 64}, Box: [5]uint16{8}, Steps: [5]uint8{1, 1, 1}, Type: 10, Pixels: 4, Upper: [3]int16{-1}}
	for _, c := range []struct {
		m          TensorMap
		copy, want string
	}{
		{boxes, "2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 1, 2, 3, 4}], [%r2]", "a box of 2 rows"},
		{boxes, "2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 1, 2, 3}], [%r2]", "wrong number of coordinates"},
		{boxes, "2d.shared::cta.global.tile::scatter4.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 1, 2, 3, 4}], [%r2]", "gather4 loads and scatter4 stores"},
		{boxes, "2d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 1}], [%r2], {0}", "tensors of 3 to 5 dimensions"},
		{images, "3d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 0, 0}], [%r2]", "is for .im2col, the other is not"},
		{images, "3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 0, 0}], [%r2], {0, 0}", "im2col loads with offsets"},
		{images, "3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 3, 0}], [%r2], {0}", "coordinate 3 of dimension 1 lies outside of the bounding box, 0 to 2"},
		{images, "3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 0, 0}], [%r2], {0, 0}", "not supported"},
	} {
		_, err := tensorRun(t, c.m, 64, c.copy, "2d.global.shared::cta.tile.bulk_group [%rd2, {0, 0}], [%r1]")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.copy, err, c.want)
		}
	}
}
