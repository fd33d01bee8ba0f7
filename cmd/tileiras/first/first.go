// Package first sets the runtime up for one short compile. It is a package, because packages are initialised by their import paths where they do
// not need each other: this one is there before the compiler's own tables are made.
package first

import (
	"os"
	"runtime/debug"
)

// A compile allocates some megabytes and ends: collecting them takes a third of its time. From 32 MB on they are collected.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
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
