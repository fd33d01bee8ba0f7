package interp

import (
	"fmt"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// cause says why all elements of the result of an operation are undefined, for messages: "whose index ...".
type cause func() string

// noteCause remembers why the result of the current operation is undefined as a whole; nil says that it is not.
func (m *machine) noteCause(c cause) {
	switch {
	case c == nil:
		delete(m.causes, m.op)
	case m.causes == nil:
		m.causes = map[*ir.Op]cause{m.op: c}
	default:
		m.causes[m.op] = c
	}
}

// undefAt makes a report that element i of an operand of the current operation is undefined. It names the nearest operation that the
// tiles among the operands depend on and whose result is undefined as a whole.
func (m *machine) undefAt(shape []int64, i int, what string) error {
	text := what + " is undefined"
	if op := m.undefinedSource(); op != nil {
		place := "'" + op.Name() + "'"
		if s := ir.LocString(op.Loc()); s != "" {
			place += " at " + s
		}
		text += fmt.Sprintf("; it depends on %s, %s", place, m.causes[op]())
	}
	return m.failAt(UndefUse, shape, i, "%s", text)
}

// undefinedSource follows the tiles that the operands of the current operation are made of, breadth first, to an operation with a cause.
func (m *machine) undefinedSource() *ir.Op {
	if len(m.causes) == 0 {
		return nil
	}
	queue := append([]*ir.Value(nil), m.op.Operands()...)
	seen := map[*ir.Value]bool{}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		if seen[v] || typeOf(v) == nil {
			continue
		}
		seen[v] = true
		if vs, ok := ir.Incoming(v); ok {
			queue = append(queue, vs...)
			continue
		}
		op := v.DefiningOp()
		if op == nil {
			if op = v.ParentBlock().ParentOp(); op.Code() == cudatile.OpEntry { // else what a combine region gets
				continue
			}
		}
		if m.causes[op] != nil {
			return op
		}
		queue = append(queue, op.Operands()...)
	}
	return nil
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
	text := fmt.Sprintf("index %d lies outside the index space %d of the view", x.at, x.view.indexSpace())
	if i := mem.index(x.view.array.base); i >= 0 {
		text += fmt.Sprintf(" of '%s'", mem.allocs[i].name)
	}
	if n := x.view.array.argument; n >= 0 {
		text += fmt.Sprintf(" (argument %d)", n)
	}
	for d, n := range x.at {
		if n < 0 {
			return text + fmt.Sprintf(": %d, along dimension %d, is negative", n, d)
		}
	}
	return text
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
