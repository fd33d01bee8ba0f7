package random

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/ir/printf"
	"tileiras/runtime/emu"
	"tileiras/tests/ptxas"
)

// theirFaults are differences in which NVIDIA's compiler is wrong. Each has a module in testdata/theirs that shows it, and the proof: what
// of their PTX cannot be right. Where a word in their report does not tell the fault, an experiment does: it asks again about the module
// without what the fault needs, and all must agree.
var theirFaults = []struct {
	file       string
	gpu        string // sm_80 if it says nothing
	is         func(text string, v Verdict) bool
	experiment func(ctx context.Context, th *NvidiaOracle, text, entry string, blocks int, s emu.Schedule) Verdict
	proof      string
}{
	{
		file: "alloca_pointer_overwritten",
		is: func(text string, v Verdict) bool {
			return strings.Contains(text, "alloca ") && strings.Contains(fmt.Sprint(v.Nvidia), "emulator: race") &&
				strings.Contains(fmt.Sprint(v.Nvidia), "[global_smem_")
		},
		proof: "every warp reads the address of the alloca from the shared word in which one thread then puts the result of an atomic operation, and no " +
			"barrier stands between the read and the write",
	},
	{
		file: "alloca_freed_before_store",
		is: func(text string, v Verdict) bool {
			return strings.Contains(text, "alloca ") && strings.Contains(fmt.Sprint(v.Nvidia), "emulator: out of bounds") &&
				strings.Contains(fmt.Sprint(v.Nvidia), "'malloc by warp")
		},
		proof: "the store to the alloca of an iteration runs in the next one; one thread has freed the memory by then",
	},
	{
		file: "flag_read_by_each_thread",
		is: func(text string, v Verdict) bool {
			return strings.Contains(text, " acquire ") && strings.Contains(text, "loop ")
		},
		// The only tile block has set the flag itself before it looks: all threads read the same.
		experiment: func(ctx context.Context, th *NvidiaOracle, text, entry string, _ int, s emu.Schedule) Verdict {
			return th.Judge(ctx, text, entry, 1, s)
		},
		proof: "every thread loads the flag for itself. Another tile block sets it between the loads of two warps, one leaves the loop and the other " +
			"goes round once more; its next barrier meets the barrier after the loop, and from there on no barrier of theirs orders anything",
	},
	{
		file: "scan_of_several_rows",
		is:   func(text string, _ Verdict) bool { return strings.Contains(text, "scan ") },
		experiment: without(func(_ *ir.Context, op *ir.Op) bool {
			return len(op.Results()) > 1 && scans(nil, op)
		}),
		proof: "a thread has elements of eight rows. Those of the first go through shfl.sync.up and shared memory; of the others, a thread adds its own " +
			"two elements and stores them: nothing of the lanes before it comes to them",
	},
	{
		file: "token_through_masked_load",
		is: func(text string, v Verdict) bool {
			said := fmt.Sprint(v.Nvidia)
			return (strings.Contains(said, "emulator: race") || strings.HasPrefix(said, "differs")) && !strings.Contains(text, "alloca ")
		},
		// What comes after an access comes after what that access comes after: to say so changes nothing.
		experiment: without(joinTokens),
		proof: "a load whose mask is false throughout is gone, and with it what its token stood for: the load before it and the store after it touch the " +
			"same bytes in different threads, and no barrier stands between them; two stores, one of them in a branch, change places",
	},
	{
		file: "copies_not_waited_for",
		is: func(_ string, v Verdict) bool {
			return strings.Contains(fmt.Sprint(v.Nvidia), "emulator: in flight") && strings.Contains(fmt.Sprint(v.Nvidia), "cp.async")
		},
		// Without the stores in loops no copy is told apart from the others by a barrier of its own.
		experiment: without(func(_ *ir.Context, op *ir.Op) bool {
			return ir.Is[cudatile.StoreViewTko](op) && ir.Is[cudatile.For](op.ParentOp()) && forwardOperand(nil, op)
		}),
		proof: "the store waits for the copies of one factor by an mbarrier; those of the other factor are read by ldmatrix after a bar.sync and no " +
			"cp.async.wait_group, which alone says that they are done",
	},
	{
		file: "counter_beyond_the_largest_number",
		is: func(text string, v Verdict) bool {
			said := fmt.Sprint(v.Nvidia)
			return strings.Contains(text, "for ") && (strings.Contains(said, "emulator: step limit") || strings.Contains(said, "emulator: deadlock") ||
				strings.Contains(said, "emulator: endless loop") || strings.HasPrefix(said, "differs"))
		},
		experiment: without(countLower),
		proof: "the last number that a loop counts, plus its step, is beyond the largest of 32 bits; their counter wraps and is below the upper bound again, " +
			"so the loop is one branch to itself; where loads run ahead, the sum wraps some iterations earlier, and those that are peeled behind the loop are others",
	},
	{
		file:       "unsigned_loop_shorter_than_its_pipeline",
		is:         func(text string, _ Verdict) bool { return strings.Contains(text, "for unsigned ") },
		experiment: without(countSigned),
		proof: "what 50 iterations load is loaded before the loop, where there are so many; the loop itself runs while the counter is below the upper bound " +
			"less 100, which wraps: it begins for 16 iterations, too, with registers that nobody has loaded",
	},
	{
		file: "barrier_of_the_first_iteration_only",
		is: func(text string, v Verdict) bool {
			return (strings.Contains(text, "loop ") || strings.Contains(text, "for ")) && strings.Contains(fmt.Sprint(v.Nvidia), "emulator: race")
		},
		experiment: without(runOnce),
		proof: "the first iteration stands before the loop, with a barrier between a load by all warps and an atomic operation by one of them, or between a " +
			"store and a load of what other threads have stored; the loop has the same accesses without the barrier",
	},
	{
		file: "carried_values_change_places",
		is: func(text string, v Verdict) bool {
			return (strings.Contains(text, "for ") || strings.Contains(text, "loop ")) && strings.HasPrefix(fmt.Sprint(v.Nvidia), "differs")
		},
		experiment: without(keepPlaces),
		proof: "of two values that a loop carries, the first becomes the second and the second a product; after one iteration the first is what the second began with, but " +
			"each value that their code stores has been multiplied at least once: the loads run ahead, and what is peeled behind the loop takes the products of one iteration more",
	},
	{
		file: "specials_stay_in_f8",
		gpu:  "sm_89",
		is: func(text string, v Verdict) bool {
			return strings.Contains(text, "xf8E") && strings.HasPrefix(fmt.Sprint(v.Nvidia), "differs")
		},
		experiment: without(saturate),
		proof: "the table of conversions says that NaN becomes the largest f8E4M3FN and what is beyond the largest f8E5M2 becomes that; theirs is " +
			"cvt.rn.satfinite.e4m3x2, which keeps NaN, and constants beyond f8E5M2 become infinity",
	},
	{
		file:       "scan_beyond_its_shared_memory",
		is:         scanInShared("emulator: out of bounds"),
		experiment: without(scans),
		proof: "a warp puts its partial results of 8 rows, 64 bytes each, at 8 times (16 of an odd lane + the number of its pair of warps + 0 or 4): the last " +
			"lie beyond the 512 bytes that are declared",
	},
	{
		file:       "scan_across_two_warps",
		is:         scanInShared("emulator: race"),
		experiment: without(scans),
		proof: "two warps share columns of two elements. A lane of the odd warp stores to word 4*lane, one of the even warp to word 64 + 4*lane: lanes 16 to 31 " +
			"and lanes 0 to 15 store different elements to the same words, with no barrier between them",
	},
	{
		file:       "printf_reads_what_nobody_passed",
		is:         func(text string, _ Verdict) bool { return strings.Contains(text, "print_tko ") },
		experiment: without(fitFormats),
		proof:      "an i32 is stored as 4 bytes for %ld, which reads 8; where the format says %d, all agree",
	},
	{
		file: "sums_added_before_the_wait",
		gpu:  "sm_90",
		is: func(_ string, v Verdict) bool {
			said := fmt.Sprint(v.Nvidia)
			return strings.Contains(said, "emulator: in flight") && strings.Contains(said, "is in use by the wgmma")
		},
		proof: "the last iteration of a loop stands behind it, under a branch; there a product is committed, and numbers are added to what it gives before the wait for " +
			"it, which comes behind the branch. ptxas sees that and waits after each product of the kernel: what the machine computes is right, with no product in flight",
	},
	{
		file: "sums_of_a_loop_that_begins_beyond_its_end",
		gpu:  "sm_100",
		is: func(text string, v Verdict) bool {
			return strings.Contains(text, "for ") && strings.Contains(text, "mma") && strings.Contains(fmt.Sprint(v.Nvidia), "emulator: undefined")
		},
		experiment: without(beginByTheEnd),
		proof: "a loop without iterations has its sums put in tensor memory behind it, if its lower bound equals the upper one (setp.ne.s32 in front of tcgen05.st); where it is " +
			"greater nobody stores to the columns that tcgen05.ld reads",
	},
	{
		file: "several_at_once",
		gpu:  "sm_89",
		is:   func(string, Verdict) bool { return true },
		experiment: func(ctx context.Context, th *NvidiaOracle, text, entry string, _ int, s emu.Schedule) Verdict {
			return without(countLower, countSigned, runOnce, joinTokens, saturate)(ctx, th, text, entry, 1, s)
		},
		proof: "the module has what several rows above name, a flag that each thread reads and an unsigned loop; without all of it, and with one tile block, all agree",
	},
	{
		file:       "scan_of_words",
		gpu:        "sm_89",
		is:         func(text string, _ Verdict) bool { return strings.Contains(text, "scan ") },
		experiment: without(func(_ *ir.Context, op *ir.Op) bool { return scans(nil, op) }),
		proof: "the least of 1, 3, 5 and so on to 33 is 1, and element 16 of that row is 33: what stood there; from sm_90 on, what the scan keeps in shared " +
			"memory is stored over an mbarrier besides",
	},
}

