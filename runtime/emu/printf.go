package emu

import (
	"io"
	"strings"

	"tileiras/runtime/cprintf"
)

// builtins are the functions of the device runtime that the emulator has itself: decoded calls of
// undefined functions with these names.
var builtins = map[string]func(w *warp, lane int, args []uint64) uint64{
	"vprintf": vprintf,
	"malloc":  func(w *warp, lane int, args []uint64) uint64 { return w.malloc(args[0], 16, lane) },
	"__cuda_syscall_aligned_malloc": func(w *warp, lane int, args []uint64) uint64 {
		return w.malloc(args[0], args[1], lane)
	},
	"free": func(w *warp, lane int, args []uint64) uint64 { w.free(args[0], lane); return 0 },
	"__assertfail": func(w *warp, lane int, args []uint64) uint64 {
		w.fail(Trap, 1<<lane, 0, "assertion '%s' failed at %s:%d", w.cstring(args[0], lane), w.cstring(args[1], lane), uint32(args[2]))
		return 0
	},
}

// builtinCall: arguments and result are .param variables in local memory.
func (d *decoder) builtinCall(f func(w *warp, lane int, args []uint64) uint64, rets, ins []arg) {
	type place struct{ off, n int }
	find := func(l []arg) (out []place) {
		for _, a := range l {
			v := d.st.scope.variable(a.name)
			if a.kind != argName || v == nil || v.home() != spLocal || v.size > 8 {
				d.lacks("argument of a call is not a .param variable")
				return nil
			}
			d.c.allocVar(v)
			out = append(out, place{v.offset, v.size})
		}
		return out
	}
	from, to := find(ins), find(rets)
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		w.requireSerial()
		lanes(m, func(i int) {
			base := i * w.prog.local
			args := make([]uint64, max(4, len(from)))
			for k, p := range from {
				if u := w.local.readUndef(base+p.off, p.n); u != 0 && !w.launch.opt.Checks.NoUndefined {
					w.fail(Undefined, 1<<i, 0, "argument %d of the call has undefined bits", k)
				}
				args[k] = w.local.read(base+p.off, p.n)
			}
			r := f(w, i, args)
			for _, p := range to {
				w.local.write(base+p.off, p.n, r, 0)
			}
		})
	}
}

// malloc takes device heap memory: an allocation like any other, undefined, with guard gaps.
func (w *warp) malloc(n, align uint64, lane int) uint64 {
	const heap = 1 << 28
	if align == 0 || align&(align-1) != 0 || align > 1<<20 {
		w.fail(Invalid, 1<<lane, 0, "malloc with alignment %d", align)
	}
	l := w.launch
	if l.heap += int64(n); n > heap || l.heap > heap {
		l.heap -= int64(n)
		return 0
	}
	base := l.mem.AllocUndef("malloc by "+l.threadName(w.stamp(lane, weak)), int(n), int(align))
	l.mem.find(base).heap = true
	return base
}

func (w *warp) free(addr uint64, lane int) {
	if addr == 0 {
		return
	}
	if r := w.launch.mem.find(addr); r == nil || r.base != addr || !r.heap {
		w.fail(Invalid, 1<<lane, addr, "free of %#x, which malloc did not give", addr)
	}
	w.launch.mem.drop(addr)
	for _, c := range w.launch.resident {
		for _, x := range c.warps {
			x.lastGlobal = nil
		}
	}
}

// cstring reads a string of device memory.
func (w *warp) cstring(addr uint64, lane int) string {
	var b strings.Builder
	for b.Len() < 1<<16 {
		r, at := w.locate(spGeneric, addr, 1, lane, use{"load of a string", Read})
		if r.data[at] == 0 {
			break
		}
		b.WriteByte(r.data[at])
		addr++
	}
	return b.String()
}

// vprintf formats as C does; the arguments lie in a buffer, each at a multiple of its size.
func vprintf(w *warp, lane int, args []uint64) uint64 {
	format, buf := w.cstring(args[0], lane), args[1]
	next := func(n uint64) uint64 {
		buf = alignUp(buf, n)
		r, at := w.locate(spGeneric, buf, int(n), lane, use{"load of a printf argument", Read})
		if u := r.readUndef(at, int(n)); u != 0 && !w.launch.opt.Checks.NoUndefined {
			w.fail(Undefined, 1<<lane, buf, "an argument of vprintf has undefined bits")
		}
		buf += n
		return r.read(at, int(n))
	}
	pieces, err := cprintf.Parse(format)
	if err != nil {
		w.fail(Unsupported, 1<<lane, 0, "%v", err)
	}
	var out strings.Builder
	count := 0
	for i := range pieces {
		p := pieces[i]
		if p.Verb == 0 {
			out.WriteString(p.Text)
			continue
		}
		if p.Width == cprintf.Star {
			p.SetWidth(int(int32(next(4))))
		}
		if p.Precision == cprintf.Star {
			p.SetPrecision(int(int32(next(4))))
		}
		if v := next(uint64(p.Size())); p.Verb == 's' {
			out.WriteString(p.String(w.cstring(v, lane)))
		} else {
			out.WriteString(p.Value(v))
		}
		count++
	}
	if w.launch.opt.Stdout != nil {
		io.WriteString(w.launch.opt.Stdout, out.String())
	}
	return uint64(count)
}
