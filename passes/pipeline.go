// Package passes is the one list of passes, in order. The passes themselves stand in rooms below, one file each:
//
//	pass      what a pass is, the state that it works on, the manager that runs them
//	facts     what is known of integers and pointers
//	kernel    what a kernel asks of the hardware: registers, products and their instructions
//	convert   cuda_tile to TileAA
//	cleanup   what is done to both dialects, and masks and checks that are not needed
//	plan      decisions: the plan, the atoms, and what they need
//	slice     what is too big is made in pieces
//	layouts   which thread holds what, and the way from one layout to another
//	overlap   what runs at the same time: loads and copies ahead, products in flight, roles of warps
//	memory    places in shared and tensor memory, tensor maps
//	sync      the order of accesses, and its judge
//	cudatile  passes on cuda_tile that run by name
//	passtest  texts before and after a pass, for tests
//
// The table of docs/architecture.md names the passes of each room. What comes after the last module that knows tiles belongs to internal/driver.
package passes

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/passes/cleanup"
	"tileiras/passes/convert"
	"tileiras/passes/cudatile"
	"tileiras/passes/layouts"
	"tileiras/passes/memory"
	"tileiras/passes/overlap"
	"tileiras/passes/pass"
	"tileiras/passes/plan"
	"tileiras/passes/slice"
	"tileiras/passes/sync"
)

