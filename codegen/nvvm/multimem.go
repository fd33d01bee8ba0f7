package nvvm

import (
	"fmt"
	"slices"
	"strings"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

func init() {
	register(map[string]lowering{
		"multimem_store":  multimemStore,
		"multimem_reduce": multimemReduce,
		"multimem_load":   multimemLoad,
	})
}

// multimem is the instruction for a run of registers of kind k, words of them when elements are shorter than that. Vectors are of
// floats (a store moves any bits as such), and what is shorter than 32 bits cannot be accessed apart from its neighbours: see
// codegen/ptxop.
func (f *fn) multimem(op *ir.Op, verb string, elem ir.Type, run int) string {
	name, _ := f.accessName(op, "multimem."+verb)
	k, n := kindOf(elem), run
	typ := memoryType(k)
	if inWords(k, n) {
		k, n, typ = kI32, n*k.bits()/32, "b32"
	}
	if n > 1 {
		typ = "f32"
	}
	if op.Def.AttrIndex("mode") >= 0 {
		var reduction string
		reduction, typ = multimemReduction(op.EnumNamed("mode"), elem)
		name += "." + reduction
	}
	if n > 1 {
		typ = fmt.Sprintf("v%d.%s", n, typ)
	}
	row := name + "." + typ
	if k.bits() < 32 || !f.has(row) {
		f.unsupported("%d elements of %s at once on %s", run, ir.ShortType(elem), f.target.Name)
	}
	return row
}

// multimemReduction is the PTX operation of a mode and its type for elements: pairs of short floats.
func multimemReduction(mode uint32, elem ir.Type) (op, typ string) {
	if t, ok := elem.(*ir.FloatType); ok {
		typ = t.Format.Name()
		if t.Format.StorageBits() == 16 {
			typ += "x2"
		}
		return map[uint32]string{def.ModeAddF: "add", def.ModeMin: "min", def.ModeMax: "max"}[mode], typ
	}
	name, _ := atomicOp(mode, elem)
	op, typ, _ = strings.Cut(name, ".")
	return op, typ
}

// multimemRuns cuts an access to multicast memory into what one instruction can do: integers are reduced word by word, and 64 bits
// always come alone.
func (f *fn) multimemRuns(op *ir.Op, v *ir.Value, owner reg) []run {
	vec := vecOf(op)
	elem := elemOf(v)
	if _, float := elem.(*ir.FloatType); kindOf(elem).bits() == 64 || !float && op.Def.AttrIndex("mode") >= 0 {
		vec = 1
	}
	return f.tiledRuns(op, f.viewOf(op.OperandNamed("block")), f.tileLayout(v), vec, owner)
}

func (f *fn) multimemWrite(op *ir.Op, verb string) {
	v := op.OperandNamed("value")
	x := f.val(op, "value")
	for _, r := range f.multimemRuns(op, v, f.owners(f.tileLayout(v))) {
		f.guarded(f.multimem(op, verb, x.elem, len(r.regs)), r.guard, append([]reg{r.base, i32(r.offset)}, f.runRegs(x, r.regs)...)...)
	}
}

func multimemStore(f *fn, op *ir.Op)  { f.multimemWrite(op, "st") }
func multimemReduce(f *fn, op *ir.Op) { f.multimemWrite(op, "red") }

// multimemLoad: a strong load is the owner's, as in tiledLoad.
func multimemLoad(f *fn, op *ir.Op) {
	t := tileaa.AsTile(op.Result(0))
	l := layoutOf(t, f.plan.Warps)
	owner := boolean(true)
	if op.EnumNamed("order") != def.Weak {
		owner = f.owners(l)
	}
	out, fill := f.newTile(t.Elem, numRegs(t)), f.newTile(t.Elem, numRegs(t))
	copy(fill.regs, slices.Repeat([]reg{f.viewOf(op.OperandNamed("block")).padding}, fill.len()))
	for _, r := range f.multimemRuns(op, op.Result(0), owner) {
		row := f.multimem(op, "ld_reduce", t.Elem, len(r.regs))
		var fallback []reg
		if !r.guard.is(1) {
			fallback = f.runRegs(fill, r.regs)
		}
		f.putRun(out, r.regs, f.loadWords(row, r, fallback))
	}
	f.fillReplicas(out, l)
	f.set(op, out)
}
