package cudatile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// printQuery writes get_tensor_shape and get_index_space_shape: %view : view type -> tile<i32>, one type for all results.
func printQuery(p *ir.Printer, op *ir.Op) {
	src := op.Operand(0)
	p.Str(" ")
	p.Value(src)
	p.AttrDict(op)
	p.Str(" : ")
	p.Type(src.Type())
	if op.NumResults() > 0 {
		p.Str(" -> ")
		p.Type(op.Result(0).Type())
	}
}

func parseQuery(p *ir.Parser, s *ir.ParsedOp) error {
	src := p.Operand()
	p.AttrDict(s)
	p.Expect(":")
	at := p.Pos()
	t := p.Type()
	s.SetOperands("src", []ir.OperandRef{src}, []ir.Type{t})
	n := 0
	switch t := t.(type) {
	case *TensorViewType:
		n = len(t.Shape)
	case TileView:
		n = t.View().NumIndices()
	default:
		return p.Errorf(at, "expected tensor_view, got '%s'", ir.TypeString(t))
	}
	results := make([]ir.Type, n)
	if n > 0 {
		p.Expect("->")
		r := p.Type()
		for i := range results {
			results[i] = r
		}
	}
	s.SetResults("results", results...)
	return p.Err()
}

// printMakeTensorView writes %p, shape = [%m, 32], strides = [%s, 1] : types -> view. The types are that of the pointer,
// only when it has a pointer attribute, and the one of all dynamic operands.
func printMakeTensorView(p *ir.Printer, op *ir.Op) {
	m := MakeTensorView{op}
	view := m.Result().Type().(*TensorViewType)
	p.Str(" ")
	p.Value(m.Base())
	p.Str(", shape = ")
	shape := m.DynamicShape()
	printExtents(p, view.Shape, shape)
	p.Str(", strides = ")
	strides := m.DynamicStrides()
	printExtents(p, view.Strides, strides)
	p.AttrDict(op)
	p.Str(" : ")
	var types []ir.Type
	if view.PtrAttr != Absent {
		types = append(types, m.Base().Type())
	}
	if dynamic := append(shape, strides...); len(dynamic) > 0 {
		types = append(types, dynamic[0].Type())
	}
	if len(types) > 0 {
		p.Types(types)
		p.Str(" -> ")
	}
	p.Type(view)
}

// printExtents writes constants, and an operand for each Dynamic.
func printExtents(p *ir.Printer, dims []int64, dynamic []*ir.Value) {
	p.Str("[")
	for i, d := range dims {
		if i > 0 {
			p.Str(", ")
		}
		if d != Dynamic {
			p.Printf("%d", d)
			continue
		}
		p.Value(dynamic[0])
		dynamic = dynamic[1:]
	}
	p.Str("]")
}

func parseMakeTensorView(p *ir.Parser, s *ir.ParsedOp) error {
	base := p.Operand()
	p.Expect(",")
	p.Expect("shape")
	p.Expect("=")
	shapeAt := p.Pos()
	shape, shapeRefs := parseExtents(p)
	p.Expect(",")
	p.Expect("strides")
	p.Expect("=")
	stridesAt := p.Pos()
	strides, strideRefs := parseExtents(p)
	p.AttrDict(s)
	p.Expect(":")
	at := p.Pos()
	types := p.TypeList("", "")
	var result ir.Type
	if p.Eat("->") {
		at = p.Pos()
		result = p.Type()
	} else if len(types) > 0 {
		result, types = types[len(types)-1], types[:len(types)-1]
	}
	view, ok := result.(*TensorViewType)
	if !ok {
		return p.Errorf(at, "expected 'tensor_view' type, but got '%s'", ir.TypeString(result))
	}
	if msg := extentsDiffer("shape", shape, view.Shape); msg != "" {
		return p.Errorf(shapeAt, "%s", msg)
	}
	if msg := extentsDiffer("stride", strides, view.Strides); msg != "" {
		return p.Errorf(stridesAt, "%s", msg)
	}
	pointer, err := baseType(p, view, &types, len(shapeRefs)+len(strideRefs) > 0)
	if err != nil {
		return p.Errorf(at, "%s", err)
	}
	dynamic := func(refs []ir.OperandRef) []ir.Type {
		ts := make([]ir.Type, len(refs))
		for i := range ts {
			if len(types) > 0 {
				ts[i] = types[0]
			}
		}
		return ts
	}
	if len(types) == 0 && len(shapeRefs)+len(strideRefs) > 0 {
		return p.Errorf(at, "expected the type of the dynamic shape and stride operands")
	}
	s.SetOperands("base", []ir.OperandRef{base}, []ir.Type{pointer})
	s.SetOperands("dynamicShape", shapeRefs, dynamic(shapeRefs))
	s.SetOperands("dynamicStrides", strideRefs, dynamic(strideRefs))
	s.SetResults("result", view)
	return p.Err()
}

