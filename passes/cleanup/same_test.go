package cleanup

import (
	"testing"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// TestSameComputations: hashes tell most operations apart; what decides is the comparison.
func TestSameComputations(t *testing.T) {
	c := ir.NewContext(tileaa.Dialect)
	m, err := ir.Parse(c, "t", []byte(`tileaa.module @m {
  entry @k(%a: tile<i32>, %b: tile<i32>, %d: tile<i32>) {
    %0 = addi %a, %b : tile<i32>
    %1 = addi %b, %a : tile<i32>
    %2 = addi %a, %d : tile<i32>
    %3 = addi %d, %b : tile<i32>
    %4 = subi %a, %b : tile<i32>
    %5 = subi %b, %a : tile<i32>
    %6 = addi %a, %b {overflow = no_signed_wrap} : tile<i32>
    return
  }
}`))
	if err != nil {
		t.Fatal(c.Diags.String())
	}
	ops := m.Body().First().Body().Ops()
	for i := range 7 {
		for j := range 7 {
			want := i == j || i < 2 && j < 2
			if got := sameComputation(ops[i], ops[j]); got != want {
				t.Errorf("%d and %d: %v, want %v", i, j, got, want)
			}
		}
	}
}
