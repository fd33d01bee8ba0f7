package facts

import (
	"math/bits"

	"tileiras/ir"
)

// This file assumes things of scalars, to learn what would follow. That must come before any question about values computed from them, since answers
// are cached.

// SupposeMultiple assumes that a scalar is a multiple of a power of two.
func (f *Facts) SupposeMultiple(v *ir.Value, divisor uint64) {
	f.suppose(v, func(fact *Fact) { fact.ZeroBits = max(fact.ZeroBits, min(bits.TrailingZeros64(divisor), fact.Width)) })
}

// SupposeConstant assumes that a scalar is a number.
func (f *Facts) SupposeConstant(v *ir.Value, x uint64) {
	f.suppose(v, func(fact *Fact) { fact.setConstant(x) })
}

// SupposeUpTo assumes that a scalar is at least 0, as a signed number, and at most another.
func (f *Facts) SupposeUpTo(v *ir.Value, most int64) {
	f.suppose(v, func(fact *Fact) {
		fact.SMin, fact.SMax = max(fact.SMin, 0), min(fact.SMax, most)
		fact.UMax = min(fact.UMax, uint64(most))
	})
}

func (f *Facts) suppose(v *ir.Value, change func(*Fact)) {
	fact := f.Of(v)
	change(&fact)
	f.cache[v] = f.alloc(fact.refine())
}
