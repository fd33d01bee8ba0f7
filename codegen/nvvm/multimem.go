package nvvm

import (
	"fmt"

	"tileiras/ir"
)

func init() {
	register(map[string]lowering{
		"multimem_store": multimemStore,
	})
}

// multimemVector is how many elements an instruction on multicast memory may move: 64-bit ones come alone.
func (f *fn) multimemVector(op *ir.Op, elem ir.Type) int {
	if kindOf(elem).bits() == 64 {
		return 1
	}
	return vecOf(op)
}

// multimemType is the PTX type of n registers of at least 32 bits: vectors are of floats, whatever the bits mean.
func multimemType(k kind, n int) string {
	if n == 1 {
		return memoryType(k)
	}
	return fmt.Sprintf("v%d.f32", n)
}

// multimemStore stores a tile to all copies of multicast memory. Less than 32 bits cannot be stored apart from their neighbours.
func multimemStore(f *fn, op *ir.Op) {
	v := op.OperandNamed("value")
	x := f.inMemory(f.val(op, "value"))
	l := f.tileLayout(v)
	name, _ := f.accessName(op, "multimem.st")
	for _, r := range f.tiledRuns(op, f.viewOf(op.OperandNamed("block")), l, f.multimemVector(op, x.elem), f.owners(l)) {
		words := f.runRegs(x, r.regs)
		row := name + "." + multimemType(words[0].k, len(words))
		if words[0].k.bits() < 32 || !f.has(row) {
			f.unsupported("%d elements of %s at once on %s", len(r.regs), ir.ShortType(elemOf(v)), f.target.Name)
		}
		f.guarded(row, r.guard, append([]reg{r.base, i32(r.offset)}, words...)...)
	}
}
