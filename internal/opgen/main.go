// Command opgen writes what follows from the rows of a dialect: a code and a Go type for each operation, with accessors,
// setters and a builder, a Go type for each interface that rows share, and the finished rows as static data.
//
//	go run ./internal/opgen          from the root of the repository
//
// It imports ir and the rows only (dialects/*/def), so that it runs while the packages that stand on its output do not compile. A test fails when a file is stale.
package main

import (
	"errors"
	"fmt"
	"os"

	cudatile "tileiras/dialects/cudatile/def"
	tileaa "tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// dialect is a dialect whose files are to be written.
type dialect struct {
	pkg        string
	rows       []*ir.OpDef // finished
	interfaces []ir.InterfaceDef
	// unique are the type sets of one type, with the Go expression that makes it from the builder b.
	unique map[string]string
}

func dialects() []dialect {
	return []dialect{
		{"cudatile", finished("cuda_tile", cudatile.Ops()), cudatile.Interfaces, map[string]string{"Token": "Token(b.Ctx)"}},
		{"tileaa", finished("tileaa", tileaa.Ops()), tileaa.Interfaces, map[string]string{"token": "Token(b.Ctx)"}},
	}
}

// finished are rows with what follows from them.
func finished(name string, rows []*ir.OpDef) []*ir.OpDef {
	return (&ir.Dialect{Name: name, Ops: rows}).Init().Ops
}

func (d *dialect) operationsPath() string { return "dialects/" + d.pkg + "/ops_gen.go" }
func (d *dialect) rowsPath() string       { return "dialects/" + d.pkg + "/rows_gen.go" }

// files are the texts of the files, by their paths.
func (d *dialect) files() (map[string][]byte, error) {
	operations, err := d.operations()
	if err != nil {
		return nil, err
	}
	rows, err := d.rowsFile()
	return map[string][]byte{d.operationsPath(): operations, d.rowsPath(): rows}, err
}

func main() {
	for _, d := range dialects() {
		if err := d.write(); err != nil {
			fmt.Fprintln(os.Stderr, "opgen:", err)
			os.Exit(1)
		}
	}
}

// write writes the files if all of them could be made.
func (d *dialect) write() error {
	files, err := d.files()
	if err != nil {
		return err
	}
	for path, text := range files { // the files are apart: the order cannot matter
		err = errors.Join(err, os.WriteFile(path, text, 0o644))
	}
	return err
}
