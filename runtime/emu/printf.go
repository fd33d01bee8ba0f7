package emu

import (
	"fmt"
	"io"
	"strconv"
	"strings"
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
				d.fail("argument of a call is not a .param variable")
				return nil
			}
			d.c.place(v)
			out = append(out, place{v.offset, v.size})
		}
		return out
	}
	from, to := find(ins), find(rets)
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		w.alone()
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
	return l.mem.AllocUndef("malloc by "+l.threadName(w.stamp(lane, weak)), int(n), int(align))
}

func (w *warp) free(addr uint64, lane int) {
	if addr == 0 {
		return
	}
	if r := w.launch.mem.find(addr); r == nil || r.base != addr || !strings.HasPrefix(r.name, "malloc by ") {
		w.fail(Invalid, 1<<lane, addr, "free of %#x, which malloc did not give", addr)
	}
	w.launch.mem.drop(addr)
	for _, c := range w.launch.resident {
		for _, x := range c.warps {
			x.last = nil
		}
	}
}

// cstring reads a string of device memory.
func (w *warp) cstring(addr uint64, lane int) string {
	var b strings.Builder
	for b.Len() < 1<<16 {
		r, at := w.locate(spGeneric, addr, 1, lane, "load of a string")
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
		buf = (buf + n - 1) / n * n
		r, at := w.locate(spGeneric, buf, int(n), lane, "load of a printf argument")
		if u := r.readUndef(at, int(n)); u != 0 && !w.launch.opt.Checks.NoUndefined {
			w.fail(Undefined, 1<<lane, buf, "an argument of vprintf has undefined bits")
		}
		buf += n
		return r.read(at, int(n))
	}
	var out strings.Builder
	count := formatC(&out, format, next, func(a uint64) string { return w.cstring(a, lane) })
	if w.launch.opt.Stdout != nil {
		io.WriteString(w.launch.opt.Stdout, out.String())
	}
	return uint64(uint32(count))
}

// formatC is C's printf for the conversions that CUDA has; it gives the number of conversions.
func formatC(out *strings.Builder, f string, next func(n uint64) uint64, str func(uint64) string) (count int) {
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			out.WriteByte(f[i])
			continue
		}
		spec, long, n := conversionSpec(f[i+1:], next)
		i += 1 + n
		if i >= len(f) {
			return count
		}
		count++
		size := uint64(4)
		if long {
			size = 8
		}
		switch c := f[i]; c {
		case '%':
			out.WriteByte('%')
			count--
		case 'd', 'i':
			fmt.Fprintf(out, spec+"d", sx(next(size), int(8*size)))
		case 'u':
			fmt.Fprintf(out, spec+"d", next(size))
		case 'x', 'X', 'o':
			fmt.Fprintf(out, spec+string(c), next(size))
		case 'c':
			fmt.Fprintf(out, spec+"c", rune(next(4)&0xff))
		case 's':
			fmt.Fprintf(out, spec+"s", str(next(8)))
		case 'p':
			fmt.Fprintf(out, "%#x", next(8))
		case 'a', 'A':
			fmt.Fprintf(out, spec+"x", f64(next(8)))
		case 'e', 'E', 'f', 'F', 'g', 'G':
			out.WriteString(formatFloat(spec, c, f64(next(8))))
		default:
			out.WriteString(spec + string(c))
			count--
		}
	}
	return count
}

// conversionSpec reads flags, width, precision and length of a conversion: what fmt takes of them, whether the argument has 64 bits,
// and the bytes read.
func conversionSpec(f string, next func(n uint64) uint64) (spec string, long bool, n int) {
	spec = "%"
	for ; n < len(f); n++ {
		switch c := f[n]; {
		case strings.IndexByte("-+ #0123456789.", c) >= 0:
			spec += string(c)
		case c == '*':
			spec += strconv.Itoa(int(int32(next(4))))
		case strings.IndexByte("ljzt", c) >= 0:
			long = true
		case c != 'h':
			return spec, long, n
		}
	}
	return spec, long, n
}

// formatFloat differs from Go in the default precision of %g and in the spelling of infinities.
func formatFloat(spec string, c byte, x float64) string {
	if !finite(x) {
		s := "inf"
		if x != x {
			s = "nan"
		} else if x < 0 {
			s = "-inf"
		}
		return s
	}
	if !strings.Contains(spec, ".") {
		spec += ".6"
	}
	return fmt.Sprintf(spec+string(c), x)
}
