package bytecode

import (
	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// constantTable holds the constants: a length and as many bytes. What they mean depends on the type of the use.
type constantTable struct {
	entries [][]byte
	dense   map[constantUse]*ir.DenseAttr
	bools   map[boolUse][]byte
}

type constantUse struct {
	index uint64
	typ   *cudatile.TileType
}

// boolUse is a constant of n bits: uses under several shapes share the unpacked bytes.
type boolUse struct {
	index uint64
	n     int64
}

func (r *reader) readConstants() {
	c, present := r.section(constantSection)
	if !present || !r.ok() {
		return
	}
	entries := c.table("constants", "constant", 8)
	for _, e := range entries {
		r.ctx.Budget.Keep(constantCopies * int64(len(e)))
	}
	r.keepTail(constantSection, c)
	r.sectionFailed("constant")
	r.constants = constantTable{entries: entries, dense: map[constantUse]*ir.DenseAttr{}, bools: map[boolUse][]byte{}}
	r.origin.constants = entries
}

// constant reads a constant index; t is the type of the use.
func (r *reader) constant(c *cursor, t ir.Type) *ir.DenseAttr {
	i := c.varint("constant index")
	if !r.ok() {
		return nil
	}
	if i >= uint64(len(r.constants.entries)) {
		c.fail("constant index %d out of bounds", i)
		return nil
	}
	e := &cursor{failure: r.failure, data: r.constants.entries[i]}
	tile, ok := t.(*cudatile.TileType)
	if !ok || cudatile.ConstantBytes(tile.Elem) == 0 {
		text := "<<NULL TYPE>>"
		if ok {
			text = ir.TypeString(t)
		}
		e.fail("expect Cuda Tile integer or float type but got: '%s'", text)
		return nil
	}
	use := constantUse{i, tile}
	if a := r.constants.dense[use]; a != nil {
		return a
	}
	raw := e.bytes(e.count("the raw byte data"), "the raw byte data")
	a := &ir.DenseAttr{Type: t}
	n, size := tile.NumElements(), int64(cudatile.ConstantBytes(tile.Elem))
	switch {
	case !r.ok():
	case ir.IsInt(tile.Elem, 1):
		a.Data, a.Splat = r.bools(e, i, raw, n)
	default:
		a.Data, a.Splat = raw, int64(len(raw)) == size
		if !a.Splat && int64(len(raw)) != size*n {
			e.fail("failed to validate buffer size and format")
		}
	}
	e.end("constant")
	if !r.ok() {
		return nil
	}
	r.constants.dense[use] = a
	r.origin.constantIndex[a] = i
	return a
}

// bools unpacks n i1 elements: eight to a byte, least significant first, or one byte for a splat. One byte for 2 to 8 elements could be
// either and is packed, where the two differ. The open tools of 13.2 and 13.3 write a byte for each element, which NVIDIA's refuse.
func (r *reader) bools(c *cursor, index uint64, raw []byte, n int64) (data []byte, splat bool) {
	use := boolUse{index, n}
	if d, ok := r.constants.bools[use]; ok {
		return d, len(d) == 1
	}
	size := int64(len(raw))
	switch {
	case size == 1 && (n == 1 || n > 8 || raw[0] == 0 || raw[0] == 0xFF):
		data = []byte{raw[0] & 1}
	case size == (n+7)/8:
		data = make([]byte, n)
		for k := range data {
			data[k] = raw[k/8] >> (k % 8) & 1
		}
	default:
		c.fail("i1 dense attribute payload size %d is not a recognized encoding for %d elements", size, n)
		return nil, false
	}
	r.constants.bools[use] = data
	return data, len(data) == 1
}
