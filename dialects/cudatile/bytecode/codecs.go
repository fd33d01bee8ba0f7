package bytecode

import (
	"slices"
	"strings"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// codec is what the encoding of an operation needs beyond its row; all of it follows from the row.
type codec struct {
	def *ir.OpDef
	// counted: the number of results is on the wire, because an operand or a result is variadic.
	counted bool
	// flags are the fields that may be absent, bit by bit: grouped by version, in a version the attributes first. A later
	// version therefore never moves a bit.
	flags []flagBit
	// listed: the operands are one list with a length in front.
	listed bool
}

// flagBit is one bit of the flags field.
type flagBit struct {
	arg     int // index into the row's Args
	index   int // among the row's operands, or its attributes
	name    string
	since   ir.Version
	operand bool
}

// codecs is the dialect as one reader or writer sees it. The encoding of an operation is worked out when the first one comes.
type codecs struct {
	rows []*ir.OpDef // by opcode
	made map[*ir.OpDef]*codec
}

// Extension adds operations to the dialect, and the versions that have them to the format: those that only tests know.
type Extension struct {
	Ops      []*ir.OpDef
	Versions []ir.Version // oldest first
}

// codecsWith are the codecs of the dialect and an extension, which may be nil.
func codecsWith(x *Extension) *codecs {
	t := &codecs{rows: byOpcode(nil, cudatile.Dialect.Ops), made: make(map[*ir.OpDef]*codec, 32)}
	if x != nil {
		t.rows = byOpcode(t.rows, x.Ops)
	}
	return t
}

// byOpcode adds operations to rows by opcode.
func byOpcode(rows, ops []*ir.OpDef) []*ir.OpDef {
	last := uint32(0)
	for _, d := range ops {
		last = max(last, d.Opcode)
	}
	if n := int(last) + 1 - len(rows); n > 0 {
		rows = append(rows, make([]*ir.OpDef, n)...)
	}
	for _, d := range ops {
		rows[d.Opcode] = d
	}
	return rows
}

// of is the codec of an operation, nil if there is no such opcode or the operation is of another dialect.
func (t *codecs) of(opcode uint64) *codec {
	if opcode >= uint64(len(t.rows)) || t.rows[opcode] == nil {
		return nil
	}
	d := t.rows[opcode]
	k := t.made[d]
	if k == nil {
		k = newCodec(d)
		t.made[d] = k
	}
	return k
}

// ofRow is the codec of an operation by its row.
func (t *codecs) ofRow(d *ir.OpDef) *codec {
	if k := t.of(uint64(d.Opcode)); k != nil && k.def == d {
		return k
	}
	return nil
}

// The rows of what stands in a section of its own and never in a body.
var (
	moduleRow = cudatile.Dialect.Row(cudatile.OpModule)
	entryRow  = cudatile.Dialect.Row(cudatile.OpEntry)
	globalRow = cudatile.Dialect.Row(cudatile.OpGlobal)
)

func topLevel(d *ir.OpDef) bool { return d == moduleRow || d == entryRow || d == globalRow }

// maxOpcode is the highest opcode of a version.
func (t *codecs) maxOpcode(v ir.Version) uint64 {
	last := 0
	for opcode, d := range t.rows {
		if d != nil && v.AtLeast(d.Since) {
			last = opcode
		}
	}
	return uint64(last)
}

func newCodec(d *ir.OpDef) *codec {
	k := &codec{def: d}
	segmented := d.Traits.Has(ir.Segmented)
	var operands []flagBit
	for i, a := range d.Args {
		operand := a.Attr == ir.Operand
		if operand && a.Mode == ir.Variadic {
			k.counted = true
		}
		if operand && a.Mode != ir.Single && !segmented {
			k.listed = true
		}
		if a.Mode != ir.Optional || operand && !segmented {
			continue
		}
		bit := flagBit{arg: i, index: max(d.OperandIndex(a.Name), d.AttrIndex(a.Name)), name: a.Name, since: later(a.Since, d.Since), operand: operand}
		if operand {
			operands = append(operands, bit)
		} else {
			k.flags = append(k.flags, bit)
		}
	}
	k.flags = append(k.flags, operands...)
	slices.SortStableFunc(k.flags, func(a, b flagBit) int { return a.since.Compare(b.since) })
	for _, r := range d.Results {
		if r.Mode == ir.Variadic {
			k.counted = true
		}
	}
	return k
}

// resultCount is what messages call the number of results.
func (k *codec) resultCount() string { return "number of result types for " + k.class() }

// segment is what messages call the number of operands of a variadic argument.
func (k *codec) segment(a *ir.ArgDef) string {
	return "actual size for variadic ODS segment '" + a.Name + "' of op '" + k.def.FullName() + "'"
}

// class is the name that messages call the op by, "MakeTensorViewOp".
func (k *codec) class() string { return className(k.def.Name) }

func later(a, b ir.Version) ir.Version {
	if a.Before(b) {
		return b
	}
	return a
}

// flagsAt reports whether the flags field exists at a version.
func (k *codec) flagsAt(v ir.Version) bool { return len(k.flags) > 0 && v.AtLeast(k.flags[0].since) }

// bit is the flag of an argument, as a mask; 0 when it has none.
func (k *codec) bit(arg int) uint64 {
	for i := range k.flags {
		if k.flags[i].arg == arg {
			return 1 << i
		}
	}
	return 0
}

// resultsAt splits the declared results at a version: how many fixed ones are on the wire, and whether any number follows.
func (k *codec) resultsAt(v ir.Version) (fixed int, variadic bool) {
	for i := range k.def.Results {
		switch r := &k.def.Results[i]; {
		case r.Mode == ir.Variadic:
			variadic = true
		case v.AtLeast(r.Since):
			fixed++
		}
	}
	return
}

// className is the name of the op's class in the official implementation: words start with a capital letter, and the f or
// i that ends the name of an arithmetic op is a word.
func className(name string) string {
	if special, ok := classNames[name]; ok {
		return special
	}
	var b strings.Builder
	for _, w := range strings.Split(name, "_") {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	s := b.String()
	if n := len(s) - 1; !strings.Contains(name, "_") && n > 1 && (s[n] == 'f' || s[n] == 'i') {
		s = s[:n] + strings.ToUpper(s[n:])
	}
	return s + "Op"
}

var classNames = map[string]string{"ftof": "FToFOp", "ftoi": "FToIOp", "itof": "IToFOp", "mmaf_scaled": "MmaFScaledOp",
	"atomic_cas_tko": "AtomicCASTkoOp", "atomic_rmw_tko": "AtomicRMWTkoOp"}
