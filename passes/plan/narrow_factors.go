package plan

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// NarrowFactors multiplies in 16 bits where a program asks for tf32 and all elements of both factors are numbers of one 16-bit format: products of two
// such numbers are exact in f32 either way, tensor cores compute twice as many of 16 bits, and copies bring them as they lie in memory.
//
//	%x = ftof (ftof %q : 64x64xf32) : 64x64xtf32    // %q, %k: bf16
//	%y = ftof (ftof %k : 64x64xf32) : 64x64xtf32   =>   dot %q, %k, %c
//	dot %x, %y, %c
func NarrowFactors(s *pass.State) error {
	for _, entry := range s.Entries() {
		var formats []*narrowing
		for _, f := range []*float.Format{float.BF16, float.F16} {
			formats = append(formats, &narrowing{s: s, to: f, known: map[*ir.Value]bool{}, made: map[*ir.Value]*ir.Value{}})
		}
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			d, ok := ir.As[tileaa.Dot](op)
			if !ok {
				return
			}
			types := tileaa.TypesOf(d)
			if types.A != atom.TF32 || types.B != atom.TF32 {
				return
			}
			for _, n := range formats {
				elem := atom.Elem(n.to.Name())
				if n.exact(d.Lhs()) && n.exact(d.Rhs()) && hasUnit(s, op, atom.Types{A: elem, B: elem, C: types.C}) {
					lhs, rhs := n.narrow(d.Lhs()), n.narrow(d.Rhs())
					d.SetLhs(lhs)
					d.SetRhs(rhs)
					s.Passed(op.Loc(), "Multiplies %s: both factors are tf32 that was made of it", n.to)
					return
				}
			}
		})
	}
	return nil
}

// hasUnit reports whether the GPU has more for a product of such types than multiply-adds of threads.
func hasUnit(s *pass.State, op *ir.Op, types atom.Types) bool {
	return slices.ContainsFunc(atom.SelectMMA(s.Target, types, kernel.ExtentOf(op)), func(k atom.Candidate) bool { return k.Atom.Op != nil })
}

// narrowing makes factors of products tiles of a narrower format, each once.
type narrowing struct {
	s     *pass.State
	to    *float.Format
	known map[*ir.Value]bool // what exact has found out
	made  map[*ir.Value]*ir.Value
}

// exact reports whether all elements of a tile of floats are values of the narrower format, whatever they are.
func (n *narrowing) exact(v *ir.Value) bool {
	known, ok := n.known[v]
	if !ok {
		n.s.Step()
		known = n.to.Holds(tileaa.FloatFormat(v)) || tileaa.FloatFormat(v).Holds(n.to) && n.exactByDefinition(v)
		n.known[v] = known
	}
	return known
}

// exactByDefinition is exact for a tile of a wider format.
func (n *narrowing) exactByDefinition(v *ir.Value) bool {
	if bits, ok := tileaa.SplatValue(v); ok {
		return float.Convert(n.to, tileaa.FloatFormat(v), n.converted(v, bits), float.NearestEven) == bits
	}
	op := v.DefiningOp()
	if op == nil {
		return false
	}
	switch op.Code() {
	case tileaa.OpFtof, tileaa.OpReshape, tileaa.OpPermute, tileaa.OpBroadcast, tileaa.OpSplat:
		return n.exact(op.Operand(0))
	case tileaa.OpSelect:
		c := ir.Cast[tileaa.Select](op)
		return n.exact(c.TrueValue()) && n.exact(c.FalseValue())
	}
	return false
}

// converted is an element of a tile in the narrower format.
func (n *narrowing) converted(v *ir.Value, bits uint64) uint64 {
	return float.Convert(tileaa.FloatFormat(v), n.to, bits, float.NearestEven)
}

// narrow is a tile that is exact in the narrower format.
func (n *narrowing) narrow(v *ir.Value) *ir.Value {
	if n.made[v] == nil {
		n.made[v] = n.make(v)
	}
	return n.made[v]
}

func (n *narrowing) make(v *ir.Value) *ir.Value {
	op := v.DefiningOp()
	bits, constant := tileaa.SplatValue(v)
	switch {
	case tileaa.FloatFormat(v) == n.to:
		return v
	case op != nil && op.Code() == tileaa.OpFtof && !n.to.Holds(tileaa.FloatFormat(v)):
		return n.narrow(op.Operand(0))
	}
	ctx := n.s.Ctx
	t := tileaa.AsTile(v).WithElem(ctx, ctx.Float(n.to))
	b := ir.NewBuilder(ctx).AfterValue(v)
	if op != nil {
		b.Loc = op.Loc()
	}
	switch {
	case constant:
		return tileaa.NewConstant(b, t, tileaa.SplatOf(t, n.converted(v, bits))).Result()
	case n.to.Holds(tileaa.FloatFormat(v)):
		return tileaa.NewFtof(b, t, v, tileaa.FtofOptions{}).Result()
	}
	sources := ir.Mapping{}
	for _, o := range op.Operands() {
		if tileaa.FloatFormat(o) == tileaa.FloatFormat(v) {
			sources[o] = n.narrow(o)
		}
	}
	c := b.Clone(op, sources)
	c.Result(0).SetType(t)
	return c.Result(0)
}