// scanInShared is a report of this kind about shared memory, of a module with a scan.
func scanInShared(kind string) func(text string, v Verdict) bool {
	return func(text string, v Verdict) bool {
		said := fmt.Sprint(v.Nvidia)
		return strings.Contains(text, "scan ") && strings.Contains(said, kind) && strings.Contains(said, "of shared memory")
	}
}

// scans has a scan give what it was given.
func scans(_ *ir.Context, op *ir.Op) bool { return ir.Is[cudatile.Scan](op) && forwardOperand(nil, op) }

// without asks about a module in which steps have been done to every operation that they take.
func without(steps ...step) func(ctx context.Context, th *NvidiaOracle, text, entry string, blocks int, schedule emu.Schedule) Verdict {
	return func(ctx context.Context, th *NvidiaOracle, text, entry string, blocks int, schedule emu.Schedule) Verdict {
		in, err := read(text)
		if err != nil {
			return Verdict{Invalid: err}
		}
		changed := false
		for _, op := range erasable(in.Module) {
			for _, s := range steps {
				if op.Block() != nil && s(in.Ctx, op) {
					changed = true
				}
			}
		}
		if !changed {
			return Verdict{Invalid: fmt.Errorf("nothing to leave out")}
		}
		clean(in.Module)
		return th.Judge(ctx, ir.Text(in.Module, ir.PrintOptions{}), entry, blocks, schedule)
	}
}

