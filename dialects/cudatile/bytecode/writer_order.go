package bytecode

import (
	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// What follows is order only: it changes no meaning, and makes text -> bytes give the bytes that the text came from.
//
// The order of the tables is not in a module. Without an Origin it is that of the cuTile Python writer, which enters the
// types of an operation when the call that emits it gets them as arguments. Where the call for an operand stands inside
// that call, as in
//
//	load(T1, token, offset(T2, broadcast(T2, reshape(T3, p)), iota(T4)))
//
// the types of the outer operation come first, although it is emitted last. This is known of two places: pointer
// arithmetic in a module put together by hand, which has no locations, and the address that the front end takes from the
// table of a list, int_to_ptr(reshape(extract(row))).

// enterTypes enters the result types of an op, after those of the op that its call stands inside.
func (f *bodyWriter) enterTypes(op *ir.Op) {
	if f.entered[op] {
		return
	}
	f.entered[op] = true
	if f.fresh {
		f.enterGlobals(op)
		if outer := callAround(op); outer != nil {
			f.enterTypes(outer)
		}
	}
	k := f.ops.ofRow(op.Def)
	for i, v := range op.Results() {
		if k != nil && !f.hidden(k, i) {
			f.typ(op, v.Type())
		}
	}
}

// callAround is the op that the call for op stands inside, or nil.
func callAround(op *ir.Op) *ir.Op {
	if ir.IsUnknown(op.Loc()) {
		return pointerUser(op)
	}
	switch user := onlyUser(op); {
	case user == nil || user.Loc() != op.Loc():
	case ir.Is[cudatile.Extract](op) && ir.Is[cudatile.Reshape](user) && callAround(user) != nil,
		ir.Is[cudatile.Reshape](op) && ir.Is[cudatile.IntToPtr](user):
		return user
	}
	return nil
}

// onlyUser is the op that uses the only result of an op, if no other does.
func onlyUser(op *ir.Op) *ir.Op {
	if op.NumResults() != 1 || !op.Result(0).HasOneUse() {
		return nil
	}
	return op.Result(0).FirstUse().Owner()
}

// maxPointerOps bounds the length of pointer arithmetic that is recognised, so that a long function costs no more than its
// length times this.
const maxPointerOps = 64

// pointerUser is the op whose pointers op helps to compute: the one after the next offset, if that is its first operand
// and everything on the way there is pure and used on the way only.
func pointerUser(op *ir.Op) *ir.Op {
	on := map[*ir.Op]bool{}
	last := op
	for ; last != nil && !ir.Is[cudatile.Offset](last); last = last.Next() {
		if !last.Traits().Has(ir.Pure) || len(on) == maxPointerOps {
			return nil
		}
		on[last] = true
	}
	if last == nil || last.Next() == nil || onlyUser(last) != last.Next() || last.Result(0).FirstUse().Index() != 0 {
		return nil
	}
	on[last] = true
	for p := op; p != last; p = p.Next() {
		for _, r := range p.Results() {
			for u := r.FirstUse(); u != nil; u = u.Next() {
				if !on[u.Owner()] {
					return nil
				}
			}
		}
	}
	return last.Next()
}

// enterBlocks enters the lexical blocks of a function, which exist before anything lies in them.
func (f *bodyWriter) enterBlocks(entry *ir.Op) {
	f.ctx.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if l, ok := op.Loc().(*cudatile.DILoc); ok {
			if b, ok := l.Scope.(*cudatile.DILexicalBlock); ok {
				f.debugRef(op, b)
			}
		}
	})
}

// enterGlobal enters the name, type and value of a global. The front end defines a global when a kernel first names it,
// who writes a module by hand before the kernels.
func (w *writer) enterGlobal(g cudatile.Global) {
	if value := g.Value(); value != nil {
		w.str(g.SymName())
		w.typ(g.Op, value.Type)
		w.constant(value)
	}
}

// enterGlobals enters the globals that an op names.
func (w *writer) enterGlobals(op *ir.Op) {
	for i, a := range op.Attrs() {
		if s, ok := a.(ir.SymbolAttr); ok && op.Def.AttrDef(i).Attr == ir.SymbolRefKind {
			if g, defined := w.globals[string(s)]; defined {
				w.enterGlobal(g)
			}
		}
	}
}
