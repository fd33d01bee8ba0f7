package plan

import (
	"slices"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
)

// This file finds what must be true of the values that accesses follow from for them to be as wide as can be.

// gains reports whether a thread makes several accesses for a load or a store where it could make fewer.
func (v *version) gains(op *ir.Op) bool {
	switch op.Code() {
	case tileaa.OpLoad, tileaa.OpStore, tileaa.OpTiledLoad, tileaa.OpTiledStore:
		all := elemBytes(op)
		for _, n := range tileaa.AccessedTile(op).Shape {
			all *= n
		}
		narrow := v.bytes(v.known, op)
		return !tileaa.IsStrong(op) && narrow < layout.WidestAccess && narrow*int64(layout.WarpSize*tileaa.WarpsOf(op)) < all
	}
	return false
}

// bytes is how many bytes an access could take at once, as far as is known; as many as there are for what is no tile.
func (v *version) bytes(known *facts.Facts, op *ir.Op) int64 {
	size := elemBytes(op)
	if block, ok := tileaa.BlockOf(op); ok {
		return min(known.BlockVector(block, known.FastDim(block))*size, layout.WidestAccess)
	}
	p := ir.Cast[tileaa.PtrAccess](op)
	if !tileaa.IsRanked(p.Ptr()) {
		return layout.WidestAccess
	}
	_, vec, _ := pointerVector(known, p)
	return vec * size
}

// maxFailures bounds how many accesses of an entry are looked at in vain: each time, all that its place follows from is looked at for every parameter.
const maxFailures = 64

// suppose adds what an access would have to know to be as wide as can be, if all of it can be tested and agrees with what others want. It reports
// whether the access will be.
func (v *version) suppose(op *ir.Op, testable func(*ir.Value) bool) bool {
	return v.gains(op) && v.widens(op, testable)
}

// widens is suppose of an access that gains by it.
func (v *version) widens(op *ir.Op, testable func(*ir.Value) bool) bool {
	if v.wide(op, nil) {
		return true
	}
	if v.failures == maxFailures {
		return false
	}
	var list []promise
	if block, ok := tileaa.BlockOf(op); ok {
		list = arrayPromises(v.known, op, ir.Cast[tileaa.MakeMemref](block.Memref().DefiningOp()))
	} else {
		list = v.pointerPromises(op, ir.Cast[tileaa.PtrAccess](op).Ptr())
	}
	list = slices.DeleteFunc(list, v.isKnown)
	if slices.ContainsFunc(list, func(p promise) bool { return !testable(p.value) || v.contradicts(p) }) || !v.wide(op, list) {
		v.failures++
		return false
	}
	for _, p := range list {
		v.add(p)
	}
	v.supposed = nil
	return true
}

// supposeWhole adds what the length of an array's rows would have to be a multiple of for no access to be cut by their end. A copy that may be cut
// computes how much of it is left.
func (v *version) supposeWhole(op *ir.Op, testable func(*ir.Value) bool) {
	block, ok := tileaa.BlockOf(op)
	if !ok || !cutByTheEnd(op) {
		return
	}
	d := v.known.FastDim(block)
	if v.known.BlockMaskVector(block, d) >= v.known.BlockVector(block, d) {
		return
	}
	p := multiple(v.known.ExtentOf(block, d), elementsOf(op))
	if p.value == nil || !testable(p.value) || v.contradicts(p) {
		return
	}
	supposed := v.known.Anew()
	p.suppose(supposed)
	if supposed.BlockMaskVector(block, d)*elemBytes(op) >= layout.WidestAccess {
		v.add(p)
	}
}

// wide reports whether an access would be as wide as can be with promises more.
func (v *version) wide(op *ir.Op, more []promise) bool {
	supposed := v.supposed
	if supposed == nil || len(more) > 0 {
		supposed = v.known.Anew()
		for _, p := range slices.Concat(v.promises, more) {
			p.suppose(supposed)
		}
	}
	if len(more) == 0 {
		v.supposed = supposed
	}
	return v.bytes(supposed, op) >= layout.WidestAccess
}

// elementsOf is how many elements of a load its widest access takes.
func elementsOf(op *ir.Op) uint64 {
	return uint64(layout.WidestAccess / min(elemBytes(op), layout.WidestAccess))
}

