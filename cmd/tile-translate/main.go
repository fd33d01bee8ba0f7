// Command tile-translate: see tile-translate --help.
package main

import (
	"os"

	"tileiras/internal/driver"
)

func main() { os.Exit(driver.TileTranslate(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
