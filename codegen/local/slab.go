package local

// Slab hands out the memory of many small lists that live as long as a function is worked on. What it hands out is zero and not given back.
type Slab[T any] struct{ room []T }

// slabSize is how many elements a slab asks for at once.
const slabSize = 256

// Take gives a list of n elements that nobody else has; appending to it copies it.
func (s *Slab[T]) Take(n int) []T {
	if n > slabSize/4 { // of its own: what is left of the slab is for small ones
		return make([]T, n)
	}
	if n > len(s.room) {
		s.room = make([]T, slabSize)
	}
	list := s.room[:n:n]
	s.room = s.room[n:]
	return list
}

// One gives one element.
func (s *Slab[T]) One() *T { return &s.Take(1)[0] }
