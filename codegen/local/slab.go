package local

import "unsafe"

// Slab hands out the memory of many small lists that live as long as a function is worked on. What it hands out is zero and not given back.
type Slab[T any] struct{ room []T }

// slabBytes is what a slab asks for at once, of whatever type: the allocator has one list for all of them, whose pieces have room for this and a word
// that describes it.
const slabBytes = 8<<10 - 8

// size is how many elements that are.
func (s *Slab[T]) size() int {
	var one T
	return max(1, slabBytes/int(unsafe.Sizeof(one)))
}

// Take gives a list of n elements that nobody else has; appending to it copies it.
func (s *Slab[T]) Take(n int) []T {
	if n > len(s.room) {
		if n > s.size()/4 { // of its own: what is left of the slab is for small ones
			return make([]T, n)
		}
		s.room = make([]T, s.size())
	}
	list := s.room[:n:n]
	s.room = s.room[n:]
	return list
}

// Append is append with twice the room where there is none. The runtime adds a quarter to long lists: those before the last then take four times its memory.
func Append[T any](list []T, x T) []T {
	if n := len(list); n == cap(list) {
		list = append(make([]T, 0, max(2*n, 16)), list...)
	}
	return append(list, x)
}

// One gives one element.
func (s *Slab[T]) One() *T { return &s.Take(1)[0] }
