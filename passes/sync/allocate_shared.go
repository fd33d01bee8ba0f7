package sync

import (
	"cmp"
	"fmt"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// allocate-shared gives every buffer its byte offset: buffers that are not alive together share memory. Operations are numbered
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

// sharedAlign is the alignment of every buffer: the 128-byte swizzle repeats after 1024 bytes, smaller buffers need 128.
const sharedAlign, swizzleAlign = 128, 1024

type interval struct {
	op          *ir.Op
	first, last int
	size, align int
	offset      int
}

func allocateEntry(s *pass.State, entry *ir.Op) error {
	var list []*interval
	end := map[*ir.Op]int{} // number of the last op inside an op
	start := map[*ir.Op]int{}
	n := 0
	var number func(op *ir.Op)
	number = func(op *ir.Op) {
		s.Step()
		start[op] = n
		n++
		if op.Code() == tileaa.OpAllocShared {
			t := op.Result(0).Type().(*tileaa.BufferType)
			size := t.Mem.Size() * tileaa.ElemBytes(t.Elem)
			align := sharedAlign
			if size >= swizzleAlign {
				align = swizzleAlign
			}
			list = append(list, &interval{op: op, size: size, align: align})
		}
		for _, r := range op.Regions() {
			for _, b := range r.Blocks() {
				for o := b.First(); o != nil; o = o.Next() {
					number(o)
				}
			}
		}
		end[op] = n
	}
	number(entry)
	for _, iv := range list {
		iv.first, iv.last = start[iv.op]+1, start[iv.op]+1
		for _, u := range iv.op.Result(0).Uses() {
			user := u.Owner()
			for user.Block() != iv.op.Block() {
				user = user.ParentOp()
			}
			iv.first, iv.last = min(iv.first, start[user]), max(iv.last, end[user])
		}
	}
	total, err := place(s, list, s.Target.SharedOptIn)
	if err != nil {
		return &pass.ErrPlan{Entry: pass.SymbolName(entry), Reason: err.Error()}
	}
	for _, iv := range list {
		ir.Cast[tileaa.AllocShared](iv.op).SetOffset(s.Ctx, int64(iv.offset))
	}
	ir.Cast[tileaa.Entry](entry).SetSharedBytes(s.Ctx, int64(total))
	return nil
}

// place finds offsets, big buffers first, each at the lowest place that is free while it lives.
func place(s *pass.State, list []*interval, limit int) (total int, err error) {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *interval) int { return cmp.Compare(b.size, a.size) })
	var placed []*interval
	for _, iv := range order {
		s.Step()
		at := 0
		for again := true; again; {
			again = false
			for _, p := range placed {
				if p.first < iv.last && iv.first < p.last && at < p.offset+p.size && p.offset < at+iv.size {
					at = (p.offset + p.size + iv.align - 1) / iv.align * iv.align
					again = true
				}
			}
		}
		iv.offset = at
		placed = append(placed, iv)
		total = max(total, at+iv.size)
	}
	if total > limit {
		return 0, fmt.Errorf("it needs %d bytes of shared memory, a thread block has at most %d on %s; the largest buffer is %s of %d bytes: smaller tiles or, for a product, a smaller depth help",
			total, limit, s.Target.Name, ir.ShortType(order[0].op.Result(0).Type()), order[0].size)
	}
	return total, nil
}
