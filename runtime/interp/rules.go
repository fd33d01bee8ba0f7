package interp

import (
	"math"

	"tileiras/runtime/exact"
)

// rules has one row for each operation of the dialect that stands in a kernel. Rows are filled in an init because bodies
// of regions look their rules up here.
var rules map[string]rule

func init() {
	const smooth, jumps = true, false // whether a small error of the operands makes a small error of the result
	rules = map[string]rule{
		// Floats.
		"absf":  elementwise(smooth, floats(absf)),
		"addf":  elementwise(smooth, floats(addf)),
		"subf":  elementwise(smooth, floats(subf)),
		"mulf":  elementwise(smooth, floats(mulf)),
		"divf":  elementwise(smooth, floats(divf)),
		"fma":   elementwise(smooth, floats(fma)),
		"negf":  elementwise(smooth, floats(negf)),
		"remf":  elementwise(jumps, floats(remf)),
		"maxf":  elementwise(smooth, extremum(true)),
		"minf":  elementwise(smooth, extremum(false)),
		"cmpf":  elementwise(jumps, cmpf),
		"ceil":  elementwise(jumps, exactly(math.Ceil)),
		"floor": elementwise(jumps, exactly(math.Floor)),
		"sqrt":  elementwise(smooth, floats(sqrt)),
		"rsqrt": elementwise(smooth, function(exact.Rsqrt)),
		"exp":   elementwise(smooth, function(exact.Exp)),
		"exp2":  elementwise(smooth, function(exact.Exp2)),
		"log":   elementwise(smooth, function(exact.Log)),
		"log2":  elementwise(smooth, function(exact.Log2)),
		"fpowf": elementwise(smooth, function2(exact.Pow)),
		"fpowi": elementwise(smooth, fpowi),
		"sin":   elementwise(smooth, function(exact.Sin)),
		"cos":   elementwise(smooth, function(exact.Cos)),
		"tan":   elementwise(smooth, function(exact.Tan)),
		"sinh":  elementwise(smooth, function(exact.Sinh)),
		"cosh":  elementwise(smooth, function(exact.Cosh)),
		"tanh":  elementwise(smooth, function(exact.Tanh)),
		"atan2": elementwise(smooth, function2(exact.Atan2)),

		// Integers.
		"absi":   elementwise(jumps, integers(absi)),
		"addi":   elementwise(jumps, wrapping(addi)),
		"subi":   elementwise(jumps, wrapping(subi)),
		"muli":   elementwise(jumps, wrapping(muli)),
		"mulhii": elementwise(jumps, integers(mulhii)),
		"negi":   elementwise(jumps, wrapping(negi)),
		"divi":   elementwise(jumps, divi),
		"remi":   elementwise(jumps, remi),
		"maxi":   elementwise(jumps, integers(maxi)),
		"mini":   elementwise(jumps, integers(mini)),
		"cmpi":   elementwise(jumps, cmpi),
		"andi":   elementwise(jumps, bitwise(false)),
		"ori":    elementwise(jumps, bitwise(true)),
		"xori":   elementwise(jumps, integers(xori)),
		"shli":   elementwise(jumps, wrapping(shli)),
		"shri":   elementwise(jumps, integers(shri)),

		// Matrices.
		"mmaf":        mmaf,
		"mmai":        mmai,
		"mmaf_scaled": mmafScaled,

		// Conversions.
		"bitcast":    elementwise(jumps, bitcast),
		"exti":       elementwise(jumps, exti),
		"trunci":     elementwise(jumps, trunci),
		"ftof":       elementwise(smooth, ftof),
		"ftoi":       elementwise(jumps, ftoi),
		"itof":       elementwise(jumps, itof),
		"int_to_ptr": elementwise(jumps, same),
		"ptr_to_int": elementwise(jumps, same),
		"ptr_to_ptr": elementwise(jumps, same),
		"offset":     elementwise(jumps, offset),
		"pack":       repack,
		"unpack":     repack,

		// Construction and shape.
		"constant":  constant,
		"iota":      iotaOp,
		"broadcast": rearrange(broadcast),
		"permute":   rearrange(permute),
		"reshape":   reshape,
		"cat":       cat,
		"extract":   extract,
		"insert":    insert,
		"select":    choose,

		// Reductions.
		"reduce": reduce,
		"scan":   scan,

		// Control flow.
		"if":        branch,
		"for":       forLoop,
		"loop":      loop,
		"yield":     terminator(yielded),
		"continue":  terminator(continued),
		"break":     terminator(broken),
		"return":    terminator(returned),
		"assert":    assertion,
		"assume":    assume,
		"print_tko": printTKO,

		// Queries.
		"get_tile_block_id":     coordinatesOf(func(m *machine) [3]int { return m.block }),
		"get_num_tile_blocks":   coordinatesOf(func(m *machine) [3]int { return m.grid }),
		"get_tensor_shape":      extents(tensorShape),
		"get_index_space_shape": extents(indexSpace),

		// Views and memory. Tile blocks run one after the other and operations in program order, so orderings, scopes
		// and tokens have nothing left to say.
		"make_tensor_view":              makeTensorView,
		"make_partition_view":           makeTileView,
		"make_strided_view":             makeTileView,
		"make_gather_scatter_view":      makeTileView,
		"get_global":                    getGlobal,
		"alloca":                        alloca,
		"make_token":                    newToken,
		"join_tokens":                   newToken,
		"memory_fence_alias_tko":        newToken,
		"gdc_launch_dependents_tko":     newToken,
		"gdc_wait_tko":                  newToken,
		"load_ptr_tko":                  loadPtr,
		"store_ptr_tko":                 storePtr,
		"load_view_tko":                 loadView,
		"store_view_tko":                storeView,
		"atomic_rmw_tko":                atomicRMW,
		"atomic_cas_tko":                atomicCAS,
		"atomic_red_view_tko":           reduceView("value", atomicMode),
		"multimem_load_reduce_view_tko": loadView,
		"multimem_store_view_tko":       storeView,
		"multimem_reduce_view_tko":      reduceView("tile", multimemMode),
	}
}
