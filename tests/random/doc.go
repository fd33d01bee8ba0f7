// Package random makes random valid modules of cuda_tile and holds the compiler against the interpreter on them.
//
//	seed --Module--> text --driver.Read--> module --interp, strict--> what must be in memory --.
//	                   |                                                                       +-- equal, bit by bit
//	                   '--driver.Compile, for several GPUs--> PTX --emulator, all checks on----'
//
// A module says how it is launched by itself (launch.go), so a text in testdata is a whole test. When one fails, Reduce makes it
// small. Each module is compiled as it is, with roles, and with less shared memory than it took at first.
//
// Modules have no undefined values and are exact where it matters: what the interpreter marks inexact (approximated functions,
// sums that depend on their order) flows into float arithmetic and stores only, and of it only what is another number is a difference (check.go). Sums and
// products of matrices are of small integers, so they are exact in every order.
//
// What programs mean (the kinds programs and control) does not rest on the interpreter: the generator writes each statement as text and as what it does to integers, and
// the interpreter is held against that as well.
//
//	generate.go   the generator's state: types, values, scopes
//	arith.go      elementwise operations and conversions
//	shape.go      shapes, reductions, products
//	matmul.go     products in loops, of views and of tiles of pointers, whole and ragged
//	chain.go      products of what other products gave, in loops
//	attention.go  attention with tiles as big as those of users
//	tiles.go      products whose tiles blocks share in a loop
//	fused.go      products with what kernels do behind them, with such tiles
//	programs.go   programs of which the generator knows the result by itself
//	statements.go their statements
//	sums.go       their products, in loops of many forms
//	regions.go    their loops and branches, and the tokens that go through them
//	areas.go      their memory: views, pointers, tokens
//	pieces.go     their loops whose rounds have a piece of memory each, and tiles that a loop overwrites
//	exact.go      their operations, as text and as numbers
//	evaluate.go   what they leave in memory
//	flows.go      programs of control flow: ifs, fors and loops of every shape, which keep journals of what they do
//	flow_values.go, flow_ops.go, flow_memory.go, flow_access.go
//	              their numbers, operations that may be undefined and ends of what numbers may be, journals, arrays and pointers under masks
//	flow_regions.go, flow_loops.go, flow_counts.go, flow_guards.go
//	              their ifs and jumps, loops, fors, comparisons of what grows with counters
//	rows.go       operations that their rows say enough of
//	scan.go       reductions and scans of several tiles, scans that do not commute
//	memory.go     loads, stores, views, round trips through memory, atomics
//	ordered.go    accesses to one piece of memory that only tokens order
//	views.go      accesses through the rarer views
//	control.go    loops and ifs
//	launch.go     how a module is launched
//	check.go      interpreter against emulator
//	three.go      interpreter against our PTX and NVIDIA's
//	reduce.go     makes a failing module small
package random
