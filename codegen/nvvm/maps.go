package nvvm

import (
	"math/bits"
	"strconv"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"tileiras/codegen/layout"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file lowers copies by tensor maps (PTX ISA, "cp.async.bulk.tensor"). The first warp makes the maps in shared memory and copies them to global memory,
// where they must lie. One thread begins the copies of a group when the group ends; they arrive at an mbarrier, and all threads wait there. Groups are counted
// as products of the tensor unit are.
//
// Global memory for maps belongs to the module. Tile blocks that run at the same time take different places: each multiprocessor has a word, in which a bit is a place.

func init() {
	register(ir.Table[lowering]{
		tileaa.OpAllocMaps & ir.Place:   allocMaps,
		tileaa.OpMapsAcquire & ir.Place: mapsAcquire,
		tileaa.OpTensorMap & ir.Place:   tensorMap,
		tileaa.OpMapsAddress & ir.Place: mapsAddress,
		tileaa.OpMapsRelease & ir.Place: mapsRelease,
		tileaa.OpAsyncCommit & ir.Place: asyncCommit,
	})
}

// mapMemory is the tensor maps of a tile block.
type mapMemory struct {
	*tileaa.MapMemoryType
	*counter                           // of groups
	offset              int64          // in shared memory
	base                reg            // address of the first map in global memory
	claims              *llvm.Global   // words of multiprocessors
	places              int64          // bits of a word
	global              *llvm.Global   // the maps of all places
	pending             map[*ir.Op]int // how many groups may be pending before a wait
	threadsCopy         bool           // threads copy, too
	reusesThreadBuffers bool           // bulk copies fill memory to which threads have copied
	roleCopies          bool           // a role copies
	group               []tileaa.AsyncCopy
}

// mapWords is the number of words in which tile blocks look for a place. A multiprocessor begins with that of its number: no GPU has as many.
const mapWords = 256

func allocMaps(f *fn, op *ir.Op) {
	a := ir.Cast[tileaa.AllocMaps](op)
	offset, _ := a.Offset()
	entry := tileaa.EntryOf(op)
	t := a.Result().Type().(*tileaa.MapMemoryType)
	m := &mapMemory{MapMemoryType: t, offset: offset, pending: tileaa.PendingGroups(entry).Before}
	m.counter = f.counting(commitsOf(entry), offset+t.CopyMbarrier(0), tileaa.CopyMbarriers)
	blocks := min(f.target.BlocksPerSM, layout.WarpSize*f.target.WarpsPerSM/f.plan.Threads())
	m.places = 1 << bits.Len(uint(max(blocks, 1)-1))
	m.claims = f.unset(f.fresh("map_claims_"+f.name), 4*mapWords, 4)
	m.global = f.unset(f.fresh("maps_"+f.name), mapWords*m.places*m.Maps*tileaa.MapBytes, tileaa.MapBytes)
	f.maps = m
	ir.WalkOf(entry, ir.PreOrder, func(c tileaa.AsyncCopy) {
		role := tileaa.RoleOf(c.Op) != nil
		if c.Maps() != nil {
			m.roleCopies = m.roleCopies || role
			return
		}
		m.threadsCopy = m.threadsCopy || !role
		m.reusesThreadBuffers = m.reusesThreadBuffers || f.passesToAsync(tileaa.MemoryOf(c.Buffer()).DefiningOp())
	})
}

// commitsOf are the ops that end a group, outside of roles.
func commitsOf(entry *ir.Op) (list []*ir.Op) {
	ir.WalkOf(entry, ir.PreOrder, func(c tileaa.AsyncCommit) {
		if tileaa.RoleOf(c.Op) == nil {
			list = append(list, c.Op)
		}
	})
	return list
}

// unset declares global memory that begins as zeros.
func (l *lowerer) unset(name string, bytes, align int64) *llvm.Global {
	g := l.variable(name, constant.NewZeroInitializer(types.NewArray(uint64(bytes), types.I8)), globalSpace, align)
	g.Linkage = enum.LinkageInternal
	return g
}

// mapsAcquire: every lane makes an mbarrier and clears its part of the maps; one takes a place, the first free one from the word of its multiprocessor on.
func mapsAcquire(f *fn, _ *ir.Op) {
	m := f.maps
	f.byFirstWarp(func() {
		own := f.shl(f.lane(), 2)
		for n := range m.Maps {
			f.op("st.shared.b32", f.add(f.smem, own), i32(m.offset+n*tileaa.MapBytes), i32(0))
		}
		f.op("mbarrier.init", f.add(f.smem, f.shl(own, 1)), i32(m.offset+m.CopyMbarrier(0)), i32(1))
		f.op("fence.mbarrier_init.release.cluster")
		f.byElected(func() {
			f.op("st.shared.b32", f.smem, i32(m.offset+m.PlaceOfMaps()), m.claim(f))
		})
		f.op("bar.warp.sync", con(kI32, fullMask))
	})
}

// claim takes a free place and gives its number: the first of the word of the multiprocessor, or what is left of it, or of the next one. Blocks that run hold fewer
// places than there are, so one is found.
func (m *mapMemory) claim(f *fn) reg {
	claims := f.globalAddress(m.claims)
	state := f.loopWhile([]reg{f.op1("mov.u32.%smid"), i32(1), i32(0)}, func(state []reg) ([]reg, reg) {
		word, bit := f.and(state[0], i32(mapWords-1)), state[1]
		before := f.op1("atom.acquire.gpu.global.or.b32", f.add(claims, f.zext(f.shl(word, 2), kI64)), i32(0), bit)
		place := f.add(f.mul(word, i32(m.places)), f.sub(i32(31), f.op1("clz.b32", bit)))
		free := f.and(f.not(before), i32(1<<m.places-1))
		full := f.icmp(eq, free, i32(0))
		taken := f.icmp(ne, f.and(before, bit), i32(0))
		if planted.On("place-taken") {
			taken = boolean(false)
		}
		return []reg{f.add(word, f.zext(full, kI32)), f.sel(full, i32(1), f.and(free, f.neg(free))), place}, taken
	})
	return state[2]
}

// addressOf is where a map is in global memory, as a generic address.
func (m *mapMemory) addressOf(f *fn, n int64) reg { return f.add(m.base, i64(n*tileaa.MapBytes)) }

// place is the number of the place that the block has.
func (m *mapMemory) place(f *fn) reg {
	return f.op1("ld.shared.b32", f.smem, i32(m.offset+m.PlaceOfMaps()))
}

// at is the global address of the maps of a place.
func (m *mapMemory) at(f *fn, place reg) reg {
	return f.add(f.globalAddress(m.global), f.zext(f.mul(place, i32(m.Maps*tileaa.MapBytes)), kI64))
}

// tensorMap: one thread fills in the fields, whose others are zero, and the warp copies the map to global memory.
func tensorMap(f *fn, op *ir.Op) {
	m, t := f.maps, ir.Cast[tileaa.TensorMap](op)
	v := f.views[t.Memref()]
	if v == nil {
		f.bug("the array of a map has no make_memref")
	}
	at := []reg{f.smem, i32(m.offset + t.Map()*tileaa.MapBytes)}
	set := func(field string, values ...reg) { f.op("tensormap.replace."+field, append(at[:2:2], values...)...) }
	f.byFirstWarp(func() {
		f.byElected(func() {
			set("global_address", v.base)
			set("rank", i32(int64(len(t.Dims())-1)))
			for i, d := range t.Dims() {
				ordinal := strconv.Itoa(i)
				set("box_dim."+ordinal, i32(t.Box()[i]))
				set("global_dim."+ordinal, f.mapExtent(v.memref, int(d)))
				set("element_stride."+ordinal, i32(1))
				if i > 0 {
					stride := i64(tileaa.AnyMapStride)
					if tileaa.HasMapStride(t.Memref().Type().(*tileaa.MemrefType), int(d)) {
						stride = f.mul(f.unsigned(v.strides[d], kI64), i64(v.elemBytes))
					}
					set("global_stride."+strconv.Itoa(i-1), stride)
				}
			}
			set("elemtype", i32(mapType(v.elemBytes)))
			if mode := bits.Len(uint(t.Swizzle()) / 32); mode > 0 {
				set("swizzle_mode." + strconv.Itoa(mode))
			}
		})
		f.op("bar.warp.sync", con(kI32, fullMask))
		to := f.add(m.at(f, m.place(f)), i64(t.Map()*tileaa.MapBytes))
		f.op("tensormap.cp_fenceproxy", to, i32(0), at[0], at[1])
	})
}

// mapExtent is an extent as a map has it, which is at least 1; they fit tileaa.MapCoordinateBits.
func (f *fn) mapExtent(m *memref, d int) reg {
	n := f.unsigned(m.shape[d], kI32)
	if planted.On("map-too-long") {
		n = f.add(n, i32(1))
	}
	if n.isConst() {
		return i32(max(n.sint(), 1))
	}
	return f.minmax(n, i32(1), false, true)
}

// mapType is the element type of so many bytes in tensormap.replace (PTX ISA, "tensormap.replace"): .u8, .u16, .u32, .u64. What is copied is not computed with.
func mapType(bytes int64) int64 { return map[int64]int64{1: 0, 2: 1, 4: 2, 8: 4}[bytes] }

// mapsAddress: every thread finds the maps, and the proxy of tensor maps sees what the first warp has stored, in all warps one thread of which may begin copies.
func mapsAddress(f *fn, _ *ir.Op) {
	m := f.maps
	at := m.at(f, m.place(f))
	acquire := func() {
		for n := range m.Maps {
			f.op("fence.proxy.tensormap.acquire", at, i32(n*tileaa.MapBytes))
		}
	}
	switch {
	case planted.On("map-unfenced"):
	case m.roleCopies:
		acquire()
	default:
		f.byFirstWarp(acquire)
	}
	m.base = f.op1("cvta.global.u64", at)
}

// mapsRelease waits for all copies, so that nothing reads the maps any more.
func mapsRelease(f *fn, op *ir.Op) {
	m := f.maps
	m.await(f, m.pending[op], 0)
	f.byOneThread(func() {
		place := m.place(f)
		word, bit := f.lshr(place, bits.TrailingZeros64(uint64(m.places))), f.and(place, i32(m.places-1))
		at := f.add(f.globalAddress(m.claims), f.zext(f.shl(word, 2), kI64))
		release := "red.release.gpu.global.and.b32"
		if planted.On("place-scope") {
			release = "red.release.cluster.global.and.b32"
		}
		f.op(release, at, i32(0), f.not(f.bin(opShl, i32(1), bit)))
	})
}

// await waits until at most so many of the pending groups are: for each at its own mbarrier, as they arrive in any order.
func (m *mapMemory) await(f *fn, pending, left int) {
	if planted.On("group-unawaited") {
		left++
	}
	for n := pending; n > left; n-- {
		base, offset, parity := m.mbarrierOf(f, f.sub(m.begun, i32(int64(n))))
		f.await(base, offset, parity)
	}
}

// asyncCommit ends a group: one thread begins the copies of it that take maps.
func asyncCommit(f *fn, op *ir.Op) {
	m := f.maps
	if m == nil || tileaa.RoleOf(op) != nil {
		f.op("cp.async.commit_group")
		return
	}
	if m.threadsCopy {
		f.op("cp.async.commit_group")
	}
	base, offset, _ := m.mbarrierOf(f, m.begun)
	m.issueGroup(f, base, offset)
	m.begun = f.add(m.begun, i32(1))
}

// issueGroup has one thread issue the bulk copies of a group, which complete at an mbarrier together. They are predicated rather than
// branched around, so that the basic block does not end here.
func (m *mapMemory) issueGroup(f *fn, base, offset reg) {
	group := m.group
	m.group = nil
	issuer, bytes := f.oneThread(), i32(0)
	guards := make([]reg, len(group))
	for i, c := range group {
		when := boolean(true)
		if c.When() != nil {
			when = f.scalar(c.When())
		}
		bytes = f.add(bytes, f.sel(when, i32(int64(c.Buffer().Type().(*tileaa.BufferType).Bytes())), i32(0)))
		guards[i] = f.and(issuer, when)
	}
	f.op("@mbarrier.arrive.expect_tx", issuer, base, offset, bytes)
	for i, c := range group {
		m.copy(f, c, guards[i], base, offset)
	}
}

// copy issues the copies that fill a buffer, predicated by guard.
func (m *mapMemory) copy(f *fn, c tileaa.AsyncCopy, guard, mbarrier, at reg) {
	boxes, _, ok := tileaa.BoxesOf(c)
	if !ok {
		f.bug("no boxes fill the buffer of a copy")
	}
	b, v := f.bufferOf(c.Op), f.viewOf(c.Op)
	to, offset := f.smem, b.offset
	if !b.slot.absent() {
		to = f.add(to, b.slot)
	}
	number, _ := c.Map()
	name := "@cp.async.bulk.tensor." + strconv.Itoa(len(boxes.Dims)) + "d"
	beyond := f.beyondEmpty(v.memref)
	for _, p := range boxes.Parts {
		args := []reg{guard, to, i32(offset + int64(p.Offset)), m.addressOf(f, number)}
		for i, d := range boxes.Dims {
			corner := f.mul(f.unsigned(v.index[d], kI32), i32(v.traversal[d]))
			corner = f.add(corner, i32(int64(p.Corner[d])))
			if i == 0 {
				corner = f.add(corner, beyond)
			}
			args = append(args, corner)
		}
		f.op(name, append(args, mbarrier, at)...)
	}
}

// beyondEmpty is what to add to a coordinate so that nothing of an array without elements is read, of which a map says that it has some.
func (f *fn) beyondEmpty(m *memref) (add reg) {
	f.hoisted(func() {
		empty := boolean(false)
		for _, n := range m.shape {
			if planted.On("empty-read") {
				break
			}
			empty = f.or(empty, f.icmp(eq, n, con(n.k, 0)))
		}
		add = f.sel(empty, i32(1<<30), i32(0))
	})
	return add
}
