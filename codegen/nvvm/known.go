package nvvm

import (
	"tileiras/codegen/local"
	"tileiras/codegen/ptxop"
)

// key names a pure computation in a block: an instruction, of PTX or of LLVM, with its operands.
type key struct {
	op         opcode
	a, b, c, d id
	at         int32 // the number of the block; 0 for constants, which stand in none
}

// opcode is an instruction of LLVM, a binop or one of those below together with its predicate or the kind that it makes, or one of PTX.
type opcode uint64

const (
	opFNeg opcode = 1<<8 + iota
	opSelect
	opICmp
	opFCmp
	opTrunc
	opZExt
	opSExt
	opBitCast
	opConstant        // no instruction: a and b are the halves of its bits
	opPTX      opcode = 1 << 32
)

// to is the opcode of an instruction that makes another kind.
func (op opcode) to(k kind) opcode { return op | opcode(k)<<16 }

// opcodeOf is the opcode of an instruction of PTX.
func opcodeOf(row *ptxop.Row) opcode { return opPTX | opcode(row.Number) }

func (k *key) hash() uint64 {
	const odd = 0x9E3779B97F4A7C15 // 2^64 by the golden ratio (Knuth, The Art of Computer Programming 3, 6.4)
	h := (uint64(k.op) ^ uint64(k.at)<<40) * odd
	h = (h ^ h>>32 ^ uint64(k.a) ^ uint64(k.b)<<32) * odd
	h = (h ^ h>>32 ^ uint64(k.c) ^ uint64(k.d)<<32) * odd
	return h ^ h>>32
}

// span is some of the results of pure computations.
type span struct{ from, n int32 }

// computed finds the results of pure computations: a hash table of numbers with open addressing. Every address and every constant is asked
// for here, several times.
type computed struct {
	slots []int32 // indices into keys plus 1, 0 is free; a power of two, at most half are taken
	keys  []key
	spans []span // by key
}

func newComputed(n int) computed {
	return computed{slots: make([]int32, 4*n), keys: make([]key, 0, n), spans: make([]span, 0, n)}
}

// slot is where a key is, or where it would be.
func (t *computed) slot(k *key) *int32 {
	mask := uint64(len(t.slots) - 1)
	for i := k.hash() & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; *s == 0 || t.keys[*s-1] == *k {
			return s
		}
	}
}

func (t *computed) find(k *key) (s span, ok bool) {
	if at := *t.slot(k); at != 0 {
		return t.spans[at-1], true
	}
	return span{}, false
}

func (t *computed) set(k *key, s span) {
	at := t.slot(k)
	if *at != 0 {
		t.spans[*at-1] = s
		return
	}
	if 2*len(t.keys) >= len(t.slots) {
		t.slots = make([]int32, 2*len(t.slots))
		for i := range t.keys {
			*t.slot(&t.keys[i]) = int32(i + 1)
		}
		at = t.slot(k)
	}
	t.keys, t.spans = local.Append(t.keys, *k), local.Append(t.spans, s)
	*at = int32(len(t.keys))
}
