package emu

import "fmt"

// Registers of a CTA (section 9.7.19.5). Every warp begins with the same number a thread: .maxnreg, or what the register file
// holds. setmaxnreg.dec gives some to a pool of the CTA, .inc takes them from there and waits until they are free.
const (
	registerFile = 65536
	mostRegs     = 256
	leastRegs    = 24
)

// firstRegs is the number of registers a thread begins with.
func (l *launch) firstRegs() int {
	if n := l.entry.fn.maxnreg; n > 0 {
		return n
	}
	return min(registerFile/(32*l.warpsPerCTA*max(1, l.entry.fn.minctas))&^7, mostRegs)
}

// decodeSetmaxnreg: setmaxnreg.{inc,dec}.sync.aligned.u32 n.
func decodeSetmaxnreg(d *decoder) {
	inc := d.flag("inc")
	if !inc && !d.flag("dec") || !d.flag("sync") || !d.flag("aligned") || !d.flag("u32") {
		d.fail("this form of setmaxnreg")
		return
	}
	n, ok := d.number()
	if !ok {
		return
	}
	if n < leastRegs || n > mostRegs || n%8 != 0 {
		d.fail("%d registers: a multiple of 8 from %d to %d expected", n, leastRegs, mostRegs)
		return
	}
	d.whole(nil)
	d.in.sync = func(w *warp, in *inst, m uint32) bool {
		if m != fullMask {
			if w.behind() {
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
	case n-w.registers > c.pool/32:
		w.wants = n
		w.ready = 0
		c.wanting = append(c.wanting, w)
		return false
	}
	w.wants = 0
	c.pool -= 32 * (n - w.registers)
	if w.registers = n; !inc {
		for _, x := range c.wanting {
			x.ready |= x.live // they try again
		}
		c.wanting = c.wanting[:0]
		w.launch.event = w.launch.stats.warpInstrs
	}
	return true
}

// describeWant says what a warp that waits for registers lacks.
func (w *warp) describeWant() string {
	return fmt.Sprintf(", waits for %d registers a thread: it has %d, and the pool of the CTA has %d for each of 32 threads", w.wants, w.registers, w.cta.pool/32)
}
