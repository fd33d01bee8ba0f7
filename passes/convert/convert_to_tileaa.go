// Package convert turns cuda_tile into TileAA.
package convert

import (
	"fmt"
	"slices"

	"tileiras/codegen/target"
	"tileiras/dialects/cudatile"
	cudadef "tileiras/dialects/cudatile/def"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/printf"
	"tileiras/passes/pass"
)

// ToTileAA builds the TileAA module of a cuda_tile module and puts it in its place. Most operations have one of the
// same meaning: a row of the table says which. Views become explicit:
//
//	%v = make_tensor_view %p, shape, strides      %m = make_memref %p, shape, strides
//	%w = make_partition_view %v               =>  (nothing: the type of %w says how the array is cut)
//	%t = load_view_tko %w[%i, %j]                 %b = block_tile %m[%i, %j]
//	                                              %t = tiled_load %b
func ToTileAA(s *pass.State) error {
	if s.Module.Def.Dialect == tileaa.Dialect.Name {
		return nil
	}
	s.Ctx.Register(tileaa.Dialect)
	c := &converter{State: s, b: ir.NewBuilder(s.Ctx), values: ir.Mapping{}, types: map[ir.Type]ir.Type{}, sources: map[*ir.OpDef][]int{}}
	module := c.module(s.Module)
	if c.err != nil {
		return c.err
	}
	s.Module = module
	return nil
}

type converter struct {
	*pass.State
	b *ir.Builder
	// values maps cuda_tile values to TileAA ones; a view of any kind is its memref.
	values  ir.Mapping
	types   map[ir.Type]ir.Type
	sources map[*ir.OpDef][]int // cache of conversion.sources
	combine *ir.Op              // the reduce or scan whose region is converted: what is in it works on single elements
	err     error               // the first thing that is not supported
}

// unsupported records the first thing that stops the conversion. The walk continues, so that converters need not return errors; what it builds is dropped.
func (c *converter) unsupported(op *ir.Op, format string, args ...any) {
	if c.err != nil {
		return
	}
	e := &ir.NotSupported{Op: op.Def.Name, What: fmt.Sprintf(format, args...), Loc: op.Loc()}
	if c.Target != nil {
		e.Target = c.Target.Name
	}
	c.err = e
}

func (c *converter) module(m *ir.Op) *ir.Op {
	c.b.Loc = m.Loc()
	out := ir.NewOp(ir.State{Def: tileaa.Dialect.Row(tileaa.OpModule), Loc: m.Loc()})
	if from, ok := ir.As[cudatile.Module](m); ok {
		tileaa.Module{Op: out}.SetSymName(from.SymName())
		if p := from.Producer(); p != "" {
			tileaa.Module{Op: out}.SetProducer(p)
		}
	}
	body := out.Region(0).AddBlock()
	for op := m.Body().First(); op != nil && c.err == nil; op = op.Next() {
		c.b.AtEnd(body).Loc = op.Loc()
		switch op.Code() {
		case cudatile.OpGlobal:
			c.global(cudatile.Global{Op: op})
		case cudatile.OpEntry:
			c.entry(cudatile.Entry{Op: op})
		default:
			c.unsupported(op, "in a module")
		}
	}
	return out
}

func (c *converter) global(g cudatile.Global) {
	value := c.dense(g.Op, g.Value())
	opts := tileaa.GlobalOptions{Constant: g.Constant(), Private: g.SymbolVisibility() == cudadef.Private}
	if a := g.Alignment(); a > 0 {
		opts.Alignment = &a
	}
	if c.err == nil {
		tileaa.NewGlobal(c.b, g.SymName(), value, opts)
	}
}

