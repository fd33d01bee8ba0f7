// Package emu executes PTX without a GPU and checks it while it runs.
//
//	text --parse--> Module --decode--> program (per entry) --Run--> memory, statistics, reports
//
// A module is checked when it is loaded: names, operands, registers and .target that PTX does not allow are errors (decode.go, table.go).
//
// It is an oracle: it shares no code with the compiler whose output it checks. It has its own PTX
// parser, its own float rounding and its own fragment layouts of the matrix instructions, all written from
// the PTX ISA (section numbers in comments mean PTX ISA 8.x/9.x).
//
// A warp is the unit of execution. A register is a vector of 32 lanes, an instruction is one loop over
// them. Lanes that diverge at a branch run as separate groups, the one with the lowest pc first, so they
// reconverge by themselves (warp.go). Warps and CTAs are interleaved by a deterministic schedule (sched.go).
//
// What is checked, each by a Report that names the PTX line, the thread and the address:
//
//   - bounds to the byte, alignment (memory.go, access.go)
//   - undefined bits, propagated through registers and memory, where they reach an address, a guard, a
//     barrier or global memory (undef.go)
//   - data races on shared and global memory: the epochs of the last accesses against vector clocks
//     (clock.go, race.go), which releases and acquires join where the scope of each includes the other's
//     thread (release.go)
//   - bytes and registers used by asynchronous operations in flight, missing proxy fences (agents.go)
//   - tensor memory that is not allocated, not freed, or of another warp (tmem.go)
//   - barriers by partial warps, divergent bra.uni, deadlock (barrier.go, sched.go),
//     endless loops (endless.go)
//
// CTAs that do not communicate may run in parallel, with results and reports as if they did not (parallel.go).
package emu
