package kernel

import (
	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// HoldsInvariantFactors reports whether threads have registers for the loop-invariant factors of a loop's products, beside the products'
// results and operands. registers gives those of a thread for a value.
func HoldsInvariantFactors(s *pass.State, loop *ir.Op, warps int, registers func(v *ir.Value) int) bool {
	_, missing := invariantFactors(s, loop, warps, registers)
	return missing <= 0
}

// InvariantFactorBytes is the shared memory for loop-invariant factors that asynchronous copies bring: for as many as do not fit the
// threads' registers. A tile that is a factor twice counts once.
func InvariantFactorBytes(s *pass.State, loop *ir.Op, warps int) (bytes int) {
	if !target.CpAsync.On(s.Target) {
		return 0
	}
	share := func(v *ir.Value) int {
		t := tileaa.AsTile(v)
		return cost.Registers(int(t.NumElements())/(layout.WarpSize*warps), tileaa.ElemBits(t.Elem))
	}
	factors, missing := invariantFactors(s, loop, warps, share)
	seen := map[*ir.Op]bool{}
	for _, v := range factors {
		if missing <= 0 {
			break
		}
		if load, _, ok := tileaa.FactorLoad(v); ok && !seen[load] {
			seen[load] = true
			bytes += LoadedBytes(load)
		}
		missing -= share(v)
	}
	return bytes
}

// invariantFactors lists the loop-invariant factors of a loop's products, and how many registers a thread lacks to hold them all.
func invariantFactors(s *pass.State, loop *ir.Op, warps int, registers func(v *ir.Value) int) (factors []*ir.Value, missing int) {
	missing = cost.NonAccumulatorRegisters - cost.ThreadRegisters(s.Target, warps)
	for _, op := range loop.Body().Ops() {
		s.Step()
		if !tileaa.IsProduct(op) {
			continue
		}
		missing += registers(op.Result(0))
		for _, v := range op.Operands()[:2] {
			if ir.DefinedOutside(v, loop) {
				factors = append(factors, v)
				missing += registers(v)
			}
		}
	}
	return factors, missing
}
