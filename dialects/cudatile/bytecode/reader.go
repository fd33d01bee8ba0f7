package bytecode

import (
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// ReadOptions choose what Read accepts.
type ReadOptions struct {
	// Newest is the newest version to accept; the zero Version means the newest that this package knows.
	Newest ir.Version
}

// moduleName is the name of every module that comes from bytecode: it has none on the wire.
const moduleName = "kernels"

// reader holds what the parts of one read share.
type reader struct {
	*failure
	ctx *ir.Context
	ops *codecs
	v   ir.Version
	// maxOpcode is the highest opcode of the version.
	maxOpcode uint64
	data      []byte
	byID      [numSections]*section
	module    *ir.Op
	origin    *Origin

	strings   []string
	types     typeTable
	constants constantTable
	debug     debugTable
}

// Read decodes a file into a cuda_tile.module of the context, which must know the cuda_tile dialect. The module may share
// the memory of data. The Origin remembers what Write needs to give back the same bytes.
//
// On bad input it returns an *Error. It never panics, and the memory it takes is bounded by a multiple of the input.
func Read(c *ir.Context, data []byte, o ReadOptions) (*ir.Op, *Origin, error) {
	r := &reader{failure: &failure{}, ctx: c, ops: theCodecs(), data: data}
	if o.Newest == (ir.Version{}) {
		o.Newest = Newest
	}
	r.read(o)
	if r.err != nil {
		return nil, nil, r.err
	}
	return r.module, r.origin, nil
}

func (r *reader) read(o ReadOptions) {
	if r.v = header(r.failure, r.data, o.Newest); r.err != nil {
		return
	}
	r.maxOpcode = r.ops.maxOpcode(r.v)
	file := &cursor{failure: r.failure, data: r.data, pos: len(magic) + 4}
	sections := collect(file, r.v)
	if r.err != nil {
		return
	}
	r.origin = newOrigin(r.v)
	for i := range sections {
		s := &sections[i]
		r.byID[s.id] = s
		r.origin.sections = append(r.origin.sections, sectionShape{id: s.id, align: s.align})
	}
	r.readStrings()
	r.readTypes()
	r.readConstants()
	r.readDebug()
	if r.err != nil {
		return
	}
	r.module = ir.NewOp(ir.State{Def: r.ops.module, Attrs: attrsOf(r.ops.module, map[string]ir.Attribute{
		"sym_name": ir.SymbolAttr(moduleName)})})
	r.module.Region(0).AddBlock()
	r.readGlobals()
	r.readFunctions()
	r.readProducer()
}

// section makes a cursor over a section; it is empty when the file has no such section.
func (r *reader) section(id int) (c *cursor, present bool) {
	c = &cursor{failure: r.failure}
	if s := r.byID[id]; s != nil {
		c.data = s.data
		return c, true
	}
	return c, false
}

// keepTail remembers the padding behind the payload of a section.
func (r *reader) keepTail(id int, c *cursor) {
	if r.err != nil {
		return
	}
	n := c.tail()
	for i := range r.origin.sections {
		if r.origin.sections[i].id == id {
			r.origin.sections[i].tail = n
		}
	}
}

func (r *reader) readStrings() {
	c, _ := r.section(stringSection)
	entries := c.table("strings", "string", 4)
	r.keepTail(stringSection, c)
	r.strings = make([]string, len(entries))
	for i, e := range entries {
		r.strings[i] = string(e)
	}
	r.origin.strings = r.strings
}

// str reads a string index.
func (r *reader) str(c *cursor, what string) string {
	i := c.varint(what)
	if r.err != nil {
		return ""
	}
	if i >= uint64(len(r.strings)) {
		c.plain("string index %d out of bounds", i)
		c.inside("failed to read %s", what)
		return ""
	}
	return r.strings[i]
}

// minGlobal is the least number of bytes of a global.
func (r *reader) minGlobal() int {
	if r.v.AtLeast(def.V133) {
		return 6
	}
	return 4
}

func (r *reader) readGlobals() {
	c, present := r.section(globalSection)
	if !present || r.err != nil {
		return
	}
	n := c.varint("number of globals")
	if r.err == nil && n > uint64(c.rest()/r.minGlobal()) {
		c.fail("number of globals (%d) exceeds the maximum of %d that can fit in the remaining payload of %d bytes.",
			n, c.rest()/r.minGlobal(), c.rest())
	}
	for i := uint64(0); i < n && r.err == nil; i++ {
		r.global(c)
	}
	if r.err != nil {
		c.inside("failed to parse global section")
		return
	}
	r.keepTail(globalSection, c)
}

func (r *reader) global(c *cursor) {
	name := r.str(c, "symbol name of a global")
	t := r.tileType(c, "type of a global")
	value := r.constant(c, t)
	attrs := map[string]ir.Attribute{
		"sym_name":  ir.SymbolAttr(name),
		"value":     value,
		"alignment": r.i64(c.varint("alignment of a global")),
	}
	if r.v.AtLeast(def.V133) {
		attrs["symbol_visibility"] = r.enum(c, def.Visibility, "visibility of a global")
		if c.varint("constant flag of a global") != 0 {
			attrs["constant"] = ir.UnitAttr{}
		}
	}
	if r.err == nil {
		r.module.Body().Append(ir.NewOp(ir.State{Def: r.ops.global, Attrs: attrsOf(r.ops.global, attrs)}))
	}
}

func (r *reader) i64(v uint64) ir.IntegerAttr { return ir.IntegerAttr{Type: r.ctx.Int(64), Bits: v} }

func (r *reader) readProducer() {
	c, present := r.section(producerSection)
	if !present || r.err != nil {
		return
	}
	r.module.SetAttrNamed("producer", ir.StringAttr(r.str(c, "producer")))
	r.keepTail(producerSection, c)
}

// The bits of the flags byte of a function.
const (
	flagPrivate = 1 << iota
	flagKernel
	flagHints // 13.5: the function binds an external implementation
)

// minFunction is the least number of bytes of a function: name, signature, flags, location, body length.
const minFunction = 5

func (r *reader) readFunctions() {
	c, _ := r.section(functionSection)
	n := c.varint("number of functions")
	if r.err == nil && n > uint64(len(c.data)) {
		c.fail("number of functions (%d) exceeds payload size (%d)", n, len(c.data))
	}
	if r.err == nil && n > uint64(c.rest()/minFunction) {
		c.fail("number of functions (%d) exceeds payload size (%d)", n, c.rest())
	}
	for i := uint64(0); i < n && r.err == nil; i++ {
		r.function(c, i)
	}
	if r.err == nil {
		r.keepTail(functionSection, c)
	}
}

func (r *reader) function(c *cursor, index uint64) {
	name := r.str(c, "function name")
	if r.err == nil && name == "" {
		c.fail("function name at index %d is empty", index)
	}
	signature := c.varint("function signature index")
	if r.err != nil {
		return
	}
	if signature >= uint64(r.types.len()) {
		c.fail("function signature index %d out of bounds for function '%s'", signature, name)
		return
	}
	t := r.typeAt(c, signature)
	ft, ok := t.(*ir.FunctionType)
	if r.err == nil && !ok {
		c.fail("function signature index %d does not refer to a function type for function '%s', got type: %s",
			signature, name, ir.TypeString(t))
	}
	flags := c.byte("function flags")
	if r.err == nil && !r.checkFlags(c, flags, name) {
		return
	}
	slot := c.varint("function location")
	attrs := map[string]ir.Attribute{"sym_name": ir.SymbolAttr(name), "function_type": ir.TypeAttr{Type: ft}}
	if r.v.AtLeast(def.V135) || flags&flagHints != 0 {
		attrs["optimization_hints"] = r.taggedHints(c)
	}
	if r.v.AtLeast(def.V135) {
		if a, ok := r.attribute(c, 0).(ir.ArrayAttr); ok {
			if len(a) > 0 {
				attrs["arg_attrs"] = a
			}
		} else {
			c.fail("failed to read argument attributes for function '%s'", name)
		}
	}
	length := c.varint("function body length")
	if r.err == nil && length > uint64(c.rest()) {
		c.fail("function body length %d exceeds remaining bytecode data (%d bytes)", length, c.rest())
	}
	body := c.bytes(int(length), "function body")
	if r.err != nil {
		return
	}
	entry := ir.NewOp(ir.State{Def: r.ops.entry, Attrs: attrsOf(r.ops.entry, attrs)})
	f := &bodyReader{cursor: &cursor{failure: r.failure, data: body}, r: r, name: name}
	if f.openLocations(slot); r.err == nil {
		entry.SetLoc(f.nextLocation())
		if r.err != nil {
			c.inside("failed to read function location for '%s'", name)
		}
	}
	r.origin.functions[entry] = functionShape{slot: slot, private: flags&flagPrivate != 0}
	f.function(entry.Region(0).AddBlock(ft.Inputs...))
	if r.err != nil {
		r.context(len(r.data), "failed to parse function body for function '%s'", name)
		r.context(len(r.data), "failed to create function from bytecode")
		return
	}
	r.module.Body().Append(entry)
}

// checkFlags accepts kernels only.
func (r *reader) checkFlags(c *cursor, flags byte, name string) bool {
	known := byte(flagPrivate | flagKernel | flagHints)
	switch {
	case flags&^known != 0:
		c.fail("unknown function flags 0x%02X for function '%s'", flags&^known, name)
	case r.v.AtLeast(def.V135) && flags&(flagKernel|flagHints) == flagKernel|flagHints:
		c.fail("function entry cannot be both kernel and extern impl")
	case flags&flagKernel == 0:
		r.preview()
	}
	return r.err == nil
}

// preview refuses what the official tools accept behind a switch only.
func (r *reader) preview() {
	r.plain("uses preview feature 'simt', which is not enabled")
	if r.err != nil && len(r.err.Lines) == 1 {
		r.err.Lines = append(r.err.Lines, VerificationFailed)
	}
}

// The lines that follow errors about a module that came from bytecode: those of the verifier, and those of
// cudatile.VerifyKernels.
const (
	VerificationFailed = "verification failed for deserialized cuda_tile::ModuleOp"
	KernelsFailed      = "deserialized module does not conform to bytecode format invariants"
)