// fitFormats gives the conversions of a format the lengths and letters of what is passed to them.
func fitFormats(_ *ir.Context, op *ir.Op) bool {
	p, ok := ir.As[cudatile.PrintTko](op)
	if !ok {
		return false
	}
	var elems []ir.Type
	for _, a := range p.Args() {
		elems = append(elems, a.Type().(*cudatile.TileType).Elem)
	}
	fitted, err := printf.Fit(p.Str(), elems)
	if err != nil || fitted == p.Str() {
		return false
	}
	p.SetStr(fitted)
	return true
}

// countLower makes a loop between constants count as often, a quarter of all numbers below.
func countLower(c *ir.Context, op *ir.Op) bool {
	loop, ok := ir.As[cudatile.For](op)
	if !ok || loop.UnsignedCmp() {
		return false
	}
	t := loop.LowerBound().Type().(*cudatile.TileType)
	down := int64(1) << (ir.BitWidth(t.Elem) - 2)
	lower, ok1 := cudatile.SplatIntOf(loop.LowerBound())
	upper, ok2 := cudatile.SplatIntOf(loop.UpperBound())
	if !ok1 || !ok2 || lower < -down || upper < down {
		return false
	}
	first := loop.LowerBound() // the body may take it away from its number
	first.ReplaceAllUsesWith(cudatile.MakeSplat(ir.NewBuilder(c).Before(first.DefiningOp()), t, uint64(lower-down)))
	loop.SetUpperBound(cudatile.MakeSplat(ir.NewBuilder(c).Before(op), t, uint64(upper-down)))
	return true
}

