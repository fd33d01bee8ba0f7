package cleanup

import (
	"hash/maphash"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// CSE is common subexpression elimination: a pure op is replaced by an equal one that dominates it, which stands before it
// in its block or in an enclosing one, and so is a weak load by one after the same token. Ops with regions stay.
//
//	%a = addi %x, %y             %a = addi %x, %y
//	%b = addi %y, %x         =>
//	%c = muli %a, %b             %c = muli %a, %a
func CSE(s *pass.State) error {
	c := &eliminator{s: s, ids: make(map[*ir.Value]uint64, ir.NumOps(s.Module)), seed: maphash.MakeSeed()}
	for _, root := range s.Roots() {
		c.op(root)
	}
	return nil
}

// eliminator is a scoped hash table of the ops that dominate the current one.
type eliminator struct {
	s      *pass.State
	ids    map[*ir.Value]uint64 // value numbers, in the order of the walk
	seed   maphash.Seed         // hashes only speed up the search, so they may differ between runs
	scopes []map[uint64]int     // one per enclosing block: from a hash to the head of its chain in known, counted from 1
	known  []candidate
}

// candidate is an op that may replace others; before is the next one in the chain of its hash and block.
type candidate struct {
	*ir.Op
	before int
}

func (c *eliminator) op(op *ir.Op) {
	if op.Traits().Has(ir.Isolated) {
		outer := c.scopes
		c.scopes = nil
		defer func() { c.scopes = outer }()
	}
	for b := range op.Blocks() {
		c.scopes = append(c.scopes, map[uint64]int{})
		for o := b.First(); o != nil; {
			next := o.Next()
			if !c.merge(o) {
				c.op(o)
			}
			o = next
		}
		c.scopes = c.scopes[:len(c.scopes)-1]
	}
}

// merge erases op when an equal one is known, else remembers it.
func (c *eliminator) merge(op *ir.Op) bool {
	c.s.Step()
	if !op.MovesFreely() && !readsAgain(op) || op.NumResults() == 0 || op.Def == ir.Unregistered {
		return false
	}
	h := c.hash(op)
	for _, scope := range c.scopes {
		for k := scope[h]; k > 0; k = c.known[k-1].before {
			c.s.Step()
			if have := c.known[k-1].Op; sameComputation(have, op) {
				for i, r := range op.Results() {
					r.ReplaceAllUsesWith(have.Result(i))
				}
				op.Erase()
				return true
			}
		}
	}
	top := c.scopes[len(c.scopes)-1]
	c.known = append(c.known, candidate{op, top[h]})
	top[h] = len(c.known)
	return false
}

// readsAgain reports whether an op reads memory such that an equal one in front of it has read the same: both are weak and come after one token. What is
// written in between neither comes after, so that it writes elsewhere, or the program has a data race.
func readsAgain(op *ir.Op) bool {
	return (ir.Is[tileaa.Load](op) || ir.Is[tileaa.TiledLoad](op)) && !tileaa.IsStrong(op) && tileaa.TokenBefore(op) != nil
}

func (c *eliminator) id(v *ir.Value) uint64 {
	n, ok := c.ids[v]
	if !ok {
		n = uint64(len(c.ids)) + 1
		c.ids[v] = n
	}
	return n
}

// hash covers the code, the operands (in any order when the op is commutative), the attributes and without operands the types.
func (c *eliminator) hash(op *ir.Op) uint64 {
	h := uint64(op.Code())
	commutative := op.Traits().Has(ir.Commutative)
	for i := 0; i < op.NumOperands(); i++ {
		n := c.id(op.Operand(i))
		if commutative {
			h += n * n
		} else {
			h = h*31 + n
		}
	}
	if op.NumOperands() == 0 { // else the types of results follow from operands, mostly
		for _, r := range op.Results() {
			h = h*31 + maphash.Comparable(c.seed, r.Type())
		}
	}
	for i := range op.Attrs() {
		h = h*31 + c.hashAttr(op.AttrOf(i))
	}
	return h
}

// hashAttr covers the attributes that tell operations of a row apart; others are left to the comparison.
func (c *eliminator) hashAttr(a ir.Attribute) (h uint64) {
	switch a := a.(type) {
	case *ir.DenseAttr:
		return maphash.Bytes(c.seed, a.Data)
	case ir.SymbolAttr:
		return maphash.String(c.seed, string(a))
	case ir.IntegerAttr:
		return a.Bits
	case ir.EnumAttr:
		return uint64(a.Value)
	case ir.BoolAttr, ir.UnitAttr:
		return maphash.Comparable(c.seed, a)
	case ir.I64Array:
		for _, n := range a {
			h = h*31 + uint64(n)
		}
	}
	return h
}

// sameComputation compares rows, operands, attributes and result types.
func sameComputation(a, b *ir.Op) bool {
	if a.Def != b.Def || a.NumOperands() != b.NumOperands() || a.NumResults() != b.NumResults() ||
		len(a.Extra()) != 0 || len(b.Extra()) != 0 {
		return false
	}
	same, swapped := true, a.Traits().Has(ir.Commutative) && a.NumOperands() == 2
	for i := 0; i < a.NumOperands(); i++ {
		same = same && a.Operand(i) == b.Operand(i)
		swapped = swapped && a.Operand(i) == b.Operand(a.NumOperands()-1-i)
	}
	if !same && !swapped {
		return false
	}
	for i, g := range a.Groups() {
		if b.Groups()[i] != g {
			return false
		}
	}
	for i, r := range a.Results() {
		if r.Type() != b.Result(i).Type() {
			return false
		}
	}
	for i := range a.Attrs() {
		if !ir.AttrEqual(a.AttrOf(i), b.AttrOf(i)) {
			return false
		}
	}
	return true
}
