package memory

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// This file brings to registers in pieces what a loop leaves in tensor memory, where nobody takes more than a piece of it: registers have no room for the whole.
//
//	                                      %a = sums_store 0
//	%d = for .. inits(0) {                %d = for .. inits(%a) {
//	} lands %d                     =>     }
//	%x = extract %d[0, 0]                 dot_wait 0; %x = dot_land %d[0, 0]
//	%y = extract %d[0, 1]                 %y = dot_land %d[0, 1]

// readSumsInPieces does so in an entry whose plan leaves sums in tensor memory.
func readSumsInPieces(s *pass.State, entry *ir.Op) error {
	if !tileaa.PlanOf(entry).SumsInTensor {
		return nil
	}
	var given []*ir.Value // by loops
	var whole *ir.Op
	warps := tileaa.PlanOf(entry).Warps
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		v, ok := kernel.TensorMemorySum(s, op, warps)
		if !ok {
			return
		}
		if _, apart := kernel.ConstantExtracts(v); apart && slices.Contains(ir.Cast[tileaa.For](v.DefiningOp()).Lands(), int64(v.Index())) {
			given = append(given, v)
		} else if v.HasUses() {
			whole = op
		}
	})
	if whole != nil {
		return &pass.ErrPlan{Entry: pass.SymbolName(entry), Reason: "threads take all of what the tensor unit adds up", Loc: whole.Loc()}
	}
	for _, v := range given {
		readSumInPieces(s, entry, v)
	}
	return nil
}

// readSumInPieces does so with the sum of one loop, whose only product it is.
func readSumInPieces(s *pass.State, entry *ir.Op, given *ir.Value) {
	loop := ir.Cast[tileaa.For](given.DefiningOp())
	flow, _ := ir.LoopOf(loop.Op)
	init := flow.InitUse(given.Index())
	b := ir.NewBuilder(s.Ctx).Before(loop.Op)
	b.Loc = loop.Op.Loc()
	loop.Op.SetOperand(init.Index(), tileaa.NewSumsStore(b, init.Value(), tileaa.SumsStoreOptions{}).Result())
	b.After(loop.Op)
	tileaa.NewDotWait(b, 0)
	loop.SetLands(nil)
	pieces, _ := kernel.ConstantExtracts(given)
	readWhereUsed(s, entry, pieces)
}

// readWhereUsed reads each piece where it is used, and again if another piece has been read since: tensor memory holds all of them,
// registers do not.
func readWhereUsed(s *pass.State, entry *ir.Op, pieces []tileaa.Extract) {
	type landed struct {
		piece, here *ir.Value
	}
	of, newest := map[*ir.Value]tileaa.Extract{}, map[*ir.Block]landed{}
	for _, e := range pieces {
		of[e.Result()] = e
	}
	b := ir.NewBuilder(s.Ctx)
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		for i, v := range op.Operands() {
			e, ok := of[v]
			if !ok {
				continue
			}
			n := newest[op.Block()]
			if n.piece != v {
				b.Before(op)
				b.Loc = op.Loc()
				n = landed{v, tileaa.NewDotLand(b, v.Type(), e.Source(), e.Indices(), tileaa.DotLandOptions{}).Result()}
				newest[op.Block()] = n
			}
			op.SetOperand(i, n.here)
		}
	})
	for _, e := range pieces {
		e.Op.Erase()
	}
}