// keepPlaces has a loop carry on in its own place what it hands to another.
func keepPlaces(_ *ir.Context, op *ir.Op) bool {
	args := op.Block().Args()
	first := len(args) - op.NumOperands()
	if !ir.Is[cudatile.Continue](op) || first < 0 {
		return false
	}
	changed := false
	for i, v := range op.Operands() {
		if own := args[first+i]; v != own && v.Type() == own.Type() && slices.Contains(args[first:], v) {
			op.SetOperand(i, own)
			changed = true
		}
	}
	return changed
}

// beginByTheEnd has a loop of signed numbers that begins beyond its end begin at it.
func beginByTheEnd(c *ir.Context, op *ir.Op) bool {
	loop, ok := ir.As[cudatile.For](op)
	if !ok || loop.UnsignedCmp() {
		return false
	}
	b := ir.NewBuilder(c).Before(op)
	loop.SetLowerBound(cudatile.NewMini(b, loop.LowerBound(), loop.UpperBound(), def.Signed).Result())
	return true
}

// countSigned makes a loop compare signed numbers.
func countSigned(_ *ir.Context, op *ir.Op) bool {
	loop, ok := ir.As[cudatile.For](op)
	if !ok || !loop.UnsignedCmp() {
		return false
	}
	loop.SetUnsignedCmp(false)
	return true
}

// runOnce ends a loop after its first iteration.
func runOnce(c *ir.Context, op *ir.Op) bool {
	if loop, ok := ir.As[cudatile.For](op); ok {
		b := ir.NewBuilder(c).Before(op)
		loop.SetUpperBound(cudatile.NewAddi(b, loop.LowerBound(), loop.Step(), cudatile.AddiOptions{}).Result())
		return true
	}
	if !ir.Is[cudatile.Continue](op) || !ir.Is[cudatile.Loop](op.ParentOp()) {
		return false
	}
	for i, r := range op.ParentOp().Results() {
		if op.NumOperands() != op.ParentOp().NumResults() || op.Operand(i).Type() != r.Type() {
			return false
		}
	}
	cudatile.NewBreak(ir.NewBuilder(c).Before(op), op.Operands())
	op.Erase()
	return true
}

