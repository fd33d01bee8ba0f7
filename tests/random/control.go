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

func (g *generator) bodyLength(n int) int { return g.r.IntN(n) / max(1, g.depth) }

// carried is a value that a region takes along: its type, and whether it may be inexact.
type carried struct {
	init, arg value
	token     bool
}

// carriedAcross chooses up to three values to take through a loop, and the token where there is one.
func (g *generator) carriedAcross() []carried {
	var list []carried
	for range 1 + g.r.IntN(3) {
		t := typ{choose(g, slices.Concat(ints, floats, []string{"i1"})...), g.shape()}
		if g.chance(40) {
			t = g.moved()
		}
		init := g.exact(t)
		list = append(list, carried{init: init, arg: value{name: g.fresh(), typ: t}})
	}
	if g.token != "" && g.chance(70) {
		list = append(list, carried{init: value{name: g.token}, arg: value{name: g.fresh()}, token: true})
	}
	return list
}

// bindArguments makes the carried values visible inside the region.
func (g *generator) bindArguments(list []carried) {
	g.token = ""
	g.loops++
	for _, c := range list {
		if c.token {
			g.token = c.arg.name
		} else {
			g.values = append(g.values, c.arg)
		}
	}
}

// yieldedValues chooses what a region yields.
func (g *generator) yieldedValues(list []carried) []string {
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

// bindResults makes the results of an operation visible.
func (g *generator) bindResults(name string, list []carried) {
	for i, c := range list {
		r := name
		if len(list) > 1 {
			r = fmt.Sprintf("%s#%d", name, i)
		}
		if c.token {
			g.token = r
		} else {
			g.values = append(g.values, value{name: r, typ: c.arg.typ})
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

// forLoop is a for loop of a few iterations.
func (g *generator) forLoop() {
	if g.depth >= g.maxNesting {
		return
	}
	elem := choose(g, "i32", "i32", "i64", "i16", "i8")
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
		upper = value{name: g.knownI32(g.r.IntN(g.rounds())), typ: s}
	}
	bound := 8
	if g.chance(10) { // up to the largest number, where a counter that went on would wrap
		top := 1<<(widths[elem]-1) - 1
		lower, upper, bound, unsigned = g.number(s, top-g.r.IntN(g.rounds())), g.number(s, top), 0, ""
	}
	list := g.carriedAcross()
	i, result := value{name: g.fresh(), typ: s, bound: bound}, g.fresh()
	g.emit("%s = for %s%s in (%s to %s, step %s) : %s iter_values(%s) -> (%s) {", binder(result, len(list)), unsigned, i.name, lower.name, upper.name, step.name, s,
		bindings(list), joined(typesOf(list)))
	g.scope(func() {
		g.bindArguments(list)
		g.values = append(g.values, i)
		g.statements(1 + g.bodyLength(6))
		if g.depth > maxDepth && g.depth < g.maxNesting && g.chance(80) {
			g.forLoop()
		}
		g.emit("continue %s : %s", joined(g.yieldedValues(list)), joined(typesOf(list)))
	})
	g.emit("}")
	g.bindResults(result, list)
}

// earlyReturn ends some tile blocks early.
func (g *generator) earlyReturn() {
	if g.depth > 0 || g.chance(60) {
		return
	}
	c := g.exact(scalar("i1"))
	g.emit("if %s {", c.name)
	g.scope(func() {
		if g.chance(50) {
			g.statements(2)
		}
		g.emit("return")
	})
	g.emit("}")
}

// branch is an if whose sides give values of the same types.
func (g *generator) branch() {
	if g.depth >= g.maxNesting {
		return
	}
	c := g.exact(scalar("i1"))
	list := g.carriedAcross()
	result := g.fresh()
	g.emit("%s = if %s -> (%s) {", binder(result, len(list)), c.name, joined(typesOf(list)))
	side := func() {
		g.scope(func() {
			if !slices.ContainsFunc(list, func(c carried) bool { return c.token }) {
				g.token = ""
			}
			g.statements(g.bodyLength(5))
			if g.token != "" && g.chance(30) { // an access that is pending at the end of a side
				g.tokenChain()
			}
			g.emit("yield %s : %s", joined(g.yieldedValues(list)), joined(typesOf(list)))
		})
	}
	side()
	g.emit("} else {")
	side()
	g.emit("}")
	g.bindResults(result, list)
}

// sideEffectIf is an if without results and without else: it changes memory that nothing else accesses.
func (g *generator) sideEffectIf() {
	if g.depth >= g.maxNesting {
		return
	}
	c := g.exact(scalar("i1"))
	g.emit("if %s {", c.name)
	g.scope(func() {
		g.token = ""
		g.statements(1 + g.bodyLength(3))
		if g.loops > 0 {
			return
		}
		start := g.fresh()
		g.emit("%s = make_token : token", start)
		v := g.exact(typ{"i32", g.shape()})
		g.storePointers(g.parameter("i32"), start, v, g.ownPart(g.linear("i32", v.shape)))
	})
	g.emit("}")
}

// breakLoop is a loop that a counter ends by a break.
func (g *generator) breakLoop() {
	if g.depth >= g.maxNesting {
		return
	}
	s := scalar("i32")
	list := append(g.carriedAcross(), carried{init: g.number(s, 0), arg: value{name: g.fresh(), typ: s}})
	count := list[len(list)-1].arg
	result := g.fresh()
	types := joined(typesOf(list))
	g.emit("%s = loop iter_values(%s) : %s -> %s {", binder(result, len(list)), bindings(list), types, types)
	g.scope(func() {
		g.bindArguments(list)
		g.statements(g.r.IntN(4))
		next := g.define(s, "addi %s, %s : %s", count.name, g.number(s, 1).name, s)
		limit := value{name: g.knownI32(1 + g.r.IntN(g.rounds()/2)), typ: s}
		done := g.define(scalar("i1"), "cmpi greater_than_or_equal %s, %s, signed : %s -> %s", next.name, limit.name, s, scalar("i1"))
		out := g.yieldedValues(list)
		g.emit("if %s {", done.name)
		g.emit("  break %s : %s", joined(out), types)
		g.emit("}")
		if g.chance(30) { // the next round at once
			c := g.exact(scalar("i1"))
			again := g.yieldedValues(list)
			again[len(again)-1] = next.name
			g.emit("if %s {", c.name)
			g.emit("  continue %s : %s", joined(again), types)
			g.emit("}")
		}
		g.statements(g.r.IntN(3))
		again := g.yieldedValues(list)
		again[len(again)-1] = next.name
		g.emit("continue %s : %s", joined(again), types)
	})
	g.emit("}")
	g.bindResults(result, list)
}
