package ir

import "fmt"

// Code is the number of a row among the rows of all dialects, for switches: the dialect's ID in the high half and the place of the
// row in its dialect, from 1, in the low half. Package opgen writes a constant for each row. 0 is the code of operations that no
// generated constant names.
type Code uint32

// codeBits is the width of the part of a code that counts the rows of a dialect.
const codeBits = 16

// Place is the mask of that part. A table of a dialect's operations is a list by the masked codes, OpAddi & ir.Place.
const Place Code = 1<<codeBits - 1

// Table has something for some operations of one dialect.
type Table[T any] []T

// Of is what a table has for an operation of its dialect, else zero.
func (t Table[T]) Of(c Code) (v T) {
	if i := c.Index(); i < len(t) {
		v = t[i]
	}
	return v
}

// Index is the place of the row in its dialect, from 1; it indexes generated tables.
func (c Code) Index() int { return int(c & Place) }

// Code is the code of the operation's row.
func (op *Op) Code() Code { return op.Def.Code }

// Typed is the set of the generated types: a view of an operation as one of a certain row, or as one of the rows that share certain
// arguments. The accessors of such a type know the places of operands and attributes.
type Typed interface {
	~struct{ Op *Op }
	// Matches reports whether operations with this code may be viewed as the type. It does not read the receiver.
	Matches(Code) bool
}

// Is reports whether op may be viewed as a T. A nil op may not.
func Is[T Typed](op *Op) bool {
	var t T
	return op != nil && t.Matches(op.Def.Code)
}

// As views op as a T; ok is false, and the view empty, when it is none.
func As[T Typed](op *Op) (t T, ok bool) {
	if op == nil || !t.Matches(op.Def.Code) {
		return t, false
	}
	return T(struct{ Op *Op }{op}), true
}

// Cast views op as a T, which the caller knows it to be.
func Cast[T Typed](op *Op) T {
	t, ok := As[T](op)
	if !ok {
		panic(fmt.Sprintf("BUG: %s is not a %T", op.Name(), t))
	}
	return t
}

// DefinedBy views the operation that defines v as a T; ok is false for block arguments, nil and results of other operations.
func DefinedBy[T Typed](v *Value) (t T, ok bool) {
	if v == nil {
		return t, false
	}
	return As[T](v.op)
}

// OpsOf lists the operations of a block that are T, in order. The block may be changed while the list is used.
func OpsOf[T Typed](b *Block) []T {
	var list []T
	if b == nil {
		return nil
	}
	for o := b.first; o != nil; o = o.next {
		if t, ok := As[T](o); ok {
			list = append(list, t)
		}
	}
	return list
}

// WalkOf visits the operations inside op, and op itself, that are T, as Walk does.
func WalkOf[T Typed](op *Op, order WalkOrder, visit func(T)) {
	Walk(op, order, func(o *Op) {
		if t, ok := As[T](o); ok {
			visit(t)
		}
	})
}

// What the generated accessors are made of. d counts the declared operands of the row, a its attributes.

// SetOperandOf replaces declared operand d, which stands for at most one value; nil removes an optional one.
func (op *Op) SetOperandOf(d int, v *Value) {
	lo, hi := op.group(d)
	switch {
	case v != nil && hi == lo+1:
		op.operands[lo].set(v)
	case v == nil:
		op.SetOperandGroup(d, nil)
	default:
		op.SetOperandGroup(d, []*Value{v})
	}
}

// SetOperandGroup replaces the values of declared operand d.
func (op *Op) SetOperandGroup(d int, vs []*Value) {
	lo, hi := op.group(d)
	old := op.Operands()
	all := append(append(append(make([]*Value, 0, len(old)+len(vs)), old[:lo]...), vs...), old[hi:]...)
	if op.groups == nil {
		if len(vs) != 1 {
			panic("BUG: " + op.Name() + " has one value for each operand")
		}
		op.SetOperands(all, nil)
		return
	}
	groups := append([]int32(nil), op.groups...)
	groups[d] = int32(len(vs))
	op.SetOperands(all, groups)
}

// ResultGroup lists the values of declared result d.
func (op *Op) ResultGroup(d int) []*Value {
	lo, hi := op.resultGroup(d)
	return op.results[lo:hi]
}

// ResultOf is the value of declared result d, or nil when it is absent.
func (op *Op) ResultOf(d int) *Value {
	if lo, hi := op.resultGroup(d); lo < hi {
		return op.results[lo]
	}
	return nil
}

// FrontOf is the only block of region i, or nil when the region is absent or empty.
func (op *Op) FrontOf(i int) *Block {
	if i >= len(op.regions) {
		return nil
	}
	return op.regions[i].Front()
}

// IntAttr is the integer attribute a; ok is false when it is absent.
func (op *Op) IntAttr(a int) (v int64, ok bool) {
	x, ok := op.attrOrDefault(a).(IntegerAttr)
	if !ok {
		return 0, false
	}
	return x.SInt(), true
}

// EnumAttr is the value of attribute a, an enumeration; ok is false when it is absent.
func (op *Op) EnumAttr(a int) (v uint32, ok bool) {
	x, ok := op.attrOrDefault(a).(EnumAttr)
	return x.Value, ok
}

