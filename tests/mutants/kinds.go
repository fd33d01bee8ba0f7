package mutants

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// walk makes the sites of a function body.
func (c *collector) walk(body *ast.BlockStmt) {
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			c.statements(n.List)
		case *ast.CaseClause:
			c.statements(n.Body)
		case *ast.IfStmt:
			c.condition(n.Cond)
		case *ast.BinaryExpr:
			c.binary(n)
		case *ast.BasicLit:
			c.number(n)
		case *ast.ReturnStmt:
			for _, r := range n.Results {
				c.truth(r)
			}
			if failed(n.Results) {
				ast.Inspect(n.Results[len(n.Results)-1], visit)
				return false
			}
		case *ast.CallExpr:
			if guard(n) {
				return false
			}
			c.arguments(n)
		case *ast.GenDecl: // constants must stay constant
			return n.Tok != token.CONST
		case *ast.ArrayType:
			return false
		case *ast.KeyValueExpr:
			ast.Inspect(n.Value, func(m ast.Node) bool { return c.inner(m) })
			return false
		}
		return true
	}
	ast.Inspect(body, visit)
}

// rules makes the sites of functions in the values of package-level variables. What such values are besides, every program comes by.
func (c *collector) rules(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		c.fn = v.Names[0].Name
		for _, e := range v.Values {
			ast.Inspect(e, func(n ast.Node) bool {
				f, ok := n.(*ast.FuncLit)
				if ok {
					c.walk(f.Body)
				}
				return !ok
			})
		}
	}
}

// inner makes the sites of expressions inside composite literals, whose keys stay as they are.
func (c *collector) inner(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		c.walk(n.Body)
		return false
	case *ast.BinaryExpr:
		c.binary(n)
	case *ast.BasicLit:
		c.number(n)
	case *ast.ArrayType:
		return false
	case *ast.KeyValueExpr:
		ast.Inspect(n.Value, func(m ast.Node) bool { return c.inner(m) })
		return false
	}
	return true
}

func (c *collector) basic(e ast.Expr) string {
	t, ok := c.info.Types[e]
	if !ok || t.Type == nil {
		return ""
	}
	b, ok := t.Type.(*types.Basic)
	if !ok || b.Info()&types.IsUntyped != 0 {
		return ""
	}
	return b.Name()
}

func (c *collector) constant(e ast.Expr) bool { return c.info.Types[e].Value != nil }

// condition turns an if round.
func (c *collector) condition(e ast.Expr) {
	if c.basic(e) != "bool" && !isComparison(e) || c.constant(e) {
		return
	}
	c.add(e, "condition", "!("+c.source(e)+")", "(mutant.On(#N#) != ("+c.source(e)+"))")
}

func isComparison(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		return false
	}
	switch b.Op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return true
	}
	return false
}

// instead says which operator takes the place of another.
var instead = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.ADD, token.SHL: token.SHR, token.SHR: token.SHL,
	token.AND: token.OR, token.OR: token.AND, token.XOR: token.OR, token.LAND: token.LOR, token.LOR: token.LAND,
}

// binary exchanges an operator. Both sides are computed, but for the lazy ones, so sides with calls stay as they are.
func (c *collector) binary(e *ast.BinaryExpr) {
	op, ok := instead[e.Op]
	if e.Op == token.EQL || e.Op == token.NEQ {
		if !c.constant(e) {
			c.add(e, "operator", "!("+c.source(e)+")", "(mutant.On(#N#) != ("+c.source(e)+"))")
		}
		return
	}
	if !ok || c.constant(e) {
		return
	}
	from := c.source(e)
	to := "(" + c.source(e.X) + ") " + op.String() + " (" + c.source(e.Y) + ")" // what is wrapped keeps its precedence
	switch {
	case e.Op == token.LAND || e.Op == token.LOR:
		lazy := func(s string) string { return "func() bool { return " + s + " }" }
		c.add(e, "operator", to, "mutant.Pick(#N#, "+lazy(to)+", "+lazy(from)+")()")
	case calls(e):
	case isComparison(e):
		c.add(e, "operator", to, "mutant.Pick[bool](#N#, "+to+", "+from+")")
	default:
		t := c.basic(e)
		if t == "" || t == "string" {
			return
		}
		c.add(e, "operator", to, "mutant.Pick["+t+"](#N#, "+to+", "+from+")")
	}
}

// calls reports whether an expression calls anything but what counts elements.
func calls(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			id, isName := call.Fun.(*ast.Ident)
			if !isName || !strings.Contains(" len cap min max int uint64 int64 uint32 uint8 ", " "+id.Name+" ") {
				found = true
			}
		}
		if u, ok := n.(*ast.UnaryExpr); ok && u.Op == token.ARROW {
			found = true
		}
		return !found
	})
	return found
}

// number makes a number one larger.
func (c *collector) number(e *ast.BasicLit) {
	if t := c.basic(e); e.Kind == token.INT && t != "" && !strings.HasPrefix(t, "float") && !c.largest(e) {
		c.add(e, "constant", e.Value+"+1", "mutant.Pick["+t+"](#N#, "+e.Value+"+1, "+e.Value+")")
	}
}

