package nvvm

import (
	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

func init() {
	register(ir.Table[lowering]{
		tileaa.OpAtomicRmw & ir.Place:           atomicRMW,
		tileaa.OpAtomicCas & ir.Place:           atomicCAS,
		tileaa.OpTiledAtomic & ir.Place:         tiledAtomic,
		tileaa.OpFenceAlias & ir.Place:          func(f *fn, op *ir.Op) { f.op("fence.proxy.alias") },
		tileaa.OpGdcWait & ir.Place:             func(f *fn, op *ir.Op) { f.gridDependency("griddepcontrol.wait") },
		tileaa.OpGdcLaunchDependents & ir.Place: func(f *fn, op *ir.Op) { f.gridDependency("griddepcontrol.launch_dependents") },
	})
}

var orderOf = map[def.MemOrder]string{def.Relaxed: "relaxed", def.Acquire: "acquire", def.Release: "release", def.AcqRel: "acq_rel"}

// atomicOp is the PTX operation and type of a mode on an element type; ok is false when there is none.
func atomicOp(mode def.AtomicMode, elem ir.Type) (name string, ok bool) {
	width := map[kind]string{kI32: "32", kI64: "64", kF32: "32", kF64: "64"}[kindOf(elem)]
	switch mode {
	case def.ModeAnd, def.ModeOr, def.ModeXor, def.ModeXchg:
		return map[def.AtomicMode]string{def.ModeAnd: "and", def.ModeOr: "or", def.ModeXor: "xor", def.ModeXchg: "exch"}[mode] + ".b" + width, width != ""
	case def.ModeAdd:
		return "add.u" + width, width != ""
	case def.ModeMax, def.ModeMin:
		return map[def.AtomicMode]string{def.ModeMax: "max", def.ModeMin: "min"}[mode] + ".s" + width, width != ""
	case def.ModeUMax, def.ModeUMin:
		return map[def.AtomicMode]string{def.ModeUMax: "max", def.ModeUMin: "min"}[mode] + ".u" + width, width != ""
	}
	switch elem.(*ir.FloatType).Format {
	case float.F32:
		return "add.f32", true
	case float.F64:
		return "add.f64", true
	case float.F16:
		return "add.noftz.f16", true
	case float.BF16:
		return "add.noftz.bf16", true
	}
	return "", false
}

// betweenFences makes the accesses of an atomic operation: as it orders them where a thread makes a single one, else relaxed ones between fences (PTX
// ISA, "Release and Acquire Patterns"): each access that is ordered itself would wait for all stores before it, and empty the cache.
func (f *fn) betweenFences(op *ir.Op, accesses int, make func(order string)) {
	order := ir.Cast[tileaa.MemoryOp](op).Order()
	if accesses <= 1 || order == def.Relaxed {
		make(orderOf[order])
		return
	}
	fence := "fence.acq_rel" + scopeWord(op)
	if order != def.Acquire {
		f.op(fence)
	}
	make(orderOf[def.Relaxed])
	if order != def.Release {
		f.op(fence)
	}
}

// update is one atomic operation of a thread; the old value is wanted when some result uses it.
func (f *fn) update(op *ir.Op, order string, elem ir.Type, guard, base reg, offset int64, x reg, wantOld bool) reg {
	mode := ir.Cast[tileaa.AtomicOp](op).Mode()
	name, ok := atomicOp(mode, elem)
	if !ok {
		f.unsupported("%s", ir.ShortType(elem))
	}
	where := scopeWord(op) + f.space
	row := "atom." + order + where + "." + name
	if !f.has(row) {
		return f.updateByCAS(op, order, elem, guard, base, offset, x)
	}
	if red := unread(op, order+where) + name; !wantOld && f.has(red) {
		f.guarded(red, guard, base, i32(offset), x)
		return con(x.k, 0)
	}
	return f.guardedAtomic(row, guard, x.k, base, i32(offset), x)
}

// unread is an atomic instruction without results, up to its operation. What acquires reads, which red does not.
func unread(op *ir.Op, where string) string {
	if o := ir.Cast[tileaa.MemoryOp](op).Order(); o == def.Acquire || o == def.AcqRel {
		return "atom." + where + ".sink."
	}
	return "red." + where + "."
}

// vectorRed is the instruction that adds n neighbours to memory and gives no old values; ok is false where there is none.
func (f *fn) vectorRed(op *ir.Op, order string, elem ir.Type, n int) (row string, ok bool) {
	t, isFloat := elem.(*ir.FloatType)
	if !isFloat || ir.Cast[tileaa.AtomicOp](op).Mode() != def.ModeAddF {
		return "", false
	}
	red := atom.RedOf(atom.Elem(t.Format.Name()), n)
	if red == nil {
		return "", false
	}
	row = unread(op, order+scopeWord(op)+f.space) + red.Op
	return row, f.has(row)
}

// widestRed is how many neighbours one instruction adds, of the access width that was decided.
func (f *fn) widestRed(op *ir.Op, elem ir.Type) int {
	n := vecOf(op)
	for n > 1 {
		if _, ok := f.vectorRed(op, orderOf[def.Relaxed], elem, n); ok {
			break
		}
		n /= 2
	}
	return n
}

// reduceRuns adds the elements of a tile to memory, of which nobody takes the old values.
func (f *fn) reduceRuns(op *ir.Op, runs []run, x *tile) {
	f.betweenFences(op, len(runs), func(order string) {
		for _, r := range runs {
			if n := len(r.regs); n > 1 {
				row, _ := f.vectorRed(op, order, x.elem, n)
				f.guarded(row, r.guard, append([]reg{r.base, i32(r.offset)}, f.runRegs(x, r.regs)...)...)
				continue
			}
			f.update(op, order, x.elem, r.guard, r.base, r.offset, f.reg(x, r.regs[0]), false)
		}
	})
}

// guardedAtomic is an atomic instruction with a result, which is 0 where the guard is false.
func (f *fn) guardedAtomic(row string, guard reg, k kind, args ...reg) reg {
	if guard.is(1) {
		return f.cast(f.op1(row, args...), k)
	}
	return f.cast(f.op1("@"+row, append([]reg{guard, con(k, 0)}, args...)...), k)
}

// updateByCAS adds 16-bit floats where the hardware has no such addition: compare and swap until nobody came in between.
func (f *fn) updateByCAS(op *ir.Op, order string, elem ir.Type, guard, base reg, offset int64, x reg) reg {
	row := "atom." + order + scopeWord(op) + f.space + ".cas.b16"
	if x.k != kI16 || ir.Cast[tileaa.AtomicOp](op).Mode() != def.ModeAddF || !f.has(row) {
		f.unsupported("%s on %s", ir.ShortType(elem), f.target.Name)
	}
	return f.ifThen(guard, []reg{con(kI16, 0)}, func() []reg {
		first := f.op1("ld.relaxed"+scopeWord(op)+f.space+".b16", base, i32(offset))
		state := f.loopWhile([]reg{first, first}, func(state []reg) ([]reg, reg) {
			expected := state[0]
			sum := f.viaF32(elem, ".rn", func(r []reg) reg { return f.fadd(r[0], r[1]) }, f.tileOf(elem, expected), f.tileOf(elem, x))
			old := f.op1(row, base, i32(offset), expected, f.reg(sum, 0))
			return []reg{old, expected}, f.icmp(ne, old, expected)
		})
		return []reg{state[1]}
	})[0]
}

// orderWord is the memory order of an access as an instruction has it.
func orderWord(op *ir.Op) string { return orderOf[ir.Cast[tileaa.MemoryOp](op).Order()] }

func (f *fn) maskOf(op *ir.Op, r int) reg {
	if m := f.val(ir.Cast[tileaa.PtrAccess](op).Mask()); m != nil {
		return f.reg(m, r)
	}
	return boolean(true)
}

func atomicRMW(f *fn, op *ir.Op) {
	t := tileaa.AsTile(op.Result(0))
	l := layoutOf(t, f.warps)
	a := ir.Cast[tileaa.AtomicRmw](op)
	p, x := f.tileFor(a.Ptr()), f.tileFor(a.Arg())
	owner := f.owners(l)
	if planted.On("atomic-every-replica") {
		owner = boolean(true)
	}
	out := f.newTile(t.Elem, numRegs(t))
	if n := f.widestRed(op, t.Elem); n > 1 && !op.Result(0).HasUses() {
		f.reduceRuns(op, f.pointerRuns(&pointers{p, f.val(a.Mask()), nil}, l, fastOf(op, len(l.Shape())), n, owner), x)
		f.set(op, out)
		return
	}
	own := ownRegs(l)
	f.betweenFences(op, len(own), func(order string) {
		for _, r := range own {
			out.regs[r] = f.update(op, order, t.Elem, f.and(owner, f.maskOf(op, r)), f.reg(p, r), 0, f.reg(x, r), op.Result(0).HasUses())
		}
	})
	f.fillReplicas(out, l)
	f.set(op, out)
}

func atomicCAS(f *fn, op *ir.Op) {
	t := tileaa.AsTile(op.Result(0))
	l := layoutOf(t, f.warps)
	a := ir.Cast[tileaa.AtomicCas](op)
	p, cmp, val := f.tileFor(a.Ptr()), f.tileFor(a.Cmp()), f.tileFor(a.Value())
	owner := f.owners(l)
	bits := map[kind]string{kI32: "b32", kI64: "b64", kF32: "b32", kF64: "b64"}[kindOf(t.Elem)]
	if bits == "" {
		f.unsupported("%s", ir.ShortType(t.Elem))
	}
	out, own := f.newTile(t.Elem, numRegs(t)), ownRegs(l)
	f.betweenFences(op, len(own), func(order string) {
		row := "atom." + order + scopeWord(op) + f.space + ".cas." + bits
		for _, r := range own {
			expected := f.reg(cmp, r)
			guard := f.and(owner, f.maskOf(op, r))
			if guard.is(1) {
				out.regs[r] = f.cast(f.op1(row, f.reg(p, r), i32(0), expected, f.reg(val, r)), out.k)
				continue
			}
			// A masked element returns what it was compared with.
			out.regs[r] = f.cast(f.op1("@"+row, guard, expected, f.reg(p, r), i32(0), expected, f.reg(val, r)), out.k)
		}
	})
	f.fillReplicas(out, l)
	f.set(op, out)
}

func tiledAtomic(f *fn, op *ir.Op) {
	v := valueOf(op)
	l := f.tileLayout(v)
	x := f.stored(op)
	f.reduceRuns(op, f.tiledRuns(op, f.viewOf(op), l, f.widestRed(op, elemOf(v)), f.owners(l)), x)
}

// gridDependency is an instruction of programmatic dependent launch, which does nothing where there is none.
func (f *fn) gridDependency(name string) {
	if f.has(name) {
		f.op(name)
	}
}

// oneOwner is the predicate of the thread that acts for a rank-0 value.
func (f *fn) oneOwner() reg { return f.owners(layout.Uniform(nil, f.warps)) }
