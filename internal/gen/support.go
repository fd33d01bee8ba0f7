package main

import (
	"fmt"
	"slices"
	"strings"

	"tileiras/codegen/atom"
	"tileiras/codegen/nvvm"
	"tileiras/codegen/ptxop"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/internal/driver"
	"tileiras/passes/convert"
)

// supportDocument is the text of docs/support.md.
func supportDocument() string {
	var b strings.Builder
	b.WriteString(`# What is supported

Written by ` + "`go run ./internal/gen`" + ` from the tables of GPUs, conversions, lowerings and instructions and from internal/gen/limits.go; edit
those. What is not supported ends in an error that says "not supported yet" with the operation, its type and its place, and in exit
code 5. Nothing is compiled to something else in silence.

Bytecode is read and written in the versions ` + strings.Join(driver.Versions(), ", ") + `.

## Not built yet

`)
	table(&b, "What", "Now")
	for _, m := range notBuilt {
		tableRow(&b, m.what, m.now)
	}
	b.WriteString("\n## Limits inside what is supported\n\nEach of them is an error that names the operation.\n\n")
	table(&b, "Operation", "Not supported", "Why")
	for _, l := range limits {
		tableRow(&b, l.op, l.what, l.why)
	}
	b.WriteString("\nVerifier and passes let none of the following through: at most the text of a stage, written by hand, has it.\n\n")
	table(&b, "Operation", "Not supported", "Why")
	for _, l := range limitsOfStages {
		tableRow(&b, l.op, l.what, l.why)
	}
	b.WriteString("\n## Limits elsewhere\n\nWhat reads, runs and prints says \"not supported yet\" here.\n\n")
	table(&b, "Part", "Not supported", "Why")
	for _, l := range elsewhere {
		tableRow(&b, l.part, l.what, l.why)
	}
	operationsSection(&b)
	targetsSection(&b)
	b.WriteString("\n## Matrix products\n\nA `dot` takes the cheapest row that fits its types and extents; operands are widened exactly, never narrowed. " +
		"The rows fma and dp4a are what each thread does by itself: every product of their types works everywhere. " +
		"The last column is the GPUs whose matrix unit does not take the types: ptxas would widen the operands of every single instruction, so tiles " +
		"are widened once, to f16. Where no row takes the scales of a `mmaf_scaled`, its operands are multiplied by them in bf16 first. That is exact for " +
		"products of them from 2^-126 up and below 2^128; smaller ones lose bits, bigger ones are infinite, also where the scale of the other operand would make up for it.\n\n")
	table(&b, "Instruction", "A", "B", "Accumulator", "Needs", "Taken for small tiles only")
	for _, m := range atom.MMAs() {
		tableRow(&b, code(m.Name), string(m.A), string(m.B), string(m.C), m.Need.String(), lacking(m))
	}
	return b.String()
}

