package emu

import "math"

// mixedOperand tells whether two types in the opcode make a mixed-precision operation: f32 arithmetic on
// operands of 16 bits (section 9.7.5).
func mixedOperand(ts []typ) bool {
	return len(ts) == 2 && ts[0].named == "f32" && ts[1].n == 1 && (ts[1].fmt == fmtF16 || ts[1].fmt == fmtBF16)
}

// decodeMixed: {add,sub}{.rnd}{.sat}.f32.atype d, a, c and fma.rnd{.sat}.f32.abtype d, a, b, c. The operands
// of 16 bits are widened exactly; there is one rounding, to f32.
func (d *decoder) decodeMixed(narrow typ, o fopt) {
	last := len(d.st.args) - 1
	if o.ftz || o.relu || o.nan || o.xorsign || last != 2 && d.base != "fma" {
		d.lacks("this form of mixed-precision %s", d.base)
		return
	}
	d.dst()
	for i := 1; i < last; i++ {
		d.src(i, narrow)
	}
	d.src(last, types["f32"])
	wide := narrow.fmt.value
	finish := func(x, y float64) uint64 {
		r := zeroSum(addOdd(x, y), o.mode, math.Signbit(x) == math.Signbit(y))
		return o.finish32(f32(uint64(fmtF32.round(r, o.mode, false))))
	}
	switch d.base {
	case "add":
		d.in.vec = lift2(func(a, c uint64) uint64 { return finish(wide(uint32(a)), float64(f32(c))) })
	case "sub":
		d.in.vec = lift2(func(a, c uint64) uint64 { return finish(wide(uint32(a)), -float64(f32(c))) })
	case "fma":
		d.in.vec = lift3(func(a, b, c uint64) uint64 { return finish(wide(uint32(a))*wide(uint32(b)), float64(f32(c))) })
	default:
		d.lacks("mixed types")
	}
}

// decodeMinMax3: {min,max}{.ftz}{.NaN}{.abs}.f32 d, a, b, c (sections 9.7.3.11 and 9.7.3.12): the two-operand
// operation twice.
func (d *decoder) decodeMinMax3(t typ, o fopt) {
	if t.named != "f32" || o.xorsign || o.sat {
		d.lacks("this form of %s with three inputs", d.base)
		return
	}
	d.dst()
	for i := 1; i <= 3; i++ {
		d.src(i, t)
	}
	isMax := d.base == "max"
	in := func(v uint64) float32 {
		if o.ab {
			v &^= 1 << 31
		}
		return o.in32(v)
	}
	d.in.vec = func(d, a, b, c *vec) {
		for i := range d {
			r := minmax32(minmax32(in(a[i]), in(b[i]), isMax, o.nan), in(c[i]), isMax, o.nan)
			if isNaN32(r) {
				r = canonNaN32()
			}
			d[i] = bits32(r)
		}
	}
}
