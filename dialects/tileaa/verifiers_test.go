package tileaa

import (
	"slices"
	"testing"

	"tileiras/ir"
)

func TestEveryRowHasAVerifierOrRulesThatSayAll(t *testing.T) {
	for _, row := range opRows {
		if verifiers.Of(row.Code) == nil && !rulesRelateAll(row) {
			t.Errorf("%s has no verifier", row.Name)
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
