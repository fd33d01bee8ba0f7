package random

import (
	"fmt"
	"slices"
	"strings"
)

// maxDepth bounds nesting in most modules, deepNest in some.
const (
	maxDepth = 2
	deepNest = 6
)

// rounds bounds how often a loop runs, the body of which has how many statements: less, the deeper it lies.
func (g *generator) rounds() int { return []int{8, 8, 4, 3, 3, 3, 3}[g.depth] }

func (g *generator) length(n int) int { return g.r.IntN(n) / max(1, g.depth) }

// carried is a value that a region takes along: its type, and whether it may be inexact.
type carried struct {
	init, arg val
	token     bool
}

// carry chooses up to three values to take through a loop, and the token where there is one.
func (g *generator) carry() []carried {
	var list []carried
	for range 1 + g.r.IntN(3) {
		t := typ{one(g, slices.Concat(ints, floats, []string{"i1"})...), g.shape()}
		if g.chance(40) {
			t = g.moved()
		}
		init := g.exact(t)
		list = append(list, carried{init: init, arg: val{name: g.fresh(), typ: t}})
	}
	if g.token != "" && g.chance(70) {
		list = append(list, carried{init: val{name: g.token}, arg: val{name: g.fresh()}, token: true})
	}
	return list
}

// open makes the carried values visible inside the region.
func (g *generator) open(list []carried) {
	g.token = ""
	g.loops++
	for _, c := range list {
		if c.token {
			g.token = c.arg.name
		} else {
			g.vals = append(g.vals, c.arg)
		}
	}
}

// next chooses what a region passes on.
func (g *generator) next(list []carried) []string {
	var names []string
	for _, c := range list {
		if c.token {
			names = append(names, g.token)
		} else {
			names = append(names, g.exact(c.arg.typ).name)
		}
	}
	return names
}

func typesOf(list []carried) []string {
	var ts []string
	for _, c := range list {
		if c.token {
			ts = append(ts, "token")
		} else {
			ts = append(ts, c.arg.String())
		}
	}
	return ts
}

func bindings(list []carried) string {
	var bs []string
	for _, c := range list {
		bs = append(bs, c.arg.name+" = "+c.init.name)
	}
	return strings.Join(bs, ", ")
}

// bind makes the results of an operation visible.
func (g *generator) bind(name string, list []carried) {
	for i, c := range list {
		r := name
		if len(list) > 1 {
			r = fmt.Sprintf("%s#%d", name, i)
		}
		if c.token {
			g.token = r
		} else {
			g.vals = append(g.vals, val{name: r, typ: c.arg.typ})
		}
	}
}

// results of an operation: "%v", or "%v:3" for several.
func binder(name string, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s:%d", name, n)
	}
	return name
}

func joined(s []string) string { return strings.Join(s, ", ") }

// counted is a for loop of a few rounds.
func (g *generator) counted() {
	if g.depth >= g.deepest {
		return
	}
	elem := one(g, "i32", "i32", "i64", "i16", "i8")
	s, unsigned := scalar(elem), ""
	first := g.r.IntN(4)
	if g.chance(20) {
		first = -g.r.IntN(4)
	} else if g.chance(20) {
		unsigned = "unsigned "
	}
	lower, step := g.number(s, first), g.number(s, 1+g.r.IntN(3))
	upper := g.number(s, g.r.IntN(g.rounds()))
	if elem == "i32" && g.chance(50) {
		upper = val{name: g.known(g.r.IntN(g.rounds())), typ: s}
	}
	bound := 8
	if g.chance(10) { // up to the largest number, where a counter that went on would wrap
		top := 1<<(widths[elem]-1) - 1
		lower, upper, bound, unsigned = g.number(s, top-g.r.IntN(g.rounds())), g.number(s, top), 0, ""
	}
	list := g.carry()
	i, result := val{name: g.fresh(), typ: s, bound: bound}, g.fresh()
	g.line("%s = for %s%s in (%s to %s, step %s) : %s iter_values(%s) -> (%s) {", binder(result, len(list)), unsigned, i.name, lower.name, upper.name, step.name, s,
		bindings(list), joined(typesOf(list)))
	g.scope(func() {
		g.open(list)
		g.vals = append(g.vals, i)
		g.statements(1 + g.length(6))
		if g.depth > maxDepth && g.depth < g.deepest && g.chance(80) {
			g.counted()
		}
		g.line("continue %s : %s", joined(g.next(list)), joined(typesOf(list)))
	})
	g.line("}")
	g.bind(result, list)
}

