package ptx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llir/llvm/ir"

	"tileiras/codegen/local"
	"tileiras/codegen/options"
	"tileiras/codegen/ptxop"
	"tileiras/codegen/target"
	"tileiras/ir/budget"
)

// Options of Emit.
type Options struct {
	Target *target.Target
	options.Code
	Budget *budget.Budget
	Header []string // more lines of the comment that the text begins with
}

// tileVersion is the first PTX version with the directive `.language`.
var tileVersion = target.V(9, 2)

// Module is a translated module: its text, and how its kernels are launched.
type Module struct {
	Text    []byte
	Version target.PTX // of the text
	Target  string     // of the text: "sm_90", or "sm_90a" where an instruction needs it
	Kernels []Launch
}

// Launch is what a launch of a kernel must know. Sizes are bytes.
type Launch struct {
	Name          string
	Threads       int64 // of a block, along x; 0 = any
	Cluster       int64 // blocks in a cluster, along x; 1 = no cluster
	SharedStatic  int64
	SharedDynamic int64 // to be asked for at the launch
	MaxRegisters  int64 // .maxnreg, 0 = not said
	Params        []Param
}

// Param is a parameter of a kernel.
type Param struct {
	Name string // as the PTX calls it
	Type string // ".u64"
	Size int64
}

// Emit translates a module of kernels to PTX text. Of the module it changes only
// the numbers of local values (codegen/local). An error names the function and
// the block; one that begins with "BUG:" is a broken promise of the producer.
func Emit(m *ir.Module, o Options) ([]byte, error) {
	out, err := EmitModule(m, o)
	if err != nil {
		return nil, err
	}
	return out.Text, nil
}

// EmitModule is Emit with what a launch must know.
func EmitModule(m *ir.Module, o Options) (*Module, error) {
	if o.Target == nil {
		return nil, fmt.Errorf("no target given")
	}
	for _, g := range m.Globals {
		if err := spellable(g.Name()); err != nil {
			return nil, err
		}
	}
	annotations, err := launches(m)
	if err != nil {
		return nil, err
	}
	e := &emitter{module: m, options: &o, version: o.Target.PTX, own: namesBeside(m, o.Budget), places: make(map[*ir.Global]int, len(m.Globals))}
	for i, g := range m.Globals {
		e.places[g] = i
	}
	for _, f := range m.Funcs {
		l := annotations[f]
		switch {
		case l != nil && l.kernel:
			err := spellable(f.Name())
			if err == nil {
				err = e.kernel(f, l)
			}
			if err != nil {
				return nil, err
			}
		case len(f.Blocks) > 0:
			return nil, fmt.Errorf("@%s: not supported: a function that is not a kernel", f.Name())
		case f.Name() != ptxop.Vprintf:
			return nil, fmt.Errorf("@%s: not supported: an external function", f.Name())
		}
	}
	out := &Module{}
	out.Version, out.Target = e.header()
	if limit, ok := target.ParsePTX(o.MaxPTX); ok && out.Version > limit {
		return nil, fmt.Errorf("%s needs PTX %s, and at most %s may be used", e.reason(), out.Version, limit)
	}
	if out.Text, err = e.print(); err != nil {
		return nil, err
	}
	for _, k := range e.kernels {
		out.Kernels = append(out.Kernels, k.launchInfo())
	}
	return out, nil
}

// header is the version and the target that the module needs.
func (e *emitter) header() (version target.PTX, name string) {
	version, name = e.version, e.options.Target.Name
	if e.suffix {
		name = e.options.Target.ArchName()
	}
	if e.options.ABI == options.Tile {
		version = max(version, tileVersion)
		name = e.options.Target.ArchName()
		if e.options.Target.Arch {
			version = max(version, e.options.Target.ArchPTX)
		}
	}
	return version, name
}

// reason is what determines the version: an instruction, or the target.
func (e *emitter) reason() string {
	version, name := e.header()
	switch {
	case e.newest != "" && e.version == version:
		return e.newest
	case e.options.ABI == options.Tile && version == tileVersion:
		return "--abi=tile"
	}
	return name
}

// launchInfo is what a launch must know of a kernel.
func (k *kernel) launchInfo() Launch {
	l := Launch{Name: k.name, Threads: k.launch.threads, Cluster: max(k.launch.cluster, 1), MaxRegisters: k.launch.maxRegs}
	if k.dynamic {
		l.SharedDynamic = k.bytes
	} else {
		l.SharedStatic = k.bytes
	}
	for i, param := range k.src.Params {
		k.budget.Step()
		size, _, _ := sizeOf(param.Typ)
		l.Params = append(l.Params, Param{Name: k.paramName(i), Type: strings.Fields(paramType(param))[0], Size: size})
	}
	return l
}

// spellable returns an error unless PTX can have a name.
func spellable(name string) error {
	if !ptxop.IsName(name) {
		return fmt.Errorf("not supported: the name @%s: %s", name, ptxop.NameRule)
	}
	return nil
}

// emitter collects the kernels of a module.
type emitter struct {
	module  *ir.Module
	options *Options
	natives natives
	files   sourceFiles
	kernels []*kernel
	version target.PTX // the lowest that serves all kernels so far
	newest  string     // the instruction or feature that needs it; "": the target does
	suffix  bool       // an architecture-specific instruction was used
	vprintf bool
	own     *ownNames
	places  map[*ir.Global]int // of the variables in the module
}

// kernel is a function ready to be printed.
type kernel struct {
	*function
	src    *ir.Func
	launch *launch
	shared []*ir.Global // in the order of the module
	bytes  int64        // of shared
	// dynamic: shared is declared `.extern`, its size is given at the launch.
	dynamic bool
}

