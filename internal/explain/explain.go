// Package explain reads the last module that knows tiles and says what the compiler chose there and why: the remarks of a compile,
// and a page for each kernel. It decides nothing: what the module does not say, the passes have noted down.
package explain

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"tileiras/codegen/cost"
	"tileiras/codegen/nvvm"
	"tileiras/codegen/target"
	"tileiras/dialects/cudatile"
	"tileiras/dialects/tileaa"
	"tileiras/internal/remark"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/pass"
)

// Input is what a compile leaves.
type Input struct {
	Ctx    *ir.Context
	Source *ir.Op // the module as it was read; nil when it was no cuda_tile
	Module *ir.Op // the last TileAA module
	Target *target.Target
	TMA    bool                        // tensor maps were asked for
	Plans  map[string][]pass.Candidate // by kernel: the plans in the order of preference
	Notes  []pass.Note

	Decided func(pass string) bool // whether the compile came past a pass, which may have had nothing to do
}

// What decides a choice, by the last pass that can change it.
const (
	decidesAtoms       = "select-atoms"
	decidesStores      = "assign-layouts"   // how wide they are
	decidesLoads       = "select-copies"    // how wide they are, and whether they are copies
	decidesCopies      = "make-tensor-maps" // whether they take maps
	decidesConversions = "rematerialize"
	decidesLoops       = "allocate-shared" // what runs ahead in them, and why not
	decidesShared      = "allocate-shared" // buffers, and what a block takes
)

// Remarks lists everything that there is to say, kernel by kernel, in the order of the source.
func Remarks(in *Input) []remark.Remark {
	w := &writer{Input: in, place: places(in.Ctx, in.Source), known: facts.New(in.Ctx, in.Module)}
	for i, entry := range entries(in.Module) {
		w.kernel(i, entry)
	}
	sort.SliceStable(w.found, func(i, j int) bool {
		a, b := &w.found[i], &w.found[j]
		return a.kernel < b.kernel || a.kernel == b.kernel && a.at < b.at
	})
	var list remark.List
	for _, f := range w.found {
		list.Add(f.Remark)
	}
	return list.All
}

func entries(module *ir.Op) []*ir.Op {
	var out []*ir.Op
	if module == nil || module.Body() == nil {
		return nil
	}
	for op := module.Body().First(); op != nil; op = op.Next() {
		if (ir.Is[tileaa.Entry](op) || ir.Is[cudatile.Entry](op)) && op.Body() != nil {
			out = append(out, op)
		}
	}
	return out
}

// nameOf is the name of a kernel.
func nameOf(entry *ir.Op) string {
	if e, ok := ir.As[tileaa.Entry](entry); ok {
		return e.SymName()
	}
	return ir.Cast[cudatile.Entry](entry).SymName()
}

func (w *writer) planTaken() *tileaa.PlanAttr { return ir.Cast[tileaa.Entry](w.entry).Plan() }

// places numbers the places of the source in the order of its operations.
func places(c *ir.Context, source *ir.Op) map[string]int {
	out := map[string]int{}
	if source == nil {
		return out
	}
	c.Walk(source, ir.PreOrder, func(op *ir.Op) {
		if at := ir.LocString(op.Loc()); at != "" {
			if _, ok := out[at]; !ok {
				out[at] = len(out) + 1
			}
		}
	})
	return out
}

// writer collects remarks.
type writer struct {
	*Input
	place map[string]int
	known *facts.Facts
	found []placed

	entry  *ir.Op
	space  string // of its pointers
	number int    // of the kernel
	at     int    // place of the last operation that had one
	depth  int    // of loops around the operation
}

// placed is a remark with what orders it.
type placed struct {
	remark.Remark
	kernel, at int
}

