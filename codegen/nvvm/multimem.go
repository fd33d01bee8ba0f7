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
	register(ir.Table[lowering]{
		tileaa.OpMultimemStore & ir.Place:  multimemStore,
		tileaa.OpMultimemReduce & ir.Place: multimemReduce,
		tileaa.OpMultimemLoad & ir.Place:   multimemLoad,
	})
}

// multimem is the instruction for a run of registers of kind k, words of them when elements are shorter than that. Vectors are of
// floats (a store moves any bits as such), and what is shorter than 32 bits cannot be accessed apart from its neighbours: see
// codegen/ptxop.
func (f *fn) multimem(op *ir.Op, verb string, elem ir.Type, run int) string {
	name := accessName(op, "multimem."+verb, f.space)
	k, n := kindOf(elem), run
	typ := memoryType(k)
	if inWords(k, n) {
		k, n, typ = kI32, n*k.bits()/32, "b32"
	}
	if n > 1 {
		typ = "f32"
	}
	if a, ok := ir.As[tileaa.AtomicOp](op); ok {
		var reduction string
		reduction, typ = multimemReduction(a.Mode(), elem)
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
func multimemReduction(mode def.AtomicMode, elem ir.Type) (op, typ string) {
	if t, ok := elem.(*ir.FloatType); ok {
		typ = t.Format.Name()
		if t.Format.StorageBits() == 16 {
			typ += "x2"
		}
		return map[def.AtomicMode]string{def.ModeAddF: "add", def.ModeMin: "min", def.ModeMax: "max"}[mode], typ
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
	if _, float := elem.(*ir.FloatType); kindOf(elem).bits() == 64 || !float && ir.Is[tileaa.AtomicOp](op) {
		vec = 1
	}
	return f.tiledRuns(op, f.viewOf(op), f.tileLayout(v), vec, owner)
}

func (f *fn) multimemWrite(op *ir.Op, verb string) {
	v := valueOf(op)
	x := f.stored(op)
	for _, r := range f.multimemRuns(op, v, f.owners(f.tileLayout(v))) {
		f.guarded(f.multimem(op, verb, x.elem, len(r.regs)), r.guard, append([]reg{r.base, i32(r.offset)}, f.runRegs(x, r.regs)...)...)
	}
}

func multimemStore(f *fn, op *ir.Op)  { f.multimemWrite(op, "st") }
func multimemReduce(f *fn, op *ir.Op) { f.multimemWrite(op, "red") }

// multimemLoad: a strong load is the owner's, as in tiledLoad.
func multimemLoad(f *fn, op *ir.Op) {
	t := tileaa.AsTile(op.Result(0))
	l := layoutOf(t, f.warps)
	owner := boolean(true)
	if ir.Cast[tileaa.MemoryOp](op).Order() != def.Weak {
		owner = f.owners(l)
	}
	out, fill := f.newTile(t.Elem, numRegs(t)), f.newTile(t.Elem, numRegs(t))
	copy(fill.regs, slices.Repeat([]reg{f.viewOf(op).padding}, fill.len()))
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
