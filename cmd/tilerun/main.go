// Command tilerun runs Tile IR kernels without a GPU, or with one, and compares the results: see tilerun --help.
package main

import (
	"os"

	"tileiras/internal/tilerun"
)

func main() { os.Exit(tilerun.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
