package kernel

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// HoldsFactors reports whether threads of so many warps have registers for the factors that products of a loop take in every iteration, beside the results of these
// products and what products need besides. registers is those of a thread for a value.
func HoldsFactors(s *pass.State, loop *ir.Op, warps int, registers func(v *ir.Value) int) bool {
	return besideFactors(s, loop, warps, registers) >= registersOf(factorsFromOutside(s, loop), registers)
}

// besideFactors is the registers that products of a loop leave a thread for factors.
func besideFactors(s *pass.State, loop *ir.Op, warps int, registers func(v *ir.Value) int) int {
	n := cost.ThreadRegisters(s.Target, warps) - cost.BesideAccumulators
	for _, op := range loop.Body().Ops() {
		s.Step()
		if tileaa.IsProduct(op) {
			n -= registers(op.Result(0))
		}
	}
	return n
}

func registersOf(list []*ir.Value, registers func(v *ir.Value) int) (n int) {
	for _, v := range list {
		n += registers(v)
	}
	return n
}

// factorsFromOutside are the factors of products of a loop that it does not change.
func factorsFromOutside(s *pass.State, loop *ir.Op) (list []*ir.Value) {
	for _, op := range loop.Body().Ops() {
		s.Step()
		if !tileaa.IsProduct(op) {
			continue
		}
		for _, v := range op.Operands()[:2] {
			if ir.DefinedOutside(v, loop) {
				list = append(list, v)
			}
		}
	}
	return list
}

// FactorsInShared are the loads of factors from outside of a loop that stay in shared memory while it runs: so many that threads of so many warps hold the others,
// if no two of them hold the same.
func FactorsInShared(s *pass.State, loop *ir.Op, warps int) (list []*ir.Op) {
	share := func(v *ir.Value) int {
		t := tileaa.AsTile(v)
		return cost.Registers(int(t.NumElements())/(32*warps), tileaa.ElemBits(t.Elem))
	}
	factors := factorsFromOutside(s, loop)
	for missing := registersOf(factors, share) - besideFactors(s, loop, warps, share); missing > 0 && len(factors) > 0; factors = factors[1:] {
		if load, _, ok := tileaa.FactorLoad(factors[0]); ok && !slices.Contains(list, load) {
			list = append(list, load)
		}
		missing -= share(factors[0])
	}
	return list
}
