package ir

import (
	"cmp"
	"fmt"
)

// Version is a bytecode version: rows say since which one a field exists.
type Version struct {
	Major, Minor uint8
	Tag          uint16
}

// V makes the version major.minor with tag 0.
func V(major, minor uint8) Version { return Version{Major: major, Minor: minor} }

// Compare is negative if v is older than w, positive if it is newer; the tag does not count.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor))
}

// Before reports whether v is older than w; the tag does not count.
func (v Version) Before(w Version) bool { return v.Compare(w) < 0 }

// AtLeast reports whether v is w or newer; the tag does not count.
func (v Version) AtLeast(w Version) bool { return !v.Before(w) }

// String is major.minor, with .tag appended only when the tag is not 0.
func (v Version) String() string {
	if v.Tag != 0 {
		return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Tag)
	}
	return fmt.Sprintf("%d.%d", v.Major, v.Minor)
}
