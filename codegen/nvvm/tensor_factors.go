package nvvm

import (
	"fmt"
	"math/bits"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/codegen/ptxop"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file puts what threads have computed for products of the tensor unit into tensor memory, where an instruction finds its A as it finds its sums: a row to
// a lane, and what is side by side along K in the words of neighbouring columns (PTX ISA, "tcgen05.mma").

// tensorFactor is the left factor of products in tensor memory.
type tensorFactor struct {
	memory *tensorMemory
	column int64
	group  int64 // columns from as many rows as there are lanes to the next ones
	bits   int   // of an element
}

// tensorFactorOf is the factor that a value is.
func (f *fn) tensorFactorOf(v *ir.Value) (x tensorFactor, ok bool) {
	s, ok := ir.DefinedBy[tileaa.FactorStore](v)
	if !ok {
		return x, false
	}
	t := tileaa.AsTile(v)
	column, _ := s.Column()
	return tensorFactor{f.tensorOf(s.Op), column, tileaa.FactorGroupColumns(s), tileaa.ElemBits(t.Elem)}, true
}

// columnOf is the column of an element.
func (x *tensorFactor) columnOf(row, k int) int64 {
	return x.column + int64(row/ptxop.TensorLanes)*x.group + int64(k*x.bits/32)
}

// factorStore stores a factor, which the unit may see when all have met.
func factorStore(f *fn, op *ir.Op) {
	s := ir.Cast[tileaa.FactorStore](op)
	if scale := op.Prev(); s.Over() == nil || scale == nil || scale.Code() != tileaa.OpSumsScale { // else it takes turns with that
		for _, store := range f.storesOf(s) {
			store()
		}
	}
	f.storedThere()
	f.set(op, nil)
}

// storesOf are the stores of a factor.
func (f *fn) storesOf(op tileaa.FactorStore) (list []func()) {
	x, _ := f.tensorFactorOf(op.Result())
	l, words := f.tileLayout(op.Value()), f.allWords(f.tileFor(op.Value()))
	cols := make([]uint64, layout.LaneBits+f.warpBits())
	for i, c := range l.Column(layout.Warp) {
		if at := l.Coords(c); i < bits.TrailingZeros(ptxop.GroupWarps) {
			cols[layout.LaneBits+i] = 1 << (tensorLaneShift + layout.LaneBits + i)
		} else {
			cols[layout.LaneBits+i] = uint64(x.columnOf(at[0], at[1]) - x.column)
		}
	}
	own := f.add(x.memory.base, f.linear(cols))
	perWord := 32 / x.bits
	at := func(word int) (row, k int) {
		c := l.Coords(l.Apply(word*perWord, 0, 0, 0))
		return c[0], c[1]
	}
	n, most := 1, maxStored // words in neighbouring columns
	if op.Over() != nil {
		most = maxStoredInterleaved
	}
	for n < min(len(words), most) {
		if row, k := at(n); row != 0 || k != n*perWord {
			break
		}
		n *= 2
	}
	for first := 0; first < len(words); first += n {
		list = append(list, func() {
			f.op(fmt.Sprintf("tcgen05.st.32x32b.x%d.r", n), slices.Concat([]reg{own, i32(x.columnOf(at(first)))}, words[first:first+n])...)
		})
	}
	return list
}

// maxStored is the words of a factor that one instruction stores, maxStoredInterleaved if its stores are interleaved with rescaling of
// sums: the words occupy neighbouring registers until all of them are computed.
const maxStored, maxStoredInterleaved = 8, 4
