package cudatile

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// The text of the dialect is that of NVIDIA's tileirdisasm: declarative formats in the rows, and the hooks of this table
// for the operations whose form no format can say.
var forms = ir.Table[struct {
	print func(*ir.Printer, *ir.Op)
	parse func(*ir.Parser, *ir.ParsedOp) error
}]{
	OpModule & ir.Place:                    {printModule, parseModule},
	OpEntry & ir.Place:                     {printEntry, parseEntry},
	OpGlobal & ir.Place:                    {printGlobal, parseGlobal},
	OpIf & ir.Place:                        {printIf, parseIf},
	OpFor & ir.Place:                       {printFor, parseFor},
	OpLoop & ir.Place:                      {printLoop, parseLoop},
	OpReduce & ir.Place:                    {printReduction, parseReduction},
	OpScan & ir.Place:                      {printReduction, parseReduction},
	OpGetTensorShape & ir.Place:            {printQuery, parseQuery},
	OpGetIndexSpaceShape & ir.Place:        {printQuery, parseQuery},
	OpMakeTensorView & ir.Place:            {printMakeTensorView, parseMakeTensorView},
	OpMakePartitionView & ir.Place:         {printMakeView, makeViewParser("partition_view")},
	OpMakeStridedView & ir.Place:           {printMakeView, makeViewParser("strided_view")},
	OpMakeGatherScatterView & ir.Place:     {printMakeView, makeViewParser("gather_scatter_view")},
	OpLoadViewTko & ir.Place:               {printAccess, parseAccess},
	OpStoreViewTko & ir.Place:              {printAccess, parseAccess},
	OpAtomicRedViewTko & ir.Place:          {printAccess, parseAccess},
	OpMultimemLoadReduceViewTko & ir.Place: {printAccess, parseAccess},
	OpMultimemReduceViewTko & ir.Place:     {printAccess, parseAccess},
	OpMultimemStoreViewTko & ir.Place:      {printAccess, parseAccess},
}

// printable says of the ops whose form shows more than their row knows whether they have it.
var printable = ir.Table[func(*ir.Op) bool]{
	OpModule & ir.Place: named,
	OpEntry & ir.Place:  named,
	OpGlobal & ir.Place: func(op *ir.Op) bool { return named(op) && Global{op}.Value() != nil },
	OpFor & ir.Place: func(op *ir.Op) bool {
		n := len(For{op}.InitValues())
		return op.Body().NumArgs() == n+1 && op.NumResults() == n
	},
	OpLoop & ir.Place:               func(op *ir.Op) bool { return op.Body().NumArgs() == op.NumOperands() },
	OpGetTensorShape & ir.Place:     oneResultType,
	OpGetIndexSpaceShape & ir.Place: oneResultType,
	OpMakeTensorView & ir.Place: func(op *ir.Op) bool {
		m := MakeTensorView{op}
		view, ok := m.Result().Type().(*TensorViewType)
		return ok && len(m.DynamicShape()) == dynamicDims(view.Shape) && len(m.DynamicStrides()) == dynamicDims(view.Strides)
	},
}

func named(op *ir.Op) bool { _, ok := op.SymbolName(); return ok }

func oneResultType(op *ir.Op) bool {
	for _, r := range op.Results() {
		if r.Type() != op.Result(0).Type() {
			return false
		}
	}
	return true
}

func dynamicDims(dims []int64) int {
	n := 0
	for _, d := range dims {
		if d == Dynamic {
			n++
		}
	}
	return n
}

// Print writes a module as tileirdisasm does: a comment that names the producer, then globals and entries at the left
// margin without the module around them, whatever the options say of that.
func Print(w io.Writer, module *ir.Op, o ir.PrintOptions) error {
	if m, ok := ir.As[Module](module); ok && m.Producer() != "" {
		if _, err := io.WriteString(w, "// Producer: "+m.Producer()+"\n"); err != nil {
			return err
		}
	}
	o.Unwrapped = true
	return ir.Print(w, module, o)
}

// resultNames are the printed names of results that are not numbered, by op; an op with several names them all.
var resultNames = map[ir.Code][]string{
	OpBroadcast:                 {"bcast"},
	OpReshape:                   {"reshape"},
	OpMakeTensorView:            {"tview"},
	OpMakePartitionView:         {"pview"},
	OpMakeStridedView:           {"sview"},
	OpMakeGatherScatterView:     {"gsview"},
	OpReduce:                    {"reduce"},
	OpFor:                       {"for"},
	OpGetTileBlockId:            {"blockId_x", "blockId_y", "blockId_z"},
	OpGetNumTileBlocks:          {"gridSize_x", "gridSize_y", "gridSize_z"},
	OpLoadViewTko:               {"tile", "result_token"},
	OpLoadPtrTko:                {"result", "result_token"},
	OpAtomicCasTko:              {"result", "result_token"},
	OpAtomicRmwTko:              {"result", "result_token"},
	OpMultimemLoadReduceViewTko: {"reduced_values", "result_token"},
}

