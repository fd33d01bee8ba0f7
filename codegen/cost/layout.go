package cost

// What it costs, relative to each other, when a value leaves the layout that its operation gives it: where layouts meet, whoever would pay
// more decides. A dot's operands and accumulators are converted in the innermost loops; an access in another layout is narrower or touches
// more sectors; a scan would cross warps; the default layout is as good as any.
const (
	LeaveDefault = 1
	LeaveAtomic  = 4
	LeaveScan    = 6
	LeaveLoad    = 8
	LeaveDot     = 16
)
