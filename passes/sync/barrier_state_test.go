package sync

import "testing"

// A span without a buffer stands for every access to its bytes: what lies inside it adds nothing, unless it writes and the span only reads.
func TestSpansIncludeWhatLiesInside(t *testing.T) {
	for _, c := range []struct {
		s, r span
		want bool
	}{
		{span{lo: 0, hi: 8}, span{lo: 0, hi: 8}, true},
		{span{lo: 0, hi: 8, write: true}, span{lo: 0, hi: 8}, true},
		{span{lo: 0, hi: 8, write: true}, span{lo: 2, hi: 6}, true},
		{span{lo: 0, hi: 8}, span{lo: 0, hi: 8, write: true}, false},
		{span{lo: 0, hi: 8, write: true}, span{lo: 0, hi: 9}, false},
		{span{lo: 1, hi: 8, write: true}, span{lo: 0, hi: 8}, false},
	} {
		if got := c.s.includes(c.r); got != c.want {
			t.Errorf("%+v includes %+v: %v, want %v", c.s, c.r, got, c.want)
		}
	}
}