// List is the one list of passes. First those of the way down to PTX, in order, and what judges them; then those on cuda_tile that run by name
// only, which NVIDIA ships in the open. The last two of the way down have no function here: they leave the forms that this package may know, and
// internal/driver runs them.
var List = []*pass.Pass{
	{Name: "convert-to-tileaa", Run: convert.ToTileAA, Gives: tileaa.Explicit,
		Summary: "Turns every cuda_tile operation into TileAA, where memory is explicit.",
		Why:     "First: everything below stands on TileAA alone."},
	{Name: "pair-elements", Run: plan.PairElements, Needs: tileaa.Explicit, UpTo: tileaa.Explicit,
		Summary: "Makes bytes of elements of 4 bits in memory and in scaled products.",
		Why:     "Before canonicalize, which finds the bytes that a program has unpacked."},
	{Name: "narrow-factors", Run: plan.NarrowFactors, Optional: true, Needs: tileaa.Explicit, UpTo: tileaa.Explicit,
		Summary: "Multiplies in bf16 or f16 where both factors are tf32 that was converted from it.",
		Why:     "Before truncate-factors, which takes what still is tf32."},
	{Name: "truncate-factors", Run: plan.TruncateFactors, Needs: tileaa.Explicit, UpTo: tileaa.Explicit,
		Summary: "With --tf32=truncated, loads the factors of products as tf32 that are converted from f32.",
		Why:     "Before canonicalize, which folds what is converted of constants; before the plan, which prices copies."},
	{Name: "canonicalize", Run: cleanup.Canonicalize, UpTo: tileaa.Planned, OnCudaTile: "canonicalize",
		Summary: "Folds constants and applies local patterns until nothing changes.",
		Why:     "Before cse, so that equal things look equal."},
	{Name: "narrow-integers", Run: plan.NarrowIntegers, Optional: true, Needs: tileaa.Explicit, UpTo: tileaa.Explicit,
		Summary: "Computes integers in bytes where what becomes of them needs no more.",
		Why:     "After canonicalize, on simple expressions; before cse, which merges what two of them share; before the plan, which counts registers."},
	{Name: "cse", Run: cleanup.CSE, Optional: true, OnCudaTile: "cse",
		Summary: "Merges pure operations that compute the same, and weak loads of the same after one token.",
		Why:     "After canonicalize, and before the plan, which counts what is there."},
	{Name: "split-loads", Run: slice.SplitLoads, Optional: true, Needs: tileaa.Explicit, UpTo: tileaa.Explicit,
		Summary: "Makes loads of the parts of a load that products take.",
		Why:     "After cse, which leaves one load of two, and one extract; before licm, which takes what places parts out of loops; before the plan, which prices copies."},
	{Name: "guard-masks", Run: cleanup.GuardMasks, Optional: true, Needs: tileaa.Explicit, UpTo: tileaa.Explicit,
		Summary: "Makes masks of coordinates in loops with products only in iterations in which they bite.",
		Why:     "After cse, which leaves one mask of two; before licm, which takes the ends of coordinates out of loops."},
	{Name: "licm", Run: cleanup.LICM, Optional: true, UpTo: tileaa.Converted, OnCudaTile: "loop-invariant-code-motion",
		Summary: "Moves invariant, speculatable operations out of loops.",
		Why:     "After cse, so that one copy moves."},
	{Name: "eliminate-range-checks", Run: cleanup.EliminateRangeChecks, Optional: true, Needs: tileaa.Explicit, UpTo: tileaa.Explicit,
		Summary: "Splits loops where the end of an array begins to matter.",
		Why:     "After licm, so that limits stand before loops; before dce and the plan: nobody needs what the checks took."},
	{Name: "dce", Run: cleanup.DCE, OnCudaTile: "dce",
		Summary: "Erases pure operations that nobody uses.",
		Why:     "Last of the clean-up: the plan sees only what will be computed."},
	{Name: Planner, Run: plan.Kernel, Needs: tileaa.Explicit, Gives: tileaa.Planned, UpTo: tileaa.Planned,
		Summary: "Chooses warps, registers and shared memory for each entry.",
		Why:     "Before everything that realises a plan; a later pass that cannot comes back here."},
	{Name: "slice-tiles", Run: slice.Tiles, Needs: tileaa.Planned, UpTo: tileaa.Planned,
		Summary: "Strip-mines tiles that are too big for the registers.",
		Why:     "Before layouts, which are given to what a thread holds at a time."},
	{Name: "flatten-loops", Run: slice.FlattenLoops, Optional: true, Needs: tileaa.Planned, UpTo: tileaa.Planned,
		Summary: "Makes one loop of two where the inner one, of constant bounds, multiplies, and the outer one only counts.",
		Why:     "After slicing, which makes such nests; before version-loops, which looks at each loop by itself."},
	{Name: "split-scans", Run: slice.SplitScans, Optional: true, Needs: tileaa.Planned, UpTo: tileaa.Planned,
		Summary: "Lets warps share the axis of a scan.",
		Why:     "After slicing, which says what is scanned at a time; before layouts, which give each warp its part."},
	{Name: "version-loops", Run: plan.VersionLoops, Optional: true, Needs: tileaa.Planned, UpTo: tileaa.Planned,
		Summary: "Makes two versions of code whose arrays nobody promises to be aligned: of loops with products, and of what stands between them.",
		Why:     "After slicing, which makes loops; before widths are chosen, which promises decide."},
	{Name: "select-atoms", Run: plan.SelectAtoms, Needs: tileaa.Planned, Gives: tileaa.Selected, UpTo: tileaa.Selected,
		Summary: "Picks the instruction of every dot and the width of every access.",
		Why:     "Before layouts, which follow from the instructions."},
	{Name: "order-depths", Run: layouts.OrderDepths, Optional: true, Needs: tileaa.Selected, UpTo: tileaa.Selected,
		Summary: "Orders K of a product as threads hold a factor that they computed from another product.",
		Why:     "After selection: instructions say who holds what; before layouts: a factor that is renamed needs no conversion."},
	{Name: "assign-layouts", Run: layouts.Assign, Needs: tileaa.Selected, Gives: tileaa.LaidOut, UpTo: tileaa.Selected,
		Summary: "Gives every tile a layout and converts where layouts meet.",
		Why:     "After selection: atoms and accesses are the anchors."},
	{Name: "carry-partials", Run: layouts.CarryPartials, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.LaidOut,
		Summary: "Has loops carry what threads have of sums of reductions, where their order decides nothing.",
		Why:     "After layouts, which say what threads have; before reductions are split, because it makes some behind loops."},
	{Name: "split-reductions", Run: layouts.SplitReductions, Needs: tileaa.LaidOut, Gives: tileaa.Reduced, UpTo: tileaa.Converted,
		Summary: "Rewrites reductions across warps as reductions inside a warp.",
		Why:     "After layouts, which say what crosses warps; before conversions are lowered, because it makes some."},
	{Name: "select-copies", Run: layouts.SelectCopies, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.Converted,
		Summary: "Makes loads asynchronous copies to shared memory: factors of products, what threads compute with beside products or share, rows of loops whose warps meet in reductions, and what short iterations convert.",
		Why:     "After layouts, which say what feeds what; before conversions are lowered one by one."},
	{Name: "lower-conversions", Run: layouts.LowerConversions, Needs: tileaa.Reduced, Gives: tileaa.Converted, UpTo: tileaa.Converted,
		Summary: "Sends through shared memory what registers and shuffles cannot do.",
		Why:     "After the last pass that makes conversions."},
	{Name: "unroll-loops", Run: overlap.UnrollLoops, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.Converted,
		Summary: "Loads for several iterations at once in loops without matrix products.",
		Why:     "Needs layouts, which say how much a thread loads; before cse, which merges what iterations have in common."},
	{Name: "cse-conversions", Run: cleanup.CSE, Optional: true, Needs: tileaa.LaidOut,
		Summary: "Merges conversions and rematerialised operations that came out equal.",
		Why:     "Before memory is allocated for their buffers."},
	{Name: "rematerialize", Run: layouts.Rematerialize, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.Converted,
		Summary: "Makes cheap values again after loops with products instead of holding them in registers.",
		Why:     "After cse, which would merge them with the first ones."},
	{Name: "hoist-loads", Run: overlap.HoistLoads, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.Converted,
		Summary: "Begins loads before threads wait for each other's.",
		Why:     "Needs the stores to shared memory that conversions become; before these get places, which they share unless loads meet."},
	{Name: "group-exchanges", Run: overlap.GroupExchanges, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.Converted,
		Summary: "Lets one barrier do for several small tiles of an iteration that go through shared memory.",
		Why:     "After hoist-loads: what comes of loads is stored at once."},
	{Name: "chain-products", Run: overlap.ChainProducts, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.Converted,
		Summary: "Begins products that add to what those before them give without a wait in between.",
		Why:     "Needs atoms and layouts, which say that both sum in one place; before skew-products, which takes all products of a sum."},
	{Name: "keep-factors", Run: overlap.KeepFactors, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.Converted,
		Summary: "Leaves in tensor memory what threads compute for products of the tensor unit.",
		Why:     "Needs the buffers that layouts make; before skew-products, which needs columns for what it begins ahead."},
	{Name: "skew-products", Run: overlap.SkewProducts, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.Converted,
		Summary: "Begins products an iteration ahead of what is computed with their results.",
		Why:     "Needs buffers; before roles and pipeline-loops, which let its copies run ahead as any others."},
	{Name: "overlap-products", Run: overlap.OverlapProducts, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.Converted,
		Summary: "Lets products of the tensor unit go on while threads compute, and leaves in tensor memory what they add up.",
		Why:     "After skew-products, with whose products these take turns; before roles, since their slots are free when the unit has read them."},
	{Name: "assign-roles", Run: overlap.AssignRoles, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.Converted,
		Summary: "Gives the copies of loops to warps that do nothing else.",
		Why:     "Before pipeline-loops, which overlaps what is left to one role."},
	{Name: "pipeline-loops", Run: overlap.PipelineLoops, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.Converted,
		Summary: "Overlaps the copies of later iterations, and what is loaded beside them, with the work of this one.",
		Why:     "Needs buffers; multiplies them before they get addresses."},
	{Name: "pipeline-nests", Run: overlap.PipelineNests, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.Converted,
		Summary: "Begins the first copies of an inner loop before what the last one has computed is stored.",
		Why:     "After pipeline-loops, which makes rings and fills them; before memory is allocated: rings live as long as the outer loop then."},
	{Name: "stage-loads", Run: overlap.StageLoads, Optional: true, Needs: tileaa.LaidOut, UpTo: tileaa.Converted,
		Summary: "Loads in one iteration what the next one computes with, or converts and stores to shared memory; beside several products, by turns.",
		Why:     "After pipeline-loops, which takes what needs no registers on its way."},
	{Name: "allocate-tensor", Run: memory.AllocateTensor, Needs: tileaa.Converted, Gives: tileaa.Columned, UpTo: tileaa.Converted,
		Summary: "Gives products of the tensor unit columns of tensor memory.",
		Why:     "After pipeline-loops, which says what is in flight together; before allocate-shared, which places what belongs to it."},
	{Name: "make-tensor-maps", Run: memory.MakeTensorMaps, Optional: true, Needs: tileaa.Columned, UpTo: tileaa.Columned,
		Summary: "With --tma, has one thread copy by tensor maps that the kernel makes.",
		Why:     "After the passes that make copies; before allocate-shared, which places what maps need."},
	{Name: "allocate-shared", Run: memory.AllocateShared, Needs: tileaa.Columned, Gives: tileaa.Allocated, UpTo: tileaa.Allocated,
		Summary: "Gives buffers their offsets in shared memory, by liveness.",
		Why:     "After the last pass that makes buffers."},
	{Name: "insert-barriers", Run: sync.InsertBarriers, Needs: tileaa.Allocated, Gives: tileaa.Synchronized,
		Summary: "Puts barriers between accesses that other threads must see in order.",
		Why:     "Last: it must see every access and which bytes it touches."},
	{Name: "check-sync", Run: sync.CheckSync, ByName: true, Needs: tileaa.Synchronized,
		Summary: "Runs loops and branches without their data, to see that buffers, slots, waits and barriers fit together.",
		Why:     "When all barriers stand. Not in every compile: where loops stand in loops it takes longer than all other passes."},
	{Name: LowerToLLVM, Needs: tileaa.Synchronized,
		Summary: "Turns tiles into registers: TileAA to LLVM IR.",
		Why:     "After barriers: it decides nothing about order or memory."},
	{Name: EmitPTX, Needs: tileaa.Synchronized,
		Summary: "Selects PTX instructions and prints them.",
		Why:     "Last."},

	{OnCudaTile: "fuse-fma", Run: cudatile.FuseFMA,
		Summary: "Computes a product and the sum that takes it with one rounding.",
		Why:     "Only where the last bit does not matter: frontends mostly write fma themselves."},
	{OnCudaTile: "loop-split", Run: cudatile.SplitLoops, Options: []pass.Option{cudatile.SplitThreshold},
		Summary: "Splits loops where a comparison of the counter with an invariant changes its answer.",
		Why:     "Before canonicalize, which takes what is constant in each part."},
	{OnCudaTile: "synthesize-debug-info-scopes", Run: cudatile.SynthesizeDebugInfoScopes,
		Summary: "Gives functions without debug information a subprogram of their name.",
		Why:     "Debuggers need scopes; frontends often give lines only."},
	{OnCudaTile: "test-debuginfo-update-symbol-name", Run: cudatile.UpdateSymbolName, Options: []pass.Option{cudatile.SymbolToRename, cudatile.RenameScope, cudatile.NewSymbolName, cudatile.UpdateUses},
		Summary: "Renames a symbol, in debug information too.",
		Why:     "Shows that names can change when both sides are known."},
	{OnCudaTile: "inline", Run: nothing,
		Summary: "Changes nothing: cuda_tile has no operation that calls a function.",
		Why:     "Scripts for NVIDIA's tools name it."},
}

