package nvvm_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"tileiras/ir/float"
)

// ulps is how far got is from want in units of want's last place in the format.
func ulps(f *float.Format, got uint64, want float64) float64 {
	g := f.Decode(got)
	exact := f.Encode(want, float.NearestEven)
	switch {
	case math.IsNaN(want) || math.IsNaN(g):
		if math.IsNaN(want) && math.IsNaN(g) {
			return 0
		}
		return math.Inf(1)
	case math.IsInf(g, 0) || f.IsInf(exact):
		if got == exact {
			return 0
		}
		return math.Inf(1)
	}
	a, b := f.Decode(f.Abs(exact)), f.Decode(f.Abs(exact)+1)
	if math.IsInf(b, 0) {
		b = a + (a - f.Decode(f.Abs(exact)-1))
	}
	return math.Abs(g-want) / (b - a)
}

// Every function stays within its bound on numbers of every size, and gets zeros, infinities and NaN right. The judge is math/big
// where Go's math package is not exact to the last place.
func TestMath(t *testing.T) {
	for _, c := range []struct {
		op, attrs    string
		operands     int
		want         func(x []float64) float64
		single, half float64 // bounds in f32 and in 16-bit formats
		double       float64
		low, high    float64 // range of random operands, exponents of two
	}{
		{"exp", "", 1, func(x []float64) float64 { return expOf(x[0], 0) }, 2, 0.51, 2, -20, 8},
		{"exp", "rounding = approx", 1, func(x []float64) float64 { return expOf(x[0], 0) }, 70, 0, 0, -20, 6},
		{"exp2", "", 1, func(x []float64) float64 { return expOf(0, x[0]) }, 2, 0.51, 2, -20, 8},
		{"log", "", 1, func(x []float64) float64 { return logOf(x[0], false) }, 1, 0.51, 2, -140, 120},
		{"log2", "", 1, func(x []float64) float64 { return logOf(x[0], true) }, 1.1, 0.51, 2.1, -140, 120},
		{"sin", "", 1, func(x []float64) float64 { return sinOf(x[0], 0) }, 1.6, 0.51, 2, -20, 14},
		{"cos", "", 1, func(x []float64) float64 { return sinOf(x[0], 1) }, 1.6, 0.51, 2, -20, 14},
		{"sin", "", 1, func(x []float64) float64 { return sinOf(x[0], 0) }, 1.6, 0.51, 2, 14, 127},
		{"cos", "", 1, func(x []float64) float64 { return sinOf(x[0], 1) }, 1.6, 0.51, 2, 14, 127},
		{"tan", "", 1, func(x []float64) float64 { return sinOf(x[0], 0) / sinOf(x[0], 1) }, 3, 0.51, 4, -20, 20},
		{"sinh", "", 1, func(x []float64) float64 { return hyperbolic(x[0], -1, math.Sinh) }, 2, 0.51, 3, -20, 7},
		{"cosh", "", 1, func(x []float64) float64 { return hyperbolic(x[0], 1, math.Cosh) }, 2, 0.51, 3, -20, 7},
		{"tanh", "", 1, func(x []float64) float64 { return math.Tanh(x[0]) }, 1.6, 0.51, 2, -20, 6},
		{"rsqrt", "", 1, func(x []float64) float64 { return 1 / math.Sqrt(x[0]) }, 2, 0.51, 2, -120, 120},
		{"pow", "", 2, func(x []float64) float64 { return powOf(x[0], x[1]) }, 2, 0.51, 4, -4, 4},
		{"pow", "", 2, func(x []float64) float64 { return powOf(x[0], x[1]) }, 2, 0.51, 4, -120, 1},
		{"atan2", "", 2, func(x []float64) float64 { return math.Atan2(x[0], x[1]) }, 2, 0.51, 2, -60, 60},
		{"remf", "", 2, func(x []float64) float64 { return math.Mod(x[0], x[1]) }, 0, 0, 0, -120, 120},
	} {
		for _, f := range []*float.Format{float.F32, float.F64, float.F16, float.BF16} {
			bound := map[*float.Format]float64{float.F32: c.single, float.F64: c.double, float.F16: c.half, float.BF16: c.half}[f]
			if c.attrs != "" && f != float.F32 || f.StorageBits() == 16 && c.low > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s %s %s from 2^%v", c.op, c.attrs, f, c.low), func(t *testing.T) {
				r := rand.New(rand.NewPCG(7, 7))
				var args []any
				var operands []string
				n := f.StorageBits() / 8
				special := floatSpecials(f)
				for k := range c.operands {
					var in []byte
					for i := range numElements {
						sign := float64(1 - 2*(r.IntN(2)))
						v := f.Encode(sign*math.Exp2(c.low+(c.high-c.low)*r.Float64()), float.NearestEven)
						if i < len(special)*len(special) {
							v = special[(i/[]int{1, len(special)}[k])%len(special)]
						}
						var w [8]byte
						binary.LittleEndian.PutUint64(w[:], v)
						in = append(in, w[:n]...)
					}
					args, operands = append(args, in), append(operands, f.Name())
				}
				text := elementwise(testLayouts["strided"], opText(c.op, c.attrs, f.Name(), f.Name(), c.operands), f.Name(), operands...)
				out, _ := launch(t, "sm_80", text, 1, append(args, make([]byte, numElements*n))...)
				worst, at := 0.0, 0
				for i := range numElements {
					var x []float64
					for k := range c.operands {
						x = append(x, f.Decode(element(args[k].([]byte), i, n)))
					}
					if u := ulps(f, element(out[c.operands], i, n), c.want(x)); u > worst || math.IsNaN(u) {
						worst, at = u, i
					}
				}
				if worst > bound || math.IsNaN(worst) {
					var x []float64
					for k := range c.operands {
						x = append(x, f.Decode(element(args[k].([]byte), at, n)))
					}
					t.Errorf("%s(%v) = %v, want %v: %.3f units, at most %v are allowed", c.op, x, f.Decode(element(out[c.operands], at, n)), c.want(x), worst, bound)
				}
			})
		}
	}
}

