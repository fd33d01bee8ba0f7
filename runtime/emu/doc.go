// Package emu runs PTX without a GPU and judges it while it runs.
//
//	text --parse--> Module --decode--> program (per entry) --Run--> memory, statistics, reports
//
// It is an oracle: it shares no code with the compiler whose output it judges. It has its own PTX
// reader, its own float rounding and its own lane maps of the matrix instructions, all written from
// the PTX ISA (section numbers in comments mean PTX ISA 8.x/9.x).
//
// A warp is the unit of execution. A register is a vector of 32 lanes, an instruction is one loop over
// them, and lanes that disagree at a branch continue as separate groups, those of the least place in the
// program first, so they meet again by themselves (warp.go). Warps and CTAs are interleaved by a
// deterministic schedule (sched.go).
//
// What is checked, each by a Report with the place in the program, in the grid and in memory:
//
//   - bounds to the byte, alignment (memory.go, access.go)
//   - undefined bits, followed through registers and memory, where they reach an address, a guard, a
//     barrier or global memory (undef.go)
//   - data races over shared and global bytes: last accesses as epochs against vector clocks
//     (clock.go, race.go)
//   - bytes and registers of asynchronous work that has not been waited for, missing proxy fences (agents.go)
//   - tensor memory that is not allocated, not freed, or of another warp (tmem.go)
//   - barriers by partial warps, divergent bra.uni, deadlock (barrier.go, sched.go)
//
// CTAs that cannot speak to each other may run in parts beside each other; nobody can see it (parallel.go).
//
// The package imports the standard library only (ir/float is allowed to it, nothing else is).
package emu
