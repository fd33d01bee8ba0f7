package bytecode_test

import (
	"math"
	"os"
	"runtime"
	"testing"
	"time"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// big is a kernel of about n operations: a chain of additions in which every tenth stretch of eight is the body of an if.
func big(t *testing.T, n int) []byte {
	t.Helper()
	m := newMaker(i32Tile, func(c *ir.Context) ir.Type { return cudatile.Scalar(c, c.Int(1)) })
	overflow := def.OverflowEnum.Of(def.NoOverflowFlag)
	add := func(v *ir.Value) *ir.Value {
		return m.op("addi", []*ir.Value{v, m.arg(0)}, []ir.Type{v.Type()}, overflow).Result(0)
	}
	v := m.arg(0)
	for made := 0; made < n; {
		for range 80 {
			v = add(v)
		}
		branch := m.op("if", []*ir.Value{m.arg(1)}, nil)
		then := m.b
		m.b = ir.NewBuilder(m.c)
		m.b.AtEnd(branch.Region(0).AddBlock())
		inner := v
		for range 8 {
			inner = add(inner)
		}
		m.op("yield", nil, nil)
		m.b = then
		made += 80 + 1 + 8 + 1
	}
	m.op("return", nil, nil)
	out, err := bytecode.Write(m.module, bytecode.WriteOptions{Version: def.V135})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// cost is what reading and verifying take.
type cost struct {
	ops   int
	time  time.Duration
	bytes uint64 // allocated
	live  uint64 // of them in use at the end
}

func measure(t *testing.T, data []byte) cost {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	c := ir.NewContext(cudatile.Dialect)
	m, origin, err := bytecode.Read(c, data, bytecode.ReadOptions{})
	if err != nil || !ir.Verify(c, m) {
		t.Fatal(err, c.Diags.String())
	}
	got := cost{time: time.Since(began)}
	runtime.ReadMemStats(&after)
	got.bytes = after.TotalAlloc - before.TotalAlloc
	runtime.GC()
	runtime.ReadMemStats(&after)
	got.live = after.HeapAlloc - before.HeapAlloc
	ir.Walk(m, ir.PreOrder, func(*ir.Op) { got.ops++ })
	runtime.KeepAlive(origin)
	return got
}

// TestReadingAndVerifyingIsLinear prints time and memory for kernels of 10^3 operations and more, 10^6 with TILEIRAS_LINEAR=1, and
// the exponents: 1 is linear. Memory does not depend on what else the machine does, so its exponents are held; that of the time only
// when the test is asked to measure, on a machine that does nothing else.
func TestReadingAndVerifyingIsLinear(t *testing.T) {
	sizes, mostTime := []int{1e3, 1e4, 1e5}, math.Inf(1)
	if os.Getenv("TILEIRAS_LINEAR") != "" {
		sizes, mostTime = append(sizes, 1e6), 1.5
	}
	var costs []cost
	for _, n := range sizes {
		data := big(t, n)
		best := measure(t, data)
		for range 2 {
			if again := measure(t, data); again.time < best.time {
				best = again
			}
		}
		costs = append(costs, best)
		per := float64(best.ops)
		t.Logf("%8d ops, %9d bytes: %10v, %5.0f ns, %4.0f bytes allocated and %4.0f in use per op", best.ops, len(data),
			best.time.Round(10*time.Microsecond), float64(best.time.Nanoseconds())/per, float64(best.bytes)/per, float64(best.live)/per)
	}
	exponent := func(what string, of func(cost) float64, most float64) {
		e := slope(costs, of)
		t.Logf("%s grows with the number of ops to the power of %.3f", what, e)
		if e > most {
			t.Errorf("%s: the exponent is %.3f, more than %.2f", what, e, most)
		}
	}
	exponent("time", func(c cost) float64 { return float64(c.time) }, mostTime)
	exponent("memory allocated", func(c cost) float64 { return float64(c.bytes) }, 1.05)
	exponent("memory in use", func(c cost) float64 { return float64(c.live) }, 1.05)
}

// slope is the exponent of the power law that fits best: the slope of the line through the logarithms.
func slope(costs []cost, of func(cost) float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for _, c := range costs {
		x, y := math.Log(float64(c.ops)), math.Log(of(c))
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
