package emu

import "math/bits"

// Undefined bits. Every register has a mask of lanes that hold undefined bits; which bits, is kept only
// for registers where some lane has a defined part (ubits; nil means: all of them). The common case, all
// sources defined, costs one test per source. Computing with undefined bits is legal; they are an error
// where they reach an address, a guard, a barrier or global memory.

// undefRule computes the undefined bits of the destinations. It runs before the instruction, and only if
// some source is undefined in some lane of m.
type undefRule func(w *warp, in *inst, m uint32)

// undefLanes gives the lanes in which o has undefined bits.
func (w *warp) undefLanes(o opnd) uint32 {
	if o < 0 {
		return 0
	}
	return w.undef[o]
}

// ub gives the undefined bits of o in a lane.
func (w *warp) ub(o opnd, lane int) uint64 {
	if o < 0 || w.undef[o]>>lane&1 == 0 {
		return 0
	}
	if w.tmemLoads.pending != nil && w.tmemLoads.pending[o] != 0 {
		w.checkLoadComplete(o, lane)
		return w.ub(o, lane)
	}
	if u := w.ubits[o]; u != nil {
		return u[lane]
	}
	return ^uint64(0)
}

// setUB sets the undefined bits of a register in a lane.
func (w *warp) setUB(o opnd, lane int, bits uint64) {
	if o < 0 {
		return
	}
	if bits == 0 {
		w.undef[o] &^= 1 << lane
		return
	}
	if w.ubits[o] == nil {
		if bits == ^uint64(0) {
			w.undef[o] |= 1 << lane
			return
		}
		u := new(vec)
		lanes(w.undef[o], func(i int) { u[i] = ^uint64(0) })
		w.ubits[o] = u
	}
	w.undef[o] |= 1 << lane
	w.ubits[o][lane] = bits
}

// defined marks a register as defined in the lanes of m.
func (w *warp) defined(o opnd, m uint32) {
	if o >= 0 {
		w.undef[o] &^= m
	}
}

// ruleAny: a lane with any undefined source bit has undefined destinations.
func ruleAny(w *warp, in *inst, m uint32) {
	lanes(m, func(i int) {
		var u uint64
		for _, s := range in.src {
			u |= w.ub(s, i)
		}
		if u != 0 {
			u = ^uint64(0)
		}
		for _, d := range in.dst {
			w.setUB(d, i, u)
		}
	})
}

// ruleNone: destinations are always defined.
func ruleNone(w *warp, in *inst, m uint32) {
	for _, d := range in.dst {
		w.defined(d, m)
	}
}

// rule1 makes a rule of a function from the undefined bits of one source to those of the destination.
func rule1(f func(u uint64) uint64) undefRule {
	return func(w *warp, in *inst, m uint32) {
		lanes(m, func(i int) { w.setUB(in.dst[0], i, f(w.ub(in.src[0], i))&in.dmask) })
	}
}

// ruleUp: bits only influence bits above them (add, sub, mul, mad, neg).
func ruleUp(w *warp, in *inst, m uint32) {
	lanes(m, func(i int) {
		var u uint64
		for _, s := range in.src {
			u |= w.ub(s, i)
		}
		w.setUB(in.dst[0], i, -(u&-u)&in.dmask)
	})
}

// rulePacked: elements of the given width are independent.
func rulePacked(width int) undefRule {
	one := widthMask(width)
	return func(w *warp, in *inst, m uint32) {
		lanes(m, func(i int) {
			var u uint64
			for _, s := range in.src {
				u |= w.ub(s, i)
			}
			var r uint64
			for at := 0; at < 64; at += width {
				if u>>at&one != 0 {
					r |= one << at
				}
			}
			w.setUB(in.dst[0], i, r&in.dmask)
		})
	}
}

// ruleBits makes the exact rule of a bitwise function f of up to three sources: a result bit is
// undefined if some choice of the undefined source bits changes it.
func ruleBits(f func(a, b, c uint64) uint64) undefRule {
	return func(w *warp, in *inst, m uint32) {
		lanes(m, func(i int) {
			var v, u [3]uint64
			for k, s := range in.src {
				v[k], u[k] = w.src(s)[i], w.ub(s, i)
			}
			first := f(v[0], v[1], v[2])
			var r uint64
			for choice := range 8 {
				x := v
				for k := range 3 {
					x[k] &^= u[k]
					if choice>>k&1 != 0 {
						x[k] |= u[k]
					}
				}
				r |= f(x[0], x[1], x[2]) ^ first
			}
			w.setUB(in.dst[0], i, r&in.dmask)
		})
	}
}

// ruleThrough makes a rule of a function that moves bits of the first source about, steered by the
// others: it moves the undefined bits the same way if the steering is defined.
func ruleThrough(f func(a, b, c uint64) uint64) undefRule {
	return func(w *warp, in *inst, m uint32) {
		lanes(m, func(i int) {
			var v [3]uint64
			bad := false
			for k, s := range in.src {
				if k == 0 {
					v[k] = w.ub(s, i)
				} else {
					v[k] = w.src(s)[i]
					bad = bad || w.ub(s, i) != 0
				}
			}
			u := f(v[0], v[1], v[2])
			if bad {
				u = ^uint64(0)
			}
			w.setUB(in.dst[0], i, u&in.dmask)
		})
	}
}

// needDefined reports undefined bits of o, as the given thing, in the lanes of m.
func (w *warp) needDefined(o opnd, m uint32, what string) {
	if w.undefLanes(o)&m == 0 || w.launch.opt.Checks.NoUndefined {
		return
	}
	w.fail(Undefined, w.undef[o]&m, 0, "%s has undefined bits (%#x)", what, w.ub(o, firstLane(w.undef[o]&m)))
}

// needPred reports an undefined predicate.
func (w *warp) needPred(slot int32, m uint32, what string) {
	if slot < 0 || w.pundef[slot]&m == 0 || w.launch.opt.Checks.NoUndefined {
		return
	}
	w.fail(Undefined, w.pundef[slot]&m, 0, "%s depends on undefined bits", what)
}

// needGuard reports an undefined guard. Compilers of others let lanes that a mask excludes take any branch of a function, since
// nothing of theirs is stored: a note.
func (w *warp) needGuard(slot int32, m uint32) {
	if !w.launch.opt.Foreign {
		w.needPred(slot, m, "the guard")
		return
	}
	if u := w.pundef[slot] & m; u != 0 && !w.launch.opt.Checks.NoUndefined {
		w.faultOrNote(Undefined, firstLane(u), 0, "the guard depends on undefined bits")
	}
}

func firstLane(m uint32) int { return bits.TrailingZeros32(m) & 31 }
