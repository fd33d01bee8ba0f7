package overlap

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/memory"
	"tileiras/passes/pass"
)

// resources are what an entry holds while its loops get rings one after the other: the accumulators, which rings leave as they are, and shared memory.
type resources struct {
	accumulators int // registers of a thread
	at           map[*ir.Op]memory.Extent
	list         []*memory.LiveInterval
	buffers      *memory.Timeline
	bytes        int   // of all buffers and of the rings that loops have so far
	err          error // that they have no room
}

func resourcesOf(s *pass.State, entry *ir.Op) *resources {
	list, at := memory.LiveIntervals(s, entry)
	r := &resources{accumulators: accumulatorsOf(s, entry), at: at, list: list}
	r.bytes, r.err = memory.PlaceBuffers(s, list)
	r.sort(s)
	return r
}

// sort makes the timeline of buffers as they live now.
func (r *resources) sort(s *pass.State) {
	r.buffers = memory.TimelineOf(r.list)
	for _, iv := range r.list {
		s.Step()
		r.buffers.Add(iv)
	}
}

// with is the shared memory when some buffers of a loop are rings of so many slots: as much as what is alive beside the loop takes, or more for the rest.
func (r *resources) with(s *pass.State, loop *ir.Op, buffers []*ir.Value, slots int) (bytes int, err error) {
	if r.err != nil {
		return 0, r.err
	}
	during := r.at[loop]
	list := r.buffers.During(s, during.First, during.Last)
	for i, iv := range list {
		changed := *iv
		if v := iv.Op.Result(0); slices.Contains(buffers, v) {
			changed.Size, changed.Align = tileaa.SharedMemory(tileaa.Ring(s.Ctx, int64(slots), v.Type().(*tileaa.BufferType)))
			changed.First, changed.Last = during.First, during.Last
		}
		list[i] = &changed
	}
	bytes, err = memory.PlaceBuffers(s, list)
	return max(bytes, r.bytes), err
}

// made says that buffers of a loop have become rings. The timeline has them as they lived before, which is enough for loops that end behind this one: such a
// loop lasts while all of this one does or while nothing of it does. Who asks for others sorts first.
func (r *resources) made(s *pass.State, loop *ir.Op, buffers []*ir.Value, slots int) {
	r.bytes, r.err = r.with(s, loop, buffers, slots)
	during := r.at[loop]
	for _, iv := range r.buffers.During(s, during.First, during.Last) {
		if v := iv.Op.Result(0); slices.Contains(buffers, v) {
			iv.Size, iv.Align = tileaa.SharedMemory(tileaa.Ring(s.Ctx, int64(slots), v.Type().(*tileaa.BufferType)))
			iv.First, iv.Last = during.First, during.Last
		}
	}
}
