package bytecode

import (
	"slices"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// maxRegionDepth bounds how deep regions nest.
const maxRegionDepth = 256

// bodyReader decodes the body of one function.
//
// Values are numbered in the order in which they come up: parameters, then results. A block takes the numbers of its
// arguments and of what is inside back when it ends, so the results of an op with regions follow what was there before it.
type bodyReader struct {
	*cursor
	r      *reader
	name   string
	values []*ir.Value

	locations []byte
	located   bool
}

// function decodes operations into the entry block until the bytes are used up.
func (f *bodyReader) function(b *ir.Block) {
	f.values = append(f.values, b.Args()...)
	for !f.done() {
		f.op(b, 0)
	}
	f.terminated(b)
}

// terminated checks the end of a block.
func (f *bodyReader) terminated(b *ir.Block) {
	switch {
	case !f.ok():
	case b.Empty():
		f.fail("invalid block structure: block is expected to have a terminator operation, but it is empty")
	case b.Terminator() == nil:
		f.fail("invalid block structure: block is expected to have a terminator operation, but the last operation '%s' is not a terminator.",
			b.Last().Name())
	}
}

// op decodes one operation and puts it at the end of a block.
func (f *bodyReader) op(b *ir.Block, depth int) {
	k := f.opcode()
	if k == nil {
		return
	}
	s := ir.State{Def: k.def, Loc: f.nextLocation()}
	if !f.ok() {
		f.inside("failed to read operation location.")
	}
	f.results(k, &s)
	flags := f.flags(k)
	f.attributes(k, &s, flags)
	f.operands(k, &s, flags)
	if !f.ok() {
		return
	}
	f.r.ctx.MadeOp(len(s.Operands), len(s.Types))
	op := ir.NewOp(s)
	if len(f.wide) > 0 {
		f.keepWide(op)
	}
	if len(k.def.Regions) > 0 {
		f.regions(op, depth)
	}
	b.Append(op)
	for i, v := range op.Results() {
		if i >= len(k.def.Results) || f.r.v.AtLeast(k.def.Results[i].Since) {
			f.values = append(f.values, v)
		}
	}
}

// keepWide remembers the varints of an op that lost bits.
func (f *bodyReader) keepWide(op *ir.Op) {
	if slices.Max(f.wide) > 1 {
		f.r.origin.wide[op] = f.wide
	}
	f.wide = nil
}

// previewOpcodes is where the opcodes of previews begin.
const previewOpcodes = 0x4000

// opcode reads an opcode and finds its codec.
func (f *bodyReader) opcode() *codec {
	n := f.varint("opcode")
	if !f.ok() {
		return nil
	}
	if n >= previewOpcodes && f.r.v.AtLeast(Newest) {
		f.r.refusePreview()
		return nil
	}
	if n > f.r.maxOpcode && !f.r.options.Strict131 {
		f.fail("unsupported opcode %d for bytecode version %v", n, fileVersion(f.r.v))
		return nil
	}
	k := f.r.ops.of(n)
	if k == nil || topLevel(k.def) || f.r.v.Before(k.def.Since) {
		f.fail("unknown or unimplemented opcode: %d", n)
		return nil
	}
	return k
}

// results reads the types of the results. A result that is newer than the file exists in memory only; its type is the one
// that its constraint builds.
func (f *bodyReader) results(k *codec, s *ir.State) {
	fixed, variadic := k.resultsAt(f.r.v)
	n := fixed
	if k.counted {
		n = f.countOf(k.resultCount)
		if f.ok() && (n < fixed || n > fixed && !variadic) {
			f.fail("result count mismatch for %s: expected %d, got %d", k.class(), fixed, n)
		}
	}
	for i := 0; i < n && f.ok(); i++ {
		index, read := f.tryVarint()
		if !read {
			f.silent()
		}
		s.Types = append(s.Types, f.r.typeAt(index))
		if !f.ok() {
			f.inside("failed to get result type %d for %s", i, k.class())
		}
	}
	for i := range k.def.Results {
		if r := &k.def.Results[i]; f.ok() && f.r.v.Before(r.Since) {
			s.Types = append(s.Types, cudatile.Dialect.Constraint(r.Constraint).Build(f.r.ctx))
		}
	}
}

// flags reads the flags field.
func (f *bodyReader) flags(k *codec) uint64 {
	if !k.flagsAt(f.r.v) {
		return 0
	}
	flags := f.varint("flags field")
	if f.ok() && flags>>len(k.flags) != 0 {
		f.fail("malformed bytecode: unknown flag bits 0x%X for %s", flags>>len(k.flags)<<len(k.flags), k.class())
	}
	for i, b := range k.flags {
		if f.ok() && flags>>i&1 != 0 && f.r.v.Before(b.since) {
			what := "optional attribute"
			if b.operand {
				what = "operand"
			}
			f.fail("malformed bytecode: flag set for %s '%s' which requires %v but reading %v bytecode",
				what, b.name, b.since, fileVersion(f.r.v))
		}
	}
	return flags
}

// attributes reads the attributes in the order of the row. One that is newer than the file has its default.
func (f *bodyReader) attributes(k *codec, s *ir.State, flags uint64) {
	s.Attrs = make([]ir.Attribute, k.def.NumAttrDefs())
	at := 0
	for i := range k.def.Args {
		a := &k.def.Args[i]
		if a.Attr == ir.Operand || !f.ok() {
			continue
		}
		switch {
		case a.Mode == ir.Optional:
			if flags&k.bit(i) == 0 {
				break
			}
			s.Attrs[at] = f.inline(a, s)
			if !f.ok() {
				f.inside("failed to parse optional attribute '%s'", a.Name)
			}
		case f.r.v.Before(a.Since):
			s.Attrs[at] = a.Default
		default:
			s.Attrs[at] = f.inline(a, s)
			if !f.ok() {
				f.inside("failed to parse attribute '%s'", a.Name)
			}
		}
		at++
	}
}

// inline reads an attribute of an op, which has no tag: the row knows its kind.
func (f *bodyReader) inline(a *ir.ArgDef, s *ir.State) ir.Attribute {
	r, c := f.r, f.cursor
	switch a.Attr {
	case ir.EnumKind:
		return r.enum(c, a.Enum, a.Name)
	case ir.I32Kind:
		return ir.IntegerAttr{Type: r.ctx.Int(32), Bits: r.integer(c, 32, a.Name)}
	case ir.I64Kind:
		return r.i64(c.varint(a.Name))
	case ir.BoolKind:
		return ir.BoolAttr(c.byte(a.Name) != 0)
	case ir.UnitKind:
		return ir.UnitAttr{}
	case ir.StringKind:
		return ir.StringAttr(r.str(c, "StringAttr."))
	case ir.SymbolNameKind, ir.SymbolRefKind:
		return ir.SymbolAttr(r.str(c, "StringAttr."))
	case ir.TypeKind:
		return ir.TypeAttr{Type: r.typ(c, "get referenced type for TypeAttr")}
	case ir.DenseKind:
		return f.dense(s)
	case ir.I32ArrayKind:
		return ir.I32Array(r.i32Array(c, "DenseI32ArrayAttr values."))
	case ir.I64ArrayKind:
		return ir.I64Array(r.i64Array(c, "DenseI64ArrayAttr values."))
	case ir.BoolArrayKind:
		return f.boolArray("DenseBoolArrayAttr values.")
	case ir.ArrayKind:
		return r.typedArray(c)
	case ir.DictKind:
		return r.dictionary(c, 0)
	case ir.HintsKind:
		hints := r.hints(c)
		r.checkHints(c, s.Def, hints)
		return hints
	case ir.PredicateKind:
		return r.predicate(c)
	}
	panic("BUG: attribute " + a.Name + " has no encoding")
}

// dense reads a constant that has the type of result 0.
func (f *bodyReader) dense(s *ir.State) ir.Attribute {
	var t ir.Type
	if len(s.Types) > 0 {
		t = s.Types[0]
	}
	return f.r.constant(f.cursor, t)
}

func (f *bodyReader) boolArray(what string) ir.BoolArray {
	raw := f.bytes(f.count(what), what)
	a := make(ir.BoolArray, len(raw))
	for i, b := range raw {
		a[i] = b != 0
	}
	return a
}

// operands reads the operands: segment by segment, as one list with a length, or exactly the declared ones.
func (f *bodyReader) operands(k *codec, s *ir.State, flags uint64) {
	d := k.def
	n := d.NumOperandDefs()
	switch {
	case !f.ok():
	case d.Traits.Has(ir.Segmented):
		s.Groups = make([]int32, 0, n)
		for i := range d.Args {
			if d.Args[i].Attr == ir.Operand {
				f.segment(k, s, i, flags)
			}
		}
	case k.listed:
		total := f.count("operand count")
		fixed := 0
		for i := 0; i < n; i++ {
			if d.OperandDef(i).Mode == ir.Single {
				fixed++
			}
		}
		rest := total - fixed
		for i := 0; i < n; i++ {
			switch m := d.OperandDef(i).Mode; {
			case m == ir.Single:
				s.Groups = append(s.Groups, 1)
			case f.ok() && (rest < 0 || m == ir.Optional && rest > 1):
				f.fail("operand count mismatch for %s: expected %d, got %d", k.class(), fixed, total)
			default:
				s.Groups = append(s.Groups, int32(rest))
			}
		}
		f.operandList(s, total)
	default:
		f.operandList(s, n)
	}
}

func (f *bodyReader) operandList(s *ir.State, n int) {
	s.Operands = make([]*ir.Value, 0, f.room(n))
	for i := 0; i < n && f.ok(); i++ {
		index, ok := f.tryVarint()
		switch {
		case !ok:
			f.fail("failed to read operand index %d", i)
		case index >= uint64(len(f.values)):
			f.fail("operand index %d out of bounds (size=%d) for operand %d", index, len(f.values), i)
		default:
			s.Operands = append(s.Operands, f.values[index])
		}
	}
}

// segment reads the values of one declared operand.
func (f *bodyReader) segment(k *codec, s *ir.State, arg int, flags uint64) {
	a := &k.def.Args[arg]
	n := 1
	switch {
	case !f.ok():
		return
	case f.r.v.Before(a.Since):
		n = 0
	case a.Mode == ir.Optional && flags&k.bit(arg) == 0:
		n = 0
	case a.Mode == ir.Variadic:
		if n = f.countOf(func() string { return k.segment(a) }); !f.ok() {
			return
		}
	}
	s.Groups = append(s.Groups, int32(n))
	for j := 0; j < n && f.ok(); j++ {
		index, ok := f.tryVarint()
		switch {
		case !ok:
			f.fail("failed to read operand index %d", len(s.Operands))
		case index >= uint64(len(f.values)):
			f.fail("operand index %d out of bounds (size=%d) for %s segment, element %d", index, len(f.values), a.Name, j)
		default:
			s.Operands = append(s.Operands, f.values[index])
		}
	}
}

// regions reads the regions of an op.
func (f *bodyReader) regions(op *ir.Op, depth int) {
	if depth >= maxRegionDepth {
		f.fail("regions nest deeper than %d levels", maxRegionDepth)
		return
	}
	n := f.varint("number of regions")
	if f.ok() && n != uint64(op.NumRegions()) {
		f.fail("%s op expected %d regions, got %d", op.Name(), op.NumRegions(), n)
	}
	for i := 0; i < op.NumRegions() && f.ok(); i++ {
		blocks := f.varint("region block count")
		if f.ok() && blocks > 1 {
			f.fail("region %d of %s has %d blocks, expected at most one", i, op.Name(), blocks)
		}
		if f.ok() && blocks == 1 {
			if f.block(op.Region(i).AddBlock(), depth); !f.ok() {
				f.inside("failed to parse block 0 in region.")
			}
		}
		if !f.ok() {
			f.inside("failed to parse region %d", i)
		}
	}
}

// block reads the arguments and operations of a block.
func (f *bodyReader) block(b *ir.Block, depth int) {
	before := len(f.values)
	args := f.count("block argument count.")
	for i := 0; i < args && f.ok(); i++ {
		index, read := f.tryVarint()
		if !read {
			f.silent()
		}
		if t := f.r.typeAt(index); f.ok() {
			f.values = append(f.values, b.AddArg(t))
		} else {
			f.inside("failed to read block argument type: %d", i)
		}
	}
	ops := f.count("block operation count.")
	for i := 0; i < ops && f.ok(); i++ {
		if f.op(b, depth+1); !f.ok() {
			f.inside("failed to parse operation %d in block.", i)
		}
	}
	f.terminated(b)
	f.values = f.values[:before]
}
