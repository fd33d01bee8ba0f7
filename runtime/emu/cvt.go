package emu

import (
	"math"
	"math/big"
	"math/bits"
)

// copt are the modifiers of cvt.
type copt struct {
	fmode                     rnd
	imode                     string // rni rzi rmi rpi: round to an integer
	ftz, sat, satfinite, relu bool
}

// decodeCvt: section 9.7.9.21.
func decodeCvt(d *decoder) {
	if d.flag("pack") {
		decodeCvtPack(d)
		return
	}
	o, hasMode := d.conversionOptions()
	ts := d.types()
	if len(ts) != 2 {
		d.malformed("two types expected")
		return
	}
	dt, st := ts[0], ts[1]
	nsrc := len(d.st.args) - 1
	d.dst()
	ext := extend(dt, d.width(&d.st.args[0]))
	if dt.n >= 2 || st.n >= 2 {
		d.cvtPacked(dt, st, o, nsrc)
		return
	}
	d.src(1, st)
	if nsrc != 1 {
		d.malformed("wrong number of operands")
		return
	}
	var f func(a uint64) uint64
	switch {
	case dt.isFloat() && st.isFloat():
		if o.imode == "" && !hasMode && dt.bits < st.bits {
			d.malformed("a narrowing conversion needs a rounding mode")
		}
		f = cvtFloat(dt, st, o)
	case dt.isFloat():
		f = cvtFromInt(dt, st, o)
	case st.isFloat():
		if o.imode == "" {
			d.malformed("a conversion to integer needs a rounding mode")
		}
		f = cvtToInt(dt, st, o)
	default:
		f = cvtInt(dt, st, o.sat)
		if !o.sat {
			g := f
			if ext != nil {
				g = func(a uint64) uint64 { return ext(f(a)) }
			}
			d.in.rule = rule1(g)
		}
	}
	if ext != nil {
		g := f
		f = func(a uint64) uint64 { return ext(g(a)) }
	}
	d.in.vec = lift1(f)
	if !dt.isFloat() && !st.isFloat() && !o.sat && ext == nil && !(st.isSigned() && st.bits < dt.bits) {
		d.in.vec = masked(dt.mask() & st.mask())
		if dt.bits == 64 && st.bits == 32 {
			d.in.widened = 1
		}
	}
}

// masked keeps some bits of each lane's value.
func masked(mask uint64) vecFn {
	return func(d, a, _, _ *vec) {
		for i := range d {
			d[i] = a[i] & mask
		}
	}
}

// conversionOptions reads the qualifiers of a cvt before its types; hasMode says whether a floating-point rounding mode is among them.
func (d *decoder) conversionOptions() (o copt, hasMode bool) {
	o.fmode, hasMode = d.rounding()
	o.imode = d.oneOf("rni", "rzi", "rmi", "rpi")
	o.ftz, o.sat = d.flag("ftz"), d.flag("sat")
	o.satfinite, o.relu = d.flag("satfinite"), d.flag("relu")
	return o, hasMode
}

// cvtInt converts integers: cut, or extended as the source type says; .sat clamps.
func cvtInt(dt, st typ, sat bool) func(a uint64) uint64 {
	mask, smask := dt.mask(), st.mask()
	if !sat {
		if st.isSigned() {
			return func(a uint64) uint64 { return uint64(sx(a, st.bits)) & mask }
		}
		return func(a uint64) uint64 { return a & smask & mask }
	}
	lo, hi := intRange(dt)
	return func(a uint64) uint64 {
		if st.isSigned() {
			v := sx(a, st.bits)
			if v < 0 {
				if !dt.isSigned() {
					return 0
				}
				return uint64(max(v, lo)) & mask
			}
			a = uint64(v)
		} else {
			a &= smask
		}
		return min(a, hi)
	}
}

func intRange(t typ) (lo int64, hi uint64) {
	if t.isSigned() {
		return -1 << (t.bits - 1), 1<<(t.bits-1) - 1
	}
	return 0, t.mask()
}

// floatValue gives the value of a float type, flushed where .ftz asks for it (f32 only).
func floatValue(t typ, ftz bool) func(a uint64) float64 {
	switch {
	case t.bits == 64:
		return f64
	case t.fmt == fmtF32 && ftz:
		return func(a uint64) float64 { return float64(ftz32(f32(a))) }
	case t.fmt == fmtF32:
		return func(a uint64) float64 { return float64(f32(a)) }
	}
	return func(a uint64) float64 { return t.fmt.value(uint32(a & widthMask(t.bits))) }
}

// encode rounds a value (exact, or rounded to odd) to a float type.
func encode(t typ, o copt) func(x float64) uint64 {
	if t.bits == 64 {
		return func(x float64) uint64 {
			if o.sat {
				x = clamp01(x)
			}
			return canon64(x)
		}
	}
	f := t.fmt
	return func(x float64) uint64 {
		if o.sat {
			x = clamp01(x)
		}
		if o.relu && (x < 0 || x == 0) {
			x = 0
		}
		v := f.round(x, o.fmode, o.satfinite || f.inf == 0)
		if o.ftz && f == fmtF32 {
			v = f.flush(v)
		}
		return uint64(v)
	}
}

func clamp01(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, 1)
}

func roundInt(x float64, mode string) float64 {
	switch mode {
	case "rni":
		return math.RoundToEven(x)
	case "rzi":
		return math.Trunc(x)
	case "rmi":
		return math.Floor(x)
	case "rpi":
		return math.Ceil(x)
	}
	return x
}