// add records a remark on an op; what is about the kernel stands first.
func (w *writer) add(op *ir.Op, pass string, kind remark.Kind, id, text string, args ...remark.Arg) {
	at := -1
	if op != w.entry {
		if n, ok := w.place[ir.LocString(op.Loc())]; ok {
			w.at = n
		}
		at = w.at
	}
	name := nameOf(w.entry)
	w.found = append(w.found, placed{remark.Remark{
		Pass: pass, Kind: kind, ID: id, Text: text, Function: cudatile.SourceName(w.entry.Loc(), name), Kernel: name, Loc: op.Loc(), Args: args}, w.number, at})
}

func arg(key string, value any) remark.Arg { return remark.Arg{Key: key, Value: value} }

func (w *writer) kernel(number int, entry *ir.Op) {
	w.number, w.entry, w.space, w.at = number, entry, nvvm.Space(entry), 0
	w.plan()
	w.notes()
	w.hints()
	w.resources()
	w.block(entry.Body(), 0)
}

// block visits the operations of a block, which lies in so many loops.
func (w *writer) block(b *ir.Block, depth int) {
	for op := b.First(); op != nil; op = op.Next() {
		w.depth = depth
		w.visit(op)
		inner := depth
		if _, loop := ir.LoopOf(op); loop {
			inner++
		}
		for rb := range op.Blocks() {
			w.block(rb, inner)
		}
	}
}

// decides is the pass that decides what there is to say of an operation; "" where the target alone does.
func decides(op *ir.Op) string {
	switch op.Code() {
	case tileaa.OpDot:
		return decidesAtoms
	case tileaa.OpTiledLoad, tileaa.OpLoad:
		return decidesLoads
	case tileaa.OpTiledStore, tileaa.OpStore, tileaa.OpTiledAtomic, tileaa.OpAtomicRmw, tileaa.OpAtomicCas:
		return decidesStores
	case tileaa.OpAsyncCopy:
		return decidesCopies
	case tileaa.OpConvertLayout:
		return decidesConversions
	case tileaa.OpAllocShared, tileaa.OpAllocRing:
		return decidesShared
	case tileaa.OpFor, tileaa.OpLoop:
		return decidesLoops
	}
	return ""
}

// visit says what there is to say of an operation.
func (w *writer) visit(op *ir.Op) {
	w.Ctx.Step()
	if by := decides(op); by != "" && !w.Decided(by) {
		return
	}
	switch op.Code() {
	case tileaa.OpDot:
		w.dot(ir.Cast[tileaa.Dot](op))
	case tileaa.OpTiledLoad:
		w.selected(op, "RemarkMemoryLoadInstructionSelected", "Load instruction selected", "Global-memory load instruction")
		w.view(op, "load")
	case tileaa.OpTiledStore:
		w.view(op, "store")
	case tileaa.OpAsyncCopy:
		if m, ok := tileaa.MapOf(ir.Cast[tileaa.AsyncCopy](op)); ok {
			w.mapped(op, m)
			return
		}
		w.selected(op, "RemarkMemoryLoadInstructionSelected", "Load instruction selected", "Ldgsts instruction")
		if p, ok := ir.DefinedBy[tileaa.PointerBlock](ir.Cast[tileaa.AsyncCopy](op).Block()); ok {
			w.pointers(op, p.Ptr(), p.Mask(), "copy")
		} else {
			w.view(op, "copy")
		}
	case tileaa.OpLoad:
		w.selected(op, "RemarkMemoryLoadInstructionSelected", "Load instruction selected", "Global-memory load instruction")
		l := ir.Cast[tileaa.Load](op)
		w.pointers(op, l.Ptr(), l.Mask(), "load")
	case tileaa.OpStore:
		st := ir.Cast[tileaa.Store](op)
		w.pointers(op, st.Ptr(), st.Mask(), "store")
	case tileaa.OpTiledAtomic, tileaa.OpAtomicRmw, tileaa.OpAtomicCas:
		w.atomic(op)
	case tileaa.OpConvertLayout:
		w.conversion(ir.Cast[tileaa.ConvertLayout](op))
	case tileaa.OpAllocShared:
		w.buffer(op, 1, op.Result(0).Type().(*tileaa.BufferType), op.Result(0).Uses())
	case tileaa.OpAllocRing:
		w.ring(ir.Cast[tileaa.AllocRing](op))
	case tileaa.OpFtof:
		w.narrowFloat(ir.Cast[tileaa.Ftof](op))
	case tileaa.OpFor, tileaa.OpLoop:
		w.loop(op)
	}
}

