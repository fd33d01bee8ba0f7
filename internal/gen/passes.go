package main

import (
	"strings"

	"tileiras/internal/driver"
	"tileiras/passes"
)

// passesDocument is the text of docs/passes.md.
func passesDocument() string {
	var b strings.Builder
	b.WriteString(`# Passes

Written by ` + "`go run ./internal/gen`" + ` from passes/pipeline.go and internal/driver/backend.go; edit those. ` + "`tileiras --list-passes`" + `
prints the same list, ` + "`tile-opt --passes=a,b,c`" + ` runs any part of it on text, ` + "`tileiras --print-after=PASS`" + ` shows what a pass made.

The passes run in this order. When a plan cannot be realised, the manager comes back to ` + "`" + passes.Planner + "`" + ` with the next plan.

`)
	table(&b, "", "Pass", "What it does", "Why it stands here")
	for i, p := range driver.Stages() {
		tableRow(&b, itoa(i+1), code(p.Name), p.Summary, p.Why)
	}
	return b.String()
}
