package cases

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// Init describes the content of a buffer that no file holds.
type Init struct {
	Kind   string        `json:"kind"` // normal, uniform_int, zeros, ones; empty with Values
	Std    float64       `json:"std"`  // normal: standard deviation
	Lo     int64         `json:"lo"`   // uniform_int: Lo <= value < Hi
	Hi     int64         `json:"hi"`
	Seed   uint64        `json:"seed"`
	Values []json.Number `json:"values"`
}

// Elements is the number of elements of the buffer.
func (b *Buffer) Elements() int {
	n := 1
	for _, d := range b.Shape {
		n *= d
	}
	return n
}

// Size is the number of bytes of the buffer.
func (b *Buffer) Size() int { return b.Elements() * b.DType.Size }

// Fill makes Data from the description unless it is there already. The same
// description gives the same bytes on every machine.
func (b *Buffer) Fill() error {
	if b.Data != nil || b.Init == nil {
		return nil
	}
	n := b.Elements()
	data := make([]byte, b.Size())
	next, err := b.Init.generator(b.DType, n)
	if err != nil {
		return fmt.Errorf("buffer %q: init: %w", b.Name, err)
	}
	for i := range n {
		bits, err := next(i)
		if err != nil {
			return fmt.Errorf("buffer %q: init: element %d: %w", b.Name, i, err)
		}
		b.DType.setBits(data, i, bits)
	}
	b.Data = data
	return nil
}

// generator returns the function that makes element i, called in order.
func (in *Init) generator(d *DType, n int) (func(i int) (uint64, error), error) {
	rng := rand.New(rand.NewPCG(in.Seed, 0))
	constant := func(v float64) func(int) (uint64, error) {
		bits := d.encode(v)
		return func(int) (uint64, error) { return bits, nil }
	}
	switch {
	case in.Values != nil:
		if len(in.Values) != n {
			return nil, fmt.Errorf("%d values for %d elements", len(in.Values), n)
		}
		return func(i int) (uint64, error) { return d.Parse(in.Values[i].String()) }, nil
	case in.Kind == "zeros":
		return constant(0), nil
	case in.Kind == "ones":
		return constant(1), nil
	case in.Kind == "normal":
		return func(int) (uint64, error) { return d.encode(rng.NormFloat64() * in.Std), nil }, nil
	case in.Kind == "uniform_int":
		if in.Hi <= in.Lo {
			return nil, fmt.Errorf("uniform_int needs lo < hi, got %d and %d", in.Lo, in.Hi)
		}
		span := uint64(in.Hi) - uint64(in.Lo)
		return func(int) (uint64, error) { return d.encode(float64(in.Lo + int64(rng.Uint64N(span)))), nil }, nil
	}
	return nil, fmt.Errorf("unknown kind %q", in.Kind)
}
