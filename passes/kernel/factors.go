package kernel

import (
	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// HoldsFactors reports whether threads of so many warps have registers for the factors that products of a loop take in every iteration, beside the results of these
// products and what products need besides. registers is those of a thread for a value.
func HoldsFactors(s *pass.State, loop *ir.Op, warps int, registers func(v *ir.Value) int) bool {
	_, missing := keptFactors(s, loop, warps, registers)
	return missing <= 0
}

// FactorsInShared is the bytes of shared memory for factors that copies bring and a loop does not change: for so many that threads of so many warps hold the others,
// if no two of them hold the same.
func FactorsInShared(s *pass.State, loop *ir.Op, warps int) (bytes int) {
	if !s.Target.Has("cp.async") {
		return 0
	}
	share := func(v *ir.Value) int {
		t := tileaa.AsTile(v)
		return cost.Registers(int(t.NumElements())/(32*warps), tileaa.ElemBits(t.Elem))
	}
	factors, missing := keptFactors(s, loop, warps, share)
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

// keptFactors are the factors of products of a loop that it does not change, and how many registers threads of so many warps lack to hold them all.
func keptFactors(s *pass.State, loop *ir.Op, warps int, registers func(v *ir.Value) int) (factors []*ir.Value, missing int) {
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
