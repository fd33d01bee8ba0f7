package bytecode

import (
	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// ReadOptions choose what Read accepts.
type ReadOptions struct {
	// Newest is the newest version to accept; the zero Version means the newest that this package knows.
	Newest ir.Version
	// Strict131 reads as the tools of 13.1 did: no other version, their messages, no unknown hint.
	Strict131 bool
	// Preview admits files that say that they hold preview features. None of the features is supported yet.
	Preview bool
	// Extension is what there is beyond the dialect, or nil.
	Extension *Extension
}

// newest is the newest version to accept.
func (o ReadOptions) newest() ir.Version {
	switch {
	case o.Strict131:
		return def.V131
	case o.Newest == (ir.Version{}):
		return Newest
	}
	return o.Newest
}

// moduleName is the name of every module that comes from bytecode: it has none on the wire.
const moduleName = "kernels"

// reader holds what the parts of one read share.
type reader struct {
	*failure
	options ReadOptions
	ctx     *ir.Context
	ops     *codecs
	v       ir.Version
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
	r := &reader{failure: &failure{}, options: o, ctx: c, ops: codecsWith(o.Extension), data: data}
	r.read()
	if !r.ok() {
		return nil, nil, &r.err
	}
	return r.module, r.origin, nil
}

// VersionOf reads the header alone. The error is an *Error of kind NotBytecode or BadVersion.
func VersionOf(data []byte, o ReadOptions) (ir.Version, error) {
	f := &failure{}
	v := header(f, data, o)
	if !f.ok() {
		return ir.Version{}, &f.err
	}
	return v, nil
}

func (r *reader) read() {
	if r.v = header(r.failure, r.data, r.options); !r.ok() {
		return
	}
	r.maxOpcode = r.ops.maxOpcode(r.v)
	file := &cursor{failure: r.failure, data: r.data, pos: len(magic) + 4}
	sections := collect(file, r.v)
	if !r.ok() {
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
	if !r.ok() {
		return
	}
	r.module = ir.NewOp(ir.State{Def: moduleRow})
	cudatile.Module{Op: r.module}.SetSymName(moduleName)
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

// sectionFailed adds the line about a section that could not be read. Its place is the end of the file.
func (r *reader) sectionFailed(name string) {
	r.context(len(r.data), "failed to parse %s section", name)
	r.closed = r.closed || !r.ok()
}

// keepTail remembers the padding after the payload of a section.
func (r *reader) keepTail(id int, c *cursor) {
	if !r.ok() {
		return
	}
	n := c.tail()
	for i := range r.origin.sections {
		if r.origin.sections[i].id == id {
			r.origin.sections[i].tail = n
		}
	}
}

// stringCopies and constantCopies are how many times what was read is in memory, about, in the forms that a compile gives it.
const (
	stringCopies   = 8
	constantCopies = 4
)

func (r *reader) readStrings() {
	c, _ := r.section(stringSection)
	r.strings, r.origin.wild = c.stringTable()
	for _, s := range r.strings {
		r.ctx.Budget.Keep(stringCopies * int64(len(s)))
	}
	r.keepTail(stringSection, c)
	r.sectionFailed("string")
	r.origin.strings = r.strings
}

// str reads a string index; what is as in cursor.unread.
func (r *reader) str(c *cursor, what string) string {
	i := c.varint(what)
	if !r.ok() {
		return ""
	}
	if i >= uint64(len(r.strings)) {
		c.plain("string index %d out of bounds", i)
		if what != "" {
			c.inside("failed to read %s", what)
		}
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
	if !present || !r.ok() {
		return
	}
	n := c.varint("number of globals")
	if r.ok() && n > uint64(c.rest()/r.minGlobal()) {
		c.fail("number of globals (%d) exceeds the maximum of %d that can fit in the remaining payload of %d bytes.",
			n, c.rest()/r.minGlobal(), c.rest())
	}
	for i := uint64(0); i < n && r.ok(); i++ {
		r.global(c, i)
	}
	if !r.ok() {
		c.inside("failed to parse global section")
		return
	}
	r.keepTail(globalSection, c)
}

func (r *reader) global(c *cursor, index uint64) {
	name := r.str(c, "symbol name of a global")
	t := r.typ(c, "get type of a global")
	value := r.constant(c, t)
	g := cudatile.Global{Op: ir.NewOp(ir.State{Def: globalRow})}
	g.SetSymName(name)
	g.SetValue(value)
	g.SetAlignment(r.ctx, int64(c.varint("alignment of a global")))
	if r.v.AtLeast(def.V133) {
		g.SetSymbolVisibility(def.Visibility(r.enum(c, &def.VisibilityEnum.EnumDef, "visibility of a global").Value))
		g.SetConstant(c.varint("constant flag of a global") != 0)
	}
	if r.ok() && name == "" { // the end of the file is the place of what is said about a global, as about a function
		r.silent()
		r.context(len(r.data), "global symbol name at index %d is empty", index)
		r.context(len(r.data), "failed to create global from bytecode")
		r.closed = true
	}
	if r.ok() {
		r.module.Body().Append(g.Op)
	}
}

func (r *reader) i64(v uint64) ir.IntegerAttr { return ir.IntegerAttr{Type: r.ctx.Int(64), Bits: v} }

func (r *reader) readProducer() {
	c, present := r.section(producerSection)
	if !present || !r.ok() {
		return
	}
	cudatile.Module{Op: r.module}.SetProducer(r.str(c, "producer"))
	r.keepTail(producerSection, c)
}

// The bits of the flags byte of a function.
const (
	flagPrivate = 1 << iota
	flagKernel
	flagHints // 13.5: the function binds an external implementation
)

func (r *reader) readFunctions() {
	c, _ := r.section(functionSection)
	n := c.varint("number of functions")
	if r.ok() && n > uint64(len(c.data)) {
		c.fail("number of functions (%d) exceeds payload size (%d)", n, len(c.data))
	}
	for i := uint64(0); i < n && r.ok(); i++ {
		f := r.functionRecord(c)
		if !r.ok() {
			break
		}
		if r.function(f); !r.ok() {
			r.context(len(r.data), "failed to create function from bytecode")
			return
		}
	}
	if !r.ok() {
		r.sectionFailed("function")
		return
	}
	r.keepTail(functionSection, c)
}

// functionRecord is a row of the function table.
type functionRecord struct {
	name            string
	nameIndex       uint64 // in the string table
	signature, slot uint64
	flags           byte
	hints           ir.DictAttr
	argAttrs        ir.ArrayAttr
	body            []byte
}

func (r *reader) functionRecord(c *cursor) (f functionRecord) {
	at := *c
	f.nameIndex = at.varint("")
	f.name = r.str(c, "")
	f.signature = c.varint("")
	f.flags = c.byte("")
	f.slot = c.varint("")
	v135 := r.v.AtLeast(def.V135)
	if r.ok() && v135 && f.flags&(flagKernel|flagHints) == flagKernel|flagHints {
		c.fail("function entry cannot be both kernel and extern impl")
	}
	if v135 || f.flags&flagHints != 0 {
		f.hints = r.taggedHints(c)
	}
	if v135 {
		f.argAttrs = r.argAttrs(c)
	}
	length := c.varint("")
	if r.ok() && length > uint64(c.rest()) {
		c.fail("function body length %d exceeds remaining bytecode data (%d bytes)", length, c.rest())
	}
	f.body = c.bytes(int(length), "")
	return f
}

// argAttrs reads the attributes of the arguments, of which none are known.
func (r *reader) argAttrs(c *cursor) ir.ArrayAttr {
	a, ok := r.attribute(c, 0).(ir.ArrayAttr)
	if !ok {
		r.silent()
	}
	if len(a) == 0 {
		return nil
	}
	return a
}

// function makes an entry. Messages about it, and not about what is inside it, give the end of the file as their place.
func (r *reader) function(f functionRecord) {
	c := &cursor{failure: r.failure, pos: len(r.data)}
	if f.name == "" {
		c.fail("function name at index %d is empty", f.nameIndex)
		return
	}
	if f.signature >= uint64(r.types.len()) {
		c.fail("function signature index %d out of bounds for function '%s'", f.signature, f.name)
		return
	}
	t := r.typeAt(f.signature)
	if !r.ok() {
		c.inside("failed to parse type at index %d for function '%s'", f.signature, f.name)
		return
	}
	ft, ok := t.(*ir.FunctionType)
	if !ok {
		c.fail("function signature index %d does not refer to a function type for function '%s', got type: '%s'",
			f.signature, f.name, ir.TypeString(t))
		return
	}
	if r.checkFlags(c, f.flags, f.name); !r.ok() {
		return
	}
	entry := ir.NewOp(ir.State{Def: entryRow})
	typed := cudatile.Entry{Op: entry}
	typed.SetSymName(f.name)
	typed.SetFunctionType(ft)
	typed.SetOptimizationHints(f.hints)
	typed.SetArgAttrs(f.argAttrs)
	b := &bodyReader{cursor: &cursor{failure: r.failure, data: f.body}, r: r, name: f.name}
	b.openLocations(f.slot)
	entry.SetLoc(b.nextLocation())
	if !r.ok() {
		c.inside("failed to read function location for '%s'", f.name)
		return
	}
	r.origin.functions[entry] = f.slot
	body := entry.Region(0).AddBlock()
	r.ctx.AddArgs(body, ft.Inputs)
	if b.function(body); !r.ok() {
		c.inside("failed to parse function body for function '%s'", f.name)
		return
	}
	r.module.Body().Append(entry)
}

// checkFlags accepts kernels only.
func (r *reader) checkFlags(c *cursor, flags byte, name string) {
	known := byte(flagPrivate | flagKernel | flagHints)
	switch {
	case flags&^known != 0:
		c.fail("unknown function flags 0x%02X for function '%s'", flags&^known, name)
	case flags&flagKernel == 0:
		r.refusePreview()
	case flags&flagPrivate != 0:
		r.refuse("'cuda_tile.entry' op entry op must have public symbol visibility")
	}
}

// previewText is what the official tools say about previews, which they accept behind a switch only.
const previewText = "uses preview feature 'simt', which is not enabled"

// refusePreview records a feature that the official reader leaves to the verifier of previews.
func (r *reader) refusePreview() {
	if r.options.Preview {
		r.plain("not supported yet: preview feature 'simt'")
	}
	r.refuse(previewText)
}

// refuse records what the official reader leaves to the verifier.
func (r *reader) refuse(why string) {
	if r.ok() {
		r.plain("%s", why)
		r.err.Lines = append(r.err.Lines, VerificationFailed)
		r.closed = true
	}
}

// The lines that follow errors about a module that came from bytecode: those of the verifier, and those of
// cudatile.VerifyKernels.
const (
	VerificationFailed = "verification failed for deserialized cuda_tile::ModuleOp"
	KernelsFailed      = "deserialized module does not conform to bytecode format invariants"
)
