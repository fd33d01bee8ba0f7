// Package executor runs kernels on this machine, without a GPU: it compiles once and launches many times on memory that the caller owns.
//
//	bytecode, text or PTX --Load, LoadPTX--> Program --Launch(kernel, grid, parameters, memory)--> Report, or a *Fault
//
// A Program holds the module prepared for one engine: the interpreter of cuda_tile (runtime/interp), or our PTX in the emulator (runtime/emu). Memory is
// given as regions: bytes of the caller and the address at which the kernel sees them. Nothing is copied, and what lies between regions is
// out of bounds. An error of Load is one of a compile: errors.As finds a *tileiras.Error, which has its diagnostics. What the kernel does wrong is
// a Fault with its source location, the tile block and the address.
package executor