// FlagAttr is the boolean attribute a, or whether the unit attribute a is there.
func (op *Op) FlagAttr(a int) bool {
	switch x := op.attrOrDefault(a).(type) {
	case BoolAttr:
		return bool(x)
	case UnitAttr:
		return true
	}
	return false
}

// TextAttr is the string or symbol attribute a, "" when it is absent.
func (op *Op) TextAttr(a int) string {
	switch x := op.attrOrDefault(a).(type) {
	case StringAttr:
		return string(x)
	case SymbolAttr:
		return string(x)
	}
	return ""
}

// AttrOf is attribute a, or the row's default; nil when it is absent.
func (op *Op) AttrOf(a int) Attribute { return op.attrOrDefault(a) }

// attrOrDefault is attribute a, or the row's default.
func (op *Op) attrOrDefault(a int) Attribute {
	if x := op.attrs[a]; x != nil {
		return x
	}
	return op.Def.AttrDef(a).Default
}

// SymbolName is the name that an op has by its attribute of kind SymbolNameKind; ok is false when it has none.
func (op *Op) SymbolName() (name string, ok bool) {
	for i, a := range op.attrs {
		if s, is := a.(SymbolAttr); is && op.Def.AttrDef(i).Attr == SymbolNameKind {
			return string(s), true
		}
	}
	return "", false
}

// Signature is the type of a function, by its attribute of kind TypeKind; nil when it has none.
func (op *Op) Signature() *FunctionType {
	for i, a := range op.attrs {
		if t, ok := a.(TypeAttr); ok && op.Def.Traits.Has(Function) && op.Def.AttrDef(i).Attr == TypeKind {
			f, _ := t.Type.(*FunctionType)
			return f
		}
	}
	return nil
}

// Arg is an argument of a row, looked up once: what directives are given, and what tables of forms hold.
type Arg struct {
	*ArgDef
	index int // among the operands or the attributes
}

// Arg is the argument of this name, which the row has.
func (d *OpDef) Arg(name string) Arg {
	a, ok := d.arg(name)
	if !ok {
		panic("BUG: " + d.FullName() + " has no argument " + name)
	}
	return a
}

func (d *OpDef) arg(name string) (Arg, bool) {
	if i := d.OperandIndex(name); i >= 0 {
		return Arg{d.OperandDef(i), i}, true
	}
	if i := d.AttrIndex(name); i >= 0 {
		return Arg{d.AttrDef(i), i}, true
	}
	return Arg{}, false
}

// ArgIf is Arg, or one without a definition when the row has no such argument.
func (d *OpDef) ArgIf(name string) Arg {
	a, _ := d.arg(name)
	return a
}

// Exists reports whether the row has the argument, IsOperand whether it is an operand.
func (a Arg) Exists() bool    { return a.ArgDef != nil }
func (a Arg) IsOperand() bool { return a.ArgDef != nil && a.Attr == Operand }

// ValuesOf are the values of an operand of op.
func (a Arg) ValuesOf(op *Op) []*Value { return op.OperandGroup(a.index) }

// AttrOf is an attribute of op, or the row's default; nil when op has none.
func (a Arg) AttrOf(op *Op) Attribute {
	if a.ArgDef == nil {
		return nil
	}
	return op.attrOrDefault(a.index)
}

// OptionalAttr is attribute a as an A, or the zero A when it is absent.
func OptionalAttr[A Attribute](op *Op, a int) A {
	x, _ := op.attrOrDefault(a).(A)
	return x
}

// SetIntAttr, SetFlagAttr and SetEnumAttr set attribute a as its row wants it.
func (op *Op) SetIntAttr(c *Context, a int, v int64) {
	bits := 64
	if op.Def.AttrDef(a).Attr == I32Kind {
		bits = 32
	}
	op.attrs[a] = IntegerAttr{Type: c.Int(bits), Bits: uint64(v)}
}

func (op *Op) SetFlagAttr(a int, v bool) { op.attrs[a] = FlagOf(op.Def.AttrDef(a), v) }

// SetEnumAttr sets a case. One that is the default of an optional attribute is left out, as the text does.
func (op *Op) SetEnumAttr(a int, v uint32) {
	d := op.Def.AttrDef(a)
	if e := d.Enum.Of(v); d.Mode == Optional && d.Default != nil && d.IsDefault(e) {
		op.attrs[a] = nil
	} else {
		op.attrs[a] = e
	}
}

// FlagOf is the attribute of a flag: a bool, or a unit that is there or not.
func FlagOf(d *ArgDef, v bool) Attribute {
	switch {
	case d.Attr == BoolKind:
		return BoolAttr(v)
	case v:
		return UnitAttr{}
	}
	return nil
}

// AddOperand appends the values of the next declared operand, and their number to the group sizes; nil is an absent value.
func (s *State) AddOperand(vs ...*Value) {
	n := int32(0)
	for _, v := range vs {
		if v != nil {
			s.Operands = append(s.Operands, v)
			n++
		}
	}
	s.Groups = append(s.Groups, n)
}
