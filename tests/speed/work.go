package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// bench is what is known of the work of a kernel: its bench.json.
type bench struct {
	Name    string
	Version string `json:"bytecode_version"`
	Flops   float64
	Bytes   float64             // that the launch must move
	Grid    any                 // three extents, or a word
	Rule    struct{ Times int } `json:"grid_rule"` // of a launch of as many blocks as multiprocessors, or so many times as many
	Buffers map[string]struct {
		Dtype string
		Shape []float64
		Init  struct{ Kind string }
		View  struct{ Shape, Strides []float64 }
	}
}

func readBench(folder string) (*bench, error) {
	data, err := os.ReadFile(filepath.Join(folder, "bench.json"))
	if err != nil {
		return nil, err
	}
	b := &bench{}
	return b, json.Unmarshal(data, b)
}

// bufferBytes is the bytes of each output, or of each input.
func (b *bench) bufferBytes(outputs bool) (bytes []float64) {
	for _, buffer := range b.Buffers {
		if (buffer.Init.Kind == "zeros") != outputs {
			continue
		}
		size := bytesOf(buffer.Dtype)
		for _, d := range buffer.Shape {
			size *= d
		}
		bytes = append(bytes, size)
	}
	return bytes
}

// aligned reports whether rows of all arrays begin at multiples of 16 bytes.
func (b *bench) aligned() bool {
	for _, buffer := range b.Buffers {
		for _, stride := range buffer.View.Strides {
			if stride > 1 && math.Mod(stride*bytesOf(buffer.Dtype), 16) != 0 {
				return false
			}
		}
	}
	return true
}

// bytesOf is the bytes of an element.
func bytesOf(dtype string) float64 {
	if size := map[string]float64{"bf16": 2, "f16": 2, "i16": 2, "u16": 2, "i8": 1, "u8": 1, "bool": 1, "f8e4m3fn": 1, "f8e5m2": 1, "f8e8m0fnu": 1, "f64": 8, "i64": 8, "u64": 8}[dtype]; size > 0 {
		return size
	}
	return 4
}

// outputBytes is the bytes of all outputs.
func (b *bench) outputBytes() (n float64) {
	for _, size := range b.bufferBytes(true) {
		n += size
	}
	return n
}

// blocks is the blocks of the launch, 0 where each takes one part of the work after another.
func (b *bench) blocks() float64 {
	extents, ok := b.Grid.([]any)
	if !ok {
		return 0
	}
	grid := 1.0
	for _, e := range extents {
		x, _ := e.(float64)
		grid *= max(x, 1)
	}
	return grid
}

// footprint is the bytes that so many resident blocks read: each its part of every input that exceeds L1, and all of the others;
// 0 in persistent kernels, whose parts are of unknown size.
func (b *bench) footprint(c *chip, blocks int) (n float64) {
	grid := b.blocks()
	if grid == 0 {
		return 0
	}
	for _, size := range b.bufferBytes(false) {
		if size > float64(c.l1KB<<10) {
			size *= float64(blocks) / grid
		}
		n += size
	}
	return n
}

// families group kernels for the geometric means; the first pattern that matches counts, and all others are memory-bound.
var families = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`^group_gemm`), "group_gemm"}, {regexp.MustCompile(`^gemm_f32`), "gemm_tf32"}, {regexp.MustCompile(`^gemm.*f8`), "gemm_fp8"},
	{regexp.MustCompile(`^gemm`), "gemm"}, {regexp.MustCompile(`^attention.*causal`), "causal"}, {regexp.MustCompile(`^attention`), "attention"},
}

// The kernels whose products are of 8-bit floats, and of 8-bit integers.
var (
	floats8   = regexp.MustCompile(`^(gemm|attention).*f8`)
	integers8 = regexp.MustCompile(`^gemm_i8`)
)

func eightBit(kernel string) bool {
	return floats8.MatchString(kernel) || integers8.MatchString(kernel)
}

const memoryBound = "memory"

func family(kernel string) string {
	for _, f := range families {
		if f.pattern.MatchString(kernel) {
			return f.name
		}
	}
	return memoryBound
}

// peak is the dense TF/s of the types of a kernel; sm_80 multiplies fp8 as f16, but 8-bit integers at twice that rate.
func (c *chip) peak(kernel string) float64 {
	switch {
	case family(kernel) == "gemm_tf32":
		return c.tensorPeak() / 2
	case integers8.MatchString(kernel), floats8.MatchString(kernel) && c != chipOf[80]:
		return c.tensorPeak() * 2
	}
	return c.tensorPeak()
}

var chipOf = func() map[int]*chip {
	m := map[int]*chip{}
	for n, c := range chips {
		m[n] = &c
	}
	return m
}()

