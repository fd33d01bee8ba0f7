package local

import "unsafe"

// Slab is an arena: it allocates many small lists that live as long as a function is being compiled. The memory is zero and never freed on its own.
type Slab[T any] struct{ room []T }

// slabBytes is the size of a chunk. With the word that the Go runtime adds to an object with pointers it fills the size class of 8 KB.
const slabBytes = 8<<10 - 8

// size is the number of elements of a chunk.
func (s *Slab[T]) size() int {
	var one T
	return max(1, slabBytes/int(unsafe.Sizeof(one)))
}

// Take allocates a list of n elements; appending to it copies it.
func (s *Slab[T]) Take(n int) []T {
	if n > len(s.room) {
		if n > s.size()/4 { // allocated on its own: the rest of the chunk is for small lists
			return make([]T, n)
		}
		s.room = make([]T, s.size())
	}
	list := s.room[:n:n]
	s.room = s.room[n:]
	return list
}

// Append is append that always doubles the capacity. The Go runtime grows long lists by a quarter, so that the garbage of a list takes four times its memory.
func Append[T any](list []T, x T) []T {
	if n := len(list); n == cap(list) {
		list = append(make([]T, 0, max(2*n, 16)), list...)
	}
	return append(list, x)
}

// One allocates one element.
func (s *Slab[T]) One() *T { return &s.Take(1)[0] }
