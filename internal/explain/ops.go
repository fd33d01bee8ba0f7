package explain

import (
	"fmt"
	"slices"
	"strings"

	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/codegen/nvvm"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/internal/remark"
	"tileiras/ir"
)

// dot says which instruction multiplies: in NVIDIA's words, and then the atom.
func (w *writer) dot(d tileaa.Dot) {
	op := d.Op
	if d.Atom() == nil {
		return
	}
	m := d.Atom().Atom
	shape := func(s atom.Shape) string { return fmt.Sprintf("[%d, %d, %d]", s.M, s.N, s.K) }
	if m.Scalar() {
		w.add(op, remark.TensorCore, remark.Failed, "RemarkTensorCoreMMA",
			"MMA operation failed to optimize to use Tensor Cores, it is using FMA instructions instead",
			arg("Instruction", "FMA"), arg("Shape", shape(atom.Shape{M: 1, N: 1, K: 1})))
	} else {
		w.add(op, remark.TensorCore, remark.Passed, "RemarkTensorCoreMMA", "MMA operation successfully optimized to use Tensor Cores",
			arg("Instruction", "Tensor-core "+generation(m)), arg("Shape", shape(m.Shape)))
	}
	a, b, c := operandType(d.Lhs()), operandType(d.Rhs()), operandType(d.Acc())
	args := []remark.Arg{arg("Atom", m.Name), arg("Product", fmt.Sprintf("%s by %s", a, b)), arg("Accumulator", c)}
	if d.Atom().Swap {
		args = append(args, arg("Transposed", "the product is computed as B^T A^T, so that a tile of few rows fills the instruction"))
	}
	for i, v := range []*ir.Value{d.Lhs(), d.Rhs()} {
		if from := widenedFrom(v); from != "" {
			args = append(args, arg([]string{"WidenedA", "WidenedB"}[i], from))
		}
	}
	if m.Scalar() {
		for _, r := range otherAtoms(w, d, m) {
			args = append(args, arg("Reason", r))
		}
	}
	w.add(op, remark.TensorCore, remark.Analysis, "RemarkMMAAtom", fmt.Sprintf("Product of %s by %s uses %s", a, b, m.Name), args...)
}

// generation is the oldest GPU that has an instruction.
func generation(m *atom.MMA) string {
	oldest := slices.IndexFunc(target.All, m.Need.On)
	return fmt.Sprintf("SM%d", target.All[oldest].Number)
}

// otherAtoms says why no matrix instruction serves.
func otherAtoms(w *writer, d tileaa.Dot, m *atom.MMA) []string {
	reasons := atom.WhyNot(w.Target, atom.Types{A: m.A, B: m.B, C: m.C}, tileaa.ExtentOf(d))
	if len(reasons) == 0 {
		reasons = []string{fmt.Sprintf("%s has no matrix instruction for %s by %s to %s that is as exact", w.Target.Name, m.A, m.B, m.C)}
	}
	return uniq(reasons)
}

func operandType(v *ir.Value) string {
	if shape, elem, ok := tileaa.ShapeAndElem(v.Type()); ok {
		return tileaa.ShapeText(shape, elem)
	}
	return ir.ShortType(v.Type())
}

// widenedFrom is the type that an operand of a product had before it was converted for the instruction, "" when it had its own.
func widenedFrom(v *ir.Value) string {
	for range 8 { // conversions of layout, and the way through a buffer
		op := v.DefiningOp()
		if op == nil {
			return ""
		}
		switch op.Code() {
		case tileaa.OpConvertLayout, tileaa.OpReshape, tileaa.OpPermute:
			v = op.Operand(0)
		case tileaa.OpBufferLoad:
			if v = stored(ir.Cast[tileaa.BufferLoad](op).Buffer()); v == nil {
				return ""
			}
		case tileaa.OpFtof, tileaa.OpExti:
			from, to := tileaa.AsTile(op.Operand(0)), tileaa.AsTile(op.Result(0))
			if from != nil && to != nil && tileaa.ElemBits(from.Elem) < tileaa.ElemBits(to.Elem) {
				return ir.ShortType(from.Elem)
			}
			return ""
		default:
			return ""
		}
	}
	return ""
}

