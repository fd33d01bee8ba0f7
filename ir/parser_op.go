package ir

import (
	"slices"
	"strings"
)

// ParsedOp is an operation on its way from text. A hook fills it; the parser makes the op from it.
type ParsedOp struct {
	Def *OpDef
	Pos Pos // of the op's name
	// NumBound is the number of results that the text binds to names; 0 when it binds none.
	NumBound int

	// Refs are the operands as written and OperandTypes the types that the text gives them, by operand index of the row.
	// Operands of known types are resolved when the op is made; a nil list of types is inferred from the row's rules.
	Refs         [][]OperandRef
	OperandTypes [][]Type
	// Types are the result types by result index of the row, nil where they are to be inferred.
	Types [][]Type

	Attrs   []Attribute
	Extra   []NamedAttr // in any order
	Regions []*Region
	Name    string // of an unregistered op

	extra    map[string]bool // names in Extra
	flat     []*Value        // resolved operands
	groups   []int32
	results  []Type
	resolved bool
	p        *Parser
}

func (s *ParsedOp) begin(def *OpDef) {
	s.Def = def
	s.Refs = make([][]OperandRef, def.NumOperandDefs())
	s.OperandTypes = make([][]Type, def.NumOperandDefs())
	s.Types = make([][]Type, len(def.Results))
	s.Attrs = make([]Attribute, def.NumAttrDefs())
	s.p.owner = def.Owner
}

// SetAttr sets an attribute by name; names that the row does not know are discardable. It reports duplicates.
func (s *ParsedOp) SetAttr(at Pos, name string, a Attribute) {
	if i := s.Def.AttrIndex(name); i >= 0 {
		if s.Attrs[i] != nil {
			s.p.fail(int(at), "attribute '%s' occurs more than once in the attribute list", name)
		}
		s.Attrs[i] = a
		return
	}
	if s.extra[name] {
		s.p.fail(int(at), "attribute '%s' occurs more than once in the attribute list", name)
		return
	}
	if s.extra == nil {
		s.extra = map[string]bool{}
	}
	s.extra[name] = true
	s.Extra = append(s.Extra, NamedAttr{name, a})
}

// Attr is what has been set under a name of the row, or nil.
func (s *ParsedOp) Attr(name string) Attribute {
	if i := s.Def.AttrIndex(name); i >= 0 {
		return s.Attrs[i]
	}
	return nil
}

// SetOperands gives an operand of the row its uses and their types; types may be nil when the row's rules give them.
func (s *ParsedOp) SetOperands(name string, refs []OperandRef, types []Type) {
	if i := s.Def.OperandIndex(name); i >= 0 {
		s.Refs[i], s.OperandTypes[i] = refs, types
	}
}

// SetResults gives a result of the row its types.
func (s *ParsedOp) SetResults(name string, types ...Type) {
	for i := range s.Def.Results {
		if s.Def.Results[i].Name == name {
			s.Types[i] = types
			if types == nil {
				s.Types[i] = []Type{}
			}
		}
	}
}

// infer finds the types that the text left out and resolves the operands.
func (s *ParsedOp) infer() {
	p := s.p
	if p.err != nil {
		return
	}
	s.shiftOptional()
	for i := range s.Refs {
		if s.OperandTypes[i] == nil {
			s.inferOperand(i)
		}
		if p.err != nil {
			return
		}
		refs, types := s.Refs[i], s.OperandTypes[i]
		if len(refs) != len(types) {
			at := s.Pos
			if len(refs) > 0 {
				at = refs[0].Pos
			}
			p.Errorf(at, "number of operands and types do not match: got %d operands and %d types", len(refs), len(types))
			return
		}
		for k, r := range refs {
			s.flat = append(s.flat, p.Resolve(r, types[k]))
		}
		s.groups = append(s.groups, int32(len(refs)))
	}
	if s.Def.FixedOperands() {
		s.groups = nil
		if p.err == nil && len(s.flat) != s.Def.NumOperandDefs() {
			p.fail(int(s.Pos), "expected %d operands, but found %d", s.Def.NumOperandDefs(), len(s.flat))
		}
	}
	s.resolved = true
	for i := range s.Types {
		if s.Types[i] == nil {
			s.inferResult(i)
		}
		s.results = append(s.results, s.Types[i]...)
	}
}