var (
	tileOfProduct   = regexp.MustCompile(`_(\d+)x(\d+)x(\d+)`)
	rankOfProduct   = regexp.MustCompile(`_lora(\d+)_`)
	tileOfAttention = regexp.MustCompile(`_d(\d+)_(?:causal_)?(\d+)x(\d+)`)
	rowsOfTile      = regexp.MustCompile(`_(\d+)x\d+$`)
)

// copyTraffic is the bytes that copies bring per flop, and those that stay in shared memory, by the tile in the name of a kernel: a step of a product
// copies (BM+BN)*BK elements, one of attention K and V, one of its gradient by keys as much of the queries and of the gradient of the result.
func copyTraffic(kernel string) (perFlop float64, resident int) {
	size := 2.0
	switch {
	case eightBit(kernel):
		size = 1
	case strings.Contains(kernel, "f32") && strings.Contains(kernel, "gemm"):
		size = 4
	}
	number := func(s string) float64 { n, _ := strconv.Atoi(s); return float64(n) }
	if m := tileOfProduct.FindStringSubmatch(kernel); m != nil {
		a, b := number(m[1])*size, number(m[2])*size
		flops := 2 * number(m[1]) * number(m[2])
		switch {
		case strings.Contains(kernel, "_w8_"):
			b /= 2
		case strings.Contains(kernel, "_w4_"):
			b /= 4
		case strings.Contains(kernel, "_dual_"): // two products of one left factor
			b, flops = 2*b, 2*flops
		case strings.Contains(kernel, "_complex_"): // four of two factors each
			a, b, flops = 2*a, 2*b, 4*flops
		}
		if r := rankOfProduct.FindStringSubmatch(kernel); r != nil { // a further right factor of few columns
			b, flops = b+number(r[1])*size, flops+2*number(m[1])*number(r[1])
		}
		return (a + b) / flops, 0
	}
	if m := tileOfAttention.FindStringSubmatch(kernel); m != nil {
		d, rows, columns := number(m[1]), number(m[2]), number(m[3])
		switch {
		case strings.Contains(kernel, "_dq_"): // three products
			return 2 * size / 6 / rows, int(2 * rows * d * size)
		case strings.Contains(kernel, "_dkv_"): // four
			return size / 4 / columns, int(2 * columns * d * size)
		}
		return size / 2 / rows, int(rows * d * size)
	}
	return 0, 0
}

// timing is what the model says of one cubin.
type timing struct {
	Rate                      float64 // TF/s of the hot loop, or GB/s of a kernel bound by memory
	Assumed                   bool    // to run at the limit of DRAM: the code does not show what it moves
	Registers, Stack, Shared  int
	Warps, Blocks             int
	SpillBytes, Serialization int // by ptxas; the second is warnings C75xx
}

// modelCubin models a cubin. like is the kernel whose tile it has.
func modelCubin(tools, cubin string, sm int, b *bench, like string, dynamic int) (*timing, error) {
	k, err := load(tools, cubin, sm, dynamic)
	if err != nil {
		return nil, err
	}
	m := newModel(chipOf[sm], k)
	busy := 1.0 // the part of the multiprocessors that have a block
	switch grid := b.blocks(); {
	case like != b.Name: // Triton's kernels have a grid of their own
	case grid == 0:
		m.blocks = min(m.blocks, max(1, b.Rule.Times))
	case family(b.Name) != memoryBound:
		m.blocks, busy = min(m.blocks, int(math.Ceil(grid/m.count))), min(1, grid/m.count)
	}
	t := &timing{Registers: k.registers, Stack: k.stack, Shared: k.shared, Warps: m.warpsOfBlock(), Blocks: m.blocks}
	if family(b.Name) == memoryBound {
		seconds, known := m.memoryTime(b.Bytes, b.outputBytes(), b.footprint(m.chip, m.blocks), b.blocks())
		t.Assumed, t.Rate = !known, b.Bytes/seconds/1e9
		return t, nil
	}
	h := conditions{}
	h.fillPerFlop, h.resident = copyTraffic(like)
	version := 0
	if !b.aligned() {
		version = m.narrowest()
	}
	if t.Rate, err = m.flopRate(version, h); err != nil {
		return nil, err
	}
	if family(b.Name) == "causal" && len(m.products()) > 1 {
		masked, err := m.flopRate(1, h)
		if err != nil {
			return nil, err
		}
		w := maskedShare(b)
		t.Rate = 1 / ((1-w)/t.Rate + w/masked)
	}
	t.Rate = math.Min(t.Rate, m.sustained*m.peak(b.Name)) * busy
	return t, nil
}

// maskedShare is the share of the steps of causal attention that have a mask: one of the steps of each row of tiles.
func maskedShare(b *bench) float64 {
	m := rowsOfTile.FindStringSubmatch(b.Name)
	if m == nil || len(b.Buffers["q"].View.Shape) < 3 {
		return 0
	}
	rows, _ := strconv.Atoi(m[1])
	return 1 / ((b.Buffers["q"].View.Shape[2]/float64(rows)-1)/2 + 1)
}
