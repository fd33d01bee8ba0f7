package bytecode

import (
	"maps"
	"sort"
	"strings"
	"sync"

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
	// resultCount and segments are what is read where the number of results, and of the operands of a variadic argument of the
	// row, stand: for messages.
	resultCount string
	segments    []string
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

// codecs is the dialect as the codec sees it.
type codecs struct {
	byOpcode map[uint32]*codec
	byDef    map[*ir.OpDef]*codec

	module, entry, global *ir.OpDef
}

// Extension adds operations to the dialect, and the versions that have them to the format: those that only tests know.
type Extension struct {
	Ops      []*ir.OpDef
	Versions []ir.Version // oldest first
}

// codecsWith are the codecs of the dialect and an extension, which may be nil.
func codecsWith(x *Extension) *codecs {
	t := theCodecs()
	if x == nil {
		return t
	}
	more := &codecs{byOpcode: maps.Clone(t.byOpcode), byDef: maps.Clone(t.byDef), module: t.module, entry: t.entry, global: t.global}
	more.add(x.Ops)
	return more
}

func (t *codecs) add(ops []*ir.OpDef) {
	for _, d := range ops {
		k := newCodec(d)
		t.byOpcode[d.Opcode] = k
		t.byDef[d] = k
	}
}

var theCodecs = sync.OnceValue(func() *codecs {
	t := &codecs{byOpcode: map[uint32]*codec{}, byDef: map[*ir.OpDef]*codec{}}
	t.add(cudatile.Dialect.Ops)
	t.module, t.entry, t.global = cudatile.Dialect.Row(cudatile.OpModule), cudatile.Dialect.Row(cudatile.OpEntry), cudatile.Dialect.Row(cudatile.OpGlobal)
	return t
})

// topLevel reports whether an op stands in a section of its own and never in a body.
func (t *codecs) topLevel(d *ir.OpDef) bool { return d == t.module || d == t.entry || d == t.global }

// maxOpcode is the highest opcode of a version.
func (t *codecs) maxOpcode(v ir.Version) uint64 {
	var m uint32
	for _, k := range t.byOpcode { // a maximum: the order cannot matter
		if v.AtLeast(k.def.Since) {
			m = max(m, k.def.Opcode)
		}
	}
	return uint64(m)
}

func newCodec(d *ir.OpDef) *codec {
	k := &codec{def: d, segments: make([]string, len(d.Args))}
	segmented := d.Traits.Has(ir.Segmented)
	var operands []flagBit
	for i, a := range d.Args {
		operand := a.Attr == ir.Operand
		if operand && a.Mode == ir.Variadic {
			k.counted = true
			k.segments[i] = "actual size for variadic ODS segment '" + a.Name + "' of op '" + d.FullName() + "'"
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
	sort.SliceStable(k.flags, func(i, j int) bool { return k.flags[i].since.Before(k.flags[j].since) })
	for _, r := range d.Results {
		if r.Mode == ir.Variadic {
			k.counted = true
		}
	}
	if k.counted {
		k.resultCount = "number of result types for " + k.class()
	}
	return k
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
