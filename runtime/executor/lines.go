package executor

import (
	"fmt"
	"strings"

	"tileiras/ir"
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

// sourceLines reads the .file and .loc directives of PTX: element n is where the source of line n is, counted from 1. It is nil without any.
func sourceLines(ptx string) []Place {
	if !strings.Contains(ptx, ".loc ") && !strings.Contains(ptx, ".loc\t") {
		return nil
	}
	files := map[string]string{}
	out := []Place{{}}
	var at Place
	for line := range strings.Lines(ptx) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, ".file"):
			f := strings.SplitN(line, " ", 3)
			if len(f) == 3 {
				name, _, _ := strings.Cut(strings.TrimPrefix(f[2], `"`), `"`)
				files[f[1]] = strings.ReplaceAll(name, `\\`, `\`)
			}
		case strings.HasPrefix(line, ".loc"):
			var n string
			var p Place
			if _, err := fmt.Sscanf(strings.ReplaceAll(line, ",", " "), ".loc %s %d %d", &n, &p.Line, &p.Column); err == nil {
				p.File = files[n]
				at = p
			}
		case strings.HasPrefix(line, ".visible"), strings.HasPrefix(line, ".entry"), strings.HasPrefix(line, ".func"):
			at = Place{}
		}
		out = append(out, at)
	}
	for i := range out { // .file may come at the end
		if out[i].File == "" {
			out[i] = Place{}
		}
	}
	return out
}

// sourceOf is the source location of a line of the PTX.
func (p *Program) sourceOf(line int) []Place {
	if line <= 0 || line >= len(p.sourceOfLine) || p.sourceOfLine[line].File == "" {
		return nil
	}
	return []Place{p.sourceOfLine[line]}
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
