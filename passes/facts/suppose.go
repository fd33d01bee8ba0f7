package facts

import (
	"math/bits"

	"tileiras/ir"
)

// Suppose takes single values for multiples of a power of two, 0 for the number 1, to learn what would follow from that. It comes before all questions
// about what is made of them.
func (f *Facts) Suppose(v *ir.Value, divisor uint64) {
	fact := f.Of(v)
	if divisor == 0 {
		fact.setConstant(1)
	} else {
		fact.ZeroBits = max(fact.ZeroBits, min(bits.TrailingZeros64(divisor), fact.Width))
	}
	f.cache[v] = f.keep(fact.refine())
}