// lacking are the GPUs that have an atom's instruction but no unit for its types.
func lacking(m *atom.MMA) string {
	var names []string
	for _, t := range target.All {
		if m.Need.On(t) && m.Unit&^t.Families != 0 {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, ", ")
}

// operationsSection lists the operations of both dialects with what becomes of them.
func operationsSection(b *strings.Builder) {
	b.WriteString("\n## Operations of cuda_tile\n\nWhat each operation inside an entry becomes in TileAA.\n\n")
	table(b, "Operation", "Becomes")
	for _, r := range convert.Support() {
		tableRow(b, code(r.Op), r.Becomes)
	}
	lowered := nvvm.Lowered()
	var names, others []string
	for _, d := range tileaa.Dialect.Ops {
		if slices.Contains(lowered, d.Name) {
			names = append(names, code(d.Name))
		} else {
			others = append(others, fmt.Sprintf("%s (%s)", code(d.Name), unlowered[d.Name]))
		}
	}
	fmt.Fprintf(b, "\n## Operations of TileAA\n\nLowered to LLVM IR by codegen/nvvm: %s.\n\nWithout a lowering of their own: %s.\n",
		strings.Join(names, ", "), strings.Join(others, ", "))
}

// targetsSection lists the GPUs with their limits and the features by which passes choose.
func targetsSection(b *strings.Builder) {
	b.WriteString("\n## GPUs\n\nShared memory in KB; of one thread block: without asking, at most; then of a multiprocessor.\n\n")
	table(b, "Name", "PTX", "With suffix", "Shared", "At most", "Per SM", "Registers per SM", "Per thread", "Threads a block", "Warps per SM", "Blocks per SM", "Blocks a cluster")
	for _, t := range target.All {
		suffix := ""
		if t.Arch {
			suffix = fmt.Sprintf("%s, PTX %s", t.ArchName(), t.ArchPTX)
		}
		const kb = 1024
		tableRow(b, code(t.Name), t.PTX.String(), suffix, itoa(t.SharedStatic/kb), itoa(t.SharedOptIn/kb), itoa(t.SharedPerSM/kb), itoa(t.Registers),
			itoa(t.RegistersPerThread), itoa(target.ThreadsPerBlock), itoa(t.WarpsPerSM), itoa(t.BlocksPerSM), itoa(t.ClusterMax))
	}
	b.WriteString("\n## Features of GPUs\n\nThat a feature has a row here says that the compiler knows who has it; whether it is used yet, the list on top says.\n\n")
	table(b, "Feature", "What", "Needs")
	for _, f := range features {
		tableRow(b, code(f.name), f.what, ptxop.Must(f.row).Need.String())
	}
}

// features are what GPUs have come to have, in that order: who has one is what an instruction of it needs.
var features = []struct{ name, what, row string }{
	{"ldmatrix", "8x8 matrices of 16-bit elements from shared memory to mma fragments", "ldmatrix.m8n8.x1.shared.b16"},
	{"mma.f16", "warp-level f16 and int8 matrix product", "mma.m16n8k8.row.col.f32.f16.f16.f32"},
	{"f16x2.minmax", "packed half minimum and maximum", "min.f16x2"},
	{"cp.async", "asynchronous copies of 4, 8 or 16 bytes from global to shared memory", "cp.async.commit_group"},
	{"mma.bf16", "warp-level bf16, tf32 and f64 matrix product, f16 and int8 of double depth", "mma.m16n8k16.row.col.f32.bf16.bf16.f32"},
	{"bf16x2.fma", "packed bf16 fma, minimum and maximum", "fma.rn.bf16x2"},
	{"redux", "integer reduction over a warp in one instruction", "redux.sync.add.u32"},
	{"minmax.nan", "minimum and maximum that propagate NaN", "min.NaN.f32"},
	{"fp8.cvt", "packed conversions from and to e4m3 and e5m2", "cvt.rn.f16x2.e4m3x2"},
	{"mma.fp8", "warp-level e4m3 and e5m2 matrix product", "mma.m16n8k32.row.col.f32.e4m3.e4m3.f32"},
	{"bf16x2.add", "packed bf16 addition and multiplication", "add.rn.bf16x2"},
	{"stmatrix", "mma fragments to 8x8 matrices in shared memory", "stmatrix.m8n8.x1.shared.b16"},
	{"cluster", "thread block clusters and distributed shared memory", "mapa.shared::cluster.u32"},
	{"griddep", "programmatic dependent launch", "griddepcontrol.wait"},
	{"bulk", "bulk and tensor-map copies, mbarrier transactions", "cp.async.bulk.tensor.1d"},
	{"tensormap", "tensor maps that a kernel makes itself", "tensormap.replace.rank"},
	{"wgmma", "warpgroup matrix product", "wgmma.m64n256k16.f32.f16.f16"},
	{"tcgen05", "matrix product with accumulators in tensor memory", "tcgen05.mma.f16"},
	{"fp4.cvt", "packed conversions from and to e2m1 and ue8m0", "cvt.rn.f16x2.e2m1x2"},
	{"mma.blockscale", "warp-level block-scaled 8, 6 and 4 bit matrix product", "mma.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0"},
}
