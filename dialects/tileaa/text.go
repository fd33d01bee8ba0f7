package tileaa

import (
	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/ir"
)

// LayoutAttr is the distribution of a tile over threads as an attribute, #tileaa.layout<{reg=[[0,1]], ...} : 16x8>. It
// prints under an alias #l0.
type LayoutAttr struct{ Layout layout.Layout }

// MemAttr is the order of a tile's elements in memory as an attribute, #tileaa.mem<{offset=[[0,1],...]} : 64x64>. It prints
// under an alias #m0.
type MemAttr struct{ Mem layout.MemLayout }

func (*LayoutAttr) AttrDialect() string { return "tileaa" }
func (*LayoutAttr) AliasWord() string   { return "l" }
func (*MemAttr) AttrDialect() string    { return "tileaa" }
func (*MemAttr) AliasWord() string      { return "m" }

func (a *LayoutAttr) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*LayoutAttr)
	return ok && a.Layout.Key() == x.Layout.Key()
}

func (a *MemAttr) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*MemAttr)
	return ok && a.Mem.Key() == x.Mem.Key()
}

func (a *LayoutAttr) WriteAttr(p *ir.Printer)       { p.Printf("layout<%s>", a.Layout) }
func (a *MemAttr) WriteAttr(p *ir.Printer)          { p.Printf("mem<%s>", a.Mem) }
func (a *DivByAttr) WriteAttr(p *ir.Printer)        { p.Str(a.String()) }
func (a *SameElementsAttr) WriteAttr(p *ir.Printer) { p.Str(a.String()) }
func (a *BoundedAttr) WriteAttr(p *ir.Printer)      { p.Str(a.String()) }

// PrintType writes the type as WriteType does, with the layout as an alias.
func (t *TileType) PrintType(p *ir.Printer) {
	p.Str("tile<")
	printShaped(p, t.Shape, t.Elem)
	if t.Layout != nil {
		p.Str(", ")
		p.Attr(&LayoutAttr{*t.Layout})
	}
	p.Str(">")
}

// PrintType writes the type as WriteType does, with the memory layout as an alias.
func (t *BufferType) PrintType(p *ir.Printer) {
	p.Str("buffer<")
	printShaped(p, t.Shape, t.Elem)
	p.Str(", ")
	p.Attr(&MemAttr{*t.Mem})
	p.Str(">")
}

// PrintType writes the type as WriteType does, with the memory layout of the buffers as an alias.
func (t *RingType) PrintType(p *ir.Printer) {
	p.Printf("ring<%d, ", t.Slots)
	t.Buffer.PrintType(p)
	p.Str(">")
}

func printShaped(p *ir.Printer, shape []int64, elem ir.Type) {
	for _, d := range shape {
		p.Str(extent(d) + "x")
	}
	p.ShortType(elem)
}

