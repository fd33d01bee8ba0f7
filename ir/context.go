package ir

import (
	"strings"

	"tileiras/ir/budget"
	"tileiras/ir/float"
)

// Context owns what one compile shares: interned types, the dialects it knows, and the diagnostics emitted so far.
// A Context belongs to one goroutine; dialect tables are immutable and shared between contexts.
type Context struct {
	types    map[any]Type
	dialects []*Dialect
	byName   map[string]*Dialect
	opByName map[string]*OpDef // of all registered dialects; nil until first used
	all      []*Dialect

	params  map[*Value]string
	symbols map[*Op]map[string]*Op // by table, while it is verified

	// Diags collects every diagnostic of this compile.
	Diags Diagnostics

	// Budget bounds the time and the memory of this compile; nil is without bounds.
	Budget *budget.Budget

	// Release is the release of the dialects whose words count where releases differ: names of operations in messages and
	// text, and rules that were loosened later. Zero is the newest.
	Release Version

	// AllowUnregistered lets the text parser accept operations that no dialect defines.
	AllowUnregistered bool
}

// NewContext makes a context that knows the given dialects.
func NewContext(dialects ...*Dialect) *Context {
	c := &Context{
		types:  make(map[any]Type),
		byName: make(map[string]*Dialect),
	}
	for _, d := range dialects {
		c.Register(d)
	}
	return c
}

// Register adds a dialect; registering it twice does nothing. A second dialect of the same name is an extension of the
// first: it adds its operations.
func (c *Context) Register(d *Dialect) {
	switch c.byName[d.Name] {
	case d:
		return
	case nil:
		c.dialects = append(c.dialects, d)
		c.byName[d.Name] = d
	}
	c.all = append(c.all, d)
	if c.opByName != nil {
		c.name(d)
	}
}

// name enters the operations of a dialect into the table of names.
func (c *Context) name(d *Dialect) {
	for _, def := range d.Ops {
		c.opByName[def.FullName()] = def
		for _, old := range def.OldNames {
			if full := d.Name + "." + old.Name; c.opByName[full] == nil {
				c.opByName[full] = def
			}
		}
	}
}

// Dialect finds a registered dialect by name, or nil.
func (c *Context) Dialect(name string) *Dialect { return c.byName[name] }

// OpDef finds a row by its full name ("dialect.op"), current or old spelling, or nil.
func (c *Context) OpDef(fullName string) *OpDef {
	if c.opByName == nil {
		c.opByName = map[string]*OpDef{}
		for _, d := range c.all {
			c.name(d)
		}
	}
	return c.opByName[fullName]
}

// Intern returns the one type of this context that key stands for, calling make the first time. The key must be a
// struct type of the dialect's own, so that two dialects never meet; types are then compared with ==.
func Intern[K comparable, T Type](c *Context, key K, make func() T) T {
	c.Budget.Step()
	if t, ok := c.types[any(key)]; ok {
		return t.(T)
	}
	t := make()
	c.types[any(key)] = t
	return t
}

type intKey struct{ width int }
type floatKey struct{ format *float.Format }
type funcKey struct{ in, out string }
type opaqueKey struct{ text string }

// Int is the signless integer type of the given width in bits.
func (c *Context) Int(width int) *IntegerType {
	return Intern(c, intKey{width}, func() *IntegerType { return &IntegerType{Width: width} })
}

// Float is the float type of the given format.
func (c *Context) Float(f *float.Format) *FloatType {
	return Intern(c, floatKey{f}, func() *FloatType { return &FloatType{Format: f} })
}

// Opaque is a type that no dialect of this context knows, kept as its text (unregistered dialects only).
func (c *Context) Opaque(text string) *OpaqueType {
	return Intern(c, opaqueKey{text}, func() *OpaqueType { return &OpaqueType{Text: text} })
}

// Func is the type of a function with these inputs and results.
func (c *Context) Func(in, out []Type) *FunctionType {
	return Intern(c, funcKey{c.typeKey(in), c.typeKey(out)}, func() *FunctionType {
		return &FunctionType{Inputs: append([]Type(nil), in...), Results: append([]Type(nil), out...)}
	})
}

// MadeOp counts an operation that is made against the budget: readers and builders call it.
func (c *Context) MadeOp(operands, results int) {
	c.Budget.Step()
	c.Budget.Hold(budget.OpBytes(operands, results))
}

// madeValue counts an argument of a block, or an element of a constant in a text, that is made against the budget.
func (c *Context) madeValue() {
	c.Budget.Step()
	c.Budget.Hold(budget.ValueBytes)
}

// AddArgs appends arguments of these types to a block and counts them.
func (c *Context) AddArgs(b *Block, types []Type) {
	for _, t := range types {
		c.madeValue()
		b.AddArg(t)
	}
}

// ParamName is the name that a text gave to an argument of an isolated op, a parameter of a kernel; "" when it came from no text.
func (c *Context) ParamName(v *Value) string { return c.params[v] }

func (c *Context) nameParam(v *Value, name string) {
	if c.params == nil {
		c.params = map[*Value]string{}
	}
	c.params[v] = strings.TrimPrefix(name, "%")
}
