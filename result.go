package tileiras

import (
	"time"

	"tileiras/internal/driver"
)

// Result is what a compile made.
type Result struct {
	Emit        Level
	Output      []byte       // the text, or the bytecode
	Diagnostics []Diagnostic // warnings; a compile with errors has no result
	Stages      []Stage      // how long each took, in order
}

// Stage is the wall time of one stage of a compile.
type Stage struct {
	Name string
	Time time.Duration
}

func resultFrom(r *driver.Result) *Result {
	out := &Result{Emit: Level(r.Kind), Output: r.Output}
	for _, d := range r.Warnings {
		out.Diagnostics = append(out.Diagnostics, diagnosticFrom(d, "hint"))
	}
	for _, t := range r.Timing {
		out.Stages = append(out.Stages, Stage{t.Stage, t.Time})
	}
	return out
}
