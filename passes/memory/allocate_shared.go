package memory

import (
	"fmt"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// AllocateShared gives every buffer its byte offset: buffers that are not alive together share memory. Operations are numbered
// in program order; a buffer lives from its first to its last access, and over a whole loop when it comes from outside of it.
//
//	%a = alloc_shared    0 ┐        offset 0
//	     buffer_store %a 1 │
//	     buffer_load %a  2 ┘
//	%b = alloc_shared    3 ┐        offset 0 again (a barrier keeps the accesses apart)
func AllocateShared(s *pass.State) error {
	for _, entry := range s.Entries() {
		if err := allocateEntry(s, entry); err != nil {
			return err
		}
	}
	return nil
}

// LiveInterval is a buffer, ring or other shared memory, with its bytes, and the first and last op in program order between which it is in use.
type LiveInterval struct {
	Op          *ir.Op
	First, Last int
	Size, Align int
	offset      int
}

func allocateEntry(s *pass.State, entry *ir.Op) error {
	list, _ := LiveIntervals(s, entry)
	total, err := placeSeparately(s, entry, list)
	if err != nil {
		e := &pass.ErrPlan{Entry: pass.SymbolName(entry), Reason: err.Error()}
		if short, ok := err.(*shortage); ok {
			e.Loc = short.biggest.Loc()
		}
		return e
	}
	for _, iv := range list {
		ir.Cast[tileaa.PlacedOp](iv.Op).SetOffset(s.Ctx, int64(iv.offset))
	}
	e := ir.Cast[tileaa.Entry](entry)
	e.SetSharedBytes(s.Ctx, int64(total))
	if plan := *tileaa.PlanOf(entry); plan.MaxReg == 0 {
		// Unasked, ptxas leaves registers to more blocks than shared memory lets in, and spills.
		if blocks, limit := cost.Occupancy(s.Target, plan.Threads(), 0, total); blocks == 1 && limit == "shared memory" {
			plan.MaxReg = cost.RegisterLimit(s.Target, plan.Threads(), blocks)
			e.SetPlan(&plan)
		}
	}
	return nil
}

// Extent is the place of an op and of all that is nested in it in program order.
type Extent struct{ First, Last int }

// LiveIntervals lists the buffers and rings of an entry with their lives, and where every op stands. A product of the tensor unit stands for the memory that
// allocate-tensor has yet to give it.
func LiveIntervals(s *pass.State, entry *ir.Op) (list []*LiveInterval, at map[*ir.Op]Extent) {
	at = make(map[*ir.Op]Extent, ir.NumOps(entry))
	n := 0
	var unit *ir.Op
	var number func(op *ir.Op)
	number = func(op *ir.Op) {
		s.Step()
		first := n
		n++
		if ir.Is[tileaa.PlacedOp](op) {
			iv := &LiveInterval{Op: op}
			iv.Size, iv.Align = tileaa.PlacedMemory(op)
			list = append(list, iv)
		}
		if d, ok := tileaa.OnTensorUnit(op); ok && d.Memory() == nil {
			unit = op
		}
		for b := range op.Blocks() {
			for o := b.First(); o != nil; o = o.Next() {
				number(o)
			}
		}
		at[op] = Extent{first, n}
	}
	number(entry)
	for _, iv := range list {
		s.Step()
		if ir.Is[tileaa.Alloca](iv.Op) { // pointers to it may be anywhere
			iv.First, iv.Last = 0, n
			continue
		}
		iv.First, iv.Last = at[iv.Op].First+1, at[iv.Op].First+1
		users := tileaa.MemoryUsers(iv.Op.Result(0))
		read := slices.ContainsFunc(users, func(user *ir.Op) bool { return !onlyFills(user) })
		if read {
			users = append(users, releases(users)...)
		}
		for _, user := range users {
			from, to := lifetime(iv.Op, user, at, read)
			iv.First, iv.Last = min(iv.First, from), max(iv.Last, to)
		}
	}
	if unit != nil {
		list = append(list, &LiveInterval{Op: unit, Last: n, Size: (*tileaa.TensorMemoryType).Bytes(nil), Align: tileaa.MbarrierBytes})
	}
	return list, at
}

// lifetime is the interval in which memory is live for one user: all of a loop if it comes from outside. What one role passes to another is
// live from the start of the roles. A producer is done when the last consumer has read, and so needs no memory of its own; what nobody
// reads may be filled at any time of the roles.
func lifetime(alloc, user *ir.Op, at map[*ir.Op]Extent, read bool) (from, to int) {
	filler := onlyFills(user)
	for user.Block() != alloc.Block() {
		if role := user.ParentOp(); role.Code() == tileaa.OpRole {
			from = at[role.ParentOp()].First
			switch {
			case !filler:
				return from, at[user].Last
			case read:
				return from, from
			}
			return from, at[role.ParentOp()].Last
		}
		user = user.ParentOp()
	}
	return at[user].First, at[user].Last
}

// releases are the ops by which other roles give back the slots that some ops fill, read or not: they are filled until then.
func releases(users []*ir.Op) (list []*ir.Op) {
	for _, user := range users {
		if user.Code() != tileaa.OpAsyncCopy || tileaa.RoleOf(user) == nil {
			continue
		}
		if pipeline := committedTo(user); pipeline != nil {
			for _, u := range pipeline.Uses() {
				if u.Owner().Code() == tileaa.OpConsumerRelease {
					list = append(list, u.Owner())
				}
			}
		}
	}
	return list
}

// committedTo is the pipeline to which a role commits a copy, nil if the copy belongs to the role alone.
func committedTo(copied *ir.Op) *ir.Value {
	for op := copied.Next(); op != nil; op = op.Next() {
		if commit, is := ir.As[tileaa.ProducerCommit](op); is {
			return commit.Pipeline()
		}
	}
	return nil
}

// onlyFills reports whether a user of a buffer or a ring only writes there.
func onlyFills(user *ir.Op) bool {
	return user.Code() == tileaa.OpAsyncCopy || user.Code() == tileaa.OpRingSlot
}

func elemOf(a tileaa.Alloca) ir.Type { return tileaa.AsTile(a.Result()).Elem.(*tileaa.PtrType).Elem }

// placeSeparately is PlaceBuffers, but gives some buffers memory of their own where that costs no resident block, because sharing memory takes a
// barrier: small buffers, and operands of products in flight, which are read until after their last reader has begun.
func placeSeparately(s *pass.State, entry *ir.Op, list []*LiveInterval) (total int, err error) {
	total, err = PlaceBuffers(s, list)
	if err != nil {
		return total, err
	}
	columns := 0
	for _, iv := range list {
		if t, ok := iv.Op.Result(0).Type().(*tileaa.TensorMemoryType); ok {
			columns = int(t.Columns)
		}
	}
	plan := tileaa.PlanOf(entry)
	blocks := func(registers, bytes int) int {
		n, _ := cost.Occupancy(s.Target, plan.Threads(), min(registers, s.Target.RegistersPerThread), bytes)
		if columns > 0 {
			n = min(n, atom.TensorColumns/columns)
		}
		return n
	}
	small := func(iv *LiveInterval) bool { return iv.Size <= smallBuffer }
	flying := func(iv *LiveInterval) bool { return small(iv) || readByProducts(iv.Op) }
	for n, own := range []func(iv *LiveInterval) bool{flying, small} {
		registers := n * plan.MaxReg // a thread may take fewer: big buffers cost blocks then
		if !slices.ContainsFunc(list, own) {
			continue
		}
		apart, end := make([]*LiveInterval, len(list)), 0
		for _, iv := range list {
			end = max(end, iv.Last)
		}
		for i, iv := range list {
			s.Step()
			c := *iv
			if own(iv) {
				c.First, c.Last = 0, end
			}
			apart[i] = &c
		}
		more, err := PlaceBuffers(s, apart)
		if err != nil || blocks(registers, more) < blocks(registers, total) {
			continue
		}
		for i, iv := range list {
			iv.offset = apart[i].offset
		}
		return more, nil
	}
	return total, nil
}

// smallBuffer is the bytes of the biggest buffer that may have memory of its own: exchanges between warps over rows.
const smallBuffer = 2048

// readByProducts reports whether products in flight read a buffer that threads fill.
func readByProducts(alloc *ir.Op) bool {
	return ir.Is[tileaa.AllocShared](alloc) && slices.ContainsFunc(tileaa.BufferUsers(alloc.Result(0)), tileaa.ReadByUnit)
}

// shortage is the error that buffers have no room, with the one that takes the most.
type shortage struct {
	biggest *ir.Op
	text    string
}

func (e *shortage) Error() string { return e.text }

// contentsOf is what memory holds.
func contentsOf(op *ir.Op) string {
	if a, ok := ir.As[tileaa.Alloca](op); ok {
		return fmt.Sprintf("%d elements of type %s", a.NumElem(), ir.ShortType(elemOf(a)))
	}
	if tileaa.IsProduct(op) {
		return productMbarriers
	}
	return contents(op.Result(0).Type())
}

const productMbarriers = "mbarriers of products"

// contents is what a buffer or a ring holds: "128x64xf16", "3 times 128x64xf16".
func contents(t ir.Type) string {
	switch t := t.(type) {
	case *tileaa.RingType:
		return fmt.Sprintf("%d times %s", t.Slots, contents(t.Buffer))
	case *tileaa.PipelineType:
		return fmt.Sprintf("%d times two mbarriers", t.Slots)
	case *tileaa.TensorMemoryType:
		return productMbarriers
	}
	b, s := t.(*tileaa.BufferType), ""
	for _, n := range b.Shape {
		s += fmt.Sprintf("%dx", n)
	}
	return s + ir.ShortType(b.Elem)
}
