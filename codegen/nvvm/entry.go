package nvvm

import (
	"fmt"
	"slices"
	"sort"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"

	"tileiras/codegen/ptxop"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// Address spaces of LLVM's NVPTX.
const (
	globalSpace = 1
	sharedSpace = 3
)

// sharedAlign is what the swizzles of shared memory need: 1024 bytes (PTX ISA, "Swizzling modes").
const sharedAlign = 1024

// entry makes the function of a kernel.
//
//	define ptx_kernel void @k(i8 addrspace(1)* %0, i32 %1) { ... }
//	!nvvm.annotations = !{!{..@k, !"kernel", i32 1, !"reqntidx", i32 128}}
func (l *lowerer) entry(op *ir.Op) {
	e := ir.Cast[tileaa.Entry](op)
	f := newFn(l, newKernel(e.SymName(), tileaa.PlanOf(op)))
	f.current = op
	var params []*llvm.Param
	for _, a := range op.Body().Args() {
		f.budget.Step()
		params = append(params, llvm.NewParam("", f.paramType(a)))
	}
	f.fn = l.m.NewFunc(f.name, types.Void, params...)
	f.fn.CallingConv = enum.CallingConvPTXKernel
	f.enterRole(f.plan.Warps+f.plan.Producers, 0, f.newBlock())
	bytes, _ := e.SharedBytes()
	if most := int64(f.target.SharedOptIn); bytes > most {
		panic(missing(fmt.Sprintf("a block of %s has %d bytes of shared memory, and it takes %d", f.target.Name, most, bytes)))
	}
	f.shared = int(bytes)
	f.sharedMemory(bytes)
	f.space = Space(op)
	ir.WalkOf(op, ir.PreOrder, func(o tileaa.Offset) { f.findNumbers(o.Offset()) })
	for i, a := range op.Body().Args() {
		f.tiles[a] = f.tileOf(elemOf(a), f.param(params[i], elemOf(a)))
	}
	f.block(op.Body())
	if !f.dead {
		f.cur.Term = llvm.NewRet(nil)
	}
	f.finishBlocks()
	f.annotate()
}

// paramType: pointers are global addresses; i1 and 8-bit types a byte.
func (f *fn) paramType(a *ir.Value) types.Type {
	t := tileaa.AsTile(a)
	if t == nil || len(t.Shape) > 0 {
		f.unsupported("parameter of type %s", ir.ShortType(a.Type()))
	}
	if _, ok := t.Elem.(*tileaa.PtrType); ok {
		p := types.NewPointer(types.I8)
		p.AddrSpace = globalSpace
		return p
	}
	return max(kindOf(t.Elem), kI8).llvm()
}

func (f *fn) param(p *llvm.Param, elem ir.Type) reg {
	k := kindOf(elem)
	switch {
	case k == kI1:
		return f.icmp(ne, f.register(kI8, p, nil), con(kI8, 0))
	case k == kI64:
		if _, ok := p.Typ.(*types.PointerType); ok {
			return result(f.builder, kI64, llvm.NewPtrToInt(p, types.I64))
		}
	}
	return f.register(k, p, nil)
}

// annotate writes the launch bounds.
func (f *fn) annotate() {
	add := func(name string, n int) {
		// LLVM wants the nodes of a named list as definitions of their own.
		node := &metadata.Tuple{MetadataID: -1, Fields: []metadata.Field{
			f.fn, &metadata.String{Value: name}, constant.NewInt(types.I32, int64(n)),
		}}
		f.m.MetadataDefs = append(f.m.MetadataDefs, node)
		f.annotations = append(f.annotations, node)
	}
	add(ptxop.KeyKernel, 1)
	add(ptxop.KeyThreads, f.plan.Threads())
	if f.plan.MaxReg > 0 {
		add(ptxop.KeyMaxRegs, f.plan.MaxReg)
	}
}

// sharedMemory declares the block's shared memory.
func (f *fn) sharedMemory(bytes int64) {
	if bytes == 0 {
		return
	}
	g := f.variable(f.fresh("global_smem_"+f.name), constant.NewUndef(types.NewArray(uint64(bytes), types.I8)), sharedSpace, sharedAlign)
	g.Linkage = enum.LinkageInternal
	f.smem = result(f.builder, kI32, llvm.NewPtrToInt(g, types.I32))
}

func alloca(f *fn, op *ir.Op) {
	a := ir.Cast[tileaa.Alloca](op)
	if a.Global() {
		f.unsupported("memory that other tile blocks see")
	}
	offset, _ := a.Offset()
	at := f.add(f.smem, i32(offset))
	f.set(op, f.tileOf(elemOf(op.Result(0)), f.op1("cvta.shared.u64", f.zext(at, kI64))))
}

// wordBytes is the alignment of variables of whole words, of which PTX then makes what they begin as rather than of bytes.
const wordBytes = 4

// global declares device memory with its initial content.
func (l *lowerer) global(v tileaa.Global) {
	d := v.Value()
	t := d.Type.(*tileaa.TileType)
	size := tileaa.ElemBytes(t.Elem)
	data := make([]byte, 0, int64(size)*t.NumElements())
	for i := range int(t.NumElements()) {
		bits := bitsOf(t.Elem, tileaa.ElementBits(d, i))
		for b := range size {
			data = append(data, byte(bits>>(8*b)))
		}
	}
	name := v.SymName()
	if v.Private() && !ptxop.IsName(name) { // nobody outside asks for it
		name = l.fresh(ptxop.NameLike(name))
	}
	align, _ := v.Alignment()
	if len(data)%wordBytes == 0 {
		align = max(align, wordBytes)
	}
	g := l.data(name, data, max(int64(size), align))
	if v.Private() {
		g.Linkage = enum.LinkageInternal
	}
	l.globals[v.SymName()] = g
}

// data declares initialised global memory.
func (l *lowerer) data(name string, data []byte, align int64) *llvm.Global {
	return l.variable(name, constant.NewCharArray(data), globalSpace, align)
}

// fresh is a name for what the program does not name: this one, or one that begins with it.
func (l *lowerer) fresh(want string) string {
	for l.taken[want] {
		want += "_"
	}
	l.taken[want] = true
	return want
}

// variable declares memory of the module in a state space.
func (l *lowerer) variable(name string, init constant.Constant, space types.AddrSpace, align int64) *llvm.Global {
	g := l.m.NewGlobalDef(name, init)
	g.AddrSpace = space
	g.Typ = nil // which llir has made for the generic one
	g.Type()
	g.Align = llvm.Align(align)
	return g
}

func getGlobal(f *fn, op *ir.Op) {
	name := ir.Cast[tileaa.GetGlobal](op).Name()
	g := f.globals[name]
	if g == nil {
		f.bug("no global %s", name)
	}
	f.set(op, f.tileOf(elemOf(op.Result(0)), f.addressOf(g)))
}

// globalAddress is the address of a global in its own space as an i64.
func (f *fn) globalAddress(g *llvm.Global) reg {
	r, ok := f.addresses[g]
	if !ok {
		f.in(f.start, func() { r = result(f.builder, kI64, llvm.NewPtrToInt(g, types.I64)) })
		f.addresses[g] = r
	}
	return r
}

// addressOf is the address of a global as an i64; generic if those of the kernel's pointers are.
func (f *fn) addressOf(g *llvm.Global) reg {
	r := f.globalAddress(g)
	if f.space == "" {
		return f.op1("cvta.global.u64", r)
	}
	return r
}

// constantData places a table of constants in global memory and gives its address; equal tables share one place.
func (f *fn) constantData(data []byte, align int) reg {
	id := fmt.Sprintf("%d:%s", align, data)
	g := f.tables[id]
	if g == nil {
		g = f.data(f.fresh(fmt.Sprintf("constant_%d", len(f.tables))), data, int64(max(align, 16)))
		g.Linkage = enum.LinkageInternal
		f.tables[id] = g
	}
	return f.globalAddress(g)
}

// finishBlocks puts the blocks in the order in which they run: a reverse postorder that follows the way out of a branch first, so
// that a loop's body, and a rare path, stand between the branch and what comes after. Blocks that nothing reaches are dropped.
func (f *fn) finishBlocks() {
	seen := map[*llvm.Block]bool{}
	var order []*llvm.Block
	var visit func(b *llvm.Block)
	visit = func(b *llvm.Block) {
		f.budget.Step()
		seen[b] = true
		for _, to := range slices.Backward(b.Term.Succs()) {
			if !seen[to] {
				visit(to)
			}
		}
		order = append(order, b)
	}
	visit(f.fn.Blocks[0])
	slices.Reverse(order)
	f.fn.Blocks = order
	f.sinkToGroups()
	f.sinkToProducts()
}

// finish writes the module's metadata.
func (l *lowerer) finish() {
	if len(l.annotations) > 0 {
		l.m.NamedMetadataDefs[ptxop.Annotations] = &metadata.NamedDef{Name: ptxop.Annotations, Nodes: l.annotations}
	}
	sort.SliceStable(l.m.TypeDefs, func(i, j int) bool { return l.m.TypeDefs[i].Name() < l.m.TypeDefs[j].Name() })
}

func init() {
	register(ir.Table[lowering]{tileaa.OpAlloca & ir.Place: alloca, tileaa.OpGetGlobal & ir.Place: getGlobal})
}
