package nvvm

import (
	"github.com/llir/llvm/ir/enum"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

func init() {
	register(ir.Table[lowering]{
		tileaa.OpBitcast & ir.Place:  bitcast,
		tileaa.OpExti & ir.Place:     extend,
		tileaa.OpTrunci & ir.Place:   truncate,
		tileaa.OpFtof & ir.Place:     floatToFloat,
		tileaa.OpFtoi & ir.Place:     floatToInt,
		tileaa.OpItof & ir.Place:     intToFloat,
		tileaa.OpIntToPtr & ir.Place: rename,
		tileaa.OpPtrToInt & ir.Place: rename,
		tileaa.OpPtrCast & ir.Place:  rename,
		tileaa.OpAssume & ir.Place:   func(f *fn, op *ir.Op) { f.set(op, f.stored(op)) },
	})
}

// retyped is the same registers as another element type of the same register kind.
func (f *fn) retyped(t *tile, elem ir.Type) *tile {
	out := *t
	out.elem = elem
	return &out
}

func rename(f *fn, op *ir.Op) {
	f.set(op, f.retyped(f.source(op), elemOf(op.Result(0))))
}

func bitcast(f *fn, op *ir.Op) {
	x, elem := f.source(op), elemOf(op.Result(0))
	if to := kindOf(elem); to != x.k {
		f.set(op, f.each(elem, func(r []reg) reg { return f.cast(r[0], to) }, x))
		return
	}
	rename(f, op)
}

func widthOf(elem ir.Type) int { return elem.(*ir.IntegerType).Width }

func extend(f *fn, op *ir.Op) {
	x, elem := f.source(op), elemOf(op.Result(0))
	from, to := widthOf(x.elem), kindOf(elem)
	f.set(op, f.each(elem, func(r []reg) reg {
		e := r[0]
		if from == 4 { // the low half of an i8
			e = f.shl(e, 4)
			if isSigned(op) {
				e = f.ashr(e, 4)
			} else {
				e = f.lshr(e, 4)
			}
		}
		return f.clipped(f.resize(e, to, isSigned(op)), elem)
	}, x))
}

// clipped keeps the bits of an i4 in its i8 register, which holds zeros above.
func (f *fn) clipped(x reg, elem ir.Type) reg {
	if widthOf(elem) == 4 {
		return f.and(x, con(x.k, 15))
	}
	return x
}

func truncate(f *fn, op *ir.Op) {
	elem := elemOf(op.Result(0))
	f.set(op, f.each(elem, func(r []reg) reg { return f.toInt(r[0], elem) }, f.source(op)))
}

// toInt drops the high bits of an integer.
func (f *fn) toInt(x reg, elem ir.Type) reg {
	to := kindOf(elem)
	if to == kI1 {
		return f.icmp(ne, f.and(x, con(x.k, 1)), con(x.k, 0))
	}
	return f.clipped(f.trunc(x, to), elem)
}

// widened is a float tile in f32, exactly: the formats that PTX computes with (f32, f64) stay.
func (f *fn) widened(t *tile) *tile {
	if t.k.float() {
		return t
	}
	format := t.elem.(*ir.FloatType).Format
	out := f.newTile(f.ctx.Float(float.F32), t.len())
	for i := range out.regs {
		out.regs[i] = f.toF32(t, i, format)
	}
	out.home = f.cur
	return out
}

// toF32 is element i of a tile of a narrow format as f32.
func (f *fn) toF32(t *tile, i int, format *float.Format) reg {
	switch format {
	case float.BF16:
		// The upper half of an f32: no unpacking.
		if t.packed() {
			w := f.word(t, i/2)
			if i%2 == 0 {
				return f.cast(f.shl(w, 16), kF32)
			}
			return f.cast(f.and(w, con(kI32, 0xFFFF0000)), kF32)
		}
		return f.cast(f.shl(f.zext(f.reg(t, i), kI32), 16), kF32)
	case float.F16:
		return f.op1("cvt.f32.f16", f.reg(t, i))
	case float.TF32:
		return f.cast(f.reg(t, i), kF32)
	}
	return f.decodeNarrow(t, i, format)
}

// narrowed rounds f32 registers to a format of 16 bits or fewer, or tf32.
func (f *fn) narrowed(elem ir.Type, x []reg, rounding string) *tile {
	format := elem.(*ir.FloatType).Format
	out := f.newTile(elem, len(x))
	switch {
	case format == float.F16, format == float.BF16:
		pair := "cvt" + rounding + "." + format.Name() + "x2.f32"
		if out.packs() && f.has(pair) {
			for i := range out.words {
				out.words[i] = f.op1(pair, x[2*i+1], x[2*i]) // the first source is the upper half
			}
			break
		}
		for i := range x {
			out.regs[i] = f.toHalf(x[i], format, rounding)
		}
	case format == float.TF32:
		for i := range x {
			out.regs[i] = f.toTF32(x[i], rounding)
		}
	default:
		f.encodeNarrow(out, x, format, rounding)
	}
	out.home = f.cur
	return out
}

// toHalf rounds one f32 to f16 or bf16.
func (f *fn) toHalf(x reg, format *float.Format, rounding string) reg {
	row := "cvt" + rounding + "." + format.Name() + ".f32"
	if f.has(row) {
		return f.op1(row, x)
	}
	return f.trunc(f.lshr(f.roundBits(f.cast(x, kI32), 16, rounding), 16), kI16)
}

func (f *fn) toTF32(x reg, rounding string) reg {
	if row := "cvt" + rounding + ".tf32.f32"; f.has(row) {
		return f.op1(row, x)
	}
	return f.tf32Bits(f.roundBits(f.cast(x, kI32), tf32Dropped, rounding))
}

// roundBits rounds the bits of an f32 to a format that has the same exponent and drop fewer bits, which the caller cuts off. NaN stays NaN.
func (f *fn) roundBits(x reg, drop int, rounding string) reg {
	number := f.cast(x, kF32)
	return f.sel(f.fcmp(enum.FPredUNO, number, number), con(kI32, 0x7FFFFFFF), f.roundNumber(x, drop, rounding))
}

// roundNumber is roundBits for what is not NaN: an increment that may carry into the exponent, as it should; for infinity it does not.
func (f *fn) roundNumber(x reg, drop int, rounding string) reg {
	half := int64(1) << (drop - 1)
	all := half<<1 - 1
	switch rounding {
	case ".rz":
		return x
	case ".rna":
		return f.add(x, i32(half))
	case ".rn":
		return f.add(x, f.toEven(x, drop))
	}
	negative := f.icmp(slt, x, i32(0)) // toward an infinity: away from zero on one side
	if rounding == ".rp" {
		return f.add(x, f.sel(negative, i32(0), i32(all)))
	}
	return f.add(x, f.sel(negative, i32(all), i32(0)))
}

// tf32Factor rounds a factor of products. A NaN makes all of its row (of a left factor) or column of the result NaN, whatever stands
// beside it there: it is enough that one of two neighbours along K is NaN if either was. The bits that tf32 does not have stay as they come:
// matrix instructions do not look at them (ptxas takes away what clears them there).
func (f *fn) tf32Factor(op *ir.Op, x *tile, rounding string) *tile {
	along, ok := f.alongK(op)
	if !ok || f.has("cvt"+rounding+".tf32.f32") {
		return nil
	}
	round := func(x reg) reg { return f.roundNumber(f.cast(x, kI32), tf32Dropped, rounding) }
	out := f.newTile(elemOf(op.Result(0)), x.len())
	for r := range out.regs {
		if r&along != 0 {
			continue
		}
		a, b := f.reg(x, r), f.reg(x, r|along)
		nan := f.fcmp(enum.FPredUNO, a, b)
		out.regs[r], out.regs[r|along] = f.sel(nan, con(kI32, 0x7FFFFFFF), round(a)), round(b)
	}
	out.home = f.cur
	return out
}

// toEven is what rounding to even adds to bits of which the last drop are cut off, by a multiply-add and a shift-add. Let l be the last bit that
// stays and r the value of those that go. The multiply-add puts 3 * 2^(drop-1) - 1 - (l * 2^drop + r), modulo 2^(drop+1), at the top of its
// word, and half of it is what is added. Where l is 0, r plus that is at least 2^drop just where r is above one half; where l is 1, just where r is at
// least one half, for there the difference is negative and stands for more than 2^drop.
func (f *fn) toEven(x reg, drop int) reg {
	place := 31 - drop
	t := f.add(f.mul(x, i32(-1<<place)), con(kI32, uint64(3<<(drop-1)-1)<<place))
	return f.lshr(t, place+1)
}

// tf32Dropped is how many bits of an f32 tf32 does not have.
const tf32Dropped = 13

func (f *fn) tf32Bits(x reg) reg { return f.and(x, con(kI32, 0xFFFFE000)) }

// alongK is a bit of the register number that moves along K in the result of an op that is nothing but a factor of products.
func (f *fn) alongK(op *ir.Op) (bit int, ok bool) {
	side := -1
	for _, u := range op.Result(0).Uses() {
		if !tileaa.IsProduct(u.Owner()) || u.Index() > 1 || side >= 0 && u.Index() != side {
			return 0, false
		}
		side = u.Index()
	}
	l := f.tileLayout(op.Result(0))
	k := len(l.Shape()) - 1 - side
	for i, c := range l.Column(layout.Reg) {
		at := l.Coords(c)
		only := at[k] != 0
		for d := range at {
			only = only && (d == k || at[d] == 0)
		}
		if only && side >= 0 {
			return 1 << i, true
		}
	}
	return 0, false
}

var conversionRounding = map[def.Rounding]string{
	def.RoundNearestEven: ".rn", def.RoundZero: ".rz", def.RoundNegInf: ".rm", def.RoundPosInf: ".rp", def.RoundNearestAway: ".rna",
}

func floatToFloat(f *fn, op *ir.Op) {
	x, elem := f.source(op), elemOf(op.Result(0))
	from, to := x.elem.(*ir.FloatType).Format, elem.(*ir.FloatType).Format
	rounding := conversionRounding[ir.Cast[tileaa.Ftof](op).Rounding()]
	if to.Holds(from) {
		rounding = ".rn" // exact, so any rounding will do, and PTX has this one for all formats
	}
	if from == float.F32 && to == float.TF32 {
		if t := f.tf32Factor(op, x, rounding); t != nil {
			f.set(op, t)
			return
		}
	}
	f.set(op, f.convertFloat(x, from, to, elem, rounding))
}

func (f *fn) convertFloat(x *tile, from, to *float.Format, elem ir.Type, rounding string) *tile {
	switch {
	case to == float.F64:
		w := f.widened(x)
		return f.each(elem, func(r []reg) reg { return f.op1("cvt.f64.f32", r[0]) }, w)
	case from != float.F64 && to == float.F32:
		return f.widened(x)
	case from != float.F64:
		if t := f.convertPacked(x, from, to, elem, rounding); t != nil {
			return t
		}
		return f.narrowed(elem, f.all(f.widened(x)), rounding)
	case to == float.F32:
		return f.each(elem, func(r []reg) reg { return f.op1("cvt"+rounding+".f32.f64", r[0]) }, x)
	case to == float.F16:
		return f.each(elem, func(r []reg) reg { return f.op1("cvt"+rounding+".f16.f64", r[0]) }, x)
	}
	// f64 to a narrower format: round to odd in f32 first, which keeps every later rounding right.
	odd := f.each(f.ctx.Float(float.F32), func(r []reg) reg { return f.roundToOdd(r[0]) }, x)
	return f.narrowed(elem, f.all(odd), rounding)
}

// roundToOdd is the f32 next to x toward zero, with the last bit set when that is not exact: rounding it again to fewer than 23
// bits gives what rounding x would (Boldo and Melquiond, "Emulation of a FMA and correctly-rounded sums").
func (f *fn) roundToOdd(x reg) reg {
	t := f.op1("cvt.rz.f32.f64", x)
	back := f.op1("cvt.f64.f32", t)
	bits := f.cast(t, kI32)
	inexact := f.fcmp(enum.FPredONE, back, x)
	return f.cast(f.or(bits, f.zext(inexact, kI32)), kF32)
}

var (
	intSuffix   = map[kind][2]string{kI16: {"u16", "s16"}, kI32: {"u32", "s32"}, kI64: {"u64", "s64"}}
	floatSuffix = map[kind]string{kF32: "f32", kF64: "f64"}
)

func floatToInt(f *fn, op *ir.Op) {
	x := f.widened(f.source(op))
	elem := elemOf(op.Result(0))
	to, width := kindOf(elem), widthOf(elem)
	if to == kI1 { // x != 0, and NaN is not 0
		f.set(op, f.each(elem, func(r []reg) reg { return f.fcmp(enum.FPredUNE, r[0], con(x.k, 0)) }, x))
		return
	}
	sign, s := isSigned(op), 0
	if sign {
		s = 1
	}
	saturating := ir.Cast[tileaa.Ftoi](op).Saturating()
	// PTX conversions clamp to the integer's range, and turn NaN into 0 unless f64 or 64 bits take part (PTX ISA, cvt).
	through := max(to, kI16)
	if through < kI32 && saturating && width >= 8 {
		through = kI32
	}
	f.set(op, f.each(elem, func(r []reg) reg {
		i := f.op1("cvt.rzi."+intSuffix[through][s]+"."+floatSuffix[x.k], r[0])
		if !saturating {
			return f.toInt(i, elem)
		}
		if through == kI64 || x.k == kF64 {
			i = f.sel(f.fcmp(enum.FPredUNO, r[0], r[0]), con(through, 0), i)
		}
		if width < through.bits() {
			lo, hi := uint64(0), uint64(1)<<width-1
			if sign {
				lo, hi = -(uint64(1) << (width - 1)), uint64(1)<<(width-1)-1
			}
			i = f.minmax(f.minmax(i, con(through, hi), sign, false), con(through, lo), sign, true)
		}
		return f.toInt(i, elem)
	}, x))
}

func intToFloat(f *fn, op *ir.Op) {
	x, elem := f.source(op), elemOf(op.Result(0))
	to := elem.(*ir.FloatType).Format
	sign, s := isSigned(op), 0
	if sign {
		s = 1
	}
	convert := func(target string) func(r []reg) reg {
		return func(r []reg) reg {
			i := r[0]
			if i.k == kI1 || i.k == kI8 {
				i = f.resize(i, kI32, sign)
			}
			return f.op1("cvt"+target+"."+intSuffix[i.k][s], i)
		}
	}
	if t := f.bytesToFloat(ir.Cast[tileaa.UnaryOp](op).Source(), elem, sign); t != nil {
		f.set(op, t)
		return
	}
	switch {
	case to == float.F32:
		f.set(op, f.each(elem, convert(".rn.f32"), x))
	case to == float.F64:
		f.set(op, f.each(elem, convert(".rn.f64"), x))
	case to == float.F16:
		f.set(op, f.each(elem, convert(".rn.f16"), x))
	case x.k == kI64 || x.k == kI32 || x.k == kI16:
		// Toward zero, with a sticky last bit, then once to the narrow format.
		odd := f.each(f.ctx.Float(float.F32), func(r []reg) reg {
			if r[0].k == kI16 {
				return convert(".rn.f32")(r) // exact
			}
			return f.intToOdd(r[0], s)
		}, x)
		f.set(op, f.narrowed(elem, f.all(odd), ".rn"))
	default:
		f.set(op, f.narrowed(elem, f.all(f.each(f.ctx.Float(float.F32), convert(".rn.f32"), x)), ".rn"))
	}
}

// intToOdd converts an integer to f32 rounding to odd.
func (f *fn) intToOdd(i reg, s int) reg {
	t := intSuffix[i.k][s]
	down := f.op1("cvt.rz.f32."+t, i)
	up := f.op1("cvt.rp.f32."+t, i)
	other := f.op1("cvt.rm.f32."+t, i)
	inexact := f.icmp(ne, f.cast(up, kI32), f.cast(other, kI32))
	return f.cast(f.or(f.cast(down, kI32), f.zext(inexact, kI32)), kF32)
}