// stored is the tile that a buffer is filled with; nil when it is filled otherwise.
func stored(buf *ir.Value) *ir.Value {
	for _, u := range buf.Uses() {
		if s, ok := ir.As[tileaa.BufferStore](u.Owner()); ok {
			return s.Value()
		}
	}
	return nil
}

func (w *writer) selected(op *ir.Op, id, text, instruction string) {
	w.add(op, remark.Memory, remark.Passed, id, text, arg("Instruction", instruction))
}

// mapped says in which boxes a copy takes a tensor map, as NVIDIA's remark has it: the dimension of neighbours first.
func (w *writer) mapped(op *ir.Op, m tileaa.TensorMap) {
	w.add(op, remark.Memory, remark.Passed, "RemarkMemoryLoadInstructionSelected", "Load instruction selected",
		arg("Instruction", "TMA Load instruction"), arg("Shape", strings.ReplaceAll(fmt.Sprint([]int64(m.Box())), " ", ", ")))
	t := ir.Cast[tileaa.AsyncCopy](op).Buffer().Type().(*tileaa.BufferType)
	tile, elements := tileaa.ShapeText(t.Shape, t.Elem), int64(1)
	for _, n := range m.Box() {
		elements *= n
	}
	bytes := elements * int64(tileaa.ElemBytes(t.Elem))
	w.add(op, remark.Access, remark.Passed, "RemarkAccessWidth", fmt.Sprintf("One thread copies %s of %s at a time", ir.Count(int(bytes), "byte"), tile),
		arg("Tile", tile), arg("Bytes", bytes), arg("Elements", elements), arg("Instruction", fmt.Sprintf("cp.async.bulk.tensor.%dd", len(m.Dims()))))
}

// noTMA says, on GPUs that have TMA, why an access of a view does not use it.
func (w *writer) noTMA(op *ir.Op, block tileaa.BlockTile) {
	if !target.Bulk.On(w.Target) {
		return
	}
	id, text := "RemarkMemoryTmaLoadFailed", "Failed to select TMA load instruction"
	if ir.Is[tileaa.TiledStore](op) {
		id, text = "RemarkMemoryTmaStoreFailed", "Failed to select TMA store instruction"
	}
	reasons := w.known.WhyNotWider(block, w.known.FastDim(block), layout.WidestAccess)
	switch {
	case len(reasons) > 0:
	case !ir.Is[tileaa.AsyncCopy](op):
		reasons = []string{"only copies to shared memory take tensor maps yet"}
	case !w.TMA:
		reasons = []string{"tensor maps are made only where they are asked for (--tma, Options.TMA)"}
	default:
		reasons = []string{"the array, its padding or what has been written there allows no map, or no boxes fill the buffer"}
	}
	var args []remark.Arg
	for _, r := range uniq(reasons) {
		if file, line, col, ok := ir.FileLine(op.Loc()); ok {
			r = fmt.Sprintf("loc(%q:%d:%d): %s", file, line, col, r)
		}
		args = append(args, arg("Reason", r))
	}
	w.add(op, remark.Memory, remark.Failed, id, text, args...)
	if !ir.Cast[tileaa.AccessOp](op).Narrow() {
		w.add(w.entry, remark.Memory, remark.Missed, "RemarkTensorViewIndexTypeNarrowing",
			"Could not narrow tensor_view indexing to i32: index computations may require 64 bits")
	}
}

// chosen is the dimension along which a thread takes neighbours in an access, as select-atoms decided, and how many of those that it may as far as its
// layout has them.
func chosen(op *ir.Op, may int) (fast, vec int) {
	f, _ := ir.Cast[tileaa.AccessOp](op).Fast()
	fast, vec = int(f), max(may, 1)
	if l := layoutOf(op); l != nil {
		vec = nvvm.Neighbours(op, *l, vec)
	}
	return fast, vec
}