// unnamedSources are the ops with unnamed results of which an assume still shows that they are results of an op.
var unnamedSources = map[ir.Code]bool{OpIf: true, OpLoop: true, OpScan: true, OpFor: true, OpReduce: true}

func nameResult(op *ir.Op, i int) string {
	switch op.Code() {
	case OpConstant:
		return constantName(Constant{op})
	case OpAssume:
		return assumeName(Assume{op})
	}
	if names := resultNames[op.Code()]; i < len(names) {
		return names[i]
	}
	return ""
}

// maxAssumeName bounds the name of a chain of assumes.
const maxAssumeName = 100

// assumeName is "assume", and then the name of what is assumed about if it has one.
func assumeName(a Assume) string {
	name := "assume"
	for range maxAssumeName {
		v := a.Value()
		if v == nil || v.DefiningOp() == nil {
			return name
		}
		source := v.DefiningOp()
		if inner, ok := ir.As[Assume](source); ok {
			name += "_assume"
			a = inner
			continue
		}
		hint := ""
		if source.Def.Owner == Dialect {
			hint = nameResult(source, v.Index())
		}
		if hint != "" || unnamedSources[source.Code()] {
			name += "_" + hint
		}
		return name
	}
	return name
}

// constantName is true, false or cst_i1 for an i1; else cst, the value if all elements are equal and it is an integer (for
// floats a non-negative one) or NaN, and the element type.
func constantName(c Constant) string {
	a := c.Value()
	t, isTile := c.Result().Type().(*TileType)
	if a == nil || !isTile {
		return "cst"
	}
	bits, splat := splatBits(a)
	suffix := "_" + ir.ShortType(t.Elem)
	switch elem := t.Elem.(type) {
	case *ir.IntegerType:
		switch {
		case splat && elem.Width == 1:
			return strconv.FormatBool(bits != 0)
		case splat:
			return "cst_" + strconv.FormatInt(ir.IntegerAttr{Type: elem, Bits: bits}.SInt(), 10) + suffix
		}
	case *ir.FloatType:
		if splat {
			return "cst" + floatName(elem, bits) + suffix
		}
	}
	return "cst" + suffix
}

func floatName(t *ir.FloatType, bits uint64) string {
	f := t.Format
	switch {
	case f.IsNaN(bits):
		return "_NaN"
	case !f.IsFinite(bits) || f.Sign(bits):
		return ""
	}
	v := f.Decode(bits)
	if v >= 1<<64 || v != float64(uint64(v)) {
		return ""
	}
	return "_" + strconv.FormatUint(uint64(v), 10)
}

// splatBits is the bit pattern that all elements of a constant share, if they do.
func splatBits(a *ir.DenseAttr) (bits uint64, ok bool) {
	elem, isShaped := elementOf(a.Type)
	if !isShaped {
		return 0, false
	}
	size := ir.DenseElementBytes(elem)
	if size == 0 || len(a.Data) < size {
		return 0, false
	}
	for i := size; i < len(a.Data); i++ {
		if a.Data[i] != a.Data[i-size] {
			return 0, false
		}
	}
	for i := size - 1; i >= 0; i-- {
		bits = bits<<8 | uint64(a.Data[i])
	}
	return bits, true
}

// nameArg names the arguments of the regions of for and reduce.
func nameArg(op *ir.Op, b *ir.Block, i int) string {
	switch op.Code() {
	case OpFor:
		if i == 0 {
			return "loopIdx"
		}
		return "iterArg" + strconv.Itoa(i-1)
	case OpReduce:
		name := [2]string{"reduce_lhs", "reduce_rhs"}[i%2]
		if b.NumArgs() > 2 {
			name += strconv.Itoa(i / 2)
		}
		return name
	}
	return ""
}

// Directives.

// printRounding writes rounding<mode> unless it is the default.
func printRounding(p *ir.Printer, op *ir.Op, args []ir.Arg) {
	if a, ok := args[0].AttrOf(op).(ir.EnumAttr); ok && !ir.AttrEqual(a, args[0].Default) {
		p.Printf("rounding<%s>", a)
	}
}

