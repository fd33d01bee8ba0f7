package emu

import "fmt"

// Registers of a CTA (section 9.7.19.5). Every warp begins with the same number a thread: .maxnreg, or its share of the
// register file. setmaxnreg.dec releases registers to a pool of the CTA, .inc takes them from there and blocks until it has them.
const (
	registerFile = 65536
	mostRegs     = 256
	minRegs      = 24
)

// initialRegs is the number of registers a thread begins with.
func (l *launch) initialRegs() int {
	if n := l.entry.fn.maxnreg; n > 0 {
		return n
	}
	return min(registerFile/(32*l.warpsPerCTA*max(1, l.entry.fn.minctas))&^7, mostRegs)
}

// decodeSetmaxnreg: setmaxnreg.{inc,dec}.sync.aligned.u32 n.
func decodeSetmaxnreg(d *decoder) {
	inc := d.flag("inc")
	if !inc && !d.flag("dec") || !d.flag("sync") || !d.flag("aligned") || !d.flag("u32") {
		d.lacks("this form of setmaxnreg")
		return
	}
	n, ok := d.number()
	if !ok {
		return
	}
	if n < minRegs || n > mostRegs || n%8 != 0 {
		d.malformed("%d registers: a multiple of 8 from %d to %d expected", n, minRegs, mostRegs)
		return
	}
	d.warpWide(nil)
	d.in.sync = func(w *warp, in *inst, m uint32) bool {
		if m != fullMask {
			if w.othersBehind() {
				return false
			}
			w.fail(Divergence, ^m, 0, "setmaxnreg is executed by lanes %#08x only", m)
		}
		return w.setRegisters(n, inc)
	}
}

func (w *warp) setRegisters(n int, inc bool) bool {
	c := w.cta
	switch {
	case inc && n < w.registers:
		w.fail(Invalid, fullMask, 0, "setmaxnreg.inc to %d registers a thread, the warp has %d", n, w.registers)
	case !inc && n > w.registers:
		w.fail(Invalid, fullMask, 0, "setmaxnreg.dec to %d registers a thread, the warp has %d", n, w.registers)
	case n-w.registers > c.freeRegs/32:
		w.wantedRegs = n
		w.ready = 0
		c.waitingForRegs = append(c.waitingForRegs, w)
		return false
	}
	w.wantedRegs = 0
	c.freeRegs -= 32 * (n - w.registers)
	if w.registers = n; !inc {
		for _, x := range c.waitingForRegs {
			x.ready |= x.live // they try again
		}
		c.waitingForRegs = c.waitingForRegs[:0]
		w.launch.lastProgress = w.launch.stats.warpInstrs
	}
	return true
}

// describeWant says what a warp that waits for registers lacks.
func (w *warp) describeWant() string {
	return fmt.Sprintf(", waits for %d registers a thread: it has %d, and the pool of the CTA has %d for each of 32 threads", w.wantedRegs, w.registers, w.cta.freeRegs/32)
}
