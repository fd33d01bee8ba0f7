package facts

import (
	"math/bits"

	"tileiras/ir"
)

// Suppose assumes that a scalar is a multiple of a power of two, or with divisor 0 that it is 1, to learn what would follow. It must come before any
// question about values computed from it, since answers are cached.
func (f *Facts) Suppose(v *ir.Value, divisor uint64) {
	fact := f.Of(v)
	if divisor == 0 {
		fact.setConstant(1)
	} else {
		fact.ZeroBits = max(fact.ZeroBits, min(bits.TrailingZeros64(divisor), fact.Width))
	}
	f.cache[v] = f.alloc(fact.refine())
}
