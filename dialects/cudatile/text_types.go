package cudatile

import (
	"math"

	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// parseType reads a type after its mnemonic. What is wrong with a type is reported at its mnemonic.
func parseType(p *ir.Parser, mnemonic string) (ir.Type, error) {
	if mnemonic == "token" {
		return Token(p.Ctx), nil
	}
	read := typeReaders[mnemonic]
	if read == nil {
		return nil, nil
	}
	p.Expect("<")
	make := read(p)
	p.Expect(">")
	if p.Failed() {
		return nil, p.Err()
	}
	return make()
}

// typeReaders read what stands between < and >, and return what makes the type once all of it has been read.
var typeReaders map[string]func(*ir.Parser) func() (ir.Type, error)

func init() {
	typeReaders = map[string]func(*ir.Parser) func() (ir.Type, error){
		"tile":                readTile,
		"ptr":                 readPtr,
		"tensor_view":         readTensorView,
		"partition_view":      readPartitionView,
		"strided_view":        readStridedView,
		"gather_scatter_view": readGatherScatterView,
	}
}

// made keeps a nil pointer from becoming a type.
func made[T ir.Type](t T, err error) (ir.Type, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

func readTile(p *ir.Parser) func() (ir.Type, error) {
	shape := p.Dims(nil)
	elem := p.Type()
	return func() (ir.Type, error) { return made(Tile(p.Ctx, elem, shape)) }
}

func readPtr(p *ir.Parser) func() (ir.Type, error) {
	elem := p.Type()
	attr := Optional[def.PtrAttr](Absent)
	if p.Eat(",") {
		attr = readPtrAttr(p)
	}
	return func() (ir.Type, error) { return made(Ptr(p.Ctx, elem, attr)) }
}

// readPtrAttr reads <multicast> or #cuda_tile.ptr_attr<multicast>.
func readPtrAttr(p *ir.Parser) Optional[def.PtrAttr] {
	if p.Eat("<") {
		v := def.PtrAttr(p.EnumCase(&def.PtrAttrEnum.EnumDef))
		p.Expect(">")
		return Some(v)
	}
	at := p.Pos()
	a, ok := p.Attr(nil).(ir.EnumAttr)
	if !ok || a.Enum != &def.PtrAttrEnum.EnumDef {
		p.Errorf(at, "expected a pointer attribute")
		return Absent
	}
	return Some(def.PtrAttr(a.Value))
}

func readTensorView(p *ir.Parser) func() (ir.Type, error) {
	dynamic := int64(Dynamic)
	shape := p.Dims(&dynamic)
	elem := p.Type()
	var strides []int64
	attr := Optional[def.PtrAttr](Absent)
	at := p.Pos()
	given := false
	for p.Eat(",") {
		if len(shape) == 0 && p.Is(">") {
			p.Errorf(p.Pos(), "expected token after element type in 0-d tensor_view")
		}
		if !given && p.Eat("strides") {
			given = true
			p.Expect("=")
			strides = readStrides(p)
			continue
		}
		attr = readPtrAttr(p)
		break
	}
	switch {
	case given && len(shape) == 0:
		p.Errorf(at, "strides must not be provided for 0-d tiles")
	case !given && len(shape) > 0:
		p.Expect("strides")
	}
	return func() (ir.Type, error) { return made(TensorView(p.Ctx, elem, shape, strides, attr)) }
}

func readStrides(p *ir.Parser) []int64 {
	var strides []int64
	p.List("[", "]", func() {
		if p.Eat("?") {
			strides = append(strides, Dynamic)
			return
		}
		at := p.Pos()
		if !p.AtInteger() {
			p.Errorf(at, "expected either 64-bit integer or question mark")
			return
		}
		v := p.Integer()
		if v <= 0 {
			p.Errorf(at, "expected strictly positive integer, got %d", v)
		}
		strides = append(strides, v)
	})
	return strides
}

// viewParts are the parameters that the views share.
type viewParts struct {
	tile, traversal []int64
	tensor          *TensorViewType
	dimMap          []int
	padding         Optional[def.Padding]
}

// readView reads tile=(4x8), [traversal_strides=[..],] [padding_value = x,] tensor_view<...>.
func readView(p *ir.Parser, strided bool) viewParts {
	var v viewParts
	p.Expect("tile")
	p.Expect("=")
	v.tile = readTileShape(p)
	p.Expect(",")
	if strided {
		p.Expect("traversal_strides")
		p.Expect("=")
		v.traversal = p.Integers("[", "]")
		p.Expect(",")
	}
	if p.Eat("padding_value") {
		p.Expect("=")
		at := p.Pos()
		word := p.Keyword()
		pad, ok := def.PaddingEnum.Lookup(word)
		if !ok {
			p.Errorf(at, "invalid padding_value attribute specification. Got \"%s\" but expect one of: zero, neg_zero, nan, pos_inf, neg_inf", word)
		}
		v.padding = Some(pad)
		p.Expect(",")
	}
	at := p.Pos()
	t := p.Type()
	tv, ok := t.(*TensorViewType)
	if !ok {
		p.Errorf(at, "expected 'tensor_view' type, but got '%s'", ir.TypeString(t))
	}
	v.tensor = tv
	v.dimMap = identity(len(v.tile))
	return v
}

// readTileShape reads (4x8).
func readTileShape(p *ir.Parser) []int64 {
	var dims []int64
	p.Expect("(")
	for !p.Failed() && !p.Is(")") {
		at := p.Pos()
		d, last := p.Dim()
		if d <= 0 || d > math.MaxInt32 {
			p.Errorf(at, "tile dimension %d exceeds i32 limitations (got %d, expected strictly positive and less than or equal to 2147483647)",
				len(dims), d)
		}
		dims = append(dims, d)
		if last {
			break
		}
	}
	p.Expect(")")
	return dims
}

// readDimMap reads the optional , dim_map=[1, 0].
func readDimMap(p *ir.Parser, v *viewParts) {
	if !p.Eat(",") {
		return
	}
	p.Expect("dim_map")
	p.Expect("=")
	v.dimMap = nil
	at := p.Pos()
	for _, d := range p.Integers("[", "]") {
		if d < math.MinInt32 || d > math.MaxInt32 {
			p.Errorf(at, "dimension %d of the map is too large", d)
		}
		v.dimMap = append(v.dimMap, int(d))
	}
}

func readPartitionView(p *ir.Parser) func() (ir.Type, error) {
	v := readView(p, false)
	readDimMap(p, &v)
	return func() (ir.Type, error) { return made(PartitionView(p.Ctx, v.tile, v.tensor, v.dimMap, v.padding)) }
}

func readStridedView(p *ir.Parser) func() (ir.Type, error) {
	v := readView(p, true)
	readDimMap(p, &v)
	return func() (ir.Type, error) {
		return made(StridedView(p.Ctx, v.tile, v.traversal, v.tensor, v.dimMap, v.padding))
	}
}

func readGatherScatterView(p *ir.Parser) func() (ir.Type, error) {
	v := readView(p, false)
	p.Expect(",")
	p.Expect("sparse_dim")
	p.Expect("=")
	at := p.Pos()
	dim := p.Integer()
	if dim < 0 || dim > math.MaxInt32 {
		p.Errorf(at, "sparse_dim %d is out of range", dim)
	}
	return func() (ir.Type, error) { return made(GatherScatterView(p.Ctx, v.tile, v.tensor, int(dim), v.padding)) }
}

// parseAttr reads an attribute of the dialect after its mnemonic.
func parseAttr(p *ir.Parser, mnemonic string) (ir.Attribute, error) {
	if e := enumNamed(mnemonic); e != nil {
		p.Expect("<")
		v := p.EnumCase(e)
		p.Expect(">")
		return e.Of(v), p.Err()
	}
	if read := predicateReaders[mnemonic]; read != nil {
		return read(p), p.Err()
	}
	if read := debugReaders[mnemonic]; read != nil {
		p.Expect("<")
		a := read(p)
		p.Expect(">")
		return a, p.Err()
	}
	if mnemonic == "optimization_hints" {
		return p.Hints(), p.Err()
	}
	return nil, nil
}

// enumNamed finds an enumeration, of which some occur in types only.
func enumNamed(name string) *ir.EnumDef {
	for _, e := range def.Enums {
		if e.Name == name {
			return e
		}
	}
	return nil
}

var predicateReaders = map[string]func(*ir.Parser) ir.Attribute{
	"div_by": func(p *ir.Parser) ir.Attribute {
		p.Expect("<")
		a := &DivBy{Divisor: uint64(p.Integer())}
		if p.Eat(",") {
			if p.Eat("every") {
				v := p.Integer()
				a.Every = &v
			}
			if p.Eat("along") {
				v := p.Integer()
				a.Along = &v
			}
		}
		p.Expect(">")
		return a
	},
	"same_elements": func(p *ir.Parser) ir.Attribute {
		p.Expect("<")
		a := &SameElements{Values: p.Integers("[", "]")}
		p.Expect(">")
		return a
	},
	"bounded": func(p *ir.Parser) ir.Attribute {
		bound := func() *int64 {
			if p.Eat("?") {
				return nil
			}
			v := p.Integer()
			return &v
		}
		p.Expect("<")
		a := &Bounded{Lower: bound()}
		p.Expect(",")
		a.Upper = bound()
		p.Expect(">")
		return a
	},
}
