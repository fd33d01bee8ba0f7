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
		if 1<<s.Dim() != len(all) {
			t.Fatalf("dim %d, %d members", s.Dim(), len(all))
		}
		for v := range uint64(1 << n) {
			from, ok := s.Solve(v)
			if ok != all[v] {
				t.Fatalf("%b: member %v, want %v", v, ok, all[v])
			}
			if ok && (Matrix{Cols: vs}).Apply(from) != v {
				t.Fatalf("%b is not the sum of generators %b", v, from)
			}
		}
		if !slices.Equal(NewSpan(s.Basis()...).Basis(), s.Basis()) || len(members(s.Basis())) != len(all) {
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

func TestRightInverseAndKernelSolveEveryEquation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Matrix{drawVectors(t, 4), 4}
		for _, k := range m.Kernel() {
			if m.Apply(k) != 0 || k == 0 {
				t.Fatalf("%b is not in the kernel", k)
			}
		}
		if Rank(m.Cols)+Rank(m.Kernel()) != len(m.Cols) {
			t.Fatal("rank and nullity do not add up")
		}
		r, ok := m.RightInverse()
		if ok != (Rank(m.Cols) == 4) {
			t.Fatalf("rank %d, right inverse %v", Rank(m.Cols), ok)
		}
		if ok && !m.Compose(r).IsIdentity() {
			t.Fatalf("m(r(y)) = %v", m.Compose(r))
		}
	})
}

func TestInverseOfAnInvertibleMapIsTwoSided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Matrix{drawInvertible(t, 6), 6}
		r, ok := m.RightInverse()
		if !ok || !r.Compose(m).IsIdentity() || !m.Compose(r).IsIdentity() {
			t.Fatalf("%v is not the inverse of %v", r, m)
		}
	})
}
