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

// placesOf lists the source locations of an operation, the innermost first and then its callers.
func placesOf(l ir.Location) (out []Place) {
	for _, at := range ir.CallStack(l) {
		file, line, col, _ := ir.FileLine(at)
		out = append(out, Place{file, int(line), int(col)})
	}
	return out
}
