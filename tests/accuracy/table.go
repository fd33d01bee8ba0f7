package accuracy

import (
	"math"
	"math/big"

	"tileiras/ir/float"
	"tileiras/runtime/exact"
)

// reference is the exact result as a sum of two, the second 0 where the first is far better than the format.
type reference func(x, y float64) (high, low float64)

// quick is a function of package math, good to some units of the last place of f64: enough for formats of 24 bits and fewer.
func quick(f func(x, y float64) float64) reference {
	return func(x, y float64) (float64, float64) { return f(x, y), 0 }
}

// slow is arbitrary precision.
func slow(f *exact.Func) reference {
	return func(x, y float64) (float64, float64) {
		v, special, ok := f.Value(x, y, 100)
		if !ok {
			return special, 0
		}
		high, _ := v.Float64()
		if math.IsInf(high, 0) || high == 0 {
			return high, 0
		}
		low, _ := new(big.Float).Sub(v, big.NewFloat(high)).Float64()
		return high, low
	}
}

// log2 is good next to 1, where math.Log2 is not.
func log2(x float64) float64 {
	if x > 0.7 && x < 1.4 {
		return math.Log1p(x-1) * math.Log2E
	}
	return math.Log2(x)
}

// pow is good where f32 has results: math.Pow squares again and again, which doubles its error.
func pow(x, y float64) float64 {
	v := math.Pow(x, y)
	if v == 0 || v-v != 0 || math.Abs(y) < 64 || math.Abs(x) == 1 || y-y != 0 {
		return v
	}
	return math.Copysign(math.Exp(y*math.Log(math.Abs(x))), v)
}

func one(f func(float64) float64) func(x, _ float64) float64 {
	return func(x, _ float64) float64 { return f(x) }
}

// function is a function with what it promises: in f32, in f64 and, in both formats of 16 bits, half more than the rounding.
type function struct {
	op       string
	exact    *exact.Func
	quick    func(x, y float64) float64
	arity    int
	f32, f64 float64
	near     [][2]float64
	pairs    func(r *source) (x, y float64)
}

var angles = [][2]float64{{-10, 10}, {-1e5, 1e5}}

var functions = []function{
	{"exp", exact.Exp, one(math.Exp), 1, 1, 2, [][2]float64{{-104, 89}, {-745.2, 709.8}, {-1, 1}}, nil},
	{"exp2", exact.Exp2, one(math.Exp2), 1, 1, 2, [][2]float64{{-150, 128}, {-1075, 1024}, {-1, 1}}, nil},
	{"log", exact.Log, one(math.Log), 1, 1, 2, [][2]float64{{0.5, 2}, {0.99, 1.01}}, nil},
	{"log2", exact.Log2, one(log2), 1, 1.5, 2, [][2]float64{{0.5, 2}, {0.99, 1.01}}, nil},
	{"sin", exact.Sin, one(math.Sin), 1, 1.6, 2, angles, nil},
	{"cos", exact.Cos, one(math.Cos), 1, 1.6, 2, angles, nil},
	{"tan", exact.Tan, one(math.Tan), 1, 3.4, 2, angles, nil},
	{"sinh", exact.Sinh, one(math.Sinh), 1, 1.6, 2, [][2]float64{{-90, 90}, {-711, 711}, {-2, 2}}, nil},
	{"cosh", exact.Cosh, one(math.Cosh), 1, 1.6, 2, [][2]float64{{-90, 90}, {-711, 711}, {-2, 2}}, nil},
	{"tanh", exact.Tanh, one(math.Tanh), 1, 1.6, 1, [][2]float64{{-20, 20}, {-1, 1}}, nil},
	{"rsqrt", exact.Rsqrt, one(func(x float64) float64 { return 1 / math.Sqrt(x) }), 1, 1, 2, [][2]float64{{0.5, 4}}, nil},
	{"pow", exact.Pow, pow, 2, 1, 2, nil, powers},
	{"atan2", exact.Atan2, math.Atan2, 2, 1.6, 2, nil, planes},
}

// Rows is the table.
var Rows = func() []*Row {
	var rows []*Row
	for _, f := range functions {
		for _, format := range []*float.Format{float.F32, float.F64, float.F16, float.BF16} {
			r := &Row{Op: f.op, Format: format, Arity: f.arity, near: f.near, pairs: f.pairs, reference: quick(f.quick), exact: f.exact}
			switch format {
			case float.F32:
				r.Promise = f.f32
			case float.F64:
				r.Promise, r.reference, r.exact = f.f64, slow(f.exact), nil
			default:
				r.Promise = 0.51
			}
			rows = append(rows, r)
		}
	}
	f32 := func(op, variant string, promise float64, flush bool, f func(x, y float64) float64, near ...[2]float64) *Row {
		return &Row{Op: op, Variant: variant, Format: float.F32, Arity: 1, Promise: promise, Flush: flush, reference: quick(f), near: near}
	}
	rsqrt := one(func(x float64) float64 { return 1 / math.Sqrt(x) })
	rows = append(rows,
		f32("exp", "rounding<approx>", 65, false, one(math.Exp), [2]float64{-104, 89}),
		f32("exp2", "flush_to_zero", 1, true, one(math.Exp2), [2]float64{-150, 128}),
		f32("tanh", "rounding<approx>", 1, false, one(math.Tanh), [2]float64{-20, 20}),
		f32("rsqrt", "flush_to_zero", 1, true, rsqrt, [2]float64{0.5, 4}),
	)
	directed := map[string]float64{"": 0.5, "rounding<zero>": 1, "rounding<negative_inf>": 1, "rounding<positive_inf>": 1}
	divide := func(x, y float64) float64 { return x / y }
	for _, v := range []string{"", "rounding<zero>", "rounding<negative_inf>", "rounding<positive_inf>", "rounding<full>", "rounding<approx>"} {
		promise, ok := directed[v]
		if !ok {
			promise = 2
		}
		if v != "rounding<full>" {
			rows = append(rows, f32("sqrt", v, min(promise, 1), false, one(math.Sqrt), [2]float64{0.5, 4}))
		}
		r := &Row{Op: "divf", Variant: v, Format: float.F32, Arity: 2, Promise: promise, reference: quick(divide), pairs: quotients}
		r.huge, r.directed = v == "rounding<approx>", ok && v != ""
		rows = append(rows, r)
	}
	for _, format := range []*float.Format{float.F32, float.F64, float.F16, float.BF16} {
		r := &Row{Op: "fpowi", Format: format, Arity: 2, Integer: true, Promise: 0.51, reference: quick(pow), exact: exact.Pow, pairs: powers}
		switch format {
		case float.F32:
			r.Promise = 1
		case float.F64:
			r.Promise, r.reference, r.exact = 2, slow(exact.Pow), nil
		}
		rows = append(rows, r)
	}
	for _, format := range []*float.Format{float.F32, float.F64} {
		rows = append(rows, &Row{Op: "remf", Format: format, Arity: 2, Promise: 0, reference: quick(math.Mod), pairs: quotients})
	}
	return rows
}()
