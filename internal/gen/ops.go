package main

import (
	"fmt"
	"strings"

	cudatile "tileiras/dialects/cudatile/def"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// opsDocument is the text of docs/ops.md.
func opsDocument() string {
	var b strings.Builder
	b.WriteString(`# Operations

Written by ` + "`go run ./internal/gen`" + ` from the rows in dialects/cudatile/def and dialects/tileaa/def; edit those.

A field is written name: type set (of an operand or result) or name: kind (of an attribute). A question mark says that it
may be absent, a star that it stands for any number of values, = that it has a default, and a version in brackets since
when it exists. Attributes come before operands on the wire.

`)
	fmt.Fprintf(&b, "## cuda_tile: what comes in (bytecode %v to %v)\n", cudatile.Oldest, cudatile.Newest)
	for _, family := range cudatile.Families() {
		fmt.Fprintf(&b, "\n### %s\n\n", family.Title)
		b.WriteString("| Operation | Code | Since | Attributes | Operands | Results | Traits | Meaning |\n|---|---|---|---|---|---|---|---|\n")
		for _, op := range family.Ops {
			fmt.Fprintf(&b, "| %s | 0x%02X | %v | %s | %s | %s | %s | %s |\n", opName(op), op.Opcode, op.Since,
				arguments(op, false), arguments(op, true), results(op), traits(op), cell(op.Summary))
		}
	}
	b.WriteString("\n### Type sets\n\n| Set | Types |\n|---|---|\n")
	for i := range cudatile.TypeSets {
		s := &cudatile.TypeSets[i]
		text := s.Text()
		if s.Unnamed != nil {
			text += ", and, though messages do not name it, " + strings.Join(s.Unnamed, ", ")
		}
		fmt.Fprintf(&b, "| %s | %s |\n", s.Name, cell(text))
	}
	b.WriteString("\n### Enumerations\n\n| Enumeration | Cases, with their values on the wire |\n|---|---|\n")
	for _, e := range cudatile.Enums {
		var cases []string
		for _, c := range e.Cases {
			cases = append(cases, fmt.Sprintf("%s %d%s", c.Keyword, c.Value, since(c.Since, ir.Version{})))
		}
		fmt.Fprintf(&b, "| %s | %s |\n", e.Name, strings.Join(cases, ", "))
	}
	b.WriteString("\n## tileaa: what passes work on\n\n")
	b.WriteString("| Operation | Attributes | Operands | Results | Traits | Meaning |\n|---|---|---|---|---|---|\n")
	for _, op := range tileaa.Dialect.Ops {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", opName(op), arguments(op, false), arguments(op, true),
			results(op), traits(op), cell(op.Summary))
	}
	return b.String()
}

func opName(op *ir.OpDef) string {
	s := "`" + op.Name + "`"
	for _, old := range op.OldNames {
		s += fmt.Sprintf(", `%s` before %v", old.Name, old.Until)
	}
	return s
}

// arguments lists the operands or the attributes of a row.
func arguments(op *ir.OpDef, operands bool) string {
	var list []string
	for i := range op.Args {
		a := &op.Args[i]
		if (a.Attr == ir.Operand) != operands {
			continue
		}
		what := a.Constraint
		if !operands {
			what = kindName(a)
		}
		s := field(a.Name, what, a.Mode)
		if e, ok := a.Default.(ir.EnumAttr); ok {
			s += " = " + e.String()
		} else if a.Default != nil {
			s += " = 0"
		}
		list = append(list, s+since(a.Since, op.Since))
	}
	return cell(strings.Join(list, ", "))
}

func results(op *ir.OpDef) string {
	var list []string
	for i := range op.Results {
		r := &op.Results[i]
		list = append(list, field(r.Name, r.Constraint, r.Mode)+since(r.Since, op.Since))
	}
	return cell(strings.Join(list, ", "))
}

func field(name, what string, m ir.Mode) string {
	s := name + [...]string{ir.Single: "", ir.Optional: "?", ir.Variadic: "*"}[m]
	if what != "" {
		s += ": " + what
	}
	return s
}

// since is the version of a field that is newer than its op.
func since(v, op ir.Version) string {
	if op.Before(v) {
		return fmt.Sprintf(" [%v]", v)
	}
	return ""
}

// kindName is the name of an attribute's kind.
func kindName(a *ir.ArgDef) string {
	if a.Attr == ir.EnumKind {
		return a.Enum.Name
	}
	return kinds[a.Attr]
}

var kinds = map[ir.AttrKind]string{
	ir.I32Kind: "i32", ir.I64Kind: "i64", ir.BoolKind: "bool", ir.UnitKind: "flag", ir.StringKind: "string",
	ir.SymbolNameKind: "symbol", ir.SymbolRefKind: "symbol reference", ir.TypeKind: "type", ir.DenseKind: "constant",
	ir.I32ArrayKind: "i32 list", ir.I64ArrayKind: "i64 list", ir.BoolArrayKind: "bool list", ir.ArrayKind: "list",
	ir.DictKind: "dictionary", ir.HintsKind: "hints", ir.PredicateKind: "predicate", ir.AnyKind: "any",
}

// traitNames lists the traits that the table shows, in this order.
var traitNames = []struct {
	trait ir.Traits
	name  string
}{
	{ir.Pure, "pure"}, {ir.Speculatable, "speculatable"}, {ir.Terminator, "terminator"}, {ir.Isolated, "isolated"},
	{ir.ConstantLike, "constant"}, {ir.Commutative, "commutative"}, {ir.Ordered, "ordered"}, {ir.Reads, "reads"},
	{ir.Writes, "writes"}, {ir.Symbol, "symbol"}, {ir.SymbolTable, "symbol table"}, {ir.Elementwise, "elementwise"},
	{ir.Replicable, "replicable"},
}

func traits(op *ir.OpDef) string {
	var list []string
	for _, t := range traitNames {
		if op.Traits.Has(t.trait) {
			list = append(list, t.name)
		}
	}
	if op.Instrs > 0 {
		list = append(list, fmt.Sprintf("about %d instructions", op.Instrs))
	}
	for _, r := range op.Regions {
		list = append(list, "region "+r.Name)
	}
	return strings.Join(list, ", ")
}

// cell keeps text from ending a cell of the table.
func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
