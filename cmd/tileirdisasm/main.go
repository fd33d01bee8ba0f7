// Command tileirdisasm prints Tile IR bytecode as text: see tileirdisasm --help.
package main

import (
	"os"

	"tileiras/internal/driver"
)

func main() { os.Exit(driver.TileIRDisasm(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
