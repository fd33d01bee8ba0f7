package ir

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Aliased is an attribute of a dialect that asks to be printed under an alias, "#word3", defined once. A location's
// aliases stand after the module and exist only with debug information; others stand before it.
type Aliased interface {
	DialectAttr
	AliasWord() string
}

// locationAttr is a built-in location where an attribute is expected.
type locationAttr struct{ Location }

func (a locationAttr) EqualAttr(b Attribute) bool {
	x, ok := b.(locationAttr)
	return ok && a == x
}

// topAliases are the aliases before the module, numbered in order of first use.
type topAliases struct {
	byBody map[string]string
	count  map[string]int
	lines  []string
}

func (t *topAliases) name(word, body string) string {
	if name, ok := t.byBody[body]; ok {
		return name
	}
	if t.byBody == nil {
		t.byBody, t.count = map[string]string{}, map[string]int{}
	}
	name := "#" + word + strconv.Itoa(t.count[word])
	t.count[word]++
	t.byBody[body] = name
	t.lines = append(t.lines, name+" = "+body+"\n")
	return name
}

func (t *topAliases) define(w *strings.Builder) {
	for _, l := range t.lines {
		w.WriteString(l)
	}
}

// dialectAttr writes "#dialect.body" or the alias that stands for it.
func (p *Printer) dialectAttr(a DialectAttr) {
	if l, ok := a.(Location); ok {
		p.Loc(l)
		return
	}
	al, ok := a.(Aliased)
	if !ok || p.full {
		p.attrBody(a)
		return
	}
	if p.debug != nil {
		if n := p.debug.find(a); n != "" {
			p.Str(n)
			return
		}
	}
	p.Str(p.top.name(al.AliasWord(), p.apart(func(q *Printer) { q.attrBody(a) })))
}

// Part writes an attribute of a dialect inside another where only its kind can stand, as Attr does; where there are no aliases
// it needs no name and is its <body> alone.
func (p *Printer) Part(a DialectAttr) {
	if !p.full {
		p.dialectAttr(a)
		return
	}
	_, body, _ := strings.Cut(p.apart(a.WriteAttr), "<")
	p.Str("<" + body)
}

func (p *Printer) attrBody(a DialectAttr) {
	p.Str("#" + a.AttrDialect() + ".")
	a.WriteAttr(p)
}

// apart writes to a text of its own, outside any default dialect, with the aliases of p.
func (p *Printer) apart(write func(*Printer)) string {
	b, dialects := p.b, p.dialects
	p.b, p.dialects = strings.Builder{}, nil
	write(p)
	text := p.b.String()
	p.b, p.dialects = b, dialects
	return text
}

// Loc writes a location where an attribute can stand: its alias, or loc(...).
func (p *Printer) Loc(l Location) {
	if p.debug != nil {
		if n := p.debug.find(l); n != "" {
			p.Str(n)
			return
		}
	}
	p.wholeLoc(l)
}

// wholeLoc writes the definition of a location.
func (p *Printer) wholeLoc(l Location) {
	if da, ok := l.(DialectAttr); ok {
		p.attrBody(da)
		return
	}
	p.Str("loc(")
	p.bareLoc(l)
	p.Str(")")
}

// trailingLoc writes loc(#loc3) or loc("file":1:2) after an op.
func (p *Printer) trailingLoc(l Location) {
	p.Str("loc(")
	p.innerLoc(l)
	p.Str(")")
}

// innerLoc writes a location inside the parentheses of another.
func (p *Printer) innerLoc(l Location) {
	if p.debug != nil {
		if n := p.debug.find(l); n != "" {
			p.Str(n)
			return
		}
	}
	if da, ok := l.(DialectAttr); ok {
		p.attrBody(da)
		return
	}
	p.bareLoc(l)
}

func (p *Printer) bareLoc(l Location) {
	switch l := l.(type) {
	case *FileLoc:
		p.Printf("%s:%d:%d", quote(l.File), l.Line, l.Col)
	case *NameLoc:
		p.Quoted(l.Name)
		if !IsUnknown(l.Child) {
			p.Str("(")
			p.innerLoc(l.Child)
			p.Str(")")
		}
	case *FusedLoc:
		p.Str("fused")
		if l.Meta != nil {
			p.Str("<")
			p.Attr(l.Meta)
			p.Str(">")
		}
		p.Str("[")
		for i, m := range l.Locs {
			if i > 0 {
				p.Str(", ")
			}
			p.innerLoc(m)
		}
		p.Str("]")
	case *CallSiteLoc:
		p.Str("callsite(")
		p.innerLoc(l.Callee)
		p.Str(" at ")
		p.innerLoc(l.Caller)
		p.Str(")")
	default:
		p.Str("unknown")
	}
}

