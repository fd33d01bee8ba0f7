package main

import (
	"strings"

	"tileiras/codegen/target"
)

// notBuilt is what the compiler as a whole cannot do yet, and what it does instead.
var notBuilt = []struct{ what, now string }{
	{"Full debug information (`--device-debug`)", "`-O0 -g` writes source lines, as `--lineinfo`."},
	{"Products of two blocks (tcgen05: " + having(target.Tcgen05) + ")", "A block multiplies alone, by `kind::f16`, `tf32`, `f8f6f4`, `mxf8f6f4`, `mxf4`, `mxf4nvf4` and, on " + having(target.Tcgen05Int8) + ", `i8`."},
	{"Copies by tensor maps (TMA) unasked", "`--tma` has copies to shared memory take maps that the kernel makes, from sm_90 on, which has not been measured; else they are cp.async with commit, wait and barrier. sm_75 loads and stores."},
	{"Stores, gathers and reductions by tensor maps; multicast", "Threads store, gather and reduce."},
	{"Roles of warps", "Loops whose threads compute with what the tensor unit (" + having(target.Tcgen05) + ") multiplies, as in attention, have warps of their own for their copies (cp.async) where the cost model finds a gain, other loops with products with `--roles=on`; else all warps do the same."},
	{"Conversions and scales of fnv8E5M3FNU by instructions (sm_107)", "Integer arithmetic converts it, on every GPU, and scales multiply the operands before the product."},
	{"Clusters", "A cluster is one block."},
}

// limit is a source of "not supported yet": the function that says so, the operation, what it does not take, and why.
type limit struct{ function, op, what, why string }

// limits are those inside conversions and lowerings that programs meet. A test holds the three lists against the code.
var limits = []limit{
	{"convert.module", "`module`", "Anything but globals and entries at the top level.", "The dialect has no other operation there; functions of single threads are a preview."},
	{"convert.entry", "`entry`", "Parameters that are tiles of rank 1 or more, views or tokens; more than 32764 bytes of parameters.", "The verifier refuses tiles; a launch passes scalars and pointers, and PTX has that much room for them."},
	{"convert.print", "`print_tko`", "Conversions that are no flags, width, precision, length and letter that prints: `%n`, a width in an operand; widths and precisions of more than 4095. Length and letter give way to the type: `%d` of an f32 prints what `%f` does, and all of an i64.", "One operand stands for each conversion, and C promises no more characters of one."},
	{"convert.op", "all", "Operations without a row below; accesses to multicast memory that are no `multimem_*`; in the region of a `reduce` or `scan`, tiles of several elements, `reduce` and `scan`.", "The dialect's operations all have a row; those for tests of the tools have none. Only the `multimem_*` instructions of PTX reach multicast memory."},
	{"convert.typ", "all", "Types that are no tile, pointer or token where a value is asked for.", "A value of a type of another dialect means nothing here."},
	{"slice.refuse", "all", "Tiles of more than 256 registers a thread that cannot be made in pieces: operands of products that are neither loaded nor computed from what is loaded, values carried by loops that store and by branches, printed tiles, old values of atomics, scans along their only long dimension, stores that come after a load of other memory by their token, and loops that have more than 16384 operations on pieces together.", "A piece of such a value needs values that other pieces change or that exist only once, so a loop over pieces would change what the kernel means."},
	{"plan.Kernel", "all", "\"tile too big\": kernels for which no plan is left, not without optimization either; the error says what the last one lacked.", "The registers of a block, or its shared memory, do not hold what must be there at one time."},
	{"memory.allocateEntry", "all", "\"tile too big\": buffers that exceed the shared memory of a block with every plan: big tiles that change their layout but can be made neither in pieces nor through registers, such as operands of products that are themselves results of scans or carried by loops.", "A value changes its layout as a whole, and that goes through shared memory."},
	{"plan.selectDot", "`mmaf`, `mmai`, `mmaf_scaled`", "Combinations of types for which the GPU has neither a row of the table of matrix products below nor a type that holds the operands exactly.", "Products are never computed with less than the types say."},
	{"nvvm.alloca", "`alloca`", "Memory that other tile blocks see.", "Memory of a tile block is shared memory, which other blocks do not see."},
	{"nvvm.vprintf", "`print_tko`, `assert`", "A symbol of the module that is named `vprintf`.", "The function of the driver has that name, and a module declares a name once."},
	{"nvvm.memoryElem", "loads and stores", "Elements of 4 bits through pointers, and through views where a byte is not whole: the unit-stride dimension must be known to have an even extent and be cut into even tiles, the other strides be known to be even, and no dimension be gathered.", "Two elements share a byte, so a thread cannot store one alone. NVIDIA's compiler takes them through views only, and fails where strides are odd."},
	{"nvvm.update", "`atomic_rmw_tko`, `atomic_red_view_tko`", "Element types for which PTX has no such operation.", "A compare-and-swap loop would do; nothing met so far asks for one."},
	{"nvvm.updateByCAS", "`atomic_rmw_tko`, `atomic_red_view_tko`", "16-bit types on GPUs without the instruction, additions apart, which compare and swap.", "A loop over the word around the element would do; nothing met so far asks for one."},
	{"nvvm.multimem", "`multimem_*`", "16-bit floats of which no two neighbours are known to lie in one word; acquire of stores and reductions, release of loads; GPUs below sm_90.", "PTX has the instructions from sm_90 on, for pairs of 16-bit floats, and those orders for the other direction only."},
}

