package layout

import "math/bits"

// Span is a subspace of F2^64, built one generator at a time. It remembers how every member is made of the generators, and only
// ever uses generators that enlarged it, so earlier generators are preferred. The zero Span is {0}.
type Span struct {
	rows [64]uint64 // rows[i] has leading bit i, or is 0: echelon form
	from [64]uint64 // the generators whose sum is rows[i], as a mask
	n    int        // generators offered so far; at most 64
	dim  int
}

// NewSpan is the span of the given vectors.
func NewSpan(vs ...uint64) *Span {
	s := &Span{}
	for _, v := range vs {
		s.Add(v)
	}
	return s
}

// Add offers the next generator and reports whether it was independent of those before.
func (s *Span) Add(v uint64) bool {
	rest, from := s.reduce(v)
	from |= 1 << s.n
	s.n++
	if rest == 0 {
		return false
	}
	lead := bits.Len64(rest) - 1
	s.rows[lead], s.from[lead] = rest, from
	s.dim++
	return true
}

// reduce splits v into a sum of generators (a mask over the order of Add) and what is left of it, 0 exactly when v is a member.
func (s *Span) reduce(v uint64) (rest, from uint64) {
	for below := v; below != 0; {
		i := bits.Len64(below) - 1
		v ^= s.rows[i]
		from ^= s.from[i]
		below = v & (1<<i - 1)
	}
	return v, from
}

// Solve writes v as a sum of generators, given as a mask over the order of Add.
func (s *Span) Solve(v uint64) (from uint64, ok bool) {
	rest, from := s.reduce(v)
	return from, rest == 0
}

// Contains reports whether v is a member.
func (s *Span) Contains(v uint64) bool {
	rest, _ := s.reduce(v)
	return rest == 0
}

// basis is the reduced echelon basis, by ascending leading bit: equal subspaces have equal bases.
func (s *Span) basis() []uint64 {
	out := make([]uint64, 0, s.dim)
	for i, row := range s.rows {
		if row == 0 {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			if row>>j&1 != 0 && s.rows[j] != 0 {
				row ^= s.rows[j]
			}
		}
		out = append(out, row)
	}
	return out
}

// rank is the dimension of the span of vs.
func rank(vs []uint64) int { return NewSpan(vs...).dim }

// independent returns the vectors of vs that are independent of those in some lists and of those before them.
func independent(vs []uint64, of ...[]uint64) []uint64 {
	s := &Span{}
	for _, list := range of {
		for _, v := range list {
			s.insert(v)
		}
	}
	var out []uint64
	for _, v := range vs {
		if s.insert(v) {
			out = append(out, v)
		}
	}
	return out
}

// insert is Add that does not count v as a generator, so that any number fits.
func (s *Span) insert(v uint64) bool {
	rest, _ := s.reduce(v)
	if rest == 0 {
		return false
	}
	s.rows[bits.Len64(rest)-1] = rest
	s.dim++
	return true
}

// Intersect is a basis of span(a) intersected with span(b), in reduced echelon form.
func Intersect(a, b []uint64) []uint64 {
	a, b = NewSpan(a...).basis(), NewSpan(b...).basis()
	s := NewSpan(a...)
	out := &Span{}
	for _, v := range b {
		// A b-vector that depends on what is before closes a relation; the a-part of the relation is a common vector.
		rest, from := s.reduce(v)
		if rest != 0 {
			s.rows[bits.Len64(rest)-1], s.from[bits.Len64(rest)-1] = rest, from
			continue
		}
		var common uint64
		for i, w := range a {
			if from>>i&1 != 0 {
				common ^= w
			}
		}
		out.Add(common)
	}
	return out.basis()
}

func units(n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = 1 << i
	}
	return out
}

// Matrix is a linear map F2^n -> F2^rows: column i is the image of input bit i.
type Matrix struct {
	Cols []uint64
	Rows int
}

// apply is the image of x: the sum of the columns of its set bits.
func (m Matrix) apply(x uint64) uint64 {
	var y uint64
	for ; x != 0; x &= x - 1 {
		if i := bits.TrailingZeros64(x); i < len(m.Cols) {
			y ^= m.Cols[i]
		}
	}
	return y
}

// table is the images of all vectors.
func (m Matrix) table() []uint64 {
	images := make([]uint64, 1<<len(m.Cols))
	for i, c := range m.Cols {
		for x := range 1 << i {
			images[1<<i+x] = images[x] ^ c
		}
	}
	return images
}

// rightInverse is the map r with m(r(y)) = y whose values use pivot columns only (free variables are 0).
// ok is false when m is not surjective.
func (m Matrix) rightInverse() (r Matrix, ok bool) {
	s := NewSpan(m.Cols...)
	r = Matrix{make([]uint64, m.Rows), len(m.Cols)}
	for i := range r.Cols {
		if r.Cols[i], ok = s.Solve(1 << i); !ok {
			return Matrix{}, false
		}
	}
	return r, true
}
