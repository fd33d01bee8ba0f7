package interp

import (
	"tileiras/dialects/cudatile"
	"tileiras/ir"
	"tileiras/ir/float"
)

// Flags of an element, and of a byte of memory.
const (
	undef   uint8 = 1 << iota // unspecified bits
	inexact                   // another correct implementation may compute other bits
)

// value is what an SSA value holds: *tile, *tensorView, *tileView or token.
type value interface{}

// token orders memory operations; a serial run needs no more than its presence.
type token struct{}

// tile holds the elements of a tile in row-major order: integers zero-extended, floats as bit patterns of their format,
// pointers as addresses. A tile is immutable once a rule has returned it, and tiles may share their slices.
//
// The body of a reduction runs on many elements at once; its "scalars" then have one element per lane.
type tile struct {
	typ           *cudatile.TileType
	bits          []uint64
	flags         []uint8 // nil when no element has a flag
	why           *cause  // of an undefined element; nil when there is none, or nobody knows
	ignoreInexact bool    // do not track inexact elements
}

func newTile(t *cudatile.TileType, n int) *tile { return &tile{typ: t, bits: make([]uint64, n)} }

// mark gives element i a flag.
func (t *tile) mark(i int, f uint8) {
	if t.flags == nil {
		t.flags = make([]uint8, len(t.bits))
	}
	t.flags[i] |= f
}

// markAll gives every element a flag.
func (t *tile) markAll(f uint8) {
	for i := range t.bits {
		t.mark(i, f)
	}
}

// marked is a copy of a tile in which every element has the flag.
func (t *tile) marked(f uint8) *tile {
	c := &tile{t.typ, t.bits, append([]uint8(nil), t.flags...), t.why, t.ignoreInexact}
	c.markAll(f)
	return c
}

// flag is the flags of element i.
func (t *tile) flag(i int) uint8 {
	if t.flags == nil {
		return 0
	}
	return t.flags[i]
}

// any is the flags of all elements together.
func (t *tile) any() uint8 {
	var f uint8
	for _, g := range t.flags {
		f |= g
	}
	return f
}

// signed reads element i of an integer tile as a signed integer.
func (t *tile) signed(i int) int64 { return signExtend(t.bits[i], ir.BitWidth(t.typ.Elem)) }

func signExtend(v uint64, width int) int64 { return int64(v<<(64-width)) >> (64 - width) }

func mask(width int) uint64 { return ^uint64(0) >> (64 - width) }

// typeOf is the tile type of an SSA value; nil when it is no tile.
func typeOf(v *ir.Value) *cudatile.TileType {
	t, _ := v.Type().(*cudatile.TileType)
	return t
}

// formatOf is the float format of a tile's elements; nil for other elements.
func formatOf(v *ir.Value) *float.Format {
	if t := typeOf(v); t != nil {
		if f, ok := t.Elem.(*ir.FloatType); ok {
			return f.Format
		}
	}
	return nil
}

// widthOf is the width of a tile's integer elements.
func widthOf(v *ir.Value) int {
	if t := typeOf(v); t != nil {
		return ir.BitWidth(t.Elem)
	}
	return 0
}

// tensorView is a strided array in memory; whether base is aligned and mapped is checked when it is accessed.
type tensorView struct {
	typ            *cudatile.TensorViewType
	base           uint64
	argument       int // of the entry, from which the base comes; -1: none
	shape, strides []int64
}

// tileView is a view through which tiles are accessed.
type tileView struct {
	facts cudatile.ViewFacts
	array *tensorView
}

// codec says how elements of a type lie in memory.
type codec struct {
	bytes   int           // of a word; elements of 4 bits share a byte
	boolean bool          // any byte but 0 is true
	nibble  bool          // two elements a byte, the even one low
	format  *float.Format // of floats
}

func codecOf(elem ir.Type) codec {
	switch t := elem.(type) {
	case *ir.IntegerType:
		if t.Width == 1 {
			return codec{bytes: 1, boolean: true}
		}
		return codec{bytes: max(t.Width/8, 1), nibble: t.Width == 4}
	case *ir.FloatType:
		bits := t.Format.StorageBits()
		return codec{bytes: max(bits/8, 1), nibble: bits == 4, format: t.Format}
	}
	return codec{bytes: 8} // pointers
}

// address is the address of element i after base and, for elements of 4 bits, the half of the byte.
func (c codec) address(base uint64, i int64) (addr uint64, high bool) {
	if c.nibble {
		return base + uint64(i>>1), i&1 != 0
	}
	return base + uint64(i)*uint64(c.bytes), false
}

// load reads the element in a word at off.
func (c codec) load(a *allocation, off int, high bool) (uint64, uint8) {
	v, f := a.word(off, c.bytes)
	switch {
	case c.boolean && v != 0:
		v = 1
	case c.nibble && high:
		v >>= 4
	case c.nibble:
		v &= 15
	case c.format != nil:
		v = c.format.FromStorage(v)
	}
	return v, f
}

// store writes the element into the word at off; the other half of a shared byte stays.
func (c codec) store(a *allocation, off int, high bool, v uint64, f uint8) {
	switch {
	case c.nibble:
		old, g := a.word(off, 1)
		if high {
			v = old&15 | v<<4
		} else {
			v = old&0xF0 | v&15
		}
		f |= g
	case c.format != nil:
		v = c.format.ToStorage(v)
	}
	a.setWord(off, c.bytes, v, f)
}
