package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// disassembly is what nvdisasm -c -hex writes; the second word of an instruction holds its control code from bit 41 on.
func disassembly(lines ...string) string {
	var b strings.Builder
	addr := 0
	for _, l := range lines {
		if strings.HasSuffix(l, ":") {
			b.WriteString(l + "\n")
			continue
		}
		text, control, _ := strings.Cut(l, " # ")
		stall, writes, reads, waits := 1, 7, 7, 0
		if control != "" {
			fmt.Sscan(control, &stall, &writes, &reads, &waits)
		}
		high := uint64(stall)<<41 | uint64(writes)<<46 | uint64(reads)<<49 | uint64(waits)<<52
		fmt.Fprintf(&b, "        /*%04x*/                   %s ;  /* 0x%016x */\n                                         /* 0x%016x */\n", addr, text, 1, high)
		addr += 16
	}
	return b.String()
}

func modelOf(sm, threads, registers, shared int, lines ...string) *model {
	return newModel(chipOf[sm], &kernel{name: "k", registers: registers, shared: shared, threads: threads, code: parse(disassembly(lines...))})
}

func repeat(n int, line string) []string { return slices.Repeat([]string{line}, n) }

// loopOf is a loop around instructions.
func loopOf(body ...string) []string {
	return slices.Concat([]string{"MOV R1, R2", ".L_x_1:"}, body, []string{"@P0 BRA `(.L_x_1)", "EXIT"})
}

func TestLinesAreRead(t *testing.T) {
	code := parse(disassembly("@!P1 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] # 3 2 7 9", ".L_x_0:", "@P0 BRA `(.L_x_0) # 5 7 7 0"))
	i := code[0]
	if len(code) != 2 || !i.guarded || i.op != "LDG" || i.class != classLoad || i.width() != 16 || i.control != (control{3, 2, 7, 9}) {
		t.Fatalf("%+v", code)
	}
	if b := code[1]; !slices.Equal(b.targets, []int{1}) || b.leaves() {
		t.Fatalf("%+v", b)
	}
}

