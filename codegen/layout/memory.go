package layout

import (
	"fmt"
	"slices"
)

// MemLayout places the elements of a tile in memory: a bijection between element offsets and elements, linear over F2, and
// optionally Pad elements left unused after every Every elements. It is immutable.
//
// A row-major 8x8 tile of 16-byte chunks with the 128-byte swizzle, the chunk of row m and column n in place n^m:
//
//	offset bits   0  1  2 | 3  4  5
//	n             n0 n1 n2| n0 n1 n2        offset bit 3 selects row bit 0 and column bit 0
//	m                     | m0 m1 m2
type MemLayout struct {
	shape      []int
	bases      []uint64 // offset bit -> element
	offsets    []uint64 // element bit -> offset, the inverse
	every, pad int
	key        *lazyText // nil in the zero MemLayout
}

// NewMem checks and makes a memory layout. bases[i] is the element that offset bit i selects; every and pad are both 0, or every
// is a power of two and pad is positive.
func NewMem(shape []int, bases []uint64, every, pad int) (MemLayout, error) {
	n, err := shapeBits(shape)
	if err != nil {
		return MemLayout{}, err
	}
	for i, b := range bases {
		if b>>n != 0 {
			return MemLayout{}, fmt.Errorf("layout: basis offset[%d] is outside the shape %s", i, formatShape(shape))
		}
	}
	inv, ok := Matrix{bases, n}.rightInverse()
	if !ok || len(bases) != n {
		return MemLayout{}, fmt.Errorf("layout: the offsets of %s do not hold every element exactly once", formatShape(shape))
	}
	const maxPad = 1 << 20 // bytes of shared memory fit far below
	if every < 0 || pad < 0 || pad > maxPad || every > 1<<n || every&(every-1) != 0 || (every == 0) != (pad == 0) {
		return MemLayout{}, fmt.Errorf("layout: padding of %d elements every %d is not possible", pad, every)
	}
	m := MemLayout{shape: slices.Clone(shape), bases: slices.Clone(bases), offsets: inv.Cols, every: every, pad: pad, key: &lazyText{}}
	return m, nil
}

func mustMem(shape []int, bases []uint64, every, pad int) MemLayout {
	m, err := NewMem(shape, bases, every, pad)
	if err != nil {
		panic(err)
	}
	return m
}

// isZero reports whether m is the zero MemLayout, which is no layout at all.
func (m MemLayout) isZero() bool { return m.key == nil }

// Key identifies the layout: equal keys, equal layouts. It is the text form.
func (m MemLayout) Key() string { return m.String() }

// Equal reports whether both place every element the same.
func (m MemLayout) Equal(o MemLayout) bool {
	if m.key == o.key {
		return true
	}
	return !m.isZero() && !o.isZero() && slices.Equal(m.shape, o.shape) && slices.Equal(m.bases, o.bases) && m.every == o.every && m.pad == o.pad
}

// Shape is the shape of the tile. The caller must not change it.
func (m MemLayout) Shape() []int { return m.shape }

// Bits is the number of offset bits.
func (m MemLayout) Bits() int { return len(m.bases) }

// basis is the element that offset bit i selects.
func (m MemLayout) basis(i int) uint64 { return m.bases[i] }

// Padding is the number of unused elements and after how many used ones they come; 0, 0 without padding.
func (m MemLayout) Padding() (pad, every int) { return m.pad, m.every }

// Size is the number of elements of memory used, padding included.
func (m MemLayout) Size() int { return m.padded(1<<len(m.bases)-1) + 1 }

// Linear is the offset of an element before padding: linear over F2.
func (m MemLayout) Linear(flat uint64) uint64 { return Matrix{Cols: m.offsets}.apply(flat) }

// linear is Linear of each of several elements.
func (m MemLayout) linear(flat []uint64) []uint64 {
	offsets := make([]uint64, len(flat))
	for i, x := range flat {
		offsets[i] = m.Linear(x)
	}
	return offsets
}

// offset is the offset of an element, in elements.
func (m MemLayout) offset(flat uint64) int { return m.padded(m.Linear(flat)) }

func (m MemLayout) padded(offset uint64) int {
	if m.every == 0 {
		return int(offset)
	}
	return int(offset) + int(offset)/m.every*m.pad
}

// at is the element stored at an offset that is not padding; the inverse of Linear.
func (m MemLayout) at(linear uint64) uint64 { return Matrix{Cols: m.bases}.apply(linear) }

