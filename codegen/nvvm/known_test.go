package nvvm

import "testing"

// TestComputationsAreFoundAgain holds the table against a map, over keys that differ in one field each and some that come twice.
func TestComputationsAreFoundAgain(t *testing.T) {
	table, want := newComputed(4), map[key]span{}
	for i := range int32(3000) {
		n := i % 1000
		k := key{op: opcode(n % 7), a: id(n % 11), b: id(n / 11), at: n % 3}
		switch n % 4 {
		case 1:
			k.c = id(n)
		case 2:
			k.d = id(n)
		case 3:
			k.op |= opPTX
		}
		s, ok := table.find(&k)
		if w, there := want[k]; ok != there || s != w {
			t.Fatalf("%+v gave %v, %t, want %v, %t", k, s, ok, w, there)
		}
		want[k] = span{i, 1}
		table.set(&k, span{i, 1})
	}
	for k, w := range want {
		if s, ok := table.find(&k); !ok || s != w {
			t.Errorf("%+v gave %v, %t, want %v", k, s, ok, w)
		}
	}
	k := key{op: opICmp, a: 1, b: 2, at: 3}
	if n := testing.AllocsPerRun(10, func() { table.find(&k) }); n != 0 {
		t.Errorf("a question makes %v allocations", n)
	}
}
