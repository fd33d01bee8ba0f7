// Command opgen writes the typed operations of a dialect from its rows: a code and a Go type for each operation, with accessors,
// setters and a builder, and a Go type for each interface that rows share.
//
//	go run ./internal/opgen          from the root of the repository
//
// It may import ir and the rows (dialects/*/def) only, so that it runs while the packages that stand on its output do not compile.
// A test fails when a file is stale.
package main

import (
	"fmt"
	"os"

	cudatile "tileiras/dialects/cudatile/def"
	tileaa "tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// dialect is one file to write.
type dialect struct {
	file       string
	pkg        string
	rows       []*ir.OpDef
	interfaces []ir.InterfaceDef
	// unique are the type sets of one type, with the Go expression that makes it from the builder b.
	unique map[string]string
}

// dialects lists the files.
func dialects() []dialect {
	return []dialect{
		{"dialects/cudatile/ops_gen.go", "cudatile", cudatile.Ops(), cudatile.Interfaces, map[string]string{"Token": "Token(b.Ctx)"}},
		{"dialects/tileaa/ops_gen.go", "tileaa", tileaa.Ops, tileaa.Interfaces, map[string]string{"token": "Token(b.Ctx)"}},
	}
}

func main() {
	for _, d := range dialects() {
		text, err := d.generate()
		if err == nil {
			err = os.WriteFile(d.file, text, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "opgen:", err)
			os.Exit(1)
		}
	}
}
