package interp

import (
	"fmt"
	"slices"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// cause says why an operation made elements of its result undefined.
type cause struct {
	op   *ir.Op
	text func() string // "whose element [3] divides by 0"
}

// because notes why the current operation makes an element of its result undefined; what is noted first counts.
func (m *machine) because(t *tile, text func() string) {
	if t.why == nil {
		t.why, m.undefined = &cause{m.op, text}, true
	}
}

// inherit gives results that are undefined without a cause of their own that of an operand, if possible of one whose element is undefined too.
func (m *machine) inherit(in *instr) {
	for _, r := range in.results {
		t, ok := m.vals[r].(*tile)
		if !ok || t.why != nil || t.any()&undef == 0 {
			continue
		}
		first := slices.IndexFunc(t.flags, func(f uint8) bool { return f&undef != 0 })
		for _, a := range in.args {
			from, ok := m.vals[a].(*tile)
			if ok && from.why != nil && (t.why == nil || first < len(from.flags) && from.flags[first]&undef != 0) {
				t.why = from.why
			}
		}
	}
}

// whose is a clause about element i of a tile: "whose element [3] divides by 0"; of a scalar, "which divides by 0".
func whose(shape []int64, i int, does string) string {
	if len(shape) == 0 {
		return "which " + does
	}
	return fmt.Sprintf("whose element %d %s", coordinates(shape, i), does)
}

// undefAt makes a report that element i of a tile that the current operation reads is undefined, with the operation that made it so.
func (m *machine) undefAt(t *tile, i int, what string) error {
	text := what + " is undefined"
	if t.why != nil {
		place := "'" + t.why.op.Name() + "'"
		if s := ir.CallText(t.why.op.Loc()); s != "" {
			place += " at " + s
		}
		text += fmt.Sprintf("; it depends on %s, %s", place, t.why.text())
	}
	return m.failAt(UndefUse, t.typ.Shape, i, "%s", text)
}

// outsideIndex is an index that lies outside the index space of a view.
type outsideIndex struct {
	at   []int64
	view *tileView
}

func (m *machine) outsideIndex(v *tileView, indices []int) outsideIndex {
	at := make([]int64, len(indices))
	for i, s := range indices {
		t := m.tile(s)
		at[i] = signExtend(t.bits[0], ir.BitWidth(t.typ.Elem))
	}
	return outsideIndex{at, v}
}

// text is "index ... lies outside ...".
func (x outsideIndex) text(mem *Memory) string {
	text := fmt.Sprintf("index %d lies outside the index space %d of the view of %s", x.at, x.view.indexSpace(), x.view.array.name(mem))
	for d, n := range x.at {
		if n < 0 {
			return text + fmt.Sprintf(": %d, along dimension %d, is negative", n, d)
		}
	}
	return text
}

// name is what messages call an array: the memory that it lies in or, where it lies in none, the argument that points to it.
func (v *tensorView) name(mem *Memory) string {
	if a, _ := mem.find(v.base, 0); a != nil {
		return "'" + a.name + "'"
	}
	if v.argument >= 0 {
		return fmt.Sprintf("argument %d", v.argument)
	}
	return "an array"
}

// argumentOf is the number of the argument of the entry that a value is, promises aside; -1 when it is none.
func argumentOf(v *ir.Value) int {
	for {
		op := v.DefiningOp()
		switch {
		case op == nil && v.ParentBlock().ParentOp().Code() == cudatile.OpEntry:
			return v.Index()
		case op == nil || op.Code() != cudatile.OpAssume:
			return -1
		}
		v = op.Operand(0)
	}
}
