package emu

// proxyFence is fence.proxy.* (section 9.7.13.6): it raises the visibility of earlier accesses (agents.go).
func (d *decoder) proxyFence() {
	from, to := happened, asyncProxy
	kind := ""
	if len(d.mods) > 0 {
		kind = d.mods[0]
	}
	switch kind {
	case "async", "async::generic":
	case "tensormap::generic":
		d.flag(kind)
		switch d.oneOf("release", "acquire") {
		case "release":
			to = tensormapReleased
		case "acquire":
			from, to = tensormapReleased, tensormapAcquired
			if !d.nargs(2, 2) {
				return
			}
			op := &memOp{space: spGeneric, elem: 128, n: 1}
			d.address(&d.st.args[0], op)
		default:
			d.fail("a fence of tensor maps releases or acquires")
			return
		}
	case "alias":
		d.mods = nil
		d.in.exec = func(*warp, *inst, uint32) {}
		return
	default:
		d.fail("proxy %s", kind)
		return
	}
	d.needsProxies()
	d.mods = nil
	d.in.exec = func(w *warp, in *inst, m uint32) {
		w.raiseVisibility(m, from, to)
		if to == asyncProxy {
			w.raiseVisibility(m, from, fencedByWriter)
		}
	}
}

// checkNothingInFlight checks a CTA that exits: no asynchronous operation may still read or write its shared memory.
func (w *warp) checkNothingInFlight() {
	for _, a := range w.cta.pendingCompletions {
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
