// Command tileiras compiles CUDA Tile IR to PTX: see tileiras --help.
package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"tileiras/internal/driver"
)

func main() {
	// A compile allocates some megabytes and ends: collecting them takes a third of its time. From 32 MB on they are collected.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	// One thread works; others that look for work would take a tenth of a small compile.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	deepen()
	driver.TidyOnSignals()
	os.Exit(driver.Tileiras(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// deepen has the runtime make the stack as deep as a compile needs it, at once: step by step it would be copied four times, frame by frame.
//
//go:noinline
func deepen() {
	var room [48 << 10]byte
	used(room[:1])
}

//go:noinline
func used([]byte) {}
