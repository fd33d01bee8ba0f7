package perfsmall_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tileiras/codegen/options"
	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// The most that a loop may move: 32-byte sectors of global memory over the bytes that were asked for, and passes over the banks of shared
// memory over those without conflicts.
const maxSectorRatio, maxWavefrontRatio = 1.15, 1.05

// loopMeasurement says how the iterations of a kernel's loops are counted: as the difference of two sizes, of which the larger
// has so many iterations more. Without a smaller size the whole launch is counted.
type loopMeasurement struct {
	op            string
	smaller, size string
	iterations    int
	barriers      int    // of each warp, in an iteration
	exponentials  string // letters of the tile of which each element takes one exponential in an iteration; "": there are none
	perRow        int    // exponentials of a thread besides, for each row that it has elements of
	wholeLaunches bool   // no barriers are held
}

var loopSizes = []loopMeasurement{
	{op: "gemm", smaller: "M=1 N=1 K=4", size: "M=1 N=1 K=6", iterations: 2, barriers: 1},
	{op: "gemm_scaled", smaller: "M=1 N=1 K=4", size: "M=1 N=1 K=8", iterations: 4, barriers: 5},
	{op: "group_gemm", smaller: "M=1 N=1 K=4,0", size: "M=1 N=1 K=6,0", iterations: 2 * 4, barriers: 1},
	{op: "attention", smaller: "B:1 H:16 D=1 Q=1 S=4", size: "B:1 H:16 D=1 Q=1 S=6", iterations: 2, barriers: 1, exponentials: "Q S", perRow: 1},
	{op: "softmax", smaller: "R:32 C=1", size: "R:48 C=1", iterations: 16, barriers: 4, exponentials: "C"},
	{op: "layernorm", smaller: "R:16 N=4", size: "R:16 N=8", iterations: 2 * 4},
	{op: "rmsnorm", size: "R:16 N=1", wholeLaunches: true},
	{op: "vecadd", size: "N=4", wholeLaunches: true},
	{op: "transpose", size: "M=2 N=2", wholeLaunches: true},
	{op: "sum", smaller: "N=8", size: "N=16", iterations: 8},
	{op: "row_max", smaller: "R:16 N=4", size: "R:16 N=8", iterations: 2 * 4},
	{op: "rope", size: "P:16", wholeLaunches: true},
	{op: "gather_rows", size: "R:96 I:64 C=1", wholeLaunches: true},
}

// causal attention with one row of tiles has one step, so rows of tiles are counted, each with all of its steps.
var causal = loopMeasurement{op: "attention", smaller: "B:1 H:16 D=1 Q=2 S=3", size: "B:1 H:16 D=1 Q=3 S=3", wholeLaunches: true}

// exceptions are looser limits, by kernel and GPU, with the reason.
var exceptions = []struct {
	kernel, gpus   string // regular expressions
	sectors, waves float64
	barriers       int
	because        string
}{
	{kernel: "2cta", gpus: ".", barriers: 2, because: "its tile is made in two halves, each with a loop of its own"},
	{kernel: "^gemm_f8e4m3fn_4096", gpus: "sm_(80|86|87|88)$", barriers: 2, because: "8-bit floats are converted on their way to shared memory, each operand by itself"},
	{kernel: "^gemm_f8e4m3fn_8192", gpus: "sm_(80|86|87|88)$", barriers: 4, because: "they are converted on their way, in two halves of the tile, each with a loop of its own"},
	{kernel: "^gemm_scaled", gpus: ".", sectors: 2.03, because: "the scales of a step are 4 bytes of a row"},
	{kernel: "^gemm_f8e4m3fn_4096", gpus: "sm_8[68]", barriers: 3, because: "shared memory has no room for two slots: one has a wait more"},
	{kernel: "^attention_f16_d(64|128)_128x128", gpus: "sm_(8[689]|12)", barriers: 2, because: "shared memory has no room for two slots, or for those of two blocks: K and V take turns, with a wait each"},
	{kernel: "^attention_f16_d128_128x64", gpus: "sm_(8[689]|12)", barriers: 4, because: "its rows are made in two halves, each with a loop of its own, where K and V take turns"},
	{kernel: "^attention", gpus: "sm_1(00|03|07|10)$", barriers: 4, because: "threads have rows of both products, and tell each other maxima and sums; one begins each product for all"},
	{kernel: "2cta", gpus: "sm_(8[689]|12)", barriers: 8, because: "shared memory has no room for two slots"},

	// There are no asynchronous copies, so that operands go through registers.
	{kernel: "^gemm_f16", gpus: "sm_75", barriers: 3},
	{kernel: "^attention", gpus: "sm_75", barriers: 4},
	{kernel: "^gemm_f8e4m3fn", gpus: "sm_75", barriers: 5},
	{kernel: "bf16.*128x128x|tf32$", gpus: "sm_75", barriers: 2},
	{kernel: "128x256x32_tf32$", gpus: "sm_75", barriers: 4},
	{kernel: "^(group_)?gemm_bf16", gpus: "sm_75", barriers: 4},
	{kernel: "2cta", gpus: "sm_75", barriers: 16},
	{kernel: "^gemm_scaled", gpus: "sm_75", sectors: 2.88, barriers: 24},
}

