package cost

// The cost, relative to each other, of leaving the layout that an operation gives its value: where layouts meet, the higher cost decides. A
// dot's operands and accumulators are converted in the innermost loops; an access in another layout is narrower or touches more sectors; a
// scan would cross warps; the default layout is as good as any.
const (
	LeaveDefault = 1
	LeaveAtomic  = 4
	LeaveScan    = 6
	LeaveLoad    = 8
	LeaveDot     = 16
)
