// Package driver is the whole way from bytes to PTX: it reads, runs passes.Pipeline, lowers to LLVM IR and prints PTX, and it is
// what the commands share: the table of flags, the reading of command lines, messages and exit codes.
package driver
