package explain

import (
	"fmt"
	"slices"

	"tileiras/internal/remark"
	"tileiras/ir"
)

// Assembled is what ptxas made of a kernel.
type Assembled struct {
	Loc                                       ir.Location // of the kernel in the source
	Registers, SpillStores, SpillLoads, Stack int         // of a thread; all but the first in bytes
}

// AddAssembled adds what ptxas made of kernels, by name, after the other remarks of each.
func AddAssembled(list []remark.Remark, kernels map[string]Assembled) []remark.Remark {
	var out []remark.Remark
	for len(list) > 0 {
		name := list[0].Kernel
		n := slices.IndexFunc(list, func(r remark.Remark) bool { return r.Kernel != name })
		if n < 0 {
			n = len(list)
		}
		out = append(out, list[:n]...)
		if a, ok := kernels[name]; ok {
			out = append(out, a.remarks(&list[0])...)
		}
		list = list[n:]
	}
	return out
}

// remarks are said of the kernel of another remark.
func (a *Assembled) remarks(of *remark.Remark) []remark.Remark {
	text := fmt.Sprintf("ptxas takes %d registers a thread and spills none", a.Registers)
	if a.SpillStores+a.SpillLoads > 0 {
		text = fmt.Sprintf("ptxas takes %d registers a thread and spills: %d bytes of stores, %d of loads", a.Registers, a.SpillStores, a.SpillLoads)
	}
	if a.Stack > 0 {
		text += fmt.Sprintf(", %d bytes of stack", a.Stack)
	}
	say := func(pass string, kind remark.Kind, id, text string, args ...remark.Arg) remark.Remark {
		return remark.Remark{Pass: pass, Kind: kind, ID: id, Text: text, Function: of.Function, Kernel: of.Kernel, Loc: a.Loc, Args: args}
	}
	out := []remark.Remark{say(remark.Resources, remark.Analysis, "RemarkPtxas", text, arg("Registers", a.Registers),
		arg("SpillStores", a.SpillStores), arg("SpillLoads", a.SpillLoads), arg("Stack", a.Stack))}
	if a.SpillStores+a.SpillLoads > 0 {
		out = append(out, say(remark.Warning, remark.Missed, "RegisterPressure", "High register usage",
			arg("Reason", fmt.Sprintf("%d registers a thread are not enough: values go to local memory and come back", a.Registers)),
			arg("Suggestion", "smaller tiles, or accumulators in fewer or narrower pieces, need fewer registers")))
	}
	return out
}
