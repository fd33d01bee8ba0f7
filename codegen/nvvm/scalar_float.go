package nvvm

import (
	"github.com/llir/llvm/ir/enum"

	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

func init() {
	register(ir.Table[lowering]{
		tileaa.OpAddf & ir.Place:  func(f *fn, op *ir.Op) { f.arith(op, "add", f.operandTiles(op)...) },
		tileaa.OpSubf & ir.Place:  func(f *fn, op *ir.Op) { f.arith(op, "sub", f.operandTiles(op)...) },
		tileaa.OpMulf & ir.Place:  func(f *fn, op *ir.Op) { f.arith(op, "mul", f.operandTiles(op)...) },
		tileaa.OpDivf & ir.Place:  func(f *fn, op *ir.Op) { f.arith(op, "div", f.operandTiles(op)...) },
		tileaa.OpFma & ir.Place:   func(f *fn, op *ir.Op) { f.arith(op, "fma", f.operandTiles(op)...) },
		tileaa.OpSqrt & ir.Place:  func(f *fn, op *ir.Op) { f.arith(op, "sqrt", f.source(op)) },
		tileaa.OpMaxf & ir.Place:  func(f *fn, op *ir.Op) { f.floatMinMax(op, "max") },
		tileaa.OpMinf & ir.Place:  func(f *fn, op *ir.Op) { f.floatMinMax(op, "min") },
		tileaa.OpNegf & ir.Place:  func(f *fn, op *ir.Op) { f.signBit(op, opXor) },
		tileaa.OpAbsf & ir.Place:  func(f *fn, op *ir.Op) { f.signBit(op, opAnd) },
		tileaa.OpCeil & ir.Place:  func(f *fn, op *ir.Op) { f.integral(op, "rpi") },
		tileaa.OpFloor & ir.Place: func(f *fn, op *ir.Op) { f.integral(op, "rmi") },
		tileaa.OpCmpf & ir.Place:  compareFloats,
	})
}

// formatOf is the float format of a tile value's elements.
func formatOf(v *ir.Value) *float.Format {
	if t, ok := elemOf(v).(*ir.FloatType); ok {
		return t.Format
	}
	return nil
}

// roundingOf is the suffix of a rounding mode of arithmetic.
var roundingOf = map[def.Rounding]string{
	def.RoundNearestEven: ".rn", def.RoundZero: ".rz", def.RoundNegInf: ".rm", def.RoundPosInf: ".rp",
	def.RoundApprox: ".approx", def.RoundFull: ".full",
}

func ftz(op *ir.Op) string {
	if a, ok := ir.As[tileaa.FlushingOp](op); ok && a.FlushToZero() {
		return ".ftz"
	}
	return ""
}

// native are the instructions that LLVM has for the default rounding.
var native = map[string]binop{"add": opFAdd, "sub": opFSub, "mul": opFMul, "div": opFDiv}

// floatOp is one operation of f32 or f64 with its rounding suffix.
func (f *fn) floatOp(name, rounding, ftz string, x ...reg) reg {
	if o, ok := native[name]; ok && rounding == ".rn" && ftz == "" {
		return f.bin(o, x[0], x[1])
	}
	if x[0].k == kF64 {
		return f.op1(name+rounding+".f64", x...)
	}
	return f.op1(name+rounding+ftz+".f32", x...)
}

// arith lowers add, sub, mul, div, fma and sqrt of every format and rounding. Of 16-bit formats the hardware has the packed sums,
// products and fmas in the default rounding; the rest goes through f32, which is exact enough to round twice (24 >= 2*11 + 2 bits, and directed
// roundings compose), but for fma, which is rounded to odd first.
func (f *fn) arith(op *ir.Op, name string, x ...*tile) {
	rounding, elem := roundingOf[ir.Cast[tileaa.RoundedOp](op).Rounding()], elemOf(op.Result(0))
	format, ftz := formatOf(op.Result(0)), ftz(op)
	switch format {
	case float.F32, float.F64:
		if name == "div" && format == float.F32 && rounding == ".rn" && ftz == "" {
			f.set(op, f.divided(elem, x[0], x[1]))
			return
		}
		f.set(op, f.floats(elem, name, rounding, ftz, x...))
		return
	}
	if half := f.halfRow(name, rounding, format); half != nil {
		f.set(op, f.eachHalf(elem, half, x...))
		return
	}
	f.set(op, f.viaF32(elem, rounding, func(r []reg) reg {
		if name == "fma" && rounding == ".rn" {
			return f.fmaToOdd(r)
		}
		return f.floatOp(name, rounding, "", r...)
	}, x...))
}

// fmaToOdd is x*y + z, or where f32 does not have it the neighbour of which the last bit is 1: rounded to nearest with at least two bits fewer, that is rounded
// once (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
func (f *fn) fmaToOdd(x []reg) reg {
	down, up := f.op1("fma.rm.f32", x...), f.op1("fma.rp.f32", x...)
	odd := f.icmp(ne, f.and(f.cast(down, kI32), i32(1)), i32(0))
	return f.sel(odd, down, up)
}

// floats applies an operation to tiles of f32 or f64, to pairs where the target has it for those.
func (f *fn) floats(elem ir.Type, name, rounding, ftz string, x ...*tile) *tile {
	single := func(r []reg) reg { return f.floatOp(name, rounding, ftz, r...) }
	if pairs := name + rounding + ftz + ".f32x2"; target.FloatPairs.On(f.target) && ir.IsFloat(elem, float.F32) && f.has(pairs) {
		return f.eachPair(elem, pairs, single, x...)
	}
	return f.each(elem, single, x...)
}

// eachPair applies an instruction to pairs of f32, neighbours in the order of registers, and another one to the last of an odd number. A single
// operand stands in both halves.
func (f *fn) eachPair(elem ir.Type, row string, single func(x []reg) reg, operands ...*tile) *tile {
	n := 1
	for _, t := range operands {
		n = max(n, t.len())
	}
	out := f.newTile(elem, n)
	for i := 0; i < n; i += 2 {
		x := make([]reg, len(operands))
		for j, t := range operands {
			x[j] = f.reg(t, i%t.len())
			if i+1 < n {
				x[j] = f.pair(x[j], f.reg(t, (i+1)%t.len()))
			}
		}
		if i+1 < n {
			copy(out.regs[i:], f.unpair(f.op1(row, x...)))
		} else {
			out.regs[i] = single(x)
		}
	}
	return out
}

// pair makes one register of two f32.
func (b *builder) pair(x, y reg) reg {
	if x.isConst() && y.isConst() {
		return con(kI64, x.bits|y.bits<<32)
	}
	if w, ok := b.whole([]reg{x, y}); ok {
		return w
	}
	return b.op1("mov.pack.f32x2", x, y)
}

// unpair takes a register of two f32 apart.
func (b *builder) unpair(w reg) []reg {
	parts := b.op("mov.unpack.f32x2", w)
	b.wholes[parts[0].id] = split{w, parts}
	return parts
}

// halfRow is the instruction for 16-bit floats, on words (packed) or single values; nil when the target has none.
func (f *fn) halfRow(name, rounding string, format *float.Format) func(packed bool, x []reg) reg {
	if rounding != ".rn" || name == "div" || name == "sqrt" {
		return nil
	}
	t := format.Name()
	if f.has(name + ".rn." + t) {
		return func(packed bool, x []reg) reg { return f.op1(name+".rn."+t+x2(packed), append([]reg(nil), x...)...) }
	}
	if format != float.BF16 || !f.has("fma.rn.bf16") {
		return nil
	}
	// Before sm_90 bf16 has fma only: x + y = x*1 + y, x - y = y*(-1) + x, x * y = x*y + (-0).
	const one, minusOne, minusZero = 0x3F80, 0xBF80, 0x8000
	return func(packed bool, x []reg) reg {
		c := func(bits uint64) reg {
			if packed {
				return con(kI32, bits<<16|bits)
			}
			return con(kI16, bits)
		}
		row := "fma.rn.bf16" + x2(packed)
		switch name {
		case "add":
			return f.op1(row, x[0], c(one), x[1])
		case "sub":
			return f.op1(row, x[1], c(minusOne), x[0])
		}
		return f.op1(row, x[0], x[1], c(minusZero))
	}
}

func x2(packed bool) string {
	if packed {
		return "x2"
	}
	return ""
}

// eachHalf applies a 16-bit instruction: on words when an operand has them, else on the single register.
func (f *fn) eachHalf(elem ir.Type, op func(packed bool, x []reg) reg, x ...*tile) *tile {
	for _, t := range x {
		if t.packs() {
			return f.eachWord(elem, func(r []reg) reg { return op(true, r) }, x...)
		}
	}
	return f.each(elem, func(r []reg) reg { return op(false, r) }, x...)
}

// viaF32 computes an operation of a 16-bit format in f32 and rounds the results.
func (f *fn) viaF32(elem ir.Type, rounding string, op func(x []reg) reg, x ...*tile) *tile {
	wide := make([]*tile, len(x))
	for i, t := range x {
		wide[i] = f.widened(t)
	}
	out := f.each(f.ctx.Float(float.F32), op, wide...)
	return f.narrowed(elem, f.all(out), rounding)
}

// mathTile applies an f32 or f64 function to a tile of any format: 16-bit formats are computed in f32.
func (f *fn) mathTile(elem ir.Type, op func(x []reg) reg, x ...*tile) *tile {
	if k := kindOf(elem); k.float() {
		return f.each(elem, op, x...)
	}
	return f.viaF32(elem, ".rn", op, x...)
}

func (f *fn) floatMinMax(op *ir.Op, name string) {
	x, y := f.lhsRhs(op)
	elem := elemOf(op.Result(0))
	nan := ""
	if ir.Cast[tileaa.NaNOp](op).PropagateNan() {
		nan = ".NaN"
	}
	format := formatOf(op.Result(0))
	if row := name + nan + "." + format.Name(); !kindOf(elem).float() && f.has(row) {
		f.set(op, f.eachHalf(elem, func(packed bool, r []reg) reg { return f.op1(row+x2(packed), r[0], r[1]) }, x, y))
		return
	}
	f.set(op, f.mathTile(elem, func(r []reg) reg { return f.minmaxFloat(name, ftz(op), nan != "", r[0], r[1]) }, x, y))
}

// minmaxFloat: PTX min and max prefer numbers to NaN and order the zeros, as IEEE's minimumNumber; the .NaN forms need sm_80 and f32.
func (f *fn) minmaxFloat(name, ftz string, nan bool, x, y reg) reg {
	suffix := ftz + ".f32"
	if x.k == kF64 {
		suffix = ".f64"
	}
	if nan && x.k == kF32 && f.has(name+ftz+".NaN.f32") {
		return f.op1(name+ftz+".NaN.f32", x, y)
	}
	m := f.op1(name+suffix, x, y)
	if !nan {
		return m
	}
	canonical := f32(0x7FFFFFFF) // PTX's canonical NaN
	if x.k == kF64 {
		canonical = f64(0x7FFFFFFFFFFFFFFF)
	}
	return f.sel(f.fcmp(enum.FPredUNO, x, y), canonical, m)
}

// signBit flips (xor) or clears (and) the sign.
func (f *fn) signBit(op *ir.Op, o binop) {
	x, elem := f.source(op), elemOf(op.Result(0))
	bits := uint64(0x8000)
	if o == opAnd {
		bits = 0x7FFF
	}
	switch {
	case x.packed():
		f.set(op, f.eachWord(elem, func(r []reg) reg { return f.bin(o, r[0], con(kI32, bits<<16|bits)) }, x))
	case x.k == kI16:
		f.set(op, f.each(elem, func(r []reg) reg { return f.bin(o, r[0], con(kI16, bits)) }, x))
	case o == opXor:
		f.set(op, f.each(elem, func(r []reg) reg { return f.fneg(r[0]) }, x))
	default:
		f.set(op, f.each(elem, func(r []reg) reg { return f.fabs(r[0]) }, x))
	}
}

func (f *fn) fabs(x reg) reg {
	if x.k == kF64 {
		return f.op1("abs.f64", x)
	}
	return f.op1("abs.f32", x)
}

// integral rounds to an integral value.
func (f *fn) integral(op *ir.Op, mode string) {
	x, elem := f.source(op), elemOf(op.Result(0))
	if formatOf(op.Result(0)) == float.F16 {
		f.set(op, f.each(elem, func(r []reg) reg { return f.op1("cvt."+mode+".f16.f16", r[0]) }, x))
		return
	}
	f.set(op, f.mathTile(elem, func(r []reg) reg { return f.roundTo(mode, r[0]) }, x))
}

// roundTo is cvt.rni, .rzi, .rmi or .rpi to an integral float.
func (f *fn) roundTo(mode string, x reg) reg {
	if x.k == kF64 {
		return f.op1("cvt."+mode+".f64.f64", x)
	}
	return f.op1("cvt."+mode+".f32.f32", x)
}

var floatPredicates = map[def.Predicate][2]enum.FPred{ // unordered, ordered
	def.PredEqual:        {enum.FPredUEQ, enum.FPredOEQ},
	def.PredNotEqual:     {enum.FPredUNE, enum.FPredONE},
	def.PredLess:         {enum.FPredULT, enum.FPredOLT},
	def.PredLessEqual:    {enum.FPredULE, enum.FPredOLE},
	def.PredGreater:      {enum.FPredUGT, enum.FPredOGT},
	def.PredGreaterEqual: {enum.FPredUGE, enum.FPredOGE},
}

func compareFloats(f *fn, op *ir.Op) {
	c := ir.Cast[tileaa.Cmpf](op)
	p := floatPredicates[c.Predicate()][c.Ordering()]
	l, r := f.lhsRhs(op)
	x, y := f.widened(l), f.widened(r)
	f.set(op, f.each(elemOf(op.Result(0)), func(r []reg) reg { return f.fcmp(p, r[0], r[1]) }, x, y))
}
