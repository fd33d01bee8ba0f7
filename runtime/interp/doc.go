// Package interp is the reference interpreter of the cuda_tile dialect: it computes what a module means, element by element,
// so that every compiled form of it can be compared with one answer.
//
//	module ──New──> Program ── Run(entry, Memory, arguments) ──> Memory afterwards, or a Report
//
// New turns every operation into one closure over numbered slots: a rule per operation (rules.go), grouped in files by
// family. A value is a tile, a view or a token. Each element of a tile carries its bits and two flags:
//
//   - undef: the program may see any bits here (a load outside an array without padding, an integer division by zero, a
//     sum that wraps against its promise). An undef element that reaches a store, an address, a mask, a branch or an assertion
//     ends the run with a Report.
//   - inexact: another correct implementation may compute other bits (a sum that depends on its order, an approximation
//     of a function). Memory remembers which bytes are inexact, so that a caller can ask for equality everywhere else.
//     Options.Strict ends the run where such an element reaches anything but float arithmetic and stores.
//
// A NaN that arithmetic makes is the canonical one, but its payload is unspecified: a bitcast or a pack of a NaN is inexact. Sums
// and products of matrices and reductions are accumulated in f64 and rounded once; they count as exact when no order of
// summation could round (see exact.go). Tile blocks run one after the other, x fastest, so a block may wait for an earlier
// one.
//
// The interpreter is independent of the rest of the compiler: it calls no fold and shares only ir/float, which has proofs of its
// own.
package interp
