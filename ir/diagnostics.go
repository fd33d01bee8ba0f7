package ir

import (
	"fmt"
	"sort"
	"strings"
)

// Severity of a diagnostic.
type Severity uint8

const (
	Error Severity = iota
	Warning
	Remark
	Note
)

func (s Severity) String() string { return [...]string{"error", "warning", "remark", "note"}[s] }

// Diagnostic is one message with its place and the notes that belong to it.
type Diagnostic struct {
	Severity Severity
	Loc      Location
	Msg      string
	Notes    []Diagnostic
}

// maxDiagnostics is how many diagnostics a compile keeps; the rest is counted.
const maxDiagnostics = 1000

// Diagnostics collects what one compile has to say: never the same thing twice.
type Diagnostics struct {
	List    []*Diagnostic
	Dropped int
	seen    map[string]bool
	errors  int
}

// Errors is the number of errors so far.
func (d *Diagnostics) Errors() int { return d.errors }

// Add records a diagnostic and returns it, so that notes can be attached.
func (d *Diagnostics) Add(sev Severity, loc Location, format string, args ...any) *Diagnostic {
	dg := &Diagnostic{Severity: sev, Loc: loc, Msg: fmt.Sprintf(format, args...)}
	if sev == Error {
		d.errors++
	}
	key := sev.String() + LocString(loc) + dg.Msg
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	if d.seen[key] {
		return dg
	}
	d.seen[key] = true
	if len(d.List) >= maxDiagnostics {
		d.Dropped++
		return dg
	}
	d.List = append(d.List, dg)
	return dg
}

// Note attaches a note to a diagnostic.
func (dg *Diagnostic) Note(loc Location, format string, args ...any) *Diagnostic {
	dg.Notes = append(dg.Notes, Diagnostic{Severity: Note, Loc: loc, Msg: fmt.Sprintf(format, args...)})
	return dg
}

// maxCallNotes is how many calls a diagnostic about inlined code names: as MLIR does.
const maxCallNotes = 10

// AllNotes are notes about the calls that the code in question was inlined through, innermost first, in MLIR's words, and then those that are attached.
func (dg *Diagnostic) AllNotes() []Diagnostic {
	var calls []Diagnostic
	if stack := CallStack(dg.Loc); len(stack) > 1 {
		for _, l := range stack[1:min(len(stack), 1+maxCallNotes)] {
			calls = append(calls, Diagnostic{Severity: Note, Loc: l, Msg: "called from"})
		}
	}
	return append(calls, dg.Notes...)
}

// String is the diagnostic as a person reads it, "file:line:col: error: message", notes on lines of their own.
func (dg *Diagnostic) String() string {
	var b strings.Builder
	write := func(d *Diagnostic) {
		if s := LocString(d.Loc); s != "" {
			b.WriteString(s + ": ")
		}
		fmt.Fprintf(&b, "%s: %s\n", d.Severity, d.Msg)
	}
	write(dg)
	for _, n := range dg.AllNotes() {
		write(&n)
	}
	return b.String()
}

// String is all diagnostics: those with a file place sorted by it, the others in order.
func (d *Diagnostics) String() string {
	list := append([]*Diagnostic(nil), d.List...)
	sort.SliceStable(list, func(i, j int) bool {
		fi, li, ci, oki := FileLine(list[i].Loc)
		fj, lj, cj, okj := FileLine(list[j].Loc)
		if !oki || !okj || fi != fj {
			return false
		}
		return li < lj || li == lj && ci < cj
	})
	var b strings.Builder
	for _, dg := range list {
		b.WriteString(dg.String())
	}
	if d.Dropped > 0 {
		fmt.Fprintf(&b, "note: %d more messages\n", d.Dropped)
	}
	return b.String()
}

// LocString is "file:line:col", or "" when the location names no file.
func LocString(l Location) string {
	if file, line, col, ok := FileLine(l); ok {
		return fmt.Sprintf("%s:%d:%d", file, line, col)
	}
	return ""
}

// CallText is LocString with the calls that inlined code came through, "helper.py:28:5, called from kernel.py:42:24".
func CallText(l Location) string {
	var places []string
	for _, at := range CallStack(l) {
		places = append(places, LocString(at))
	}
	return strings.Join(places, ", called from ")
}

// Placed is a message behind its place, "file:line:col: message", or alone where the location names no file.
func Placed(l Location, message string) string {
	if at := LocString(l); at != "" {
		return at + ": " + message
	}
	return message
}

// Error reports an error on an op: "'dialect.op' op message". It returns false, so that a verifier can return it.
func (c *Context) Error(op *Op, format string, args ...any) bool {
	c.Diags.Add(Error, op.loc, "'%s' op %s", c.OpName(op), fmt.Sprintf(format, args...))
	return false
}

// OpName is the name of an op in the context's release.
func (c *Context) OpName(op *Op) string {
	if op.Def == Unregistered {
		return op.Name()
	}
	return op.Def.Dialect + "." + op.Def.NameAt(c.Release)
}
