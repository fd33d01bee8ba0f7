package bytecode

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// WriteOptions choose the form of the output.
type WriteOptions struct {
	// Version is the version to write; the zero Version means the Origin's, or the newest.
	Version ir.Version
	// Origin of the module, or nil. It is of no use for another version than its own.
	Origin *Origin
	// Extension is what there is beyond the dialect, or nil.
	Extension *Extension
	// Ctx is the context whose budget writing counts against; nil counts nothing.
	Ctx *ir.Context
}

// WriteError says what a version of the format cannot express.
type WriteError struct {
	Loc ir.Location
	Msg string
}

func (e *WriteError) Error() string { return ir.Placed(e.Loc, e.Msg) }

// writer holds what the parts of one write share. The first failure stops it.
type writer struct {
	v      ir.Version
	ops    *codecs
	origin *Origin // never nil; an empty one for a module that came from elsewhere
	ctx    *ir.Context
	fresh  bool // no file to be like
	err    *WriteError

	strings, types, constants, debug *entries

	typeIndex  map[ir.Type]uint64
	debugIndex map[any]uint64
	runs       map[uint64][]uint64 // by slot
	slots      uint64
	globals    map[string]cudatile.Global
}

// Write encodes a cuda_tile.module. With the Origin of an unchanged module the bytes are those of the file; without one
// tables and sections stand in the order of the cuTile Python writer. What the version cannot express is a *WriteError.
// The module must be verified, or come from Read.
func Write(m *ir.Op, o WriteOptions) ([]byte, error) {
	w := &writer{ops: codecsWith(o.Extension), origin: o.Origin, ctx: o.Ctx}
	w.v = o.Version
	if w.v == (ir.Version{}) {
		w.v = Newest
		if o.Origin != nil {
			w.v = o.Origin.version
		}
	}
	extended := o.Extension != nil && slices.Contains(o.Extension.Versions, w.v)
	if !extended && (w.v.Before(Oldest) || Newest.Before(w.v)) {
		return nil, &WriteError{Msg: fmt.Sprintf("unsupported version requested %v, must be in range [%v, %v]", w.v, Oldest, Newest)}
	}
	if m.Def != moduleRow {
		return nil, &WriteError{Loc: m.Loc(), Msg: fmt.Sprintf("expected a %s, got '%s'", moduleRow.FullName(), m.Name())}
	}
	if w.origin == nil || w.origin.version != w.v || w.origin.wild {
		w.origin, w.fresh = newOrigin(w.v), true
		w.origin.sections = freshSections(m, w.v)
	}
	data := w.module(m)
	if w.err != nil {
		return nil, w.err
	}
	return data, nil
}

// freshSections is the order of the cuTile Python writer, which always writes the tables.
func freshSections(m *ir.Op, v ir.Version) []sectionShape {
	list := []sectionShape{{id: functionSection, align: 8}}
	if b := m.Body(); b != nil {
		for op := b.First(); op != nil; op = op.Next() {
			if op.Def == globalRow {
				list = append(list, sectionShape{id: globalSection})
				break
			}
		}
	}
	list = append(list, sectionShape{id: constantSection, align: 8}, sectionShape{id: debugSection, align: 8},
		sectionShape{id: typeSection, align: 4})
	if (cudatile.Module{Op: m}).HasProducer() && v.AtLeast(sectionInfo[producerSection].since) {
		list = append(list, sectionShape{id: producerSection})
	}
	return append(list, sectionShape{id: stringSection, align: 4})
}

func (w *writer) fail(op *ir.Op, format string, args ...any) {
	if w.err == nil {
		w.err = &WriteError{Msg: fmt.Sprintf(format, args...)}
		if op != nil {
			w.err.Loc = op.Loc()
		}
	}
}

func (w *writer) module(m *ir.Op) []byte {
	w.openTables()
	payload := w.payloads(m)
	out := &encoder{buf: []byte(magic)}
	out.buf = append(out.buf, w.v.Major, w.v.Minor)
	out.buf = binary.LittleEndian.AppendUint16(out.buf, w.v.Tag)
	written := map[int]bool{endSection: true}
	for _, s := range w.origin.sections {
		out.section(s, payload[s.id])
		written[s.id] = true
	}
	// What the file had no section for and the module needs now.
	for id, p := range payload {
		if !written[id] && len(p) > 0 && p[0] != 0 {
			out.section(sectionShape{id: id, align: uint64(sectionInfo[id].align)}, p)
		}
	}
	out.byte(endSection)
	return out.buf
}

// section writes a section with its header.
func (e *encoder) section(s sectionShape, payload []byte) {
	head := byte(s.id)
	if s.align > 0 {
		head |= 0x80
	}
	e.byte(head)
	e.varint(uint64(len(payload) + s.tail))
	if s.align > 0 {
		e.varint(s.align)
		e.pad(int(s.align))
	}
	e.buf = append(e.buf, payload...)
	e.fill(s.tail)
}

func (w *writer) openTables() {
	o := w.origin
	var texts [][]byte
	for _, s := range o.strings {
		texts = append(texts, []byte(s))
	}
	w.strings, w.types = newEntries(texts), newEntries(o.types)
	w.constants, w.debug = newEntries(o.constants), newEntries(o.debug)
	w.typeIndex, w.debugIndex = map[ir.Type]uint64{}, map[any]uint64{}
	maps.Copy(w.typeIndex, o.typeIndex)
	maps.Copy(w.debugIndex, o.debugIndex)
	w.runs = map[uint64][]uint64{}
	w.slots = uint64(len(o.slots))
	if w.fresh {
		// cuTile Python begins every type table with i1 and i32.
		w.types.add([]byte{tagI1})
		w.types.add([]byte{tagI32})
	}
}