// saturate puts the largest number in the place of NaN in what is converted to f8E4M3FN, and of infinities in what is converted to f8E5M2.
func saturate(c *ir.Context, op *ir.Op) bool {
	if !ir.Is[cudatile.Ftof](op) && !ir.Is[cudatile.Itof](op) {
		return false
	}
	y := op.Result(0)
	t := y.Type().(*cudatile.TileType)
	format := t.Elem.(*ir.FloatType).Format
	if format != float.F8E4M3FN && format != float.F8E5M2 {
		return false
	}
	b := ir.NewBuilder(c).After(op)
	f32, i1 := cudatile.MustTile(c, c.Float(float.F32), t.Shape...), cudatile.MustTile(c, c.Int(1), t.Shape...)
	wide := cudatile.NewFtof(b, f32, y, cudatile.FtofOptions{})
	fixed, special := y, []struct{ is, becomes uint64 }{{float.F8E5M2.Inf(false), float.F8E5M2.Max()}, {float.F8E5M2.Inf(true), float.F8E5M2.Neg(float.F8E5M2.Max())}}
	if format == float.F8E4M3FN {
		number := cudatile.NewCmpf(b, i1, wide.To(), wide.To(), def.PredEqual, def.Ordered).Result()
		fixed, special = cudatile.NewSelect(b, number, y, cudatile.MakeSplat(b, t, format.Max())).Result(), nil
	}
	for _, x := range special {
		inf := cudatile.MakeSplat(b, f32, float.Convert(format, float.F32, x.is, float.NearestEven))
		found := cudatile.NewCmpf(b, i1, wide.To(), inf, def.PredEqual, def.Ordered).Result()
		fixed = cudatile.NewSelect(b, found, cudatile.MakeSplat(b, t, x.becomes), fixed).Result()
	}
	y.ReplaceAllUsesWith(fixed)
	for u := fixed.DefiningOp(); u != op; u = u.Prev() { // but for what was just made of it
		for i, v := range u.Operands() {
			if v == fixed {
				u.SetOperand(i, y)
			}
		}
	}
	return true
}

// joinTokens makes what waits for a masked load wait for what the load waits for, too.
func joinTokens(c *ir.Context, op *ir.Op) bool {
	if !ir.Is[cudatile.LoadPtrTko](op) || op.NumResults() != 2 {
		return false
	}
	for _, before := range op.Operands() {
		after := op.Result(1)
		if before.Type() != after.Type() || !after.HasUses() {
			continue
		}
		b := ir.NewBuilder(c).After(op)
		both := cudatile.NewJoinTokens(b, []*ir.Value{before, before})
		after.ReplaceAllUsesWith(both.Op.Result(0))
		both.Op.SetOperand(1, after)
		return true
	}
	return false
}

// theirFault is the number of the fault of NVIDIA's compiler that a verdict shows, or -1.
func theirFault(ctx context.Context, th *NvidiaOracle, text, entry string, blocks int, s emu.Schedule, v Verdict) int {
	if v.Invalid != nil || v.Ours != nil {
		return -1
	}
	for i, f := range theirFaults {
		if !f.is(text, v) {
			continue
		}
		if f.experiment == nil {
			return i
		}
		if v := f.experiment(ctx, th, text, entry, blocks, s); v.Invalid == nil && v.Ours == nil && v.Nvidia == nil {
			return i
		}
	}
	return -1
}

// TestThreeTheirFaultsStand shows each fault of the table again, so that none stays in it that a newer compiler does not have.
func TestThreeTheirFaultsStand(t *testing.T) {
	tools, ok := ptxas.Find(t.TempDir())
	if !ok {
		t.Skipf("%s is not set: it names the folder with NVIDIA's tools", ptxas.Variable)
	}
	for i, f := range theirFaults {
		text, err := os.ReadFile("testdata/theirs/" + f.file + ".tileir")
		if err != nil {
			t.Fatal(err)
		}
		th := &NvidiaOracle{Tools: tools, GPU: cmp.Or(f.gpu, "sm_80")}
		seen := false
		for _, s := range emu.Schedules {
			v := th.Judge(t.Context(), string(text), entry, grid, s)
			seen = seen || theirFault(t.Context(), th, string(text), entry, grid, s, v) == i
		}
		if !seen {
			t.Errorf("%s: NVIDIA's compiler does not show it any more", f.file)
		}
	}
}
