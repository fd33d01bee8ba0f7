package plan

import (
	"math/bits"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/passes/facts"
	"tileiras/passes/pass"
)

// NarrowIntegers computes integers in bytes where what becomes of them needs no more: floats of numbers that fit in a byte, and bytes. A register holds four of
// them, which and, or and shift at a time, and which become floats without instructions that convert. Weights of 4 bits are computed in 32 bits by most programs.
//
//	%a = exti %w : 64x128xi32
//	%b = shri %a, %c4                   %b = shri %w, %c4 : 64x128xi8
//	%c = andi %b, %c15            =>    %c = andi %b, %c15
//	%d = itof %c : 64x128xbf16          %d = itof %c unsigned : 64x128xbf16
//
// Other integers of up to 24 bits become narrow floats by way of f32, which holds them all.
func NarrowIntegers(s *pass.State) error {
	for _, entry := range s.Entries() {
		n := &inBytes{s: s, known: facts.New(s.Ctx, entry), fits: map[wanted]bool{}, made: map[wanted]*ir.Value{}}
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			switch op.Code() {
			case tileaa.OpItof:
				n.float(ir.Cast[tileaa.Itof](op))
			case tileaa.OpTrunci:
				n.byte(ir.Cast[tileaa.Trunci](op))
			}
		})
	}
	return nil
}

// inBytes makes tiles of i8 of wider ones.
type inBytes struct {
	s     *pass.State
	known *facts.Facts
	fits  map[wanted]bool
	made  map[wanted]*ir.Value
}

// wanted is some of the low eight bits of the elements of a tile; what the others become does not matter.
type wanted struct {
	v    *ir.Value
	bits uint8
}

const all = 0xFF

// maxChain bounds how many operations are made narrow one after the other.
const maxChain = 64

// float makes what becomes floats narrow, if it fits in a byte, signed or not.
func (n *inBytes) float(i tileaa.Itof) {
	t := tileaa.AsTile(i.Source())
	if width(i.Source()) <= 8 || t.NumElements() == 1 {
		return
	}
	x := n.known.Of(i.Source())
	least, most, signed := x.SMin, x.SMax, i.Signedness() == def.Signed
	if !signed {
		least, most = 0, int64(min(x.UMax, 1<<32))
	}
	w := wanted{i.Source(), all}
	switch {
	case least >= 0 && most <= 255 && n.fit(w, maxChain):
		i.SetSignedness(def.Unsigned)
	case least >= -128 && most <= 127 && n.fit(w, maxChain):
	default:
		if format := tileaa.FloatFormat(i.Result()); width(i.Source()) > 16 && float.F32.Holds(format) && format != float.F32 && format != float.F16 && least >= -1<<24 && most <= 1<<24 {
			n.throughF32(i)
		}
		return
	}
	i.SetSource(n.narrow(w))
}

// throughF32 rounds once: the first conversion is exact.
func (n *inBytes) throughF32(i tileaa.Itof) {
	b := ir.NewBuilder(n.s.Ctx).Before(i.Op)
	b.Loc = i.Op.Loc()
	t := tileaa.AsTile(i.Result())
	wide := tileaa.NewItof(b, t.WithElem(n.s.Ctx, n.s.Ctx.Float(float.F32)), i.Source(), i.Signedness()).Result()
	i.Result().ReplaceAllUsesWith(tileaa.NewFtof(b, t, wide, tileaa.FtofOptions{}).Result())
}

// byte makes narrow of what a byte is cut.
func (n *inBytes) byte(t tileaa.Trunci) {
	w := wanted{t.Source(), all}
	if width(t.Result()) == 8 && tileaa.AsTile(t.Result()).NumElements() > 1 && n.fit(w, maxChain) {
		t.Result().ReplaceAllUsesWith(n.narrow(w))
	}
}

func width(v *ir.Value) int { return tileaa.ElemBits(tileaa.AsTile(v).Elem) }

// fit reports whether bits of a value are made of bytes, bits of them and constants.
func (n *inBytes) fit(w wanted, left int) bool {
	fits, known := n.fits[w]
	if !known {
		n.s.Step()
		fits = n.fitAnew(w, left)
		n.fits[w] = fits
	}
	return fits
}

func (n *inBytes) fitAnew(w wanted, left int) bool {
	op := w.v.DefiningOp()
	if tileaa.ConstantOf(w.v) != nil || width(w.v) == 8 || extendsBits(op) {
		return true
	}
	if op == nil || left == 0 {
		return false
	}
	parts := n.parts(op, w.bits)
	if parts == nil {
		return w.bits != all // a few bits of wider elements: these are cut
	}
	for _, p := range parts {
		if !n.fit(p, left-1) {
			return false
		}
	}
	return true
}

