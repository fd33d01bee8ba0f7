package executor

import (
	"fmt"

	"tileiras/ir"
	"tileiras/runtime/emu"
)

// Place is a line of a source file; File is "" when nobody knows.
type Place struct {
	File   string
	Line   int
	Column int
}

func (p Place) String() string {
	if p.File == "" {
		return "an unknown place"
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// placesIn lists the location that PTX names, if it names one.
func placesIn(s emu.Source) []Place {
	if s.File == "" {
		return nil
	}
	return []Place{Place(s)}
}

// maxPlaces bounds how many call sites of a location are reported.
const maxPlaces = 32

// placesOf lists the source locations of an operation, the innermost first and then its callers.
func placesOf(l ir.Location) (out []Place) {
	for range maxPlaces {
		c, ok := l.(*ir.CallSiteLoc)
		inner := l
		if ok {
			inner = c.Callee
		}
		if nested, twice := inner.(*ir.CallSiteLoc); ok && twice { // callsite(callsite(a at b) at c) is a, b, c
			l = &ir.CallSiteLoc{Callee: nested.Callee, Caller: &ir.CallSiteLoc{Callee: nested.Caller, Caller: c.Caller}}
			continue
		}
		if file, line, col, known := ir.FileLine(inner); known {
			out = append(out, Place{file, int(line), int(col)})
		}
		if !ok {
			return out
		}
		l = c.Caller
	}
	return out
}
