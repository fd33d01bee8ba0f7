package bytecode

import (
	"encoding/binary"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// The tags of debug entries. Every other tag means an unknown location.
const (
	debugUnknown = iota
	debugCompileUnit
	debugFile
	debugLexicalBlock
	debugLoc
	debugSubprogram
	debugCallSite
)

// knownSubprogramFlags are the bits that the flags of a subprogram may have.
const knownSubprogramFlags = 1

// maxDebugDepth bounds how deep scopes and call sites nest.
const maxDebugDepth = 512

// debugTable is the debug section. The locations of a function are a run in indices: its own, then one for each op in
// pre-order. Index 0 is an unknown location, index k entry k-1; entries refer to each other in the same way.
type debugTable struct {
	slots   []uint32 // where the run of each function starts
	indices []byte   // eight bytes each
	entries [][]byte
	objects []any // decoded entries: an ir.Location or a debug attribute
	busy    []bool
	depth   int
}

func (r *reader) readDebug() {
	c, present := r.section(debugSection)
	if !present || !r.ok() {
		return
	}
	var t debugTable
	// Functions with locations, which the official reader calls operations.
	n := c.varint("total number of operations with debug info")
	c.pad(4)
	if r.ok() && n > uint64(c.rest()/4) {
		c.fail("number of operations with debug info (%d) exceeds the maximum of %d that can fit in the remaining payload of %d bytes.",
			n, c.rest()/4, c.rest())
	}
	for i := uint64(0); i < n && r.ok(); i++ {
		if b := c.bytes(4, "debug index offset"); b != nil {
			t.slots = append(t.slots, binary.LittleEndian.Uint32(b))
		}
	}
	n = c.varint("number of debug indices")
	c.pad(8)
	if r.ok() && n > uint64(c.rest()/8) {
		c.fail("number of debug indices (%d) exceeds the maximum of %d that can fit in the remaining payload of %d bytes.",
			n, c.rest()/8, c.rest())
	}
	t.indices = c.bytes(int(n)*8, "debug indices")
	for i, s := range t.slots {
		if r.ok() && uint64(s) > n {
			c.fail("debug index offset %d of function %d is out of bounds (size=%d)", s, i, n)
		}
	}
	t.entries = c.table("debug info attributes", "debug info attribute", 4)
	if !r.ok() {
		r.sectionFailed("debug")
		return
	}
	r.keepTail(debugSection, c)
	t.objects = make([]any, len(t.entries))
	t.busy = make([]bool, len(t.entries))
	r.debug = t
	r.origin.slots, r.origin.indices, r.origin.debug = t.slots, t.indices, t.entries
}

// object decodes what a reference between entries stands for; nil is unknown.
func (r *reader) object(c *cursor, ref uint64) any {
	t := &r.debug
	if !r.ok() || ref == 0 {
		return nil
	}
	i := ref - 1
	switch {
	case i < uint64(len(t.entries)) && t.objects[i] != nil:
		return t.objects[i]
	case i >= uint64(len(t.entries)) || t.busy[i]: // out of range, or it contains itself
		r.silent()
		return nil
	case t.depth >= maxDebugDepth:
		c.plain("debug info attributes nest deeper than %d levels", maxDebugDepth)
		return nil
	}
	t.busy[i] = true
	t.depth++
	o := r.decodeDebug(&cursor{failure: r.failure, data: t.entries[i]})
	t.depth--
	t.busy[i] = false
	if !r.ok() {
		return nil
	}
	t.objects[i] = o
	if _, unknown := o.(ir.UnknownLoc); !unknown {
		r.origin.debugIndex[o] = ref
	}
	return o
}

// debugRef reads a reference that must stand for a T.
func debugRef[T any](r *reader, c *cursor, field, kind string) (t T) {
	if !r.ok() {
		return t
	}
	ref, read := c.tryVarint()
	if !read {
		c.silent()
	}
	t, ok := r.object(c, ref).(T)
	if !ok {
		r.silent()
	}
	if !r.ok() {
		c.inside("failed to read %s attribute when parsing %s", field, kind)
	}
	return t
}

// locationRef reads a reference to a location; there may be none.
func locationRef(r *reader, c *cursor, field string) ir.Location {
	if !r.ok() {
		return nil
	}
	ref, read := c.tryVarint()
	if !read {
		c.silent()
	}
	l, ok := r.object(c, ref).(ir.Location)
	switch {
	case ref == 0:
		l = ir.UnknownLoc{}
	case !ok:
		r.silent()
	}
	if !r.ok() {
		c.inside("failed to read %s attribute when parsing CallSiteLoc", field)
	}
	return l
}

// place reads a file name, a line and a column.
func (r *reader) place(c *cursor) (file string, line, col uint32) {
	const of = " when parsing FileLineColLoc"
	return r.str(c, "file name attribute"+of), r.u32(c, "line number"+of), r.u32(c, "column number"+of)
}

func (r *reader) u32(c *cursor, what string) uint32 { return uint32(r.integer(c, 32, what)) }

// decodeDebug reads an entry. Offsets count from after the tag.
func (r *reader) decodeDebug(c *cursor) any {
	tag := c.varint("debug info tag") & 0xFF // the official reader takes the low byte, too
	if !r.ok() {
		return nil
	}
	c = c.after()
	var o any
	switch tag {
	case debugCompileUnit:
		o = &cudatile.DICompileUnit{File: debugRef[*cudatile.DIFile](r, c, "file", "DICompileUnitAttr")}
	case debugFile:
		o = &cudatile.DIFile{Name: r.str(c, "name when parsing DIFileAttr"), Dir: r.str(c, "directory when parsing DIFileAttr")}
	case debugLexicalBlock:
		const kind = "DILexicalBlockAttr"
		o = &cudatile.DILexicalBlock{
			Scope: debugRef[cudatile.Scope](r, c, "scope", kind),
			File:  debugRef[*cudatile.DIFile](r, c, "file", kind),
			Line:  r.u32(c, "line when parsing "+kind), Col: r.u32(c, "column when parsing "+kind),
		}
	case debugLoc:
		l := &cudatile.DILoc{Scope: debugRef[cudatile.Scope](r, c, "scope", "DILocAttr")}
		l.File, l.Line, l.Col = r.place(c)
		o = l
	case debugSubprogram:
		const kind = "DISubprogramAttr"
		const of = " when parsing " + kind
		s := &cudatile.DISubprogram{
			File: debugRef[*cudatile.DIFile](r, c, "file", kind),
			Line: r.u32(c, "line"+of), Name: r.str(c, "name"+of), LinkageName: r.str(c, "linkage name"+of),
			Unit:      debugRef[*cudatile.DICompileUnit](r, c, "compile unit", kind),
			ScopeLine: r.u32(c, "scope line"+of),
		}
		if r.v.AtLeast(def.V135) {
			s.Flags = r.u32(c, "flags"+of)
			if r.ok() && s.Flags > knownSubprogramFlags {
				c.fail("unrecognized flag bits (0x%X)%s", s.Flags, of)
			}
		}
		o = s
	case debugCallSite:
		o = &ir.CallSiteLoc{Callee: locationRef(r, c, "callee"), Caller: locationRef(r, c, "caller")}
	default:
		return ir.UnknownLoc{}
	}
	c.end("debug info attribute")
	return o
}

// openLocations starts the run of a function; slot 0 means that it has no debug info.
func (f *bodyReader) openLocations(slot uint64) {
	if slot == 0 || !f.ok() {
		return
	}
	t := &f.r.debug
	if slot > uint64(len(t.slots)) {
		f.silent()
		return
	}
	f.locations = t.indices[8*uint64(t.slots[slot-1]):]
	f.located = true
}

// nextLocation takes the next location of the run. A failure is silent.
func (f *bodyReader) nextLocation() ir.Location {
	if !f.located || !f.ok() {
		return ir.UnknownLoc{}
	}
	if len(f.locations) < 8 {
		f.silent()
		return ir.UnknownLoc{}
	}
	ref := binary.LittleEndian.Uint64(f.locations)
	f.locations = f.locations[8:]
	if l, ok := f.r.object(f.cursor, ref).(ir.Location); ok {
		return l
	}
	if ref != 0 {
		f.silent()
	}
	return ir.UnknownLoc{}
}
