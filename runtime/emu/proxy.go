package emu

// proxyFence: fence.proxy.* (section 9.7.13.6). Async and tensor-map fences raise what is known (agents.go).
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
			to = mapReleased
		case "acquire":
			from, to = mapReleased, mapAcquired
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
		w.raise(m, from, to)
		if to == asyncProxy {
			w.raise(m, from, asyncByWriter)
		}
	}
}

// leaveNothing checks a CTA that exits: nothing may be in flight that reads or writes its shared memory.
func (w *warp) leaveNothing() {
	for _, a := range w.cta.queue {
		if a.carries {
			w.exitObjection(a.what, a.place)
		}
	}
	for _, x := range w.cta.warps {
		if agBulkRead >= x.prog.agents {
			return
		}
		lanes(x.exist, func(i int) {
			if b := &x.work[agBulkRead]; b.issued[i] > b.done[i] {
				w.exitObjection(agentNames[agBulkRead], b.place)
			}
		})
		if x.matrix.number > x.matrix.done {
			w.exitObjection("wgmma", x.cta.warps[x.idx&^3].work[agMatrix].place)
		}
	}
}

func (w *warp) exitObjection(what string, place int32) {
	in := &w.prog.code[place]
	w.objection(Exited, 0, 0, "the CTA exits while the %s of line %d may still use its shared memory: %s", what, in.line, oneLine(in.text))
}
