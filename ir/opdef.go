package ir

// OpDef is the row of one operation: everything that the reader, the writer, the text parser and printer, the verifier,
// the typed accessors and the documentation need to know about it. Rows are data; functions are attached by the dialect's
// init and never refer to a row variable (they compare codes).
type OpDef struct {
	Dialect  string
	Name     string    // without the dialect prefix, in the newest spelling
	OldNames []OldName // spellings of older versions, oldest first
	Opcode   uint32    // on the wire; 0 with NoOpcode set when the op has none
	NoOpcode bool
	Since    Version

	// Args are the operands and attributes in their joint declaration order (flag bits on the wire follow from it).
	Args []ArgDef
	// Results, in order. A Variadic result, if any, is the last.
	Results []ResultDef
	// Regions, in order.
	Regions []RegionDef
	Traits  Traits
	// Same lists groups of operands and results, by name, that must agree.
	Same []SameRule
	// Flow is how control passes through the regions, or what a terminator does.
	Flow FlowDef
	// Effects are what the op does with memory. Where a row has them, the traits Ordered, Reads and Writes follow from them.
	Effects []EffectDef
	// Instrs is about how many machine instructions an element takes, of an elementwise op that takes many: it is not rematerialized where its value can be kept.
	Instrs int
	// Code is set by Dialect.Init, from the dialect's ID and the row's place.
	Code Code

	// Format is the assembly format in the language of MLIR's declarative assemblyFormat: `literal`, $arg, type($arg),
	// optional groups (... $arg^ ...)?, attr-dict, custom<Hook>($a, $b), functional-type(operands, results).
	// Empty means that the Print and Parse hooks do it all.
	Format string
	// Summary is one sentence of prose.
	Summary string

	// Attached by the dialect.
	Hooks *Hooks // a pointer, so that the row itself is read-only data

	// What follows from the rest. Dialect.Init computes it; generated rows have it, so that they take no time at start.
	OperandArgs []int // indices into Args of the operands, in order
	AttrArgs    []int // indices into Args of the attributes, in order
	Owner       *Dialect

	text textForm // the compiled Format, made when first asked for
}

// Hooks are the functions of one operation. All are optional.
type Hooks struct {
	// Verify checks what the row cannot say; it reports through the op's diagnostics (op.Error) and returns false when
	// it reported. The same holds for it as for Dialect.VerifyOp.
	Verify func(*Context, *Op) bool
	// InferTypes computes the result types from operands and attributes.
	InferTypes func(*Context, *Op) ([]Type, error)
	// Print and Parse are the hand-written assembly form.
	Print func(*Printer, *Op)
	Parse func(*Parser, *ParsedOp) error
	// Printable reports whether an op, which the verifier may not have seen, has what its own form shows; if not, it
	// prints in the generic form.
	Printable func(*Op) bool
}

// Fold returns constants or values that replace the results of an op, or nil: what its dialect knows.
func Fold(op *Op) []FoldResult {
	if d := op.Def.Owner; d != nil && d.Fold != nil {
		return d.Fold(op)
	}
	return nil
}

// FoldResult is one folded result: an existing value, or a constant attribute of the result's type.
type FoldResult struct {
	Value *Value
	Attr  Attribute
}

// OldName is a spelling that held before version Until.
type OldName struct {
	Name  string
	Until Version
}

// Mode says how many values an operand or result stands for, or whether an attribute must be there.
type Mode uint8

const (
	Single   Mode = iota // exactly one; a required attribute
	Optional             // zero or one
	Variadic             // any number
)

// ArgDef is one operand or attribute of a row.
type ArgDef struct {
	Name       string
	Attr       AttrKind // Operand for operands
	Class      string   // of an attribute of kind AnyKind or PredicateKind: the Go type in the dialect's package, if there is one
	Constraint string   // of an operand: name of a type constraint of the dialect
	Enum       *EnumDef // of an attribute of kind EnumKind
	Mode       Mode
	Since      Version   // zero: as long as the op
	Default    Attribute // of an attribute that older versions lack, or that the text omits
}

// AttrKind is the kind of an attribute argument: its wire form and its text form.
type AttrKind uint8

const (
	Operand        AttrKind = iota // not an attribute
	EnumKind                       // varint enum value; keyword
	I32Kind                        // varint; integer
	I64Kind                        // varint; integer
	BoolKind                       // byte; true or false
	UnitKind                       // the flag bit; presence
	StringKind                     // string index; quoted string
	SymbolNameKind                 // string index; @name, defines a symbol
	SymbolRefKind                  // string index; @name
	TypeKind                       // type index; type
	DenseKind                      // constant index; dense literal, typed by result 0
	I32ArrayKind                   // count + i32s
	I64ArrayKind                   // count + i64s
	BoolArrayKind                  // count + bytes
	ArrayKind                      // count + self-contained attributes
	DictKind                       // a dictionary
	HintsKind                      // optimization hints: dictionary of dictionaries
	PredicateKind                  // self-contained assume predicate
	AnyKind                        // any attribute; only for dialects that never meet the wire
)

