package bytecode

import (
	"encoding/binary"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// debugRef finds or makes the debug entry of a location or debug attribute; 0 is unknown.
func (w *writer) debugRef(op *ir.Op, x any) uint64 {
	if i, ok := w.debugIndex[x]; ok {
		return i
	}
	e := &encoder{}
	switch x := x.(type) {
	case *cudatile.DICompileUnit:
		file := part(w, op, x.File, "file")
		e.varint(debugCompileUnit)
		e.varint(file)
	case *cudatile.DIFile:
		e.varint(debugFile)
		e.varint(w.str(x.Name))
		e.varint(w.str(x.Dir))
	case *cudatile.DILexicalBlock:
		scope, file := w.scopeRef(op, x.Scope), part(w, op, x.File, "file")
		e.varint(debugLexicalBlock)
		e.varint(scope)
		e.varint(file)
		e.varint(uint64(x.Line))
		e.varint(uint64(x.Col))
	case *cudatile.DILoc:
		scope := w.scopeRef(op, x.Scope)
		e.varint(debugLoc)
		e.varint(scope)
		e.varint(w.str(x.File))
		e.varint(uint64(x.Line))
		e.varint(uint64(x.Col))
	case *cudatile.DISubprogram:
		file, unit := part(w, op, x.File, "file"), part(w, op, x.Unit, "compile unit")
		e.varint(debugSubprogram)
		e.varint(file)
		e.varint(uint64(x.Line))
		e.varint(w.str(x.Name))
		e.varint(w.str(x.LinkageName))
		e.varint(unit)
		e.varint(uint64(x.ScopeLine))
		if w.v.AtLeast(def.V135) {
			e.varint(uint64(x.Flags))
		}
	case *ir.CallSiteLoc:
		callee, caller := w.locationRef(op, x.Callee), w.locationRef(op, x.Caller)
		e.varint(debugCallSite)
		e.varint(callee)
		e.varint(caller)
	}
	i := w.debug.add(e.buf) + 1
	w.debugIndex[x] = i
	return i
}

// part is the entry of a debug attribute inside another, which must be there.
func part[T any](w *writer, op *ir.Op, x *T, what string) uint64 {
	if x == nil {
		w.fail(op, "debug info without a %s cannot be encoded", what)
		return 0
	}
	return w.debugRef(op, x)
}

func (w *writer) scopeRef(op *ir.Op, s cudatile.Scope) uint64 {
	if s == nil {
		w.fail(op, "debug info without a scope cannot be encoded")
		return 0
	}
	return w.debugRef(op, s)
}

// locationRef is the entry of a location. A plain place in a file is unknown to the format. Of names and fused locations
// 13.1 keeps the first usable place inside; later versions refuse them.
func (w *writer) locationRef(op *ir.Op, l ir.Location) uint64 {
	switch l := l.(type) {
	case *cudatile.DILoc, *ir.CallSiteLoc:
		return w.debugRef(op, l)
	case *ir.NameLoc:
		if w.v.AtLeast(def.V132) {
			w.fail(op, "unsupported location, got NameLoc, expected DILocAttr or CallSiteLoc")
			return 0
		}
		return w.locationRef(op, l.Child)
	case *ir.FusedLoc:
		if w.v.AtLeast(def.V132) {
			w.fail(op, "unsupported location, got FusedLoc, expected DILocAttr or CallSiteLoc")
			return 0
		}
		for _, m := range l.Locs {
			if i := w.locationRef(op, m); i != 0 {
				return i
			}
		}
	}
	return 0
}

// unknownEntry is the entry that cuTile Python writes when a file has no debug info: the official reader fails on an empty
// table.
var unknownEntry = []byte{debugUnknown}

// debugSection writes the runs of locations by slot, then the entries.
func (w *writer) debugSection() []byte {
	var e encoder
	e.varint(w.slots)
	e.pad(4)
	var indices []byte
	for slot := uint64(1); slot <= w.slots; slot++ {
		e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(len(indices)/8))
		run, ok := w.runs[slot]
		if !ok {
			indices = append(indices, w.deadRun(slot)...)
		}
		for _, i := range run {
			w.ctx.Step()
			indices = binary.LittleEndian.AppendUint64(indices, i)
		}
	}
	e.varint(uint64(len(indices) / 8))
	e.pad(8)
	e.buf = append(e.buf, indices...)
	list := w.debug.list
	if w.fresh && len(list) == 0 {
		list = [][]byte{unknownEntry}
	}
	e.table(list, 4)
	return e.buf
}

// deadRun is the run of a slot that no function of the module owns, as it was in the file.
func (w *writer) deadRun(slot uint64) []byte {
	o := w.origin
	if slot > uint64(len(o.slots)) {
		return nil
	}
	from, to := 8*uint64(o.slots[slot-1]), uint64(len(o.indices))
	if slot < uint64(len(o.slots)) {
		to = 8 * uint64(o.slots[slot])
	}
	if from > to {
		return nil
	}
	return o.indices[from:to]
}
