// Command tileiras compiles CUDA Tile IR to PTX: see tileiras --help.
package main

import (
	"os"
	"runtime/debug"

	"tileiras/internal/driver"
)

func main() {
	// A compile allocates some megabytes and ends: collecting them takes a third of its time. From 32 MB on they are collected.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	driver.TidyOnSignals()
	os.Exit(driver.Tileiras(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