// layoutOf says which thread moves which elements of the tile of an access; nil where that is not decided.
func layoutOf(op *ir.Op) *layout.Layout {
	if c, ok := ir.As[tileaa.AsyncCopy](op); ok {
		return &c.Layout().Layout
	}
	if v := tileaa.StoredValue(op); v != nil {
		return tileaa.LayoutOf(v)
	}
	return tileaa.LayoutOf(op.Result(0))
}

// view says how wide an access of a view is, and why not wider.
func (w *writer) view(op *ir.Op, verb string) {
	block, ok := ir.DefinedBy[tileaa.BlockTile](ir.Cast[tileaa.BlockOp](op).Block())
	if !ok {
		return
	}
	w.noTMA(op, block)
	t := block.Result().Type().(*tileaa.BlockType)
	if len(t.Shape) == 0 {
		return
	}
	fast, vec := chosen(op, nvvm.VecOfAccess(op))
	args := append(w.width(op, t.Shape, t.Elem, fast, vec), boundsChecks(op)...)
	w.access(op, verb, t.Shape, t.Elem, vec, args, w.known.WhyNotWider(block, fast, layout.WidestAccess))
}

// pointers is view for an access through a tile of pointers; mask may be nil.
func (w *writer) pointers(op *ir.Op, ptr, mask *ir.Value, verb string) {
	t := tileaa.AsTile(ptr)
	p, ok := t.Elem.(*tileaa.PtrType)
	if !ok || len(t.Shape) == 0 {
		return
	}
	fast, vec := chosen(op, nvvm.VecOfAccess(op))
	args := w.width(op, t.Shape, p.Elem, fast, vec)
	if mask != nil {
		args = append(args, arg("Mask", "yes"))
	}
	if ir.Cast[tileaa.AccessOp](op).Ragged() {
		mask = nil // it may cut an access
	}
	w.access(op, verb, t.Shape, p.Elem, vec, args, w.known.WhyPointersNotWider(ptr, mask, fast, tileaa.ElemBytes(p.Elem), layout.WidestAccess))
}

// atomic says what an atomic operation updates.
func (w *writer) atomic(op *ir.Op) {
	t, mode := tileaa.AccessedTile(op), "cas"
	if a, ok := ir.As[tileaa.AtomicOp](op); ok {
		mode = def.AtomicModeEnum.Keyword(a.Mode())
	}
	elements := 1
	if a, ok := ir.As[tileaa.AccessOp](op); ok && len(t.Shape) > 0 {
		may, _ := a.Vec()
		_, elements = chosen(op, int(may))
	}
	tile, bytes := tileaa.ShapeText(t.Shape, t.Elem), elements*tileaa.ElemBytes(t.Elem)
	args := []remark.Arg{arg("Tile", tile), arg("Bytes", bytes), arg("Elements", elements), arg("Instruction", "atomic "+mode)}
	if p, ok := ir.As[tileaa.PtrAccess](op); ok && p.Mask() != nil {
		args = append(args, arg("Mask", "yes"))
	}
	args = append(args, boundsChecks(op)...)
	w.add(op, remark.Access, remark.Passed, "RemarkAccessWidth", fmt.Sprintf("A thread updates %s of %s at a time", ir.Count(bytes, "byte"), tile), args...)
}

// boundsChecks are the dimensions of a view along which an access asks whether elements exist.
func boundsChecks(op *ir.Op) []remark.Arg {
	var dims []string
	if a, ok := ir.As[tileaa.AccessOp](op); ok {
		for d, m := range a.Masked() {
			if m {
				dims = append(dims, fmt.Sprint(d))
			}
		}
	}
	if dims == nil {
		return nil
	}
	return []remark.Arg{arg("BoundsChecks", "dimension "+strings.Join(dims, ", "))}
}

