package tileaa

import (
	"fmt"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/ir"
	"tileiras/ir/printf"
)

// This file verifies the decisions of passes, which are attributes and types: a module may come from text, which may say anything.

// distributedTiles checks the tiles that an op makes and those that its blocks begin with.
func distributedTiles(op *ir.Op) string {
	for _, r := range op.Results() {
		if wrong := distributed(op, AsTile(r)); wrong != "" {
			return wrong
		}
	}
	for b := range op.Blocks() {
		for _, a := range b.Args() {
			if wrong := distributed(b.First(), AsTile(a)); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

// decided checks the decisions that an op carries.
func decided(op *ir.Op) string {
	if wrong := correspond(op); wrong != "" {
		return wrong
	}
	if a, ok := ir.As[AccessOp](op); ok {
		return accessFits(a)
	}
	if d, ok := ir.As[Dot](op); ok && d.Atom() != nil {
		return splitFits(d)
	}
	if p, ok := ir.As[PlacedOp](op); ok {
		return placed(p)
	}
	if o, ok := ir.As[SumsOp](op); ok && o.Memory() != nil {
		if _, there := ProductOf(o); !there {
			return "is about sums in tensor memory, where no product in flight puts any"
		}
	}
	return ""
}

// placed checks the place of a buffer in the shared memory of its entry.
func placed(p PlacedOp) string {
	at, ok := p.Offset()
	if !ok {
		return ""
	}
	bytes, align := PlacedMemory(p.Op)
	if at < 0 || at%int64(align) != 0 {
		return fmt.Sprintf("is at byte %d of shared memory, which is no multiple of %d", at, align)
	}
	for op := p.Op; op != nil; op = op.ParentOp() {
		if e, ok := ir.As[Entry](op); ok {
			if all, said := e.SharedBytes(); said && at > all-int64(bytes) {
				return fmt.Sprintf("ends at byte %d of shared memory, and the entry has %d", at+int64(bytes), all)
			}
		}
	}
	return ""
}

// distributed checks the shape of a tile and its layout, if it has one: the threads that run op must hold all elements.
func distributed(op *ir.Op, t *TileType) string {
	if t == nil || op == nil {
		return ""
	}
	if wrong := possible(t); wrong != "" || t.Layout == nil {
		return wrong
	}
	if wrong := spreads(*t.Layout, t.Shape); wrong != "" {
		return "has " + wrong
	}
	return heldBy(op, *t.Layout)
}

// possible checks the shape of a tile.
func possible(t *TileType) string {
	for n, rest := int64(MaxTileElements), t.Shape; len(rest) > 0; n, rest = n/max(1, rest[0]), rest[1:] {
		if d := rest[0]; d < 1 || d > n || d&(d-1) != 0 {
			return fmt.Sprintf("has a tile whose dimensions are no powers of two that make at most %d elements", MaxTileElements)
		}
	}
	return ""
}

// MaxTileElements is the most elements of a tile, as in Tile IR.
const MaxTileElements = 1 << 24

// mostRegs is the most registers of a layout: several times those of the hardware.
const mostRegs = 1 << 12

// spreads checks that a layout is for a shape, and its number of registers.
func spreads(l layout.Layout, shape []int64) string {
	switch {
	case !sameDims(shape, l.Shape()):
		return "a layout of another shape than the tile's"
	case l.Regs() > mostRegs:
		return fmt.Sprintf("a layout of %d registers in a thread, which are at most %d", l.Regs(), mostRegs)
	}
	return ""
}

func sameDims(shape []int64, of []int) bool {
	return slices.EqualFunc(shape, of, func(a int64, b int) bool { return a == int64(b) })
}

// heldBy checks that a layout is for the lanes and warps that run op, and that they hold all elements.
func heldBy(op *ir.Op, l layout.Layout) string {
	if warps := warpsAround(op); l.Lanes() != layout.WarpSize || l.Blocks() != 1 || warps > 0 && l.Warps() != warps {
		return fmt.Sprintf("has a layout for %d lanes of %d warps, and %d warps of %d lanes run it", l.Lanes(), l.Warps(), warps, layout.WarpSize)
	}
	if !l.IsSurjective() {
		return "has a layout in which no thread holds some elements of the tile"
	}
	return ""
}

// warpsAround is WarpsOf, 0 where there is no plan yet.
func warpsAround(op *ir.Op) int {
	for ; op != nil; op = op.ParentOp() {
		if r, ok := ir.As[Role](op); ok {
			return int(r.Warps())
		}
		if e, ok := ir.As[Entry](op); ok && e.Plan() != nil {
			return e.Plan().Warps
		}
	}
	return 0
}

// accessFits checks what select-atoms writes on an access.
func accessFits(a AccessOp) string {
	var shape []int64
	var elem ir.Type
	if c, ok := ir.As[AsyncCopy](a.Op); ok {
		t := c.Block().Type().(*BlockType)
		shape, elem = t.Shape, t.Elem
		if l := c.Layout(); l != nil {
			if !sameDims(shape, l.Layout.Shape()) || l.Layout.Regs() > mostRegs {
				return "needs a layout of the shape of the block"
			}
			if wrong := heldBy(a.Op, l.Layout); wrong != "" {
				return wrong
			}
		}
	} else {
		t := AccessedTile(a.Op)
		shape, elem = t.Shape, t.Elem
	}
	fast, runs := a.Fast()
	if runs && len(shape) > 0 {
		if wrong := dimInRange(fast, len(shape)); wrong != "" {
			return wrong
		}
	}
	if vec, wide := a.Vec(); wide && (vec < 1 || vec&(vec-1) != 0 || vec > max(1, layout.WidestAccess/int64(max(1, ElemBytes(elem))))) {
		return fmt.Sprintf("takes %d elements at a time, which is no power of two in %d bytes", vec, layout.WidestAccess)
	}
	if m, b := a.Masked(), a.CoordinateBits(); m != nil && len(m) != len(shape) || b != nil && len(b) != len(shape) {
		return "needs masked and coordinate_bits for each dimension of the tile"
	}
	return ""
}

// splitFits checks the division of a product among warps.
func splitFits(d Dot) string {
	m := d.Atom()
	if !multiplies(d, false) {
		return m.Atom.Name + " does not multiply elements of these types"
	}
	if _, fits := TilingOf(d); !fits {
		e := ExtentOf(d)
		return fmt.Sprintf("%s does not tile %dx%dx%d over %s", m.Atom.Name, e.M, e.N, e.K, m.Split)
	}
	if warps := warpsAround(d.Op); warps > 0 && m.Split.Warps() != warps {
		return fmt.Sprintf("is shared by %d warps, and %d run it", m.Split.Warps(), warps)
	}
	return descriptorsFit(d)
}

// multiplies reports whether an atom is for the element types of a product. Before select-atoms, the factors may still have to be widened for the atom, or multiplied by
// scales that the atom does not take; after it, with own, the types must be those of the atom.
func multiplies(d Dot, own bool) bool {
	t, a := TypesOf(d), d.Atom().Atom
	if !t.A.Known() || !t.B.Known() || t.C != a.C {
		return false
	}
	left, right := a.Operands(d.Atom().Swap)
	switch {
	case t.Scale != a.Scale && (t.Scale != atom.Scale{} || !a.HoldsScales()):
		return !own && atom.BF16.WidensTo(left) && atom.BF16.WidensTo(right)
	case own && !a.Scalar():
		return t.A == left && t.B == right
	}
	return t.A.WidensTo(left) && t.B.WidensTo(right)
}

// descriptorsFit checks that the factors in shared memory of an instruction of a group of warps have canonical layouts, which descriptors can express.
func descriptorsFit(d Dot) string {
	m := d.Atom()
	for i, v := range []*ir.Value{d.Lhs(), d.Rhs()} {
		b, ok := v.Type().(*BufferType)
		if !ok || m.Atom.Group == 0 {
			continue
		}
		n := len(b.Shape)
		row, depth := n-2+i, n-1-i
		rows := m.Atom.MatrixRows(i == 0, m.Swap, int(AsTile(d.Result()).Shape[row]))
		if form, ok := b.Mem.Describe(row, depth, rows, m.Atom.Shape.K, ElemBytes(b.Elem)); !ok || form.MNMajor && !m.Atom.TakesMNMajor {
			return fmt.Sprintf("%s finds no factor in the order of %s", m.Atom.Name, b.Mem)
		}
	}
	return ""
}

// verifyPlan checks what is decided for an entry.
func verifyPlan(e Entry) string {
	p := e.Plan()
	if n, said := e.SharedBytes(); n < 0 && said {
		return fmt.Sprintf("has %d bytes of shared memory", n)
	}
	if p == nil {
		return ""
	}
	if n := p.Warps; n < 1 || n > mostWarps || n&(n-1) != 0 {
		return fmt.Sprintf("has a plan of %d warps, which is no power of two up to %d", n, mostWarps)
	}
	for _, f := range p.planFields() {
		if n, ok := f.at.(*int); ok && (*n < 0 || *n > mostPlanned) {
			return fmt.Sprintf("has a plan of which %s is %d", f.name, *n)
		}
	}
	if n := p.SlicesK; n > p.Warps || n&(n-1) != 0 {
		return fmt.Sprintf("has a plan of %d warps, which cannot share %d slices", p.Warps, n)
	}
	if p.Producers+p.Warps > mostWarps {
		return fmt.Sprintf("has a plan of %d warps and %d that begin copies, and a block has at most %d", p.Warps, p.Producers, mostWarps)
	}
	return ""
}

const (
	mostWarps   = target.ThreadsPerBlock / layout.WarpSize
	mostPlanned = 1 << 20
)

// verifyPrint asks for the format that convert-to-tileaa makes of any.
func verifyPrint(p Print) string {
	var elems []ir.Type
	for _, v := range p.Values() {
		elems = append(elems, AsTile(v).Elem)
	}
	fitted, err := printf.Fit(p.Format(), elems)
	switch {
	case err != nil:
		return "has a format with " + err.Error()
	case fitted != p.Format():
		return fmt.Sprintf("has the format %q, and its values need %q", p.Format(), fitted)
	}
	return ""
}