// payloads encodes all sections; functions and globals come first, because they fill the tables.
func (w *writer) payloads(m *ir.Op) (p [numSections][]byte) {
	var functions, globals encoder
	var numFunctions, numGlobals uint64
	items := w.items(m)
	for _, op := range items {
		if op.Def == entryRow && w.err == nil {
			numFunctions++
			w.function(&functions, cudatile.Entry{Op: op})
		}
	}
	for _, op := range items {
		if op.Def == globalRow && w.err == nil {
			numGlobals++
			w.global(&globals, cudatile.Global{Op: op})
		}
	}
	p[functionSection] = counted(numFunctions, functions.buf)
	p[globalSection] = counted(numGlobals, globals.buf)
	if m := (cudatile.Module{Op: m}); m.HasProducer() && w.v.AtLeast(sectionInfo[producerSection].since) {
		var e encoder
		e.varint(w.str(m.Producer()))
		p[producerSection] = e.buf
	}
	p[debugSection] = w.debugSection()
	p[constantSection] = w.frame(w.constants.list, 8)
	p[typeSection] = w.frame(w.types.list, 4)
	p[stringSection] = w.frame(w.strings.list, 4)
	return p
}

// items lists what stands in the module, and enters globals that come before the kernels.
func (w *writer) items(m *ir.Op) []*ir.Op {
	if m.Body() == nil {
		return nil
	}
	items := m.Body().Ops()
	byHand := true
	w.globals = map[string]cudatile.Global{}
	for _, op := range items {
		switch op.Def {
		case entryRow:
			byHand = byHand && ir.IsUnknown(op.Loc())
		case globalRow:
			w.globals[cudatile.Global{Op: op}.SymName()] = cudatile.Global{Op: op}
		default:
			w.fail(op, "only entries and globals can stand in a module, got '%s'", op.Name())
		}
	}
	for _, op := range items {
		if op.Def == globalRow && byHand {
			w.enterGlobal(cudatile.Global{Op: op})
		}
	}
	return items
}

// frame is a table section; cuTile Python pads empty ones, too.
func (w *writer) frame(list [][]byte, offsetSize int) []byte {
	var e encoder
	e.table(list, offsetSize)
	if w.fresh && len(list) == 0 {
		e.pad(offsetSize)
	}
	return e.buf
}

func counted(n uint64, payload []byte) []byte {
	var e encoder
	e.varint(n)
	return append(e.buf, payload...)
}

func (w *writer) str(s string) uint64 { return w.strings.add([]byte(s)) }

func (w *writer) global(e *encoder, g cudatile.Global) {
	op, value, name := g.Op, g.Value(), g.SymName()
	if value == nil {
		w.fail(op, "a global needs a value")
		return
	}
	e.varint(w.str(name))
	e.varint(w.typ(op, value.Type))
	e.varint(w.constant(value))
	e.varint(uint64(g.Alignment()))
	visibility, constant := g.SymbolVisibility(), g.Constant()
	if w.v.AtLeast(def.V133) {
		e.varint(uint64(visibility))
		e.bool(constant)
		return
	}
	if constant {
		w.fail(op, "constant global `%s` cannot be encoded in bytecode version %v (the `constant` attribute requires bytecode 13.3+)",
			name, fileVersion(w.v))
	}
	if visibility != def.Public {
		w.fail(op, "global `%s` uses non-public symbol visibility, which cannot be encoded in bytecode version %v (requires bytecode 13.3+)",
			name, fileVersion(w.v))
	}
}

func (w *writer) function(e *encoder, entry cudatile.Entry) {
	op := entry.Op
	ft, ok := entry.FunctionType().(*ir.FunctionType)
	if !ok || op.Body() == nil {
		w.fail(op, "an entry needs a signature and a body")
		return
	}
	slot, known := w.origin.functions[op]
	if !known {
		w.slots++
		slot = w.slots
	}
	// The order in which cuTile Python meets strings and types: parameters, location, name, signature, hints.
	for _, in := range ft.Inputs {
		w.typ(nil, in) // an argument has no place of its own
	}
	f := &bodyWriter{writer: w, numbers: map[*ir.Value]uint64{}, entered: map[*ir.Op]bool{}}
	f.enterBlocks(op)
	f.location(op)
	hints, argAttrs := entry.OptimizationHints(), entry.ArgAttrs()
	v135 := w.v.AtLeast(def.V135)

	e.varint(w.str(entry.SymName()))
	e.varint(w.typ(op, ft))
	flags := byte(flagKernel)
	if hints != nil && !v135 {
		flags |= flagHints
	}
	e.byte(flags)
	e.varint(slot)
	if v135 || hints != nil {
		e.varint(attrHints)
		w.dictionary(e, op, hints)
	}
	if v135 {
		e.varint(attrArray)
		w.array(e, op, argAttrs)
	} else if len(argAttrs) > 0 {
		w.fail(op, "optional attribute 'arg_attrs' is provided but requires bytecode version %v, targeting %v", def.V135, fileVersion(w.v))
	}
	f.block(op.Body())
	e.varint(uint64(len(f.buf)))
	e.buf = append(e.buf, f.buf...)
	if slot > 0 {
		w.runs[slot] = f.locations
	}
}
