package tileaa

import (
	"slices"
	"testing"

	"tileiras/ir"
)

// saidByRow are the ops without a verifier whose rows, with their sets of types and their rules, say all that must hold of them alone.
var saidByRow = []ir.Code{
	OpModule, OpGetGlobal, OpAssert, OpRoles, OpSplat,
	OpCreateMemToken, OpJoinMemToken, OpFenceAlias, OpGdcWait, OpGdcLaunchDependents, OpAsyncCommit,
	OpAllocShared, OpAllocRing, OpProducerAcquire, OpProducerCommit, OpConsumerWait, OpConsumerRelease, OpMapsAcquire, OpMapsAddress, OpMapsRelease,
	OpAllocTensor, OpTensorAcquire, OpTensorAddress, OpTensorRelease, OpSumsStore, OpSumsScale, OpFactorStore,
}

func TestEveryRowHasAVerifierOrSaysAll(t *testing.T) {
	for _, row := range opRows {
		verified, said := verifiers.Of(row.Code) != nil, rulesRelateAll(row) || slices.Contains(saidByRow, row.Code)
		switch {
		case !verified && !said:
			t.Errorf("%s has no verifier", row.Name)
		case verified && slices.Contains(saidByRow, row.Code):
			t.Errorf("the row of %s says all, and it has a verifier", row.Name)
		}
	}
}

// rulesRelateAll reports whether a row works element by element and its rules tie every operand and result to another.
func rulesRelateAll(row *ir.OpDef) bool {
	tied := func(name string) bool {
		return slices.ContainsFunc(row.Same, func(r ir.SameRule) bool { return slices.Contains(r.Names, name) })
	}
	for i := range row.NumOperandDefs() {
		if !tied(row.OperandDef(i).Name) {
			return false
		}
	}
	return row.Traits.Has(ir.Elementwise) && !slices.ContainsFunc(row.Results, func(r ir.ResultDef) bool { return !tied(r.Name) })
}