// extentsDiffer says how the extents of the operands differ from those of the type, or "".
func extentsDiffer(what string, got, want []int64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("expected %s declaration to contain %d elements due to tensor_view type, but %d were provided",
			what, len(want), len(got))
	}
	text := func(d int64) string {
		if d == Dynamic {
			return "dynamic"
		}
		return strconv.FormatInt(d, 10)
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Sprintf("input %s dimension %d does not match tensor_view type (expected %s, got %s)",
				what, i, text(want[i]), text(got[i]))
		}
	}
	return ""
}

// baseType is the type of the pointer operand: written in front of the others, or the plain pointer to the view's elements.
func baseType(p *ir.Parser, view *TensorViewType, types *[]ir.Type, dynamic bool) (ir.Type, error) {
	n := len(*types)
	if dynamic {
		n--
	}
	if n > 0 {
		t := (*types)[0]
		*types = (*types)[1:]
		return t, nil
	}
	ptr, err := Ptr(p.Ctx, view.Elem, view.PtrAttr)
	if err != nil {
		return nil, err
	}
	return Scalar(p.Ctx, ptr), nil
}

// parseExtents reads [%m, 32]; operands read as Dynamic.
func parseExtents(p *ir.Parser) (dims []int64, refs []ir.OperandRef) {
	p.List("[", "]", func() {
		if p.AtOperand() {
			dims, refs = append(dims, Dynamic), append(refs, p.Operand())
			return
		}
		if !p.AtInteger() {
			p.Errorf(p.Pos(), "expected either integer or SSA value")
			return
		}
		dims = append(dims, p.Integer())
	})
	return dims, refs
}

// printMakeView writes %tensor_view : view type; the operand's type is part of it.
func printMakeView(p *ir.Printer, op *ir.Op) {
	p.Str(" ")
	p.Value(op.Operand(0))
	p.AttrDict(op)
	p.Str(" : ")
	p.Type(op.Result(0).Type())
}

// makeViewParser reads an operation that makes views of a kind.
func makeViewParser(kind string) func(p *ir.Parser, s *ir.ParsedOp) error {
	return func(p *ir.Parser, s *ir.ParsedOp) error {
		v := p.Operand()
		p.AttrDict(s)
		p.Expect(":")
		at := p.Pos()
		t := p.Type()
		view, ok := t.(TileView)
		if !ok {
			return p.Errorf(at, "expected '%s' type, but got '%s'", kind, ir.TypeString(t))
		}
		s.SetOperands("tensor_view", []ir.OperandRef{v}, []ir.Type{view.View().Tensor})
		s.SetResults("result", t)
		return p.Err()
	}
}

