package emu

import (
	"fmt"
	"slices"
	"strings"
)

// decoder turns one statement into an instruction. Decoders remove the modifiers that they handle; one that is left
// over makes the instruction unsupported, so none is ignored by accident.
type decoder struct {
	c     *compiler
	st    *stmt
	base  string
	row   *family
	mods  []string
	first typ   // the first type in the opcode
	dsts  []typ // of the registers that are destinations, with their names
	names []string
	in    *inst
	wrong string // the first rule of PTX that the instruction breaks
	lack  string // the first thing in it that the emulator does not implement
}

// malformed says that the instruction breaks a rule of PTX. It counts where all of the instruction is known: a form that the emulator
// lacks may have other rules.
func (d *decoder) malformed(format string, args ...any) {
	if d.wrong == "" {
		d.wrong = fmt.Sprintf(format, args...)
	}
}

// lacks says that the emulator does not implement the instruction.
func (d *decoder) lacks(format string, args ...any) {
	if d.lack == "" {
		d.lack = fmt.Sprintf(format, args...)
	}
}

// refused tells whether the instruction is known not to run.
func (d *decoder) refused() bool { return d.wrong != "" || d.lack != "" }

// flag takes a modifier if it is there.
func (d *decoder) flag(name string) bool {
	for i, m := range d.mods {
		if m == name {
			d.mods = append(d.mods[:i:i], d.mods[i+1:]...)
			return true
		}
	}
	return false
}

// oneOf takes the first modifier found in names, or gives "".
func (d *decoder) oneOf(names ...string) string {
	for i, m := range d.mods {
		for _, n := range names {
			if m == n {
				d.mods = append(d.mods[:i:i], d.mods[i+1:]...)
				return n
			}
		}
	}
	return ""
}

// types takes all modifiers that are types, in order.
func (d *decoder) types() (ts []typ) {
	rest := d.mods[:0:0]
	for _, m := range d.mods {
		if t, ok := types[m]; ok {
			ts = append(ts, t)
		} else {
			rest = append(rest, m)
		}
	}
	d.mods = rest
	return ts
}

// typ1 takes the one type of the instruction.
func (d *decoder) typ1() typ {
	ts := d.types()
	if len(ts) != 1 {
		d.malformed("expected one type")
		return types["b32"]
	}
	return ts[0]
}

var roundings = map[string]rnd{"rn": rn, "rz": rz, "rm": rm, "rp": rp, "rna": rna}

// rounding takes a float rounding modifier.
func (d *decoder) rounding() (rnd, bool) {
	m := d.oneOf("rn", "rz", "rm", "rp", "rna")
	return roundings[m], m != ""
}

// nargs checks the operand count.
func (d *decoder) nargs(lo, hi int) bool {
	if n := len(d.st.args); n < lo || n > hi {
		d.malformed("wrong number of operands")
		return false
	}
	return true
}

// dst adds the first operand, a register, as the destination.
func (d *decoder) dst() { d.dstArg(d.arg(0)) }

// arg gives operand i; one that is missing makes the instruction malformed.
func (d *decoder) arg(i int) *arg {
	if i >= len(d.st.args) {
		d.malformed("wrong number of operands")
		return &arg{}
	}
	return &d.st.args[i]
}

func (d *decoder) dstArg(a *arg) {
	o := noReg
	if a.kind != argName || a.neg || a.off != 0 || a.pair != nil {
		d.malformed("destination must be a register")
	} else if a.name != "_" {
		slot, t, ok := d.c.register(d.st.scope, a.name)
		if !ok {
			d.malformed("undeclared register %s", a.name)
		} else if t.cls == clsPred {
			d.malformed("destination %s is a predicate", a.name)
		} else {
			if len(d.in.dst) == 0 {
				d.in.dmask = t.mask()
			}
			d.dsts, d.names = append(d.dsts, t), append(d.names, a.name)
			o = slot
		}
	}
	d.in.dst = append(d.in.dst, o)
}

