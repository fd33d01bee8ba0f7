package tileaa

import (
	"strconv"
	"sync"

	"tileiras/ir"
)

// dialectID is the high half of the codes of the operations.
const dialectID = 2

// Dialect is TileAA: the rows of def with their hooks.
var Dialect = &dialect

// The rows are static data that points here, and hooks ask the rows: so it is filled in later.
var dialect ir.Dialect

func init() {
	dialect = ir.Dialect{
		Name:        "tileaa",
		ID:          dialectID,
		Ops:         opRows[:],
		Constraints: sync.OnceValue(constraints),
		VerifyOp:    verifyOp,
		VerifyUses:  verifyUses,
		Fold:        fold,
		NameResult:  nameResult,
		Top:         "module",
		TopName:     "kernels",
		ParseType:   parseType,
		ParseAttr:   parseAttr,
		ShapeOf: func(t ir.Type) ([]int64, bool) {
			switch t := t.(type) {
			case *TileType:
				return t.Shape, true
			case *BlockType:
				return t.Shape, true
			case *BufferType:
				return t.Shape, true
			case *MemrefType:
				return t.Shape, true
			}
			return nil, false
		},
		ElementOf: func(t ir.Type) (ir.Type, bool) {
			switch t := t.(type) {
			case *TileType:
				return t.Elem, true
			case *BlockType:
				return t.Elem, true
			case *BufferType:
				return t.Elem, true
			case *MemrefType:
				return t.Elem, true
			}
			return nil, false
		},
		Materialize: func(b *ir.Builder, loc ir.Location, value ir.Attribute, t ir.Type) *ir.Op {
			d, ok := value.(*ir.DenseAttr)
			if !ok || d.Type != t {
				return nil
			}
			return b.Create(ir.State{Def: opRows[OpConstant.Index()-1], Loc: loc, Types: []ir.Type{t}, Attrs: []ir.Attribute{d}})
		},
	}
}

// resultNames are the printed names of results whose number says little.
var resultNames = map[ir.Code]string{
	OpSplat: "splat", OpBroadcast: "bcast", OpReshape: "reshape", OpIota: "iota", OpOffset: "ptr",
	OpMakeMemref: "memref", OpBlockTile: "block", OpPointerBlock: "block", OpTiledLoad: "tile", OpMultimemLoad: "tile", OpLoad: "tile", OpDot: "dot",
	OpAllocShared: "buf", OpBufferView: "view", OpAllocRing: "ring", OpAllocPipeline: "pipeline", OpAllocTensor: "tensor", OpAllocMaps: "maps", OpRingSlot: "slot", OpRingNext: "position", OpProgramId: "pid", OpNumPrograms: "grid", OpReduce: "reduce", OpScan: "scan",
	OpFor: "for", OpCreateMemToken: "token", OpAssume: "assume",
}

func nameResult(op *ir.Op, i int) string {
	if op.Code() == OpConstant {
		return constantName(op)
	}
	if i > 0 && op.Result(i).Type() == op.Result(0).Type() {
		return ""
	}
	if _, ok := op.Result(i).Type().(*TokenType); ok {
		return "token"
	}
	return resultNames[op.Code()]
}

// constantName is cst, then the value of a small non-negative integer splat, then the element type: "cst_42_i32".
func constantName(op *ir.Op) string {
	t := AsTile(op.Result(0))
	if t == nil {
		return "cst"
	}
	if v, ok := SplatInt(op.Result(0)); ok && v >= 0 {
		return "cst_" + strconv.FormatInt(v, 10) + "_" + ir.ShortType(t.Elem)
	}
	return "cst_" + ir.ShortType(t.Elem)
}
