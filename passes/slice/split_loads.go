package slice

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/pass"
)

// SplitLoads makes loads of parts of a load of which only parts are taken, some of them by products: copies bring these to where products read them, whereas
// a part of a tile in registers goes through shared memory as a value.
//
//	%x = tiled_load (block_tile %m, indices(%i, %j) {traversal = [128, 64]})      %x0 = tiled_load (block_tile %m, indices(%i, %j * 2) {traversal = [128, 32]})
//	%x0 = extract %x, indices(0, 0) : tile<128x32xf16>                       =>   %x1 = tiled_load (block_tile %m, indices(%i, %j * 2 + 1) {traversal = [128, 32]})
//	%x1 = extract %x, indices(0, 1) : tile<128x32xf16>
//	dot %x0, ..; dot %x1, ..                                                      dot %x0, ..; dot %x1, ..
//
// All parts are of one shape, so that nothing is loaded twice, and at places that are known; the load may be permuted and converted first. Where all is computed
// element by element, a thread has of each part what it has of the whole, and one load is as good: at least one part is a factor of a product, but for relabelings and
// conversions. Nor is a load cut where its parts are shorter in memory than an access of 16 bytes, or than a sector where the whole is not.
func SplitLoads(s *pass.State) error {
	for _, entry := range s.Entries() {
		var loads []partedLoad
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if l, ok := partsOf(op); ok {
				loads = append(loads, l)
			}
		})
		if len(loads) == 0 {
			continue
		}
		known := facts.New(s.Ctx, entry)
		for _, l := range loads {
			if l.staysWide(known) {
				l.split(ir.NewBuilder(s.Ctx), known)
			}
		}
	}
	return nil
}

// A partedLoad is a weak load of a block of which only parts are taken.
type partedLoad struct {
	tileaa.TiledLoad
	block tileaa.BlockTile
	moved []*ir.Op   // permutations and conversions between the load and its parts, each after the one that it takes
	parts []loadPart // by their places
}

// A loadPart is what an extract takes of a load, or of what permutations and conversions make of it.
type loadPart struct {
	tileaa.Extract
	behind    []*ir.Op // these, the one that takes the load first
	at, shape []int64  // in the load, the place in parts
}

// partsOf looks at an op as a load of which only parts are taken. A list of coordinates is never cut: what reads it has it whole.
func partsOf(op *ir.Op) (l partedLoad, ok bool) {
	load, ok := ir.As[tileaa.TiledLoad](op)
	if !ok || tileaa.IsStrong(op) || !load.Result().HasUses() {
		return l, false
	}
	block, ok := tileaa.BlockOf(op)
	if !ok {
		return l, false
	}
	l = partedLoad{TiledLoad: load, block: block}
	if !l.addParts(load.Result(), nil) || !slices.ContainsFunc(l.parts, func(p loadPart) bool { return isFactor(p.Result()) }) {
		return l, false
	}
	if s, sparse := block.SparseDim(); sparse && l.cuts(int(s)) {
		return l, false
	}
	slices.SortStableFunc(l.parts, func(p, q loadPart) int { return slices.Compare(p.at, q.at) })
	return l, true
}

// addParts adds the parts that are taken of a value behind permutations and conversions of the load, and reports whether nothing else is.
func (l *partedLoad) addParts(v *ir.Value, behind []*ir.Op) bool {
	for u := v.FirstUse(); u != nil; u = u.Next() {
		op := u.Owner()
		if op.Code() == tileaa.OpPermute || converts(op) {
			l.moved = append(l.moved, op)
			if !op.Result(0).HasUses() || !l.addParts(op.Result(0), append(slices.Clip(behind), op)) {
				return false
			}
			continue
		}
		p, ok := partOf(op, v, behind)
		if !ok || len(l.parts) > 0 && !slices.Equal(p.shape, l.parts[0].shape) {
			return false
		}
		l.parts = append(l.parts, p)
	}
	return true
}

func converts(op *ir.Op) bool { return op.Code() == tileaa.OpFtof || op.Code() == tileaa.OpItof }