// width gives the width of the register in operand a, or 0.
func (d *decoder) width(a *arg) int {
	if a.kind == argName {
		if decl, _, ok := d.st.scope.reg(a.name); ok {
			return decl.typ.width()
		}
	}
	return 0
}

// src adds operand i, of type t, as a source.
func (d *decoder) src(i int, t typ) { d.srcArg(d.arg(i), t) }

func (d *decoder) srcArg(a *arg, t typ) { d.in.src = append(d.in.src, d.value(a, t)) }

// value resolves a source operand: register, literal, address of a symbol or special register.
func (d *decoder) value(a *arg, t typ) opnd {
	switch a.kind {
	case argInt:
		v := a.val
		if t.isFloat() && t.n == 1 && t.bits >= 32 {
			d.malformed("integer literal for a float operand")
		}
		return d.c.constant(v & t.mask())
	case argFloat:
		if t.cls == clsUint || t.cls == clsInt {
			d.malformed("float literal for an integer operand")
		}
		return d.c.constant(floatLiteral(*a, t) & t.mask())
	case argName:
		if a.neg || a.pair != nil {
			d.malformed("negated operand")
		}
		if slot, rt, ok := d.c.register(d.st.scope, a.name); ok {
			if rt.cls == clsPred {
				d.malformed("predicate %s as a value", a.name)
			}
			d.holds(a.name, rt, t)
			return slot
		}
		if fn, ok := specials[a.name]; ok {
			if fn == nil {
				d.lacks("special register %s", a.name)
				break
			}
			return d.c.special(d.st, a.name, fn)
		}
		if v := d.st.scope.variable(a.name); v != nil {
			return d.c.address(v, a.off, false)
		}
		if d.c.mod.funcs[a.name] != nil {
			d.lacks("address of a function")
		} else {
			d.malformed("undeclared name %s", a.name)
		}
	default:
		d.malformed("unexpected operand")
	}
	return d.c.constant(0)
}

// holds checks that a register may stand for an operand of type t.
func (d *decoder) holds(name string, register, t typ) {
	if !t.fits(register, strings.HasSuffix(d.row.regs, orWider)) {
		d.malformed("%s is a .%s, not a .%s", name, register.named, t.named)
	}
}

// checkResults holds the destinations against the row. Where the opcode has no type, the decoder has refused it.
func (d *decoder) checkResults(wide bool) {
	switch result := strings.TrimSuffix(d.row.regs, orWider); {
	case result == "" || len(result) == 1 && d.first.named == "":
	case result == ofWide && wide:
		d.results(d.first.twice())
	case result == ofType || result == ofWide:
		d.results(d.first)
	default:
		d.results(types[result])
	}
}

// results checks that all destinations may be of type t.
func (d *decoder) results(t typ) {
	for i, r := range d.dsts {
		d.holds(d.names[i], r, t)
	}
}

// predDst adds operand a as a predicate destination ("_" is a sink).
func (d *decoder) predDst(a *arg) {
	slot := int32(-1)
	if a.name != "_" {
		s, ok := d.c.predicate(d.st.scope, a.name)
		if !ok || a.kind != argName || a.neg {
			d.malformed("destination must be a predicate")
		}
		slot = s
	}
	d.in.pdst = append(d.in.pdst, slot)
}

// predSrc adds operand a as a predicate source.
func (d *decoder) predSrc(a *arg) {
	if a.kind == argInt { // true and false are written as numbers
		d.in.psrc = append(d.in.psrc, pref{slot: -1, neg: a.val != 0})
		return
	}
	s, ok := d.c.predicate(d.st.scope, a.name)
	if !ok || a.kind != argName || a.pair != nil {
		d.malformed("operand must be a predicate")
	}
	d.in.psrc = append(d.in.psrc, pref{s, a.neg})
}

// vector gives the elements of a vector operand, or the operand itself as a vector of one.
func vector(a *arg) []arg {
	if a.kind == argVec {
		return a.list
	}
	return []arg{*a}
}

