// Package ir is the generic core that every dialect stands on: contexts, types, attributes, locations, operations,
// values, blocks and regions, with builders, walks, verification, diagnostics and the text parser and printer.
//
// It names no dialect. A dialect is a table of rows (OpDef) and a few hooks; the parser, the printer, the verifier, the
// bytecode codec and the documentation all read the same rows.
//
//	Context ── owns ──> interned types, dialect tables, diagnostics     (one compile, one goroutine)
//	Op ── in a linked list of ──> Block ── in a list of ──> Region ── of ──> Op
//	Op ── operand slots, intrusive use lists ──> Value ── result of ──> Op, or argument of ──> Block
package ir
