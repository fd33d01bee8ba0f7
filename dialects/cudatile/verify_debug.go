package cudatile

import "tileiras/ir"

// The rules of debug information: a function lies in a subprogram of its own name, and what is inside it in the same
// subprogram, seen from the outermost caller.

// VerifyScopes checks the debug scopes of a function and of everything inside it.
func VerifyScopes(c *ir.Context, entry *ir.Op) bool {
	if _, inlined := entry.Loc().(*ir.CallSiteLoc); inlined {
		return c.Error(entry, "invalid function debug info location: %s. Function location must not be a CallSiteLoc.", ir.LocText(entry.Loc()))
	}
	var outer *DISubprogram
	if scope := scopeOf(entry.Loc()); scope != nil {
		var ok bool
		if outer, ok = scope.(*DISubprogram); !ok {
			return c.Error(entry, "invalid function debug info scope: %s. Function location must have cuda_tile.di_subprogram debug info scope.",
				ir.AttrText(scope))
		}
		if name, _ := entry.SymbolName(); outer.LinkageName != name {
			return c.Error(entry, "invalid function debug info scope: %s. Function name \"%s\" does not match subprogram scope linkage name \"%s\".",
				ir.AttrText(outer), name, outer.LinkageName)
		}
	}
	good := true
	c.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		scope := scopeOf(op.Loc())
		if !good || scope == nil {
			return
		}
		sub := subprogram(scope)
		switch {
		case sub == nil || sub == outer:
		case outer == nil:
			good = c.Error(op, "invalid operation debug info scope: %s. Operation has debug info scope, but function debug info scope is undefined.",
				ir.AttrText(sub))
		case !sub.EqualAttr(outer):
			c.Diags.Add(ir.Error, op.Loc(), "invalid operation debug info scope: %s. Operation debug info scope does not match function debug info scope: %s.",
				ir.AttrText(sub), ir.AttrText(outer))
			good = false
		}
	})
	return good
}

// scopeOf is the scope that a location lies in, or nil: of a name its child's, of a fused location the first one's that
// has one, of a call site the caller's.
func scopeOf(l ir.Location) Scope {
	switch l := l.(type) {
	case *DILoc:
		return l.Scope
	case *ir.NameLoc:
		return scopeOf(l.Child)
	case *ir.FusedLoc:
		for _, m := range l.Locs {
			if s := scopeOf(m); s != nil {
				return s
			}
		}
	case *ir.CallSiteLoc:
		return scopeOf(l.Caller)
	}
	return nil
}