func parseRounding(p *ir.Parser, s *ir.ParsedOp, args []ir.Arg) {
	if !p.Eat("rounding") {
		return
	}
	p.Expect("<")
	at := p.Pos()
	word := p.Keyword()
	v, ok := def.RoundingEnum.Lookup(word)
	if known := roundings[s.Def.Code]; !p.Failed() && (!ok || known.strict && !slices.Contains(known.modes, def.Rounding(v))) {
		p.Errorf(at, "expected rounding mode to be one of: '%s', got: '%s'", strings.ReplaceAll(keywords(&def.RoundingEnum, known.modes), ", ", "', '"), word)
		return
	}
	p.Expect(">")
	s.SetAttr(at, args[0].Name, def.RoundingEnum.Of(v))
}

// printMemoryAttributes writes the ordering and, if there is one, the scope.
func printMemoryAttributes(p *ir.Printer, op *ir.Op, order, scope ir.Arg) {
	if a, ok := order.AttrOf(op).(ir.EnumAttr); ok {
		p.Str(a.String())
	}
	if a, ok := scope.AttrOf(op).(ir.EnumAttr); ok {
		p.Str(" " + a.String())
	}
}

func parseMemoryAttributes(p *ir.Parser, s *ir.ParsedOp, orderArg, scopeArg ir.Arg) {
	at := p.Pos()
	word := p.Keyword()
	order, ok := def.MemOrderEnum.Lookup(word)
	if !ok {
		p.Errorf(at, "invalid memory_ordering_semantics attribute specification. Got \"%s\" but expect one of: weak, relaxed, acquire, release, acq_rel", word)
		return
	}
	s.SetAttr(at, orderArg.Name, def.MemOrderEnum.Of(order))
	word = p.PeekKeyword()
	if word == "" {
		return
	}
	at = p.Pos()
	p.Keyword()
	if order == def.Weak && scopeArg.Mode == ir.Optional {
		p.Errorf(at, "operation specifies weak memory ordering semantics, but then provides \"%s\" scope, expected no memory scope.", word)
		return
	}
	scope, ok := def.ScopeEnum.Lookup(word)
	if !ok {
		p.Errorf(at, "invalid memory_scope attribute specification. Got \"%s\" but expect one of: tl_blk, device, sys", word)
		return
	}
	s.SetAttr(at, scopeArg.Name, def.ScopeEnum.Of(scope))
}

func printPredicate(p *ir.Printer, op *ir.Op, args []ir.Arg) {
	p.ShortAttr(args[0].AttrOf(op), Name)
}

func parsePredicate(p *ir.Parser, s *ir.ParsedOp, args []ir.Arg) {
	at := p.Pos()
	word := p.PeekKeyword()
	if word != "" && predicateReaders[word] == nil {
		p.Errorf(at, "unknown assume predicate attribute: %s (expected 'div_by', 'same_elements', or 'bounded')", word)
		return
	}
	a := p.ShortAttr(Dialect)
	if _, ok := a.(Predicate); !ok && !p.Failed() {
		p.Errorf(at, "expected assume predicate attribute")
		return
	}
	s.SetAttr(at, args[0].Name, a)
}

// printDense writes <f32: elements> : type.
func printDense(p *ir.Printer, op *ir.Op, args []ir.Arg) {
	if a, ok := args[0].AttrOf(op).(*ir.DenseAttr); ok {
		printConstant(p, a)
	}
}

func printConstant(p *ir.Printer, a *ir.DenseAttr) {
	p.Dense(a)
	p.Str(" : ")
	p.Type(a.Type)
}

// constantText lists the element types of constants.
var constantText = strings.Join(def.Numbers, " or ")

// refuseElement says what is wrong with the element type of a constant.
func refuseElement(t ir.Type) string {
	if t == nil {
		return "expect element type to be one of " + constantText + " values, but got '<<NULL TYPE>>'"
	}
	if !isNumber(t) && !ir.IsInt(t, 4) { // i4 has an error of its own, about the missing encoding
		return "expect element type to be one of " + constantText + " values, but got '" + ir.TypeString(t) + "'"
	}
	return ""
}

func parseDense(p *ir.Parser, s *ir.ParsedOp, args []ir.Arg) {
	at := p.Pos()
	lit := p.DenseLiteral(refuseElement)
	p.Expect(":")
	t := p.Type()
	if p.Failed() {
		return
	}
	if !Dialect.Constraint("Num").Check(t) {
		p.Errorf(at, "result #0 must be tile of %s values, but got '%s'", constantText, ir.TypeString(t))
		return
	}
	s.SetAttr(at, args[0].Name, p.DenseOf(lit, t))
	s.SetResults("result", t)
}