// access is the form of an operation on a view:
//
//	ordering scope HEAD[indices]TAIL token = %t optimization_hints = <...> inbounds = [...] : TYPES -> result types
type access struct {
	head  []ir.Arg // operands before the indices
	tail  []ir.Arg // arguments after them, each after a comma
	types []ir.Arg // operands whose types are written; index is one type if all indices have the same
	// multimem forms name the reduction in an attribute clause, write the token's type, and keep a space where inbounds
	// would stand.
	multimem bool
	// What all have, and what some do.
	order, scope, index, token ir.Arg
	hints, inbounds, reduction ir.Arg
}

// accesses are the forms by the code of the op, made when a text is read or written.
var accesses = sync.OnceValue(func() map[ir.Code]*access {
	all := map[ir.Code]*access{}
	form := func(code ir.Code, head, tail, types string) *access {
		row := Dialect.Row(code)
		list := func(names string) (args []ir.Arg) {
			for _, name := range strings.Fields(names) {
				args = append(args, row.Arg(name))
			}
			return args
		}
		a := &access{head: list(head), tail: list(tail), types: list(types), order: row.Arg("memory_ordering_semantics"), scope: row.Arg("memory_scope"),
			index: row.Arg("index"), token: row.Arg("token"), hints: row.ArgIf("optimization_hints"), inbounds: row.ArgIf("inbounds"),
			reduction: row.ArgIf("reduction")}
		all[code] = a
		return a
	}
	form(OpLoadViewTko, "view", "", "view index")
	form(OpStoreViewTko, "tile view", "", "tile view index")
	form(OpAtomicRedViewTko, "view", "mode value", "value view index")
	form(OpMultimemLoadReduceViewTko, "view", "", "view index token").multimem = true
	form(OpMultimemReduceViewTko, "view tile", "", "view tile index token").multimem = true
	form(OpMultimemStoreViewTko, "view tile", "", "view tile index token").multimem = true
	return all
})

func printAccess(p *ir.Printer, op *ir.Op) {
	form := accesses()[op.Code()]
	p.Str(" ")
	printMemoryAttributes(p, op, form.order, form.scope)
	for i, arg := range form.head {
		p.Str([2]string{" ", ", "}[min(i, 1)])
		p.Values(arg.ValuesOf(op))
	}
	p.Str("[")
	p.Values(form.index.ValuesOf(op))
	p.Str("]")
	for _, arg := range form.tail {
		p.Str(", ")
		if arg.IsOperand() {
			p.Values(arg.ValuesOf(op))
		} else if a, ok := arg.AttrOf(op).(ir.EnumAttr); ok {
			p.Str(a.String())
		}
	}
	if t := (TokenOp{op}).Token(); t != nil {
		p.Str(" token = ")
		p.Value(t)
	}
	if h, ok := form.hints.AttrOf(op).(ir.DictAttr); ok {
		p.Str(" optimization_hints = ")
		p.Hints(h)
	}
	if form.multimem {
		p.Str(" ")
	}
	if in, ok := form.inbounds.AttrOf(op).(ir.BoolArray); ok && slices.Contains(in, true) {
		if !form.multimem {
			p.Str(" ")
		}
		p.Str("inbounds = ")
		p.AttrOf(form.inbounds.ArgDef, in)
	}
	printAccessDict(p, op, form)
	p.Str(" : ")
	p.Types(accessTypes(op, form))
	p.Str(" -> ")
	p.ValueTypes(op.Results())
}

// printAccessDict writes the attributes that have no place in the form; the reduction is among them, unless it adds.
func printAccessDict(p *ir.Printer, op *ir.Op, form *access) {
	skip := []string{form.order.Name, form.scope.Name}
	for _, arg := range append([]ir.Arg{form.hints, form.inbounds}, form.tail...) {
		if arg.Exists() {
			skip = append(skip, arg.Name)
		}
	}
	if r, ok := ir.As[ReducingOp](op); ok && r.Reduction() == def.MultimemAdd {
		skip = append(skip, form.reduction.Name)
	}
	if form.multimem {
		p.AttrDictWithKeyword(op, skip...)
	} else {
		p.AttrDict(op, skip...)
	}
}

