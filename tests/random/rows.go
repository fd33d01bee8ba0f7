package random

import (
	"fmt"
	"slices"
	"strings"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// plainRows are the operations whose rows say all that drawing them needs: total, elementwise, in one type, and without an
// attribute that must be chosen except words of an enumeration. A new row of that kind is in random modules by itself.
var plainRows = func() []*ir.OpDef {
	var list []*ir.OpDef
	for _, d := range cudatile.Dialect.Ops {
		if fullyDescribed(d) {
			list = append(list, d)
		}
	}
	return list
}()

func fullyDescribed(d *ir.OpDef) bool {
	if !d.Traits.Has(ir.Pure|ir.Speculatable|ir.Elementwise) || d.Traits.Has(ir.Segmented) || len(d.Results) != 1 || len(d.Same) != 1 || d.Same[0].What != ir.SameType {
		return false
	}
	typed := []string{d.Results[0].Name}
	for _, a := range d.Args {
		switch {
		case a.Attr == ir.Operand && a.Mode == ir.Single:
			typed = append(typed, a.Name)
		case a.Attr == ir.Operand || a.Mode == ir.Single && a.Default == nil && a.Attr != ir.EnumKind:
			return false
		}
	}
	for _, name := range typed {
		if !slices.Contains(d.Same[0].Names, name) {
			return false
		}
	}
	return len(typed) > 1
}

// rowOperation draws one of them.
func (g *generator) rowOperation() {
	d := plainRows[g.r.IntN(len(plainRows))]
	t := g.intType()
	if !slices.Contains(inElems(d.Results[0].Constraint), t.elem) {
		t = g.floatType()
	}
	g.row(d, t, false)
}

// rowOf gives module number seed one of them, in turn, so that a few hundred modules have each; every other round of one value. A round begins
// one row further than the one before: what else goes by the seed (GPUs, sizes) meets other rows.
func (g *generator) rowOf(seed uint64) {
	n := uint64(len(plainRows))
	d := plainRows[(seed+seed/n)%n]
	elems := slices.DeleteFunc(slices.Concat(ints, floats), func(e string) bool { return !slices.Contains(inElems(d.Results[0].Constraint), e) })
	g.row(d, typ{choose(g, elems...), g.shape()}, seed/n%2 == 1)
}

// row is a row in one type, if it may have that, of one value for all operands or of several. What is known of its result is the least that
// it could be: a float is inexact.
func (g *generator) row(d *ir.OpDef, t typ, same bool) {
	if shifts := d.Name == "shli" || d.Name == "shri"; shifts && !g.enabled(Overshift) {
		return
	}
	if !slices.Contains(inElems(d.Results[0].Constraint), t.elem) {
		return
	}
	var names, types []string
	for i := range d.NumOperandDefs() {
		if same && i > 0 {
			names = append(names, names[0])
		} else {
			names = append(names, g.exact(t).name)
		}
		types = append(types, fmt.Sprintf("!cuda_tile.%s", t))
	}
	v := g.define(t, "\"%s\"(%s)%s : (%s) -> !cuda_tile.%s", d.FullName(), strings.Join(names, ", "), g.words(d), strings.Join(types, ", "), t)
	v.inexact = !isInt(t.elem)
	g.mark(v)
}

// chosen are the attributes of a row of which one word must be chosen.
func chosen(d *ir.OpDef) (list []ir.ArgDef) {
	for _, a := range d.Args {
		if a.Attr == ir.EnumKind && a.Mode == ir.Single && a.Default == nil {
			list = append(list, a)
		}
	}
	return list
}

// words chooses the words of enumerations that a row wants, in the generic form.
func (g *generator) words(d *ir.OpDef) string {
	var list []string
	for _, a := range chosen(d) {
		list = append(list, fmt.Sprintf("%s = #cuda_tile.%s<%s>", a.Name, a.Enum.Name, choose(g, a.Enum.Cases...).Keyword))
	}
	if list == nil {
		return ""
	}
	return " <{" + strings.Join(list, ", ") + "}>"
}

// inElems are the elements that an operand or a result of a row may have, by the name of its set.
func inElems(set string) []string {
	for _, s := range def.TypeSets {
		if s.Name != set {
			continue
		}
		if s.Elems != nil && s.Elems[0] != def.Pointer {
			return s.Elems
		}
		switch set {
		case "Token":
			return nil
		case "Tile", "Any", "Ptr", "ScalarPtr":
			return append(slices.Clone(def.Numbers), "i4")
		}
		return def.Numbers // views
	}
	panic("no set " + set)
}
