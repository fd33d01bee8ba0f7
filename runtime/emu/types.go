package emu

import "strings"

// class is the way the bits of a type are read.
type class uint8

const (
	clsBits class = iota
	clsUint
	clsInt
	clsFloat
	clsPred
)

// typ is a PTX type: .u32 is {clsUint, 32, 1}, .bf16x2 is {clsFloat, 16, 2, fmtBF16}.
type typ struct {
	cls   class
	bits  int // of one element
	n     int // elements packed in one register
	fmt   *format
	named string
}

func (t typ) width() int     { return t.bits * t.n }
func (t typ) bytes() int     { return max(1, t.width()/8) }
func (t typ) isFloat() bool  { return t.cls == clsFloat }
func (t typ) isSigned() bool { return t.cls == clsInt }
func (t typ) mask() uint64   { return widthMask(t.width()) }

// twice is an integer type of twice the width.
func (t typ) twice() typ { return types[t.named[:1]+itoa(2*t.bits)] }

// fits tells whether a register may hold a value of type t (section 9.4.1): it has the same width, or a greater one, and is not
// of the other class.
func (t typ) fits(r typ, wider bool) bool {
	switch {
	case r.width() < t.width() || r.width() > t.width() && !wider:
		return false
	case t.isFloat():
		return r.cls == clsBits || r.isFloat() && r.width() == t.width()
	}
	return t.cls == clsBits || !r.isFloat()
}

func widthMask(bits int) uint64 {
	if bits >= 64 {
		return ^uint64(0)
	}
	return 1<<bits - 1
}

// types is every type name of PTX that the emulator knows, without the dot.
var types = func() map[string]typ {
	m := map[string]typ{"pred": {cls: clsPred, bits: 1, n: 1}}
	for bits, s := range map[int]string{8: "8", 16: "16", 32: "32", 64: "64", 128: "128"} {
		m["b"+s] = typ{cls: clsBits, bits: bits, n: 1}
		m["u"+s] = typ{cls: clsUint, bits: bits, n: 1}
		m["s"+s] = typ{cls: clsInt, bits: bits, n: 1}
	}
	m["u16x2"] = typ{cls: clsUint, bits: 16, n: 2}
	m["s16x2"] = typ{cls: clsInt, bits: 16, n: 2}
	for name, f := range formats {
		m[name] = typ{cls: clsFloat, bits: f.store, n: 1, fmt: f}
	}
	m["f64"] = typ{cls: clsFloat, bits: 64, n: 1}
	for _, e := range []string{"f16", "bf16", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "ue8m0", "f32"} {
		m[e+"x2"] = typ{cls: clsFloat, bits: formats[e].store, n: 2, fmt: formats[e]}
	}
	for _, e := range []string{"e4m3", "e5m2", "e2m3", "e3m2", "e2m1"} {
		m[e+"x4"] = typ{cls: clsFloat, bits: formats[e].store, n: 4, fmt: formats[e]}
	}
	for name, t := range m {
		t.named = name
		m[name] = t
	}
	return m
}()

// space is a PTX state space (section 5.1).
type space uint8

const (
	spGeneric space = iota
	spReg
	spGlobal
	spConst
	spShared
	spLocal
	spParam
	spCluster // shared memory of a CTA of the cluster
)

var spaceNames = map[string]space{
	"global": spGlobal, "const": spConst, "shared": spShared, "shared::cta": spShared, "shared::cluster": spCluster,
	"local": spLocal, "param": spParam, "param::entry": spParam, "param::func": spParam,
}

func (s space) String() string {
	return [...]string{"generic", "reg", "global", "const", "shared", "local", "param", "shared::cluster"}[s]
}

// Generic addresses: shared, local and parameter memory are windows in the 64-bit space, all
// else is global memory; from globalBase up are its own allocations. Constant memory lies among the global allocations.
const (
	sharedWindow uint64 = 1 << 40
	localWindow  uint64 = 2 << 40
	paramWindow  uint64 = 3 << 40
	windowSize   uint64 = 1 << 32
	globalBase   uint64 = 0x7f00_0000_0000
)

// inWindow tells whether a generic address is in the window of a memory that is not global.
func inWindow(a uint64) bool {
	return a-sharedWindow < windowSize || a-localWindow < windowSize || a-paramWindow < windowSize
}

// windowOf gives the generic address of offset 0 of a space.
func windowOf(s space) uint64 {
	switch s {
	case spShared:
		return sharedWindow
	case spLocal:
		return localWindow
	case spParam:
		return paramWindow
	}
	return 0
}

// splitDots cuts an opcode at its dots, keeping "shared::cta" and "L2::128B" whole.
func splitDots(op string) []string { return strings.Split(op, ".") }
