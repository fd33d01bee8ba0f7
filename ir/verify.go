package ir

import (
	"fmt"
	"strings"
)

// maxVerifyDepth is how deep regions may nest in a module that is verified.
const maxVerifyDepth = 1000

// Verify checks op and everything inside it, each op before those inside it, in three rounds: every op by itself, which is
// its row (how many operands, results, regions and blocks there are, the types that constraints and rules allow,
// attributes, terminators, symbols) and what the hooks of ops and dialects check; then which values are visible where; and
// last what dialects check between ops (VerifyUses). It reports the first op that is wrong, and returns whether none is.
func Verify(c *Context, op *Op) bool {
	v := &verifier{c: c, order: make(map[*Op]int, NumOps(op))}
	defer func() { c.symbols = nil }()
	return v.op(op, 0) && v.visible(op) && v.uses(op)
}

// SymbolIn is the op of this name in a symbol table that is being verified, for hooks of the ops in it; nil if there is none.
func (c *Context) SymbolIn(table *Op, name string) *Op { return c.symbols[table][name] }

type verifier struct {
	c     *Context
	order map[*Op]int // place in a walk, for dominance
}

// op checks one op and then what is inside it.
func (v *verifier) op(op *Op, depth int) bool {
	v.c.Budget.Step()
	v.order[op] = len(v.order)
	if depth > maxVerifyDepth {
		return v.c.Error(op, "is nested deeper than %d levels", maxVerifyDepth)
	}
	if op.Def != Unregistered {
		if msg := op.structure(); msg != "" {
			return v.c.Error(op, "%s", msg)
		}
		if !v.attributes(op) || !v.types(op) || !v.rules(op) || !v.place(op) {
			return false
		}
		if op.Def.Traits.Has(SymbolTable) && !v.symbols(op) {
			return false
		}
		if h := op.Def.Hooks.Verify; h != nil && !h(v.c, op) {
			return false
		}
		if d := op.Def.Owner; d != nil && d.VerifyOp != nil && !d.VerifyOp(v.c, op) {
			return false
		}
	}
	for _, r := range op.regions {
		for _, b := range r.blocks {
			if !v.block(op, b, depth) {
				return false
			}
		}
	}
	return true
}

// structure says which count of an op disagrees with its row, in MLIR's words; "" when none does. An op of right structure
// can be printed in its own form.
func (op *Op) structure() string {
	d := op.Def
	for i := range op.operands {
		if op.operands[i].value == nil {
			return fmt.Sprintf("operand #%d is null", i)
		}
	}
	if msg := op.operandStructure(); msg != "" {
		return msg
	}
	least, exact := len(d.Results), true
	for _, r := range d.Results {
		if r.Mode != Single {
			least, exact = least-1, false
		}
	}
	if n := len(op.results); n < least || exact && n > least {
		return fmt.Sprintf("expected %s, but found %d", count(least, !exact, "result"), n)
	}
	if len(op.regions) != len(d.Regions) {
		return fmt.Sprintf("requires %s, but found %d", count(len(d.Regions), false, "region"), len(op.regions))
	}
	for i, r := range op.regions {
		if n := len(r.blocks); n > 1 || n == 0 && !d.Regions[i].Optional {
			return fmt.Sprintf("region #%d ('%s') failed to verify constraint: region with 1 blocks", i, d.Regions[i].Name)
		}
	}
	return ""
}

func (op *Op) operandStructure() string {
	d := op.Def
	if op.groups == nil {
		if n := d.NumOperandDefs(); len(op.operands) != n || !d.FixedOperands() {
			return fmt.Sprintf("expected %s, but found %d", count(n, false, "operand"), len(op.operands))
		}
		return ""
	}
	sum := 0
	for _, n := range op.groups {
		if n < 0 {
			return "has a negative operand count"
		}
		sum += int(n)
	}
	if len(op.groups) != d.NumOperandDefs() || sum != len(op.operands) {
		return fmt.Sprintf("operand count (%d) does not match with the total size (%d) specified in attribute '%s'",
			len(op.operands), sum, segmentsKey)
	}
	for i, n := range op.groups {
		a := d.OperandDef(i)
		if a.Mode == Single && n != 1 || a.Mode == Optional && n > 1 {
			return fmt.Sprintf("operand group '%s' requires %s, but found %d", a.Name,
				map[bool]string{true: "1 element", false: "0 or 1 element"}[a.Mode == Single], n)
		}
	}
	return ""
}