// String is the canonical text: {offset=[[0,1],[0,2]], pad=[[8,128]]} : 64x64, with pad=[[elements, after every]]. ParseMem reads it.
func (m MemLayout) String() string {
	if m.isZero() {
		return ""
	}
	return m.key.get(m.format)
}

func (m MemLayout) format() string {
	out := appendBases(append(make([]byte, 0, 256), "{offset="...), m.shape, m.bases)
	if m.every != 0 {
		out = fmt.Appendf(out, ", pad=[[%d,%d]]", m.pad, m.every)
	}
	return string(appendShape(append(out, "} : "...), m.shape))
}

// ParseMem reads the text form of a memory layout.
func ParseMem(text string) (MemLayout, error) {
	shape, fields, err := parse(text)
	if err != nil {
		return MemLayout{}, err
	}
	var bases []uint64
	var pad, every int
	for _, f := range fields {
		switch f.name {
		case "offset":
			if bases, err = f.flat(shape); err != nil {
				return MemLayout{}, err
			}
		case "pad":
			if len(f.rows) != 1 || len(f.rows[0]) != 2 {
				return MemLayout{}, fmt.Errorf("layout: pad needs two numbers")
			}
			pad, every = f.rows[0][0], f.rows[0][1]
		default:
			return MemLayout{}, fmt.Errorf("layout: unknown field %q of a memory layout", f.name)
		}
	}
	return NewMem(shape, bases, every, pad)
}

// Reshape gives the same elements another shape: row-major numbers do not change.
func (m MemLayout) Reshape(shape []int) MemLayout { return mustMem(shape, m.bases, m.every, m.pad) }

// Permute reorders the dimensions of what lies there: dimension i of the result is dimension perm[i] of m.
func (m MemLayout) Permute(perm []int) MemLayout {
	shape, at := permuted(m.shape, perm)
	bases := make([]uint64, len(m.bases))
	for i, b := range m.bases {
		bases[i] = at(b)
	}
	return mustMem(shape, bases, m.every, m.pad)
}

// Repeated places a bigger tile: its slices of the shape of m lie one after another, each as m says and without padding, those along the first dimension first.
func (m MemLayout) Repeated(shape []int) MemLayout {
	var bases []uint64
	for _, b := range m.bases {
		bases = append(bases, flatten(shape, coords(m.shape, b)))
	}
	for d := range shape {
		for b := Log2(m.shape[d]); b < Log2(shape[d]); b++ {
			bases = append(bases, Bit(shape, d, b))
		}
	}
	return mustMem(shape, bases, 0, 0)
}

// Strided is the dense memory layout with the given order of dimensions, fastest first.
func Strided(shape, order []int) MemLayout {
	var bases []uint64
	for _, d := range order {
		for b := range Log2(shape[d]) {
			bases = append(bases, Bit(shape, d, b))
		}
	}
	return mustMem(shape, bases, 0, 0)
}

// FastestFirst is the order of dimensions in memory in which dim comes first and the others follow as in row-major order; none for rank 0.
func FastestFirst(dim, rank int) []int {
	if rank == 0 {
		return nil
	}
	order := []int{dim}
	for d := rank - 1; d >= 0; d-- {
		if d != dim {
			order = append(order, d)
		}
	}
	return order
}

// Padded is Strided with pad unused elements after every row of the fastest dimension.
func Padded(shape, order []int, pad int) MemLayout {
	m := Strided(shape, order)
	return mustMem(shape, m.bases, shape[order[0]], pad)
}

// Swizzled is a tile for a matrix unit: boxes of rows of width bytes of the fastest dimension (32, 64 or 128; 0 for none), box
// after box, where 16-byte chunk c of row r lies in place c xor r. In byte-offset bits, as the hardware defines the modes
// (PTX ISA, "Swizzling modes"): 128 B: bits 4-6 ^= 7-9; 64 B: 4-5 ^= 7-8; 32 B: 4 ^= 7. A tile narrower than width has rows
// of its own width under the same XOR; a tile that ends below the XORed bits is left as far as it goes.
func Swizzled(shape, order []int, elemBytes, width int) MemLayout {
	return SwizzledRotated(shape, order, elemBytes, width, 0, SwizzleBits, 0)
}

// SwizzleBits is the most row bits that a swizzle XORs into the chunk.
const SwizzleBits = 3

