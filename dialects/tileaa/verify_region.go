package tileaa

import (
	"fmt"
	"slices"

	"tileiras/ir"
)

// verifyDot checks [B]MxK times [B]KxN plus [B]MxN. The factors are tiles or, after selection, buffers.
func verifyDot(op *ir.Op) string {
	l, isTile := factorShape(op.OperandNamed("lhs"))
	r, isToo := factorShape(op.OperandNamed("rhs"))
	a, t := tileArg(op, "acc"), tileArg(op, "result")
	if !isTile || !isToo || a == nil || t == nil || a.Elem != t.Elem || !sameShape(a, t) {
		return "needs tiles or buffers to multiply, and a result like the accumulator"
	}
	n := len(l)
	if n < 2 || n > 3 || len(r) != n || len(a.Shape) != n {
		return "needs tiles of rank 2 or 3"
	}
	if l[n-1] != r[n-2] || l[n-2] != a.Shape[n-2] || r[n-1] != a.Shape[n-1] ||
		n == 3 && (l[0] != r[0] || l[0] != a.Shape[0]) {
		return "needs shapes MxK, KxN and MxN"
	}
	return ""
}

func factorShape(v *ir.Value) ([]int64, bool) {
	switch t := v.Type().(type) {
	case *TileType:
		return t.Shape, true
	case *BufferType:
		return t.Shape, true
	}
	return nil, false
}

// verifyCombine checks the operands, results and region of a reduce or scan. The region's arguments are, for each
// operand, an element and the accumulator.
func verifyCombine(op *ir.Op) string {
	in := op.OperandGroupNamed("operands")
	if len(in) == 0 || op.NumResults() != len(in) {
		return "needs one result for each operand"
	}
	ids, _ := op.AttrNamed("identities").(ir.ArrayAttr)
	if len(ids) != len(in) {
		return "needs one identity for each operand"
	}
	dim := int(op.IntNamed("dim"))
	body := op.Body()
	if body == nil || body.NumArgs() != 2*len(in) || body.Terminator() == nil || body.Terminator().NumOperands() != len(in) {
		return "needs a region with two arguments and one yielded value for each operand"
	}
	for i, v := range in {
		t, r := AsTile(v), AsTile(op.Result(i))
		if t == nil || r == nil || !slices.Equal(t.Shape, AsTile(in[0]).Shape) || t.Elem != r.Elem {
			return "needs operands of one shape, and results of their element types"
		}
		want := t.Shape
		if op.Def.Name == "reduce" {
			want = slices.Delete(slices.Clone(t.Shape), dim, dim+1)
		}
		if !slices.Equal(r.Shape, want) {
			return fmt.Sprintf("needs results of shape %v", want)
		}
		for _, e := range []*ir.Value{body.Arg(2 * i), body.Arg(2*i + 1), body.Terminator().Operand(i)} {
			if s := AsTile(e); s == nil || len(s.Shape) != 0 || s.Elem != t.Elem {
				return "needs a region of rank-0 tiles of the operands' elements"
			}
		}
	}
	return ""
}

// verifyBlock checks a block_tile against its memref.
func verifyBlock(op *ir.Op) string {
	m, ok := op.OperandNamed("memref").Type().(*MemrefType)
	b, isBlock := op.Result(0).Type().(*BlockType)
	if !ok || !isBlock || m.Elem != b.Elem {
		return "makes a block of the elements of a memref"
	}
	n := len(b.Shape)
	traversal, _ := op.AttrNamed("traversal").(ir.I64Array)
	dimMap, _ := op.AttrNamed("dim_map").(ir.I32Array)
	indices := op.OperandGroupNamed("indices")
	if len(m.Shape) != n || len(traversal) != n || len(dimMap) != n || len(indices) != n {
		return "needs one index, traversal stride and array dimension for each dimension of the block"
	}
	if in, ok := op.AttrNamed("inbounds").(ir.BoolArray); ok && len(in) != n {
		return "needs one inbounds flag for each dimension of the block"
	}
	sparse := -1
	if s, ok := op.AttrNamed("sparse_dim").(ir.IntegerAttr); ok {
		sparse = int(s.SInt())
		if sparse < 0 || sparse >= n {
			return "needs a sparse dimension that the block has"
		}
	}
	seen := make([]bool, n)
	for d, a := range dimMap {
		if a < 0 || int(a) >= n || seen[a] {
			return "needs a dim_map that is a permutation"
		}
		seen[a] = true
		if traversal[d] <= 0 {
			return "needs positive traversal strides"
		}
		t := AsTile(indices[d])
		if t == nil || !ir.IsInt(t.Elem) || d != sparse && len(t.Shape) != 0 || d == sparse && !slices.Equal(t.Shape, b.Shape[d:d+1]) {
			return "needs rank-0 integers as indices, and a tile of coordinates along the sparse dimension"
		}
	}
	return ""
}

