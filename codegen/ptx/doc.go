// Package ptx is the back end: it translates a module of LLVM IR kernels to PTX
// text. [Emit] does
//
//	select     LLVM instructions and inline assembly -> rows of codegen/ptxop
//	simplify   dead code, mad, mul.wide, negated guards
//	hide       constant factors that ptxas would miscompile
//	schedule   fewer live registers in blocks that have too many
//	destruct   out of SSA: register classes, coalescing, parallel copies
//	print      header comment, directives, declarations, code
//
// and picks the lowest PTX version, and the target's suffix, that the used rows
// ask for.
//
// # What the LLVM IR may contain
//
// Types: i1, i8, i16, i32, i64, float, double, pointers; structs of these as
// results of inline assembly; arrays and structs of them in memory. Pointers to
// shared memory (address space 3) have 32 bits in PTX, all others 64; a shared
// address is best kept as an i32, ptrtoint of the variable: LLVM's own back end
// agrees with that. Floats of 16 bits and fewer are integers. Float constants
// are bitcasts of integers, which keeps every bit of them.
//
// Instructions: integer and float arithmetic (floats in the default rounding,
// printed with .rn so that ptxas does not contract them), icmp, fcmp, select,
// casts, freeze, getelementptr, phi, br, ret void, unreachable, extractvalue of
// a call, alloca with plain loads and stores of it (the argument block of
// vprintf), calls of vprintf, and calls of inline assembly that is a row of
// codegen/ptxop. Anything else is "not supported". Constant additions that lead
// to an address are absorbed into its offset.
//
// Functions are kernels with calling convention ptx_kernel (or annotated as
// kernels). Parameters are integers of 8 bits and more, floats, pointers;
// `i8 addrspace(1)* align 16` says what is known of a pointer. Global variables
// of address spaces 1 and 4 become .global and .const; a variable of address
// space 3 is declared in the kernels that use it, or as dynamic shared memory
// when the CUDA convention demands it (more than 48 KB), so the producer need
// not know the convention.
//
// # Metadata
//
// What LLVM IR has no words for is metadata, so it survives printing and
// parsing. Names are constants of codegen/ptxop.
//
//	!nvvm.annotations = !{!0, ...}   !0 = !{FN, !"key", i32 value, ...} with the keys
//	    kernel               1: a kernel (as LLVM)
//	    reqntidx             threads of a block, .reqntid (as LLVM)
//	    maxnreg              .maxnreg (as LLVM)
//	    tileiras.cluster     blocks of a cluster, .reqnctapercluster
//	    tileiras.dynshared   size of a shared variable declared `external`
//	!tileiras.class !{i32 N}      on a phi, an extractvalue or a call with one
//	    result: all values with the same N > 0 live in one register. The producer
//	    promises that they are never alive together; if they are, Emit fails with
//	    "BUG:", it never inserts a move.
//	!tileiras.uniform !{}         on br: all lanes of the warp go the same way (bra.uni)
//	!llvm.loop !{self, !{!"llvm.loop.unroll.disable"}}   on the br of the back edge:
//	    .pragma "nounroll" in the header (as LLVM)
//	!tileiras.source !{!"text"}   on any instruction: a comment in the PTX, printed
//	    where it changes
//	!dbg                          LLVM's debug locations: .file and .loc, when
//	    Options.LineInfo asks for them
//
// Tied arguments of guarded rows ("keep this where the guard is false") need no
// metadata: a move is written where the argument lives on or is a constant.
//
// # Imports
//
// The package imports the standard library, ir/budget,
// codegen/{options,target,ptxop,local,planted} and llir. It must not import
// llir/asm (the parser; tests may), ir, the dialects or other packages of
// codegen.
package ptx
