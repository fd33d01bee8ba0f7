package pass

import (
	"strings"

	"tileiras/ir"
)

// NotSupported says that this compiler cannot do something yet, which is neither the user's fault nor a bug.
type NotSupported struct {
	Op     string // short name of the operation
	Type   string // with which types or attributes; may be empty
	Target string // on which GPU; empty when on all
	Loc    ir.Location
}

// Place is where in the source the operation stands.
func (e *NotSupported) Place() ir.Location { return e.Loc }

func (e *NotSupported) Error() string { return ir.Placed(e.Loc, e.Message()) }

// Message is the error without its place.
func (e *NotSupported) Message() string {
	var b strings.Builder
	b.WriteString("not supported yet: " + e.Op)
	if e.Type != "" {
		b.WriteString(" " + e.Type)
	}
	if e.Target != "" {
		b.WriteString(" (for " + e.Target + ")")
	}
	return b.String()
}
