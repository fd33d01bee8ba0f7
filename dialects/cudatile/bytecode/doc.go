// Package bytecode reads and writes Tile IR bytecode, versions def.Oldest to def.Newest. The encoding of an operation follows from its
// row in dialects/cudatile/def; nothing here names an operation but the three that have sections of their own.
//
//	7F "TileIR" 00, major, minor, tag
//	section*   Function, Constant, Debug, Type, String, Global, Producer, in any order
//	00
//
//	Function ── types, strings, constants by index ──> Type, String, Constant tables (decoded when first used)
//	         ── one location per op, in pre-order ──> Debug
//
// Read keeps what a module cannot say (the order of sections and tables, entries that nothing uses) in an Origin, and Write
// with that Origin gives back the same bytes. Reading is not verifying: what Read returns is well formed (every index
// exists, every type is legal, every value is defined before its use), and whether the operations obey their rules is the
// verifier's question.
//
// The format is described by the bytecode pages of the Tile IR specification (docs.nvidia.com/cuda/tile-ir); where they and
// the official tools disagree, the tools are followed.
package bytecode
