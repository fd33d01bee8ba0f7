// Command gen writes what follows from tables: operations from the rows of the dialects, passes from the pipeline,
// flags from the tables of the commands, what is supported from the tables of conversions, lowerings, instructions and GPUs, and the options in Python.
//
//	go run ./internal/gen          from the root of the repository
//
// A test fails when a file is stale.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// documents are the files, from the root of the repository, and what is in them.
var documents = []struct {
	file string
	text func() string
}{
	{"docs/ops.md", opsDocument},
	{"docs/passes.md", passesDocument},
	{"docs/flags.md", flagsDocument},
	{"docs/support.md", supportDocument},
	{"python/tileiras/_options.py", optionsInPython},
}

func main() {
	for _, d := range documents {
		if err := os.WriteFile(d.file, []byte(d.text()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}

// table begins a table with these columns.
func table(b *strings.Builder, columns ...string) {
	tableRow(b, columns...)
	b.WriteString("|" + strings.Repeat("---|", len(columns)) + "\n")
}

// tableRow adds a row; a bar in a cell does not end it.
func tableRow(b *strings.Builder, cells ...string) {
	for _, c := range cells {
		b.WriteString("| " + cell(c) + " ")
	}
	b.WriteString("|\n")
}

func itoa(n int) string { return strconv.Itoa(n) }

// code sets a name as code.
func code(s string) string { return "`" + s + "`" }
