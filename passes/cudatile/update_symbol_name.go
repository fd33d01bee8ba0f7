package cudatile

import (
	"fmt"
	"strings"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
	"tileiras/passes/pass"
)

var (
	SymbolToRename = pass.Option{Name: "symbol-to-rename", Default: "", Help: "The symbol, as the path to it: module::function"}
	RenameScope    = pass.Option{Name: "scope", Default: "", Help: "The operation inside which uses are renamed, as the path to it; the whole module without"}
	NewSymbolName  = pass.Option{Name: "new-name", Default: "", Help: "Its new name"}
	UpdateUses     = pass.Option{Name: "update-uses", Default: "false", Help: "Whether operations that name the symbol name it so too"}
)

// UpdateSymbolName renames a symbol, and with it what debug information calls it: the linkage name of its subprogram, which
// must be that of the function. The name of the subprogram, which the user reads, stays.
func UpdateSymbolName(s *pass.State) error {
	symbol, err := symbolAt(s, s.Option(SymbolToRename))
	if err != nil {
		return err
	}
	name := s.Option(NewSymbolName)
	if name == "" {
		return fmt.Errorf("option %s is missing", NewSymbolName.Name)
	}
	scope := s.Module
	if path := s.Option(RenameScope); path != "" {
		if scope, err = symbolAt(s, path); err != nil {
			return err
		}
	}
	if !ir.IsProperAncestor(scope, symbol) {
		s.Ctx.Diags.Add(ir.Error, symbol.Loc(), "attempted to update symbol names in a scope that did not enclose the symbol itself").
			Note(scope.Loc(), "scope defined here")
		return pass.ErrInvalid
	}
	r := &renaming{old: pass.SymbolName(symbol), new: name, made: map[*cudatile.DISubprogram]*cudatile.DISubprogram{}}
	ir.Cast[cudatile.SymbolOp](symbol).SetSymName(name)
	ir.Walk(scope, ir.PreOrder, func(op *ir.Op) {
		op.SetLoc(r.location(op.Loc()))
		if s.Option(UpdateUses) == "true" {
			r.uses(op)
		}
	})
	return nil
}

// symbolAt finds an op by its path, "module::function"; the path may begin with the module itself.
func symbolAt(s *pass.State, path string) (*ir.Op, error) {
	at := s.Module
	for i, name := range strings.Split(path, "::") {
		if i == 0 && pass.SymbolName(at) == name {
			continue
		}
		var found *ir.Op
		if b := at.Body(); b != nil {
			for op := b.First(); op != nil && found == nil; op = op.Next() {
				if pass.SymbolName(op) == name {
					found = op
				}
			}
		}
		if found == nil {
			return nil, fmt.Errorf("there is no symbol '%s'", path)
		}
		at = found
	}
	return at, nil
}

type renaming struct {
	old, new string
	made     map[*cudatile.DISubprogram]*cudatile.DISubprogram
}

// uses renames the references of an op.
func (r *renaming) uses(op *ir.Op) {
	for i, a := range op.Attrs() {
		if op.Def.AttrDef(i).Attr == ir.SymbolRefKind && ir.AttrEqual(a, ir.SymbolAttr(r.old)) {
			op.SetAttr(i, ir.SymbolAttr(r.new))
		}
	}
}

// location renames inside a location.
func (r *renaming) location(l ir.Location) ir.Location {
	switch l := l.(type) {
	case *cudatile.DILoc:
		c := *l
		c.Scope = r.scope(l.Scope)
		return &c
	case *ir.NameLoc:
		return &ir.NameLoc{Name: l.Name, Child: r.location(l.Child)}
	case *ir.FusedLoc:
		c := &ir.FusedLoc{Meta: l.Meta}
		for _, m := range l.Locs {
			c.Locs = append(c.Locs, r.location(m))
		}
		return c
	case *ir.CallSiteLoc:
		return &ir.CallSiteLoc{Callee: r.location(l.Callee), Caller: r.location(l.Caller)}
	}
	return l
}

func (r *renaming) scope(s cudatile.Scope) cudatile.Scope {
	switch s := s.(type) {
	case *cudatile.DILexicalBlock:
		c := *s
		c.Scope = r.scope(s.Scope)
		return &c
	case *cudatile.DISubprogram:
		if s.LinkageName != r.old {
			return s
		}
		if r.made[s] == nil {
			c := *s
			c.LinkageName = r.new
			r.made[s] = &c
		}
		return r.made[s]
	}
	return s
}
