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
		if _, ok := ir.DefinedBy[CreateMemToken](v); ok {
			continue
		}
		parts := []*ir.Value{v}
		if in, ok := ir.DefinedBy[JoinMemToken](v); ok {
			parts = in.Tokens()
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
	return replace(op, NewJoinMemToken(b, tokens).Result())
}

func newToken(b *ir.Builder) *ir.Value { return NewCreateMemToken(b).Result() }

// passToken replaces the token that an access would have made by the one that it waits for.
func passToken(b *ir.Builder, op *ir.Op, result *ir.Value) {
	in := TokenOp{op}.Token()
	if in == nil && result.HasUses() {
		in = newToken(b)
	}
	if in != nil {
		result.ReplaceAllUsesWith(in)
	}
}

// unusedLoad: a weak load whose value nobody uses need not happen.
func unusedLoad(b *ir.Builder, op *ir.Op) bool {
	if op.Result(0).HasUses() || (MemoryOp{op}).Order() != def.Weak {
		return false
	}
	passToken(b, op, op.Result(1))
	op.Erase()
	return true
}

// constantMask: a mask that is true everywhere is none; an access that is masked everywhere does not happen, when it is
// weak. (A load without padding then has unspecified values: any constant is one of them.)
func constantMask(b *ir.Builder, op *ir.Op) bool {
	access := PtrAccess{op}
	if access.Mask() == nil {
		return false
	}
	x, ok := SplatValue(access.Mask())
	if !ok || x == 0 && access.Order() != def.Weak {
		return false
	}
	if x == 0 {
		if l, ok := ir.As[Load](op); ok {
			value := l.Padding()
			if value == nil {
				t := AsTile(op.Result(0))
				if ConstBytes(t.Elem) == 0 {
					return false
				}
				value = NewConstant(b, t, SplatOf(t, 0)).Result()
			}
			op.Result(0).ReplaceAllUsesWith(value)
		}
		passToken(b, op, access.ResultToken())
		op.Erase()
		return true
	}
	access.SetMask(nil)
	if l, ok := ir.As[Load](op); ok {
		l.SetPadding(nil)
	}
	return true
}

// assertTrue: nothing to report.
func assertTrue(_ *ir.Builder, op *ir.Op) bool {
	if x, ok := SplatValue((Assert{op}).Cond()); !ok || x == 0 {
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
