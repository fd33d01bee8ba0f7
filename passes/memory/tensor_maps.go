package memory

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// MakeTensorMaps has one thread copy by a tensor map what all threads would copy 16 bytes at a time:
//
//	                                      %maps = alloc_maps : map_memory<1>
//	                                      maps_acquire %maps
//	%m = make_memref ..                   %m = make_memref ..
//	                                      tensor_map %m, %maps {map = 0, dims = [1, 0], box = [64, 128], swizzle = 128}
//	                               =>     maps_address %maps
//	for .. {                              for .. {
//	  async_copy %block, %slot              async_copy %block, %slot, maps(%maps) {map = 0}
//	  async_commit                          async_commit
//	}                                     }
//	                                      maps_release %maps
//	return                                return
//
// A map is of an array that is there before the first copy, from an address and strides that are multiples of 16 bytes, the strides less than 2^40 bytes, and of boxes as the buffer has them. What is
// copied must not have been written by the kernel: it would have to pass from one way to memory to the other (PTX ISA, "Async Proxy").
func MakeTensorMaps(s *pass.State) error {
	if !s.TMA || !target.TensorMaps.On(s.Target) {
		return nil
	}
	for _, entry := range s.Entries() {
		m := &mapMaker{s: s, entry: entry, known: facts.New(s.Ctx, entry), before: map[*ir.Op]bool{}, byThreads: map[*ir.Value]bool{}}
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) { m.visit(op) })
		m.copies = slices.DeleteFunc(m.copies, func(c mapCopy) bool { return m.byThreads[c.pipeline] || m.roles != nil && c.pipeline == nil })
		maps, numbers := m.number()
		if m.made || len(maps) == 0 || len(maps) > tileaa.MostMaps || !m.roomFor(maps) {
			continue
		}
		if pending := tileaa.PendingGroups(entry); mbarrierRoundSuffices(s, entry, pending) {
			m.make(maps, numbers, pending)
		}
	}
	return nil
}

type mapMaker struct {
	s      *pass.State
	entry  *ir.Op
	known  *facts.Facts
	copies []mapCopy
	begin  *ir.Op // the first op that may need the maps, or what of the entry it is in

	made      bool               // a text may have maps already
	roles     *ir.Op             // nil: there are none
	before    map[*ir.Op]bool    // ops of the entry that stand before it
	byThreads map[*ir.Value]bool // pipelines to whose slots threads copy: all arrive there, or one
}

// mapCopy is a copy that uses a tensor map.
type mapCopy struct {
	copy     tileaa.AsyncCopy
	pipeline *ir.Value // to whose slots it copies, in a role; else nil
	of       tensorMap
}

// tensorMap is a map in the making. Copies with the same boxes of an array share one.
type tensorMap struct {
	memref *ir.Value
	shape  tileaa.MapShape
}

func (m *mapMaker) visit(op *ir.Op) {
	if m.begin == nil && op.ParentOp() == m.entry {
		m.before[op] = true
	}
	switch op.Code() {
	case tileaa.OpAllocMaps:
		m.made = true
	case tileaa.OpAsyncCommit:
		if tileaa.RoleOf(op) != nil {
			return
		}
		m.beginsAt(op)
	case tileaa.OpAsyncCopy:
		m.beginsAt(op)
		c := ir.Cast[tileaa.AsyncCopy](op)
		pipeline, ok := m.filled(c)
		if b, block, fits := tileaa.BoxesOf(c); ok && fits {
			if shape := tileaa.MapShapeOf(b, block); m.mappable(c, block, shape) {
				m.copies = append(m.copies, mapCopy{c, pipeline, tensorMap{block.Memref(), shape}})
				return
			}
		}
		if pipeline != nil {
			m.byThreads[pipeline] = true
		}
	case tileaa.OpRoles:
		m.beginsAt(op)
		m.roles = op
	}
}

// beginsAt notes where the maps must be there: before the first copy, wherever it belongs, and before roles.
func (m *mapMaker) beginsAt(op *ir.Op) {
	if m.begin != nil {
		return
	}
	for op.ParentOp() != m.entry {
		op = op.ParentOp()
	}
	m.begin = op
	delete(m.before, op)
}

// mappable reports whether a copy may take a map of its array.
func (m *mapMaker) mappable(c tileaa.AsyncCopy, block tileaa.BlockTile, shape tileaa.MapShape) bool {
	memref, ok := ir.DefinedBy[tileaa.MakeMemref](block.Memref())
	if !ok || block.Mapless() || !m.knownBefore(memref.Op) || !kernel.AfterReads(c.Token()) {
		return false
	}
	if p, some := block.Padding(); some && p != def.PadZero {
		return false
	}
	bits := c.CoordinateBits()
	if len(bits) == 0 || slices.ContainsFunc(bits, func(n int64) bool { return n > tileaa.MapCoordinateBits }) {
		return false
	}
	t := memref.Result().Type().(*tileaa.MemrefType)
	if m.known.Of(memref.Base()).ZeroBits < 4 {
		return false
	}
	for _, a := range shape.Dims[1:] {
		if !tileaa.HasMapStride(t, int(a)) {
			continue
		}
		stride, bytes := m.known.Stride(memref, int(a)), tileaa.ElemBytes(t.Elem)
		if bytes<<min(stride.ZeroBits, 4)%16 != 0 || stride.Width == 0 || stride.UMax > uint64((tileaa.MapStrideEnd-1)/bytes) {
			return false
		}
	}
	return true
}

