package ir

import (
	"cmp"
	"slices"
)

// Order says where operations stand in program order, an operation before those inside it. It does not know operations that come later, which
// stand before all others, and does not see that one moves.
type Order map[*Op]int

// OrderOf numbers an operation and those inside it.
func (c *Context) OrderOf(root *Op) Order {
	o := Order{}
	c.Walk(root, PreOrder, func(op *Op) { o[op] = len(o) })
	return o
}

// Uses lists the uses of a value as their operations stand.
func (o Order) Uses(v *Value) []*Use {
	us := v.Uses()
	slices.SortStableFunc(us, func(x, y *Use) int { return cmp.Or(cmp.Compare(o[x.owner], o[y.owner]), cmp.Compare(x.index, y.index)) })
	return us
}
