package atom

import (
	"strconv"

	"tileiras/codegen/layout"
	"tileiras/codegen/ptxop"
	"tileiras/codegen/target"
)

// CopyOf is the instruction by which a lane copies so many bytes from global to shared memory past the registers, on whichever targets; "" if there is
// none. That of 16 bytes goes past L1, too.
func CopyOf(bytes int) string {
	switch bytes {
	case 4, 8:
		return "cp.async.ca.shared.global." + strconv.Itoa(bytes)
	case 16:
		return "cp.async.cg.shared.global.16"
	}
	return ""
}

// CanCopy reports whether a target has the instruction that copies so many bytes.
func CanCopy(t *target.Target, bytes int) bool {
	name := CopyOf(bytes)
	return name != "" && ptxop.Must(name).Need.On(t)
}

// LoadMatrix is the ldmatrix of a plan; "" where a target has none.
func LoadMatrix(t *target.Target, p layout.MatrixPlan) string {
	name := MatrixMove("ldmatrix", p)
	if !ptxop.Must(name).Need.On(t) {
		return ""
	}
	return name
}

// MatrixMove is the ldmatrix or stmatrix that moves 8x8 matrices of 16-bit cells between shared memory and fragments as a plan has it.
func MatrixMove(verb string, p layout.MatrixPlan) string {
	name := verb + ".m8n8.x" + strconv.Itoa(p.Num)
	if p.Trans {
		name += ".trans"
	}
	return name + ".shared.b16"
}
