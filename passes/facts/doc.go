// Package facts answers what is known at compile time about integer and pointer values of TileAA: intervals, known-zero
// low bits, runs of neighbours that count up or are equal, and where a pointer points. Facts are computed on demand and
// cached; they are never stored in the module.
//
// Everything else asks it before it drops a mask, widens an access or narrows an offset, so each answer must hold for
// every execution that is defined: "not known" is always right, a wrong fact never is.
//
// It may import ir and dialects only.
package facts