// extendsBits reports whether an operation makes wider what is narrower than a byte.
func extendsBits(op *ir.Op) bool {
	return op != nil && op.Code() == tileaa.OpExti && width(op.Operand(0)) < 8
}

// parts is what bits of a result are made of, if the same operation on bytes makes them; nil: it does not.
func (n *inBytes) parts(op *ir.Op, want uint8) []wanted {
	both := func(bits uint8) []wanted { return []wanted{{op.Operand(0), bits}, {op.Operand(1), bits}} }
	switch op.Code() {
	case tileaa.OpExti, tileaa.OpTrunci:
		return []wanted{{op.Operand(0), want}}
	case tileaa.OpReshape, tileaa.OpBroadcast, tileaa.OpPermute:
		return []wanted{{op.Operand(0), want}}
	case tileaa.OpOri, tileaa.OpXori:
		return both(want)
	case tileaa.OpAndi:
		parts := both(want)
		for i := range parts {
			if c, ok := tileaa.SplatValue(op.Operand(1 - i)); ok {
				parts[i].bits &= uint8(c)
			}
		}
		return parts
	case tileaa.OpAddi, tileaa.OpSubi:
		return both(uint8(1<<bits.Len8(want) - 1)) // carries come from below
	case tileaa.OpShli:
		if c, ok := tileaa.SplatValue(op.Operand(1)); ok && c < 8 {
			return []wanted{{op.Operand(0), want >> c}, {op.Operand(1), all}}
		}
	case tileaa.OpShri:
		if c, ok := tileaa.SplatValue(op.Operand(1)); ok && c < 8 {
			if bits, _, ok := n.shifted(op, want, int(c)); ok {
				return []wanted{{op.Operand(0), bits}, {op.Operand(1), all}}
			}
		}
	}
	return nil
}

// shifted is which bits of its operand a shift to the right by c takes, and as what the byte is shifted: signed if what comes in at the left matters.
func (n *inBytes) shifted(op *ir.Op, want uint8, c int) (bits uint8, as def.Signedness, ok bool) {
	if want<<c>>c == want {
		return want << c, def.Unsigned, true
	}
	x, signed := n.known.Of(op.Operand(0)), ir.Cast[tileaa.SignedOp](op).Signedness() == def.Signed
	switch {
	case signed && x.SMin >= -128 && x.SMax <= 127:
		return all, def.Signed, true
	case x.UMax <= 255:
		return all, def.Unsigned, true
	}
	return 0, 0, false
}

// narrow is bits of a value that fit.
func (n *inBytes) narrow(w wanted) *ir.Value {
	if n.made[w] == nil {
		n.made[w] = n.make(w)
	}
	return n.made[w]
}

func (n *inBytes) make(w wanted) *ir.Value {
	t := tileaa.AsTile(w.v)
	if width(w.v) == 8 {
		return w.v
	}
	b := ir.NewBuilder(n.s.Ctx).AfterValue(w.v)
	to := t.WithElem(n.s.Ctx, n.s.Ctx.Int(8))
	op := w.v.DefiningOp()
	if op != nil {
		b.Loc = op.Loc()
	}
	switch c := tileaa.ConstantOf(w.v); {
	case c != nil:
		elems := make([]uint64, t.NumElements())
		for i := range elems {
			elems[i] = tileaa.ElementBits(c, i) & all
		}
		return tileaa.NewConstant(b, to, tileaa.DenseOf(to, elems)).Result()
	case extendsBits(op):
		return tileaa.NewExti(b, to, op.Operand(0), ir.Cast[tileaa.Exti](op).Signedness()).Result()
	case n.parts(op, w.bits) == nil:
		return tileaa.NewTrunci(b, to, w.v, tileaa.TrunciOptions{}).Result()
	}
	sources := ir.Mapping{}
	for _, p := range n.parts(op, w.bits) {
		sources[p.v] = n.narrow(p)
	}
	switch op.Code() {
	case tileaa.OpExti, tileaa.OpTrunci:
		return sources[op.Operand(0)]
	}
	c := b.Clone(op, sources)
	c.Result(0).SetType(to)
	switch c.Code() {
	case tileaa.OpAddi:
		ir.Cast[tileaa.Addi](c).SetOverflow(0)
	case tileaa.OpSubi:
		ir.Cast[tileaa.Subi](c).SetOverflow(0)
	case tileaa.OpShli:
		ir.Cast[tileaa.Shli](c).SetOverflow(0)
	case tileaa.OpShri:
		amount, _ := tileaa.SplatValue(op.Operand(1))
		_, as, _ := n.shifted(op, w.bits, int(amount))
		ir.Cast[tileaa.Shri](c).SetSignedness(as)
	}
	return c.Result(0)
}
