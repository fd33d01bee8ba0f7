// Package nvvm lowers TileAA to LLVM IR: tile values become lists of per-thread registers, tile operations the instructions of one
// thread. It lowers exactly the form that insert-barriers leaves: every tile has a layout, every shared buffer an offset, every
// barrier stands in the text.
//
// A tile value is one register per register index of its layout (see tile). Element types map to registers so:
//
//	i1          i1        a predicate
//	i4 i8 f4 f8 i8        four share a 32-bit word where the layout has four registers
//	i16 f16 bf16 i16      two share a 32-bit word where the layout has two registers
//	i32 tf32    i32
//	i64 ptr     i64
//	f32, f64    float, double
//
// The IR uses a small part of LLVM: integer and f32/f64 arithmetic in the default rounding, icmp, fcmp, select, trunc, zext, sext,
// bitcast, phi, br, ret, ptrtoint of parameters and globals, extractvalue. Everything else is inline assembly from the table of
// codegen/ptxop, and a call of vprintf. What LLVM has no words for is metadata named in codegen/ptxop.
//
// Replicas of an element (layouts may hold one in several threads) are equal bit for bit: every lowering computes the same value
// from the same operands wherever it runs. Operations that must happen once run in the owner thread: the one whose redundant
// thread bits (layout.FreeMask) are zero.
//
// The package imports ir, dialects/tileaa, codegen/{layout,atom,cost,options,target,ptxop,local,planted} and llir (its parser, llir/asm, is for
// tests). It must not import passes, codegen/ptx or any runtime package.
package nvvm
