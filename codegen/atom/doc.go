// Package atom is the table of the hardware's tile instructions: matrix products and copies, one row each, with the layout of every
// operand over the lanes and registers of a warp. Rows are checked when they are first asked for: their layouts cover the shape
// exactly once and their register counts are those of the instruction. Choosing an instruction is a search over the rows with a
// cost; nothing asks for a compute capability by number.
//
// The package imports codegen/layout, codegen/target, codegen/ptxop and codegen/planted. It must not import codegen/cost, an IR or a dialect.
package atom

import "fmt"

// Elem is the type of an element as an operand of an instruction. Names are those of Tile IR for floats; integers carry their
// signedness, since the product depends on it.
type Elem string

const (
	F16  Elem = "f16"
	BF16 Elem = "bf16"
	F32  Elem = "f32"
	TF32 Elem = "tf32" // a 32-bit word whose low 13 bits the tensor core ignores
	F64  Elem = "f64"
	E4M3 Elem = "f8E4M3FN"
	E5M2 Elem = "f8E5M2"
	F4   Elem = "f4E2M1FN"
	F4x2 Elem = "2 f4E2M1FN" // two neighbours along K in a byte, the first in the low half
	E8M0 Elem = "f8E8M0FNU"
	S8   Elem = "s8"
	U8   Elem = "u8"
	S32  Elem = "s32"
)

// elems lists every Elem: its bits in a register, its name in PTX as an element of a matrix or of scales, and the types its values convert to exactly.
var elems = []struct {
	elem   Elem
	bits   int
	ptx    string
	widens []Elem
}{
	{F16, 16, "f16", []Elem{TF32, F32, F64}},
	{BF16, 16, "bf16", []Elem{TF32, F32, F64}},
	{F32, 32, "f32", []Elem{F64}},
	{TF32, 32, "tf32", []Elem{F32, F64}},
	{F64, 64, "f64", nil},
	{E4M3, 8, "e4m3", []Elem{F16, BF16, TF32, F32, F64}},
	{E5M2, 8, "e5m2", []Elem{F16, BF16, TF32, F32, F64}},
	{F4x2, 8, "e2m1", nil},
	{F4, 4, "", []Elem{E4M3, E5M2, F16, BF16, TF32, F32, F64}},
	{E8M0, 8, "e8m0", nil},
	{S8, 8, "s8", []Elem{S32}},
	{U8, 8, "u8", []Elem{S32}},
	{S32, 32, "s32", nil},
}

// Bits is the size of an element in a register. It panics on an unknown type.
func (e Elem) Bits() int { return elems[e.row()].bits }

// Packed is how many elements of a matrix one of the type is.
func (e Elem) Packed() int {
	if e == F4x2 {
		return 2
	}
	return 1
}

// Known reports whether e is an element type of the table.
func (e Elem) Known() bool { return e.find() >= 0 }

// WidensTo reports whether every value of e is a value of f.
func (e Elem) WidensTo(f Elem) bool {
	if e == f {
		return true
	}
	for _, w := range elems[e.row()].widens {
		if w == f {
			return true
		}
	}
	return false
}

func (e Elem) find() int {
	for i := range elems {
		if elems[i].elem == e {
			return i
		}
	}
	return -1
}

func (e Elem) row() int {
	if i := e.find(); i >= 0 {
		return i
	}
	panic(fmt.Sprintf("atom: no element type %q", string(e)))
}

// elemOf is the Elem of a name in PTX.
func elemOf(ptx string) Elem {
	for i := range elems {
		if elems[i].ptx == ptx {
			return elems[i].elem
		}
	}
	panic("atom: no element type is called " + ptx + " in PTX")
}
