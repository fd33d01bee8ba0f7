// Package target describes the GPUs the compiler can write code for: one row
// per compute capability.
//
// A target is what a command line names (`sm_90`); whether the printed PTX says
// `.target sm_90` or `.target sm_90a` is decided later, from the instructions
// that were used ([Need.Arch]).
//
// The package is data.
package target

import (
	"fmt"
	"strconv"
	"strings"
)

// PTX is a version of the PTX language; later versions compare greater.
type PTX uint16

// V returns the PTX version major.minor.
func V(major, minor int) PTX { return PTX(major<<8 | minor) }

// major returns the part before the dot.
func (v PTX) major() int { return int(v >> 8) }

// minor returns the part after the dot.
func (v PTX) minor() int { return int(v & 0xff) }

// ParsePTX reads "8.0".
func ParsePTX(s string) (v PTX, ok bool) {
	major, minor, dot := strings.Cut(s, ".")
	a, err1 := strconv.ParseUint(major, 10, 8)
	b, err2 := strconv.ParseUint(minor, 10, 8)
	return V(int(a), int(b)), dot && err1 == nil && err2 == nil
}

// String returns the text of the `.version` directive, "8.0".
func (v PTX) String() string { return fmt.Sprintf("%d.%d", v.major(), v.minor()) }

// A Target is one row of the table of GPUs. Rows are immutable; compare them by
// pointer.
type Target struct {
	Name   string // "sm_90", as on the command line
	Number int    // 90
	PTX    PTX    // first version whose `.target` knows the name

	// Arch reports whether the architecture-specific target (`sm_90a`) exists.
	// Its instructions run on this compute capability only.
	Arch    bool
	ArchPTX PTX // first version that knows the suffixed name

	// Shared memory in bytes. SharedStatic is what a kernel may declare without
	// asking, SharedOptIn the most one thread block can have, SharedPerSM what
	// the multiprocessor has for all of its blocks together.
	SharedStatic int
	SharedOptIn  int
	SharedPerSM  int

	Registers          int // 32-bit registers of a multiprocessor
	RegistersPerThread int
	WarpsPerSM         int
	BlocksPerSM        int
	ClusterMax         int // thread blocks in a portable cluster; 1 = no clusters
	Products           int // multiply-adds of 16-bit floats in a cycle of a multiprocessor, by products of a warp
	DRAM               int // bytes of memory that a multiprocessor moves in 100 cycles, while all do
	L2                 int // bytes of the second-level cache, divided by the multiprocessors

	Families Family

	cards string // names of products, see numberOf
}

// String returns the target's name.
func (t *Target) String() string { return t.Name }

// ArchName returns the architecture-specific name ("sm_90a"), or Name where
// there is none.
func (t *Target) ArchName() string {
	if t.Arch {
		return t.Name + "a"
	}
	return t.Name
}

// All lists the targets in ascending order of compute capability.
var All []*Target

// ByName returns the target with the given name ("sm_80"). The names of
// architecture-specific targets are not accepted: the suffix is our decision,
// not the user's.
func ByName(name string) (*Target, bool) {
	for _, t := range All {
		if t.Name == name {
			return t, true
		}
	}
	return nil, false
}

// Names returns the names of all targets, separated by blanks.
func Names() string {
	names := make([]string, len(All))
	for i, t := range All {
		names[i] = t.Name
	}
	return strings.Join(names, " ")
}

// A Need says what an instruction asks of the target and of the
// PTX version. The zero Need asks for nothing.
type Need struct {
	SM   int    // lowest compute capability, 0 = any
	Arch Family // not empty: only targets with one of these, and only under their suffixed name
	PTX  PTX    // lowest PTX version, 0 = any
}

// On reports whether t has one of the families.
func (f Family) On(t *Target) bool { return f&t.Families != 0 }

// On reports whether t meets the need (PTX versions are chosen, not met).
func (n Need) On(t *Target) bool {
	if n.Arch != 0 {
		return n.Arch.On(t)
	}
	return t.Number >= n.SM
}

// Version returns the lowest PTX version in which target t, with its suffix
// when the need asks for it, can use the instruction.
func (n Need) Version(t *Target) PTX {
	v := max(n.PTX, t.PTX)
	if n.Arch != 0 {
		v = max(v, t.ArchPTX)
	}
	return v
}

// String names the targets that meet the need: "sm_80 and later, PTX 7.0" or
// "sm_90a, PTX 8.0".
func (n Need) String() string {
	var parts []string
	if n.Arch != 0 {
		for _, t := range All {
			if n.On(t) {
				parts = append(parts, t.ArchName())
			}
		}
	} else if n.SM > 0 {
		parts = append(parts, fmt.Sprintf("sm_%d and later", n.SM))
	}
	if n.PTX > 0 {
		parts = append(parts, "PTX "+n.PTX.String())
	}
	if len(parts) == 0 {
		return "any target"
	}
	return strings.Join(parts, ", ")
}
