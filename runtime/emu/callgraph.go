package emu

import "strings"

// callGraph numbers the components of the graph of calls: the functions of one call each other, directly or not (Tarjan's algorithm).
type callGraph struct {
	visited int
	open    []*function // visited, of no component yet
}

// linkCalls gives every function with a body its callees and its component.
func (m *Module) linkCalls() {
	for _, f := range m.order {
		f.callees = m.calleesOf(f)
	}
	var g callGraph
	for _, f := range m.order {
		if f.visit == 0 {
			g.visit(f)
		}
	}
}

// visit passes what f calls, and gives the least visit of an open function that f reaches.
func (g *callGraph) visit(f *function) int {
	g.visited++
	f.visit = g.visited
	low, bottom := f.visit, len(g.open)
	g.open = append(g.open, f)
	for _, c := range f.callees {
		switch {
		case c.visit == 0:
			low = min(low, g.visit(c))
		case c.component == 0:
			low = min(low, c.visit)
		}
	}
	if low == f.visit {
		for _, x := range g.open[bottom:] {
			x.component = f.visit
		}
		g.open = g.open[:bottom]
	}
	return low
}

// calleesOf lists the functions with a body that f calls.
func (m *Module) calleesOf(f *function) (list []*function) {
	for _, st := range f.body {
		if !strings.HasPrefix(st.op, "call") {
			continue
		}
		for _, a := range st.args {
			if g := m.funcs[a.name]; a.kind == argName && g != nil && g.defined {
				list = append(list, g)
			}
		}
	}
	return list
}