func (e *emitter) kernel(f *ir.Func, l *launch) error {
	if t := e.options.Target; l.cluster > int64(t.ClusterMax) {
		return fmt.Errorf("@%s: not supported: a cluster of %d blocks on %s", f.Name(), l.cluster, t.Name)
	}
	size := len(f.Params)
	for _, b := range f.Blocks {
		size += len(b.Insts)
	}
	s := &selector{
		natives: e.natives,
		f:       &function{name: f.Name(), own: e.own, budget: e.options.Budget, regs: make([]regInfo, 1, size*3/2+64), metas: make([]meta, 1), classNames: map[reg]string{}},
		options: e.options,
		src:     f,
		vals:    make([]operand, local.Assign(f)),
		asmRows: map[*ir.InlineAsm]*ptxop.Row{},
		globals: map[*ir.Global]int32{},
		metaOf:  map[meta]int32{},
		inReg:   map[constantKey]reg{},
		files:   &e.files,
	}
	if err := s.selectFunc(); err != nil {
		return err
	}
	k := &kernel{function: s.f, src: f, launch: l}
	s.f.simplify(&s.natives)
	s.f.hideFactors(&s.natives)
	if err := s.f.destruct(enoughRegisters); err != nil {
		return err
	}
	e.natives = s.natives
	if err := e.meetNeeds(k.function); err != nil {
		return err
	}
	if err := e.checkParams(f); err != nil {
		return err
	}
	if err := e.sharedMemory(k, s); err != nil {
		return err
	}
	e.kernels = append(e.kernels, k)
	return nil
}

// meetNeeds checks every instruction against the target and raises the version
// to what it asks for.
func (e *emitter) meetNeeds(f *function) error {
	t := e.options.Target
	var last *ptxop.Row
	for _, b := range f.blocks {
		for i := range b.insts {
			row := b.insts[i].row
			if row == last {
				continue
			}
			last = row
			if !row.Need.On(t) {
				return fmt.Errorf("@%s: not supported: %s on %s (it needs %s)", f.name, row.Name, t.Name, row.Need)
			}
			e.raise(row.Need, row.Name)
			e.suffix = e.suffix || row.Need.Arch != 0
			e.vprintf = e.vprintf || row.Name == "call.vprintf"
		}
	}
	return nil
}

// raise makes the version one that has what is needed.
func (e *emitter) raise(n target.Need, what string) {
	if v := n.Version(e.options.Target); v > e.version {
		e.version, e.newest = v, what
	}
}

// checkParams checks the size of a kernel's parameters, and raises the version
// to what it asks for.
func (e *emitter) checkParams(f *ir.Func) error {
	var space target.ParamSpace
	for _, p := range f.Params {
		size, align, err := sizeOf(p.Typ)
		if err != nil {
			return fmt.Errorf("@%s: %w", f.Name(), err)
		}
		space.Add(size, align)
	}
	if space > target.MaxParams {
		return fmt.Errorf("@%s: not supported: %d bytes of parameters, a kernel has %d at most", f.Name(), space, target.MaxParams)
	}
	if n := space.Need(); n != (target.Need{}) {
		e.raise(n, fmt.Sprintf("@%s with %d bytes of parameters", f.Name(), space))
	}
	return nil
}

// sharedMemory decides how the shared variables of a kernel are declared.
func (e *emitter) sharedMemory(k *kernel, s *selector) error {
	for g := range s.globals { // sorted behind: the order cannot matter
		if int(g.AddrSpace) == spaceShared {
			k.shared = append(k.shared, g)
		}
	}
	slices.SortFunc(k.shared, func(a, b *ir.Global) int { return e.places[a] - e.places[b] })
	for _, g := range k.shared {
		e.options.Budget.Step()
		size, align, err := sizeOf(g.ContentType)
		if err != nil {
			return fmt.Errorf("@%s: %w", g.Name(), err)
		}
		align = max(align, int64(g.Align))
		if g.Init == nil { // declared external: the launch gives the size
			size, k.dynamic = k.launch.dynamic, true
		}
		k.bytes = alignUp(k.bytes, align) + size
	}
	if k.bytes > int64(e.options.Target.SharedOptIn) {
		return fmt.Errorf("@%s: %d bytes of shared memory, a block of %s has %d", k.name, k.bytes, e.options.Target.Name, e.options.Target.SharedOptIn)
	}
	if e.options.ABI != options.Tile && k.bytes > int64(e.options.Target.SharedStatic) {
		k.dynamic = true
	}
	if k.dynamic && len(k.shared) > 1 {
		return fmt.Errorf("@%s: not supported: several shared variables of together %d bytes", k.name, k.bytes)
	}
	if k.dynamic && e.options.ABI == options.Tile && k.shared[0].Init == nil {
		return fmt.Errorf("@%s: not supported: dynamic shared memory in the tile convention", k.name)
	}
	return nil
}

// ownNames are how names begin that a kernel declares inside, where they would hide variables of the module.
type ownNames struct {
	param string // of a parameter, behind the name of its kernel
	depot string // of its local memory
	label string
}

// namesBeside are names that no variable or function has.
func namesBeside(m *ir.Module, b *budget.Budget) *ownNames {
	var names []string
	for _, g := range m.Globals {
		b.Step()
		names = append(names, g.Name())
	}
	for _, f := range m.Funcs {
		b.Step()
		names = append(names, f.Name())
	}
	free := func(part string) string {
		for slices.ContainsFunc(names, func(name string) bool { b.Step(); return strings.Contains(name, part) }) {
			part = "_" + part
		}
		return part
	}
	return &ownNames{param: free("_param_"), depot: free("local_depot"), label: free("$B")}
}

// paramName is the PTX name of parameter i.
func (f *function) paramName(i int) string { return f.name + f.own.param + strconv.Itoa(i) }
