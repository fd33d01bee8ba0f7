package interp

import (
	"math"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
	"tileiras/runtime/exact"
)

// rules has one row for each operation of the dialect that stands in a kernel. Rows are filled in an init because bodies
// of regions look their rules up here.
var rules map[ir.Code]rule

func init() {
	const smooth, jumps = true, false // whether a small error of the operands makes a small error of the result
	rules = map[ir.Code]rule{
		// Floats.
		cudatile.OpAbsf:  elementwise(smooth, floats(absf)),
		cudatile.OpAddf:  elementwise(smooth, floats(addf)),
		cudatile.OpSubf:  elementwise(smooth, floats(subf)),
		cudatile.OpMulf:  elementwise(smooth, floats(mulf)),
		cudatile.OpDivf:  elementwise(smooth, floats(divf)),
		cudatile.OpFma:   elementwise(smooth, floats(fma)),
		cudatile.OpNegf:  elementwise(smooth, floats(negf)),
		cudatile.OpRemf:  elementwise(jumps, floats(remf)),
		cudatile.OpMaxf:  elementwise(smooth, extremum(true)),
		cudatile.OpMinf:  elementwise(smooth, extremum(false)),
		cudatile.OpCmpf:  elementwise(jumps, cmpf),
		cudatile.OpCeil:  elementwise(jumps, exactly(math.Ceil)),
		cudatile.OpFloor: elementwise(jumps, exactly(math.Floor)),
		cudatile.OpSqrt:  elementwise(smooth, floats(sqrt)),
		cudatile.OpRsqrt: elementwise(smooth, function(exact.Rsqrt)),
		cudatile.OpExp:   elementwise(smooth, function(exact.Exp)),
		cudatile.OpExp2:  elementwise(smooth, function(exact.Exp2)),
		cudatile.OpLog:   elementwise(smooth, function(exact.Log)),
		cudatile.OpLog2:  elementwise(smooth, function(exact.Log2)),
		cudatile.OpFpowf: elementwise(smooth, function2(exact.Pow)),
		cudatile.OpFpowi: elementwise(smooth, fpowi),
		cudatile.OpSin:   elementwise(smooth, function(exact.Sin)),
		cudatile.OpCos:   elementwise(smooth, function(exact.Cos)),
		cudatile.OpTan:   elementwise(smooth, function(exact.Tan)),
		cudatile.OpSinh:  elementwise(smooth, function(exact.Sinh)),
		cudatile.OpCosh:  elementwise(smooth, function(exact.Cosh)),
		cudatile.OpTanh:  elementwise(smooth, function(exact.Tanh)),
		cudatile.OpAtan2: elementwise(smooth, function2(exact.Atan2)),

		// Integers.
		cudatile.OpAbsi:   elementwise(jumps, integers(absi)),
		cudatile.OpAddi:   elementwise(jumps, wrapping(addi)),
		cudatile.OpSubi:   elementwise(jumps, wrapping(subi)),
		cudatile.OpMuli:   elementwise(jumps, wrapping(muli)),
		cudatile.OpMulhii: elementwise(jumps, integers(mulhii)),
		cudatile.OpNegi:   elementwise(jumps, wrapping(negi)),
		cudatile.OpDivi:   elementwise(jumps, divi),
		cudatile.OpRemi:   elementwise(jumps, remi),
		cudatile.OpMaxi:   elementwise(jumps, integers(maxi)),
		cudatile.OpMini:   elementwise(jumps, integers(mini)),
		cudatile.OpCmpi:   elementwise(jumps, cmpi),
		cudatile.OpAndi:   elementwise(jumps, bitwise(false)),
		cudatile.OpOri:    elementwise(jumps, bitwise(true)),
		cudatile.OpXori:   elementwise(jumps, integers(xori)),
		cudatile.OpShli:   elementwise(jumps, wrapping(shli)),
		cudatile.OpShri:   elementwise(jumps, integers(shri)),

		// Matrices.
		cudatile.OpMmaf:       mmaf,
		cudatile.OpMmai:       mmai,
		cudatile.OpMmafScaled: mmafScaled,

		// Conversions.
		cudatile.OpBitcast:  elementwise(jumps, bitcast),
		cudatile.OpExti:     elementwise(jumps, exti),
		cudatile.OpTrunci:   elementwise(jumps, trunci),
		cudatile.OpFtof:     elementwise(smooth, ftof),
		cudatile.OpFtoi:     elementwise(jumps, ftoi),
		cudatile.OpItof:     elementwise(jumps, itof),
		cudatile.OpIntToPtr: elementwise(jumps, same),
		cudatile.OpPtrToInt: elementwise(jumps, same),
		cudatile.OpPtrToPtr: elementwise(jumps, same),
		cudatile.OpOffset:   elementwise(jumps, offset),
		cudatile.OpPack:     repack,
		cudatile.OpUnpack:   repack,

		// Construction and shape.
		cudatile.OpConstant:  constant,
		cudatile.OpIota:      iotaOp,
		cudatile.OpBroadcast: rearrange(broadcast),
		cudatile.OpPermute:   rearrange(permute),
		cudatile.OpReshape:   reshape,
		cudatile.OpCat:       cat,
		cudatile.OpExtract:   extract,
		cudatile.OpInsert:    insert,
		cudatile.OpSelect:    choose,

		// Reductions.
		cudatile.OpReduce: reduce,
		cudatile.OpScan:   scan,

		// Control flow.
		cudatile.OpIf:       branch,
		cudatile.OpFor:      forLoop,
		cudatile.OpLoop:     loop,
		cudatile.OpYield:    terminator(yielded),
		cudatile.OpContinue: terminator(continued),
		cudatile.OpBreak:    terminator(broken),
		cudatile.OpReturn:   terminator(returned),
		cudatile.OpAssert:   assertion,
		cudatile.OpAssume:   assume,
		cudatile.OpPrintTko: printTKO,

		// Queries.
		cudatile.OpGetTileBlockId:     coordinatesOf(func(m *machine) [3]int { return m.block }),
		cudatile.OpGetNumTileBlocks:   coordinatesOf(func(m *machine) [3]int { return m.grid }),
		cudatile.OpGetTensorShape:     extents(tensorShape),
		cudatile.OpGetIndexSpaceShape: extents(indexSpace),

		// Views and memory. Tile blocks run one after the other and operations in program order, so orderings, scopes
		// and tokens have nothing left to say.
		cudatile.OpMakeTensorView:            makeTensorView,
		cudatile.OpMakePartitionView:         makeTileView,
		cudatile.OpMakeStridedView:           makeTileView,
		cudatile.OpMakeGatherScatterView:     makeTileView,
		cudatile.OpGetGlobal:                 getGlobal,
		cudatile.OpAlloca:                    alloca,
		cudatile.OpMakeToken:                 newToken,
		cudatile.OpJoinTokens:                newToken,
		cudatile.OpMemoryFenceAliasTko:       newToken,
		cudatile.OpGdcLaunchDependentsTko:    newToken,
		cudatile.OpGdcWaitTko:                newToken,
		cudatile.OpLoadPtrTko:                loadPtr,
		cudatile.OpStorePtrTko:               storePtr,
		cudatile.OpLoadViewTko:               loadView,
		cudatile.OpStoreViewTko:              storeView,
		cudatile.OpAtomicRmwTko:              atomicRMW,
		cudatile.OpAtomicCasTko:              atomicCAS,
		cudatile.OpAtomicRedViewTko:          reduceView(atomicReduction),
		cudatile.OpMultimemLoadReduceViewTko: loadView,
		cudatile.OpMultimemStoreViewTko:      storeView,
		cudatile.OpMultimemReduceViewTko:     reduceView(multimemReduction),
	}
}