// TestLoopsMoveWhatTheyMust checks counters of the emulator for the loops of the performance kernels: sectors, bank conflicts,
// barriers and exponentials of an iteration.
func TestLoopsMoveWhatTheyMust(t *testing.T) {
	names, err := cases.List(perf)
	if err != nil {
		t.Fatal(err)
	}
	for _, gpu := range gpus() {
		for _, name := range names {
			t.Run(gpu+"/"+name, func(t *testing.T) { checkLoops(t, name, gpu) })
		}
	}
}

func checkLoops(t *testing.T, name, gpu string) {
	c, err := cases.Load(filepath.Join(perf, name))
	if err != nil {
		t.Fatal(err)
	}
	res, err := compileFor(c, gpu, options.Code{})
	if err != nil {
		if strings.Contains(err.Error(), "Incompatibility with architecture") || strings.Contains(err.Error(), "not supported yet") {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	m := causal
	if !strings.Contains(name, "causal") {
		at := slices.IndexFunc(loopSizes, func(m loopMeasurement) bool { return m.op == c.Op })
		if at < 0 {
			t.Fatalf("nothing says how the loops of op %q are counted", c.Op)
		}
		m = loopSizes[at]
	}
	s, tiles := statsOf(t, c, res, m.size)
	if m.smaller != "" {
		few, _ := statsOf(t, c, res, m.smaller)
		s = difference(s, few)
	}
	sectors, waves, barriers := maxSectorRatio, maxWavefrontRatio, m.barriers
	for _, e := range exceptions {
		if regexp.MustCompile(e.kernel).MatchString(name) && regexp.MustCompile(e.gpus).MatchString(gpu) {
			sectors, waves, barriers = max(sectors, e.sectors), max(waves, e.waves), max(barriers, e.barriers)
		}
	}
	got := fmt.Sprintf("%d sectors for %d bytes, %d passes over shared memory, %d without conflicts, %d arrivals at barriers, %d exponentials",
		s.GlobalSectors, s.GlobalBytes, s.SharedWavefronts, s.SharedIdealWavefronts, s.Barriers, exponentials(s))
	t.Log(got)
	if s.GlobalBytes == 0 {
		t.Fatalf("nothing moves: %s", got)
	}
	if float64(32*s.GlobalSectors) > sectors*float64(s.GlobalBytes) {
		t.Errorf("%s: sectors are more than %.2f times the bytes", got, sectors)
	}
	if float64(s.SharedWavefronts) > waves*float64(s.SharedIdealWavefronts) {
		t.Errorf("%s: passes are more than %.2f times those without conflicts", got, waves)
	}
	if m.wholeLaunches {
		return
	}
	warps := res.Metadata.Kernels[0].Threads / 32
	if most := int64(barriers * m.iterations * warps); s.Barriers > most {
		t.Errorf("%s: in %d iterations of %d warps, want at most %d", got, m.iterations, warps, most)
	}
	elements := 0
	if m.exponentials != "" {
		elements = 1
		for _, letter := range strings.Fields(m.exponentials) {
			elements *= tiles[letter]
		}
		holders := 4 // of a row
		if bytes.Contains(res.Output, []byte("tcgen05.mma")) {
			holders = 32 * warps / tiles["Q"]
		}
		elements += m.perRow * tiles["Q"] * holders
	}
	if want := int64(elements / 32 * m.iterations); exponentials(s) != want {
		t.Errorf("%s: want %d exponentials of warps", got, want)
	}
}

// exponentials counts warp instructions.
func exponentials(s emu.Stats) (n int64) {
	for op, k := range s.PerOpcode {
		if strings.HasPrefix(op, "ex2.") {
			n += k
		}
	}
	return n
}

// difference is what the larger launch does more.
func difference(a, b emu.Stats) emu.Stats {
	a.GlobalSectors -= b.GlobalSectors
	a.GlobalBytes -= b.GlobalBytes
	a.SharedWavefronts -= b.SharedWavefronts
	a.SharedIdealWavefronts -= b.SharedIdealWavefronts
	a.Barriers -= b.Barriers
	for op, n := range b.PerOpcode {
		a.PerOpcode[op] -= n
	}
	return a
}

// statsOf runs a performance kernel at a size and gives the counters, and the extents of its tiles.
func statsOf(t *testing.T, c *cases.Case, res *driver.Result, text string) (emu.Stats, map[string]int) {
	t.Helper()
	k := &kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.op == c.Op })]
	arrays, err := arraysOf(c, k)
	if err != nil {
		t.Fatal(err)
	}
	tiles := tilesOf(arrays)
	s, err := parseSize(text, tiles)
	if err != nil {
		t.Fatal(err)
	}
	if err := shrink(c, k, arrays, s, tiles); err != nil {
		t.Fatal(err)
	}
	l, err := c.NewLaunch()
	if err != nil {
		t.Fatal(err)
	}
	m := &tilerun.Emulator{Compiled: res}
	out, err := m.Launch(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	stats, ok := out.Stats.(emu.Stats)
	if !ok {
		t.Fatalf("counters are %T", out.Stats)
	}
	return stats, tiles
}