// width are the facts of an access of vec elements.
func (w *writer) width(op *ir.Op, shape []int64, elem ir.Type, fast, vec int) []remark.Arg {
	bytes := vec * tileaa.ElemBytes(elem)
	instruction := ""
	if ir.Is[tileaa.AsyncCopy](op) {
		instruction = atom.CopyOf(bytes)
	} else {
		instruction = nvvm.AccessInstruction(op, w.space, vec)
	}
	return []remark.Arg{arg("Tile", tileaa.ShapeText(shape, elem)), arg("Bytes", bytes), arg("Elements", vec), arg("Dimension", fast), arg("Instruction", instruction)}
}

func (w *writer) access(op *ir.Op, verb string, shape []int64, elem ir.Type, vec int, args []remark.Arg, why []string) {
	bytes := vec * tileaa.ElemBytes(elem)
	kind := remark.Passed
	if tileaa.IsStrong(op) {
		why = []string{"a strong access moves one element at a time"}
	}
	if bytes < layout.WidestAccess {
		kind = remark.Missed
		if len(why) == 0 {
			why = []string{"the layout gives a thread no more neighbours"}
		}
		for _, r := range uniq(why) {
			args = append(args, arg("Reason", r))
		}
	}
	w.add(op, remark.Access, kind, "RemarkAccessWidth", fmt.Sprintf("A thread %ss %s of %s at a time", strings.TrimSuffix(verb, "y")+plural(verb), ir.Count(bytes, "byte"), tileaa.ShapeText(shape, elem)), args...)
}

// plural makes "copies" of "copy" together with the s that follows.
func plural(verb string) string {
	if strings.HasSuffix(verb, "y") {
		return "ie"
	}
	return ""
}

// conversion says what a conversion between layouts costs that stays in registers: renaming registers is free and not worth a word.
func (w *writer) conversion(op tileaa.ConvertLayout) {
	src, dst := tileaa.AsTile(op.Source()), tileaa.AsTile(op.Result())
	if src == nil || dst == nil || src.Layout == nil || dst.Layout == nil {
		return
	}
	plan, c := cost.Conversion(*src.Layout, *dst.Layout, tileaa.ElemBits(src.Elem))
	if c == (cost.Cost{}) || plan.Kind == layout.Shared {
		return
	}
	w.add(op.Op, remark.Layout, remark.Analysis, "RemarkLayoutConversion", fmt.Sprintf("%s changes its layout by %s", tileaa.ShapeText(dst.Shape, dst.Elem), plan.Kind),
		append([]remark.Arg{arg("How", plan.Kind.String())}, w.costArgs(c)...)...)
}

func (w *writer) costArgs(c cost.Cost) []remark.Arg {
	args := []remark.Arg{arg("WarpInstructions", c.Instrs)}
	if c.Waves > 0 {
		args = append(args, arg("SharedWaves", c.Waves))
	}
	if c.Barriers > 0 {
		args = append(args, arg("Barriers", c.Barriers))
	}
	return append(args, arg("LoopDepth", w.depth))
}

// ring is buffer for the slots of a ring.
func (w *writer) ring(op tileaa.AllocRing) {
	t := op.Result().Type().(*tileaa.RingType)
	var uses []*ir.Use
	for _, u := range op.Result().Uses() {
		uses = append(uses, u.Owner().Result(0).Uses()...)
	}
	w.buffer(op.Op, int(t.Slots), t.Buffer, uses)
}

