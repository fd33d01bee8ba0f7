package ptxop

import "tileiras/codegen/target"

// Barriers, fences, warp communication: PTX ISA, "Parallel Synchronization and
// Communication Instructions".

// callScratch opens the text of the call of vprintf, arriveScratch that of an arrival at an mbarrier, waitScratch that of a wait for one.
const (
	callScratch   = "{ .param .b64 p0; .param .b64 p1; .param .b32 r0; "
	arriveScratch = "{ .reg .b64 state; "
	waitScratch   = "{ .reg .pred over; "
)

func init() {
	const barrier = Barrier | Convergent | ReadGeneric | WriteGeneric

	// Barrier numbers are constants: a number in a register reserves all 16.
	define("bar", func(b *builder) {
		b.op("bar.sync", "n", barrier, anySM)
		b.named("bar.sync.count", "bar.sync", "n n", barrier, anySM)
		b.named("bar.arrive.count", "bar.arrive", "n n", barrier, anySM)
		b.op("bar.warp.sync", "r", barrier, anySM)
	})
	define("barrier", func(b *builder) {
		for _, m := range []string{"barrier.cluster.arrive", "barrier.cluster.arrive.relaxed", "barrier.cluster.wait"} {
			need := sm90
			if m == "barrier.cluster.arrive.relaxed" {
				need = sm(90, 8, 0)
			}
			b.named(m, m+".aligned", "", barrier, need)
		}
	})
	define("fence", func(b *builder) {
		for _, order := range []string{"sc", "acq_rel"} {
			for _, c := range scopes {
				b.op("fence."+order+"."+c.name, "", Fence, c.need)
			}
		}
		for _, m := range []string{"fence.proxy.async", "fence.proxy.async.global", "fence.proxy.async.shared::cta", "fence.mbarrier_init.release.cluster"} {
			b.op(m, "", Fence, sm(90, 8, 0))
		}
		b.op("fence.proxy.alias", "", Fence, sm(75, 7, 5))
		b.named("fence.proxy.tensormap.acquire", "fence.proxy.tensormap::generic.acquire.gpu", "[l] '128", Fence, sm(90, 8, 3))
	})
	// An mbarrier: PTX ISA, "mbarrier". A wait asks again and again for the end of the phase of a parity; from sm_90 on, the hardware waits for a
	// while before it answers.
	define("mbarrier", func(b *builder) {
		const meets = barrier &^ Convergent
		b.guarded("mbarrier.init", "mbarrier.init.shared.b64", "[r] r", WriteShared|Strong, sm80)
		b.text("mbarrier.arrive", arriveScratch+"@$0 mbarrier.arrive.shared.b64 state, [$1+$2]; }", "b [r]", meets, sm80)
		// Asked only in front of bulk copies: what it passes on is what they bring, so accesses of threads to other memory may cross it.
		b.guarded("mbarrier.arrive.expect_tx", "mbarrier.arrive.expect_tx.shared.b64", "'_ [r] r", ReadShared|WriteShared|Strong|Async, target.Bulk)
		for _, w := range []struct {
			name string
			need target.Need
		}{{"test_wait", sm(80, 7, 1)}, {"try_wait", sm(90, 7, 8)}} {
			b.text("mbarrier."+w.name, waitScratch+"again: mbarrier."+w.name+".parity.shared.b64 over, [$0+$1], $2; @!over bra again; }", "[r] R", meets, w.need)
		}
	})
	define("membar", func(b *builder) {
		for _, level := range []string{"cta", "gl", "sys"} {
			b.op("membar."+level, "", Fence, anySM)
		}
	})
	define("griddepcontrol", func(b *builder) {
		b.op("griddepcontrol.wait", "", Fence|Control, sm90)
		b.op("griddepcontrol.launch_dependents", "", Control, sm90)
	})

	// shfl: value, lane or distance, clamp and segment mask, member mask.
	define("shfl", func(b *builder) {
		for _, mode := range []string{"up", "down", "bfly", "idx"} {
			b.op("shfl.sync."+mode+".b32", "=r r r r r", Convergent, anySM)
		}
	})
	define("vote", func(b *builder) {
		for _, mode := range []string{"all", "any", "uni"} {
			b.op("vote.sync."+mode+".pred", "=b b r", Convergent, anySM)
		}
		b.op("vote.sync.ballot.b32", "=r b r", Convergent, anySM)
	})
	define("activemask", func(b *builder) {
		b.op("activemask.b32", "=r", Convergent|Clock, anySM)
	})
	define("elect", func(b *builder) {
		b.text("elect.sync", "elect.sync _|$0, $1", "=b r", Convergent, sm(90, 8, 0))
	})
	define("match", func(b *builder) {
		for _, t := range []string{"b32 r", "b64 l"} {
			b.op("match.any.sync."+t[:3], "=r "+t[4:]+" r", Convergent, anySM)
		}
	})
	define("redux", func(b *builder) {
		for _, op := range []string{"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"} {
			b.op("redux.sync."+op, "=r r r", Convergent, sm80)
		}
		for _, op := range []string{"min", "max"} {
			for _, nan := range []string{"", ".NaN"} {
				b.op("redux.sync."+op+nan+".f32", "=f f r", Convergent, target.Need{Arch: target.FloatRedux, PTX: target.V(8, 6)})
			}
		}
	})

	define("mapa", func(b *builder) {
		b.op("mapa.shared::cluster.u32", "=r r r", 0, sm90)
	})
	define("getctarank", func(b *builder) {
		b.op("getctarank.shared::cluster.u32", "=r r", 0, sm90)
	})

	// The call of the device runtime's printf: format, argument block.
	define("call", func(b *builder) {
		b.text("call.vprintf", callScratch+"st.param.b64 [p0], $1; st.param.b64 [p1], $2; call (r0), vprintf, (p0, p1); ld.param.b32 $0, [r0]; }", "=r L L", ReadGeneric|WriteGeneric|Control, anySM)
	})

	define("trap", func(b *builder) { b.guarded("trap", "trap", "", Control, anySM) })
	define("nanosleep", func(b *builder) { b.op("nanosleep.u32", "r", Control, sm(70, 6, 3)) })
}
