// Command gen writes what follows from the rows of the dialects: docs/ops.md, the table of all operations.
//
//	go run ./internal/gen          from the root of the repository
//
// A test fails when the file is stale. It may import ir and the def packages of the dialects only, so that it runs while
// everything that stands on the rows is broken.
package main

import (
	"fmt"
	"os"
)

// opsFile is where the table of operations lies, from the root of the repository.
const opsFile = "docs/ops.md"

func main() {
	if err := os.WriteFile(opsFile, []byte(opsDocument()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
