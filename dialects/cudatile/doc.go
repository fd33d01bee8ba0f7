// Package cudatile is the cuda_tile dialect: NVIDIA's CUDA Tile IR, all versions of its bytecode. It holds the types, the
// attributes, the type constraints and the verifiers; the rows of the operations are data in package def, and the codec
// that reads and writes them is package bytecode.
//
//	bytes ── bytecode.Read ──> module of entries and globals <── ir text parser ── text
package cudatile
