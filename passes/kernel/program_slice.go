package kernel

import (
	"slices"

	"tileiras/ir"
)

// This file takes from a program the part that some of its effects need: the ops that compute their operands, and the loops and branches around
// them with all that decides how these run.

// ProgramSlice is a slice of the program of an entry: the ops that some roots need, with the loops and branches around them.
type ProgramSlice struct {
	entry  *ir.Op
	shared map[*ir.Op]bool // is before the roles and belongs to all
	Ops    map[*ir.Op]bool
	Values map[*ir.Value]bool
}

// ProgramSliceOf is the backward slice of the roots.
func ProgramSliceOf(entry *ir.Op, shared map[*ir.Op]bool, roots []*ir.Op) *ProgramSlice {
	p := &ProgramSlice{entry, shared, map[*ir.Op]bool{}, map[*ir.Value]bool{}}
	for _, op := range roots {
		p.NeedOp(op)
	}
	return p
}

// NeedOp adds an op, with what it needs.
func (p *ProgramSlice) NeedOp(op *ir.Op) {
	if op == p.entry || p.shared[op] || p.Ops[op] {
		return
	}
	p.Ops[op] = true
	p.NeedOp(op.ParentOp())
	f, _ := ir.FlowOf(op)
	switch {
	case op.Traits().Has(ir.Terminator): // who takes a value that it passes says so
	case f.Kind.IsLoop():
		inits := f.Inits()
		for _, v := range op.Operands()[:op.NumOperands()-len(inits)] {
			p.Need(v)
		}
		for _, t := range f.Terminators(ir.ContinueFlow, ir.BreakFlow) {
			p.NeedOp(t)
		}
	case f.Kind == ir.BranchFlow:
		for _, v := range op.Operands() {
			p.Need(v)
		}
		for _, t := range f.Terminators(ir.YieldFlow) {
			p.NeedOp(t)
		}
	default:
		for _, v := range op.Operands() {
			p.Need(v)
		}
		for _, v := range ir.Captures(op) {
			p.Need(v)
		}
	}
}

// Need adds what computes a value.
func (p *ProgramSlice) Need(v *ir.Value) {
	if p.Values[v] {
		return
	}
	p.Values[v] = true
	op := v.DefiningOp()
	if op == nil {
		op = v.Block().ParentOp()
	}
	p.NeedOp(op)
	in, _ := ir.Incoming(v)
	for _, w := range in {
		p.Need(w)
	}
	if f, _ := ir.LoopOf(op); f.Kind == ir.CountedFlow { // what it carries at its end is the result
		if i, ok := f.CarriedIndex(v); ok {
			p.Need(op.Result(i))
		} else if v.DefiningOp() == op {
			p.Need(f.Carried()[slices.Index(op.Results(), v)])
		}
	}
}
