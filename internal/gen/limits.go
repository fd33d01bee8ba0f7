package main

import (
	"strings"

	"tileiras/codegen/target"
)

// notBuilt is what the compiler as a whole cannot do yet, and what it does instead.
var notBuilt = []struct{ what, now string }{
	{"Full debug information (`--device-debug`)", "`-O0 -g` writes source lines, as `--lineinfo`."},
	{"Warpgroup products (wgmma: " + having(target.WGMMA) + ")", "Products use mma.sync."},
	{"Tensor memory products (tcgen05: " + having(target.Tcgen05) + ")", "Products use mma.sync."},
	{"Block-scaled products in one instruction (" + having(target.BlockScale) + ")", "`mmaf_scaled` multiplies by the scales first, then takes an ordinary product."},
	{"Tensor map and bulk copies (TMA), mbarriers", "Copies to shared memory are cp.async with commit, wait and barrier; sm_75 loads and stores."},
	{"Roles of warps, clusters", "All warps do the same, a cluster is one block."},
}

// limits are the sources of "not supported yet" inside conversions and lowerings: the function that says so, the operation, and
// what it does not take. A test holds the list against the code.
var limits = []struct{ function, op, what string }{
	{"convert.module", "`module`", "Anything but globals and entries at the top level."},
	{"convert.entry", "`entry`", "Parameters that are tiles of rank 1 or more, views or tokens."},
	{"convert.op", "all", "Operations without a row below; accesses to multicast memory that are no `multimem_*`."},
	{"convert.typ", "all", "Types that are no tile, pointer or token where a value is asked for."},
	{"convert.block", "view accesses", "Views that are no partition, strided or gather/scatter view."},
	{"convert.assume", "`assume`", "Promises about values that are neither tiles nor views."},
	{"convert.indexSpace", "`get_index_space_shape`", "Gather/scatter views: they have no index space along the gathered dimension."},
	{"slice.refuse", "all", "Tiles of more than 256 registers a thread that cannot be made in pieces: operands of products that are neither loaded nor computed from what is loaded, values carried by loops that store and by branches, printed tiles, old values of atomics, scans along their only long dimension, and stores that come after a load of other memory by their token."},
	{"plan.Kernel", "all", "\"tile too big\": kernels for which no plan is left; the error says what the last one lacked."},
	{"slice.slicePieces", "all", "The same for a plan of fewer than 16 warps whose pieces cannot be made; the next plan is tried."},
	{"sync.allocateEntry", "all", "\"tile too big\": buffers that exceed the shared memory of a block with every plan: big tiles that change their layout but can be made neither in pieces nor through registers, such as operands of products that are themselves results of scans or carried by loops."},
	{"plan.selectDot", "`mmaf`, `mmai`, `mmaf_scaled`", "Combinations of types for which the GPU has neither a row of the table of matrix products below nor a type that holds the operands exactly."},
	{"nvvm.lower", "all", "Operations of TileAA without a lowering."},
	{"nvvm.paramType", "`entry`", "Parameters that are no scalar or pointer."},
	{"nvvm.alloca", "`alloca`", "Memory that other tile blocks see."},
	{"nvvm.memoryElem", "loads and stores", "Elements of 4 bits in memory."},
	{"nvvm.update", "`atomic_rmw_tko`, `atomic_red_view_tko`", "Element types for which PTX has no such operation."},
	{"nvvm.updateByCAS", "`atomic_rmw_tko`, `atomic_red_view_tko`", "16-bit types on GPUs without the instruction, additions apart, which compare and swap."},
	{"nvvm.multimem", "`multimem_*`", "16-bit floats of which no two neighbours are known to lie in one word; acquire of stores and reductions, release of loads; GPUs below sm_90."},
	{"nvvm.atomicCAS", "`atomic_cas_tko`", "Elements that have neither 32 nor 64 bits."},
	{"nvvm.pad", "padding of tiles", "Layouts in which a thread does not hold the elements that it pads."},
	{"nvvm.repack", "`pack`, `unpack`", "Layouts in which the bytes of one element lie in several threads."},
	{"nvvm.asyncCopy", "copies to shared memory", "Pieces that have not 4, 8 or 16 bytes."},
	{"nvvm.printed", "`print_tko`", "Tiles that one thread does not hold whole."},
}

// unlowered says of every operation of TileAA without a lowering who takes care of it.
var unlowered = map[string]string{
	"module":     "the module itself",
	"entry":      "becomes the function",
	"global":     "becomes the variable",
	"dot_scaled": "select-atoms multiplies by the scales and makes a dot",
}

// having are the GPUs with a family of instructions.
func having(f target.Family) string {
	var names []string
	for _, t := range target.All {
		if t.Families&f != 0 {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, ", ")
}