// plan says which plan the kernel has and what became of the others.
func (w *writer) plan() {
	name := nameOf(w.entry)
	taken := w.planTaken()
	if taken == nil {
		return
	}
	selected := false
	for i, p := range w.Plans[name] {
		args := []remark.Arg{arg("Name", p.Name), arg("Rank", i+1)}
		if p.Plan != nil {
			if !p.Partial {
				args = append(args, arg("Cost", p.Cost))
			}
			args = append(args, planArgs(p.Plan)...)
		}
		switch {
		case p.Plan == nil:
			w.add(w.entry, remark.Plan, remark.Missed, "RemarkPlanRejected", "Plan cannot be: "+p.Name, append(args, arg("Reason", p.Failed))...)
		case p.Failed != "":
			w.add(w.entry, remark.Plan, remark.Missed, "RemarkPlanRejected", "Plan cannot be realised: "+planText(p.Plan), append(args, arg("Reason", p.Failed))...)
		case !selected:
			selected = true
			w.add(w.entry, remark.Plan, remark.Passed, "RemarkPlanSelected", "Plan: "+planText(taken), args...)
		default:
			reason := "the estimate ranks it lower"
			if cuts(p.Plan) > cuts(taken) { // then costs do not compare
				reason = "it cuts what the plan taken leaves whole"
			}
			w.add(w.entry, remark.Plan, remark.Analysis, "RemarkPlanAlternative", "Plan not taken: "+planText(p.Plan), append(args, arg("Reason", reason))...)
		}
	}
	if !selected { // it was there already, in a text
		w.add(w.entry, remark.Plan, remark.Passed, "RemarkPlanSelected", "Plan: "+planText(taken), planArgs(taken)...)
	}
}

// cuts is how much a plan cuts: nothing but what sums in tensor memory need, products along K, or big tiles too.
func cuts(p *tileaa.PlanAttr) int {
	switch {
	case p.Sliced && !p.SumsInTensor:
		return 2
	case p.OperandBytes > 0 && !p.Sliced:
		return 1
	}
	return 0
}

func planText(p *tileaa.PlanAttr) string {
	s := ir.Count(p.Warps, "warp")
	if p.Producers > 0 {
		s += fmt.Sprintf(", %d more for copies", p.Producers)
	}
	if p.MaxReg > 0 {
		s += fmt.Sprintf(", at most %s a thread", ir.Count(p.MaxReg, "register"))
	}
	if p.Occupancy > 1 {
		s += fmt.Sprintf(", %d blocks on a multiprocessor", p.Occupancy)
	}
	if p.SlicesK > 1 {
		s += fmt.Sprintf(", %d slices of products along K", p.SlicesK)
	}
	if p.Sliced {
		s += ", tiles cut into pieces"
		if p.SumsInTensor {
			s += " behind products, whose sums stay in tensor memory"
		}
	}
	return s
}

func planArgs(p *tileaa.PlanAttr) []remark.Arg {
	args := []remark.Arg{arg("Warps", p.Warps), arg("Threads", p.Threads()), arg("Stages", max(p.Stages, 1))}
	if p.MaxReg > 0 {
		args = append(args, arg("MaxRegisters", p.MaxReg))
	}
	if p.Producers > 0 {
		args = append(args, arg("Producers", p.Producers))
	}
	if p.Occupancy > 1 {
		args = append(args, arg("Occupancy", p.Occupancy))
	}
	if p.Sliced {
		args = append(args, arg("Sliced", "yes"))
	}
	return args
}

