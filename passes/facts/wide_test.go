package facts

import (
	"math"
	"math/big"
	"testing"
)

// Products of any two bounds are exact.
func TestWideProductsAreExact(t *testing.T) {
	bounds := []int64{0, 1, -1, 2, -3, 1 << 31, -1 << 31, 1<<62 + 5, math.MaxInt64, math.MinInt64}
	for _, x := range bounds {
		for _, y := range bounds {
			w := mulInt(x, y)
			got := new(big.Int).Add(new(big.Int).Lsh(big.NewInt(w.hi), 64), new(big.Int).SetUint64(w.lo))
			if want := new(big.Int).Mul(big.NewInt(x), big.NewInt(y)); got.Cmp(want) != 0 {
				t.Errorf("%d * %d = %v, want %v", x, y, got, want)
			}
		}
	}
}
