package ir

// WalkOrder says when a walk visits an op: before or after the ops inside it.
type WalkOrder uint8

const (
	PreOrder WalkOrder = iota
	PostOrder
)

// Walk visits op and everything inside it in program order. The visited op may be erased or replaced by the visitor; in
// pre-order the regions of an op that the visitor took out of its block are not entered.
func Walk(op *Op, order WalkOrder, visit func(*Op)) { (*Context)(nil).Walk(op, order, visit) }

// Walk is the function Walk that counts a step for every operation.
func (c *Context) Walk(op *Op, order WalkOrder, visit func(*Op)) {
	if order == PreOrder {
		parent := op.block
		c.Step()
		visit(op)
		if parent != nil && op.block == nil {
			return
		}
	}
	for _, r := range op.regions {
		for _, b := range r.blocks {
			for o := b.first; o != nil; {
				next := o.next
				if len(o.regions) > 0 {
					c.Walk(o, order, visit)
				} else {
					c.Step()
					visit(o)
				}
				if o.block == b {
					next = o.next
				}
				o = next
			}
		}
	}
	if order == PostOrder {
		c.Step()
		visit(op)
	}
}

// Step counts one piece of work of bounded size, such as the visit of an operation, against the budget of the compile. Code that may
// run long without making operations calls it. A nil context has no budget.
func (c *Context) Step() {
	if c != nil {
		c.Budget.Step()
	}
}

// AncestorIn is the op of a block that an op is or lies in, nil if it lies in none.
func (op *Op) AncestorIn(b *Block) *Op {
	for op != nil && op.block != b {
		op = op.ParentOp()
	}
	return op
}

// IsProperAncestor reports whether b lies inside a region of a.
func IsProperAncestor(a, b *Op) bool {
	for p := b.ParentOp(); p != nil; p = p.ParentOp() {
		if p == a {
			return true
		}
	}
	return false
}

// DefinedOutside reports whether v is defined outside the regions of op (so it is invariant in a loop op).
func DefinedOutside(v *Value, op *Op) bool {
	b := v.ParentBlock()
	for b != nil {
		p := b.ParentOp()
		if p == op {
			return false
		}
		if p == nil {
			return true
		}
		b = p.block
	}
	return true
}

// NumOps is the number of operations in op, itself included.
func NumOps(op *Op) int {
	n := 1
	for _, r := range op.regions {
		for _, b := range r.blocks {
			for o := b.first; o != nil; o = o.next {
				n += NumOps(o)
			}
		}
	}
	return n
}
