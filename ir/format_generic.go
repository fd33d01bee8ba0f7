package ir

// The generic form, which every op has and which needs no row:
//
//	"dialect.op"(%0, %1) <{attributes of the row}> ({regions}) {other attributes} : (types) -> types

// segmentsKey is the name under which the generic form keeps the number of values of each operand of a row.
const segmentsKey = "operandSegmentSizes"

func (p *Printer) generic(op *Op) {
	if op.Def == Unregistered {
		p.Quoted(op.Name())
	} else {
		p.Quoted(op.Def.Dialect + "." + op.Def.NameAt(p.opts.Release))
	}
	p.Str("(")
	p.Values(op.Operands())
	p.Str(")")
	p.properties(op)
	if len(op.regions) > 0 {
		p.Str(" (")
		for i, r := range op.regions {
			if i > 0 {
				p.Str(", ")
			}
			p.genericRegion(r)
		}
		p.Str(")")
	}
	if len(op.extra) > 0 {
		p.Str(" ")
		p.Attr(DictAttr(op.extra))
	}
	p.Str(" : ")
	p.FunctionalType(op.Operands(), op.results)
}

func (p *Printer) properties(op *Op) {
	var d DictAttr
	for i, a := range op.attrs {
		def := op.Def.AttrDef(i)
		if a == nil && def.Mode == Single {
			a = def.Default
		}
		if s, ok := a.(SymbolAttr); ok && def.Attr == SymbolNameKind {
			a = StringAttr(s)
		}
		if a != nil {
			d = append(d, NamedAttr{def.Name, a})
		}
	}
	if op.groups != nil && (op.Def.Traits.Has(Segmented) || op.Def.inferGroups(len(op.operands)) == nil) {
		d = append(d, NamedAttr{segmentsKey, I32Array(op.groups)})
	}
	if len(d) > 0 {
		p.Str(" <")
		p.Attr(d)
		p.Str(">")
	}
}

func (p *Printer) genericRegion(r *Region) {
	p.Str("{\n")
	p.enter(r)
	p.indent++
	for i, b := range r.blocks {
		if i > 0 || len(b.args) > 0 || b.Empty() {
			p.label(b, i)
		}
		for o := b.first; o != nil; o = o.next {
			p.line(o)
		}
	}
	p.indent--
	p.leave(r)
	for i := 0; i < p.indent; i++ {
		p.Str("  ")
	}
	p.Str("}")
}

// generic reads an op in its generic form.
func (p *Parser) generic(s *ParsedOp) {
	name := p.String()
	if p.err != nil {
		return
	}
	def := p.Ctx.OpDef(name)
	if def == nil {
		if !p.Ctx.AllowUnregistered {
			p.fail(int(s.Pos), "operation being parsed with an unregistered dialect. If this is intended, please use -allow-unregistered-dialect with the MLIR tool used")
			return
		}
		def, s.Name = Unregistered, name
	}
	s.begin(def)
	refs := p.Operands("(", ")")
	var segments I32Array
	if p.Eat("<") {
		segments = p.propertyDict(s)
		p.Expect(">")
	}
	if p.is("(") {
		p.List("(", ")", func() { s.Regions = append(s.Regions, p.genericRegion(s)) })
	}
	if p.is("{") {
		p.AttrDict(s)
	}
	p.Expect(":")
	at := p.tok.pos
	operands := p.TypeList("(", ")")
	p.Expect("->")
	s.results = p.ResultTypes()
	if p.err != nil {
		return
	}
	if len(refs) != len(operands) {
		p.fail(at, "expected %d operand types but had %d", len(refs), len(operands))
		return
	}
	for i, r := range refs {
		s.flat = append(s.flat, p.Resolve(r, operands[i]))
	}
	p.genericGroups(s, segments)
	if def != Unregistered && len(s.Regions) != len(def.Regions) {
		p.fail(int(s.Pos), "'%s' op requires %d regions, but has %d", name, len(def.Regions), len(s.Regions))
	}
}

// genericRegion reads { ^bb0(%a: T): ops }; a region without a label and without an op has no block.
func (p *Parser) genericRegion(s *ParsedOp) *Region {
	r, labelled := p.region(s, nil, "")
	if !labelled && len(r.blocks) == 1 && r.blocks[0].Empty() {
		r.blocks = nil
	}
	return r
}

// propertyDict reads {name = value, ...} of the row's attributes.
func (p *Parser) propertyDict(s *ParsedOp) (segments I32Array) {
	p.List("{", "}", func() {
		at := p.Pos()
		name := p.KeywordOrString()
		var a Attribute = UnitAttr{}
		if p.Eat("=") {
			a = p.Attr(nil)
		}
		if p.err != nil {
			return
		}
		if seg, ok := a.(I32Array); ok && name == segmentsKey {
			segments = seg
			return
		}
		i := s.Def.AttrIndex(name)
		if i < 0 {
			p.fail(int(at), "'%s' op has no property '%s'", s.Def.FullName(), name)
			return
		}
		s.SetAttr(at, name, s.Def.AttrDef(i).fromGeneric(a))
	})
	return segments
}

// fromGeneric makes of an attribute what the row wants, which MLIR writes otherwise: the name of a symbol is a string, the case
// of an enumeration may be a number.
func (d *ArgDef) fromGeneric(a Attribute) Attribute {
	if s, ok := a.(StringAttr); ok && d.Attr == SymbolNameKind {
		return SymbolAttr(s)
	}
	if n, ok := a.(IntegerAttr); ok && d.Attr == EnumKind && n.Bits <= 1<<32-1 && d.Enum.Case(uint32(n.Bits)) != nil {
		return d.Enum.Of(uint32(n.Bits))
	}
	return a
}

// genericGroups divides the flat operands among those of the row.
func (p *Parser) genericGroups(s *ParsedOp, segments I32Array) {
	n := s.Def.NumOperandDefs()
	if p.err != nil || s.Def == Unregistered {
		return
	}
	if s.Def.FixedOperands() {
		if len(s.flat) != n {
			p.fail(int(s.Pos), "'%s' op expected %d operands, but found %d", s.Def.FullName(), n, len(s.flat))
		}
		return
	}
	if segments == nil {
		segments = s.Def.inferGroups(len(s.flat))
	}
	sum := 0
	for _, k := range segments {
		if k < 0 || int(k) > len(s.flat) {
			sum = -1
			break
		}
		sum += int(k)
	}
	if len(segments) != n || sum != len(s.flat) {
		p.fail(int(s.Pos), "'%s' op operand count (%d) does not match with the total size (%d) specified in attribute '%s'",
			s.Def.FullName(), len(s.flat), max(sum, 0), segmentsKey)
		return
	}
	s.groups = segments
}

// inferGroups divides operands when only one operand of the row is not single; nil when that is not so.
func (d *OpDef) inferGroups(operands int) I32Array {
	groups := make(I32Array, d.NumOperandDefs())
	sole := -1
	for i := range groups {
		groups[i] = 1
		if d.OperandDef(i).Mode != Single {
			if sole >= 0 {
				return nil
			}
			sole = i
		}
	}
	rest := operands - (len(groups) - 1)
	if sole < 0 || rest < 0 {
		return nil
	}
	groups[sole] = int32(rest)
	return groups
}
