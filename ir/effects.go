package ir

// EffectKind says what an operation does with memory; kinds are combined by |.
type EffectKind uint8

const (
	Read EffectKind = 1 << iota
	Write
	// Allocate makes new memory, the result.
	Allocate
	// Fence orders what comes before and after it, and touches nothing itself.
	Fence
)

// Has reports whether all kinds of l are in k.
func (k EffectKind) Has(l EffectKind) bool { return k&l == l }

// EffectDef is one effect of a row.
type EffectDef struct {
	Kind EffectKind
	// On is the operand through which memory is reached. "" is what lies outside the program (the host, all memory).
	On string
	// IfMemory: the operand may also be a value, and then there is no effect (a tile or a buffer that a dot multiplies). Such an
	// effect gives the row no traits.
	IfMemory bool
}

// effectTraits are the traits that follow from effects.
func effectTraits(es []EffectDef) Traits {
	var t Traits
	for _, e := range es {
		if e.IfMemory {
			continue
		}
		t |= Ordered
		if e.Kind.Has(Read) {
			t |= Reads
		}
		if e.Kind.Has(Write) {
			t |= Writes
		}
	}
	return t
}
