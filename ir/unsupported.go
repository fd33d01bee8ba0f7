package ir

import "strings"

// NotSupported says that this compiler cannot do something yet, which is neither the user's fault nor a bug.
type NotSupported struct {
	Op     string // short name of the operation
	What   string // with which types or attributes; may be empty
	Target string // on which GPU; empty when on all
	Loc    Location
}

// Place is where in the source the operation stands.
func (e *NotSupported) Place() Location { return e.Loc }

func (e *NotSupported) Error() string { return Placed(e.Loc, e.Message()) }

// Message is the error without its place.
func (e *NotSupported) Message() string {
	var b strings.Builder
	b.WriteString("not supported yet: " + e.Op)
	if e.What != "" {
		b.WriteString(" " + e.What)
	}
	if e.Target != "" {
		b.WriteString(" (for " + e.Target + ")")
	}
	return b.String()
}