func (c *converter) entry(e cudatile.Entry) {
	entry := tileaa.NewEntry(c.b, e.SymName(), tileaa.EntryOptions{Hints: e.OptimizationHints()})
	for _, a := range e.Body().Args() {
		if t, ok := a.Type().(*cudatile.TileType); !ok || t.Rank() != 0 {
			c.unsupported(e.Op, "with a parameter of type %s", ir.ShortType(a.Type()))
			return
		}
	}
	c.region(e.Op, e.Op.Region(0), entry.Op.Region(0))
	var space target.ParamSpace
	for _, a := range entry.Body().Args() {
		bytes := int64(tileaa.ElemBytes(tileaa.AsTile(a).Elem))
		space.Add(bytes, bytes)
	}
	if space > target.MaxParams {
		c.unsupported(e.Op, "with %d bytes of parameters, %d are the most: pass a pointer to the others", space, target.MaxParams)
	}
}

// region converts the blocks of a region; errors name op.
func (c *converter) region(op *ir.Op, from, to *ir.Region) {
	block, at := c.b.Place()
	loc := c.b.Loc
	defer func() { c.b.SetPlace(block, at); c.b.Loc = loc }()
	for _, b := range from.Blocks() {
		nb := to.AddBlock()
		for _, a := range b.Args() {
			c.Step()
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
	row := conversions.Of(op.Code())
	switch {
	case !row.known():
		c.unsupported(op, "")
	case !row.multicast && onMulticast(op):
		c.unsupported(op, "on multicast memory")
	case c.combine != nil && !ofElements(op):
		c.unsupported(op, "of tiles in the region of a %s", c.combine.Def.Name)
	case row.convert != nil:
		row.convert(c, op)
	default:
		c.oneToOne(op, row)
	}
}

// oneToOne makes the op of a row: operands and attributes go over by name, regions are converted inside.
func (c *converter) oneToOne(op *ir.Op, row conversion) *ir.Op {
	def := tileaa.Dialect.Row(row.to)
	s := ir.State{Def: def}
	sources, ok := c.sources[op.Def]
	if !ok {
		sources = row.sources(op.Def)
		c.sources[op.Def] = sources
	}
	for i, from := range sources {
		a := &def.Args[i]
		switch {
		case a.Attr != ir.Operand && from < 0:
			s.Attrs = append(s.Attrs, nil)
		case a.Attr != ir.Operand:
			s.Attrs = append(s.Attrs, c.attribute(op, a, op.AttrOf(from)))
		case from < 0:
			s.AddOperand()
		default:
			s.AddOperand(c.operands(op.OperandGroup(from))...)
		}
	}
	if def.FixedOperands() {
		s.Groups = nil
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
	s.Types = types
	out := c.b.Create(s)
	c.results(op, out)
	if combines(op) {
		c.combine = op
		defer func() { c.combine = nil }()
	}
	for i, r := range op.Regions() {
		c.region(op, r, out.Region(i))
	}
	return out
}

func combines(op *ir.Op) bool { return op.Code() == cudatile.OpReduce || op.Code() == cudatile.OpScan }

// ofElements reports whether an op makes single elements of single elements.
func ofElements(op *ir.Op) bool {
	return !combines(op) && !slices.ContainsFunc(slices.Concat(op.Operands(), op.Results()), func(v *ir.Value) bool {
		t, ok := v.Type().(*cudatile.TileType)
		return ok && t.NumElements() > 1
	})
}

// print gives each conversion of the format the length of what is passed.
func (c *converter) print(op *ir.Op) {
	from := cudatile.PrintTko{Op: op}
	var elems []ir.Type
	for _, a := range from.Args() {
		elems = append(elems, a.Type().(*cudatile.TileType).Elem)
	}
	format, err := printf.Fit(from.Str(), elems)
	if err != nil {
		c.unsupported(op, "with %v", err)
		return
	}
	if out := c.oneToOne(op, conversions.Of(op.Code())); out != nil {
		tileaa.Print{Op: out}.SetFormat(format)
	}
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
		if e := def.Enum.Of(v.Value); !def.IsDefault(e) {
			return e
		}
		return nil // the default is left out, as the text does
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
		if v.Every != nil { // and Along
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
func (c *converter) dense(op *ir.Op, d *ir.DenseAttr) *ir.DenseAttr {
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