// Accepts reports whether an attribute is of the declared kind.
func (d *ArgDef) Accepts(a Attribute) bool {
	ok := a != nil
	switch d.Attr {
	case EnumKind:
		e, is := a.(EnumAttr)
		ok = is && e.Enum == d.Enum && e.Enum.Case(e.Value) != nil
	case I32Kind, I64Kind:
		i, is := a.(IntegerAttr)
		ok = is && (i.Type == nil || IsInt(i.Type))
	case BoolKind:
		_, ok = a.(BoolAttr)
	case UnitKind:
		_, ok = a.(UnitAttr)
	case StringKind:
		_, ok = a.(StringAttr)
	case SymbolNameKind, SymbolRefKind:
		_, ok = a.(SymbolAttr)
	case TypeKind:
		_, ok = a.(TypeAttr)
	case DenseKind:
		_, ok = a.(*DenseAttr)
	case I32ArrayKind:
		_, ok = a.(I32Array)
	case I64ArrayKind:
		_, ok = a.(I64Array)
	case BoolArrayKind:
		_, ok = a.(BoolArray)
	case ArrayKind:
		_, ok = a.(ArrayAttr)
	case DictKind, HintsKind:
		_, ok = a.(DictAttr)
	case PredicateKind:
		_, ok = a.(DialectAttr)
	}
	return ok
}

// IsDefault reports whether an attribute is the default, which the text leaves out. An integer default without a type is one
// of the kind's type.
func (d *ArgDef) IsDefault(a Attribute) bool {
	if x, ok := d.Default.(IntegerAttr); ok && x.Type == nil {
		y, ok := a.(IntegerAttr)
		return ok && x.Bits == y.Bits
	}
	return d.Default != nil && AttrEqual(a, d.Default)
}

// ResultDef is one result of a row.
type ResultDef struct {
	Name       string
	Constraint string
	Mode       Mode
	Since      Version
}

// RegionDef is one region of a row.
type RegionDef struct {
	Name     string
	Optional bool // may have no block
}

// SameRule says that the named operands and results must agree in something.
type SameRule struct {
	What  SameWhat
	Names []string
	// Message is what an error says instead of "failed to verify that all of {a, b} have same shape".
	Message string
}

// SameWhat is what a SameRule compares.
type SameWhat uint8

const (
	SameType  SameWhat = iota // "have same type"
	SameShape                 // "have same shape"
	SameElem                  // "have the same element type"
	SameRank                  // "have same rank"
)

// Traits are facts about an operation that generic passes use.
type Traits uint32

const (
	// Pure: no effect, may be erased when unused and merged with an equal one.
	Pure Traits = 1 << iota
	// Speculatable: may run where the program would not have run it.
	Speculatable
	// Terminator ends a block.
	Terminator
	// Isolated regions see no value of the outside.
	Isolated
	// ConstantLike: one result, value in attribute 0, no operand.
	ConstantLike
	// Commutative in its first two operands.
	Commutative
	// Ordered: reads or writes memory or the outside world.
	Ordered
	// Reads and Writes memory.
	Reads
	Writes
	// Symbol: has an attribute of kind SymbolNameKind; SymbolTable: holds such ops.
	Symbol
	SymbolTable
	// Segmented: MLIR's AttrSizedOperandSegments; changes the wire form of operands.
	Segmented
	// ImplicitTerminator: an empty terminator may be left out of the text.
	ImplicitTerminator
	// Elementwise: result element i depends on operand elements i only.
	Elementwise
	// Replicable: threads that compute the same element get the same value.
	Replicable
	// Function: a Symbol with a signature, an attribute of kind TypeKind.
	Function
)

// Has reports whether all the traits of u are in t.
func (t Traits) Has(u Traits) bool { return t&u == u }

// FullName is "dialect.name".
func (d *OpDef) FullName() string { return d.Dialect + "." + d.Name }

// NameAt is the spelling of the op's name at a version; the zero version is the newest.
func (d *OpDef) NameAt(v Version) string {
	for _, o := range d.OldNames {
		if v != (Version{}) && v.Before(o.Until) {
			return o.Name
		}
	}
	return d.Name
}

// prepare computes what follows from the row and its place in a dialect.
func (d *OpDef) prepare(owner *Dialect, place int) {
	d.Dialect, d.Owner = owner.Name, owner
	if d.Hooks == nil {
		d.Hooks = &Hooks{}
	}
	if owner.ID != 0 {
		d.Code = owner.ID<<codeBits | Code(place+1)
	}
	d.Traits |= effectTraits(d.Effects)
	operands := 0
	for i := range d.Args {
		if d.Args[i].Attr == Operand {
			operands++
		}
	}
	index := make([]int, len(d.Args))
	d.OperandArgs, d.AttrArgs = index[:0:operands], index[operands:operands]
	for i := range d.Args {
		if d.Args[i].Attr == Operand {
			d.OperandArgs = append(d.OperandArgs, i)
		} else {
			d.AttrArgs = append(d.AttrArgs, i)
		}
	}
	for i := range d.Args {
		if e := d.Args[i].Enum; e != nil {
			e.Dialect = d.Dialect
		}
	}
}

// NumOperandDefs is the number of declared operands; OperandDef is the i-th of them.
func (d *OpDef) NumOperandDefs() int          { return len(d.OperandArgs) }
func (d *OpDef) OperandDef(i int) *ArgDef     { return &d.Args[d.OperandArgs[i]] }
func (d *OpDef) NumAttrDefs() int             { return len(d.AttrArgs) }
func (d *OpDef) AttrDef(i int) *ArgDef        { return &d.Args[d.AttrArgs[i]] }
func (d *OpDef) AttrIndex(name string) int    { return indexOf(d.AttrArgs, d.Args, name) }
func (d *OpDef) OperandIndex(name string) int { return indexOf(d.OperandArgs, d.Args, name) }

// FixedOperands reports whether every declared operand is a single value.
func (d *OpDef) FixedOperands() bool {
	for _, i := range d.OperandArgs {
		if d.Args[i].Mode != Single {
			return false
		}
	}
	return true
}

func indexOf(idx []int, args []ArgDef, name string) int {
	for k, i := range idx {
		if args[i].Name == name {
			return k
		}
	}
	return -1
}
