package passes

import (
	"fmt"

	"tileiras/dialects/cudatile"
	cudadef "tileiras/dialects/cudatile/def"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// convertToTileAA builds the TileAA module of a cuda_tile module and puts it in its place. Most operations have one of the
// same meaning: a row of the table says which. Views become explicit:
//
//	%v = make_tensor_view %p, shape, strides      %m = make_memref %p, shape, strides
//	%w = make_partition_view %v               =>  (nothing: the type of %w says how the array is cut)
//	%t = load_view_tko %w[%i, %j]                 %b = block_tile %m[%i, %j]
//	                                              %t = tiled_load %b
func convertToTileAA(s *State) error {
	if s.Module.Def.Dialect == tileaa.Dialect.Name {
		return nil
	}
	s.Ctx.Register(tileaa.Dialect)
	c := &converter{State: s, b: ir.NewBuilder(s.Ctx), values: ir.Mapping{}, types: map[ir.Type]ir.Type{}}
	module := c.module(s.Module)
	if c.err != nil {
		return c.err
	}
	s.Module = module
	return nil
}

type converter struct {
	*State
	b *ir.Builder
	// values maps cuda_tile values to TileAA ones; a view of any kind is its memref.
	values ir.Mapping
	types  map[ir.Type]ir.Type
	err    error // the first thing that is not supported
}

// unsupported records what stops the conversion; the rest is still walked with placeholders of no value.
func (c *converter) unsupported(op *ir.Op, format string, args ...any) {
	if c.err != nil {
		return
	}
	e := &NotSupported{Op: op.Def.Name, Type: fmt.Sprintf(format, args...), Loc: op.Loc()}
	if c.Target != nil {
		e.Target = c.Target.Name
	}
	c.err = e
}

func (c *converter) module(m *ir.Op) *ir.Op {
	c.b.Loc = m.Loc()
	out := ir.NewOp(ir.State{Def: tileaa.Dialect.Op("module"), Loc: m.Loc()})
	out.SetAttrNamed("sym_name", m.AttrNamed("sym_name"))
	out.SetAttrNamed("producer", m.AttrNamed("producer"))
	body := out.Region(0).AddBlock()
	for op := m.Body().First(); op != nil && c.err == nil; op = op.Next() {
		c.b.AtEnd(body).Loc = op.Loc()
		switch op.Def.Name {
		case "global":
			c.global(op)
		case "entry":
			c.entry(op)
		default:
			c.unsupported(op, "in a module")
		}
	}
	return out
}

func (c *converter) global(op *ir.Op) {
	args := tileaa.Args{
		"sym_name": op.StringNamed("sym_name"),
		"value":    c.dense(op, op.AttrNamed("value")),
		"constant": op.BoolNamed("constant"),
		"private":  op.EnumNamed("symbol_visibility") == cudadef.Private,
	}
	if a := op.IntNamed("alignment"); a > 0 {
		args["alignment"] = a
	}
	if c.err == nil {
		tileaa.Create(c.b, "global", nil, args)
	}
}

func (c *converter) entry(op *ir.Op) {
	entry := tileaa.Create(c.b, "entry", nil, tileaa.Args{
		"sym_name": op.StringNamed("sym_name"),
		"hints":    op.AttrNamed("optimization_hints"),
	})
	for _, a := range op.Body().Args() {
		if t, ok := a.Type().(*cudatile.TileType); !ok || t.Rank() != 0 {
			c.unsupported(op, "with a parameter of type %s", ir.ShortType(a.Type()))
			return
		}
	}
	c.region(op, op.Region(0), entry.Region(0))
}

// region converts the blocks of a region; op is where to complain.
func (c *converter) region(op *ir.Op, from, to *ir.Region) {
	block, at := c.b.Place()
	loc := c.b.Loc
	defer func() { c.b.SetPlace(block, at); c.b.Loc = loc }()
	for _, b := range from.Blocks() {
		nb := to.AddBlock()
		for _, a := range b.Args() {
			na := nb.AddArg(c.typ(op, a.Type()))
			na.NameHint, na.Loc = a.NameHint, a.Loc
			c.values[a] = na
		}
		c.b.AtEnd(nb)
		for o := b.First(); o != nil && c.err == nil; o = o.Next() {
			c.b.Loc = o.Loc()
			c.op(o)
		}
	}
}

func (c *converter) op(op *ir.Op) {
	row, ok := conversions[op.Def.Name]
	switch {
	case op.Def.Dialect != cudatile.Name || !ok:
		c.unsupported(op, "")
	case !row.multicast && onMulticast(op):
		c.unsupported(op, "on multicast memory")
	case row.convert != nil:
		row.convert(c, op)
	default:
		c.oneToOne(op, row)
	}
}

// oneToOne makes the op of a row: operands and attributes go over by name, regions are converted inside.
func (c *converter) oneToOne(op *ir.Op, row conversion) *ir.Op {
	def := tileaa.Dialect.Op(row.to)
	args := tileaa.Args{}
	for i := range def.Args {
		a := &def.Args[i]
		from := row.source(op.Def, a.Name)
		if from == "" {
			continue
		}
		if a.Attr == ir.Operand {
			args[a.Name] = c.operands(op.OperandGroupNamed(from))
		} else if v := c.attribute(op, a, op.AttrNamed(from)); v != nil {
			args[a.Name] = v
		}
	}
	types := make([]ir.Type, op.NumResults())
	for i, r := range op.Results() {
		types[i] = c.typ(op, r.Type())
	}
	if len(types) < len(def.Results) && def.Results[len(types)].Mode == ir.Single {
		types = append(types, tileaa.Token(c.Ctx)) // print of 13.1 has no token
	}
	if c.err != nil {
		return nil
	}
	out := tileaa.Create(c.b, row.to, types, args)
	c.results(op, out)
	for i, r := range op.Regions() {
		c.region(op, r, out.Region(i))
	}
	return out
}

// results maps the results of op to those of its conversion, one to one.
func (c *converter) results(op, out *ir.Op) {
	for i, r := range op.Results() {
		c.result(r, out.Result(i))
	}
}

func (c *converter) result(from, to *ir.Value) {
	if to.NameHint == "" {
		to.NameHint = from.NameHint
	}
	c.values[from] = to
}

func (c *converter) operand(v *ir.Value) *ir.Value {
	if v == nil {
		return nil
	}
	w := c.values[v]
	if w == nil {
		panic("BUG: a value is used before its definition was converted")
	}
	return w
}

func (c *converter) operands(vs []*ir.Value) []*ir.Value {
	out := make([]*ir.Value, len(vs))
	for i, v := range vs {
		out[i] = c.operand(v)
	}
	return out
}

// attribute is an attribute in the kinds of TileAA: enumerations by value, flags as units, constants and predicates of
// this dialect. nil leaves it out.
func (c *converter) attribute(op *ir.Op, def *ir.ArgDef, a ir.Attribute) ir.Attribute {
	switch v := a.(type) {
	case nil:
		return nil
	case ir.EnumAttr:
		if def.Attr == ir.EnumKind {
			return def.Enum.Of(v.Value)
		}
	case ir.BoolAttr:
		if def.Attr == ir.UnitKind {
			if v {
				return ir.UnitAttr{}
			}
			return nil
		}
	case ir.IntegerAttr:
		if def.Attr == ir.I64Kind {
			return tileaa.I64(c.Ctx, v.SInt())
		}
	case ir.BoolArray:
		for _, x := range v {
			if x {
				return v
			}
		}
		return nil
	case *ir.DenseAttr:
		return c.dense(op, v)
	case *cudatile.DivBy:
		p := &tileaa.DivByAttr{Divisor: v.Divisor}
		if v.Every != nil && v.Along != nil {
			p.Grouped, p.Every, p.Along = true, *v.Every, *v.Along
		}
		return p
	case *cudatile.SameElements:
		return &tileaa.SameElementsAttr{Groups: v.Values}
	case *cudatile.Bounded:
		return &tileaa.BoundedAttr{Lower: v.Lower, Upper: v.Upper}
	}
	return a
}

// dense is a constant with its type converted; the bytes are shared.
func (c *converter) dense(op *ir.Op, a ir.Attribute) ir.Attribute {
	d, ok := a.(*ir.DenseAttr)
	if !ok {
		c.unsupported(op, "with a value of another form")
		return nil
	}
	return &ir.DenseAttr{Type: c.typ(op, d.Type), Data: d.Data, Splat: d.Splat}
}

// typ converts a type. Views have none: they do not flow where types are asked for.
func (c *converter) typ(op *ir.Op, t ir.Type) ir.Type {
	if n, ok := c.types[t]; ok {
		return n
	}
	var n ir.Type
	switch t := t.(type) {
	case *cudatile.TileType:
		n = tileaa.Tile(c.Ctx, c.typ(op, t.Elem), t.Shape...)
	case *cudatile.PtrType:
		n = tileaa.Ptr(c.Ctx, t.Elem)
	case *cudatile.TokenType:
		n = tileaa.Token(c.Ctx)
	case *ir.IntegerType, *ir.FloatType:
		n = t
	default:
		c.unsupported(op, "with a value of type %s", ir.ShortType(t))
		n = tileaa.Token(c.Ctx)
	}
	c.types[t] = n
	return n
}