// types compares the types of values with those of others.
func sameValueTypes(a, b []*ir.Value) bool {
	return slices.EqualFunc(a, b, func(x, y *ir.Value) bool { return x.Type() == y.Type() })
}

func verifyFor(op *ir.Op) string {
	lower, inits := op.OperandNamed("lower"), op.OperandGroupNamed("inits")
	t := AsTile(lower)
	if t == nil || len(t.Shape) != 0 || !ir.IsInt(t.Elem) ||
		op.OperandNamed("upper").Type() != lower.Type() || op.OperandNamed("step").Type() != lower.Type() {
		return "needs bounds and a step of one rank-0 integer type"
	}
	body := op.Body()
	if body == nil || body.NumArgs() != len(inits)+1 || body.Arg(0).Type() != lower.Type() ||
		!sameValueTypes(body.Args()[1:], inits) || !sameValueTypes(op.Results(), inits) {
		return "needs a body whose arguments are the induction variable and the carried values, and results like these"
	}
	if end := body.Terminator(); end == nil || end.Def != rows["continue"] {
		return "needs a body that ends in continue"
	}
	return ""
}

func verifyLoop(op *ir.Op) string {
	body := op.Body()
	if body == nil || !sameValueTypes(body.Args(), op.OperandGroupNamed("inits")) {
		return "needs a body whose arguments are the carried values"
	}
	return ""
}

func verifyIf(op *ir.Op) string {
	c := AsTile(op.OperandNamed("cond"))
	if c == nil || len(c.Shape) != 0 || !ir.IsInt(c.Elem, 1) {
		return "needs a rank-0 i1 condition"
	}
	if op.NumResults() > 0 && (op.NumRegions() < 2 || op.Region(1).Empty()) {
		return "has results and needs an else branch"
	}
	for _, r := range op.Regions() {
		if r.Empty() {
			continue
		}
		end := r.Front().Terminator()
		if end == nil {
			return "needs branches that end in a terminator"
		}
		if end.Def == rows["yield"] && !sameValueTypes(end.Operands(), op.Results()) {
			return "needs branches that yield values of the types of the results"
		}
	}
	return ""
}

// inside checks the parent of a terminator, and what it carries out of its loop.
func inside(parents ...string) verifier {
	return func(op *ir.Op) string {
		p := op.ParentOp()
		if p == nil || p.Def.Dialect != Dialect.Name || !slices.Contains(parents, p.Def.Name) {
			return fmt.Sprintf("must be inside one of %v", parents)
		}
		if op.Def.Name != "break" && op.Def.Name != "continue" {
			return ""
		}
		for p != nil && p.Def.Name == "if" {
			p = p.ParentOp()
		}
		switch {
		case p == nil || p.Def.Name != "loop" && (p.Def.Name != "for" || op.Def.Name == "break"):
			return "has no loop around it"
		case op.Def.Name == "continue" && !sameValueTypes(op.Operands(), p.OperandGroupNamed("inits")):
			return "needs values of the types of the carried ones"
		case op.Def.Name == "break" && !sameValueTypes(op.Operands(), p.Results()):
			return "needs values of the types of the loop's results"
		}
		return ""
	}
}