func count(n int, orMore bool, what string) string {
	s := fmt.Sprintf("%d", n)
	if orMore {
		s += " or more"
	}
	if n == 1 && !orMore {
		return s + " " + what
	}
	return s + " " + what + "s"
}

func (v *verifier) attributes(op *Op) bool {
	for i, a := range op.attrs {
		d := op.Def.AttrDef(i)
		switch {
		case a == nil && d.Mode == Single && d.Default == nil && d.Since == (Version{}):
			return v.c.Error(op, "requires attribute '%s'", d.Name)
		case a != nil && !d.Accepts(a):
			return v.c.Error(op, "attribute '%s' failed to satisfy constraint: %s", d.Name, d.kindText())
		}
	}
	return true
}

// kindText describes what an attribute has to be.
func (d *ArgDef) kindText() string {
	if d.Attr == EnumKind {
		var words []string
		for _, c := range d.Enum.Cases {
			words = append(words, c.Keyword)
		}
		return "one of " + strings.Join(words, ", ")
	}
	return map[AttrKind]string{
		I32Kind: "32-bit integer attribute", I64Kind: "64-bit integer attribute", BoolKind: "bool attribute",
		UnitKind: "unit attribute", StringKind: "string attribute", SymbolNameKind: "string attribute",
		SymbolRefKind: "symbol reference attribute", TypeKind: "type attribute", DenseKind: "constant elements",
		I32ArrayKind: "i32 dense array attribute", I64ArrayKind: "i64 dense array attribute",
		BoolArrayKind: "i1 dense array attribute", ArrayKind: "array attribute", DictKind: "dictionary of named attribute values",
		HintsKind: "optimization hints", PredicateKind: "assume predicate", AnyKind: "any attribute",
	}[d.Attr]
}

// types checks operands and results against the constraints of the row.
func (v *verifier) types(op *Op) bool {
	for i := range op.Def.OperandArgs {
		d := op.Def.OperandDef(i)
		lo, hi := op.group(i)
		for k := lo; k < hi; k++ {
			if !v.constraint(op, "operand", k, d.Constraint, d.Mode, op.operands[k].value.typ) {
				return false
			}
		}
	}
	for i := range op.Def.Results {
		d := &op.Def.Results[i]
		lo, hi := op.resultGroup(i)
		for k := lo; k < hi; k++ {
			if !v.constraint(op, "result", k, d.Constraint, d.Mode, op.results[k].typ) {
				return false
			}
		}
	}
	return true
}

func (v *verifier) constraint(op *Op, what string, k int, name string, m Mode, t Type) bool {
	if t == nil {
		return v.c.Error(op, "%s #%d has no type", what, k)
	}
	if name == "" || op.Def.Owner == nil {
		return true
	}
	tc := op.Def.Owner.Constraint(name)
	if tc == nil || tc.Check(t) {
		return true
	}
	text := tc.Text()
	if m == Variadic {
		text = "variadic of " + text
	}
	return v.c.Error(op, "%s #%d must be %s, but got '%s'", what, k, text, TypeString(t))
}

// rules checks that what the row ties together agrees.
func (v *verifier) rules(op *Op) bool {
	for _, rule := range op.Def.Same {
		var first any
		for _, name := range rule.Names {
			uses, results := op.named(name)
			for i := range len(uses) + len(results) {
				var t Type
				if i < len(uses) {
					t = uses[i].value.typ
				} else {
					t = results[i-len(uses)].typ
				}
				x, ok := rule.What.of(op.Def.Owner, t)
				switch {
				case !ok:
				case first == nil:
					first = x
				case first != x && rule.Message != "":
					return v.c.Error(op, "%s", rule.Message)
				case first != x:
					return v.c.Error(op, "failed to verify that all of {%s} have %s", strings.Join(rule.Names, ", "), rule.What)
				}
			}
		}
	}
	return true
}

