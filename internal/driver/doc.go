// Package driver is the whole way from bytes to PTX: it reads, runs passes.Pipeline, lowers to LLVM IR and prints PTX, and it is
// what the commands share: the table of flags, the reading of command lines, messages and exit codes.
//
// It may import everything but runtime and llir's parser (github.com/llir/llvm/asm), which only cmd/tile-opt and tests use.
package driver
