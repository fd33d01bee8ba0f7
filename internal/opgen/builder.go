package main

import (
	"fmt"
	"strings"

	"tileiras/ir"
)

// builder writes the function that makes an operation. What an operation must have is a parameter, so that a call that leaves it out
// does not compile: types of results, operands, attributes, in this order. What may be absent, or has a default that is Go's zero value,
// is a field of the options.
func (w *writer) builder(row *ir.OpDef) {
	name := goName(row.Name)
	var params, attrs, fields []string
	types := w.resultTypes(row)
	for i := range row.Results {
		if p := types[i].param; p != "" {
			params = append(params, p)
		}
	}
	for i := range row.Args {
		a := &row.Args[i]
		switch {
		case a.Attr == ir.Operand && a.Mode == ir.Variadic:
			params = append(params, argName(a.Name)+" []*ir.Value")
		case a.Attr == ir.Operand && a.Mode == ir.Single:
			params = append(params, argName(a.Name)+" *ir.Value")
		case a.Attr == ir.Operand:
			fields = append(fields, goName(a.Name)+" *ir.Value")
		case optional(a):
			fields = append(fields, goName(a.Name)+" "+w.optionType(a))
		default:
			attrs = append(attrs, argName(a.Name)+" "+w.attrType(a))
		}
	}
	params = append(params, attrs...)
	if len(fields) > 0 {
		w.linef("// %sOptions are what a %s may lack.\ntype %sOptions struct {\n%s\n}\n", name, row.Name, name, strings.Join(fields, "\n"))
		params = append(params, "opts "+name+"Options")
	}
	w.linef("// New%s makes a %s at the builder's place.", name, row.Name)
	w.linef("func New%s(b *ir.Builder%s) %s {", name, prefixed(params), name)
	w.linef("\ts := ir.State{Def: opRows[Op%s.Index()-1]}", name)
	w.operands(row)
	w.attributes(row)
	w.resultList(types)
	w.linef("\treturn %s{b.Create(s)}\n}\n", name)
}

// operands writes the list of operands and the group sizes.
func (w *writer) operands(row *ir.OpDef) {
	n := row.NumOperandDefs()
	if row.FixedOperands() {
		var names []string
		for i := range n {
			names = append(names, argName(row.OperandDef(i).Name))
		}
		if n > 0 {
			w.linef("\ts.Operands = []*ir.Value{%s}", strings.Join(names, ", "))
		}
		return
	}
	w.linef("\ts.Groups = make([]int32, 0, %d)", n)
	for i := range n {
		a := row.OperandDef(i)
		switch a.Mode {
		case ir.Single:
			w.linef("\ts.AddOperand(%s)", argName(a.Name))
		case ir.Optional:
			w.linef("\ts.AddOperand(opts.%s)", goName(a.Name))
		case ir.Variadic:
			w.linef("\ts.AddOperand(%s...)", argName(a.Name))
		}
	}
}

// attributes writes the list of attributes.
func (w *writer) attributes(row *ir.OpDef) {
	n := row.NumAttrDefs()
	if n == 0 {
		return
	}
	w.linef("\ts.Attrs = make([]ir.Attribute, %d)", n)
	for i := range n {
		a := row.AttrDef(i)
		v := argName(a.Name)
		if optional(a) {
			v = "opts." + goName(a.Name)
		}
		w.setAttr(a, i, v)
	}
}

