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
	if !present || r.err != nil {
		return
	}
	var t debugTable
	n := c.varint("number of functions with debug info")
	c.pad(4)
	if r.err == nil && n > uint64(c.rest()/4) {
		c.fail("number of functions with debug info (%d) exceeds the maximum of %d that can fit in the remaining payload of %d bytes.",
			n, c.rest()/4, c.rest())
	}
	for i := uint64(0); i < n && r.err == nil; i++ {
		if b := c.bytes(4, "debug index offset"); b != nil {
			t.slots = append(t.slots, binary.LittleEndian.Uint32(b))
		}
	}
	n = c.varint("number of debug indices")
	c.pad(8)
	if r.err == nil && n > uint64(c.rest()/8) {
		c.fail("number of debug indices (%d) exceeds the maximum of %d that can fit in the remaining payload of %d bytes.",
			n, c.rest()/8, c.rest())
	}
	t.indices = c.bytes(int(n)*8, "debug indices")
	for i, s := range t.slots {
		if r.err == nil && uint64(s) > n {
			c.fail("debug index offset %d of function %d is out of bounds (size=%d)", s, i, n)
		}
	}
	t.entries = c.table("debug info attributes", "debug info attribute", 4)
	if r.err != nil {
		c.inside("failed to parse debug section")
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
	if r.err != nil || ref == 0 {
		return nil
	}
	i := ref - 1
	switch {
	case i >= uint64(len(t.entries)):
		c.plain("debug info attribute index %d out of bounds", ref)
		return nil
	case t.objects[i] != nil:
		return t.objects[i]
	case t.busy[i]:
		c.plain("debug info attribute %d refers to itself", i)
		return nil
	case t.depth >= maxDebugDepth:
		c.plain("debug info attributes nest deeper than %d levels", maxDebugDepth)
		return nil
	}
	t.busy[i] = true
	t.depth++
	e := &cursor{failure: r.failure, data: t.entries[i]}
	o := r.decodeDebug(e)
	t.depth--
	t.busy[i] = false
	if r.err != nil {
		return nil
	}
	t.objects[i] = o
	if _, unknown := o.(ir.UnknownLoc); !unknown {
		r.origin.debugIndex[o] = ref
	}
	return o
}

// debugRef reads a reference that must stand for a T, or for nothing.
func debugRef[T any](r *reader, c *cursor, field, kind string) (t T) {
	ref := c.varint(field)
	o := r.object(c, ref)
	if _, unknown := o.(ir.UnknownLoc); o != nil && !unknown {
		var ok bool
		if t, ok = o.(T); r.err == nil && !ok {
			c.fail("failed to read %s when parsing %s", field, kind)
			return
		}
	}
	if r.err != nil {
		c.inside("failed to read %s when parsing %s", field, kind)
	}
	return
}

func (r *reader) decodeDebug(c *cursor) any {
	tag := c.varint("debug info tag")
	u32 := func(what string) uint32 { return uint32(r.integer(c, 32, what)) }
	var o any
	switch tag {
	case debugCompileUnit:
		o = &cudatile.DICompileUnit{File: debugRef[*cudatile.DIFile](r, c, "file", "DICompileUnit")}
	case debugFile:
		o = &cudatile.DIFile{Name: r.str(c, "name"), Dir: r.str(c, "directory")}
	case debugLexicalBlock:
		o = &cudatile.DILexicalBlock{
			Scope: debugRef[cudatile.Scope](r, c, "scope", "DILexicalBlock"),
			File:  debugRef[*cudatile.DIFile](r, c, "file", "DILexicalBlock"),
			Line:  u32("line"), Col: u32("column"),
		}
	case debugLoc:
		o = &cudatile.DILoc{
			Scope: debugRef[cudatile.Scope](r, c, "scope", "DILoc"),
			File:  r.str(c, "filename"),
			Line:  u32("line"), Col: u32("column"),
		}
	case debugSubprogram:
		s := &cudatile.DISubprogram{
			File: debugRef[*cudatile.DIFile](r, c, "file", "DISubprogram"),
			Line: u32("line"), Name: r.str(c, "name"), LinkageName: r.str(c, "linkage name"),
			Unit:      debugRef[*cudatile.DICompileUnit](r, c, "compile unit", "DISubprogram"),
			ScopeLine: u32("scope line"),
		}
		if r.v.AtLeast(def.V135) {
			s.Flags = u32("flags")
		}
		o = s
	case debugCallSite:
		o = &ir.CallSiteLoc{
			Callee: orUnknown(debugRef[ir.Location](r, c, "callee", "CallSite")),
			Caller: orUnknown(debugRef[ir.Location](r, c, "caller", "CallSite")),
		}
	default:
		return ir.UnknownLoc{}
	}
	c.end("debug info attribute")
	return o
}

func orUnknown(l ir.Location) ir.Location {
	if l == nil {
		return ir.UnknownLoc{}
	}
	return l
}

// openLocations starts the run of a function; slot 0 means that it has no debug info.
func (f *bodyReader) openLocations(slot uint64) {
	if slot == 0 || f.err != nil {
		return
	}
	t := &f.r.debug
	if slot > uint64(len(t.slots)) {
		f.plain("debug index %d out of bounds (size=%d)", slot, len(t.slots))
		return
	}
	f.locations = t.indices[8*uint64(t.slots[slot-1]):]
	f.located = true
}

// nextLocation takes the next location of the run.
func (f *bodyReader) nextLocation() ir.Location {
	if !f.located || f.err != nil {
		return ir.UnknownLoc{}
	}
	if len(f.locations) < 8 {
		f.fail("failed to read operation location.")
		return ir.UnknownLoc{}
	}
	ref := binary.LittleEndian.Uint64(f.locations)
	f.locations = f.locations[8:]
	switch o := f.r.object(f.cursor, ref).(type) {
	case nil:
		if f.err != nil {
			f.inside("failed to read operation location.")
		}
	case ir.Location:
		return o
	default:
		f.fail("failed to read operation location.")
	}
	return ir.UnknownLoc{}
}
