package emu

// decodeBra: bra, bra.uni (all lanes of the warp that run must agree).
func decodeBra(d *decoder) {
	uni := d.flag("uni")
	a := &d.st.args[0]
	d.in.kind = kBranch
	if a.kind != argName || !d.c.branch(d.st, a.name, nil) {
		d.malformed("undefined label")
		return
	}
	if !uni || d.in.guard < 0 {
		return
	}
	d.in.flow = func(w *warp, in *inst, m uint32) {
		if w.group != m {
			w.fail(Divergence, m, 0, "bra.uni is taken by lanes %#08x of %#08x", m, w.group)
		}
		w.setPC(m, in.target)
	}
}

// decodeBrx: brx.idx index, list.
func decodeBrx(d *decoder) {
	d.flag("idx")
	d.flag("uni")
	d.src(0, types["u32"])
	names, ok := d.st.scope.targets(d.st.args[1].name)
	if d.st.args[1].kind == argVec {
		ok = true
		for _, a := range d.st.args[1].list {
			names = append(names, a.name)
		}
	}
	if !ok {
		d.malformed("undefined list of branch targets")
		return
	}
	to := make([]int32, len(names))
	for i, n := range names {
		if !d.c.branch(d.st, n, &to[i]) {
			d.malformed("undefined label %s", n)
		}
	}
	d.in.kind = kBranch
	d.in.targets = to
	d.in.flow = func(w *warp, in *inst, m uint32) {
		w.needDefined(in.src[0], m, "the branch index")
		x := w.src(in.src[0])
		lanes(m, func(i int) {
			if x[i] >= uint64(len(to)) {
				w.fail(Invalid, 1<<i, 0, "branch index %d of %d", x[i], len(to))
			}
			w.pc[i] = to[x[i]]
		})
	}
}

// flowRet returns to the return address in the frame, or ends the threads of an entry.
func flowRet(frame int) func(w *warp, in *inst, m uint32) {
	if frame < 0 {
		return flowExit
	}
	return func(w *warp, in *inst, m uint32) {
		lanes(m, func(i int) { w.pc[i] = w.ret[frame][i] })
	}
}

func decodeRet(d *decoder) {
	d.flag("uni")
	d.in.kind, d.in.branchKind = kBranch, toCaller
	d.in.flow = flowRet(d.c.frame[d.c.fn])
}

func decodeExit(d *decoder) {
	d.in.kind, d.in.branchKind = kBranch, toCaller
	d.in.flow = flowExit
}

// flowExit ends threads. Lanes that wait for them at a .sync instruction try again.
func flowExit(w *warp, in *inst, m uint32) {
	w.launch.lastProgress = w.launch.stats.warpInstrs
	w.live &^= m
	w.exitAt = w.curPC
	w.ready &^= m
	w.ready |= w.parked
	w.parked = 0
	lanes(m, func(int) { w.cta.threads-- })
	if w.live == 0 {
		if w.cta.running--; w.cta.running == 0 {
			w.tmemExit()
		}
	}
	w.recheckBarriers()
	w.leaveClusterBarrier(m)
	if w.cta.running == 0 {
		w.checkNothingInFlight()
	}
}

func decodeTrap(d *decoder) {
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		w.fail(Trap, m, 0, "%s by lanes %#08x", d.base, m)
	}
}

// decodeCall: call{.uni} (ret), f, (args). Arguments are .param variables of the caller, whose bytes are
// copied to those of the callee, and the results back on return.
func decodeCall(d *decoder) {
	d.flag("uni")
	f, rets, ins := d.callParts()
	if f == nil {
		return
	}
	frame := d.c.callee(f)
	copies := d.paramCopies(ins, f.params)
	results := d.paramCopies(rets, f.rets)
	d.c.fixes = append(d.c.fixes, fix{pc: len(d.c.prog.code), call: f})
	d.in.kind, d.in.branchKind = kBranch, toCallee
	d.in.flow = func(w *warp, in *inst, m uint32) {
		lanes(m, func(i int) {
			for _, c := range copies {
				w.copyLocal(c.theirs, c.ours, c.n, i)
			}
			w.ret[frame][i] = w.pc[i]
			w.pc[i] = in.target
		})
	}
	if len(results) == 0 {
		return
	}
	// The results are copied by an instruction after the call.
	call := *d.in
	d.c.prog.code = append(d.c.prog.code, call)
	*d.in = inst{kind: kExec, guard: call.guard, guardNeg: call.guardNeg, line: call.line, col: call.col, loc: call.loc, text: call.text, rule: ruleNone, dmask: ^uint64(0)}
	d.in.exec = func(w *warp, in *inst, m uint32) {
		lanes(m, func(i int) {
			for _, c := range results {
				w.copyLocal(c.ours, c.theirs, c.n, i)
			}
		})
	}
}

// callParts is the function that a call enters, and the arguments for its results and parameters; nil where it enters none: a builtin
// is decoded, an error reported.
func (d *decoder) callParts() (f *function, rets, ins []arg) {
	args := d.st.args
	if len(args) > 0 && args[0].kind == argList {
		rets, args = args[0].list, args[1:]
	}
	name := ""
	if len(args) > 0 && args[0].kind == argName {
		name = args[0].name
	}
	if _, _, register := d.st.scope.reg(name); register || name == "" {
		d.lacks("indirect call")
		return nil, nil, nil
	}
	if args = args[1:]; len(args) > 0 && args[0].kind == argList {
		ins = args[0].list
	}
	f = d.c.mod.funcs[name]
	if f == nil {
		d.malformed("call of undeclared %s", name)
		return nil, nil, nil
	}
	if b := builtins[name]; b != nil && !f.defined {
		d.builtinCall(b, rets, ins)
		return nil, nil, nil
	}
	if !f.defined {
		d.lacks("call of %s, which has no body", name)
		return nil, nil, nil
	}
	if len(ins) != len(f.params) || len(rets) != len(f.rets) {
		d.malformed("call of %s with %d arguments", name, len(ins))
		return nil, nil, nil
	}
	if f.component == d.c.fn.component {
		d.lacks("recursive call of %s", name)
		return nil, nil, nil
	}
	return f, rets, ins
}

// paramCopy is a .param variable of the caller and its partner in the callee, in local memory.
type paramCopy struct{ ours, theirs, n int }

func (d *decoder) paramCopies(args []arg, formals []*variable) (out []paramCopy) {
	for i, a := range args {
		v := d.st.scope.variable(a.name)
		if a.kind != argName || v == nil || v.home() != spLocal {
			d.lacks("argument %d of a call is not a .param variable", i)
			return nil
		}
		if v.size != formals[i].size {
			d.malformed("argument %d of a call has %d bytes, %d expected", i, v.size, formals[i].size)
		}
		d.c.allocVar(v)
		out = append(out, paramCopy{v.offset, formals[i].offset, v.size})
	}
	return out
}

func (w *warp) copyLocal(to, from, n, lane int) {
	base := lane * w.prog.local
	copy(w.local.data[base+to:][:n], w.local.data[base+from:][:n])
	copy(w.local.undef[base+to:][:n], w.local.undef[base+from:][:n])
}
