// Package first has the heap ready for one short compile. Packages that do not need each other are initialised by their import paths, and this one needs
// hardly any: it is there before the tables of the compiler and of most libraries are made. So it must not import os, or what does.
package first

import "runtime"

func init() {
	runtime.MemProfileRate = 0 // nobody reads the profile
	deepen[[24 << 10]byte](false)
}

// deepen has the runtime make the stack as deep as a compile needs it, at once: step by step it would be copied four times, frame by frame.
// Its frame has room for two of Room; memory that is touched costs time.
//
//go:noinline
func deepen[Room any](touch bool) {
	if touch {
		use(*new(Room))
	}
}

//go:noinline
func use[Room any](Room) {}
