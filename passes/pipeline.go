package passes

// Pipeline is the one list of passes, in order. What follows it, lower-to-llvm and emit-ptx, belongs to internal/driver, because
// it leaves the forms that this package may know.
var Pipeline = []*Pass{
	{"convert-to-tileaa", "Turns every cuda_tile operation into TileAA, where memory is explicit.",
		"First: everything below stands on TileAA alone.", convertToTileAA},
	{"canonicalize", "Folds constants and applies local patterns until nothing changes.",
		"Before cse, so that equal things look equal.", canonicalize},
	{"cse", "Merges pure operations that compute the same.",
		"Before the plan, which counts what is there.", cse},
	{"licm", "Moves invariant, speculatable operations out of loops.",
		"After cse, so that one copy moves.", licm},
	{"dce", "Erases pure operations that nobody uses.",
		"Last of the clean-up: the plan sees only what will be computed.", dce},
	{planner, "Chooses warps, registers and shared memory for each entry.",
		"Before everything that realises a plan; a later pass that cannot comes back here.", planKernel},
	{"version-loops", "Splits loops into a part without and a part with masks.",
		"Needs the plan; before selection, which then sees which accesses are inside. Does nothing yet.", nothing},
	{"slice-tiles", "Strip-mines tiles that are too big for the registers.",
		"Before layouts, which are given to what a thread holds at a time.", sliceTiles},
	{"select-atoms", "Picks the instruction of every dot and the width of every access.",
		"Before layouts, which follow from the instructions.", selectAtoms},
	{"assign-layouts", "Gives every tile a layout and converts where layouts meet.",
		"After selection: atoms and accesses are the anchors.", assignLayouts},
	{"split-reductions", "Rewrites reductions across warps as reductions inside a warp.",
		"After layouts, which say what crosses warps; before conversions are lowered, because it makes some.", splitReductions},
	{"select-copies", "Sends loads that only feed the matrix unit straight to shared memory.",
		"After layouts, which say what feeds what; before conversions are lowered one by one.", selectCopies},
	{"lower-conversions", "Sends through shared memory what registers and shuffles cannot do.",
		"After the last pass that makes conversions.", lowerConversions},
	{"cse", "Merges conversions and rematerialised operations that came out equal.",
		"Before memory is allocated for their buffers.", cse},
	{"rematerialize", "Makes cheap values again after loops with products instead of holding them in registers.",
		"After cse, which would merge them with the first ones.", rematerialize},
	{"pipeline-loops", "Overlaps the loads of later iterations with the work of this one.",
		"Needs buffers; multiplies them before they get addresses. Does nothing yet.", nothing},
	{"allocate-shared", "Gives buffers their offsets in shared memory, by liveness.",
		"After the last pass that makes buffers.", allocateShared},
	{"insert-barriers", "Puts barriers between accesses that other threads must see in order.",
		"Last: it must see every access and which bytes it touches.", insertBarriers},
}

// planner is the pass to which the manager returns when a plan cannot be realised.
const planner = "plan-kernel"

// Planner is its name for the manager's callers.
const Planner = planner

// nothing is the body of a pass that has its place in the list and no work yet.
func nothing(*State) error { return nil }
