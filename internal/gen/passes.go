package main

import (
	"strings"

	"tileiras/passes"
)

// passesDocument is the text of docs/passes.md.
func passesDocument() string {
	var b strings.Builder
	b.WriteString(`# Passes

Written by ` + "`go run ./internal/gen`" + ` from passes/pipeline.go; edit that. ` + "`tileiras --list-passes`" + `
prints the same list, ` + "`tile-opt --passes=a,b,c`" + ` runs any part of it on text, ` + "`tileiras --print-after=PASS`" + ` shows what a pass made.

The passes run in this order. When a plan cannot be realised, the manager comes back to ` + "`" + passes.Planner + "`" + ` with the next plan.

`)
	table(&b, "", "Pass", "What it does", "Why it stands here")
	for i, p := range passes.WayDown() {
		tableRow(&b, itoa(i+1), code(p.Name), p.Summary, p.Why)
	}
	b.WriteString(`
## Judges

What these passes find wrong is a fault of those above; they change nothing. ` + "`tile-opt --passes=check-sync`" + ` runs one on what
` + "`tileiras --stop-after=insert-barriers`" + ` has printed.

`)
	table(&b, "Pass", "What it does", "When")
	for _, p := range passes.Checks() {
		tableRow(&b, code(p.Name), p.Summary, p.Why)
	}
	b.WriteString(`
## On cuda_tile

These passes work on the dialect as it is read, in any order: those that NVIDIA ships in the open, with their names. The way down to
PTX does not run them. ` + "`tile-opt --canonicalize --cse`" + ` runs them on a text in the order of the flags, and
` + "`tile-opt --pass-pipeline='builtin.module(cuda_tile.module(cuda_tile.entry(loop-split{split-threshold=4})))'`" + ` in MLIR's language of
pipelines.

`)
	table(&b, "Pass", "What it does", "When", "Options")
	for _, p := range passes.OnCudaTile() {
		var options []string
		for _, o := range p.Options {
			text := code(o.Name) + ": " + o.Help
			if o.Default != "" {
				text += " (default " + o.Default + ")"
			}
			options = append(options, text+".")
		}
		tableRow(&b, code(p.Name), p.Summary, p.Why, strings.Join(options, " "))
	}
	return b.String()
}
