package layout

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawVectors(t *rapid.T, n int) []uint64 {
	return rapid.SliceOfN(rapid.Uint64Range(0, 1<<n-1), 0, 10).Draw(t, "vectors")
}

// members enumerates a span.
func members(vs []uint64) map[uint64]bool {
	out := map[uint64]bool{0: true}
	for _, v := range vs {
		if !out[v] {
			next := map[uint64]bool{}
			for m := range out {
				next[m], next[m^v] = true, true
			}
			out = next
		}
	}
	return out
}

func TestSpanHoldsExactlyTheSumsOfItsGenerators(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 7
		vs := drawVectors(t, n)
		s, all := NewSpan(vs...), members(vs)
		if 1<<s.dim != len(all) {
			t.Fatalf("dim %d, %d members", s.dim, len(all))
		}
		for v := range uint64(1 << n) {
			from, ok := s.Solve(v)
			if ok != all[v] {
				t.Fatalf("%b: member %v, want %v", v, ok, all[v])
			}
			if ok && (Matrix{Cols: vs}).apply(from) != v {
				t.Fatalf("%b is not the sum of generators %b", v, from)
			}
		}
		if !slices.Equal(NewSpan(s.basis()...).basis(), s.basis()) || len(members(s.basis())) != len(all) {
			t.Fatal("the echelon basis spans something else")
		}
	})
}

func TestIntersectIsWhatBothSpansHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawVectors(t, 7), drawVectors(t, 7)
		ma, mb, mc := members(a), members(b), members(Intersect(a, b))
		for v := range uint64(1 << 7) {
			if mc[v] != (ma[v] && mb[v]) {
				t.Fatalf("%b: in a %v, in b %v, in the intersection %v", v, ma[v], mb[v], mc[v])
			}
		}
	})
}

// Lists may be longer than a word has bits: what is redundant in them does not count.
func TestIntersectTakesListsOfAnyLength(t *testing.T) {
	a := append(make([]uint64, 70), 1, 2, 3, 4)
	for _, lists := range [][2][]uint64{{a, {6, 8}}, {{6, 8}, a}} {
		if got := Intersect(lists[0], lists[1]); !slices.Equal(got, []uint64{6}) {
			t.Errorf("%v and %v share %v, want 6", lists[0], lists[1], got)
		}
	}
}

func TestIndependentVectorsEnlargeTheSpan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs, a, b := drawVectors(t, 6), drawVectors(t, 6), drawVectors(t, 6)
		got := independent(vs, a, b)
		span := slices.Concat(a, b)
		for _, v := range vs {
			if members(span)[v] {
				continue
			}
			if len(got) == 0 || got[0] != v {
				t.Fatalf("%b beside %b: %b should come next", span, got, v)
			}
			span, got = append(span, v), got[1:]
		}
		if len(got) > 0 {
			t.Fatalf("%b depend on %b", got, span)
		}
	})
}

// The image of a vector is the sum of the columns of its bits; bits without a column add nothing.
func TestMatricesAreLinear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Matrix{Cols: drawVectors(t, 4)}
		table := m.table()
		if len(table) != 1<<len(m.Cols) {
			t.Fatalf("%d images of %d columns", len(table), len(m.Cols))
		}
		for x := range 2 * len(table) {
			var want uint64
			for i, c := range m.Cols {
				want ^= uint64(x>>i&1) * c
			}
			if got := m.apply(uint64(x)); got != want || x < len(table) && table[x] != want {
				t.Fatalf("%v of %b is %b, want %b", m.Cols, x, got, want)
			}
		}
	})
}

func TestRightInverseSolvesEveryEquation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Matrix{drawVectors(t, 4), 4}
		r, ok := m.rightInverse()
		if ok != (len(members(m.Cols)) == 1<<4) {
			t.Fatalf("%v has a right inverse: %v", m, ok)
		}
		for i, c := range r.Cols {
			if m.apply(c) != 1<<i {
				t.Fatalf("%v: m(r(%b)) = %b", m, 1<<i, m.apply(c))
			}
		}
	})
}

func TestInverseOfAnInvertibleMapIsTwoSided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Matrix{drawInvertible(t, 6), 6}
		r, ok := m.rightInverse()
		for i := range 6 {
			if !ok || r.apply(m.Cols[i]) != 1<<i || m.apply(r.Cols[i]) != 1<<i {
				t.Fatalf("%v is not the inverse of %v", r, m)
			}
		}
	})
}
