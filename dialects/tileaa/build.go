package tileaa

import (
	"fmt"

	"tileiras/ir"
)

// Args names the operands and attributes of an op to make, by the names of its row. A value is an *ir.Value, a
// []*ir.Value (optional and variadic operands), an ir.Attribute, an int or int64 (an i64 attribute), a bool (a unit
// attribute), a uint32 (a case of the row's enumeration), a string, or nil for an absent one.
type Args map[string]any

// Create makes an op of this dialect at the builder's place. A name that the row does not have, or a required operand
// that is missing, is a mistake of the caller and panics.
func Create(b *ir.Builder, name string, types []ir.Type, args Args) *ir.Op {
	d := rows[name]
	if d == nil {
		panic("BUG: no op tileaa." + name)
	}
	s := ir.State{Def: d, Types: types, Attrs: make([]ir.Attribute, d.NumAttrDefs())}
	groups := make([]int32, 0, d.NumOperandDefs())
	used, attr := 0, 0
	for i := range d.Args {
		def := &d.Args[i]
		arg, ok := args[def.Name]
		if ok {
			used++
		}
		if def.Attr != ir.Operand {
			s.Attrs[attr] = attribute(b.Ctx, d, def, arg)
			attr++
			continue
		}
		before := len(s.Operands)
		switch v := arg.(type) {
		case *ir.Value:
			if v != nil {
				s.Operands = append(s.Operands, v)
			}
		case []*ir.Value:
			s.Operands = append(s.Operands, v...)
		case nil:
		default:
			panic(fmt.Sprintf("BUG: operand %s of %s is a %T", def.Name, d.FullName(), arg))
		}
		n := len(s.Operands) - before
		if def.Mode == ir.Single && n != 1 || def.Mode == ir.Optional && n > 1 {
			panic(fmt.Sprintf("BUG: operand %s of %s stands for %d values", def.Name, d.FullName(), n))
		}
		groups = append(groups, int32(n))
	}
	if used != len(args) {
		panic(fmt.Sprintf("BUG: %s has no argument for one of %v", d.FullName(), args))
	}
	if !d.FixedOperands() {
		s.Groups = groups
	}
	return b.Create(s)
}

func attribute(c *ir.Context, d *ir.OpDef, def *ir.ArgDef, arg any) ir.Attribute {
	switch v := arg.(type) {
	case nil:
		return nil
	case bool:
		if v {
			return ir.UnitAttr{}
		}
		return nil
	case int:
		return I64(c, int64(v))
	case int64:
		return I64(c, v)
	case uint32:
		return def.Enum.Of(v)
	case string:
		if def.Attr == ir.SymbolNameKind || def.Attr == ir.SymbolRefKind {
			return ir.SymbolAttr(v)
		}
		return ir.StringAttr(v)
	case ir.Attribute:
		return v
	}
	panic(fmt.Sprintf("BUG: attribute %s of %s is a %T", def.Name, d.FullName(), arg))
}

// One is Create for an op with one result; it returns that result.
func One(b *ir.Builder, name string, t ir.Type, args Args) *ir.Value {
	return Create(b, name, []ir.Type{t}, args).Result(0)
}

// Binary makes lhs op rhs of the type of lhs.
func Binary(b *ir.Builder, name string, lhs, rhs *ir.Value) *ir.Value {
	return One(b, name, lhs.Type(), Args{"lhs": lhs, "rhs": rhs})
}

// Const makes an integer constant; every element of a tile is v.
func Const(b *ir.Builder, t *TileType, v int64) *ir.Value {
	return One(b, "constant", t, Args{"value": SplatOf(t, uint64(v))})
}

// I64 is an i64 attribute.
func I64(c *ir.Context, v int64) ir.Attribute {
	return ir.IntegerAttr{Type: c.Int(64), Bits: uint64(v)}
}
