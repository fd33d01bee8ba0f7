// Package facts is an abstract interpretation of the integer and pointer values of TileAA: signed and unsigned intervals,
// known-zero low bits (divisibility by powers of two), contiguity and constancy along each dimension of a tile, and the
// address space of pointers. Facts are computed on demand and cached; they are never stored in the module.
//
//	fact.go, facts.go          the lattice; the cache, and the fixpoints of loops
//	transfer.go                the transfer functions, one per op; interval.go and axis.go are their two halves
//	access.go, distinct.go     what a memory access asks: bounds, vector width, overlap
//
// Everything else asks it before it drops a mask, widens an access or narrows an offset, so each answer must hold for
// every execution that is defined: "not known" is always right, a wrong fact never is.
package facts
