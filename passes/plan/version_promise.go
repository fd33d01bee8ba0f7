package plan

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
)

// promise is what a test finds to be true of a scalar.
type promise struct {
	value *ir.Value
	kind  promiseKind
	n     int64
}

type promiseKind uint8

const (
	isMultiple promiseKind = iota // of n, a power of two
	isOne
	isUpTo // n, and not negative as a signed number
)

// multiple is the promise that a number or a pointer is a multiple of a power of two.
func multiple(v *ir.Value, divisor uint64) promise { return promise{v, isMultiple, int64(divisor)} }

// one is the promise that a number is 1.
func one(v *ir.Value) promise { return promise{v, isOne, 1} }

// small is the promise that a number is not negative, and less than half of the largest number, so that the sum of two does not wrap.
func small(v *ir.Value) promise {
	return promise{v, isUpTo, 1<<(ir.BitWidth(tileaa.AsTile(v).Elem)-2) - 1}
}

// suppose makes a promise something known.
func (p promise) suppose(known *facts.Facts) {
	switch p.kind {
	case isMultiple:
		known.SupposeMultiple(p.value, uint64(p.n))
	case isOne:
		known.SupposeConstant(p.value, 1)
	case isUpTo:
		known.SupposeUpTo(p.value, p.n)
	}
}

// assume is the value with the promise.
func (p promise) assume(b *ir.Builder) *ir.Value {
	switch p.kind {
	case isOne:
		return tileaa.Const(b, tileaa.AsTile(p.value), 1)
	case isUpTo:
		least := int64(0)
		return tileaa.NewAssume(b, p.value, &tileaa.BoundedAttr{Lower: &least, Upper: &p.n}).Result()
	}
	return tileaa.NewAssume(b, p.value, &tileaa.DivByAttr{Divisor: uint64(p.n)}).Result()
}

// isKnown reports whether a promise needs no test.
func (v *version) isKnown(p promise) bool {
	f := v.known.Of(p.value)
	switch p.kind {
	case isOne:
		x, ok := f.Constant()
		return ok && x == 1
	case isUpTo:
		return f.SMin >= 0 && f.SMax <= p.n
	}
	return f.ZeroBits >= f.Width || uint64(1)<<f.ZeroBits >= uint64(p.n)
}

// contradicts reports whether a value cannot be what two accesses want.
func (v *version) contradicts(p promise) bool {
	return slices.ContainsFunc(v.promises, func(q promise) bool { return q.value == p.value && (q.kind == isOne) != (p.kind == isOne) })
}

// add adds a promise.
func (v *version) add(p promise) {
	for i, q := range v.promises {
		if q.value == p.value && q.kind == p.kind {
			v.promises[i].n = max(q.n, p.n)
			return
		}
	}
	v.promises = append(v.promises, p)
}

// test is whether all promises hold.
func (v *version) test(b *ir.Builder) *ir.Value {
	i64, i1 := tileaa.Tile(v.s.Ctx, v.s.Ctx.Int(64)), tileaa.Tile(v.s.Ctx, v.s.Ctx.Int(1))
	low := tileaa.Const(b, i64, 0) // bits that must be 0
	var ok *ir.Value
	and := func(x *ir.Value, p def.Predicate, n int64, s def.Signedness) {
		c := tileaa.NewCmpi(b, i1, x, tileaa.Const(b, tileaa.AsTile(x), n), s, tileaa.CmpiOptions{Predicate: p}).Result()
		if ok != nil {
			c = tileaa.NewAndi(b, ok, c).Result()
		}
		ok = c
	}
	for _, p := range v.promises {
		switch p.kind {
		case isOne:
			and(p.value, def.PredEqual, 1, def.Signed)
		case isUpTo:
			and(p.value, def.PredLessEqual, p.n, def.Unsigned)
		case isMultiple:
			x := p.value
			if isPointer(x) {
				x = tileaa.NewPtrToInt(b, i64, x).Result()
			} else if tileaa.ElemBits(tileaa.AsTile(x).Elem) < 64 {
				x = tileaa.NewExti(b, i64, x, def.Unsigned).Result()
			}
			x = tileaa.NewAndi(b, x, tileaa.Const(b, i64, p.n-1)).Result()
			low = tileaa.NewOri(b, low, x).Result()
		}
	}
	and(low, def.PredEqual, 0, def.Signed)
	return ok
}
