package ir

import "strconv"

// Names of values follow MLIR's scheme. All operations of a block are named first, then the regions inside them; each
// region starts from its parent's counters as they are when the parent's block is done, so sibling regions reuse names.
// A name that is taken in its scope gets a suffix from one counter for all names.

// namer is the state of one scope.
type namer struct {
	p                     *Printer
	value, arg, conflicts int
	used                  map[string]bool
	added                 *[]string // names of used, in order, so that a scope can be left
}

// nameAll names every value inside op, and its results.
func (p *Printer) nameAll(op *Op) {
	p.names = map[*Value]string{}
	p.groups = map[*Op][]int{}
	n := &namer{p: p, used: map[string]bool{}, added: new([]string)}
	n.op(op)
	n.regions(op)
}

// regions names what is inside an op; each region works on a copy of the counters.
func (n *namer) regions(op *Op) {
	for _, r := range op.regions {
		inner, mark := *n, len(*n.added)
		inner.region(r)
		for _, name := range (*n.added)[mark:] {
			delete(n.used, name)
		}
		*n.added = (*n.added)[:mark]
	}
}

func (n *namer) region(r *Region) {
	for k, b := range r.blocks {
		for i, a := range b.args {
			n.p.opts.Ctx.Step()
			hint := a.NameHint
			if d := r.op.Def.Owner; d != nil && d.NameArg != nil && hint == "" && k == 0 && !n.p.opts.Generic {
				hint = d.NameArg(r.op, b, i)
			}
			switch {
			case hint != "":
				n.p.names[a] = n.unique(hint)
			case k == 0:
				n.arg++
				n.p.names[a] = n.unique("arg" + strconv.Itoa(n.arg-1))
			default:
				n.number(a)
			}
		}
		for o := b.first; o != nil; o = o.next {
			n.op(o)
		}
	}
	for _, b := range r.blocks {
		for o := b.first; o != nil; o = o.next {
			if len(o.regions) > 0 {
				n.regions(o)
			}
		}
	}
}

// op names the results: those with a hint on their own, the others as part of the group before them.
func (n *namer) op(op *Op) {
	n.p.opts.Ctx.Step()
	if len(op.results) == 0 {
		return
	}
	var hook func(*Op, int) string
	if d := op.Def.Owner; d != nil && !n.p.opts.Generic {
		hook = d.NameResult
	}
	starts := []int{0}
	for i, r := range op.results {
		hint := r.NameHint
		if hook != nil && hint == "" {
			hint = hook(op, i)
		}
		if hint == "" {
			if i == 0 {
				n.number(r)
			}
			continue
		}
		n.p.names[r] = n.unique(hint)
		if i > 0 {
			starts = append(starts, i)
		}
	}
	if len(starts) > 1 {
		n.p.groups[op] = starts
	}
}

func (n *namer) number(v *Value) {
	n.p.names[v] = strconv.Itoa(n.value)
	n.value++
}

func (n *namer) unique(hint string) string {
	name := hint
	for n.used[name] {
		name = hint + "_" + strconv.Itoa(n.conflicts)
		n.conflicts++
	}
	n.used[name] = true
	*n.added = append(*n.added, name)
	return name
}

// name is the text of a use of v: "%x", or "%x#2" inside a group.
func (p *Printer) name(v *Value) string {
	if v == nil {
		return "<<NULL VALUE>>"
	}
	if s, ok := p.names[v]; ok {
		if v.op != nil && len(v.op.results) > 1 && p.groupSize(v) > 1 {
			return "%" + s + "#0"
		}
		return "%" + s
	}
	if v.op == nil {
		return "<<UNKNOWN SSA VALUE>>"
	}
	for i := v.index; i >= 0; i-- {
		if s, ok := p.names[v.op.results[i]]; ok {
			return "%" + s + "#" + strconv.Itoa(v.index-i)
		}
	}
	return "<<UNKNOWN SSA VALUE>>"
}

// groupSize is the number of results in the group that starts with v.
func (p *Printer) groupSize(v *Value) int {
	n := 1
	for i := v.index + 1; i < len(v.op.results); i++ {
		if _, named := p.names[v.op.results[i]]; named {
			break
		}
		n++
	}
	return n
}