// notes are what passes said, as remarks of the plan. A note without a place stands at the kernel; one with a place at its operation.
func (w *writer) notes() {
	first := map[string]*ir.Op{} // operation at a place of the source
	if len(w.Notes) > 0 {
		w.Ctx.Walk(w.entry, ir.PreOrder, func(op *ir.Op) {
			if at := ir.LocString(op.Loc()); first[at] == nil {
				first[at] = op
			}
		})
	}
	for _, n := range w.Notes {
		id, kind := "Remark"+camel(n.Pass), remark.Missed
		if n.Passed {
			kind = remark.Passed
		}
		if ir.IsUnknown(n.Loc) || ir.LocString(n.Loc) == ir.LocString(w.entry.Loc()) {
			w.add(w.entry, remark.Plan, kind, id, n.Text)
			continue
		}
		if op := first[ir.LocString(n.Loc)]; op != nil {
			w.add(op, remark.Plan, kind, id, n.Text)
		}
	}
}

func camel(name string) string {
	var b strings.Builder
	for _, word := range strings.Split(name, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// resources says what a block takes of a multiprocessor, as far as the plan knows.
func (w *writer) resources() {
	plan := w.planTaken()
	if plan == nil || !w.Decided(decidesShared) {
		return
	}
	bytes, _ := ir.Cast[tileaa.Entry](w.entry).SharedBytes()
	shared := int(bytes)
	largest, text := 0, ""
	w.Ctx.Walk(w.entry, ir.PreOrder, func(op *ir.Op) {
		for _, r := range op.Results() {
			if t := tileaa.AsTile(r); t != nil && t.Layout != nil {
				if n := cost.Registers(t.Layout.Regs(), tileaa.ElemBits(t.Elem)); n > largest {
					largest, text = n, tileaa.ShapeText(t.Shape, t.Elem)
				}
			}
		}
	})
	args := []remark.Arg{arg("Threads", plan.Threads()), arg("SharedBytes", shared), arg("SharedLimit", w.Target.SharedOptIn)}
	if largest > 0 {
		args = append(args, arg("LargestTile", text), arg("LargestTileRegisters", largest))
	}
	registers := plan.Registers(cost.RegisterLimit(w.Target, plan.Threads(), 1))
	blocks, limit := cost.Occupancy(w.Target, plan.Threads(), registers, shared)
	args = append(args, arg("BlocksPerMultiprocessor", blocks), arg("LimitedBy", limit))
	w.add(w.entry, remark.Resources, remark.Analysis, "RemarkResources",
		fmt.Sprintf("A block takes %s, %s of shared memory and up to %s a thread", ir.Count(plan.Threads(), "thread"), ir.Count(shared, "byte"), ir.Count(registers, "register")), args...)
}

// loop says whether the loads of a loop overlap with its work.
func (w *writer) loop(op *ir.Op) {
	loads, copies, bytes, slots := 0, 0, 0, int64(0)
	for b := range op.Blocks() {
		for o := b.First(); o != nil; o = o.Next() {
			switch o.Code() {
			case tileaa.OpTiledLoad, tileaa.OpLoad:
				loads++
			case tileaa.OpAsyncCopy:
				copies++
				bytes += ir.Cast[tileaa.AsyncCopy](o).Buffer().Type().(*tileaa.BufferType).Bytes()
			case tileaa.OpRingSlot:
				slots = max(slots, ir.Cast[tileaa.RingSlot](o).Ring().Type().(*tileaa.RingType).Slots)
			}
		}
	}
	carried := slices.ContainsFunc(op.Body().Terminator().Operands(), func(v *ir.Value) bool {
		load := v.DefiningOp()
		return load != nil && load.Block() == op.Body() && (load.Code() == tileaa.OpTiledLoad || load.Code() == tileaa.OpLoad) && tileaa.IsRanked(v)
	})
	plan := w.planTaken()
	switch {
	case plan == nil || loads+copies == 0:
	case slots == 0 && copies == 0 && carried:
		w.add(op, remark.Plan, remark.Passed, "RemarkLoopPipelined", "Loads of the loop take turns in registers, and begin while a product is computed",
			arg("Stages", 1), arg("Loads", loads), arg("AsyncCopies", copies))
	case slots > 1:
		text := fmt.Sprintf("Copies of the loop begin %d iterations before the one that uses them", slots-1)
		if slots == 2 {
			text = "Copies of the loop begin an iteration before the one that uses them"
		}
		w.add(op, remark.Plan, remark.Passed, "RemarkLoopPipelined", text, arg("Stages", int(slots)), arg("Loads", loads), arg("AsyncCopies", copies))
	case slots == 1 && copies > 0:
		w.add(op, remark.Plan, remark.Passed, "RemarkLoopPipelined", "Copies for each product of the loop fly while another is computed",
			arg("Stages", 1), arg("Loads", loads), arg("AsyncCopies", copies))
	default:
		reason := "no copy of a load to shared memory can begin before the iteration"
		if shared, _ := ir.Cast[tileaa.Entry](w.entry).SharedBytes(); copies > 0 && int(shared)+bytes > w.Target.SharedOptIn {
			reason = "shared memory has no room for the tiles of another iteration"
		} else if copies > 0 {
			reason = "one stage costs least"
		}
		w.add(op, remark.Plan, remark.Missed, "RemarkLoopNotPipelined", "Loads of the loop wait in the iteration that uses them",
			arg("Stages", 1), arg("Loads", loads), arg("AsyncCopies", copies), arg("Reason", reason))
	}
}

// hints says which hints of the frontend have no effect.
func (w *writer) hints() {
	if w.Source == nil {
		return
	}
	name := nameOf(w.entry)
	for _, e := range entries(w.Source) {
		if nameOf(e) != name {
			continue
		}
		ir.WalkOf(e, ir.PreOrder, func(op cudatile.HintedOp) { w.hintsOf(op.Op, op.Op == e, op.OptimizationHints()) })
	}
}

func (w *writer) hintsOf(op *ir.Op, kernel bool, keys ir.DictAttr) {
	seen := map[string]bool{}
	for _, key := range []string{w.Target.Name, "default"} {
		a, _ := keys.Get(key)
		hints, _ := a.(ir.DictAttr)
		for _, h := range hints {
			if seen[h.Name] {
				continue // the GPU's own wins
			}
			seen[h.Name] = true
			reason := cudatile.HintFault(op.Code(), key, h)
			if reason == "" {
				reason = w.dropped(h)
			}
			if reason == "" {
				continue
			}
			at := op
			if kernel {
				at = w.entry
			}
			value := fmt.Sprintf("%s = %s", h.Name, hintText(h.Value))
			if !kernel && (h.Name == "latency" || h.Name == "allow_tma") {
				w.add(at, remark.Hints, remark.Passed, "RemarkHintDefault", "OptimizationHint used default "+h.Name, arg("Hint", value), arg("Key", key), arg("Reason", reason))
				continue
			}
			w.add(at, remark.Hints, remark.Missed, "RemarkHintDropped", fmt.Sprintf("Hint %s has no effect", value),
				arg("Hint", value), arg("Key", key), arg("Reason", reason))
		}
	}
}

func hintText(a ir.Attribute) string {
	if n, ok := a.(ir.IntegerAttr); ok {
		return fmt.Sprint(n.SInt())
	}
	return ir.AttrText(a)
}

// dropped says why a hint without fault has no effect, "" when it has one.
func (w *writer) dropped(h ir.NamedAttr) string {
	n, _ := h.Value.(ir.IntegerAttr)
	switch {
	case h.Name == "latency":
		return "the plan decides how many iterations ahead a loop loads"
	case h.Name == "allow_tma" && h.Value == ir.BoolAttr(true):
		return "copies take tensor maps where they are asked for (--tma, Options.TMA)"
	case h.Name == "num_cta_in_cga" && n.SInt() > 1 && w.Target.ClusterMax == 1:
		return w.Target.Name + " has no clusters"
	case h.Name == "num_cta_in_cga" && n.SInt() > 1:
		return "clusters are not supported yet"
	}
	return ""
}

// uniq keeps the first of equal strings.
func uniq(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