// largest reports whether a constant is the largest number of its type: one more would be none.
func (c *collector) largest(e *ast.BasicLit) bool {
	b := c.info.Types[e].Type.Underlying().(*types.Basic)
	bits := map[types.BasicKind]int{types.Int8: 7, types.Uint8: 8, types.Int16: 15, types.Uint16: 16, types.Int32: 31, types.Uint32: 32, types.Int64: 63, types.Int: 63,
		types.Uint64: 64, types.Uint: 64}[b.Kind()]
	v := c.info.Types[e].Value
	return bits > 0 && v != nil && constant.BitLen(constant.BinaryOp(v, token.ADD, constant.MakeInt64(1))) > bits
}

// truth turns what a function says round.
func (c *collector) truth(e ast.Expr) {
	id, ok := e.(*ast.Ident)
	if !ok || c.info.Types[e].Type == nil || id.Name != "true" && id.Name != "false" {
		return
	}
	if id.Name == "true" {
		c.add(e, "constant", "false", "!mutant.On(#N#)")
	} else {
		c.add(e, "constant", "true", "mutant.On(#N#)")
	}
}

// statements drops calls, assignments and jumps.
func (c *collector) statements(list []ast.Stmt) {
	for i, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok {
				if guard(call) {
					continue
				}
				c.drop(s, "dropped call")
			}
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE && !blank(s.Lhs) && !presizes(s.Rhs) {
				c.drop(s, "dropped assignment")
			}
		case *ast.BranchStmt:
			if s.Tok == token.CONTINUE && i == len(list)-1 {
				c.drop(s, "dropped jump")
			}
		}
	}
}

// failed reports whether results say that there are none: what stands before an error or a false is looked at by nobody.
func failed(results []ast.Expr) bool {
	for i, r := range results {
		switch r := r.(type) {
		case *ast.BasicLit:
			if r.Value != "0" {
				return false
			}
		case *ast.Ident:
			return r.Name == "false" && i > 0 && i == len(results)-1
		case *ast.CallExpr:
			f, ok := r.Fun.(*ast.SelectorExpr)
			return ok && (f.Sel.Name == "Errorf" || f.Sel.Name == "New") && i > 0 && i == len(results)-1
		default:
			return false
		}
	}
	return false
}

// guard reports whether a call says that the program itself is wrong: no test comes by where it is right.
func guard(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name == "panic" || f.Name == "bug"
	case *ast.SelectorExpr:
		return f.Sel.Name == "bug"
	}
	return false
}

func blank(list []ast.Expr) bool {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// presizes reports whether a right side is an empty slice with room, which saves copies and means what nil means.
func presizes(list []ast.Expr) bool {
	call, ok := list[0].(*ast.CallExpr)
	if !ok || len(list) > 1 || len(call.Args) != 3 {
		return false
	}
	f, ok := call.Fun.(*ast.Ident)
	n, zero := call.Args[1].(*ast.BasicLit)
	return ok && f.Name == "make" && zero && n.Value == "0"
}

func (c *collector) drop(s ast.Stmt, kind string) {
	c.add(s, kind, "nothing", "if !mutant.On(#N#) { "+c.source(s)+" }")
}

// arguments exchanges two neighbours of one type.
func (c *collector) arguments(call *ast.CallExpr) {
	if t, ok := c.info.Types[call.Fun]; ok && t.IsType() || call.Ellipsis.IsValid() {
		return
	}
	for i := range len(call.Args) - 1 {
		a, b := call.Args[i], call.Args[i+1]
		ta, tb := c.info.Types[a], c.info.Types[b]
		if !plain(a) || !plain(b) || ta.Value != nil || tb.Value != nil || ta.IsNil() || tb.IsNil() || ta.Type == nil || tb.Type == nil ||
			!types.Identical(ta.Type, tb.Type) || c.source(a) == c.source(b) || commutes(call, i) {
			continue
		}
		if bt, ok := ta.Type.(*types.Basic); ok && bt.Info()&types.IsUntyped != 0 {
			continue
		}
		from, to := c.source(a), c.source(b)
		text := "mutant.Pick(#N#, " + to + ", " + from + "), mutant.Pick(#N#, " + from + ", " + to + ")"
		c.add(&pair{a, b}, "swapped arguments", to+", "+from, text)
		return // one pair a call
	}
}

// commutes reports whether a function gives the same when an argument and the next are exchanged.
func commutes(call *ast.CallExpr, i int) bool {
	var name string
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	switch name {
	case "min", "max", "add", "mul", "and", "or", "xor", "fadd", "fmul", "Equal", "Intersect":
		return len(call.Args) == 2
	case "fma":
		return i == 0 && len(call.Args) == 3
	case "Independent": // of lists in any order
		return i > 0
	}
	return false
}

// plain expressions may be computed twice.
func plain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name != "_"
	case *ast.SelectorExpr:
		return plain(e.X)
	}
	return false
}

// pair is two neighbours as one node.
type pair struct{ a, b ast.Expr }

func (p *pair) Pos() token.Pos { return p.a.Pos() }
func (p *pair) End() token.Pos { return p.b.End() }
