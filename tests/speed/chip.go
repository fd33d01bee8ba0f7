package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// chip is what a GPU does: rates of one multiprocessor in a cycle, and the whole machine. Sources: the tables of throughput in the CUDA
// programming guide ("Arithmetic Instructions") and the peak figures of NVIDIA's data sheets. The rate of mma.sync on sm_90 and sm_100,
// which have faster ways, is an estimate. sm_86 and sm_89 are an RTX A6000 and an RTX 6000 Ada: GeForce cards of both add in f32 at half the rate.
// That an RTX 5090 adds products of 8-bit floats in f32 at half the rate unless they have scales is what microbenchmarks of mma.sync find (370 and
// 737 TFLOPS).
type chip struct {
	fp32, half2, fp64, alu float64 // threads of these pipes
	mma, wgmma, tcgen05    float64 // flops of 16-bit operands by kind of instruction
	dmma                   float64 // flops of f64
	unscaledFP8            float64 // part of the rate for 8-bit floats that mma.sync reaches when it adds in f32 and multiplies by no scales
	sharedKB, warps        int
	l1KB                   int     // of L1 and shared memory together
	clock                  float64 // GHz
	count                  float64 // multiprocessors
	dramGB                 float64 // GB/s, of which 90 % can be had
	l2                     float64 // bytes
	sustained              float64 // of the tensor peak: what power and scheduling leave to the best libraries (an estimate)
}

var chips = map[int]chip{
	80:  {64, 128, 32, 64, 2048, 0, 0, 128, 1, 164, 64, 192, 1.41, 108, 2039, 47, 0.90},
	86:  {128, 64, 2, 64, 1024, 0, 0, 4, 1, 100, 48, 128, 1.80, 84, 768, 32, 0.90},
	89:  {128, 64, 2, 64, 1024, 0, 0, 4, 1, 100, 48, 128, 2.505, 142, 960, 32, 0.90},
	90:  {128, 128, 64, 64, 2560, 4096, 0, 256, 1, 228, 64, 256, 1.755, 132, 4800, 48, 0.83},
	100: {128, 128, 64, 64, 2048, 0, 8192, 128, 1, 228, 64, 256, 1.85, 148, 8000, 48, 0.80},
	120: {128, 64, 2, 64, 1024, 0, 0, 4, 0.5, 100, 48, 128, 2.4, 170, 1792, 32, 0.90},
}

// arch is the number of a target: "sm_90" is 90.
func arch(gpu string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(gpu, "sm_"))
	if _, ok := chips[n]; err != nil || !ok {
		return 0, fmt.Errorf("there is no model of %s, but of those with these numbers: %d", gpu, slices.Sorted(maps.Keys(chips)))
	}
	return n, nil
}

// dram is the bytes that DRAM moves for one multiprocessor in a cycle.
func (c *chip) dram() float64 { return 0.9 * c.dramGB / c.clock / c.count }

// tensorPeak is the dense TF/s of 16-bit operands.
func (c *chip) tensorPeak() float64 { return max(c.mma, c.wgmma, c.tcgen05) * c.clock * c.count / 1e3 }

// blocks is how many thread blocks of a kernel fit on a multiprocessor.
func (c *chip) blocks(registers, shared, warps int) int {
	perThread := max((registers+7)/8*8, 8)
	const schedulers = 4 // each has a quarter of the registers, and of the warps
	return max(1, min(c.warps/warps, 65536/schedulers/(perThread*32)*schedulers/warps, c.sharedKB*1024/(shared+systemShared), 32))
}