// Names that others than the list know: the pass to which the manager returns when a plan cannot be realised, and the passes that
// internal/driver runs.
const (
	Planner     = "plan-kernel"
	LowerToLLVM = "lower-to-llvm"
	EmitPTX     = "emit-ptx"
)

// WayDown lists the passes from cuda_tile to PTX, in order.
func WayDown() []*pass.Pass {
	return slices.DeleteFunc(slices.Clone(List), func(p *pass.Pass) bool { return p.Name == "" || p.ByName })
}

// Checks lists the passes that judge what those of the way down have made. They run by name.
func Checks() []*pass.Pass {
	return slices.DeleteFunc(slices.Clone(List), func(p *pass.Pass) bool { return !p.ByName })
}

// Pipeline lists the passes of the way down that this package runs.
func Pipeline() []*pass.Pass {
	return slices.DeleteFunc(WayDown(), func(p *pass.Pass) bool { return p.Run == nil })
}

// Named is the pass of the way down with this name, or nil.
func Named(name string) *pass.Pass {
	i := slices.IndexFunc(List, func(p *pass.Pass) bool { return p.Name == name })
	if name == "" || i < 0 {
		return nil
	}
	return List[i]
}

// OnCudaTile lists the passes that run by name on cuda_tile, on a module or on one function, in any order.
func OnCudaTile() []*pass.Pass {
	var list []*pass.Pass
	for _, p := range List {
		if p.OnCudaTile != "" {
			q := *p
			q.Name, q.Needs, q.Gives, q.UpTo = p.OnCudaTile, tileaa.AnyForm, tileaa.AnyForm, tileaa.AnyForm
			list = append(list, &q)
		}
	}
	return list
}

// nothing is the body of a pass that has nothing to do.
func nothing(*pass.State) error { return nil }
