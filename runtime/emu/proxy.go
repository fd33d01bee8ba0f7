package emu

import (
	"maps"
	"slices"
)

// proxyFence is fence.proxy.* (section 9.7.13.6): it raises the visibility of earlier accesses (agents.go).
func (d *decoder) proxyFence() {
	switch kind := d.oneOf("async", "async::generic", "tensormap::generic", "alias"); kind {
	case "async": // of one state space, or of all
		space := d.oneOf("global", "shared::cta", "shared::cluster")
		d.asyncFence(space != "shared::cta" && space != "shared::cluster", space != "global")
	case "async::generic": // one direction, with the state space that it is about
		if d.oneOf("acquire", "release") == "" || d.oneOf("sync_restrict::shared::cta", "sync_restrict::shared::cluster") == "" || !d.flag("cluster") {
			d.lacks("a fence of the async proxy in one direction has a restriction and a scope")
		}
		d.asyncFence(false, true)
	case "tensormap::generic":
		d.tensormapFence()
	case "alias":
		d.in.exec = func(*warp, *inst, uint32) {}
	default:
		d.lacks("this proxy")
	}
}

// asyncFence makes what the generic proxy has written to global or shared memory visible to the async proxy.
func (d *decoder) asyncFence(global, shared bool) {
	d.needsProxies()
	d.in.exec = func(w *warp, in *inst, m uint32) {
		if global {
			w.raiseVisibility(m, happened, asyncGlobal)
		}
		if shared {
			w.raiseVisibility(m, happened, asyncProxy)
			w.raiseVisibility(m, happened, fencedByWriter)
		}
	}
}

// tensormapFence is fence.proxy.tensormap::generic.{release,acquire}.scope.
func (d *decoder) tensormapFence() {
	kind, scope := d.oneOf("release", "acquire"), d.tensormapScope()
	switch kind {
	case "release":
		d.in.exec = func(w *warp, in *inst, m uint32) { w.releaseMaps(m, scope) }
	case "acquire":
		if !d.nargs(2, 2) {
			return
		}
		d.address(&d.st.args[0], &memOp{space: spGeneric, elem: tensormapBytes, n: 1})
		d.in.exec = func(w *warp, in *inst, m uint32) { w.acquireMaps(m, scope) }
	default:
		d.malformed("a fence of tensor maps releases or acquires")
	}
}

// checkNothingInFlight checks a CTA that exits: no asynchronous operation may still read or write its shared memory.
func (w *warp) checkNothingInFlight() {
	left := slices.Clone(w.cta.pendingCompletions)
	for _, at := range slices.Sorted(maps.Keys(w.cta.shared.barriers)) {
		left = append(left, w.cta.shared.barriers[at].unseen...)
	}
	for _, a := range left {
		if a.carries {
			w.reportInFlightAtExit(a.what, a.pc)
		}
	}
	for _, x := range w.cta.warps {
		if agentBulkRead >= x.prog.agents {
			return
		}
		lanes(x.exist, func(i int) {
			if b := &x.agents[agentBulkRead]; b.issued[i] > b.completed[i] {
				w.reportInFlightAtExit(agentNames[agentBulkRead], b.pc)
			}
		})
		if x.wgmmas.newest > x.wgmmas.completed {
			w.reportInFlightAtExit("wgmma", x.cta.warps[x.idx&^3].agents[agentWgmma].pc)
		}
	}
}

func (w *warp) reportInFlightAtExit(what string, place int32) {
	in := &w.prog.code[place]
	w.faultOrNote(Exited, 0, 0, "the CTA exits while the %s of line %d may still use its shared memory: %s", what, in.line, oneLine(in.text))
}
