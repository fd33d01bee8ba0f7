package tileaa

import (
	"slices"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// joinOfTokens: a token counts once, one that nothing precedes not at all, and joins of joins are flat.
func joinOfTokens(b *ir.Builder, op *ir.Op) bool {
	var tokens []*ir.Value
	for _, v := range op.Operands() {
		if _, ok := IsOp(v, "create_mem_token"); ok {
			continue
		}
		parts := []*ir.Value{v}
		if in, ok := IsOp(v, "join_mem_token"); ok {
			parts = in.Operands()
		}
		for _, p := range parts {
			if !slices.Contains(tokens, p) {
				tokens = append(tokens, p)
			}
		}
	}
	switch {
	case len(tokens) == 0:
		return replace(op, newToken(b))
	case len(tokens) == op.NumOperands():
		return false
	}
	return replace(op, One(b, "join_mem_token", Token(b.Ctx), Args{"tokens": tokens}))
}

func newToken(b *ir.Builder) *ir.Value { return One(b, "create_mem_token", Token(b.Ctx), nil) }

// passToken replaces the token that an access would have made by the one that it waits for.
func passToken(b *ir.Builder, op *ir.Op, result *ir.Value) {
	in := op.OperandNamed("token")
	if in == nil && result.HasUses() {
		in = newToken(b)
	}
	if in != nil {
		result.ReplaceAllUsesWith(in)
	}
}

// unusedLoad: a weak load whose value nobody uses need not happen.
func unusedLoad(b *ir.Builder, op *ir.Op) bool {
	if op.Result(0).HasUses() || op.EnumNamed("order") != def.Weak {
		return false
	}
	passToken(b, op, op.Result(1))
	op.Erase()
	return true
}

// constantMask: a mask that is true everywhere is none; an access that is masked everywhere does not happen, when it is
// weak. (A load without padding then has unspecified values: any constant is one of them.)
func constantMask(b *ir.Builder, op *ir.Op) bool {
	m := op.OperandNamed("mask")
	if m == nil {
		return false
	}
	x, ok := SplatValue(m)
	if !ok || x == 0 && op.EnumNamed("order") != def.Weak {
		return false
	}
	if x == 0 {
		token := op.Result(op.NumResults() - 1)
		if op.Def.Name == "load" {
			value := op.OperandNamed("padding")
			if value == nil {
				t := AsTile(op.Result(0))
				if ConstBytes(t.Elem) == 0 {
					return false
				}
				value = One(b, "constant", t, Args{"value": SplatOf(t, 0)})
			}
			op.Result(0).ReplaceAllUsesWith(value)
		}
		passToken(b, op, token)
		op.Erase()
		return true
	}
	dropOperands(op, "mask", "padding")
	return true
}

// dropOperands removes optional operands.
func dropOperands(op *ir.Op, names ...string) {
	var vs []*ir.Value
	var groups []int32
	for d := 0; d < op.Def.NumOperandDefs(); d++ {
		g := op.OperandGroup(d)
		if slices.Contains(names, op.Def.OperandDef(d).Name) {
			g = nil
		}
		vs, groups = append(vs, g...), append(groups, int32(len(g)))
	}
	op.SetOperands(vs, groups)
}

// assertTrue: nothing to report.
func assertTrue(_ *ir.Builder, op *ir.Op) bool {
	if x, ok := SplatValue(op.OperandNamed("cond")); !ok || x == 0 {
		return false
	}
	op.Erase()
	return true
}

// unusedSlot: memory that nobody has a pointer to.
func unusedSlot(_ *ir.Builder, op *ir.Op) bool {
	if op.Result(0).HasUses() {
		return false
	}
	op.Erase()
	return true
}
