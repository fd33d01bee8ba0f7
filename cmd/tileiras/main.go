// Command tileiras: see tileiras --help.
package main

import (
	"os"

	"tileiras/internal/driver"
)

func main() { os.Exit(driver.Tileiras(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
