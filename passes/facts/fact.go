package facts

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// Space is where a pointer points.
type Space uint8

const (
	NotPointer Space = iota // not a pointer
	Global                  // device memory: kernel arguments and globals
	Local                   // the tile block's own memory: alloca
	Generic                 // either
)

func (s Space) String() string { return [...]string{"", "global", "slot", "generic"}[s] }

// Fact is what is known of a value, an element of the lattice; on a tile it holds for every element.
//
// Integers are bit patterns of Width bits: the signed and the unsigned interval describe the same patterns twice. A
// pointer is its address, Width 64. Width 0 (floats, tokens, views) knows nothing.
type Fact struct {
	Width      int
	SMin, SMax int64
	UMin, UMax uint64

	// ZeroBits low bits are zero in every element: it is a multiple of 2^ZeroBits (of pointers: bytes).
	ZeroBits int

	// Contiguity, constancy and divisibility: one entry per dimension d, where a group is so many neighbours that begin at
	// an index that is a multiple of their number, a power of two.
	//
	//	Contig[d] groups of so many along d count up by one (pointers: by the size of an element)
	//	Const[d]  groups of so many along d are equal
	//	Div[d]    known-zero low bits of the first element of each group of Contig[d]
	//
	//	element   16 17 18 19 | 32 33 34 35      Contig 4, Const 1, Div 4
	Contig, Const []int64
	Div           []int

	Space Space

	unit int // log2 of the step that Contig counts in: 0 for integers, of the element's bytes for pointers
}

// lowest and highest number of a width.
func minS(w int) int64  { return -1 << (w - 1) }
func maxS(w int) int64  { return int64(uint64(1)<<(w-1) - 1) }
func maxU(w int) uint64 { return ^uint64(0) >> (64 - w) }

func log2(n int64) int { return bits.TrailingZeros64(uint64(n)) }

// unknown is the top of the lattice for a type: nothing is known.
func unknown(t ir.Type) Fact {
	tile, ok := t.(*tileaa.TileType)
	if !ok {
		return Fact{}
	}
	f := Fact{}
	switch e := tile.Elem.(type) {
	case *ir.IntegerType:
		f.Width = e.Width
	case *tileaa.PtrType:
		f.Width, f.Space, f.unit = 64, Generic, log2(int64(tileaa.ElemBytes(e.Elem)))
	default:
		return f
	}
	f.SMin, f.SMax, f.UMax = minS(f.Width), maxS(f.Width), maxU(f.Width)
	if n := len(tile.Shape); n > 0 {
		f.Contig, f.Const, f.Div = ones(n), ones(n), make([]int, n)
	}
	return f
}

// constant is the fact that every element of a tile has these bits.
func constant(t ir.Type, x uint64) Fact {
	f := unknown(t)
	f.setConstant(x)
	for d, n := range shapeOf(t) {
		f.Const[d] = n
	}
	return f
}

func (f *Fact) setConstant(x uint64) {
	f.UMin, f.UMax = x, x
	f.SMin, f.SMax = tileaa.SignExtend(x, f.Width), tileaa.SignExtend(x, f.Width)
	f.ZeroBits = min(bits.TrailingZeros64(x), f.Width)
	for d := range f.Div {
		f.Div[d] = f.ZeroBits
	}
}

func shapeOf(t ir.Type) []int64 {
	if tile, ok := t.(*tileaa.TileType); ok {
		return tile.Shape
	}
	return nil
}

// Constant is the value that every element has.
func (f Fact) Constant() (x uint64, ok bool) { return f.UMin, f.Width > 0 && f.UMin == f.UMax }

// zerosAt is the number of known-zero low bits of the elements whose index along d is a multiple of c.
func (f Fact) zerosAt(d int, c int64) int {
	z := f.Div[d]
	if c < f.Contig[d] {
		// first element of the group + a multiple of c steps
		z = min(z, log2(c)+f.unit)
	}
	return max(z, f.ZeroBits)
}

// alignedContig is the largest c, at most Contig[d], such that the values of groups of c along d begin at multiples of c
// steps: such a group crosses no multiple of c, so in particular never wraps.
func (f Fact) alignedContig(d int) int64 {
	c := f.Contig[d]
	for c > 1 && f.zerosAt(d, c) < log2(c)+f.unit {
		c /= 2
	}
	return c
}

// refineInPlace is refine in place. It is not inlined, to keep its copies of a fact out of the frames of a deep recursion.
//
//go:noinline
func (f *Fact) refineInPlace() { *f = f.refine() }

