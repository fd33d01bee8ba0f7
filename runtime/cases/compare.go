package cases

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Mismatch tells how the content of a buffer differs from what it must be.
type Mismatch struct {
	Buffer   *Buffer
	Element  int // flat index of the first differing element
	Got      uint64
	Want     uint64
	RTol     float64
	ATol     float64
	Differ   int    // number of differing elements
	Elements int    // number of elements of the buffer
	Rule     string // what was asked: "within atol ...", "equal", "unchanged"
}

// Error names the first differing element by its place in the array (through
// the buffer's view), or says that it lies outside.
func (m *Mismatch) Error() string {
	d := m.Buffer.DType
	place := fmt.Sprintf("%s (outside the array, element %d)", m.Buffer.Name, m.Element)
	if m.Buffer.View == nil { // the array is the buffer
		place = fmt.Sprintf("%s[%s] (element %d)", m.Buffer.Name, joinInts(coordinatesOf(m.Buffer.Shape, m.Element)), m.Element)
	} else if at, ok := m.Buffer.View.coordinates(m.Element); ok {
		place = fmt.Sprintf("%s[%s] (element %d)", m.Buffer.Name, joinInts(at), m.Element)
	}
	diff := ""
	if m.RTol != 0 || m.ATol != 0 {
		diff = fmt.Sprintf(", off by %.3g", math.Abs(d.value(m.Got)-d.value(m.Want)))
	}
	return fmt.Sprintf("%s: got %s, want %s%s (%s); %d of %d elements differ",
		place, d.text(m.Got), d.text(m.Want), diff, m.Rule, m.Differ, m.Elements)
}

func joinInts(v []int) string {
	s := make([]string, len(v))
	for i, x := range v {
		s[i] = fmt.Sprint(x)
	}
	return strings.Join(s, ", ")
}

// coordinatesOf is the index of a flat element of a row-major array.
func coordinatesOf(shape []int, element int) []int {
	at := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = element % shape[d]
		element /= shape[d]
	}
	return at
}

// coordinates inverts the view: the index whose address is the flat element.
// It peels the largest strides first, which is exact for arrays that do not
// overlap themselves, and checks the answer for all others.
func (v *View) coordinates(element int) ([]int, bool) {
	if v == nil || len(v.Shape) != len(v.Strides) {
		return nil, false
	}
	order := make([]int, len(v.Strides))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return v.Strides[b] - v.Strides[a] })
	at, rest := make([]int, len(v.Shape)), element-v.Offset
	for _, dim := range order {
		if v.Shape[dim] <= 0 {
			return nil, false
		}
		if s := v.Strides[dim]; s > 0 && rest >= 0 {
			at[dim] = min(rest/s, v.Shape[dim]-1)
			rest -= at[dim] * s
		}
	}
	return at, rest == 0
}

// Compare holds two contents of a buffer against each other, element by
// element: |got - want| <= atol + rtol*|want| after decoding to f64, where
// infinities must match and signed zeros are equal. With both tolerances zero
// bits must match. NaN equals NaN either way: which NaN comes out is open.
// It returns nil when all elements agree.
func Compare(b *Buffer, got, want []byte, rtol, atol float64) error {
	rule := fmt.Sprintf("within atol %g + rtol %g * |want|", atol, rtol)
	if rtol == 0 && atol == 0 {
		rule = "equal bits"
	}
	return compare(b, got, want, rtol, atol, rule, func(got, want uint64) bool {
		return got == want || b.DType.close(got, want, rtol, atol)
	})
}

// unchanged holds a buffer against its content before the launch, bit by bit.
func unchanged(b *Buffer, got, before []byte) error {
	if bytes.Equal(got, before) {
		return nil
	}
	return compare(b, got, before, 0, 0, "must not change", func(got, want uint64) bool { return got == want })
}

func compare(b *Buffer, got, want []byte, rtol, atol float64, rule string, same func(got, want uint64) bool) error {
	if len(got) != len(want) || len(want) != b.Size() {
		return fmt.Errorf("buffer %s has %d bytes, got %d, want %d", b.Name, b.Size(), len(got), len(want))
	}
	m := Mismatch{Buffer: b, RTol: rtol, ATol: atol, Elements: b.Elements(), Rule: rule}
	for i := range m.Elements {
		g, w := b.DType.bits(got, i), b.DType.bits(want, i)
		if same(g, w) {
			continue
		}
		if m.Differ++; m.Differ == 1 {
			m.Element, m.Got, m.Want = i, g, w
		}
	}
	if m.Differ == 0 {
		return nil
	}
	return &m
}

// close is the rule of Compare for bits that differ.
func (d *DType) close(got, want uint64, rtol, atol float64) bool {
	g, w := d.value(got), d.value(want)
	switch {
	case math.IsNaN(g) || math.IsNaN(w):
		return math.IsNaN(g) && math.IsNaN(w)
	case rtol == 0 && atol == 0:
		return false
	case math.IsInf(g, 0) || math.IsInf(w, 0):
		return g == w
	}
	return math.Abs(g-w) <= atol+float64(rtol*math.Abs(w))
}