// AttrText is an attribute written out in full, without aliases; i64 integers with their type.
func AttrText(a Attribute) string {
	p := &Printer{full: true}
	p.Attr(a)
	if i, ok := a.(IntegerAttr); ok && IsInt(i.Type, 64) {
		p.Str(" : i64")
	}
	return p.b.String()
}

// LocText is a location written out in full, without aliases.
func LocText(l Location) string {
	p := &Printer{full: true}
	p.trailingLoc(l)
	return p.b.String()
}

// debugAliases are the aliases after the module. They are collected before anything prints, because their numbers follow
// from a sorting: by depth of nesting, then by word, then in the order of collection.
type debugAliases struct {
	ctx   *Context // whose budget they count against
	memo  map[any]*debugNode
	byKey map[string]*debugNode
	list  []*debugNode // in collecting order
	parts *[]*debugNode
	depth int
}

// debugNode is one distinct location or debug attribute. body is its text with \x00 in the place of each part.
type debugNode struct {
	word, body string
	parts      []*debugNode
	depth      int
	id         int
	entered    bool
	name       string
}

// maxLocDepth bounds the nesting of locations that is printed, so that the text can be read back (a level takes at most
// two of maxTextDepth); what is deeper is cut to unknown.
const maxLocDepth = maxTextDepth/2 - 8

// partMark stands for a part in the body of a debugNode; no quoted text contains it.
const partMark = "\x00"

func collectDebugAliases(top *Op, o PrintOptions) *debugAliases {
	d := &debugAliases{ctx: o.Ctx, memo: map[any]*debugNode{}, byKey: map[string]*debugNode{}}
	o.Ctx.Walk(top, PreOrder, func(op *Op) {
		if op != top || !o.Unwrapped {
			d.enter(d.intern(op.loc))
		}
	})
	d.number()
	return d
}

// intern finds the node of a location or debug attribute, making its parts' nodes first.
func (d *debugAliases) intern(x any) *debugNode {
	if n := d.memo[x]; n != nil {
		return n
	}
	n := &debugNode{word: "loc"}
	outer := d.parts
	d.parts = &n.parts
	d.depth++
	p := &Printer{debug: d}
	switch x := x.(type) {
	case Aliased:
		n.word = x.AliasWord()
		p.attrBody(x)
	case Location:
		if d.depth > maxLocDepth {
			x = UnknownLoc{}
		}
		p.wholeLoc(x)
	}
	d.depth--
	d.parts = outer
	n.body = p.b.String()
	key := n.body
	for _, part := range n.parts {
		key += fmt.Sprintf(" %d", part.id)
		n.depth = max(n.depth, part.depth+1)
	}
	if have := d.byKey[key]; have != nil {
		n = have
	} else {
		n.id = len(d.byKey)
		d.byKey[key] = n
	}
	d.memo[x] = n
	return n
}

// find is what stands for x in text: while collecting, a mark; afterwards its name, or "" when it has none.
func (d *debugAliases) find(x any) string {
	if d.parts != nil {
		parts := d.parts
		n := d.intern(x)
		*parts = append(*parts, n)
		return partMark
	}
	if n := d.memo[x]; n != nil {
		return n.name
	}
	return ""
}

// enter puts a node into the collecting order, before its parts.
func (d *debugAliases) enter(n *debugNode) {
	if n.entered {
		return
	}
	n.entered = true
	d.list = append(d.list, n)
	for _, part := range n.parts {
		d.enter(part)
	}
}

func (d *debugAliases) number() {
	slices.SortStableFunc(d.list, func(a, b *debugNode) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.word, b.word))
	})
	count := map[string]int{}
	for _, n := range d.list {
		d.ctx.Step()
		n.name = "#" + n.word
		if k := count[n.word]; k > 0 {
			n.name += strconv.Itoa(k)
		}
		count[n.word]++
	}
}

func (d *debugAliases) definitions() string {
	var b strings.Builder
	for _, n := range d.list {
		d.ctx.Step()
		b.WriteString(n.name + " = ")
		for i, piece := range strings.Split(n.body, partMark) {
			if i > 0 {
				b.WriteString(n.parts[i-1].name)
			}
			b.WriteString(piece)
		}
		b.WriteString("\n")
	}
	return b.String()
}
