// Command tile-opt runs named passes on text: see tile-opt --help.
package main

import (
	"os"

	"github.com/llir/llvm/asm"
	"github.com/llir/llvm/ir"

	"tileiras/internal/driver"
)

func main() {
	parse := func(name, text string) (*ir.Module, error) { return asm.ParseString(name, text) }
	os.Exit(driver.TileOpt(parse)(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
