package cleanup

import (
	"math/bits"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
)

// simplifyByFacts is the part of canonicalization that needs a dataflow analysis, passes/facts. It reports whether it
// changed anything. It only replaces values by equal ones, so the facts stay true; loops become others when all is asked.
//
//	cmpi less_than %pid, %zero                  => false                a program_id is not negative
//	mini %x, %c8            x <= 8 always       => %x
//	divi %pid, %c8 signed, rounding down        => unsigned             which is a shift then
//	divi %n, %c128 unsigned, rounding up        => shri (addi %n, 127), 7      n + 127 does not wrap
//	loop (%i) {if %i < %n ..; continue %i + 4}  => for to %n step 4            nor does i + 4
func (c *canonicalizer) simplifyByFacts(module *ir.Op) bool {
	if module.Def.Dialect != tileaa.Dialect.Name {
		return false
	}
	known := facts.New(c.ctx, module)
	changed := false
	var loops []*ir.Op
	for _, entry := range module.Body().Ops() {
		if entry.Body() == nil {
			continue
		}
		c.constants = newConstantPool(entry)
		c.ctx.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if op != entry && c.simplifyOp(known, op) {
				changed = true
			}
			if op.Code() == tileaa.OpLoop {
				loops = append(loops, op)
			}
		})
	}
	c.constants = nil
	for _, op := range loops {
		c.b.Before(op).Loc = op.Loc()
		if tileaa.CountLoop(c.b, op, func(step tileaa.Addi, bound *ir.Value, s def.Signedness) bool {
			return staysBelow(known, step, bound, s)
		}) {
			changed = true
		}
	}
	return changed
}

func (c *canonicalizer) simplifyOp(known *facts.Facts, op *ir.Op) bool {
	if op.NumResults() != 1 || !op.MovesFreely() || op.Traits().Has(ir.ConstantLike) {
		return false
	}
	t := tileaa.AsTile(op.Result(0))
	if t == nil || !ir.IsInt(t.Elem) {
		return false
	}
	if x, ok := known.Of(op.Result(0)).Constant(); ok {
		return c.fold(op, []ir.FoldResult{{Attr: tileaa.SplatOf(t, x)}})
	}
	switch op.Code() {
	case tileaa.OpMini, tileaa.OpMaxi, tileaa.OpRemi:
		if v := alwaysResult(known, op); v != nil {
			op.Result(0).ReplaceAllUsesWith(v)
			return true
		}
	}
	switch op.Code() {
	case tileaa.OpDivi:
		dropped := dropSign(known, op)
		return c.roundUpByShift(known, op) || dropped
	case tileaa.OpRemi:
		return dropSign(known, op)
	}
	return false
}

// alwaysResult is the operand that is the result of a minimum, maximum or remainder for all values that the operands may have, or nil.
func alwaysResult(known *facts.Facts, op *ir.Op) *ir.Value {
	x, y := known.Of(op.Operand(0)), known.Of(op.Operand(1))
	below, above := x.UMax <= y.UMin, y.UMax <= x.UMin
	if ir.Cast[tileaa.SignedOp](op).Signedness() == def.Signed {
		below, above = x.SMax <= y.SMin, y.SMax <= x.SMin
	}
	switch {
	case op.Code() == tileaa.OpRemi:
		if x.SMin >= 0 && y.SMin >= 0 && x.SMax < y.SMin {
			return op.Operand(0)
		}
	case below == (op.Code() == tileaa.OpMini) && (below || above):
		return op.Operand(0)
	case below || above:
		return op.Operand(1)
	}
	return nil
}

// dropSign makes a signed division of non-negative numbers unsigned; rounding down is then rounding to zero.
func dropSign(known *facts.Facts, op *ir.Op) bool {
	if ir.Cast[tileaa.SignedOp](op).Signedness() != def.Signed || known.Of(op.Operand(0)).SMin < 0 || known.Of(op.Operand(1)).SMin < 0 {
		return false
	}
	ir.Cast[tileaa.SignedOp](op).SetSignedness(def.Unsigned)
	if d, ok := ir.As[tileaa.Divi](op); ok && d.Rounding() == def.RoundNegInf {
		d.SetRounding(def.RoundZero)
	}
	return true
}

// roundUpByShift: ceil(x / 2^k) = (x + 2^k - 1) >> k when the sum does not wrap.
func (c *canonicalizer) roundUpByShift(known *facts.Facts, op *ir.Op) bool {
	d, ok := tileaa.SplatValue(op.Operand(1))
	if !ok || d == 0 || d&(d-1) != 0 || ir.Cast[tileaa.SignedOp](op).Signedness() != def.Unsigned || ir.Cast[tileaa.Divi](op).Rounding() != def.RoundPosInf {
		return false
	}
	x := known.Of(op.Operand(0))
	if most := ^uint64(0) >> (64 - x.Width); x.UMax > most-(d-1) {
		return false
	}
	t := tileaa.AsTile(op.Result(0))
	c.b.Before(op).Loc = op.Loc()
	sum := tileaa.NewAddi(c.b, op.Operand(0), tileaa.Const(c.b, t, int64(d-1)), tileaa.AddiOptions{Overflow: def.NoUnsignedWrap}).Result()
	quotient := tileaa.NewShri(c.b, sum, tileaa.Const(c.b, t, int64(bits.TrailingZeros64(d))), def.Unsigned)
	op.Result(0).ReplaceAllUsesWith(quotient.Result())
	return true
}

// staysBelow reports whether a positive step from below a bound does not wrap.
func staysBelow(known *facts.Facts, step tileaa.Addi, bound *ir.Value, s def.Signedness) bool {
	by, n := known.Of(step.Rhs()), known.Of(bound)
	if s == def.Signed {
		return by.SMin > 0 && n.SMax <= int64(1)<<(n.Width-1)-1-by.SMax+1
	}
	return by.UMin > 0 && n.UMax <= ^uint64(0)>>(64-n.Width)-by.UMax+1
}