// parseType reads the types of types.go.
func parseType(p *ir.Parser, mnemonic string) (ir.Type, error) {
	c := p.Ctx
	if mnemonic == "token" {
		return Token(c), nil
	}
	dynamic := Dynamic
	var t ir.Type
	switch mnemonic {
	case "tile":
		p.Expect("<")
		shape, elem := p.Dims(nil), p.Type()
		if !p.Eat(",") {
			t = parsed(p, elem, func() ir.Type { return Tile(c, elem, shape...) })
			break
		}
		at := p.Pos()
		a, ok := p.Attr(nil).(*LayoutAttr)
		if !ok || len(shape) == 0 {
			return nil, p.Errorf(at, "expected the layout of a tile of rank 1 or more")
		}
		if wrong := spreads(a.Layout, shape); wrong != "" && !p.Failed() {
			p.Errorf(at, "%s", wrong)
		}
		t = parsed(p, elem, func() ir.Type { return Tile(c, elem, shape...).WithLayout(c, a.Layout) })
	case "ptr":
		p.Expect("<")
		elem := p.Type()
		t = parsed(p, elem, func() ir.Type { return Ptr(c, elem) })
	case "block":
		p.Expect("<")
		shape, elem := p.Dims(nil), p.Type()
		t = parsed(p, elem, func() ir.Type { return Block(c, elem, shape...) })
	case "memref":
		p.Expect("<")
		shape, elem := p.Dims(&dynamic), p.Type()
		var strides []int64
		if p.Eat(",") {
			p.Expect("strides")
			p.Expect("=")
			p.List("[", "]", func() {
				if p.Eat("?") {
					strides = append(strides, Dynamic)
				} else {
					strides = append(strides, p.Integer())
				}
			})
		}
		if len(strides) != len(shape) {
			p.Errorf(p.Pos(), "expected a memref with a stride for each extent")
		}
		t = parsed(p, elem, func() ir.Type { return Memref(c, elem, shape, strides) })
	case "buffer":
		p.Expect("<")
		shape, elem := p.Dims(nil), p.Type()
		p.Expect(",")
		at := p.Pos()
		a, ok := p.Attr(nil).(*MemAttr)
		if !ok {
			return nil, p.Errorf(at, "expected the memory layout of a buffer")
		}
		if !p.Failed() && !sameDims(shape, a.Mem.Shape()) {
			p.Errorf(at, "expected the memory layout of a buffer of this shape")
		}
		t = parsed(p, elem, func() ir.Type { return Buffer(c, elem, a.Mem, shape...) })
	case "ring":
		p.Expect("<")
		slots := p.Integer()
		p.Expect(",")
		at := p.Pos()
		buffer, ok := p.Type().(*BufferType)
		switch {
		case p.Failed():
		case !ok:
			p.Errorf(at, "expected the buffers of a ring")
		case slots < 1 || slots > MostSlots:
			p.Errorf(at, "a ring has 1 to %d slots", MostSlots)
		default:
			t = Ring(c, slots, buffer)
		}
	case "pipeline":
		p.Expect("<")
		at := p.Pos()
		slots := p.Integer()
		if (slots < 1 || slots > MostSlots) && !p.Failed() {
			p.Errorf(at, "a pipeline has 1 to %d slots", MostSlots)
		}
		t = Pipeline(c, slots)
	case "map_memory":
		p.Expect("<")
		at := p.Pos()
		maps := p.Integer()
		if (maps < 1 || maps > MostMaps) && !p.Failed() {
			p.Errorf(at, "there are 1 to %d tensor maps", MostMaps)
		}
		t = MapMemory(c, maps)
	case "tensor_memory":
		p.Expect("<")
		at := p.Pos()
		n := p.Integer()
		if !p.Failed() && (n < atom.LeastTensorColumns || n > atom.TensorColumns || n&(n-1) != 0) {
			p.Errorf(at, "tensor memory has a power of two columns, %d to %d", atom.LeastTensorColumns, atom.TensorColumns)
		}
		t = TensorMemory(c, n)
	default:
		return nil, nil
	}
	p.Expect(">")
	return t, p.Err()
}

// parsed makes a type when there was no error and the element can be one.
func parsed(p *ir.Parser, elem ir.Type, make func() ir.Type) ir.Type {
	if p.Failed() {
		return nil
	}
	switch elem.(type) {
	case *ir.IntegerType, *ir.FloatType, *PtrType:
		return make()
	}
	p.Errorf(p.Pos(), "'%s' is not an element type", ir.TypeString(elem))
	return nil
}

// attrReaders reads the attributes of the dialect, after their mnemonic.
var attrReaders = map[string]func(p *ir.Parser) (ir.Attribute, error){
	"layout": func(p *ir.Parser) (ir.Attribute, error) {
		p.Expect("<")
		l, err := layout.Parse(p.Raw('>'))
		return &LayoutAttr{l}, err
	},
	"mem": func(p *ir.Parser) (ir.Attribute, error) {
		p.Expect("<")
		m, err := layout.ParseMem(p.Raw('>'))
		return &MemAttr{m}, err
	},
	"div_by": func(p *ir.Parser) (ir.Attribute, error) {
		p.Expect("<")
		a := &DivByAttr{Divisor: uint64(p.Integer())}
		if p.Eat(",") {
			a.Grouped = true
			p.Expect("every")
			a.Every = p.Integer()
			p.Expect("along")
			a.Along = p.Integer()
		}
		p.Expect(">")
		return a, p.Err()
	},
	"same_elements": func(p *ir.Parser) (ir.Attribute, error) {
		p.Expect("<")
		a := &SameElementsAttr{p.Integers("[", "]")}
		p.Expect(">")
		return a, p.Err()
	},
	"bounded": func(p *ir.Parser) (ir.Attribute, error) {
		p.Expect("<")
		a := &BoundedAttr{Lower: parseBound(p)}
		p.Expect(",")
		a.Upper = parseBound(p)
		p.Expect(">")
		return a, p.Err()
	},
}

func parseBound(p *ir.Parser) *int64 {
	if p.Eat("?") {
		return nil
	}
	v := p.Integer()
	return &v
}

func parseAttr(p *ir.Parser, mnemonic string) (ir.Attribute, error) {
	if read := attrReaders[mnemonic]; read != nil {
		return read(p)
	}
	return nil, nil
}
