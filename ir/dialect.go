package ir

// Dialect is a table of operations with the hooks that read and check its types and attributes. A dialect is built once
// in an init and is immutable from then on.
type Dialect struct {
	Name string
	ID   Code // the high half of the codes of the rows; 0 gives them no codes
	Ops  []*OpDef

	// Constraints gives the type constraints that the rows name; most compiles ask for those of the input only.
	Constraints func() map[string]*TypeConstraint

	// ParseType reads the body of a type of this dialect after its mnemonic; nil, nil when it has no such type.
	ParseType func(p *Parser, mnemonic string) (Type, error)
	// ParseAttr reads the body of an attribute of this dialect after its mnemonic.
	ParseAttr func(p *Parser, mnemonic string) (Attribute, error)
	// Directives are the custom<Name>(...) elements of the rows' formats.
	Directives map[string]Directive
	// Top is the short name of the op that holds the dialect's module items. Items at the top level of a text without it
	// are put into one, called TopName.
	Top, TopName string
	// VerifyOp checks what the dialect asks of every op by itself, as Hooks.Verify does of one kind: of the ops around it rows and
	// hooks are checked, of those inside it and of those that give it values nothing is.
	VerifyOp func(*Context, *Op) bool
	// VerifyUses checks an op with those that it has values from and gives values to: all are right by themselves, and values are
	// visible where they are used.
	VerifyUses func(*Context, *Op) bool
	// Fold returns constants or values that replace the results of an op, or nil.
	Fold func(*Op) []FoldResult
	// NameResult gives result i of an op, and NameArg argument i of its block b, the hint of its printed name; "" numbers it.
	NameResult func(op *Op, i int) string
	NameArg    func(op *Op, b *Block, i int) string

	// ShapeOf and ElementOf let generic rules look into the dialect's types; ok is false for types without one.
	ShapeOf   func(Type) (shape []int64, ok bool)
	ElementOf func(Type) (elem Type, ok bool)

	// Materialize makes a constant of a type at the builder's place from an attribute, for folds.
	Materialize func(b *Builder, loc Location, value Attribute, t Type) *Op
}

// TypeConstraint is a named set of types; Text is how a message describes it ("tile of i1 or i8 values").
type TypeConstraint struct {
	Name  string
	Text  func() string
	Check func(Type) bool
	// Build makes the only type of a set of one, so that the text may leave it out; nil for other sets.
	Build func(*Context) Type
}

// Init finishes rows that no generator wrote; call it once.
func (d *Dialect) Init() *Dialect {
	for i, op := range d.Ops {
		op.prepare(d, i)
	}
	return d
}

// Row is the row with a code of this dialect.
func (d *Dialect) Row(c Code) *OpDef { return d.Ops[c.Index()-1] }

// Constraint finds a type constraint by its name, or nil.
func (d *Dialect) Constraint(name string) *TypeConstraint {
	if d.Constraints == nil {
		return nil
	}
	return d.Constraints()[name]
}

// Op finds a row by its short name, or nil.
func (d *Dialect) Op(name string) *OpDef {
	for _, op := range d.Ops {
		if op.Name == name {
			return op
		}
	}
	return nil
}
