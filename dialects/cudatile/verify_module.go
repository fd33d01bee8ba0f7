package cudatile

import "tileiras/ir"

func moduleRules() {
	rule(verifyModule, OpModule)
	rule(verifyEntry, OpEntry)
	rule(verifyGlobal, OpGlobal)
	rule(verifyGetGlobal, OpGetGlobal)
}

// verifyModule checks the debug scopes of what stands in a module: only functions have one.
func verifyModule(c *ir.Context, op *ir.Op) bool {
	for _, o := range items(op) {
		if s := scopeOf(o.Loc()); s != nil && !isFunction(o) {
			return c.Error(o, "invalid operation debug info scope: %s. Global variables must not have scope.", ir.AttrText(s))
		}
	}
	return true
}

func items(module *ir.Op) []*ir.Op {
	if b := module.Body(); b != nil {
		return b.Ops()
	}
	return nil
}

func verifyEntry(c *ir.Context, op *ir.Op) bool {
	ft, ok := Entry{op}.FunctionType().(*ir.FunctionType)
	switch {
	case !ok:
		return c.Error(op, "requires a function type")
	case len(ft.Results) > 0:
		return c.Error(op, "entry op must not return values")
	case op.Body().NumArgs() != len(ft.Inputs):
		return c.Error(op, "has %d arguments, but its type has %d", op.Body().NumArgs(), len(ft.Inputs))
	}
	for i, in := range ft.Inputs {
		if op.Body().Arg(i).Type() != in {
			return c.Error(op, "argument %d is %s, but the function type says %s", i, quoted(op.Body().Arg(i).Type()), quoted(in))
		}
		if t, ok := in.(*TileType); ok && t.Rank() != 0 {
			return c.Error(op, "entry op must have scalar types (rank 0 !cuda_tile.tile)")
		}
	}
	last := op.Body().Last()
	if last == nil || !last.Def.Traits.Has(ir.Terminator) {
		return c.Error(op, "requires a terminator at the end of its body")
	}
	return VerifyScopes(c, op)
}

// VerifyKernels checks what a launch needs beyond the rules of the dialect: a module holds entries and globals only, and the
// arguments of entries are tiles. The official compiler asks it of a module that it has read, after verifying it.
func VerifyKernels(c *ir.Context, module *ir.Op) bool {
	ok := true
	for _, o := range items(module) {
		if o.Code() != OpEntry && o.Code() != OpGlobal {
			ok = c.Error(module, "can only hold entries and globals, got '%s'", o.Name())
		}
		if o.Code() != OpEntry || o.Body() == nil {
			continue
		}
		for i, a := range o.Body().Args() {
			if _, tile := a.Type().(*TileType); !tile {
				c.Diags.Add(ir.Error, o.Loc(), "unsupported type in bytecode for entry argument #%d: %s; expected a rank-0 !cuda_tile.tile type",
					i, quoted(a.Type()))
				ok = false
			}
		}
	}
	return ok
}

func verifyGlobal(c *ir.Context, op *ir.Op) bool {
	value := Global{op}.Value()
	if value == nil {
		return c.Error(op, "requires a value")
	}
	t, ok := value.Type.(*TileType)
	if !ok || t.Rank() != 1 {
		return c.Error(op, "type must have rank 1")
	}
	if a := (Global{op}).Alignment(); a < 0 || a&(a-1) != 0 {
		return c.Error(op, "'alignment' must be power of two")
	}
	return denseFits(c, op, value, t)
}

// verifyHints checks the form of the optimization hints of any op: a dictionary for each architecture. What the entries
// mean is asked by who uses them; unknown ones are no error.
func verifyHints(c *ir.Context, op *ir.Op) bool {
	for i, a := range op.Attrs() {
		d, ok := a.(ir.DictAttr)
		if !ok || op.Def.AttrDef(i).Attr != ir.HintsKind {
			continue
		}
		seen := map[string]bool{}
		for _, e := range d {
			if seen[e.Name] {
				return c.Error(op, "duplicate optimization_hints key `%s`", e.Name)
			}
			seen[e.Name] = true
			if _, ok := e.Value.(ir.DictAttr); !ok {
				return c.Error(op, "expected dictionary attribute for optimization_hints entry `%s` got value=%s",
					e.Name, ir.AttrText(e.Value))
			}
		}
	}
	return true
}

func verifyGetGlobal(c *ir.Context, op *ir.Op) bool {
	name := GetGlobal{op}.Name()
	module := op
	for module != nil && module.Code() != OpModule {
		module = module.ParentOp()
	}
	g, ok := ir.As[Global](c.SymbolIn(module, name))
	if !ok {
		return c.Error(op, "'%s' does not reference a valid global", name)
	}
	if g.Value() == nil {
		return true // the global has its own error
	}
	t, ok := g.Value().Type.(*TileType)
	if ok && pointee(op.Result(0)) != t.Elem {
		return c.Error(op, "pointee type of result type %s does not match type %s of the global @%s",
			quoted(elem(op.Result(0))), quoted(t.Elem), name)
	}
	return true
}