func (w *writer) setAttr(a *ir.ArgDef, i int, v string) {
	pointer := optional(a) && absent(a)
	guard := func(cond, value string) { w.linef("\tif %s {\n\t\ts.Attrs[%d] = %s\n\t}", cond, i, value) }
	switch a.Attr {
	case ir.EnumKind:
		switch {
		case pointer:
			guard(v+" != nil", fmt.Sprintf("s.Def.AttrDef(%d).Enum.Of(uint32(*%s))", i, v))
		case a.Mode == ir.Optional: // the default is left out, as the text does
			guard(fmt.Sprintf("%s != %d", v, a.Default.(ir.EnumAttr).Value), fmt.Sprintf("s.Def.AttrDef(%d).Enum.Of(uint32(%s))", i, v))
		default:
			w.linef("\ts.Attrs[%d] = s.Def.AttrDef(%d).Enum.Of(uint32(%s))", i, i, v)
		}
	case ir.I32Kind, ir.I64Kind:
		bits := map[ir.AttrKind]int{ir.I32Kind: 32, ir.I64Kind: 64}[a.Attr]
		if pointer {
			guard(v+" != nil", fmt.Sprintf("ir.IntegerAttr{Type: b.Ctx.Int(%d), Bits: uint64(*%s)}", bits, v))
		} else {
			w.linef("\ts.Attrs[%d] = ir.IntegerAttr{Type: b.Ctx.Int(%d), Bits: uint64(%s)}", i, bits, v)
		}
	case ir.UnitKind, ir.BoolKind:
		w.linef("\ts.Attrs[%d] = ir.FlagOf(s.Def.AttrDef(%d), %s)", i, i, v)
	case ir.StringKind, ir.SymbolNameKind, ir.SymbolRefKind:
		if optional(a) {
			guard(v+` != ""`, textKind(a)+"("+v+")")
		} else {
			w.linef("\ts.Attrs[%d] = %s(%s)", i, textKind(a), v)
		}
	case ir.TypeKind:
		guard(v+" != nil", "ir.TypeAttr{Type: "+v+"}")
	default:
		guard(v+" != nil", v)
	}
}

// optional reports whether an argument is a field of the options: it may be absent, or has a default that is Go's zero value.
func optional(a *ir.ArgDef) bool {
	switch d := a.Default.(type) {
	case nil:
		return a.Mode == ir.Optional
	case ir.EnumAttr:
		return d.Value == 0
	case ir.IntegerAttr:
		return d.Bits == 0
	}
	return false
}

// optionType is the Go type of an optional attribute: a pointer where Go's zero value is a value too.
func (w *writer) optionType(a *ir.ArgDef) string {
	t := w.attrType(a)
	if absent(a) && (a.Attr == ir.EnumKind || a.Attr == ir.I32Kind || a.Attr == ir.I64Kind) {
		return "*" + t
	}
	return t
}

// resultType is how a builder comes to the type of a result: by a parameter, or by an expression.
type resultType struct {
	param, expr string
	many        bool
}

func (w *writer) resultTypes(row *ir.OpDef) []resultType {
	list := make([]resultType, len(row.Results))
	for i := range row.Results {
		r := &row.Results[i]
		switch id := argName(r.Name); {
		case r.Mode == ir.Variadic:
			list[i] = resultType{param: id + "Types []ir.Type", expr: id + "Types", many: true}
		case w.unique[r.Constraint] != "":
			list[i] = resultType{expr: w.unique[r.Constraint]}
		case sameAs(row, r.Name) != "":
			list[i] = resultType{expr: argName(sameAs(row, r.Name)) + ".Type()"}
		default:
			list[i] = resultType{param: id + "Type ir.Type", expr: id + "Type"}
		}
	}
	return list
}

// sameAs is an operand whose type a result has by the row's rules, or "".
func sameAs(row *ir.OpDef, result string) string {
	for _, rule := range row.Same {
		if rule.What != ir.SameType {
			continue
		}
		operand, found := "", false
		for _, n := range rule.Names {
			found = found || n == result
			if i := row.OperandIndex(n); i >= 0 && row.OperandDef(i).Mode == ir.Single && operand == "" {
				operand = n
			}
		}
		if found && operand != "" {
			return operand
		}
	}
	return ""
}

func (w *writer) resultList(types []resultType) {
	var exprs []string
	for _, t := range types {
		if t.many && len(types) == 1 {
			w.linef("\ts.Types = %s", t.expr)
			return
		}
		exprs = append(exprs, t.expr)
	}
	if len(exprs) == 0 {
		return
	}
	w.linef("\ts.Types = []ir.Type{%s}", strings.Join(exprs, ", "))
}

func prefixed(params []string) string {
	if len(params) == 0 {
		return ""
	}
	return ", " + strings.Join(params, ", ")
}
