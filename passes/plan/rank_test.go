package plan

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tileiras/codegen/options"
	"tileiras/codegen/target"
	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/cleanup"
	"tileiras/passes/convert"
	"tileiras/passes/pass"
	"tileiras/passes/slice"
)

// A measure is what another model, which replays machine code instruction by instruction, says of a kernel under a plan.
type measure struct {
	gpu, kernel          string
	warps, slots, blocks int
	rate                 float64 // TF/s
}

// measures reads testdata/plans.txt: GPU, kernel, warps, slots, TF/s, blocks of a multiprocessor.
func measures(t *testing.T) []measure {
	f, err := os.Open("testdata/plans.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []measure
	for in := bufio.NewScanner(f); in.Scan(); {
		if strings.HasPrefix(in.Text(), "#") {
			continue
		}
		var m measure
		if _, err := fmt.Sscan(in.Text(), &m.gpu, &m.kernel, &m.warps, &m.slots, &m.rate, &m.blocks); err != nil {
			t.Fatalf("%s: %v", in.Text(), err)
		}
		list = append(list, m)
	}
	return list
}

// loopsIn are the loops of a kernel that multiply.
func loopsIn(t *testing.T, m measure) []loopCost {
	data, err := os.ReadFile(filepath.Join("../../tests/corpus/perf", m.kernel, "kernel.tileirbc"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := ir.NewContext(tileaa.Dialect, cudatile.Dialect)
	module, _, err := bytecode.Read(ctx, data, bytecode.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &pass.State{Ctx: ctx, Module: module, Target: gpuOf(m), Code: options.Code{Opt: 3}}
	for _, run := range []func(*pass.State) error{convert.ToTileAA, cleanup.Canonicalize, cleanup.CSE, cleanup.LICM, cleanup.DCE} {
		if err := run(s); err != nil {
			t.Fatal(err)
		}
	}
	entry := s.Entries()[0]
	return newPricing(s, entry, slice.ProductsOf(s, entry)).loopCosts(m.warps)
}

func gpuOf(m measure) *target.Target {
	t, _ := target.ByName(m.gpu)
	return t
}

// predicted is the time of the loop with most to do, in cycles of an iteration, 0 where that many slots do not fit; and the slots that it
// would have.
func predicted(t *testing.T, m measure) (cycles, slots int) {
	for _, l := range loopsIn(t, m) {
		if m.slots <= len(l.SharedBytes) && l.Blocks(gpuOf(m), m.slots) > 0 {
			if n := l.CyclesWith(gpuOf(m), m.slots); n > cycles {
				cycles, slots = n, l.Slots(gpuOf(m))
			}
		}
	}
	return cycles, slots
}

// TestPlansAreRankedAsByTheirMachineCode holds the order in which codegen/cost puts plans of a kernel against the order of the times that
// their machine code takes in a model of a multiprocessor which knows every instruction and its latencies, but nothing of plans.
func TestPlansAreRankedAsByTheirMachineCode(t *testing.T) {
	type pair struct {
		measure
		cycles, wanted int
	}
	byKernel := map[string][]pair{}
	var names []string
	for _, m := range measures(t) {
		if c, slots := predicted(t, m); c > 0 {
			key := m.gpu + " " + m.kernel
			if byKernel[key] == nil {
				names = append(names, key)
			}
			byKernel[key] = append(byKernel[key], pair{m, c, slots})
		}
	}
	all, sum, lost := 0, 0.0, 1.0
	for _, name := range names {
		list := byKernel[name]
		faster := func(a, b pair) int { return cmp.Compare(b.rate, a.rate) }
		cheaper := func(a, b pair) int { return cmp.Compare(a.cycles, b.cycles) }
		r := correlation(ranks(list, faster), ranks(list, cheaper))
		measured := map[int]int{} // the most slots of so many warps
		for _, x := range list {
			measured[x.warps] = max(measured[x.warps], x.slots)
		}
		asked := slices.DeleteFunc(slices.Clone(list), func(a pair) bool { return a.slots != min(a.wanted, measured[a.warps]) })
		chosen, best := slices.MinFunc(asked, cheaper), slices.MinFunc(list, faster)
		t.Logf("%-45s rank correlation %5.2f; cheapest %2d warps, %d slots: %.0f TF/s, best %2d, %d: %.0f", name, r,
			chosen.warps, chosen.slots, chosen.rate, best.warps, best.slots, best.rate)
		all += len(list)
		sum += r * float64(len(list))
		lost *= best.rate / chosen.rate
	}
	mean := sum / float64(all)
	lost = math.Pow(lost, 1/float64(len(names)))
	t.Logf("%d pairs of a kernel and a plan: mean rank correlation %.2f; the best plan is %.3f times as fast as the cheapest in the mean", all, mean, lost)
	if all < 40 || mean < 0.7 || lost > 1.05 {
		t.Error("the cost of plans does not follow their time")
	}
}

// ranks are the places of the elements in an order, those that are equal sharing theirs.
func ranks[T any](list []T, by func(a, b T) int) []float64 {
	out := make([]float64, len(list))
	for i, x := range list {
		less, same := 0, 0
		for _, y := range list {
			switch c := by(y, x); {
			case c < 0:
				less++
			case c == 0:
				same++
			}
		}
		out[i] = float64(less) + float64(same+1)/2
	}
	return out
}

// correlation is Pearson's.
func correlation(x, y []float64) float64 {
	n := float64(len(x))
	var mx, my float64
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	var xy, xx, yy float64
	for i := range x {
		a, b := x[i]-mx, y[i]-my
		xy, xx, yy = xy+a*b, xx+a*a, yy+b*b
	}
	if xx == 0 || yy == 0 {
		return 1
	}
	return xy / math.Sqrt(xx*yy)
}