// decode fills in the instruction of a statement, or a trap that says what the emulator lacks for it.
func (c *compiler) decode(st *stmt) {
	parts := splitDots(st.op)
	in := inst{guard: -1, line: int32(st.line), col: int32(st.col), loc: st.loc, text: strings.TrimSpace(st.text), dmask: ^uint64(0), rule: ruleAny}
	d := &decoder{c: c, st: st, base: parts[0], mods: parts[1:], in: &in}
	if st.guard != "" {
		slot, ok := c.predicate(st.scope, st.guard)
		if !ok {
			d.malformed("undeclared predicate %s", st.guard)
		}
		in.guard, in.guardNeg = slot, st.guardNeg
	}
	if d.row = familyOf[parts[0]]; d.row == nil {
		d.lacks("unknown opcode")
	} else if d.fits() {
		wide := slices.Contains(d.mods, "wide")
		d.row.decode(d)
		d.checkResults(wide)
	}
	switch {
	case len(d.mods) > 0 && d.wrong != "":
		d.lacks("%s", d.wrong)
	case len(d.mods) > 0:
		d.lacks("modifier .%s", d.mods[0])
	}
	if d.refused() {
		d.refuse()
	}
	in.pure = in.pure || in.kind == kVec && in.vec != nil
	in.op = c.opcode(st.op)
	c.prog.code = append(c.prog.code, in)
}

// refuse makes an error of a malformed instruction, and a trap of one that is not implemented.
func (d *decoder) refuse() {
	in, text := d.in, oneLine(d.in.text)
	name := d.undeclared(d.st.args)
	switch {
	case name != "":
		d.c.malformed(d.st, "undeclared name %s in '%s'", name, text)
	case d.lack == "":
		d.c.malformed(d.st, "%s in '%s'", d.wrong, text)
	}
	text = fmt.Sprintf("%s (%s)", text, d.lack)
	d.c.unsupported = append(d.c.unsupported, text)
	in.kind, in.vec, in.flow, in.sync, in.pure = kExec, nil, nil, nil, false
	in.dst, in.src, in.pdst, in.psrc, in.firstPinned, in.address, in.widened = nil, nil, nil, nil, 0, 0, 0
	in.exec = func(w *warp, in *inst, m uint32) { w.fail(Unsupported, m, 0, "%s", text) }
}

// undeclared gives the first name among operands that nothing declares, or "".
func (d *decoder) undeclared(args []arg) string {
	for i := range args {
		a := &args[i]
		inner := a.list
		for _, more := range []*arg{a.base, a.pair} {
			if more != nil {
				inner = append(inner[:len(inner):len(inner)], *more)
			}
		}
		if name := d.undeclared(inner); name != "" {
			return name
		}
		if a.kind == argName && !d.declared(a.name) {
			return a.name
		}
	}
	return ""
}

func (d *decoder) declared(name string) bool {
	sc := d.st.scope
	_, _, register := sc.reg(name)
	_, label := sc.label(name)
	_, list := sc.targets(name)
	_, special := specials[name]
	return register || label || list || special || name == "_" || sc.variable(name) != nil || d.c.mod.funcs[name] != nil
}

// fits checks a statement against its row, which holds for all forms: the number of operands, the types in the opcode, the .target.
func (d *decoder) fits() bool {
	f := d.row
	ok := d.nargs(f.min, f.max)
	sm := f.sm
	for _, m := range d.mods {
		sm = max(sm, newer[m])
		t, known := types[m]
		if known && d.first.named == "" {
			d.first = t
		}
		if known && f.types != anyType && !strings.Contains(" "+f.types+" ", " "+m+" ") {
			d.malformed("type .%s", m)
			ok = false
		}
	}
	if d.c.mod.sm < sm {
		d.malformed("sm_%d or later is needed, .target is %s", sm, d.c.mod.target)
		ok = false
	}
	if !ok {
		d.mods = nil
	}
	return ok
}

// oneLine folds white space for messages.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