// shiftOptional settles what a format like (`,` $mask^)? (`,` $padding^)? leaves open when one of the two is written: an
// optional operand of a type that its constraint refuses is the absent one after it.
func (s *ParsedOp) shiftOptional() {
	for i := 0; i+1 < len(s.Refs); i++ {
		a, b := s.Def.OperandDef(i), s.Def.OperandDef(i+1)
		if a.Mode != Optional || b.Mode != Optional || len(s.Refs[i]) != 1 || len(s.Refs[i+1]) != 0 || len(s.OperandTypes[i]) != 1 {
			continue
		}
		t := s.OperandTypes[i][0]
		if same := s.sameAs(b.Name); !s.allows(a, t) && s.allows(b, t) && (same == nil || same == t) {
			s.Refs[i], s.Refs[i+1] = nil, s.Refs[i]
			s.OperandTypes[i], s.OperandTypes[i+1] = []Type{}, s.OperandTypes[i]
		}
	}
}

// allows reports whether the constraint of an operand allows a type.
func (s *ParsedOp) allows(d *ArgDef, t Type) bool {
	if s.Def.Owner == nil || d.Constraint == "" {
		return true
	}
	tc := s.Def.Owner.Constraint(d.Constraint)
	return tc == nil || tc.Check(t)
}

// inferOperand finds the types of operand i: by a rule that some other operand or result has the same type, by the only
// type that its constraint allows, or else as the types of the values.
func (s *ParsedOp) inferOperand(i int) {
	d := s.Def.OperandDef(i)
	t := s.sameAs(d.Name)
	if t == nil {
		t = s.only(d.Constraint)
	}
	types := []Type{}
	for _, r := range s.Refs[i] {
		rt := t
		if rt == nil {
			if v := s.p.Lookup(r); v != nil {
				rt = v.typ
			}
		}
		types = append(types, rt)
	}
	s.OperandTypes[i] = types
}

func (s *ParsedOp) inferResult(i int) {
	d := s.Def.Results[i]
	t := s.sameAs(d.Name)
	if t == nil {
		t = s.only(d.Constraint)
	}
	switch {
	case t != nil && d.Mode == Single:
		s.Types[i] = []Type{t}
	case d.Mode == Single && s.Def.Hooks.InferTypes == nil:
		s.p.fail(int(s.Pos), "the type of result '%s' is not known", d.Name)
	}
}

// sameAs is the known type of an operand or result that a rule of the row ties to this one, or nil.
func (s *ParsedOp) sameAs(name string) Type {
	for _, rule := range s.Def.Same {
		if rule.What != SameType || !slices.Contains(rule.Names, name) {
			continue
		}
		for _, other := range rule.Names {
			if ts := s.typesNamed(other); other != name && len(ts) > 0 {
				return ts[0]
			}
		}
	}
	return nil
}

func (s *ParsedOp) typesNamed(name string) []Type {
	if i := s.Def.OperandIndex(name); i >= 0 {
		return s.OperandTypes[i]
	}
	for i, r := range s.Def.Results {
		if r.Name == name {
			return s.Types[i]
		}
	}
	return nil
}

func (s *ParsedOp) only(constraint string) Type {
	if s.Def.Owner == nil || constraint == "" {
		return nil
	}
	if tc := s.Def.Owner.Constraint(constraint); tc != nil && tc.Build != nil {
		return tc.Build(s.p.Ctx)
	}
	return nil
}

// make creates the op.
func (s *ParsedOp) make() *Op {
	for i := range s.Attrs {
		if d := s.Def.AttrDef(i); s.Attrs[i] == nil && d.Default != nil && d.Mode == Single {
			s.Attrs[i] = d.Default
		}
	}
	slices.SortFunc(s.Extra, func(a, b NamedAttr) int { return strings.Compare(a.Name, b.Name) })
	s.p.Ctx.MadeOp(len(s.flat), len(s.results))
	op := NewOp(State{Def: s.Def, Name: s.Name, Loc: s.p.fileLoc(int(s.Pos)), Operands: s.flat, Groups: s.groups, Types: s.results,
		Attrs: s.Attrs, Extra: s.Extra})
	for i, r := range s.Regions {
		if i < len(op.regions) {
			op.regions[i] = r
		} else {
			op.regions = append(op.regions, r)
		}
		r.op = op
	}
	return op
}
