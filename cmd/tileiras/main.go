// Command tileiras compiles CUDA Tile IR to PTX: see tileiras --help.
package main

import (
	"os"
	"runtime/debug"

	_ "tileiras/cmd/tileiras/first"
	"tileiras/internal/driver"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800) // a compile allocates some megabytes and ends: collecting them takes a third of its time. From 32 MB on they are collected.
	}
	driver.TidyOnSignals()
	os.Exit(driver.Tileiras(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
