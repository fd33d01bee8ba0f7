// Command tileiras compiles CUDA Tile IR to PTX: see tileiras --help.
package main

import (
	"os"

	_ "tileiras/cmd/tileiras/first"
	"tileiras/internal/driver"
)

func main() {
	driver.TidyOnSignals()
	os.Exit(driver.Tileiras(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
