package atom

import (
	"fmt"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/codegen/ptxop"
)

// groupMMA is the atom of a product of a warpgroup for elements of A and B, with A in registers or in shared memory.
func groupMMA(p *ptxop.GroupProduct, a, b string, registers bool) *MMA {
	name := p.Name(a, b, registers, false)
	m := &MMA{Name: name, Op: ptxop.Must(name), First: ptxop.Must(p.Name(a, b, registers, true)), Group: ptxop.GroupWarps, SharedA: !registers,
		Shape: Shape{ptxop.GroupRows, p.N, p.K}, A: elemOf(a), B: elemOf(b), C: elemOf(p.D), Rate: p.Rate, Depth: p.Depth, TakesMNMajor: p.TakesMNMajor(), Need: p.Need}
	m.LayoutA, m.LayoutC = groupFragments(m.Shape, m.A.Bits())
	if m.SharedA {
		m.LayoutA = layout.Layout{}
	}
	m.WordsC = words(m.LayoutC, m.C)
	if registers {
		m.WordsA = words(m.LayoutA, m.A)
	}
	if err := m.checkGroup(); err != nil {
		panic(err)
	}
	return m
}

// groupFragments is the layouts of A and C in the registers of a warpgroup (PTX ISA, "Register Fragments and Shared Memory Matrix Layouts"): those of
// products of a warp side by side along N, a warp having 16 rows.
func groupFragments(s Shape, elemBits int) (a, c layout.Layout) {
	const columns = 8
	a, _, c = fragments(Shape{s.M / ptxop.GroupWarps, columns, s.K}, elemBits)
	return a.Repeat(layout.Warp, 0, layout.Log2(ptxop.GroupWarps)), c.Repeat(layout.Reg, 1, layout.Log2(s.N/columns)).Repeat(layout.Warp, 0, layout.Log2(ptxop.GroupWarps))
}

// checkGroup is check for a product of a warpgroup.
func (m *MMA) checkGroup() error {
	held := []layout.Layout{m.LayoutC}
	if !m.SharedA {
		held = append(held, m.LayoutA)
	}
	if slices.ContainsFunc(held, func(l layout.Layout) bool { return !l.IsBijective() || l.Warps() != m.Group }) {
		return fmt.Errorf("atom: %s: layouts %s and %s do not cover their matrices exactly once", m.Name, m.LayoutA, m.LayoutC)
	}
	const descriptor = 1
	transposes := 0
	if m.TakesMNMajor {
		transposes = 1
	}
	a := m.WordsA
	if m.SharedA {
		a = descriptor + transposes
	}
	if want := a + descriptor + transposes; m.Op.Results != m.WordsC || m.First.Results != m.WordsC || len(m.Op.Args()) != m.WordsC+want || len(m.First.Args()) != want {
		return fmt.Errorf("atom: %s: layouts have %d and %d registers, the instruction has %d arguments and %d results",
			m.Name, m.WordsA, m.WordsC, len(m.Op.Args()), m.Op.Results)
	}
	return nil
}