// named is what stands for an operand or a result of the row.
func (op *Op) named(name string) (uses []Use, results []*Value) {
	if i := op.Def.OperandIndex(name); i >= 0 {
		lo, hi := op.group(i)
		return op.operands[lo:hi], nil
	}
	for i := range op.Def.Results {
		if op.Def.Results[i].Name == name {
			lo, hi := op.resultGroup(i)
			return nil, op.results[lo:hi]
		}
	}
	return nil, nil
}

func (w SameWhat) String() string {
	return [...]string{"same type", "same shape", "the same element type", "same rank"}[w]
}

// of is what a rule compares of a type; ok is false for types that it does not concern.
func (w SameWhat) of(d *Dialect, t Type) (any, bool) {
	if w == SameType {
		return t, true
	}
	if d == nil {
		return nil, false
	}
	if w == SameElem {
		if d.ElementOf == nil {
			return nil, false
		}
		return d.ElementOf(t)
	}
	if d.ShapeOf == nil {
		return nil, false
	}
	shape, ok := d.ShapeOf(t)
	if w == SameRank {
		return len(shape), ok
	}
	return ShapeKey(shape), ok
}

// place checks that a terminator stands last.
func (v *verifier) place(op *Op) bool {
	if op.Def.Traits.Has(Terminator) && op.next != nil {
		return v.c.Error(op, "must be the last operation in the parent block")
	}
	return true
}

func (v *verifier) block(op *Op, b *Block, depth int) bool {
	if op.Def != Unregistered && !op.Def.Traits.Has(SymbolTable) && b.Terminator() == nil {
		if b.last == nil {
			return v.report(op, "empty block: expect at least a terminator")
		}
		return v.report(b.last, "block with no terminator, has %s", strings.TrimSpace(firstLine(OpText(b.last))))
	}
	for o := b.first; o != nil; o = o.next {
		if !v.op(o, depth+1) {
			return false
		}
	}
	return true
}

// report adds an error that does not name its op first.
func (v *verifier) report(op *Op, format string, args ...any) bool {
	v.c.Diags.Add(Error, op.loc, format, args...)
	return false
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// symbols checks that the symbols of a table are different, and keeps them for SymbolIn.
func (v *verifier) symbols(op *Op) bool {
	seen := map[string]*Op{}
	for _, r := range op.regions {
		for _, b := range r.blocks {
			for o := b.first; o != nil; o = o.next {
				name, ok := o.SymbolName()
				if !ok || !o.Def.Traits.Has(Symbol) {
					continue
				}
				if old := seen[name]; old != nil {
					v.c.Diags.Add(Error, o.loc, "redefinition of symbol named '%s'", name).
						Note(old.loc, "see existing symbol definition here")
					return false
				}
				seen[name] = o
			}
		}
	}
	if v.c.symbols == nil {
		v.c.symbols = map[*Op]map[string]*Op{}
	}
	v.c.symbols[op] = seen
	return true
}

// visible checks every use: the value is an argument of a block around it or the result of an op before one of the ops
// around it, and no isolated op lies between.
func (v *verifier) visible(top *Op) bool {
	good := true
	v.c.Walk(top, PreOrder, func(op *Op) {
		for i := 0; good && i < len(op.operands); i++ {
			good = op == top || v.use(op, i)
		}
	})
	return good
}

// uses runs the checks of dialects between ops.
func (v *verifier) uses(top *Op) bool {
	good := true
	v.c.Walk(top, PreOrder, func(op *Op) {
		if d := op.Def.Owner; good && d != nil && d.VerifyUses != nil {
			good = d.VerifyUses(v.c, op)
		}
	})
	return good
}

func (v *verifier) use(op *Op, i int) bool {
	val := op.operands[i].value
	home := val.ParentBlock()
	at := op
	var wall *Op // the isolated op that was left
	for at != nil && at.block != home {
		at = at.ParentOp()
		if at != nil && at.Def.Traits.Has(Isolated) {
			wall = at
		}
	}
	switch {
	case at == nil || home == nil || val.op != nil && v.order[val.op] >= v.order[at]:
		d := v.c.Diags.Add(Error, op.loc, "operand #%d does not dominate this use", i)
		if val.op != nil {
			d.Note(val.op.loc, "operand defined here")
		}
		return false
	case wall != nil:
		v.c.Diags.Add(Error, op.loc, "'%s' op using value defined outside the region", op.Name()).
			Note(wall.loc, "required by region isolation constraints")
		return false
	}
	return true
}