// refine is the reduction between the domains: the two intervals and the zero bits sharpen each other. An empty
// interval comes from contradictory assumptions, which only undefined executions have, and gives top.
func (f Fact) refine() Fact {
	if f.Width == 0 {
		return f
	}
	w := f.Width
	if len(f.Div) > 0 {
		f.Div = slices.Clone(f.Div)
	}
	for range 2 {
		if f.ZeroBits >= w {
			f.ZeroBits = w
			f.UMin, f.UMax = 0, min(f.UMax, 0)
		} else if z := uint64(1)<<f.ZeroBits - 1; z > 0 {
			if f.UMin > maxU(w)&^z {
				return f.top()
			}
			f.UMin, f.UMax = (f.UMin+z)&^z, f.UMax&^z
			f.SMax &= ^int64(z)
			if f.SMin <= maxS(w)-int64(z) {
				f.SMin = (f.SMin + int64(z)) &^ int64(z)
			}
		}
		if f.SMin >= 0 || f.SMax < 0 {
			f.UMin, f.UMax = max(f.UMin, tileaa.Truncate(uint64(f.SMin), w)), min(f.UMax, tileaa.Truncate(uint64(f.SMax), w))
		}
		if f.UMax <= uint64(maxS(w)) || f.UMin > uint64(maxS(w)) {
			f.SMin, f.SMax = max(f.SMin, tileaa.SignExtend(f.UMin, w)), min(f.SMax, tileaa.SignExtend(f.UMax, w))
		}
		if f.SMin > f.SMax || f.UMin > f.UMax {
			return f.top()
		}
		if f.UMin == f.UMax {
			f.ZeroBits = max(f.ZeroBits, min(bits.TrailingZeros64(f.UMin), w))
		}
	}
	for d := range f.Div {
		if f.Contig[d] == 1 {
			f.ZeroBits = max(f.ZeroBits, f.Div[d])
		}
	}
	for d := range f.Div {
		f.Div[d] = max(f.Div[d], f.ZeroBits)
	}
	return f
}

// top is f with nothing known but width, rank and address space.
func (f Fact) top() Fact {
	f.SMin, f.SMax, f.UMin, f.UMax, f.ZeroBits = minS(f.Width), maxS(f.Width), 0, maxU(f.Width), 0
	f.Contig, f.Const, f.Div = ones(len(f.Contig)), ones(len(f.Const)), make([]int, len(f.Div))
	return f
}

func ones(n int) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

// join is the least upper bound: what holds of a value that is one of the two.
func join(a, b Fact) Fact {
	if a.Width == 0 || b.Width != a.Width || len(a.Contig) != len(b.Contig) {
		return Fact{}
	}
	r := a
	r.SMin, r.SMax = min(a.SMin, b.SMin), max(a.SMax, b.SMax)
	r.UMin, r.UMax = min(a.UMin, b.UMin), max(a.UMax, b.UMax)
	r.ZeroBits = min(a.ZeroBits, b.ZeroBits)
	r.Contig, r.Const, r.Div = ones(len(a.Contig)), ones(len(a.Const)), make([]int, len(a.Div))
	for d := range r.Contig {
		c := min(a.Contig[d], b.Contig[d])
		r.Contig[d] = c
		r.Const[d] = min(a.Const[d], b.Const[d])
		r.Div[d] = min(a.zerosAt(d, c), b.zerosAt(d, c))
	}
	if a.Space != b.Space {
		r.Space = Generic
	}
	return r
}

// equal reports whether two facts of one type are the same; it compares all that join can change.
func equal(a, b Fact) bool {
	if a.Width != b.Width || a.SMin != b.SMin || a.SMax != b.SMax || a.UMin != b.UMin || a.UMax != b.UMax ||
		a.ZeroBits != b.ZeroBits || a.Space != b.Space || len(a.Contig) != len(b.Contig) {
		return false
	}
	for d := range a.Contig {
		if a.Contig[d] != b.Contig[d] || a.Const[d] != b.Const[d] || a.Div[d] != b.Div[d] {
			return false
		}
	}
	return true
}

// String is the fact as --print-facts shows it: "s[0,127] u[0,127] zeros 4 contig[64] const[1] div[6] global".
func (f Fact) String() string {
	if f.Width == 0 {
		return "unknown"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "s[%d,%d] u[%d,%d] zeros %d", f.SMin, f.SMax, f.UMin, f.UMax, f.ZeroBits)
	if len(f.Contig) > 0 {
		fmt.Fprintf(&b, " contig%v const%v div%v", f.Contig, f.Const, f.Div)
	}
	if f.Space != NotPointer {
		b.WriteString(" " + f.Space.String())
	}
	return b.String()
}
