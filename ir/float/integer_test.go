package float

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestToIntOfEveryPatternUpToSixteenBits(t *testing.T) {
	for _, f := range formats {
		set := samples(f, 2000, 10)
		if f.Bits() <= 16 {
			set = patterns(f)
		}
		for _, b := range set {
			x := refDecode(f, b)
			for _, width := range []int{1, 8, 32, 64} {
				for _, signed := range []bool{true, false} {
					for _, r := range roundings {
						want, wantIn := refToInt(x, width, signed, r)
						if got, in := f.ToInt(b, width, signed, r); got != want || in != wantIn {
							t.Fatalf("%s %#x to %d bits (signed %v, %s): got %#x %v, want %#x %v", f, b, width, signed, r, got, in, want, wantIn)
						}
					}
				}
			}
		}
	}
}

var bigOne = big.NewInt(1)

func refToInt(x exact, width int, signed bool, r Rounding) (uint64, bool) {
	lo, hi := big.NewInt(0), new(big.Int).Sub(pow2(width), bigOne)
	if signed {
		lo, hi = new(big.Int).Neg(pow2(width-1)), new(big.Int).Sub(pow2(width-1), bigOne)
	}
	var v *big.Int
	switch {
	case x.special == notANumber:
		return 0, false
	case x.special == infinite:
		v = new(big.Int).Add(hi, bigOne)
		if x.neg {
			v = new(big.Int).Sub(lo, bigOne)
		}
	default:
		// floor, then decide by the rest in [0, 1)
		rest := new(big.Int)
		v, rest = new(big.Int).DivMod(x.num, x.den, rest)
		half := rest.Lsh(rest, 1).Cmp(x.den)
		inexact := rest.Sign() != 0
		if inexact && (r == TowardPositive || r == TowardZero && x.neg || half > 0 && (r == NearestEven || r == NearestAway) ||
			half == 0 && (r == NearestEven && v.Bit(0) == 1 || r == NearestAway && !x.neg)) {
			v.Add(v, bigOne)
		}
	}
	in := v.Cmp(lo) >= 0 && v.Cmp(hi) <= 0
	if v.Cmp(lo) < 0 {
		v = lo
	} else if v.Cmp(hi) > 0 {
		v = hi
	}
	return new(big.Int).And(v, new(big.Int).Sub(pow2(width), bigOne)).Uint64(), in
}

func TestFromIntRoundsOnce(t *testing.T) {
	values := []int64{0, 1, -1, 2, 3, 7, -8, 255, 256, 257, 448, 449, 464, 465, 2047, 2049, 65504, 65519, 65520, 1 << 24, 1<<24 + 1, 1<<53 + 1,
		math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32}
	rng := rand.New(rand.NewPCG(11, 0))
	for range 3000 {
		values = append(values, int64(rng.Uint64())>>rng.IntN(64))
	}
	for _, f := range formats {
		for _, v := range values {
			check(t, f, "from signed", refRound(f, scaled(big.NewInt(v), 0, false).fixSign()), func(r Rounding) uint64 { return f.FromInt(v, r) })
			u := new(big.Int).SetUint64(uint64(v))
			check(t, f, "from unsigned", refRound(f, scaled(u, 0, false)), func(r Rounding) uint64 { return f.FromUint(uint64(v), r) })
		}
	}
}

func (x exact) fixSign() exact {
	x.neg = x.num.Sign() < 0
	return x
}
