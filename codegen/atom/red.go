package atom

import (
	"tileiras/codegen/ptxop"
	"tileiras/codegen/target"
)

// Red is an instruction that adds N neighbours to memory, each by itself and in any order, and gives no old values (PTX ISA, "red", vectors and packed
// types).
type Red struct {
	Elem Elem
	N    int
	Op   string // behind the order, the scope and the space
}

var reds = []Red{
	{F32, 2, "add.v2.f32"}, {F32, 4, "add.v4.f32"},
	{F16, 2, "add.noftz.f16x2"}, {F16, 4, "add.noftz.v2.f16x2"}, {F16, 8, "add.noftz.v4.f16x2"},
	{BF16, 2, "add.noftz.bf16x2"}, {BF16, 4, "add.noftz.v2.bf16x2"}, {BF16, 8, "add.noftz.v4.bf16x2"},
}

// RedOf is the row for so many elements of a format; nil if there is none.
func RedOf(elem Elem, n int) *Red {
	for i, r := range reds {
		if r.Elem == elem && r.N == n {
			return &reds[i]
		}
	}
	return nil
}

// WidestRed is how many elements of a format, at most so many, one instruction of a target adds to global memory.
func WidestRed(t *target.Target, elem Elem, most int) int {
	n := 1
	for _, r := range reds {
		if r.Elem == elem && r.N <= most && ptxop.Must("red.relaxed.gpu.global."+r.Op).Need.On(t) {
			n = r.N
		}
	}
	return n
}