// filled is the pipeline to whose slots a copy in a role goes. ok is false for one that belongs to the role alone.
func (m *mapMaker) filled(c tileaa.AsyncCopy) (pipeline *ir.Value, ok bool) {
	if tileaa.RoleOf(c.Op) == nil {
		return nil, true
	}
	pipeline = committedTo(c.Op)
	return pipeline, pipeline != nil
}

// knownBefore reports whether an array is made before the first copy, or of what is there before it.
func (m *mapMaker) knownBefore(memref *ir.Op) bool {
	return m.before[memref] || !slices.ContainsFunc(memref.Operands(), func(v *ir.Value) bool {
		op := v.DefiningOp()
		return op != nil && !m.before[op] || op == nil && v.Block() != m.entry.Body()
	})
}

func (x tensorMap) equal(y tensorMap) bool {
	return tileaa.SameArray(x.memref, y.memref) && x.shape.Equal(y.shape)
}

// number gives the maps that the copies take, and for each copy the number of its own.
func (m *mapMaker) number() (maps []tensorMap, numbers []int64) {
	for _, c := range m.copies {
		n := slices.IndexFunc(maps, c.of.equal)
		if n < 0 && len(maps) <= tileaa.MostMaps {
			n, maps = len(maps), append(maps, c.of)
		}
		numbers = append(numbers, int64(n))
	}
	return maps, numbers
}

// roomFor reports whether maps take no block from a multiprocessor.
func (m *mapMaker) roomFor(maps []tensorMap) bool {
	list, _ := LiveIntervals(m.s, m.entry)
	total, err := placeSeparately(m.s, m.entry, list)
	if err != nil {
		return true // it has none without them, which allocate-shared says
	}
	plan := tileaa.PlanOf(m.entry)
	registers := plan.Registers(cost.RegisterLimit(m.s.Target, plan.Threads(), max(plan.Occupancy, 1)))
	blocks := func(bytes int) int {
		n, _ := cost.Occupancy(m.s.Target, plan.Threads(), registers, bytes)
		return n
	}
	need := (total+tileaa.MapBytes-1)/tileaa.MapBytes*tileaa.MapBytes + tileaa.MapMemory(m.s.Ctx, int64(len(maps))).Bytes()
	return blocks(need) == blocks(total)
}

// make makes the maps, and has the copies take them.
func (m *mapMaker) make(list []tensorMap, numbers []int64, pending *tileaa.Groups) {
	s := m.s
	b := ir.NewBuilder(s.Ctx).AtStart(m.entry.Body())
	b.Loc = m.copies[0].copy.Op.Loc()
	maps := tileaa.NewAllocMaps(b, tileaa.MapMemory(s.Ctx, int64(len(list))), tileaa.AllocMapsOptions{}).Result()
	tileaa.NewMapsAcquire(b, maps)
	for n, x := range list {
		made := x.memref.DefiningOp()
		if m.before[made] {
			b.After(made)
		} else {
			b.Before(m.begin)
			made = b.Clone(made, ir.Mapping{})
		}
		tileaa.NewTensorMap(b, made.Result(0), maps, int64(n), x.shape.Dims, x.shape.Box, x.shape.Swizzle)
	}
	b.Before(m.begin)
	tileaa.NewMapsAddress(b, maps)
	for _, l := range pending.Growing { // by as many as are pending when it begins it may run ahead
		b.Before(l.Loop.Body().Terminator())
		tileaa.NewAsyncWait(b, int64(l.Pending))
	}
	for i, c := range m.copies {
		c.copy.SetMaps(maps)
		c.copy.SetMap(s.Ctx, numbers[i])
		if c.pipeline != nil {
			ir.Cast[tileaa.AllocPipeline](c.pipeline.DefiningOp()).SetProducers(s.Ctx, 1)
		}
	}
	owner := m.entry
	if m.roles != nil {
		owner = m.readers()
	}
	beforeEnds(s, b, owner, func() { tileaa.NewMapsRelease(b, maps) })
}

// readers is the role that reads what others copy, and so has waited for all of it at its end.
func (m *mapMaker) readers() *ir.Op {
	for _, r := range ir.OpsOf[tileaa.Role](m.roles.Body()) {
		reads := false
		m.s.Walk(r.Op, ir.PreOrder, func(op *ir.Op) { reads = reads || op.Code() == tileaa.OpConsumerWait })
		if reads {
			return r.Op
		}
	}
	panic("BUG: nobody waits for what a role copies")
}
