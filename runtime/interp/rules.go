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
	const continuous, discontinuous = true, false // in the operands: whether a small error of them makes a small error of the result
	rules = map[ir.Code]rule{
		// Floats.
		cudatile.OpAbsf:  elementwise(continuous, floats(absf)),
		cudatile.OpAddf:  elementwise(continuous, floats(addf)),
		cudatile.OpSubf:  elementwise(continuous, floats(subf)),
		cudatile.OpMulf:  elementwise(continuous, floats(mulf)),
		cudatile.OpDivf:  elementwise(continuous, floats(divf)),
		cudatile.OpFma:   elementwise(continuous, floats(fma)),
		cudatile.OpNegf:  elementwise(continuous, floats(negf)),
		cudatile.OpRemf:  elementwise(discontinuous, floats(remf)),
		cudatile.OpMaxf:  elementwise(continuous, extremum(true)),
		cudatile.OpMinf:  elementwise(continuous, extremum(false)),
		cudatile.OpCmpf:  elementwise(discontinuous, cmpf),
		cudatile.OpCeil:  elementwise(discontinuous, exactly(math.Ceil)),
		cudatile.OpFloor: elementwise(discontinuous, exactly(math.Floor)),
		cudatile.OpSqrt:  elementwise(continuous, floats(sqrt)),
		cudatile.OpRsqrt: elementwise(continuous, function(exact.Rsqrt)),
		cudatile.OpExp:   elementwise(continuous, function(exact.Exp)),
		cudatile.OpExp2:  elementwise(continuous, function(exact.Exp2)),
		cudatile.OpLog:   elementwise(continuous, function(exact.Log)),
		cudatile.OpLog2:  elementwise(continuous, function(exact.Log2)),
		cudatile.OpFpowf: elementwise(continuous, function2(exact.Pow)),
		cudatile.OpFpowi: elementwise(continuous, fpowi),
		cudatile.OpSin:   elementwise(continuous, function(exact.Sin)),
		cudatile.OpCos:   elementwise(continuous, function(exact.Cos)),
		cudatile.OpTan:   elementwise(continuous, function(exact.Tan)),
		cudatile.OpSinh:  elementwise(continuous, function(exact.Sinh)),
		cudatile.OpCosh:  elementwise(continuous, function(exact.Cosh)),
		cudatile.OpTanh:  elementwise(continuous, function(exact.Tanh)),
		cudatile.OpAtan2: elementwise(continuous, function2(exact.Atan2)),

		// Integers.
		cudatile.OpAbsi:   elementwise(discontinuous, integers(absi)),
		cudatile.OpAddi:   elementwise(discontinuous, wrapping(addi)),
		cudatile.OpSubi:   elementwise(discontinuous, wrapping(subi)),
		cudatile.OpMuli:   elementwise(discontinuous, wrapping(muli)),
		cudatile.OpMulhii: elementwise(discontinuous, integers(mulhii)),
		cudatile.OpNegi:   elementwise(discontinuous, wrapping(negi)),
		cudatile.OpDivi:   elementwise(discontinuous, divi),
		cudatile.OpRemi:   elementwise(discontinuous, remi),
		cudatile.OpMaxi:   elementwise(discontinuous, integers(maxi)),
		cudatile.OpMini:   elementwise(discontinuous, integers(mini)),
		cudatile.OpCmpi:   elementwise(discontinuous, cmpi),
		cudatile.OpAndi:   elementwise(discontinuous, bitwise(false)),
		cudatile.OpOri:    elementwise(discontinuous, bitwise(true)),
		cudatile.OpXori:   elementwise(discontinuous, integers(xori)),
		cudatile.OpShli:   elementwise(discontinuous, wrapping(shli)),
		cudatile.OpShri:   elementwise(discontinuous, integers(shri)),

		// Matrices.
		cudatile.OpMmaf:       mmaf,
		cudatile.OpMmai:       mmai,
		cudatile.OpMmafScaled: mmafScaled,

		// Conversions.
		cudatile.OpBitcast:  elementwise(discontinuous, bitcast),
		cudatile.OpExti:     elementwise(discontinuous, exti),
		cudatile.OpTrunci:   elementwise(discontinuous, trunci),
		cudatile.OpFtof:     elementwise(continuous, ftof),
		cudatile.OpFtoi:     elementwise(discontinuous, ftoi),
		cudatile.OpItof:     elementwise(discontinuous, itof),
		cudatile.OpIntToPtr: elementwise(discontinuous, same),
		cudatile.OpPtrToInt: elementwise(discontinuous, same),
		cudatile.OpPtrToPtr: elementwise(discontinuous, same),
		cudatile.OpOffset:   elementwise(discontinuous, offset),
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
		cudatile.OpSelect:    selectRule,

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