// sinOf is sin(x + quarter*pi/2) with the angle reduced in 2000 bits: Go's own reduction is right for f64, but slow to check by eye.
func sinOf(x float64, quarter int64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return math.NaN()
	}
	if x == 0 && quarter == 0 {
		return x
	}
	const prec = 2200
	half := new(big.Float).SetPrec(prec).Quo(bigPi, big.NewFloat(2).SetPrec(prec))
	v := new(big.Float).SetPrec(prec).SetFloat64(x)
	q := new(big.Float).SetPrec(prec).Quo(v, half)
	q.Add(q, big.NewFloat(math.Copysign(0.5, x)))
	n, _ := q.Int(nil)
	v.Sub(v, new(big.Float).SetPrec(prec).Mul(half, new(big.Float).SetPrec(prec).SetInt(n)))
	hi, _ := v.Float64()
	lo, _ := v.Sub(v, new(big.Float).SetPrec(prec).SetFloat64(hi)).Float64()
	n.Add(n, big.NewInt(quarter))
	s := math.Sin(hi) + lo*math.Cos(hi)
	c := math.Cos(hi) - lo*math.Sin(hi)
	switch new(big.Int).And(n, big.NewInt(3)).Int64() {
	case 0:
		return s
	case 1:
		return c
	case 2:
		return -s
	}
	return -c
}

// bigPi by Machin's formula.
var bigPi = func() *big.Float {
	const bits = 2300
	one := new(big.Int).Lsh(big.NewInt(1), bits)
	atan := func(k int64) *big.Int {
		sum, term := new(big.Int), new(big.Int).Quo(one, big.NewInt(k))
		for n := int64(1); term.Sign() != 0; n += 2 {
			t := new(big.Int).Quo(term, big.NewInt(n))
			if n%4 == 1 {
				sum.Add(sum, t)
			} else {
				sum.Sub(sum, t)
			}
			term.Quo(term, big.NewInt(k*k))
		}
		return sum
	}
	pi := new(big.Int).Mul(atan(5), big.NewInt(16))
	pi.Sub(pi, new(big.Int).Mul(atan(239), big.NewInt(4)))
	f := new(big.Float).SetPrec(bits).SetInt(pi)
	return f.SetMantExp(f, -bits)
}()

