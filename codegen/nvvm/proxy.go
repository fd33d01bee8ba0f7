package nvvm

import (
	"slices"

	"tileiras/codegen/planted"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file puts fences between two ways to shared memory: stores and copies of threads go through the generic proxy, the matrix units of sm_90 and sm_100
// read through the async one (PTX ISA, "Async Proxy"). Every thread that stores for a matrix unit executes the fence before it meets those who begin the
// product, as the CUDA programming guide has it ("Asynchronous Data Copies using TMA"). What copies bring is fenced by those who have waited for it.

const proxyFence = "fence.proxy.async.shared::cta"

// traffic is which proxies access the memory of a buffer, or of all slots of a ring.
type traffic struct {
	copied bool // threads write it by cp.async
	async  bool // the async proxy accesses it: a matrix unit reads it, or bulk copies fill it
}

// trafficOf is that of the memory of a buffer.
func (f *fn) trafficOf(buffer *ir.Value) traffic {
	memory := tileaa.MemoryOf(buffer)
	t, known := f.traffic[memory]
	if !known {
		for _, op := range tileaa.MemoryUsers(memory) {
			d, product := ir.As[tileaa.Dot](op)
			c, copies := ir.As[tileaa.AsyncCopy](op)
			t.copied = t.copied || copies && c.Maps() == nil
			t.async = t.async || product && d.Atom().Atom.Group > 0 || copies && c.Maps() != nil
		}
		t.async = t.async || f.passesToAsync(memory.DefiningOp())
		f.traffic[memory] = t
	}
	return t
}

// passesToAsync reports whether the async proxy uses bytes of a buffer later without waiting for what is stored there: bulk copies that fill another buffer there, and a
// product of warpgroups under a condition, which reads in any case; where the condition is false nothing was copied there, and nobody takes what it gives.
func (f *fn) passesToAsync(alloc *ir.Op) bool {
	if f.maps == nil && !target.WGMMA.On(f.o.Target) {
		return false
	}
	if f.asyncUses == nil {
		f.asyncUses = asyncUsesOf(tileaa.EntryOf(alloc))
	}
	own := placed(alloc)
	for other, end := range f.asyncUses.ends { // any of them: the order cannot matter
		if other.from < own.to && own.from < other.to && f.asyncUses.at[alloc] < end {
			return true
		}
	}
	return false
}

// asyncUses is where in program order, for bytes that bulk copies fill or products under a condition read, the last of them or the outermost loop that it is in ends,
// and where allocations stand.
type asyncUses struct {
	ends map[extent]int
	at   map[*ir.Op]int
}

func asyncUsesOf(entry *ir.Op) *asyncUses {
	n := &asyncUses{map[extent]int{}, map[*ir.Op]int{}}
	var open []extent // of the loop around
	count, loops := 0, 0
	use := func(buffer *ir.Value) {
		bytes := placed(tileaa.MemoryOf(buffer).DefiningOp())
		n.ends[bytes] = count
		open = append(open, bytes)
	}
	var visit func(op *ir.Op)
	visit = func(op *ir.Op) {
		count++
		_, loop := ir.LoopOf(op)
		if loop {
			loops++
		}
		if ir.Is[tileaa.PlacedOp](op) {
			n.at[op] = count
		} else if c, ok := ir.As[tileaa.AsyncCopy](op); ok && c.Maps() != nil {
			use(c.Buffer())
		} else if d, ok := ir.As[tileaa.Dot](op); ok && d.When() != nil && d.Atom().Atom.ByWarpgroup() {
			for _, v := range tileaa.FactorsOf(d) {
				if _, ok := v.Type().(*tileaa.BufferType); ok {
					use(v)
				}
			}
		}
		for b := range op.Blocks() {
			for o := b.First(); o != nil; o = o.Next() {
				visit(o)
			}
		}
		if loop {
			loops--
		}
		if loops == 0 { // what a loop holds may come before its products, too
			for _, bytes := range open {
				n.ends[bytes] = count
			}
			open = open[:0]
		}
	}
	visit(entry)
	return n
}

// extent is bytes of shared memory.
type extent struct{ from, to int }

// placed is the bytes of a buffer or a ring.
func placed(alloc *ir.Op) extent {
	offset, _ := ir.Cast[tileaa.PlacedOp](alloc).Offset()
	bytes, _ := tileaa.PlacedMemory(alloc)
	return extent{int(offset), int(offset) + bytes}
}

// storedTo notes that threads have stored to a buffer.
func (f *fn) storedTo(buffer *ir.Value) {
	f.unfenced = f.unfenced || f.trafficOf(buffer).async && !planted.On("store-unfenced")
}

// fenceStores has the async proxy see what this thread has stored.
func (f *fn) fenceStores() {
	if f.unfenced {
		f.op(proxyFence)
	}
	f.unfenced = false
}

// fenceCopies has matrix units see what copies have brought that this thread knows of. It looks back no further than a block of straight code goes: on another
// way to what follows there may have been no fence.
func (f *fn) fenceCopies() {
	if f.fenced != f.cur && !planted.On("drop-proxy-fence") {
		f.op(proxyFence)
	}
	f.fenced = f.cur
}

// makesNoCopyVisible reports whether an operation makes no copy visible: it waits for no data in shared memory.
func makesNoCopyVisible(op *ir.Op) bool {
	switch op.Code() {
	case tileaa.OpAsyncCopy, tileaa.OpAsyncCommit, tileaa.OpDot, tileaa.OpDotWait, tileaa.OpDotLand:
		return true
	}
	return op.Traits().Has(ir.Pure)
}

// mayMeetThreads reports whether an operation is a barrier between threads, or contains or leads to one.
func mayMeetThreads(op *ir.Op) bool {
	return op.Code() == tileaa.OpBarrier || len(op.Regions()) > 0 || op.Traits().Has(ir.Terminator)
}

// readsCopies reports whether a matrix unit reads what copies have brought.
func (f *fn) readsCopies(d tileaa.Dot) bool {
	return slices.ContainsFunc(tileaa.FactorsOf(d), func(v *ir.Value) bool {
		_, buffer := v.Type().(*tileaa.BufferType)
		return buffer && f.trafficOf(v).copied
	})
}
