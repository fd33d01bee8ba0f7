package slice

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// SplitScans lets warps share the axis of a scan that there are fewer rows for than warps: each scans its part, the ends of the parts meet, and every warp
// adds to its own what stands before it.
//
//	%r = scan %x dim=0 : 4096                 %a = scan (reshape %x) dim=1 : 4x1024       (a warp for each of the 4)
//	                                    =>    %0, %1, %2 = extract %a[0, last], ..        (which threads tell each other)
//	                                          %b = %0, %0 + %1 or %0 + %1 + %2            by the number of the part
//	                                          %r = reshape (select (part > 0), %b + %a, %a)
//
// Parts are combined in order: the region need not commute.
func SplitScans(s *pass.State) error {
	for _, entry := range s.Entries() {
		warps := tileaa.PlanOf(entry).Warps
		var scans []*ir.Op
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if op.Code() == tileaa.OpScan {
				scans = append(scans, op)
			}
		})
		for _, op := range scans {
			if n := kernel.ScanWarps(op, tileaa.ShapeOf(op.Operand(0)), warps); n > 1 {
				p := parts{b: ir.NewBuilder(s.Ctx).Before(op), op: op, n: int64(n), dim: tileaa.DimOf(op)}
				p.b.Loc = op.Loc()
				p.split()
			}
		}
	}
	return nil
}

// parts are those of the axis of a scan, with the tiles of all of its operands.
type parts struct {
	b   *ir.Builder
	op  *ir.Op
	n   int64
	dim int // along which the parts lie; their elements lie along the next one
}

func (p *parts) split() {
	shape := tileaa.ShapeOf(p.op.Operand(0))
	cut := slices.Insert(slices.Clone(shape), p.dim, p.n)
	cut[p.dim+1] /= p.n
	x := make([]*ir.Value, p.op.NumOperands())
	for i, v := range p.op.Operands() {
		x[i] = tileaa.NewReshape(p.b, tileaa.Tile(p.b.Ctx, tileaa.AsTile(v).Elem, cut...), v).Result()
	}
	own := p.scan(x)
	before := p.before(own)
	for i := range before {
		before[i] = tileaa.NewBroadcast(p.b, own[i].Type(), before[i]).Result()
	}
	all := p.combine(before, own)
	for i, r := range p.op.Results() {
		v := p.selectFrom(1, all[i], own[i])
		r.ReplaceAllUsesWith(tileaa.NewReshape(p.b, r.Type(), v).Result())
	}
	p.op.Erase()
}

// scan scans the parts.
func (p *parts) scan(x []*ir.Value) []*ir.Value {
	return tileaa.CombineAlong(p.b, p.op, x, ir.TypesOf(x), p.dim+1)
}

// before is what all parts before each make together; of the first, any.
func (p *parts) before(own []*ir.Value) []*ir.Value {
	last := tileaa.ShapeOf(own[0])[p.dim+1] - 1
	if p.backwards() {
		last = 0
	}
	all := p.slice(own, p.dim+1, last)
	ends := make([][]*ir.Value, p.n-1)
	for k := range ends {
		ends[k] = p.slice(all, p.dim, p.place(int64(k)))
	}
	sum := ends[0]
	list := p.broadcastParts(sum)
	for k := int64(1); k < p.n-1; k++ {
		sum = p.combine(sum, ends[k])
		for i, wide := range p.broadcastParts(sum) {
			list[i] = p.selectFrom(k+1, wide, list[i])
		}
	}
	return list
}

// combine is what stands before, and what is next, made one.
func (p *parts) combine(before, next []*ir.Value) []*ir.Value {
	return combineTiles(p.b, p.op, before, next, func(v *ir.Value) *ir.Value { return v })
}

// slice is what tiles have at a place along a dimension.
func (p *parts) slice(list []*ir.Value, dim int, place int64) []*ir.Value {
	i32 := tileaa.Tile(p.b.Ctx, p.b.Ctx.Int(32))
	out := make([]*ir.Value, len(list))
	for i, v := range list {
		shape := slices.Clone(tileaa.ShapeOf(v))
		at := slices.Repeat([]*ir.Value{tileaa.Const(p.b, i32, 0)}, len(shape))
		shape[dim], at[dim] = 1, tileaa.Const(p.b, i32, place)
		out[i] = tileaa.NewExtract(p.b, tileaa.Tile(p.b.Ctx, tileaa.AsTile(v).Elem, shape...), v, at).Result()
	}
	return out
}

func (p *parts) backwards() bool { return ir.Cast[tileaa.Scan](p.op).Reverse() }

// place is where part k of the order lies.
func (p *parts) place(k int64) int64 {
	if p.backwards() {
		return p.n - 1 - k
	}
	return k
}

// broadcastParts are tiles of one part, broadcast to all.
func (p *parts) broadcastParts(list []*ir.Value) []*ir.Value {
	out := make([]*ir.Value, len(list))
	for i, v := range list {
		shape := slices.Clone(tileaa.ShapeOf(v))
		shape[p.dim] = p.n
		out[i] = tileaa.NewBroadcast(p.b, tileaa.Tile(p.b.Ctx, tileaa.AsTile(v).Elem, shape...), v).Result()
	}
	return out
}

// selectFrom is x in parts from k on, y in those before.
func (p *parts) selectFrom(k int64, x, y *ir.Value) *ir.Value {
	is := def.PredGreaterEqual
	if p.backwards() {
		is = def.PredLessEqual
	}
	later := tileaa.CoordinateMask(p.b, tileaa.ShapeOf(x), p.dim, p.b.Ctx.Int(32), is, func(t *tileaa.TileType) *ir.Value { return tileaa.Const(p.b, t, p.place(k)) })
	return tileaa.NewSelect(p.b, later, x, y).Result()
}