// limitsOfStages are what verifier and passes keep from the later ones: at most the text of a stage, written by hand, has it.
var limitsOfStages = []limit{
	{"convert.block", "view accesses", "Views that are no partition, strided or gather/scatter view.", "The dialect has no other views."},
	{"convert.assume", "`assume`", "Promises about values that are neither tiles nor views.", "The verifier refuses them first."},
	{"nvvm.lower", "all", "Operations of TileAA without a lowering.", "The passes leave none of them."},
	{"nvvm.paramType", "`entry`", "Parameters that are no scalar or pointer.", "As for `entry` above."},
	{"nvvm.atomicCAS", "`atomic_cas_tko`", "Elements that have neither 32 nor 64 bits.", "The verifier refuses them first, as NVIDIA's does."},
	{"nvvm.repack", "`pack`, `unpack`", "Layouts in which the bytes of one element lie in several threads.", "No pass makes such a layout."},
	{"nvvm.asyncCopy", "copies to shared memory", "Pieces that have not 4, 8 or 16 bytes.", "cp.async has these sizes only; select-copies asks for no other."},
	{"nvvm.printed", "`print_tko`", "Tiles that one thread does not hold whole.", "The passes give a printed tile such a layout."},
}

// limitsOfPlans end a plan of a kernel, and the next one is tried: they are no errors, and --explain gives them as the reason.
var limitsOfPlans = []limit{
	{"slice.cutSteps", "all", "Steps along K of a product that cannot be cut, in a plan after which there is another.", "A piece would need values that other pieces change or that exist only once."},
	{"slice.slicePieces", "all", "Tiles that cannot be made in pieces.", "As above."},
	{"memory.AllocateTensor", "`mmaf`, `mmai`", "More than 512 columns of tensor memory for the products of a loop.", "There are no more."},
	{"memory.readSumsInPieces", "`mmaf`, `mmai`", "Sums that a plan leaves in tensor memory, of which threads take all at a time.", "Registers have no room for them."},
}

// elsewhere are the sources of "not supported yet" outside of the way from cuda_tile to PTX: the function, what it does not take, and why.
// A test holds the list against the code.
var elsewhere = []struct{ function, part, what, why string }{
	{"bytecode.refusePreview", "reader", "The preview feature `simt`: functions of single threads.", "Its operations are not published."},
	{"bytecode.denseStrings", "reader", "Dense attributes of strings, in the tools for version 13.1.", "No operation has a place for them."},
	{"driver.checkNames", "PTX", "Kernels and public globals with a name that PTX cannot have: other characters than letters, digits, `_` and `$`, a digit first, or `_`, `$` or `WARP_SZ` alone. A private global gets another name.", "Programs ask the driver for them by their names, so these stay what they are."},
	{"driver.openLibraries", "`tileiras -l`", "Tile libraries.", "What they hold is the preview."},
	{"cuda.upload", "`tilerun --on gpu`", "Buffers with gaps: arrays that extend over more memory than is given.", "A GPU has no memory that is not there; such cases are for interpreter and emulator."},
	{"interp.printTKO", "interpreter", "Those conversions of `print_tko` that the compiler refuses.", "As for the compiler."},
	{"interp.alloca", "interpreter", "An `alloca` of more than 1 GiB.", "It would be memory of this machine."},
	{"interp.unsupported", "interpreter", "Operations without a rule, those for tests of the tools.", "They mean nothing."},
	{"interp.compile", "interpreter", "Parameters that are neither tiles nor pointers.", "As for `entry` above."},
}

// unlowered says of every operation of TileAA without a lowering who takes care of it.
var unlowered = map[string]string{
	"module": "the module itself",
	"entry":  "becomes the function",
	"global": "becomes the variable",
}

// having are the GPUs with a family of instructions.
func having(f target.Family) string {
	var names []string
	for _, t := range target.All {
		if f.On(t) {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, ", ")
}