func accessTypes(op *ir.Op, form *access) []ir.Type {
	var types []ir.Type
	for _, arg := range form.types {
		from := len(types)
		for _, v := range arg.ValuesOf(op) {
			types = append(types, v.Type())
		}
		if arg == form.index && len(types) > from && allSame(types[from:]) {
			types = types[:from+1]
		}
	}
	return types
}

func allSame(ts []ir.Type) bool {
	for _, t := range ts {
		if t != ts[0] {
			return false
		}
	}
	return true
}

func parseAccess(p *ir.Parser, s *ir.ParsedOp) error {
	form := accesses()[s.Def.Code]
	parseMemoryAttributes(p, s, form.order, form.scope)
	refs := map[ir.Arg][]ir.OperandRef{}
	for i, arg := range form.head {
		if i > 0 {
			p.Expect(",")
		}
		refs[arg] = []ir.OperandRef{p.Operand()}
	}
	refs[form.index] = p.Operands("[", "]")
	for _, arg := range form.tail {
		p.Expect(",")
		if arg.IsOperand() {
			refs[arg] = []ir.OperandRef{p.Operand()}
		} else {
			s.SetAttr(p.Pos(), arg.Name, p.AttrOf(arg.ArgDef, nil))
		}
	}
	if p.Eat("token") {
		p.Expect("=")
		refs[form.token] = []ir.OperandRef{p.Operand()}
	}
	for _, arg := range []ir.Arg{form.hints, form.inbounds} {
		if arg.Exists() && p.Eat(arg.Name) {
			at := p.Pos()
			p.Expect("=")
			s.SetAttr(at, arg.Name, p.AttrOf(arg.ArgDef, nil))
		}
	}
	if !form.multimem || p.Eat("attributes") {
		p.AttrDict(s)
	}
	if a := form.reduction; a.Exists() && s.Attr(a.Name) == nil {
		s.SetAttr(s.Pos, a.Name, def.MultimemEnum.Of(def.MultimemAdd))
	}
	if a := form.inbounds; a.Exists() && s.Attr(a.Name) == nil {
		s.SetAttr(s.Pos, a.Name, make(ir.BoolArray, len(refs[form.index])))
	}
	return parseAccessTypes(p, s, form, refs)
}

// parseAccessTypes reads the types and gives them to the operands and results.
func parseAccessTypes(p *ir.Parser, s *ir.ParsedOp, form *access, refs map[ir.Arg][]ir.OperandRef) error {
	p.Expect(":")
	at := p.Pos()
	types := p.TypeList("", "")
	p.Expect("->")
	resultsAt := p.Pos()
	results := p.TypeList("", "")
	want := 0
	for _, arg := range form.types {
		want += len(refs[arg])
	}
	short := 0 // types that one type for all indices saves
	if n := len(refs[form.index]); n != 1 && len(types) == want-n+1 {
		short = n - 1 // without indices there still is a type
	}
	if p.Failed() {
		return p.Err()
	}
	if len(types) != want-short {
		return p.Errorf(at, "expected %d operand types, but found %d", want, len(types))
	}
	if len(results) != len(s.Def.Results) {
		return p.Errorf(resultsAt, "expected %d result types, but found %d", len(s.Def.Results), len(results))
	}
	for _, arg := range form.types {
		n := len(refs[arg])
		if arg == form.index && short != 0 {
			ts := make([]ir.Type, n)
			for i := range ts {
				ts[i] = types[0]
			}
			s.SetOperands(arg.Name, refs[arg], ts)
			types = types[1:]
			continue
		}
		s.SetOperands(arg.Name, refs[arg], types[:n:n])
		types = types[n:]
	}
	if !form.multimem {
		s.SetOperands(form.token.Name, refs[form.token], nil)
	}
	for i, r := range s.Def.Results {
		s.SetResults(r.Name, results[i])
	}
	return nil
}
