package ptxop

// Names of the metadata with which the LLVM IR tells codegen/ptx what LLVM has
// no instruction for. They are kept here because the producer (codegen/nvvm) and
// the consumer (codegen/ptx) share them; codegen/ptx documents each.
const (
	// Annotations is LLVM's named metadata of NVPTX kernels:
	// !nvvm.annotations = !{!{FN, !"key", i32 value}, ...}.
	Annotations = "nvvm.annotations"

	// Keys of Annotations. The first three are LLVM's own.
	KeyKernel      = "kernel"             // 1
	KeyThreads     = "reqntidx"           // threads of a block
	KeyMaxRegs     = "maxnreg"            // registers per thread, at most
	KeyClusterCTAs = "tileiras.cluster"   // blocks in a cluster
	KeyDynShared   = "tileiras.dynshared" // bytes of dynamic shared memory

	// Class: attached to a phi, an extractvalue or a call with one result,
	// !{i32 N}: values with the same N live in one register.
	Class = "tileiras.class"

	// Uniform: attached to a conditional or plain br, !{}: all lanes of a warp
	// that reach it go the same way.
	Uniform = "tileiras.uniform"

	// Source: attached to any instruction, !{!"text"}: printed as a comment
	// before the first instruction that carries it.
	Source = "tileiras.source"

	// Loop is LLVM's loop metadata, attached to the br of the back edge; a node
	// !{!"llvm.loop.unroll.disable"} among its fields forbids unrolling.
	Loop          = "llvm.loop"
	UnrollDisable = "llvm.loop.unroll.disable"

	// Debug is LLVM's debug location, attached to any instruction.
	Debug = "dbg"

	// Vprintf is the function of the device runtime that prints:
	// i32 @vprintf(i8* format, i8* arguments).
	Vprintf = "vprintf"
)