func TestProductsCostWhatTheirShapeSays(t *testing.T) {
	for _, c := range []struct {
		line                   string
		sm                     int
		flops, tensor, operand float64
	}{
		{"HMMA.16816.F32 R4, R8, R12, R4", 80, 2 * 16 * 8 * 16, 2 * 16 * 8 * 16 / 2048., 0},
		{"HMMA.1688.F32.TF32 R4, R8, R12, R4", 80, 2 * 16 * 8 * 8, 2 * 2 * 16 * 8 * 8 / 2048., 0}, // tf32 at half the rate
		{"QMMA.16832.F16.E4M3.E4M3 R4, R8, R12, R4", 120, 2 * 16 * 8 * 32, 2 * 16 * 8 * 16 / 1024., 0},
		{"QMMA.16832.F32.E4M3.E4M3 R4, R8, R12, R4", 120, 2 * 16 * 8 * 32, 2 * 16 * 8 * 32 / 1024., 0}, // at the rate of f16
		{"QMMA.SF.16832.F32.E4M3.E4M3.E8 R4, R8, R12, R4, R16, R17, UR6", 120, 2 * 16 * 8 * 32, 2 * 16 * 8 * 16 / 1024., 0},
		{"OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X R4, R8, R12, R4, R16, R17, URZ", 120, 2 * 16 * 8 * 64, 2 * 16 * 8 * 16 / 1024., 0},
		{"DMMA.884 R4, R8, R12, R4", 80, 2 * 8 * 8 * 4, 2 * 8 * 8 * 4 / 128., 0},
		{"HGMMA.64x256x16.F32 R24, gdesc[UR8], R24, gsb0", 90, 2 * 64 * 256 * 16 / 4, 2 * 64 * 256 * 16 / 4096. / 4, (64 + 256) * 32 / 4.},
		{"HMMA.X R4", 80, 0, 0, 0},
	} {
		p := chipOf[c.sm].productOf(parse(disassembly(c.line)), 0)
		if p.flops != c.flops || p.tensor != c.tensor || p.operand != c.operand || p.known != (c.flops > 0) {
			t.Errorf("%s on sm_%d: %+v, want %v flops, %v cycles, %v bytes", c.line, c.sm, p, c.flops, c.tensor, c.operand)
		}
	}
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got/want-1) > tolerance {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Independent products keep the tensor cores busy: 4 warps of 16 products take 4*16*2 cycles a block.
func TestIndependentProductsRunAtThePeak(t *testing.T) {
	m := modelOf(80, 128, 64, 1024, loopOf(repeat(16, "HMMA.16816.F32 R4, R8, R12, R4")...)...)
	got, err := m.flopRate(0, conditions{})
	if err != nil {
		t.Fatal(err)
	}
	within(t, "rate", got, chipOf[80].tensorPeak(), 0.01)
}

// A product that waits for the one before takes its latency: 33 cycles and the issue; with one warp on each scheduler nothing hides it.
func TestDependentProductsTakeTheirLatency(t *testing.T) {
	m := modelOf(80, 128, 255, 160<<10, loopOf(repeat(8, "HMMA.16816.F32 R4, R8, R12, R4 # 1 0 7 1")...)...)
	if m.blocks != 1 {
		t.Fatalf("%d blocks fit, want 1", m.blocks)
	}
	got, err := m.flopRate(0, conditions{})
	if err != nil {
		t.Fatal(err)
	}
	cycles := 8 * 4096 * 4 / (got * 1e3 / chipOf[80].clock / chipOf[80].count)
	within(t, "cycles of an iteration", cycles, 8*33, 0.02)
}

// Copies that are waited for at once take the latency of memory; a group in flight hides it behind the next iteration's.
func TestWaitsForCopies(t *testing.T) {
	body := func(open int) []string {
		return append([]string{"LDGSTS.E.BYPASS.128 [R4], desc[UR4][R2.64]", "LDGDEPBAR", fmt.Sprintf("DEPBAR.LE SB0, 0x%x", open)},
			repeat(4, "HMMA.16816.F32 R4, R8, R12, R4")...)
	}
	cycles := func(open int) float64 {
		m := modelOf(80, 128, 255, 160<<10, loopOf(body(open)...)...)
		return m.run(m.loops[0], conditions{}).cycles
	}
	whole, half := cycles(0), cycles(1)
	if whole < latencyGlobal || whole > latencyGlobal+100 {
		t.Errorf("an iteration that waits takes %v cycles, want a little over %d", whole, latencyGlobal)
	}
	within(t, "cycles with a group in flight", half, whole/2, 0.1)
}

func TestBarriersWaitForAllWarps(t *testing.T) {
	m := modelOf(80, 256, 255, 160<<10, loopOf("BAR.SYNC.DEFER_BLOCKING 0x0", "NOP")...)
	if got := m.run(m.loops[0], conditions{}).cycles; got < latencyBarrier || got > latencyBarrier+20 {
		t.Errorf("an iteration with a barrier takes %v cycles, want a little over %d", got, latencyBarrier)
	}
}

func TestABlockBeginsAfterAnother(t *testing.T) {
	m := modelOf(90, 128, 32, 0, loopOf("LDG.E.128 R4, [R2.64]", "STG.E.128 [R8.64], R4")...)
	few, _ := m.memoryTime(1<<20, 1<<19, 0, 132)
	many, _ := m.memoryTime(1<<20, 1<<19, 0, 132000)
	if want := 1000 * launchCycles / m.clock / 1e9; few >= want/10 || math.Abs(many-want) > want/1000 {
		t.Errorf("132 blocks take %g s, 132000 %g, want %g", few, many, want)
	}
}

// Code that every warp of a block runs takes its time however much of the row that all need each loads by itself, and whatever copies the row.
func TestBlocksRunTheirCodeOnce(t *testing.T) {
	const grid, work = 10000, 500
	for _, load := range [][]string{repeat(8, "LDG.E.128 R4, desc[UR4][R2.64] # 1 0 7 0"), {"@P0 BRA `(.L_x_1)", "UTMALDG.2D [UR4], [UR8]", ".L_x_1:"}} {
		m := modelOf(90, 128, 32, 64<<10, slices.Concat(load, repeat(work, "FFMA R4, R4, R4, R4"), []string{"STG.E.128 desc[UR4][R2.64], R4", "EXIT"})...)
		seconds, _ := m.memoryTime(grid<<10, grid<<9, 0, grid)
		within(t, "cycles of a block", seconds*1e9*m.clock*m.count/grid, work, 0.1)
	}
	roles := modelOf(90, 160, 32, 64<<10, slices.Concat([]string{"@P0 BRA `(.L_x_1)", "USETMAXREG.DEALLOC.CTAPOOL 0x20", "UTMALDG.2D [UR4], [UR8]", "EXIT", ".L_x_1:"},
		repeat(work, "FFMA R4, R4, R4, R4"), []string{"EXIT"})...)
	seconds, _ := roles.memoryTime(grid<<10, grid<<9, 0, grid)
	within(t, "cycles of a role", seconds*1e9*roles.clock*roles.count/grid, work, 0.1)
	m := modelOf(90, 128, 32, 0, slices.Concat([]string{"@P0 BRA `(.L_x_1)"}, repeat(work, "FFMA R4, R4, R4, R4"), []string{".L_x_1:", "STG.E.128 desc[UR4][R2.64], R4", "EXIT"})...)
	if got := m.flow.always(); !slices.Equal(got, []int{0, work + 1, work + 2}) {
		t.Errorf("%d instructions are always run, want those outside of the branch", len(got))
	}
}

// A copy of 1 GB that is at the limit of DRAM, by 16-byte loads and stores in a loop.
func TestMemoryIsBoundByDRAM(t *testing.T) {
	body := slices.Concat(repeat(8, "LDG.E.128 R4, desc[UR4][R2.64] # 1 0 7 0"), repeat(8, "STG.E.128 desc[UR4][R2.64], R4 # 1 7 1 1"))
	m := modelOf(80, 256, 32, 0, loopOf(body...)...)
	seconds, known := m.memoryTime(1<<30, 1<<29, 0, 0)
	if !known {
		t.Fatal("the traffic of loads and stores is in the code")
	}
	within(t, "seconds", seconds, (1<<30)/(0.9*2039e9), 0.02)
	if _, known := modelOf(90, 128, 32, 0, loopOf("UTMALDG.2D [UR4], [UR8]")...).memoryTime(1<<30, 0, 0, 0); known {
		t.Error("what TMA moves is not in the code")
	}
}

func TestLoopsThatPollAreLeftOut(t *testing.T) {
	m := modelOf(90, 128, 32, 0, "MOV R1, R2", ".L_x_1:", "HMMA.16816.F32 R4, R8, R12, R4", ".L_x_2:", "SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [R3], R4",
		"@!P1 BRA `(.L_x_2)", "LDS R2, [R3]", "@P0 BRA `(.L_x_1)", "EXIT")
	if len(m.loops) != 1 || !slices.Equal(m.loops[0], []int{1, 2, 3, 4, 5}) {
		t.Errorf("loops %v: the wait is part of every iteration of one loop", m.loops)
	}
}

func TestBlocksOfTheEdgeAreTrimmed(t *testing.T) {
	code := parse(disassembly("MOV R1, R2", ".L_x_1:", "HMMA.16816.F32 R4, R8, R12, R4", "@P1 BRA `(.L_x_3)", "FMUL R4, R4, R5", "FMUL R4, R4, R5", ".L_x_3:", "@P2 BRA `(.L_x_4)",
		"LDS R2, [R3]", ".L_x_4:", "@P0 BRA `(.L_x_1)", "EXIT"))
	f := newControlFlow(code)
	loops := f.innermost()
	if len(loops) != 1 {
		t.Fatalf("loops %v", loops)
	}
	if got := f.trim(loops[0]); !slices.Equal(got, []int{1, 2, 5, 6, 7}) {
		t.Errorf("%v are left: the multiplications that not every iteration runs go, the load stays", got)
	}
}

// A division by the instruction behind a test of its operands counts nowhere, nor does a call of a slow path; a branch that does not
// call, or that loads, counts.
func TestSlowPathsAreLeftOut(t *testing.T) {
	call := "CALL.REL.NOINC `($__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath)"
	for _, c := range []struct {
		why    string
		behind []string
		left   []int
	}{
		{"slow path", []string{"MUFU.RCP R8, R4", "@!P3 BRA `(.L_x_3)", call, ".L_x_3:", "FMUL R4, R8, R4"}, []int{1, 2, 7, 8}},
		{"no call", []string{"MUFU.RCP R8, R4", "FMUL R4, R8, R4"}, []int{1, 2, 3, 4, 5, 6}},
		{"a load", []string{"LDG.E.128 R8, desc[UR4][R2.64]", call}, []int{1, 2, 3, 4, 5, 6}},
	} {
		code := parse(disassembly(slices.Concat([]string{"MOV R1, R2", ".L_x_1:", "FMUL R4, R4, R5", "@P1 BRA `(.L_x_2)"}, c.behind,
			[]string{".L_x_2:", "STG.E.128 desc[UR4][R2.64], R4", "@P0 BRA `(.L_x_1)", "EXIT"})...))
		if loops := newControlFlow(code).innermost(); len(loops) != 1 || !slices.Equal(loops[0], c.left) {
			t.Errorf("%s: %v are left, want %v", c.why, loops, c.left)
		}
	}
	code := parse(disassembly(slices.Concat([]string{"MOV R1, R2", ".L_x_1:", "FMUL R4, R4, R5"}, []string{call, "STG.E.128 desc[UR4][R2.64], R4", "@P0 BRA `(.L_x_1)", "EXIT"})...))
	if loops := newControlFlow(code).innermost(); len(loops) != 1 || len(loops[0]) != 4 {
		t.Errorf("a call in every iteration: %v are left, want all four", loops)
	}
}

// What an iteration stores for the next one counts, though the last one does not; what it stores on the way to global memory does not.
func TestStagedStoresCount(t *testing.T) {
	body := func(more ...string) []int {
		code := parse(disassembly(slices.Concat([]string{"MOV R1, R2", ".L_x_1:", "HMMA.16816.F32 R4, R8, R12, R4", "@P1 BRA `(.L_x_3)", "STS.128 [R3], R4"}, more,
			[]string{".L_x_3:", "@P0 BRA `(.L_x_1)", "EXIT"})...))
		f := newControlFlow(code)
		return f.trim(f.innermost()[0])
	}
	if got := body(); !slices.Equal(got, []int{1, 2, 3, 4}) {
		t.Errorf("%v are left, want all", got)
	}
	if got := body("STG.E.128 desc[UR4][R2.64], R4"); !slices.Equal(got, []int{1, 2, 5}) {
		t.Errorf("%v are left, want all but the stores", got)
	}
}

// A second pass over what L1 holds is twice as fast as one over what L2 holds.
func TestLaterPassesReadTheCaches(t *testing.T) {
	code := slices.Concat([]string{"MOV R1, R2", ".L_x_1:"}, repeat(8, "LDG.E.128 R4, desc[UR4][R2.64] # 1 0 7 0"), []string{"FADD R4, R4, R4 # 1 7 7 1", "@P0 BRA `(.L_x_1)", ".L_x_2:"},
		repeat(8, "LDG.E.128 R4, desc[UR4][R2.64] # 1 0 7 0"), []string{"STG.E.128 desc[UR4][R2.64], R4 # 1 7 1 1", "@P0 BRA `(.L_x_2)", "EXIT"})
	m := modelOf(90, 256, 32, 0, code...)
	time := func(footprint float64) float64 {
		s, _ := m.memoryTime(1<<30, 1<<29, footprint, 0)
		return s
	}
	if inL1, inL2, unknown := time(200<<10), time(300<<10), time(0); inL1 >= inL2 || inL2 != unknown {
		t.Errorf("%v s from L1, %v s from L2, %v s where it is not known", inL1, inL2, unknown)
	}
	b := bench{Grid: []any{float64(100), float64(2), float64(1)}}
	if err := json.Unmarshal([]byte(`{"x": {"dtype": "f16", "shape": [200, 1048576], "init": {"kind": "normal"}}, "w": {"dtype": "f32", "shape": [1024], "init": {"kind": "normal"}},
		"y": {"dtype": "f16", "shape": [200, 1048576], "init": {"kind": "zeros"}}}`), &b.Buffers); err != nil {
		t.Fatal(err)
	}
	within(t, "footprint of three blocks", b.footprint(chipOf[90], 3), 3*2<<20+4096, 1e-9)
	b.Grid = "persistent"
	if got := b.footprint(chipOf[90], 3); got != 0 {
		t.Errorf("footprint of a persistent kernel %v, want 0", got)
	}
}

// While one block waits for memory another computes: a pass that is bound by DRAM and one that is bound by multiplications take little more than the longer of
// them, not both. One block alone cannot do both at a time.
func TestPassesOfBlocksOverlap(t *testing.T) {
	code := slices.Concat([]string{"MOV R1, R2", ".L_x_1:"}, repeat(2, "LDG.E.128 R4, desc[UR4][R2.64] # 1 0 7 0"), []string{"FADD R4, R4, R4 # 1 7 7 1", "@P0 BRA `(.L_x_1)", "NOP", ".L_x_2:"},
		repeat(2, "LDG.E.128 R4, desc[UR4][R2.64] # 1 0 7 0"), []string{"FADD R4, R4, R4 # 1 7 7 1"}, repeat(220, "FFMA R4, R4, R4, R4"), []string{"@P0 BRA `(.L_x_2)", "EXIT"})
	cycles := func(shared int) (got, dram, compute float64) {
		m := modelOf(90, 128, 32, shared, code...)
		const bytes = 1000 * 4 * 2 * 512
		seconds, _ := m.memoryTime(bytes, 0, 1, 1000)
		return seconds * 1e9 * m.clock * m.count, bytes / m.dram(), 1000 * 225
	}
	if got, dram, compute := cycles(16 << 10); got < max(dram, compute) || got > 1.05*max(dram, compute) {
		t.Errorf("%v cycles, want those of the longer pass, %v or %v", got, dram, compute)
	}
	if got, dram, compute := cycles(160 << 10); got < dram+compute {
		t.Errorf("%v cycles of blocks that run alone, want more than %v and %v", got, dram, compute)
	}
}

// The rest of an unrolled loop is no pass of its own.
func TestRemaindersAreNoPasses(t *testing.T) {
	code := slices.Concat([]string{"MOV R1, R2", ".L_x_1:"}, repeat(4, "LDG.E.128 R4, desc[UR4][R2.64]"), repeat(4, "STG.E.64 desc[UR4][R2.64], R4"), []string{"@P0 BRA `(.L_x_1)", ".L_x_2:",
		"LDG.E.128 R4, desc[UR4][R2.64]", "STG.E.64 desc[UR4][R2.64], R4", "@P0 BRA `(.L_x_2)", ".L_x_3:", "LDG.E.128 R4, desc[UR4][R2.64]", "STG.E.128 desc[UR4][R2.64], R4", "@P0 BRA `(.L_x_3)", "EXIT"})
	got := modelOf(90, 256, 32, 0, code...).passes()
	if len(got) != 2 || got[0].load != 4*512 || got[1].store != 512 {
		t.Errorf("passes %+v, want the unrolled loop and the last", got)
	}
}

// Nor is a loop whose accesses stand behind a branch, right behind one that moves as much: it runs where an array ends. That copies are left out of iterations that
// there are not says nothing.
func TestLoopsBehindABranchAreRemainders(t *testing.T) {
	loop := func(load string, branch ...string) []string {
		return slices.Concat(branch, []string{load, "STG.E.128 desc[UR4][R2.64], R4"})
	}
	code := slices.Concat([]string{"MOV R1, R2", ".L_x_1:"}, loop("@P1 LDGSTS.E.BYPASS.128 [R3], [R2.64]"), []string{"@P0 BRA `(.L_x_1)", ".L_x_2:"},
		loop("LDG.E.128 R4, desc[UR4][R2.64]", "@P1 BRA `(.L_x_3)"), []string{".L_x_3:", "IADD3 R2, R2, R2, RZ", "@P0 BRA `(.L_x_2)", "EXIT"})
	if got := modelOf(90, 256, 32, 0, code...).passes(); len(got) != 1 || got[0].load != 512 {
		t.Errorf("passes %+v, want the first loop", got)
	}
}

func TestLimitsAreHeld(t *testing.T) {
	rated := func(rate float64) outcome { return outcome{timing: &timing{Rate: rate}} }
	rows := []*row{
		{sm: 80, bench: &bench{Name: "gemm_a"}, ours: rated(100), ratio: 1.2, limit: 0.5},
		{sm: 80, bench: &bench{Name: "gemm_b"}, ours: rated(100), ratio: 0.8, limit: 0.5},
		{sm: 80, bench: &bench{Name: "softmax"}, ours: outcome{err: fmt.Errorf("no")}, best: &outcome{}},
	}
	means := geomeans(rows)
	for _, m := range means {
		if m.family == "gemm" {
			within(t, "mean of 1.2 and 0.8", m.ratio, math.Sqrt(1.2*0.8), 1e-9)
		}
	}
	got := exceeded(rows, means, &options{maxRatio: 1.1, maxGeomean: 0.9})
	if want := []string{"sm_80 gemm_a: ratio 1.20", "sm_80 softmax: not compiled", "sm_80 gemm: geometric mean 0.98"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Warps of the four schedulers that all wait for shared memory take turns: none is served before the others each time because of its number.
func TestWarpsTakeTurns(t *testing.T) {
	m := modelOf(80, 256, 255, 160<<10, loopOf(append(repeat(8, "LDSM.16.M88.4 R4, [R2] # 1 0 7 0"), "NOP # 1 7 7 1")...)...)
	s := &simulation{trace: m.traceOf(m.code, m.loops[0], false), warps: 8, blocks: 1, iterations: 12, stages: 1}
	s.run()
	least, most := s.all[0].iteration, s.all[0].iteration
	for _, w := range s.all {
		least, most = min(least, w.iteration), max(most, w.iteration)
	}
	if most > least+1 {
		t.Errorf("one warp has done %d iterations, another %d", most, least)
	}
}

// A warp waits for the products of iterations before its own, however far the one that issues them has come.
func TestProductsBeforeAnIteration(t *testing.T) {
	w := tcgen05Work{all: 30, byIteration: []float64{10, 20, 30}}
	for iteration, want := range []float64{0, 10, 20, 30, 30} {
		if got := w.before(iteration); got != want {
			t.Errorf("iteration %d waits until %g, want %g", iteration, got, want)
		}
	}
}

// ptxas reports 49152 bytes for a kernel with an array of that size, and counts 50176 in its cubin from sm_90 on.
func TestSharedMemoryOfTheSystemIsCountedOnce(t *testing.T) {
	for _, c := range []struct{ sm, counted, want int }{{80, 49152, 49152}, {90, 50176, 49152}, {120, 1024, 0}, {100, 0, 0}} {
		if got := ownShared(c.sm, c.counted); got != c.want {
			t.Errorf("sm_%d: %d bytes of %d are the kernel's, want %d", c.sm, got, c.counted, c.want)
		}
	}
}

// Eight warps of one role share what four would do, and run as long for it: 32 exponentials of each are 8*32*32 of 16 a cycle. Two roles have four warps each.
func TestRolesShareTheWarps(t *testing.T) {
	products := []string{"USETMAXREG 0x20", ".L_x_1:", "UMOV UR37, 0x8100010", "UTCHMMA gdesc[UR32], gdesc[UR34], tmem[UR40], tmem[UR36], idesc[UR37], !UPT",
		"@P0 BRA `(.L_x_1)"}
	reader := func(label string, exponentials int) []string {
		return slices.Concat([]string{label + ":", "LDTM.x32 R4, tmem[UR4]"}, repeat(exponentials, "MUFU.EX2 R8, R8"), []string{"@P1 BRA `(" + label + ")"})
	}
	for _, c := range []struct {
		roles []string
		want  float64
	}{
		{reader(".L_x_2", 32), 8 * 32 * 32 / 16},
		{slices.Concat(reader(".L_x_2", 32), reader(".L_x_3", 1)), 4 * 32 * 32 / 16},
	} {
		m := modelOf(100, 384, 80, 160<<10, slices.Concat(products, c.roles, []string{"EXIT"})...)
		got, err := m.flopRate(0, conditions{})
		if err != nil {
			t.Fatal(err)
		}
		flops := 2. * 128 * 64 * 16
		within(t, "cycles of an iteration", flops/(got*1e3/m.clock/m.count), c.want, 0.1)
	}
}

// The four warps of a group begin a product together: one that comes late, here because of what its scheduler does for others, holds up the group, so that no warp of
// it runs ahead.
func TestGroupsMultiplyTogether(t *testing.T) {
	m := modelOf(90, 128, 128, 160<<10, loopOf("WARPGROUP.ARRIVE", "HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, gsb0", "WARPGROUP.DEPBAR.LE gsb0, 0x0")...)
	s := &simulation{trace: m.traceOf(m.code, m.loops[0], false), warps: 4, blocks: 1, iterations: 8, stages: 1}
	s.start()
	s.issue[3] = 5000
	s.simulate()
	if at := s.iterationEnds[0]; at < 5000 {
		t.Errorf("the group ends an iteration at %v, before its last warp begins at 5000", at)
	}
	for _, w := range s.all {
		if d := w.iteration - s.all[0].iteration; d < -1 || d > 1 {
			t.Errorf("one warp has done %d iterations, another %d", s.all[0].iteration, w.iteration)
		}
	}
}

// What products and copies take of shared memory meanwhile, accesses of warps wait for.
func TestProductsReadSharedMemoryMeanwhile(t *testing.T) {
	reads := repeat(16, "LDS.128 R4, [R2] # 1 7 7 0") // four cycles each, of four warps
	for _, c := range []struct {
		what      string
		code      []string
		fillBytes float64
		want      float64
	}{
		{"nothing", reads, 0, 256},
		{"a product with both factors there", append([]string{"HGMMA.64x256x16.F32 R24, gdesc[UR8], R24 # 1 7 7 0"}, reads...), 0, 256 + (256+64)*16*2/128},
		{"a product of no known shape", append([]string{"UTCHMMA gdesc[UR32], gdesc[UR34], tmem[UR40], tmem[UR36], idesc[UR37], !UPT # 1 7 7 0"}, reads...), 0, 256},
		{"copies", append([]string{"SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2"}, reads...), 4096, 256 + 4096/128},
	} {
		m := modelOf(90, 128, 64, 0, loopOf(c.code...)...)
		s := &simulation{trace: m.traceOf(m.code, m.loops[0], true), warps: 4, blocks: 1, iterations: 32, stages: 8, fillBytes: c.fillBytes}
		s.memory = [numNear]memoryPath{{m.dram(), latencyGlobal}, {bandwidthL2, latencyL2}, {bandwidthL1, latencyL1}}
		ended := s.run()
		last := len(ended) - 1
		within(t, "cycles of an iteration beside "+c.what, (ended[last]-ended[last-16])/16, c.want, 0.03)
	}
}

// Copies that other warps begin have come when their slot has been free for as long as they take, whatever the loop itself loads before it waits for them.
func TestCopiesOfOtherWarpsBeginWhenTheirSlotIsFree(t *testing.T) {
	wait, load := "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2", "LDG.E.128 R4, [R2] # 1 7 7 0"
	m := modelOf(90, 128, 64, 0, loopOf(append([]string{load, wait}, repeat(100, "NOP # 15 7 7 0")...)...)...)
	s := &simulation{trace: m.traceOf(m.code, m.loops[0], true), warps: 4, blocks: 1, iterations: 16, stages: 2, fillBytes: 1024}
	s.memory = [numNear]memoryPath{{m.dram(), latencyGlobal}, {bandwidthL2, latencyL2}, {bandwidthL1, latencyL1}}
	ended := s.run()
	last := len(ended) - 1
	within(t, "cycles of an iteration that waits for nothing", (ended[last]-ended[last-8])/8, 1500, 0.02)
}

// A loop that begins its copies itself, where shared memory has no room for two iterations, waits for memory as often as it says. Where there is room, they begin
// when their slot is free.
func TestCopiesOfALoopBeginWhereItSays(t *testing.T) {
	body := []string{"UTMALDG.2D [UR4], [UR8] # 1 7 7 0", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2 # 1 7 7 0", "HMMA.16816.F32 R4, R8, R12, R4 # 15 7 7 0"}
	for _, c := range []struct {
		shared int
		waits  float64
	}{{6 << 10, 2 * latencyGlobal}, {64 << 10, 0}} {
		m := modelOf(90, 128, 64, c.shared, loopOf(append(slices.Concat(body, body), repeat(200, "NOP # 15 7 7 0")...)...)...)
		m.blocks = 1
		flops := m.costOf(m.code, m.loops[0]).flops * 4
		r := m.run(m.loops[0], conditions{fillPerFlop: (4 << 10) / flops})
		within(t, fmt.Sprintf("cycles of an iteration with %d bytes of shared memory", c.shared), r.cycles, 3050+c.waits, 0.06)
	}
}

// Warps that wait for what nobody announces end the simulation.
func TestWarpsThatWaitForEachOtherEnd(t *testing.T) {
	m := modelOf(100, 128, 64, 0, loopOf("NOP # 1 7 7 0")...)
	s := &simulation{trace: m.traceOf(m.code, m.loops[0], false), warps: 4, blocks: 1, iterations: 8, stages: 1}
	s.steps = append(slices.Clone(s.steps), step{effect: effectWaitProduct})
	if ended := s.run(); ended != nil {
		t.Errorf("iterations end at %v", ended)
	}
}

// The tensor unit frees what it has read: it arrives for that at another mbarrier than those at which threads wait for products.
func TestTheUnitFreesWhatItHasRead(t *testing.T) {
	m := modelOf(100, 160, 64, 0, loopOf("SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR4+0x100], R2", "ULOP3.LUT UR6, UR5, 0x7, URZ, 0xc0, !UPT", "UIADD3 UR6, UR6, 0x200, URZ",
		"UTCHMMA gdesc[UR32], gdesc[UR34], tmem[UR40], tmem[UR36], idesc[UR37], !UPT", "UTCBAR [UR6], URZ", "UTCBAR [UR8], URZ", "UIADD3 UR5, UR5, 0x1, URZ")...)
	trace := m.traceOf(m.code, m.loops[0], true)
	var deeds []effect
	for _, s := range trace.steps {
		if s.effect != effectNone {
			deeds = append(deeds, s.effect)
		}
	}
	if want := []effect{effectWaitFull, effectTcgen05, effectCommitProducts, effectReleaseSlot}; !trace.released || !slices.Equal(deeds, want) {
		t.Errorf("released is %v, what instructions do %v, want %v", trace.released, deeds, want)
	}
}

// Where uniform registers are short, the count of products lies in another register, and comes there by an addition to nothing.
func TestTurnsThatPassThroughAnotherRegister(t *testing.T) {
	product := []string{"R2UR UR8, R130", "ULOP3.LUT UR6, UR8, 0x7, URZ, 0xc0, !UPT", "UIADD3 UR6, UPT, UPT, UR6, 0x100, URZ",
		"UTCHMMA gdesc[UR32], gdesc[UR34], tmem[UR40], tmem[UR36], idesc[UR37], !UPT", "UTCBAR [UR6], URZ", "UIADD3 UR8, UPT, UPT, UR8, 0x1, URZ", "IMAD.U32 R130, RZ, RZ, UR8"}
	wait := []string{"R2UR UR8, R130", "UIADD3 UR8, UPT, UPT, UR8, -0x1, URZ", "ULOP3.LUT UR8, UR8, 0x7, URZ, 0xc0, !UPT", "SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR8+0x100], R2"}
	m := modelOf(100, 160, 64, 0, loopOf(slices.Concat(product, wait)...)...)
	turns := productWaitsOf(m.code, m.loops[0])
	if waits := slices.Collect(maps.Values(turns.waits)); !turns.complete || turns.commits != 1 || !slices.Equal(waits, []int{0}) {
		t.Errorf("waits are for products %v of %d, and all are known: %v; want the one of this iteration", waits, turns.commits, turns.complete)
	}
}

// A block that takes 256 of 512 columns of tensor memory leaves room for one other, whatever registers and shared memory say.
func TestColumnsOfTensorMemoryLimitBlocks(t *testing.T) {
	for _, c := range []struct {
		parts string
		want  int
	}{{"0x8", 2}, {"0x10", 1}, {"0x4", 4}} {
		m := modelOf(100, 128, 64, 16<<10, "UMOV UR8, "+c.parts, "UMOV UR4, 0x40", "UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR4, UR8", "EXIT")
		if m.blocks != c.want {
			t.Errorf("%s: %d blocks, want %d", c.parts, m.blocks, c.want)
		}
	}
}

// Of two versions of a loop, that for arrays that are not aligned loads fewest bytes at a time.
func TestTheVersionOfUnalignedArraysLoadsNarrowly(t *testing.T) {
	version := func(label int, load string) []string {
		name := fmt.Sprintf(".L_x_%d", label)
		return slices.Concat([]string{"MOV R1, R2", name + ":"}, repeat(4, load), repeat(2, "HMMA.16816.F32 R4, R8, R12, R4"), []string{"@P0 BRA `(" + name + ")"})
	}
	lines := slices.Concat(version(1, "LDG.E.128 R20, desc[UR4][R2.64]"), version(2, "LDG.E.U16 R20, desc[UR4][R2.64]"), []string{"EXIT"})
	m := modelOf(80, 128, 128, 0, lines...)
	loops := m.products()
	if len(loops) != 2 || m.code[loops[m.narrowest()][0]].width() != 2 {
		t.Errorf("of %d loops number %d", len(loops), m.narrowest())
	}
	for _, c := range []struct {
		stride float64
		want   bool
	}{{4096, true}, {4091, false}, {1, true}} {
		b := &bench{}
		if err := json.Unmarshal(fmt.Appendf(nil, `{"buffers": {"a": {"dtype": "f16", "view": {"strides": [%v, 1]}}}}`, c.stride), b); err != nil || b.aligned() != c.want {
			t.Errorf("rows of %v elements: aligned is %v, %v", c.stride, b.aligned(), err)
		}
	}
}

// Where threads of another role load what is multiplied and store it to shared memory, the product is no faster than they.
func TestRolesThatStoreFactorsAreTimed(t *testing.T) {
	product := slices.Concat([]string{"USETMAXREG.DEALLOC.CTAPOOL 0x20", ".L_x_1:", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR8+0x10], R0"},
		repeat(2, "HMMA.16816.F32 R4, R8, R12, R4"), []string{"@P0 BRA `(.L_x_1)"})
	feeder := slices.Concat([]string{"MOV R1, R2", ".L_x_2:"}, repeat(40, "LDG.E.U16 R20, desc[UR4][R2.64] # 2 0 7 0"), repeat(40, "STS.U16 [R3], R20 # 2 7 7 1"), []string{"@P1 BRA `(.L_x_2)", "EXIT"})
	alone, err := modelOf(80, 256, 64, 0, append(product, "EXIT")...).flopRate(0, conditions{})
	if err != nil {
		t.Fatal(err)
	}
	fed, err := modelOf(80, 256, 64, 0, append(product, feeder...)...).flopRate(0, conditions{})
	if err != nil || fed > alone/4 {
		t.Errorf("%v TF/s behind threads that store 40 elements each, %v without, %v", fed, alone, err)
	}
}

func TestPeaksFollowTheTypes(t *testing.T) {
	for _, c := range []struct {
		kernel string
		sm     int
		times  float64 // of the peak of 16-bit operands
	}{
		{"gemm_bf16_128x128x64", 80, 1}, {"gemm_f32_4096_128x128x32_tf32", 80, 0.5}, {"gemm_w8_bf16_128x128x64", 90, 1},
		{"gemm_f8e4m3fn_4096_128x128x128_nt", 80, 1}, {"gemm_f8e4m3fn_4096_128x128x128_nt", 89, 2}, {"attention_f8e4m3fn_d64_128x128", 90, 2},
		{"gemm_i8_128x128x64", 80, 2}, {"gemm_i8_128x128x64", 120, 2},
	} {
		if got := chipOf[c.sm].peak(c.kernel) / chipOf[c.sm].tensorPeak(); got != c.times {
			t.Errorf("%s on sm_%d: %v times the peak of 16 bits, want %v", c.kernel, c.sm, got, c.times)
		}
	}
}

// What a step copies, against what it multiplies: (128+64)*64 elements of two bytes for 2*128*64*64 flops, and so on.
func TestRingsFollowFromTheNameOfAKernel(t *testing.T) {
	for name, want := range map[string]float64{
		"gemm_bf16_128x64x64":         192. * 2 / (2 * 128 * 64),
		"gemm_f8e4m3fn_128x64x64":     192. / (2 * 128 * 64),
		"gemm_w8_bf16_128x64x64":      (128*2 + 64) / (2. * 128 * 64),
		"gemm_w4_bf16_128x64x64":      (128*2 + 32) / (2. * 128 * 64),
		"gemm_dual_bf16_128x64x64":    (128 + 2*64) * 2 / (4. * 128 * 64),
		"gemm_lora16_bf16_128x64x64":  (128 + 64 + 16) * 2 / (2. * 128 * (64 + 16)),
		"gemm_complex_bf16_128x64x32": 2 * (128 + 64) * 2 / (8. * 128 * 64),
	} {
		if got, _ := copyTraffic(name); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %g bytes a flop, not %g", name, got, want)
		}
	}
}