// arrayPromises are those of the array of a block: of where it begins, and of its strides.
func arrayPromises(known *facts.Facts, op *ir.Op, m tileaa.MakeMemref) []promise {
	list := []promise{multiple(m.Base(), layout.WidestAccess)}
	t := m.Result().Type().(*tileaa.MemrefType)
	side := len(t.Strides) - 1 // the dimension whose elements lie side by side: one that is known to, else the last
	for a := range t.Strides {
		if one, ok := known.Stride(m, a).Constant(); ok && one == 1 {
			side = a
		}
	}
	for a := range t.Strides {
		stride, _ := tileaa.SizeOf(t.Strides, m.Strides(), a)
		switch {
		case stride == nil:
		case a == side:
			list = append(list, one(stride))
		default:
			list = append(list, multiple(stride, elementsOf(op)))
		}
	}
	return list
}

// maxParameters bounds how many parameters of the kernel a place may follow from.
const maxParameters = 12

// pointerPromises are those of the parameters from which pointers follow: all are multiples, or one of them is the distance between neighbours; without
// those that do not matter. For factors of products, which copies bring then, what is divided on the way may have to be positive, too; others gain too little
// from wide accesses for a second version.
func (v *version) pointerPromises(op *ir.Op, ptr *ir.Value) []promise {
	var all []promise
	parameters, divided := v.origins(ptr)
	for _, x := range parameters {
		divisor := elementsOf(op)
		if isPointer(x) {
			divisor = layout.WidestAccess
		}
		all = append(all, multiple(x, divisor))
	}
	if len(all) > maxParameters {
		return nil
	}
	found := v.wide(op, all)
	if !found && v.feeds[op] && len(divided) <= maxParameters {
		for _, x := range divided {
			all = append(all, small(x))
		}
		found = v.wide(op, all)
	}
	for i := len(all) - 1; i >= 0 && !found; i-- { // what columns are multiplied by comes last in most programs
		if p := all[i]; p.kind == isMultiple && !isPointer(p.value) {
			if all[i] = one(p.value); !v.wide(op, all) {
				all[i] = p
				continue
			}
			found = true
		}
	}
	for i := 0; i < len(all) && found; {
		if less := slices.Delete(slices.Clone(all), i, i+1); v.wide(op, less) {
			all = less
		} else {
			i++
		}
	}
	return all
}

// origins are the arguments of the entry from which a value follows by pure operations and loops, and the scalars in what is divided on the way as a
// signed number that may be negative.
func (v *version) origins(x *ir.Value) (parameters, divided []*ir.Value) {
	seen, divides := map[*ir.Value]bool{}, map[*ir.Value]bool{}
	var visit func(x *ir.Value)
	visit = func(x *ir.Value) {
		v.s.Step()
		if seen[x] {
			return
		}
		seen[x] = true
		if incoming, ok := ir.Incoming(x); ok {
			for _, i := range incoming {
				visit(i)
			}
		} else if op := x.DefiningOp(); op != nil && op.MovesFreely() {
			if dividesSigned(op) && v.known.Of(op.Operand(0)).SMin < 0 {
				divided = append(divided, v.scalarsOf(op.Operand(0), divides)...)
			}
			for _, o := range op.Operands() {
				visit(o)
			}
		} else if t := tileaa.AsTile(x); op == nil && x.Block() == v.entry.Body() && t != nil && (ir.IsInt(t.Elem) || isPointer(x)) {
			parameters = append(parameters, x)
		}
	}
	visit(x)
	return parameters, divided
}

// dividesSigned reports whether an op is the quotient or the remainder of a tile of signed numbers.
func dividesSigned(op *ir.Op) bool {
	if q, ok := ir.As[tileaa.Divi](op); ok {
		return tileaa.IsRanked(q.Result()) && q.Signedness() == def.Signed
	}
	r, ok := ir.As[tileaa.Remi](op)
	return ok && tileaa.IsRanked(r.Result()) && r.Signedness() == def.Signed
}

// scalarsOf are the scalars from which a tile follows element by element, if they are not known to be small, but for those of tiles that have been seen.
func (v *version) scalarsOf(tile *ir.Value, seen map[*ir.Value]bool) (list []*ir.Value) {
	var visit func(x *ir.Value)
	visit = func(x *ir.Value) {
		v.s.Step()
		op := x.DefiningOp()
		if seen[x] || op == nil || !op.MovesFreely() {
			return
		}
		seen[x] = true
		if s, ok := ir.As[tileaa.Splat](op); ok {
			if n := tileaa.ElemBits(tileaa.AsTile(s.Source()).Elem); n >= 8 && !isPointer(s.Source()) && !v.isKnown(small(s.Source())) {
				list = append(list, s.Source())
			}
			return
		}
		for _, o := range op.Operands() {
			if tileaa.IsRanked(o) {
				visit(o)
			}
		}
	}
	visit(tile)
	return list
}

func isPointer(v *ir.Value) bool {
	t := tileaa.AsTile(v)
	if t == nil {
		return false
	}
	_, ok := t.Elem.(*tileaa.PtrType)
	return ok
}
