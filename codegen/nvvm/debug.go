package nvvm

import (
	"path"
	"slices"

	"github.com/llir/llvm/ir/metadata"

	"tileiras/codegen/ptxop"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// debugInfo is the source files of the module by name.
type debugInfo struct{ files map[string]*metadata.DIFile }

// sourceText is what a comment says of an operation: its name, the shape of the tile that it makes or moves, and its place in the program if
// source lines are asked for.
func sourceText(op *ir.Op, lines bool) string {
	text := op.Def.Name
	if shape, elem, ok := movedTile(op); ok {
		text += " " + tileaa.ShapeText(shape, elem)
	}
	if at := ir.ShortPlace(op.Loc()); lines && at != "" {
		text += " at " + at
	}
	return text
}

// movedTile is the shape and elements of the first tile among the results of an operation, or among its operands if it has no such result.
func movedTile(op *ir.Op) (shape []int64, elem ir.Type, ok bool) {
	if op.NumRegions() > 0 {
		return nil, nil, false
	}
	for _, v := range slices.Concat(op.Results(), op.Operands()) {
		if shape, elem, ok = tileaa.ShapeAndElem(v.Type()); ok && len(shape) > 0 {
			return shape, elem, true
		}
	}
	return nil, nil, false
}

// location is the debug location of an operation; nil when it has none or nobody asked.
func (f *fn) location(op *ir.Op) *metadata.Attachment {
	if !f.o.Lines() {
		return nil
	}
	file, line, column, ok := ir.FileLine(op.Loc())
	if !ok {
		return nil
	}
	if f.debug.files == nil {
		f.debug.files = map[string]*metadata.DIFile{}
	}
	scope := f.debug.files[file]
	if scope == nil {
		dir, name := path.Split(file)
		scope = &metadata.DIFile{MetadataID: -1, Filename: name, Directory: path.Clean(dir)}
		if dir == "" {
			scope.Directory = ""
		}
		f.debug.files[file] = scope
		f.m.MetadataDefs = append(f.m.MetadataDefs, scope)
	}
	// LLVM wants a subprogram as the scope; one per kernel and file.
	sub := f.subprogram(scope)
	return &metadata.Attachment{Name: ptxop.Debug, Node: &metadata.DILocation{MetadataID: -1, Line: int64(line), Column: int64(column), Scope: sub}}
}

func (f *fn) subprogram(file *metadata.DIFile) *metadata.DISubprogram {
	if s := f.scopes[file]; s != nil {
		return s
	}
	s := &metadata.DISubprogram{MetadataID: -1, Distinct: true, Name: f.name, LinkageName: f.name, File: file, Scope: file}
	if f.scopes == nil {
		f.scopes = map[*metadata.DIFile]*metadata.DISubprogram{}
	}
	f.scopes[file] = s
	f.m.MetadataDefs = append(f.m.MetadataDefs, s)
	return s
}
