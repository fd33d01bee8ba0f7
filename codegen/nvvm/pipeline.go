package nvvm

import (
	"tileiras/codegen/layout"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file lowers roles, and the pipelines at which they meet. A slot of a pipeline has two mbarriers: full, at which every thread that
// copies arrives when its copies have landed, and empty, at which every warp that reads arrives. A phase of an mbarrier ends when all have
// arrived; who waits names the phase by its parity (PTX ISA, "mbarrier").

func init() {
	register(ir.Table[lowering]{
		tileaa.OpRoles & ir.Place:           lowerRoles,
		tileaa.OpRole & ir.Place:            lowerRole,
		tileaa.OpAllocPipeline & ir.Place:   allocPipeline,
		tileaa.OpProducerAcquire & ir.Place: producerAcquire,
		tileaa.OpProducerCommit & ir.Place:  producerCommit,
		tileaa.OpConsumerWait & ir.Place:    consumerWait,
		tileaa.OpConsumerRelease & ir.Place: consumerRelease,
	})
}

// lowerRoles sends every warp to the program of its role. The number of the warp comes from lane 0, so that ptxas knows that it is the same in
// all lanes.
//
//	warp < warps of the first ? -yes-> its program -> end
//	        |no
//	warp < those of the first two ? ..
func lowerRoles(f *fn, op *ir.Op) {
	all := f.role
	warp := f.op1("shfl.sync.idx.b32", f.lshr(f.thread(), layout.LaneBits), i32(0), i32(31), con(kI32, fullMask))
	end := f.newBlock()
	roles := ir.OpsOf[tileaa.Role](op.Body())
	first := 0
	for i, r := range roles {
		warps := int(r.Warps())
		top := f.newBlock()
		if i+1 < len(roles) {
			other := f.newBlock()
			f.condBr(f.icmp(ult, warp, i32(int64(first+warps))), top, other)
			f.cur = other
		} else {
			f.br(top)
		}
		next := f.cur
		f.enterRole(warps, first, top)
		f.lower(r.Op)
		f.br(end)
		f.cur = next
		first += warps
	}
	f.role, f.start = all, all.top
	f.enterBlock(end)
}

// lowerRole lowers the program of a role where its warps come to.
func lowerRole(f *fn, op *ir.Op) {
	f.yields = append(f.yields, &join{})
	f.block(op.Body())
	f.yields = f.yields[:len(f.yields)-1]
	f.dead = false
}

// allocPipeline makes the mbarriers, which the tensor unit and bulk copies must see if they arrive there; insert-barriers has all threads meet before roles begin.
func allocPipeline(f *fn, op *ir.Op) {
	p := ir.Cast[tileaa.AllocPipeline](op)
	offset, _ := p.Offset()
	f.pipelines = true
	first := f.icmp(eq, f.thread(), i32(0))
	for slot := range p.Result().Type().(*tileaa.PipelineType).Slots {
		full := offset + 2*tileaa.MbarrierBytes*slot
		f.op("@mbarrier.init", first, f.smem, i32(full), i32(p.Producers()))
		f.op("@mbarrier.init", first, f.smem, i32(full+tileaa.MbarrierBytes), i32(p.Consumers()))
	}
	if f.tensor != nil || f.maps != nil {
		f.op("fence.mbarrier_init.release.cluster")
	}
}

// full and empty are the addresses of the mbarriers of the slot that an op names.
func (f *fn) full(op *ir.Op) (base, offset reg) { return f.mbarrier(op, 0) }

func (f *fn) empty(op *ir.Op) (base, offset reg) { return f.mbarrier(op, tileaa.MbarrierBytes) }

func (f *fn) mbarrier(op *ir.Op, at int64) (base, offset reg) {
	start, _ := f.pipelineOf(op).Offset()
	position := f.scalar(ir.Cast[tileaa.PipelineOp](op).Position())
	slot := f.mul(f.resize(position, kI32, false), i32(2*tileaa.MbarrierBytes))
	return f.add(f.smem, slot), i32(start + at)
}

// pipelineOf makes the pipeline that an op names.
func (f *fn) pipelineOf(op *ir.Op) tileaa.AllocPipeline {
	p, ok := ir.DefinedBy[tileaa.AllocPipeline](ir.Cast[tileaa.PipelineOp](op).Pipeline())
	if !ok {
		f.bug("a pipeline has no alloc_pipeline")
	}
	return p
}

// tryWait is the wait at an mbarrier from sm_90 on.
const tryWait = "mbarrier.try_wait"

// await waits for the end of the phase of a parity.
func (f *fn) await(base, offset, parity reg) {
	name := "mbarrier.test_wait"
	if f.has(tryWait) {
		name = tryWait
	}
	f.op(name, base, offset, parity)
}

// producerAcquire waits for the phase before: in the first round it is the one before the first, which counts as ended. Where one thread copies
// for all, the other warps do not wait: nothing holds the phases for a warp that arrives at no mbarrier, and of two phases it knows the parity alone.
func producerAcquire(f *fn, op *ir.Op) {
	base, offset := f.empty(op)
	parity := f.zext(f.xor(f.scalar(ir.Cast[tileaa.ProducerAcquire](op).Phase()), con(kI1, 1)), kI32)
	if planted.On("acquire-early") {
		return
	}
	wait := func() { f.await(base, offset, parity) }
	if f.pipelineOf(op).Producers() == 1 {
		f.byFirstWarp(wait)
	} else {
		wait()
	}
}

func producerCommit(f *fn, op *ir.Op) {
	base, offset := f.full(op)
	if tileaa.TakesMaps(op) {
		f.maps.issueGroup(f, base, offset)
		return
	}
	f.op("cp.async.mbarrier.arrive.noinc.shared.b64", base, offset)
}

func consumerWait(f *fn, op *ir.Op) {
	base, offset := f.full(op)
	if planted.On("wait-dropped") {
		return
	}
	f.await(base, offset, f.zext(f.scalar(ir.Cast[tileaa.ConsumerWait](op).Phase()), kI32))
}

// consumerRelease: when all lanes have read, one arrives for the warp. Where the tensor unit reads, it arrives for the first warp, whose thread
// begins its products. The others arrive too, so that none is left a phase behind, whose parity is that of the next one but one.
func consumerRelease(f *fn, op *ir.Op) {
	base, offset := f.empty(op)
	arrives := f.icmp(eq, f.lane(), i32(0))
	if ir.Cast[tileaa.ConsumerRelease](op).Unit() {
		f.byOneThread(func() { f.arriveAfterProducts(base, offset) })
		if f.warps == 1 {
			return
		}
		arrives = f.and(arrives, f.xor(f.inFirstWarp(), con(kI1, 1)))
	}
	if !planted.On("release-unsynced") {
		f.op("bar.warp.sync", con(kI32, fullMask))
	}
	f.op("mbarrier.arrive", arrives, base, offset)
}
