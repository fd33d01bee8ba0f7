package cudatile

import (
	"path"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// unknownFile stands for a source file that no location names.
const unknownFile = "<unknown>"

// SynthesizeDebugInfoScopes gives functions without debug information a subprogram of their name, and everything inside a
// place in it, so that plain source locations reach a debugger.
//
//	entry @k() {                             entry @k() {
//	  return loc("k.py":12:4)         =>       return loc(#cuda_tile.di_loc<loc("k.py":12:4) in #k>)
//	} loc("k.py":10:1)                       } loc(#cuda_tile.di_loc<loc("k.py":10:1) in #k>)
func SynthesizeDebugInfoScopes(s *pass.State) error {
	for _, f := range s.Functions() {
		if _, has := f.Loc().(*cudatile.DILoc); has {
			continue
		}
		unit := &cudatile.DICompileUnit{File: &cudatile.DIFile{Name: unknownFile}}
		if m := f.ParentOp(); m != nil {
			if place := filePlace(m.Loc()); place != nil {
				unit.File = fileOf(place)
			}
		}
		addScope(f, unit)
	}
	return nil
}

// addScope puts a function and everything in it into a new subprogram of a unit.
func addScope(f *ir.Op, unit *cudatile.DICompileUnit) {
	file, place := unit.File, filePlace(f.Loc())
	if place == nil {
		place = &ir.FileLoc{File: file.Name, Line: 1, Col: 1}
	} else {
		file = fileOf(place)
	}
	name := pass.SymbolName(f)
	sub := &cudatile.DISubprogram{File: file, Line: place.Line, Name: name, LinkageName: name, Unit: unit, ScopeLine: place.Line}
	ir.Walk(f, ir.PreOrder, func(op *ir.Op) {
		at := filePlace(op.Loc())
		if at == nil {
			at = place
		}
		op.SetLoc(&cudatile.DILoc{Scope: sub, File: at.File, Line: at.Line, Col: at.Col})
	})
}

func fileOf(place *ir.FileLoc) *cudatile.DIFile {
	dir, name := path.Split(place.File)
	if dir != "" {
		dir = path.Clean(dir)
	}
	return &cudatile.DIFile{Name: name, Dir: dir}
}

// filePlace is the place in a source file that a location stands for, or nil: of a name its child's, of a fused location
// the first member's that is one itself, of a call site the caller's.
func filePlace(l ir.Location) *ir.FileLoc {
	switch l := l.(type) {
	case *ir.FileLoc:
		return l
	case *cudatile.DILoc:
		return &ir.FileLoc{File: l.File, Line: l.Line, Col: l.Col}
	case *ir.NameLoc:
		return filePlace(l.Child)
	case *ir.FusedLoc:
		for _, m := range l.Locs {
			if place, ok := m.(*ir.FileLoc); ok {
				return place
			}
		}
	case *ir.CallSiteLoc:
		return filePlace(l.Caller)
	}
	return nil
}