// SwizzledRotated is Swizzled with rowBits bits of the row, from bit first on, rotated by so many places before they are XORed with those of the chunk. It serves
// accesses that go along a column, a few rows at a time, which meet bank conflicts with the usual swizzle.
func SwizzledRotated(shape, order []int, elemBytes, width, first, rowBits, places int) MemLayout {
	if width == 0 {
		return Strided(shape, order)
	}
	var inner, outer, rows []uint64
	for i, d := range order {
		for b := range Log2(shape[d]) {
			switch bit := Bit(shape, d, b); {
			case i > 0:
				rows = append(rows, bit)
			case elemBytes<<b < width:
				inner = append(inner, bit)
			default:
				outer = append(outer, bit)
			}
		}
	}
	bases := slices.Concat(inner, rows, outer)
	chunk := Log2(16) - Log2(elemBytes) // offset bit of byte bit 4
	for i := range min(rowBits, Log2(width)-4) {
		if from, to := chunk+3+first+i, chunk+(i+places)%(Log2(width)-4); from < len(bases) {
			bases[from] ^= bases[to]
		}
	}
	return mustMem(shape, bases, 0, 0)
}

// Vectors splits an access between registers and memory into vector accesses, each of one group of registers. The offset of
// group i in a thread is Groups[i].Offset ^ threadOffset of the thread, in elements, before padding.
type Vectors struct {
	Vec    int      // elements per access
	Groups []Vector // one access each
	Reps   []int    // register -> the register of a group that holds the same element
	Lane   []uint64 // offset contributed by each lane bit
	Warp   []uint64 // and by each warp bit
}

// Vector is one access: Regs[i] holds or receives the element at offset + i.
type Vector struct {
	Regs   []int
	Offset uint64
}

// Vectors splits an access with layout l into accesses of vec consecutive elements (a power of two). ok is false when a thread
// does not hold such runs, or holds them at places not aligned to vec. Registers that replicate others are left out.
func (m MemLayout) Vectors(l Layout, vec int) (v Vectors, ok bool) {
	v, step, ok := m.vectorMap(l, vec)
	if !ok {
		return Vectors{}, false
	}
	v.Reps = l.RegReps()
	v.Groups = make([]Vector, 0, len(v.Reps)/vec)
	regs := make([]int, len(v.Reps))
	places := step.table()
	for r, offset := range (Matrix{Cols: m.linear(l.bases[Reg])}).table() {
		if v.Reps[r] != r || offset&uint64(vec-1) != 0 {
			continue
		}
		g := Vector{Offset: offset, Regs: regs[:vec:vec]}
		regs = regs[vec:]
		for i, place := range places {
			g.Regs[i] = r ^ int(place)
		}
		v.Groups = append(v.Groups, g)
	}
	return v, true
}

// vectorMap is Vectors without the groups, and the registers at the places of a vector as a linear map.
func (m MemLayout) vectorMap(l Layout, vec int) (v Vectors, step Matrix, ok bool) {
	if vec < 1 || vec > 1<<len(m.bases) || m.every%vec != 0 || m.pad%vec != 0 || !slices.Equal(l.shape, m.shape) {
		return Vectors{}, Matrix{}, false
	}
	v.Vec = vec
	for _, offset := range m.linear(l.columns(Lane, Warp, Block)) {
		if offset&uint64(vec-1) != 0 {
			return Vectors{}, Matrix{}, false
		}
	}
	v.Lane, v.Warp = m.linear(l.bases[Lane]), m.linear(l.bases[Warp])
	regs := NewSpan(l.bases[Reg]...)
	step.Cols = make([]uint64, Log2(vec))
	for i := range step.Cols {
		if step.Cols[i], ok = regs.Solve(m.bases[i]); !ok {
			return Vectors{}, Matrix{}, false
		}
	}
	return v, step, true
}

// MaxVec is the widest vector, in elements and at most limit, that Vectors accepts; at least 1.
func (m MemLayout) MaxVec(l Layout, limit int) int {
	if !slices.Equal(l.shape, m.shape) {
		return 1
	}
	apart := uint64(m.every | m.pad) // offset bits that a vector must not contain
	for _, d := range [...]Dim{Lane, Warp, Block} {
		for _, x := range l.bases[d] {
			apart |= m.Linear(x)
		}
	}
	vec, regs := 1, NewSpan(l.bases[Reg]...)
	for i := 0; i < len(m.bases) && 2*vec <= limit && apart&uint64(2*vec-1) == 0 && regs.Contains(m.bases[i]); i++ {
		vec *= 2
	}
	return vec
}

// threadOffset is the part of an offset that lane and warp contribute.
func (v Vectors) threadOffset(lane, warp int) uint64 {
	return Matrix{Cols: v.Lane}.apply(uint64(lane)) ^ Matrix{Cols: v.Warp}.apply(uint64(warp))
}
