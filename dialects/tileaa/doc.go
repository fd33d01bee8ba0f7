// Package tileaa is the second dialect of the compiler: the same tile values as cuda_tile, but with memory made explicit,
// and later with a plan, layouts, atoms and buffers. It is the last form that knows tiles.
//
// The rows are in def; this package adds types, attributes, verifiers and the specification of what is legal after each
// pass.
package tileaa
