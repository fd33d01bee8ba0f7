package driver

import (
	"fmt"
	"slices"

	"tileiras/codegen/target"
	"tileiras/internal/explain"
	"tileiras/ir"
	"tileiras/passes"
	"tileiras/passes/pass"
)

// explain collects the remarks of a module on which the passes have run.
func (r *run) explain(st *pass.State, t *target.Target) {
	if !r.opts.Remarks {
		return
	}
	in := &explain.Input{Ctx: st.Ctx, Module: st.Module, Target: t, TMA: st.TMA, Plans: st.Plans, Notes: st.Notes, Decided: r.opts.decided}
	if r.input.Module != st.Module {
		in.Source = r.input.Module
	}
	r.remarks = explain.Remarks(in)
}

// decided reports whether a compile comes past a pass on tiles.
func (o *Options) decided(name string) bool {
	at := func(name string) int {
		return slices.IndexFunc(passes.Pipeline(), func(p *pass.Pass) bool { return p.Name == name })
	}
	asked := at(name)
	if asked < 0 {
		panic("BUG: no pass is named " + name)
	}
	return stopsWith(o.StopAfter) != EmitTileAA || asked <= at(o.StopAfter)
}

// Page is the text of --explain.
func (res *Result) Page() []byte {
	launch := map[string][]string{}
	if res.Metadata != nil {
		for _, k := range res.Metadata.Kernels {
			launch[k.Name] = k.recipe()
		}
	}
	return explain.Page(res.Remarks, res.GPU, launch)
}

// recipe is how to launch a kernel, in words.
func (k *Kernel) recipe() []string {
	lines := []string{fmt.Sprintf("launch     grid: the tile blocks, block (%d, %d, %d)", k.Block[0], k.Block[1], k.Block[2])}
	switch {
	case k.Dynamic > 0:
		lines = append(lines, fmt.Sprintf("shared     %s, dynamic: ask for them at the launch", ir.Count(k.Dynamic, "byte")))
	default:
		lines = append(lines, fmt.Sprintf("shared     %s, static", ir.Count(k.Static, "byte")))
	}
	title := "params   "
	for i := 0; i < len(k.Params); {
		p, last := k.Params[i], i
		for last+1 < len(k.Params) && k.Params[last+1].Type == p.Type && k.unnamed(i) && k.unnamed(last+1) {
			last++
		}
		number := fmt.Sprint(i)
		if last > i {
			number = fmt.Sprintf("%d to %d", i, last)
		} else if !k.unnamed(i) {
			number += " " + p.Name
		}
		lines = append(lines, fmt.Sprintf("%s  %s: %s, %s", title, number, p.Type, ir.Count(p.Size, "byte")))
		title, i = "         ", last+1
	}
	return lines
}

// unnamed reports whether the source has no name for a parameter.
func (k *Kernel) unnamed(i int) bool { return k.Params[i].Name == fmt.Sprintf("arg%d", i) }
