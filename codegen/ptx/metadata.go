package ptx

import (
	"fmt"
	"path"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"

	"tileiras/codegen/ptxop"
)

// launch is what the annotations say about a kernel.
type launch struct {
	kernel  bool
	threads int64 // of a block; 0 = not said
	maxRegs int64
	cluster int64 // blocks in a cluster; 0 = no cluster
	dynamic int64 // bytes of dynamic shared memory
}

// launches reads !nvvm.annotations.
func launches(m *ir.Module) (map[*ir.Func]*launch, error) {
	all := map[*ir.Func]*launch{}
	of := func(f *ir.Func) *launch {
		if all[f] == nil {
			all[f] = &launch{}
		}
		return all[f]
	}
	for _, f := range m.Funcs {
		if f.CallingConv == enum.CallingConvPTXKernel {
			of(f).kernel = true
		}
	}
	def := m.NamedMetadataDefs[ptxop.Annotations]
	if def == nil {
		return all, nil
	}
	for _, node := range def.Nodes {
		t, ok := node.(*metadata.Tuple)
		if !ok || len(t.Fields) < 3 || len(t.Fields)%2 != 1 {
			return nil, fmt.Errorf("malformed !%s: want !{FN, !\"key\", i32 value, ...}", ptxop.Annotations)
		}
		f, ok := metadataValue(t.Fields[0]).(*ir.Func)
		if !ok {
			return nil, fmt.Errorf("malformed !%s: the first field is no function", ptxop.Annotations)
		}
		for i := 1; i < len(t.Fields); i += 2 {
			key, ok := t.Fields[i].(*metadata.String)
			value, ok2 := fieldInt(t.Fields[i+1])
			if !ok || !ok2 || value < 0 {
				return nil, fmt.Errorf("malformed !%s of @%s: want !\"key\", i32 value", ptxop.Annotations, f.Name())
			}
			l := of(f)
			switch key.Value {
			case ptxop.KeyKernel:
				l.kernel = value != 0
			case ptxop.KeyThreads:
				l.threads = value
			case ptxop.KeyMaxRegs:
				l.maxRegs = value
			case ptxop.KeyClusterCTAs:
				l.cluster = value
			case ptxop.KeyDynShared:
				l.dynamic = value
			default:
				return nil, fmt.Errorf("not supported: annotation %q of @%s", key.Value, f.Name())
			}
		}
	}
	return all, nil
}

// metadataValue returns the LLVM value in a metadata field, nil if it has none.
func metadataValue(f metadata.Field) any {
	if v, ok := f.(*metadata.Value); ok {
		return v.Value
	}
	return f
}

func fieldInt(f metadata.Field) (int64, bool) {
	c, ok := metadataValue(f).(*constant.Int)
	if !ok || !c.X.IsInt64() {
		return 0, false
	}
	return c.X.Int64(), true
}

// tupleInt reads !{i32 N}.
func tupleInt(n metadata.MDNode) (int64, bool) {
	t, ok := n.(*metadata.Tuple)
	if !ok || len(t.Fields) != 1 {
		return 0, false
	}
	return fieldInt(t.Fields[0])
}

// addMeta adds a debug location or a note to the meta with number base and
// returns the number of the result.
func (s *selector) addMeta(a *metadata.Attachment, base int32) int32 {
	m := s.f.metas[base]
	switch node := a.Node.(type) {
	case *metadata.DILocation:
		if !s.options.Lines() {
			return base
		}
		file := fileOf(node.Scope, 0)
		if file == nil {
			return base
		}
		m.file, m.line, m.column = s.fileNumber(file), int(node.Line), int(node.Column)
	case *metadata.Tuple:
		if len(node.Fields) != 1 {
			return base
		}
		text, ok := node.Fields[0].(*metadata.String)
		if !ok {
			return base
		}
		m.note = text.Value
	default:
		return base
	}
	if n, ok := s.metaOf[m]; ok {
		return n
	}
	s.f.metas = append(s.f.metas, m)
	n := int32(len(s.f.metas) - 1)
	s.metaOf[m] = n
	return n
}

// scopeDepth bounds the nesting of debug scopes.
const scopeDepth = 1000

// fileOf returns the file of a debug scope.
func fileOf(scope metadata.Field, depth int) *metadata.DIFile {
	if depth > scopeDepth {
		return nil
	}
	switch n := scope.(type) {
	case *metadata.DIFile:
		return n
	case *metadata.DISubprogram:
		if n.File != nil {
			return n.File
		}
		return fileOf(n.Scope, depth+1)
	case *metadata.DILexicalBlock:
		if n.File != nil {
			return n.File
		}
		return fileOf(n.Scope, depth+1)
	case *metadata.DILexicalBlockFile:
		return n.File
	case *metadata.DICompileUnit:
		return n.File
	}
	return nil
}

// fileNumber returns the number of a source file in the `.file` directives.
func (s *selector) fileNumber(file *metadata.DIFile) int {
	name := file.Filename
	if file.Directory != "" && !path.IsAbs(name) {
		name = path.Join(file.Directory, name)
	}
	for i, f := range s.files.names {
		if f == name {
			return i + 1
		}
	}
	s.files.names = append(s.files.names, name)
	return len(s.files.names)
}

// sourceFiles numbers the source files of a module.
type sourceFiles struct{ names []string }