// buffer says what goes through a buffer in shared memory, or through one of several, and what that costs.
func (w *writer) buffer(op *ir.Op, slots int, t *tileaa.BufferType, uses []*ir.Use) {
	bits := tileaa.ElemBits(t.Elem)
	total := cost.Cost{}
	var from, writes, reads []string
	depth := w.depth
	for _, u := range uses {
		user := u.Owner()
		depth = max(depth, loopsAround(user))
		switch user.Code() {
		case tileaa.OpAsyncCopy:
			by := "cp.async"
			if _, mapped := tileaa.MapOf(ir.Cast[tileaa.AsyncCopy](user)); mapped {
				by = "cp.async.bulk.tensor"
			}
			from, writes = append(from, "global memory"), append(writes, by)
		case tileaa.OpBufferStore:
			s := ir.Cast[tileaa.BufferStore](user)
			by := sharedAccess(&total, t, tileaa.AsTile(s.Value()), s.Atom(), bits, "st.shared")
			from, writes = append(from, "registers"), append(writes, by)
		case tileaa.OpBufferLoad:
			l := ir.Cast[tileaa.BufferLoad](user)
			reads = append(reads, sharedAccess(&total, t, tileaa.AsTile(l.Result()), l.Atom(), bits, "ld.shared"))
		case tileaa.OpDot:
			reads = append(reads, "the product itself")
		case tileaa.OpBufferInsert, tileaa.OpBufferExtract, tileaa.OpBufferStoreSlice:
			return // a tile that is indexed, not converted
		}
	}
	if len(from) == 0 || len(reads) == 0 {
		return
	}
	w.depth = depth
	bytes := slots * cost.SharedBytes(*t.Mem, bits)
	text := fmt.Sprintf("%s goes from %s through %s of shared memory", tileaa.ShapeText(t.Shape, t.Elem), sortedText(from, " and "), ir.Count(bytes, "byte"))
	args := []remark.Arg{arg("How", "shared memory"), arg("Bytes", bytes), arg("WrittenBy", sortedText(writes, ", ")), arg("ReadBy", sortedText(reads, ", "))}
	w.add(op, remark.Layout, remark.Analysis, "RemarkLayoutConversion", text, append(args, w.costArgs(total)...)...)
}

// sortedText joins a list in which each text stands once, in an order that is not that of uses.
func sortedText(list []string, separator string) string {
	slices.Sort(list)
	return strings.Join(slices.Compact(list), separator)
}

func loopsAround(op *ir.Op) (n int) {
	for p := op.ParentOp(); p != nil; p = p.ParentOp() {
		if _, loop := ir.LoopOf(p); loop {
			n++
		}
	}
	return n
}

// sharedAccess adds the cost of one side of a buffer and names its instruction.
func sharedAccess(total *cost.Cost, buf *tileaa.BufferType, t *tileaa.TileType, name string, bits int, plain string) string {
	if t == nil || t.Layout == nil {
		return plain
	}
	if name != "" {
		if p, ok := layout.LdMatrix(*buf.Mem, *t.Layout, bits, strings.Contains(name, ".trans")); ok {
			*total = total.Plus(cost.MatrixAccess(p, *buf.Mem, bits))
		}
		return name
	}
	vec := buf.Mem.MaxVec(*t.Layout, max(layout.WidestAccess/cost.Bytes(bits), 1))
	if c, err := cost.SharedAccess(*buf.Mem, *t.Layout, bits, vec); err == nil {
		*total = total.Plus(c)
	}
	return fmt.Sprintf("%s of %s", plain, ir.Count(vec*cost.Bytes(bits), "byte"))
}

// narrowFloat says which conversions of narrow floats the GPU has no instruction for.
func (w *writer) narrowFloat(op tileaa.Ftof) {
	for _, v := range []*ir.Value{op.Source(), op.Result()} {
		t := tileaa.AsTile(v)
		if t == nil {
			continue
		}
		f, ok := t.Elem.(*ir.FloatType)
		if !ok || tileaa.ElemBits(t.Elem) > 8 {
			continue
		}
		row, why := nvvm.NarrowRow(f.Format), "the compiler knows no instruction for it yet"
		if row != nil {
			why = w.Target.Name + " has no instruction for it"
		}
		if row == nil || !row.Need.On(w.Target) {
			w.add(op.Op, remark.Emulation, remark.Missed, "RemarkEmulatedType", fmt.Sprintf("%s is converted by integer arithmetic", ir.ShortType(t.Elem)),
				arg("Type", ir.ShortType(t.Elem)), arg("Reason", why))
		}
	}
}