// partOf looks at an op as an extract of a part of a tile, at a place that is known and in the tile.
func partOf(op *ir.Op, tile *ir.Value, behind []*ir.Op) (p loadPart, ok bool) {
	e, ok := ir.As[tileaa.Extract](op)
	if !ok || e.Source() != tile {
		return p, false
	}
	p = loadPart{e, behind, nil, tileaa.ShapeOf(e.Result())}
	for d, v := range e.Indices() {
		at, known := tileaa.SplatInt(v)
		if !known || at < 0 || at >= tileaa.ShapeOf(tile)[d]/p.shape[d] {
			return p, false
		}
		p.at = append(p.at, at)
	}
	for _, op := range slices.Backward(behind) {
		if op.Code() == tileaa.OpPermute {
			back := layout.Inverse(tileaa.PermutationOf(op))
			p.at, p.shape = tileaa.Permuted(p.at, back), tileaa.Permuted(p.shape, back)
		}
	}
	return p, true
}

// from is what the extract takes, of the loaded part.
func (p loadPart) from(b *ir.Builder, v *ir.Value) *ir.Value {
	b.Before(p.Op)
	shape := p.shape
	for _, op := range p.behind {
		if op.Code() == tileaa.OpPermute {
			shape = tileaa.Permuted(shape, tileaa.PermutationOf(op))
		}
		c := b.Clone(op, ir.Mapping{op.Operand(0): v})
		v = c.Result(0)
		v.SetType(tileaa.Tile(b.Ctx, tileaa.AsTile(v).Elem, shape...))
	}
	return v
}

// isFactor reports whether a product takes a tile, but for relabelings and conversions.
func isFactor(v *ir.Value) bool {
	return slices.ContainsFunc(v.Uses(), func(u *ir.Use) bool {
		op := u.Owner()
		switch {
		case tileaa.IsProduct(op):
			return u.Index() != 2
		case tileaa.IsRelabeling(op), converts(op):
			return isFactor(op.Result(0))
		}
		return false
	})
}

// cuts reports whether parts are shorter than the load along a dimension.
func (l partedLoad) cuts(d int) bool {
	return l.parts[0].shape[d] < tileaa.ShapeOf(l.Result())[d]
}

// staysWide reports whether accesses of parts are as wide as those of the whole load may be.
func (l partedLoad) staysWide(known *facts.Facts) bool {
	d := known.FastDim(l.block)
	size := int64(tileaa.ElemBytes(tileaa.AsTile(l.Result()).Elem))
	run, part := tileaa.ShapeOf(l.Result())[d]*size, l.parts[0].shape[d]*size
	return !l.cuts(d) || part >= cost.SectorBytes || part >= layout.WidestAccess && run < cost.SectorBytes
}

// split makes the loads of the parts. Accesses after the load come after all of them.
func (l partedLoad) split(b *ir.Builder, known *facts.Facts) {
	i32 := tileaa.Tile(b.Ctx, b.Ctx.Int(32))
	cutter := blockCutter{b, known, func(v *ir.Value, _ int) *ir.Value { return v }}
	elem := tileaa.AsTile(l.Result()).Elem
	var tokens []*ir.Value
	var one tileaa.TiledLoad
	for i, p := range l.parts {
		if i == 0 || !slices.Equal(p.at, l.parts[i-1].at) {
			b.Before(l.Op).Loc = l.Op.Loc()
			numbers := make([]*ir.Value, len(p.at))
			for d, at := range p.at {
				if l.cuts(d) {
					numbers[d] = tileaa.Const(b, i32, at)
				}
			}
			block := cutter.part(l.block, tileaa.Block(b.Ctx, elem, p.shape...), numbers)
			one = ir.Cast[tileaa.TiledLoad](b.Clone(l.Op, ir.Mapping{l.block.Result(): block}))
			one.Result().SetType(tileaa.Tile(b.Ctx, elem, p.shape...))
			tokens = append(tokens, one.ResultToken())
		}
		p.Result().ReplaceAllUsesWith(p.from(b, one.Result()))
		p.Op.Erase()
	}
	l.ResultToken().ReplaceAllUsesWith(tileaa.JoinTokens(b.Before(l.Op), tokens))
	for _, op := range slices.Backward(l.moved) {
		op.Erase()
	}
	l.Op.Erase()
}
