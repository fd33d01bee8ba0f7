package ir

import (
	"fmt"
	"path"
	"strconv"
)

// Location says where an operation came from. Locations are immutable and may be shared; nil is never a location, use
// UnknownLoc. A dialect's debug attributes may be locations too (DialectLoc).
type Location interface{ isLocation() }

// The built-in locations.
type (
	// UnknownLoc is `loc(unknown)`.
	UnknownLoc struct{}
	// FileLoc is `loc("file":line:col)`.
	FileLoc struct {
		File      string
		Line, Col uint32
	}
	// NameLoc is `loc("name"(child))`.
	NameLoc struct {
		Name  string
		Child Location
	}
	// FusedLoc is `loc(fused<meta>[a, b])`.
	FusedLoc struct {
		Meta Attribute
		Locs []Location
	}
	// CallSiteLoc is `loc(callsite(callee at caller))`.
	CallSiteLoc struct{ Callee, Caller Location }
)

// DialectLoc is embedded by a dialect attribute that serves as a location.
type DialectLoc struct{}

func (UnknownLoc) isLocation()   {}
func (*FileLoc) isLocation()     {}
func (*NameLoc) isLocation()     {}
func (*FusedLoc) isLocation()    {}
func (*CallSiteLoc) isLocation() {}
func (DialectLoc) isLocation()   {}

// FileLiner is a location that stands for a place in a source file.
type FileLiner interface {
	FileLine() (file string, line, col uint32)
}

func (l *FileLoc) FileLine() (string, uint32, uint32) { return l.File, l.Line, l.Col }

// maxLocVisits bounds how many locations FileLine looks at: call sites share parts, so their paths can be too many.
const maxLocVisits = 1000

// FileLine finds the place in a source file that a location stands for: of a name its child, of a fused location the
// first that has one, of a call site the callee's.
func FileLine(l Location) (file string, line, col uint32, ok bool) {
	visits := 0
	return fileLine(l, &visits)
}

func fileLine(l Location, visits *int) (file string, line, col uint32, ok bool) {
	if *visits++; *visits > maxLocVisits {
		return "", 0, 0, false
	}
	switch l := l.(type) {
	case FileLiner:
		file, line, col = l.FileLine()
		return file, line, col, true
	case *NameLoc:
		return fileLine(l.Child, visits)
	case *FusedLoc:
		for _, m := range l.Locs {
			if file, line, col, ok = fileLine(m, visits); ok {
				return
			}
		}
	case *CallSiteLoc:
		if file, line, col, ok = fileLine(l.Callee, visits); ok {
			return
		}
		return fileLine(l.Caller, visits)
	}
	return "", 0, 0, false
}

// maxInlined bounds how many calls deep inlined code is followed.
const maxInlined = 100

// ShortPlace is "file:line:col" without folders, "" when the location names no file; of inlined code it is the place in the kernel
// with that in the function behind it, "kernel.py:42:24 (helper.py:28)".
func ShortPlace(l Location) string {
	file, line, col, ok := FileLine(l)
	if !ok {
		return ""
	}
	inner := path.Base(file) + ":" + strconv.Itoa(int(line))
	outer := l
	for range maxInlined {
		site, ok := outer.(*CallSiteLoc)
		if !ok {
			break
		}
		outer = site.Caller
	}
	if f, n, c, ok := FileLine(outer); ok && outer != l {
		return fmt.Sprintf("%s:%d:%d (%s)", path.Base(f), n, c, inner)
	}
	return fmt.Sprintf("%s:%d", inner, col)
}

// IsUnknown reports whether a location says nothing.
func IsUnknown(l Location) bool { _, ok := l.(UnknownLoc); return ok || l == nil }
