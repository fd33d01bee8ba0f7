package bytecode

import (
	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// bodyWriter encodes the body of one function; see bodyReader for the numbering of values.
type bodyWriter struct {
	*writer
	encoder
	numbers   map[*ir.Value]uint64
	scope     []*ir.Value // numbered values, innermost block last
	locations []uint64
	entered   map[*ir.Op]bool // see enterTypes
}

func (f *bodyWriter) define(v *ir.Value) {
	f.numbers[v] = uint64(len(f.scope))
	f.scope = append(f.scope, v)
}

// leave takes back the numbers given since there were n.
func (f *bodyWriter) leave(n int) {
	for _, v := range f.scope[n:] {
		delete(f.numbers, v)
	}
	f.scope = f.scope[:n]
}

func (f *bodyWriter) location(op *ir.Op) {
	f.locations = append(f.locations, f.locationRef(op, op.Loc()))
}

// block encodes arguments as numbers and operations as bytes; the caller writes the header.
func (f *bodyWriter) block(b *ir.Block) {
	for _, a := range b.Args() {
		f.ctx.Step()
		f.define(a)
	}
	for op := b.First(); op != nil && f.err == nil; op = op.Next() {
		f.op(op)
	}
}

func (f *bodyWriter) op(op *ir.Op) {
	f.ctx.Step()
	k := f.ops.ofRow(op.Def)
	if k == nil || topLevel(op.Def) {
		f.fail(op, "operation '%s' cannot be serialized in a function body", op.Name())
		return
	}
	if f.v.Before(k.def.Since) {
		f.fail(op, "operation '%s' is not available in bytecode version %v", op.Name(), fileVersion(f.v))
		return
	}
	f.wide = f.origin.wide[op]
	f.location(op)
	f.enterTypes(op)
	f.varint(uint64(k.def.Opcode))
	f.results(k, op)
	f.flags(k, op)
	f.attributes(k, op)
	f.operands(k, op)
	f.wide = nil
	if len(k.def.Regions) > 0 {
		f.regions(op)
	}
	for i, v := range op.Results() {
		if !f.hidden(k, i) {
			f.define(v)
		}
	}
}

// hidden reports whether result i is newer than the version.
func (f *bodyWriter) hidden(k *codec, i int) bool {
	return i < len(k.def.Results) && f.v.Before(k.def.Results[i].Since)
}

func (f *bodyWriter) results(k *codec, op *ir.Op) {
	var types []ir.Type
	for i, v := range op.Results() {
		if !f.hidden(k, i) {
			types = append(types, v.Type())
		} else if v.HasUses() {
			f.fail(op, "result '%s' requires bytecode version %v but is being used and targeting %v. "+
				"Cannot serialize to older bytecode version when newer features are used.",
				k.def.Results[i].Name, k.def.Results[i].Since, fileVersion(f.v))
		}
	}
	if k.counted {
		f.varint(uint64(len(types)))
	}
	for _, t := range types {
		f.varint(f.typ(op, t))
	}
}

// flags writes the flags field: which optional fields the op has.
func (f *bodyWriter) flags(k *codec, op *ir.Op) {
	var flags uint64
	for i := range k.flags {
		b := &k.flags[i]
		if !b.presentIn(op) {
			continue
		}
		flags |= 1 << i
		if f.v.Before(b.since) {
			what := "attribute"
			if b.operand {
				what = "operand"
			}
			f.fail(op, "optional %s '%s' is provided but requires bytecode version %v, targeting %v",
				what, b.name, b.since, fileVersion(f.v))
		}
	}
	if k.flagsAt(f.v) {
		f.varint(flags)
	}
}

// presentIn reports whether an op has the optional attribute or operand.
func (b *flagBit) presentIn(op *ir.Op) bool {
	if b.operand {
		return op.OperandOf(b.index) != nil
	}
	return op.Attr(b.index) != nil
}

func (f *bodyWriter) attributes(k *codec, op *ir.Op) {
	at := 0
	for i := range k.def.Args {
		a := &k.def.Args[i]
		if a.Attr == ir.Operand {
			continue
		}
		value := op.Attr(at)
		at++
		switch {
		case a.Mode == ir.Optional:
			if value != nil {
				f.inline(&f.encoder, op, a, value)
			}
		case f.v.Before(a.Since):
			if !isDefault(a, value) {
				f.fail(op, "attribute '%s' requires bytecode version %v+, but targeting %v", a.Name, a.Since, fileVersion(f.v))
			}
		default:
			if value == nil {
				value = f.missing(op, a)
			}
			f.inline(&f.encoder, op, a, value)
		}
	}
}

// isDefault reports whether a version without the attribute means the same.
func isDefault(a *ir.ArgDef, value ir.Attribute) bool {
	if list, ok := value.(ir.BoolArray); ok {
		for _, b := range list {
			if b {
				return false
			}
		}
		return true
	}
	return value == nil || a.IsDefault(value)
}

// missing is the value of a required attribute that the op does not carry: its default, or for a list of booleans one
// false for each index.
func (f *bodyWriter) missing(op *ir.Op, a *ir.ArgDef) ir.Attribute {
	if a.Attr == ir.BoolArrayKind {
		return make(ir.BoolArray, len(cudatile.ViewAccess{Op: op}.Index()))
	}
	if a.Default == nil {
		f.fail(op, "'%s' op requires attribute '%s'", op.Name(), a.Name)
		return ir.UnitAttr{}
	}
	return a.Default
}

func (f *bodyWriter) operands(k *codec, op *ir.Op) {
	d := k.def
	if !d.Traits.Has(ir.Segmented) {
		if k.listed {
			f.varint(uint64(op.NumOperands()))
		}
		for i := 0; i < op.NumOperands(); i++ {
			f.operand(op, op.Operand(i))
		}
		return
	}
	for i := 0; i < d.NumOperandDefs(); i++ {
		a, group := d.OperandDef(i), op.OperandGroup(i)
		if f.v.Before(a.Since) {
			if a.Mode != ir.Optional && len(group) > 0 {
				f.fail(op, "operand '%s' requires bytecode version %v, targeting %v", a.Name, a.Since, fileVersion(f.v))
			}
			continue
		}
		if a.Mode == ir.Variadic {
			f.varint(uint64(len(group)))
		}
		for _, v := range group {
			f.operand(op, v)
		}
	}
}

func (f *bodyWriter) operand(op *ir.Op, v *ir.Value) {
	n, ok := f.numbers[v]
	if !ok {
		f.fail(op, "'%s' op uses a value that is not defined before it", op.Name())
	}
	f.varint(n)
}

func (f *bodyWriter) regions(op *ir.Op) {
	f.varint(uint64(op.NumRegions()))
	for _, r := range op.Regions() {
		f.varint(uint64(len(r.Blocks())))
		for _, b := range r.Blocks() {
			f.varint(uint64(b.NumArgs()))
			for _, a := range b.Args() {
				f.varint(f.typ(op, a.Type()))
			}
			var n uint64
			for o := b.First(); o != nil; o = o.Next() {
				n++
			}
			f.varint(n)
			before := len(f.scope)
			f.block(b)
			f.leave(before)
		}
	}
}
