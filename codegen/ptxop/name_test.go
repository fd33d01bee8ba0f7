package ptxop

import "testing"

// The names are those that ptxas of CUDA 13 accepts and refuses as names of variables and kernels.
func TestNames(t *testing.T) {
	for _, s := range []string{"a", "a1", "_1", "$0", "__", "$$", "add", "entry", "u32", "k$"} {
		if !IsName(s) || NameLike(s) != s {
			t.Errorf("%q is no name, or is like %q", s, NameLike(s))
		}
	}
	for s, like := range map[string]string{"": "__", "_": "___", "$": "_$_", "WARP_SZ": "_WARP_SZ_", "1a": "_1a_", "a.b-c": "a_b_c", "é": "__", "%r": "_r"} {
		if IsName(s) || NameLike(s) != like || !IsName(like) {
			t.Errorf("%q is a name, or is like %q, not %q", s, NameLike(s), like)
		}
	}
}