// leave ends some tile blocks early.
func (g *generator) leave() {
	if g.depth > 0 || g.chance(60) {
		return
	}
	c := g.exact(scalar("i1"))
	g.line("if %s {", c.name)
	g.scope(func() {
		if g.chance(50) {
			g.statements(2)
		}
		g.line("return")
	})
	g.line("}")
}

// branch is an if whose sides give values of the same types.
func (g *generator) branch() {
	if g.depth >= g.deepest {
		return
	}
	c := g.exact(scalar("i1"))
	list := g.carry()
	result := g.fresh()
	g.line("%s = if %s -> (%s) {", binder(result, len(list)), c.name, joined(typesOf(list)))
	side := func() {
		g.scope(func() {
			if !slices.ContainsFunc(list, func(c carried) bool { return c.token }) {
				g.token = ""
			}
			g.statements(g.length(5))
			if g.token != "" && g.chance(30) { // an access that is pending at the end of a side
				g.history()
			}
			g.line("yield %s : %s", joined(g.next(list)), joined(typesOf(list)))
		})
	}
	side()
	g.line("} else {")
	side()
	g.line("}")
	g.bind(result, list)
}

// aside is an if without results and without another side: what it does to memory, nothing else touches, and no other iteration.
func (g *generator) aside() {
	if g.depth >= g.deepest {
		return
	}
	c := g.exact(scalar("i1"))
	g.line("if %s {", c.name)
	g.scope(func() {
		g.token = ""
		g.statements(1 + g.length(3))
		if g.loops > 0 {
			return
		}
		start := g.fresh()
		g.line("%s = make_token : token", start)
		v := g.exact(typ{"i32", g.shape()})
		g.storePointers(g.parameter("i32"), start, v, g.mine(g.linear("i32", v.shape)))
	})
	g.line("}")
}

// endless is a loop that a counter ends.
func (g *generator) endless() {
	if g.depth >= g.deepest {
		return
	}
	s := scalar("i32")
	list := append(g.carry(), carried{init: g.number(s, 0), arg: val{name: g.fresh(), typ: s}})
	count := list[len(list)-1].arg
	result := g.fresh()
	types := joined(typesOf(list))
	g.line("%s = loop iter_values(%s) : %s -> %s {", binder(result, len(list)), bindings(list), types, types)
	g.scope(func() {
		g.open(list)
		g.statements(g.r.IntN(4))
		next := g.define(s, "addi %s, %s : %s", count.name, g.number(s, 1).name, s)
		limit := val{name: g.known(1 + g.r.IntN(g.rounds()/2)), typ: s}
		done := g.define(scalar("i1"), "cmpi greater_than_or_equal %s, %s, signed : %s -> %s", next.name, limit.name, s, scalar("i1"))
		out := g.next(list)
		g.line("if %s {", done.name)
		g.line("  break %s : %s", joined(out), types)
		g.line("}")
		if g.chance(30) { // the next round at once
			c := g.exact(scalar("i1"))
			again := g.next(list)
			again[len(again)-1] = next.name
			g.line("if %s {", c.name)
			g.line("  continue %s : %s", joined(again), types)
			g.line("}")
		}
		g.statements(g.r.IntN(3))
		again := g.next(list)
		again[len(again)-1] = next.name
		g.line("continue %s : %s", joined(again), types)
	})
	g.line("}")
	g.bind(result, list)
}
