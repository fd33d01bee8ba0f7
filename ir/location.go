package ir

import (
	"fmt"
	"path"
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

// maxCalls bounds how many calls inlined code is followed through.
const maxCalls = 100

// CallStack is the place of a location in its own source, and if it is inlined code, the places of the calls that it came through, innermost first.
// What names no file is left out.
func CallStack(l Location) (stack []Location) {
	for range maxCalls {
		site, inlined := l.(*CallSiteLoc)
		if !inlined {
			break
		}
		if inner, nested := site.Callee.(*CallSiteLoc); nested { // callsite(callsite(a at b) at c) is a, b, c
			l = &CallSiteLoc{inner.Callee, &CallSiteLoc{inner.Caller, site.Caller}}
			continue
		}
		stack = appendPlace(stack, site.Callee)
		l = site.Caller
	}
	return appendPlace(stack, l)
}

func appendPlace(stack []Location, l Location) []Location {
	if _, _, _, ok := FileLine(l); ok {
		return append(stack, l)
	}
	return stack
}

// ShortPlace is "file:line:col" without folders, "" when the location names no file; of inlined code it is the place in the kernel
// with that in the function behind it, "kernel.py:42:24 (helper.py:28)".
func ShortPlace(l Location) string {
	stack := CallStack(l)
	if len(stack) == 0 {
		return ""
	}
	file, line, col, _ := FileLine(stack[len(stack)-1])
	place := fmt.Sprintf("%s:%d:%d", path.Base(file), line, col)
	if len(stack) > 1 {
		file, line, _, _ = FileLine(stack[0])
		place += fmt.Sprintf(" (%s:%d)", path.Base(file), line)
	}
	return place
}

// IsUnknown reports whether a location says nothing.
func IsUnknown(l Location) bool { _, ok := l.(UnknownLoc); return ok || l == nil }