func cvtFloat(dt, st typ, o copt) func(a uint64) uint64 {
	val, enc := floatValue(st, o.ftz), encode(dt, o)
	if dt.fmt == fmtF32 && st.fmt == fmtF16 && !o.sat && o.imode == "" {
		return func(a uint64) uint64 {
			v := f16to32(uint32(a & 0xffff))
			if v&0x7fffffff > 0x7f800000 {
				return 0x7fffffff
			}
			return uint64(v)
		}
	}
	return func(a uint64) uint64 { return enc(roundInt(val(a), o.imode)) }
}

// cvtToInt: out of range clamps; NaN gives 0, or the top bit where f64 or a 64-bit integer is involved.
func cvtToInt(dt, st typ, o copt) func(a uint64) uint64 {
	val := floatValue(st, o.ftz)
	lo, hi := intRange(dt)
	nan := uint64(0)
	if st.bits == 64 || dt.bits == 64 {
		nan = 1 << (dt.bits - 1)
	}
	return func(a uint64) uint64 {
		x := val(a)
		if x != x {
			return nan
		}
		x = roundInt(x, o.imode)
		switch {
		case x <= float64(lo):
			return uint64(lo) & dt.mask()
		case x >= float64(hi): // float64(hi) may be hi+1, which clamps as well
			return hi
		case x < 0:
			return uint64(int64(x)) & dt.mask()
		}
		return uint64(x)
	}
}

// cvtFromInt converts an integer with one rounding: 64-bit values keep 53 bits and a sticky one.
func cvtFromInt(dt, st typ, o copt) func(a uint64) uint64 {
	enc := encode(dt, o)
	if dt.fmt == fmtF32 && st.bits <= 32 && o.fmode == rn && !o.sat { // one correct rounding in hardware
		return func(a uint64) uint64 {
			if st.isSigned() {
				return bits32(float32(sx(a, st.bits)))
			}
			return bits32(float32(int64(a & st.mask())))
		}
	}
	return func(a uint64) uint64 {
		mag, neg := a&st.mask(), false
		if st.isSigned() {
			if v := sx(a, st.bits); v < 0 {
				mag, neg = -uint64(v), true
			}
		}
		var x float64
		switch {
		case bits.Len64(mag) <= 53:
			x = float64(mag)
		case dt.bits == 64:
			b := new(big.Float).SetPrec(64).SetUint64(mag)
			if neg {
				b.Neg(b)
			}
			return math.Float64bits(round64(b, o.fmode))
		default:
			sticky := uint64(0)
			if mag&(1<<11-1) != 0 {
				sticky = 1
			}
			x = float64(mag>>11|sticky) * (1 << 11)
		}
		if neg {
			x = -x
		}
		return enc(x)
	}
}

// cvtPacked: two f32 into a packed pair (the first source is the upper half), and packed to packed of the
// same count.
func (d *decoder) cvtPacked(dt, st typ, o copt, nsrc int) {
	switch {
	case dt.n == 2 && st.n == 1 && nsrc == 2 && st.isFloat() && dt.isFloat():
		one := dt
		one.n = 1
		val, enc := floatValue(st, o.ftz), encode(one, o)
		d.src(1, st)
		d.src(2, st)
		n := dt.bits
		d.in.vec = lift2(func(a, b uint64) uint64 { return enc(val(a))<<n | enc(val(b)) })
		d.in.rule = func(w *warp, in *inst, m uint32) {
			lanes(m, func(i int) {
				var u uint64
				if w.ub(in.src[0], i) != 0 {
					u = widthMask(n) << n
				}
				if w.ub(in.src[1], i) != 0 {
					u |= widthMask(n)
				}
				w.setUB(in.dst[0], i, u)
			})
		}
	case dt.n == st.n && nsrc == 1 && dt.isFloat() && st.isFloat():
		to, from := dt, st
		to.n, from.n = 1, 1
		val, enc := floatValue(from, o.ftz), encode(to, o)
		d.src(1, st)
		d.in.vec = lift1(func(a uint64) uint64 {
			var r uint64
			for k := range dt.n {
				r |= enc(val(a>>(k*from.bits)&widthMask(from.bits))) << (k * to.bits)
			}
			return r
		})
		d.in.rule = rule1(func(u uint64) uint64 {
			var r uint64
			for k := range dt.n {
				if u>>(k*from.bits)&widthMask(from.bits) != 0 {
					r |= widthMask(to.bits) << (k * to.bits)
				}
			}
			return r
		})
	default:
		d.lacks("cvt from %s to %s", st.named, dt.named)
	}
}

// decodeCvtPack: cvt.pack.sat.ctype.s32{.b32} d, a, b{, c}: two saturated integers, then the old ones
// shifted up.
func decodeCvtPack(d *decoder) {
	d.flag("sat")
	ts := d.types()
	if len(ts) < 2 {
		d.malformed("types expected")
		return
	}
	ct := ts[0]
	d.dst()
	d.src(1, ts[1])
	d.src(2, ts[1])
	if len(d.st.args) == 4 {
		d.src(3, types["b32"])
	}
	f := cvtInt(ct, types["s32"], true)
	d.in.vec = lift3(func(a, b, c uint64) uint64 {
		return (f(b) | f(a)<<ct.bits | c<<(2*ct.bits)) & widthMask(32)
	})
}