// x^n for integer n: exact signs, the minimum integer, negative powers.
func TestIntegerPowers(t *testing.T) {
	x, n := make([]byte, 0, 4*numElements), make([]byte, 0, 4*numElements)
	powers := []int32{0, 1, -1, 2, 3, -5, 31, math.MinInt32, math.MaxInt32}
	bases := []float32{1, -1, 2, -2, 0.5, -3, 1.25, 0, float32(math.Copysign(0, -1)), float32(math.Inf(-1)), float32(math.NaN()), 1 + 1e-6}
	for i := range numElements {
		x = append(x, floats(bases[i%len(bases)])...)
		n = append(n, words(powers[i/len(bases)%len(powers)])...)
	}
	body := `%r = powi %v0, %v1 : (tile<512xf32, #L>, tile<512xi32, #L>) -> tile<512xf32, #L>`
	out, _ := launch(t, "sm_80", elementwise(testLayouts["vectors"], body, "f32", "f32", "i32"), 1, x, n, make([]byte, 4*numElements))
	for i := range numElements {
		b, p := float64(floatAt(x, i)), wordAt(n, i)
		want := powOf(b, float64(p))
		if u := ulps(float.F32, element(out[2], i, 4), want); u > 2 {
			t.Errorf("%v^%d = %v, want %v", b, p, floatAt(out[2], i), want)
		}
	}
}

const prec = 220

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }

func bigOp(op func(z, x, y *big.Float) *big.Float, x, y *big.Float) *big.Float {
	return op(new(big.Float).SetPrec(prec), x, y)
}

// bigExp is e^x for |x| < 2000, by the series of e^(x/2^20).
func bigExp(x *big.Float) *big.Float {
	const halvings = 20
	r := new(big.Float).SetMantExp(bigOf(0).Set(x), -halvings)
	sum, term := bigOf(1), bigOf(1)
	for k := 1.0; k < 20; k++ {
		term = bigOp((*big.Float).Quo, bigOp((*big.Float).Mul, term, r), bigOf(k))
		sum = bigOp((*big.Float).Add, sum, term)
	}
	for range halvings {
		sum = bigOp((*big.Float).Mul, sum, sum)
	}
	return sum
}

// bigLog is ln x for positive x: one step of Newton's method from Go's logarithm.
func bigLog(x float64) *big.Float {
	m, e := math.Frexp(x)
	y := math.Log(m) + float64(e)*math.Ln2
	d := bigOp((*big.Float).Sub, bigOp((*big.Float).Mul, bigOf(x), bigExp(bigOf(-y))), bigOf(1))
	half := bigOp((*big.Float).Mul, bigOp((*big.Float).Mul, d, d), bigOf(-0.5))
	third := bigOp((*big.Float).Quo, bigOp((*big.Float).Mul, d, bigOp((*big.Float).Mul, d, d)), bigOf(3))
	return bigOp((*big.Float).Add, bigOf(y), bigOp((*big.Float).Add, d, bigOp((*big.Float).Add, half, third)))
}

// expOf is e^x * 2^two.
func expOf(x, two float64) float64 {
	if v := math.Exp(x) * math.Exp2(two); math.IsNaN(v) || math.Abs(x) > 1500 || math.Abs(two) > 1500 {
		return v
	}
	v, _ := bigExp(bigOp((*big.Float).Add, bigOf(x), bigOp((*big.Float).Mul, bigOf(two), bigLog(2)))).Float64()
	return v
}

func logOf(x float64, base2 bool) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return math.Log(x)
	}
	l := bigLog(x)
	if base2 {
		l = bigOp((*big.Float).Quo, l, bigLog(2))
	}
	v, _ := l.Float64()
	return v
}

// hyperbolic is (e^x + sign*e^-x) / 2.
func hyperbolic(x, sign float64, plain func(float64) float64) float64 {
	if math.IsNaN(x) || math.Abs(x) > 1500 || math.Abs(x) < 1e-30 {
		return plain(x)
	}
	sum := bigOp((*big.Float).Add, bigExp(bigOf(x)), bigOp((*big.Float).Mul, bigOf(sign), bigExp(bigOf(-x))))
	v, _ := sum.Mul(sum, bigOf(0.5)).Float64()
	return v
}

func powOf(x, y float64) float64 {
	v := math.Pow(x, y)
	if v == 0 || math.IsNaN(v) || math.IsNaN(x+y) || math.IsInf(x, 0) || math.IsInf(y, 0) || x == 0 || y == 0 || math.IsInf(v, 0) {
		return v
	}
	p, _ := bigExp(bigOp((*big.Float).Mul, bigOf(y), bigLog(math.Abs(x)))).Float64()
	return math.Copysign(p, v)
}
